"""Several starts side by side, of which those that do badly are given up early."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from skipchain.learn.step import OptimisationResult

MapFunction = Callable[
    [Callable[[int], OptimisationResult], Iterable[int]], list[OptimisationResult]
]


@dataclass(frozen=True, slots=True)
class Restarts:
    """The best of several minimisations, and the loss of each start."""

    best: OptimisationResult
    losses: Sequence[float]
    finished: Sequence[bool] = field(default=())
    """For each start, by its number: whether it was run to the end."""


def best_of_restarts(
    begin: Callable[[int], OptimisationResult],
    finish: Callable[[int, OptimisationResult], OptimisationResult],
    count: int,
    keep: int,
    mapped: MapFunction,
) -> Restarts:
    """The best of ``count`` minimisations.

    ``begin`` takes each number some way down; the ``keep`` best go on with ``finish``. ``mapped``
    gives the values of a function in order, and may call it from threads.

    >>> from skipchain.learn.lbfgs import minimize
    >>> import numpy as np
    >>> def wells(x):  # one at 2, a deeper one at -2
    ...     return float((x[0] ** 2 - 4) ** 2 + x[0]), 4 * x * (x**2 - 4) + 1
    >>> def begin(number):
    ...     return minimize(wells, np.array([number - 1.5]), max_iterations=3)
    >>> def finish(number, so_far):
    ...     return minimize(wells, so_far.vector)
    >>> restarts = best_of_restarts(begin, finish, 4, 2, lambda f, numbers: list(map(f, numbers)))
    >>> float(restarts.best.vector.round(1)[0]), restarts.finished
    (-2.0, (True, True, False, False))
    """
    begun = mapped(begin, range(count))
    order = sorted(range(count), key=lambda number: _rank(begun[number]))
    chosen = sorted(order[:keep])
    ended = dict(zip(chosen, mapped(lambda n: finish(n, begun[n]), chosen), strict=True))
    results = [ended.get(number, begun[number]) for number in range(count)]
    losses = tuple(result.loss for result in results)
    return Restarts(min(results, key=_rank), losses, tuple(n in ended for n in range(count)))


def _rank(result: OptimisationResult) -> float:
    """The loss; what is not a number comes last."""
    return result.loss if result.loss == result.loss else math.inf
