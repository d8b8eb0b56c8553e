"""A budget of time, and how a training ends when it is spent."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable

from skipchain.errors import ParameterError
from skipchain.learn.step import OptimisationResult, Step
from skipchain.models.base.progress import Progress, TrainingSize

UNITS = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
PART = r"(\d+(?:\.\d+)?) ?(sec|s|min|m|h|$) ?"


class BudgetSpentError(Exception):
    """Raised inside a training whose time is up; the search catches it."""


def parse_budget(given: str | float) -> float:
    """The seconds of a budget.

    >>> parse_budget("30s"), parse_budget("5m"), parse_budget("1h30m"), parse_budget(90)
    (30.0, 300.0, 5400.0, 90.0)
    """
    seconds = 0.0
    if isinstance(given, str):
        text = given.strip().lower()
        if re.fullmatch(rf"({PART})+", text):
            seconds = sum(float(number) * UNITS[unit] for number, unit in re.findall(PART, text))
    elif isinstance(given, (int, float)) and not isinstance(given, bool):
        seconds = float(given)
    if not 0 < seconds < float("inf"):
        raise ParameterError(f"budget must be a time such as 30s, 5m or 1h, got {given!r}")
    return seconds


class Deadline:
    """Passes on what a display of training is told, until the time is up."""

    def __init__(
        self,
        shown: Progress | None,
        end: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shown = shown
        self._end = end
        self._clock = clock

    def check(self) -> None:
        """Raise `BudgetSpentError` when the time is up."""
        if self._clock() >= self._end:
            raise BudgetSpentError

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration."""
        self.check()
        if self._shown is not None:
            self._shown.begin(problem)

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration."""
        self.check()
        if self._shown is not None:
            self._shown.step(step, dev)

    def end(self, result: OptimisationResult) -> None:
        """After the last."""
        if self._shown is not None:
            self._shown.end(result)
