"""What a table's module is told when it is to measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


def say_nothing(message: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Run:
    """How to measure: ``quick`` for a run of seconds, ``say`` for a line about how far it is."""

    quick: bool = False
    threads: int | None = None
    say: Callable[[str], None] = say_nothing


class Timer:
    """Seconds spent inside ``with clock():``, summed by name.

    >>> clock = Timer()
    >>> with clock("sleep"):
    ...     pass
    >>> clock.seconds("sleep") < 1
    True
    """

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time of a block to a name."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._spent[name] = self.seconds(name) + time.perf_counter() - began

    def seconds(self, name: str) -> float:
        """The time so far."""
        return self._spent.get(name, 0.0)


def mean_and_range(values: list[float]) -> tuple[float, float, float]:
    """Mean, smallest and largest of the runs with different seeds."""
    return float(np.mean(values)), min(values), max(values)
