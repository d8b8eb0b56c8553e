"""Toy problems: the decoders that rows are named after, and counts of orders."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from skipchain import IOHMM
from skipchain.cli.commands.reproduce import _print
from skipchain.datasets.synthetic import toy2
from skipchain.reproduce.labelling import LabellingScores, SystemResults, score_labels
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart import published, toy1, toy2_machines, toy2_size, toy3, toys
from skipchain.reproduce.stewart import toy2 as larger_structures
from skipchain.reproduce.stewart.toys import ToySystem, ToyTrainer
from skipchain.reproduce.table import Table

FEW = {"states": 3, "restarts": 1, "em": 0, "max_iterations": 15}
NAMES = [
    "LR", "MEMM", "IMEMM", "CRF", "ICRF", "IOHMM, Viterbi", "IOHMM, marginals", "HRF, Viterbi",
    "HRF, marginals", "RBM(1)", "RBM(2)",
]  # fmt: skip


def results_of(figures):
    """Results with these instance accuracies and average accuracies, a list a system."""
    results = SystemResults()
    for system, values in figures.items():
        for instance, average in values:
            results.add(system, FixedScores(instance, average))
    return results


class FixedScores(LabellingScores):
    """Scores whose figures are given."""

    def __init__(self, instance, average):
        scores = score_labels([["A"]], [["A"]])
        others = {"instance accuracy": instance, "average accuracy": average}
        super().__init__(scores.tokens, average, others=others)


# Decoders --------------------------------------------------------------------------------------


def test_rows_of_hidden_states_are_named_after_their_decoder():
    problem = toy2(1, train=30, test=40).with_bias()
    system = ToySystem.of_states(IOHMM, FEW)
    fitted = system.make(1).fit(problem.train_x, problem.train_y)
    labels = system.label("IOHMM", fitted, problem.test_x)
    assert list(labels) == ["IOHMM, Viterbi", "IOHMM, marginals"]
    names = np.array(fitted.classes_)
    marginals = [names[p.argmax(axis=1)].tolist() for p in fitted.predict_marginals(problem.test_x)]
    assert labels["IOHMM, marginals"] == marginals
    assert labels["IOHMM, Viterbi"] == fitted.predict(problem.test_x, decoder="viterbi")
    assert labels["IOHMM, Viterbi"] != marginals


def test_a_trained_model_is_scored_by_each_decoder():
    problem = toy2(1, train=10, test=10)
    results, training = SystemResults(), SystemResults()
    systems = {"LR": toys.OBSERVED["LR"], "IOHMM": ToySystem.of_states(IOHMM, FEW)}
    fitted = ToyTrainer("toy2", systems, Run(threads=1)).train(1, problem, results, training)
    assert list(fitted) == ["LR", "IOHMM"]
    assert list(results.by_system) == ["LR", "IOHMM, Viterbi", "IOHMM, marginals"]
    assert results.by_system.keys() == training.by_system.keys()
    rows = toys.time_rows("toy2", "6.7", results)  # they have the time of one training
    assert [(row.system, row.published) for row in rows] == [("LR", 160.0), ("IOHMM", 7300.0)]


@pytest.mark.parametrize("number", ["6.4", "6.8", "6.9", "6.10", "6.12", "6.13"])
def test_published_figures_of_hidden_states_are_by_viterbi(number):
    for metric, figures in published(number).items():
        rows = toys.published_rows(number)[metric]
        assert list(rows.values()) == list(figures.values())
        hidden = [name for name in rows if "," in name]
        assert hidden == [f"{name}, Viterbi" for name in ("IOHMM", "HRF") if name in figures]


@pytest.mark.parametrize("systems", [
    toy1._systems(1), larger_structures._systems(Run()), toy3._systems(True),
])  # fmt: skip
def test_every_toy_decodes_hidden_states_in_both_ways(systems):
    for name, system in systems.items():
        assert list(system.decoders) == (
            ["Viterbi", "marginals"] if name in ("IOHMM", "HRF") else []
        )


# Orders ----------------------------------------------------------------------------------------


def drawn_results(machines=10):
    # few values, so that there are ties
    values = np.random.default_rng(3).integers(0, 6, size=(len(NAMES), machines, 2)).astype(float)
    values += np.arange(len(NAMES))[:, None, None] / 2  # some orders hold more often than others
    return {name: own.tolist() for name, own in zip(NAMES, np.floor(values), strict=True)}


def test_counts_of_orders_equal_a_plain_recount():
    figures = drawn_results()
    rows = toy2_machines.order_rows("toy2", results_of(figures))
    assert len({(row.system, row.metric) for row in rows}) == len(rows)
    seen = set()
    for row in rows:
        which = ["instance", "average"].index(row.metric.split()[-2])
        count = 0
        for machine in range(10):
            own = [figures[name][machine][which] for name in row.system.split(" < ")]
            if all(a < b for a, b in pairwise(own)):
                count += 1
        assert row.measured == count
        assert row.verdict.startswith(f"{count} of 10")
        seen.add(count)
    assert len(seen) > 4


def test_the_order_is_the_published_one():
    rows = toy2_machines.order_rows("toy2", results_of(drawn_results()))
    by_instances = [row.system for row in rows if row.metric.endswith("instance accuracy")]
    assert by_instances[:3] == [
        "LR < MEMM < CRF < RBM(2)",
        "IOHMM, Viterbi < HRF, Viterbi < LR < IMEMM < MEMM < ICRF < CRF < RBM(1) < RBM(2)",
        "IOHMM, marginals < HRF, marginals < LR < IMEMM < MEMM < ICRF < CRF < RBM(1) < RBM(2)",
    ]
    accuracies = published("6.8")["instance accuracy"]
    pairs = {tuple(sorted(pair, key=accuracies.get)) for pair in combinations(accuracies, 2)}
    shown = {
        tuple(toys.undecoded(name) for name in order.split(" < ")) for order in by_instances[3:]
    }
    assert shown == pairs
    assert len(by_instances) == 3 + 36 + 15  # 15 with a row by marginals
    wholes = [row.system for row in rows if row.metric.endswith("average accuracy")]
    assert wholes[1].startswith("HRF, Viterbi < IOHMM, Viterbi < LR")
    assert wholes[1].endswith("RBM(1) < CRF < RBM(2)")


def test_mean_and_spread_of_drawn_machines(monkeypatch):
    figures = drawn_results(2)

    def train(self, seed, problem, results):
        drawn.append((seed, problem))
        for name in NAMES:
            results.add(name, FixedScores(*figures[name][len(drawn) - 1]))

    drawn = []
    monkeypatch.setattr(ToyTrainer, "train", train)
    found = toy2_machines.measure("toy2", {}, Run(quick=True), 6, 4)
    assert [seed for seed, _ in drawn] == list(found.seeds) == [200, 201]
    assert [(len(own.train_x), len(own.test_x)) for _, own in drawn] == [(6, 4), (6, 4)]
    for row in found.rows:
        if row.metric == "machines drawn: average accuracy":
            values = [average for _, average in figures[row.system]]
            assert (row.measured, row.low, row.high) == (np.mean(values), min(values), max(values))
            assert row.verdict == f"standard deviation {np.std(values):.1f}"
    assert found.verdict == (
        f"On machines drawn at random {found.rows[22].system} holds in {found.rows[22].verdict}."
    )


def test_notes_are_printed(capsys):
    found = toy2_machines.DrawnMachines((200, 201), [], "")
    _print(
        Table("toy2", "Toy", "nowhere", [], notes=(larger_structures.CHOSEN_MACHINE, found.note))
    )
    printed = " ".join(capsys.readouterr().out.split())
    assert "the rows of LR, MEMM, IMEMM, CRF, ICRF prove nothing" in printed
    assert "2 data sets (seeds 200 to 201), each of a state machine of its own" in printed


def test_more_data_has_no_verdict_on_what_is_not_published():
    results = results_of({"IOHMM, Viterbi": [(5.0, 9.0)], "IOHMM, marginals": [(5.0, 9.0)]})
    assert toy2_size._verdict(results, "IOHMM, marginals", "instance accuracy") == ""
    judged = toy2_size._verdict(results, "IOHMM, Viterbi", "instance accuracy")
    assert judged == "holds: breaks down"
