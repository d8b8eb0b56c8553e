"""Threads over fixed blocks of work; the kernels release the interpreter's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from skipchain.arrays import Ints
from skipchain.checks import check_integer
from skipchain.kernels.kernel import is_interpreted
from skipchain.watching import counted

Input = TypeVar("Input")
Output = TypeVar("Output")

BLOCK_TOKENS = 8192
MAX_IDLE = 4  # pools of one size that are kept: as many as stand inside each other, and some more


class Workers:
    """Threads for the length of a ``with`` block; one thread means that none is started.

    They are started when there is work for more than one of them, and kept for the next block when
    this one ends. Of blocks inside each other each has threads of its own.

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
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if kind is None:
            _IDLE.give(pool, self.threads)
        else:  # what had been begun may still be under way
            pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Input], Output], items: Iterable[Input]) -> list[Output]:
        """The function of each item, in order."""
        items = list(items)
        if self.threads == 1 or len(items) < 2 or is_interpreted():  # which few words are
            return [function(item) for item in counted(items, len(items))]
        return list(counted(self._threads().map(function, items), len(items)))

    def stream(
        self, function: Callable[[Input], Output], items: Iterable[Input]
    ) -> Iterator[Output]:
        """The function of each item, in order, as it is asked for.

        Items are read in the thread that asks, no more than `threads` ahead. Where reading them
        fails, the results of those before come first.
        """
        if self.threads == 1 or is_interpreted():
            yield from map(function, items)
            return
        begun: deque[Future[Output]] = deque()
        failure, source = None, iter(items)
        try:
            while failure is None:
                try:
                    begun.append(self._threads().submit(function, next(source)))
                except StopIteration:
                    break
                except Exception as error:
                    failure = error
                if len(begun) > self.threads:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
        if failure is not None:
            raise failure

    def ahead(self, items: Iterable[Output]) -> Iterator[Output]:
        """The items, each made in a thread while the one before it is used.

        >>> with Workers(2) as workers:
        ...     list(workers.ahead(number * number for number in range(3)))
        [0, 1, 4]
        """
        if self.threads == 1 or is_interpreted():
            yield from items
            return
        source, end = iter(items), object()

        def make() -> Any:
            return next(source, end)

        begun = self._threads().submit(make)
        try:
            while (item := begun.result()) is not end:
                begun = self._threads().submit(make)
                yield item
        finally:
            wait([begun])

    def _threads(self) -> ThreadPoolExecutor:
        """The pool, taken when it is first needed."""
        if self._pool is None:
            self._pool = _IDLE.take(self.threads)
        return self._pool


class _IdlePools:
    """Pools of threads that nobody uses at the moment, by their numbers of threads."""

    def __init__(self) -> None:
        self._pools: dict[int, list[ThreadPoolExecutor]] = {}

    def take(self, threads: int) -> ThreadPoolExecutor:
        """A pool that nobody else has, a new one if need be."""
        with suppress(KeyError, IndexError):
            return self._pools[threads].pop()
        return ThreadPoolExecutor(threads)

    def give(self, pool: ThreadPoolExecutor, threads: int) -> None:
        """Keep a pool whose work is done, or end it where there are enough."""
        kept = self._pools.setdefault(threads, [])
        if len(kept) < MAX_IDLE:
            kept.append(pool)
        else:
            pool.shutdown()

    def forget(self) -> None:
        """Begin anew in a forked process, in which there are no threads."""
        self._pools.clear()


_IDLE = _IdlePools()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.forget)


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
    if offsets[-1] <= size:
        return [(0, rows)]
    goals = np.arange(size, int(offsets[-1]), size)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, goals), [rows]]))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
