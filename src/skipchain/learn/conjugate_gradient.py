"""Nonlinear conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.descent import descend
from skipchain.learn.line_search import Objective, Point, strong_wolfe_search
from skipchain.learn.step import OptimisationResult, Step
from skipchain.learn.vectors import dot, norm


def minimize(
    function: Objective,
    start: Floats,
    *,
    callback: Callable[[Step], bool | None] | None = None,
    **stopping: Any,
) -> OptimisationResult:
    """Minimise ``function(x)`` along directions that do not undo each other.

    When it is to end (``max_iterations``, ``tolerance``, ``period``) is as for
    `skipchain.learn.descent.descend`.

    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).vector.round(6)
    array([3., 3.])
    """
    return descend(function, start, _ConjugateMoves(function), **stopping, callback=callback)


class _ConjugateMoves:
    """d = −g + β d', with β = max(0, g · (g − g') / g' · g') from the step before.

    That is Polak and Ribière's β, and 0 where it would be below: then, and where d does not lead
    down, the search begins afresh with −g.
    """

    def __init__(self, function: Objective) -> None:
        self._function = function
        self._direction: Floats | None = None
        self._gradient: Floats = np.zeros(0)

    def __call__(self, at: Point, slope: Floats, iteration: int) -> Point:
        """The next point."""
        old, direction, size = self._direction, -slope, 1.0 / norm(slope)
        if old is not None:
            change = dot(slope, slope - self._gradient) / dot(self._gradient, self._gradient)
            conjugate = direction + max(0.0, change) * old
            if dot(conjugate, slope) < 0.0:
                direction = conjugate
            # to first order the loss falls by as much as in the last step
            size = at.size * dot(old, self._gradient) / dot(direction, slope)
        found = strong_wolfe_search(self._function, at, direction, size)
        if not found.accepted and old is not None:
            self._direction = None
            again = self(at, slope, iteration)
            return replace(again, trials=again.trials + found.trials)
        self._direction, self._gradient = direction, slope
        return found
