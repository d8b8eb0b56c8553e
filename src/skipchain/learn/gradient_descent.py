"""Gradient descent with a line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skipchain.arrays import Floats
from skipchain.learn.descent import descend
from skipchain.learn.line_search import Objective, Point, backtracking
from skipchain.learn.step import OptimisationResult, Step
from skipchain.learn.vectors import norm

GROWTH = 2.0  # the first trial of a step, as a multiple of the size of the last


def minimize(
    function: Objective,
    start: Floats,
    *,
    callback: Callable[[Step], bool | None] | None = None,
    **stopping: Any,
) -> OptimisationResult:
    """Minimise ``function(x)`` by steps along −gradient, halved until the loss falls enough.

    When it is to end (``max_iterations``, ``tolerance``, ``period``) is as for
    `skipchain.learn.descent.descend`.

    >>> import numpy as np
    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).vector.round(6)
    array([3., 3.])
    """

    def move(at: Point, slope: Floats, iteration: int) -> Point:
        size = GROWTH * at.size if iteration else 1.0 / norm(slope)
        return backtracking(function, at, -slope, size)

    return descend(function, start, move, **stopping, callback=callback)
