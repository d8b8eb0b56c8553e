"""Toy problem 1, an ambiguous input: Tables 6.3 and 6.4 of Stewart's thesis."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from skipchain import HRF, IOHMM, RBMCRF
from skipchain.datasets.synthetic import Problem, toy1
from skipchain.models.base.estimator import BaseEstimator
from skipchain.report.pictures import Picture
from skipchain.reproduce.labelling import INSTANCE_ACCURACY, SystemResults
from skipchain.reproduce.plots import confusions, label_bars
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart import toys
from skipchain.reproduce.stewart.toys import ToySystem
from skipchain.reproduce.table import Row, Table, judge

NAME = "toy1"
STATES = 3
HIDDEN_UNITS = {"RBM(1)": 1, "RBM(2)": 2, "RBM(3)": 6}
PUBLISHED = toys.published_rows("6.4")
MIN_ACCURACY = {"IOHMM": 100.0, "HRF": 100.0, "RBM(1)": 97.0, "RBM(2)": 97.0, "RBM(3)": 92.0}
"""The mean instance accuracies from which on a published one counts as reached."""
CHANCE_F1 = 60.0  # labels that are distinguished have a higher mean F1, guessed ones 35 to 50
SHAPES = "BCE", "ABCD"


def measure(run: Run) -> Table:
    """Train the ten systems on each data set."""
    seeds = toys.SEEDS[:1] if run.quick else toys.SEEDS
    restarts = 1 if run.quick else 5
    sizes = {"train": 40, "test": 30} if run.quick else {}
    trainer, results = toys.ToyTrainer(NAME, _systems(restarts), run), SystemResults()
    trainer.plan(len(seeds))
    for seed in seeds:
        problem = toy1(seed, **sizes)
        fitted = trainer.train(seed, problem, results)
        if seed == seeds[0]:
            pictures = _pictures(fitted, problem)
    rows = toys.time_rows(NAME, "6.3", results)
    rows += results.rows(NAME, "6.4", PUBLISHED, partial(_verdict, results))
    hidden = map(toys.decoded, toys.HIDDEN_STATES)
    shown = {name: results.f1(name) for name in ("LR", "CRF", *hidden, *HIDDEN_UNITS)}
    confused = ("CRF", toys.decoded("IOHMM"), "RBM(2)")
    return Table(
        NAME,
        "Toy problem 1: an ambiguous input",
        f"{toys.SOURCE}, Tables 6.3 and 6.4",
        rows,
        notes=(
            toys.NOTE,
            f"Weights have a prior of width {toys.SIGMA:g}; the best of {restarts} restarts by the "
            "training data. A model without memory guesses the one of D and E that is more "
            "frequent in its training data, so that the published D and E may change places.",
            f"IOHMM and HRF: {STATES} states; the HRF starts from the IOHMM. RBM(1), (2), (3): "
            "1, 2 and 6 hidden units over six labels in a row, or over fewer at the ends of a "
            "sequence; each label by its sampled marginal.",
            toys.DECODED,
            toys.TIMES,
        ),
        seeds=seeds,
        verdict=_conclusion(rows),
        pictures=(
            label_bars(shown, "F1 of each label, mean over the data sets"),
            confusions(
                {name: results.by_system[name][0].tokens for name in confused},
                "Predicted labels by gold label, in per cent, on the first data set",
            ),
            *pictures,
        ),
    )


def _systems(restarts: int) -> dict[str, ToySystem]:
    states = {"states": STATES, "restarts": restarts, "l2": toys.l2_of(toys.SIGMA)}
    return {
        **toys.OBSERVED,
        "IOHMM": ToySystem.of_states(IOHMM, states),
        "HRF": ToySystem.of_states(HRF, states, start="IOHMM"),
        **{
            name: ToySystem(RBMCRF, {"groups": f"{number}:0..5", "restarts": restarts})
            for name, number in HIDDEN_UNITS.items()
        },
    }


def _verdict(results: SystemResults, system: str, metric: str) -> str:
    """The verdict on instance accuracies: whether models without memory guess D and E."""
    if metric != INSTANCE_ACCURACY:
        return ""
    if (trained := toys.undecoded(system)) in MIN_ACCURACY:
        mean, wanted = results.mean(system, metric), MIN_ACCURACY[trained]
        return judge(mean >= wanted, f"{mean:.1f}, {wanted:g} is wanted")
    pairs = zip(results.values(system, "D"), results.values(system, "E"), strict=True)
    guessed = all((d + e) / 2 < CHANCE_F1 for d, e in pairs)
    return judge(guessed, f"D and E are {'guessed' if guessed else 'distinguished'}")


def _conclusion(rows: list[Row]) -> str:
    failing = [row.system for row in rows if row.fails]
    if failing:
        return f"The published findings do not hold for {', '.join(failing)}."
    return "Models without memory guess D and E, hidden states and units distinguish them."


def _pictures(fitted: Mapping[str, BaseEstimator], problem: Problem) -> tuple[Picture, ...]:
    """The hidden units' weights, and their states along a sequence with both shapes."""
    both = (
        x
        for x, y in zip(problem.test_x, problem.test_y, strict=True)
        if all("".join(y).count(shape) > 1 for shape in SHAPES)
    )
    shown = next(both, problem.test_x[0])
    return tuple(toys.hidden_unit_pictures(fitted, HIDDEN_UNITS, shown))
