"""How many hidden states and how wide a prior toy problem 2 needs: Figures 6.7 and 6.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skipchain.datasets.synthetic import Problem
from skipchain.datasets.synthetic.problem import Inputs, Labels
from skipchain.models.latent.estimator import LatentEstimator
from skipchain.models.latent.hrf import HRF
from skipchain.models.latent.iohmm import IOHMM
from skipchain.models.latent.selection import choose_states
from skipchain.report.pictures import Picture
from skipchain.reproduce.plots import errors_by_states
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart.toys import l2_of

KINDS: Mapping[str, type[LatentEstimator]] = {"IOHMM": IOHMM, "HRF": HRF}
SIGMAS = (10.0, 1.0)
STATES, FEW_STATES = (2, 4, 8, 12), (2, 3)
FOLDS, RESTARTS, FEW_STEPS = 3, 2, 200
HELD_OUT, TRAINING, TEST = "cross-validation", "training", "test"


@dataclass(frozen=True, slots=True)
class StateStudy:
    """Errors in percent by part of the data, system and number of states, and what is chosen."""

    errors: Mapping[str, Mapping[str, Mapping[int, float]]]
    chosen: Mapping[str, tuple[int, float]]
    """States and sigma of each kind of model, by cross-validation."""

    def describe(self) -> str:
        """The choice in words."""
        return "; ".join(
            f"{kind}: {states} states, a prior of width {sigma:g} "
            f"({self.errors[HELD_OUT][line(kind, sigma)][states]:.1f} % of labels wrong)"
            for kind, (states, sigma) in self.chosen.items()
        )

    def picture(self) -> Picture:
        """Errors against states."""
        return errors_by_states(self.errors, "Labels wrong by states and width of the prior (σ)")


def study(problem: Problem, run: Run, name: str) -> StateStudy:
    """Measure each kind of model by cross-validation, and on training and test data.

    The test data are for the picture only: what is chosen is chosen without them.
    """
    numbers = FEW_STATES if run.quick else STATES
    errors: dict[str, dict[str, dict[int, float]]] = {HELD_OUT: {}, TRAINING: {}, TEST: {}}
    chosen: dict[str, tuple[int, float]] = {}
    for kind, estimator in KINDS.items():
        least = float("inf")
        for sigma in SIGMAS:
            run.say(f"{name}: cross-validation, {line(kind, sigma)}")
            own = estimator(**settings(sigma, run, most=FEW_STEPS))
            found = choose_states(
                own,
                problem.train_x,
                problem.train_y,
                states=numbers,
                folds=2 if run.quick else FOLDS,
                threads=run.threads,
            )
            wrong = {choice.states: 100.0 - choice.score for choice in found}
            errors[HELD_OUT][line(kind, sigma)] = dict(sorted(wrong.items()))
            if wrong[found[0].states] < least:
                least, chosen[kind] = wrong[found[0].states], (found[0].states, sigma)
    for sigma in SIGMAS:
        run.say(f"{name}: error against states, σ = {sigma:g}")
        for states in numbers:
            start = None
            for kind, estimator in KINDS.items():
                model = estimator(**settings(sigma, run), states=states)
                start = model.fit(problem.train_x, problem.train_y, start=start)
                for part, x, y in _parts(problem):
                    by_states = errors[part].setdefault(line(kind, sigma), {})
                    by_states[states] = 100.0 * (1.0 - model.score(x, y))
    return StateStudy(errors, chosen)


def line(kind: str, sigma: float) -> str:
    """What a line of the picture is called."""
    return f"{kind}, σ = {sigma:g}"


def settings(sigma: float, run: Run, restarts: int = RESTARTS, most: int = 1000) -> dict[str, Any]:
    """Settings of a model of hidden states: EM, which brings nothing here, is left out."""
    return {
        "encoding": None,
        "l2": l2_of(sigma),
        "em": 0,
        "restarts": 1 if run.quick else restarts,
        "max_iterations": 40 if run.quick else most,
        "threads": run.threads,
    }


def _parts(problem: Problem) -> tuple[tuple[str, Inputs, Labels], ...]:
    return ((TRAINING, problem.train_x, problem.train_y), (TEST, problem.test_x, problem.test_y))
