"""How many hidden states and how wide a prior toy problem 2 needs: Figures 6.7 and 6.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skipchain import HRF, IOHMM
from skipchain.datasets.synthetic import Problem
from skipchain.models.latent.estimator import LatentEstimator
from skipchain.models.latent.selection import choose_states
from skipchain.report.pictures import Picture
from skipchain.reproduce.plots import ErrorsByStates, errors_by_states
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart.toys import l2_of

KINDS: Mapping[str, type[LatentEstimator]] = {"IOHMM": IOHMM, "HRF": HRF}
SIGMAS = (10.0, 1.0)
STATES, FEW_STATES = (2, 4, 8, 12), (2, 3)
FOLDS, RESTARTS, FEW_STEPS = 3, 2, 200
HELD_OUT, TRAINING, TEST = "cross-validation", "training", "test"


@dataclass(frozen=True, slots=True)
class StateStudy:
    """Errors in percent by part of the data, system and number of states, and the choice."""

    errors: ErrorsByStates
    chosen: Mapping[str, tuple[int, float]]
    """The number of states and sigma of each model, by cross-validation."""

    def describe(self) -> str:
        """The choice in words."""
        return "; ".join(
            f"{kind}: {states} states, a prior of width {sigma:g} "
            f"({self.errors[HELD_OUT][line(kind, sigma)][states]:.1f} % wrong labels)"
            for kind, (states, sigma) in self.chosen.items()
        )

    def picture(self) -> Picture:
        """Errors against states."""
        return errors_by_states(self.errors, "Wrong labels by states and width of the prior (σ)")


def study(problem: Problem, run: Run, name: str) -> StateStudy:
    """Measure each model by cross-validation, and on training and test data.

    The test data are for the picture only: the choice is made without them.
    """
    numbers, folds = (FEW_STATES, 2) if run.quick else (STATES, FOLDS)
    search: dict[str, Any] = {"states": numbers, "folds": folds, "threads": run.threads}
    errors: dict[str, dict[str, dict[int, float]]] = {HELD_OUT: {}, TRAINING: {}, TEST: {}}
    chosen: dict[str, tuple[int, float]] = {}
    run.plan((len(KINDS) + 1) * len(SIGMAS))
    for kind, estimator in KINDS.items():
        least = float("inf")
        for sigma in SIGMAS:
            run.say(f"{name}: cross-validation, {line(kind, sigma)}")
            model = estimator(**settings(sigma, run, most=FEW_STEPS))
            choices = choose_states(model, problem.train_x, problem.train_y, **search)
            wrong = {choice.states: 100.0 - choice.score for choice in choices}
            errors[HELD_OUT][line(kind, sigma)] = dict(sorted(wrong.items()))
            best = choices[0].states
            if wrong[best] < least:
                least, chosen[kind] = wrong[best], (best, sigma)
    for sigma in SIGMAS:
        run.say(f"{name}: error against states, σ = {sigma:g}")
        for states in numbers:
            start = None
            for kind, estimator in KINDS.items():
                model = estimator(**settings(sigma, run), states=states)
                start = model.fit(problem.train_x, problem.train_y, start=start)
                for part, x, y in (
                    (TRAINING, problem.train_x, problem.train_y),
                    (TEST, problem.test_x, problem.test_y),
                ):
                    by_states = errors[part].setdefault(line(kind, sigma), {})
                    by_states[states] = 100.0 * (1.0 - model.held_out_score(x, y))
    return StateStudy(errors, chosen)


def line(kind: str, sigma: float) -> str:
    """The name of a line of the picture."""
    return f"{kind}, σ = {sigma:g}"


def settings(sigma: float, run: Run, restarts: int = RESTARTS, most: int = 1000) -> dict[str, Any]:
    """Settings of a model with hidden states: without EM, which gains nothing here."""
    return {
        "encoding": None,
        "l2": l2_of(sigma),
        "em": 0,
        "restarts": 1 if run.quick else restarts,
        "max_iterations": 40 if run.quick else most,
        "threads": run.threads,
    }
