"""What a search for good settings has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skipchain.models.base.estimator import BaseEstimator
from skipchain.report.grid import Grid
from skipchain.selection.trial import Trial

MISSING = "–"
EVERYTHING = "all that suits these data was tried"
SPENT = "the budget is spent"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """All trials in their order, the one that is kept, and its fitted estimator.

    The first trial is the default: settings as they are where nothing is changed. ``measure`` is
    ``f1`` or ``accuracy``, ``folds`` the number of folds by which it was measured (None: on
    development data), ``ended`` why the search did.
    """

    trials: tuple[Trial, ...]
    best: Trial
    estimator: BaseEstimator
    measure: str
    folds: int | None
    budget: float
    seconds: float
    ended: str

    @property
    def default(self) -> Trial:
        """The trial of the settings as they are."""
        return self.trials[0]

    @property
    def metric(self) -> str:
        """The name of what is measured, and on what."""
        where = "dev" if self.folds is None else f"{self.folds} folds"
        return f"{'F1' if self.measure == 'f1' else 'token accuracy'} on {where}"

    def table(self) -> Grid:
        """Headings and rows, one a trial."""
        rows: list[tuple[str, ...]] = [
            (
                trial.name,
                percent(trial.score),
                difference(trial, self.default),
                f"{trial.seconds:.1f}",
                "kept" if trial is self.best else trial.note,
            )
            for trial in self.trials
        ]
        return ("settings", self.metric, "vs default", "seconds", ""), rows

    def as_dict(self) -> dict[str, Any]:
        """The search as JSON can hold it."""
        return {
            "measure": self.measure,
            "folds": self.folds,
            "budget": self.budget,
            "seconds": round(self.seconds, 3),
            "ended": self.ended,
            "tried": [trial.as_dict() for trial in self.trials],
            "kept": self.best.options,
        }

    def __repr__(self) -> str:
        return (
            f"Selection({self.best.name!r}: {self.metric} {percent(self.best.score)}, default "
            f"{percent(self.default.score)}; {len(self.trials)} tried)"
        )


def percent(score: float | None) -> str:
    """A score with two digits, or a dash."""
    return MISSING if score is None else f"{score:.2f}"


def difference(trial: Trial, default: Trial) -> str:
    """How much better a trial is than the default."""
    if trial is default or trial.score is None or default.score is None:
        return ""
    return f"{trial.score - default.score:+.2f}"
