"""Threads over fixed blocks of work; the kernels release the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from skipchain.arrays import Ints
from skipchain.checks import check_integer
from skipchain.kernels.kernel import is_interpreted

Input = TypeVar("Input")
Output = TypeVar("Output")

BLOCK_TOKENS = 8192


class Workers:
    """A pool of threads for the length of a ``with`` block; one thread means no pool at all.

    >>> with Workers(2) as workers:
    ...     workers.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None:
            check_integer("threads", threads)
        self.threads = threads or available_cores()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self.threads > 1:
            self._pool = ThreadPoolExecutor(self.threads)
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def map(self, function: Callable[[Input], Output], items: Iterable[Input]) -> list[Output]:
        """The function of each item, in order."""
        if self._pool is None or is_interpreted():  # which few words are
            return [function(item) for item in items]
        return list(self._pool.map(function, items))


def available_cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks(offsets: Ints, size: int = BLOCK_TOKENS) -> list[tuple[int, int]]:
    """Cut rows into runs of about ``size`` entries each, the same whatever the number of threads.

    >>> blocks(np.array([0, 3, 6, 7, 20]), 6)
    [(0, 2), (2, 4)]
    """
    rows = len(offsets) - 1
    if rows == 0:
        return []
    goals = np.arange(size, int(offsets[-1]), size)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, goals), [rows]]))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
