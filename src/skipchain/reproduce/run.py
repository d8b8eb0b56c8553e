"""How a table is to be measured: the settings of a run, its data and its clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from skipchain.corpus import Corpus
from skipchain.datasets.registry import data_set


def say_nothing(message: str) -> None:
    """Report no progress."""


def plan_nothing(steps: int) -> None:
    """Do not count the steps."""


@dataclass(frozen=True, slots=True)
class Run:
    """How to measure a table.

    ``quick`` takes less data and fewer seeds, so that it is a matter of seconds; ``say`` is called
    with a line of text at each step, and ``plan`` with the number of steps that come, where it is
    known before they do.
    """

    quick: bool = False
    threads: int | None = None
    say: Callable[[str], None] = say_nothing
    plan: Callable[[int], None] = plan_nothing

    def seeds(self, full: int, quick: int) -> tuple[int, ...]:
        """The seeds from 0 on: so many of them in a full run, and in a quick one.

        >>> Run().seeds(3, quick=1), Run(quick=True).seeds(3, quick=1)
        ((0, 1, 2), (0,))
        """
        return tuple(range(quick if self.quick else full))

    def read(self, name: str, *, by_sentences: bool = False, **sizes: int) -> list[Corpus]:
        """Parts of a data set, in the order of the keywords.

        A quick run has only the first documents of each part, or the first sentences, as many as
        the keyword says.
        """
        parts = [data_set(name).read(part) for part in sizes]
        if not self.quick:
            return parts
        return [
            part[:size] if by_sentences else part.take_documents(np.arange(size))
            for part, size in zip(parts, sizes.values(), strict=True)
        ]


class Timer:
    """Seconds spent inside ``with clock(name):``, summed by name.

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
        """The time that a name has so far."""
        return self._spent.get(name, 0.0)
