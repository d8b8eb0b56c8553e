"""Line searches: how far to go along a direction in which the loss falls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.vectors import dot

Objective = Callable[[Floats], tuple[float, Floats]]

ARMIJO, WOLFE, STRONG_WOLFE = 1e-4, 0.9, 0.1
MAX_TRIALS = 30
LINE_SEARCH_FAILED = "no step lowers the loss further"
INSIDE, BEYOND = (0.1, 0.9), (2.0, 10.0)
"""Where the next trial may lie: in a bracket, as shares of it; beyond the last, as multiples."""


@dataclass(frozen=True, slots=True)
class Point:
    """A vector with its loss and gradient, and how it was found.

    ``trials`` is how often the loss was computed to find it, ``size`` how long the step to it was,
    in lengths of the direction. A point that is not ``accepted`` is one that was only tried.
    """

    vector: Floats
    loss: float
    gradient: Floats
    trials: int = 1
    accepted: bool = True
    size: float = 0.0


def backtracking(function: Objective, at: Point, direction: Floats, size: float) -> Point:
    """A step that lowers the loss by a share of what the slope promises (Armijo), by halving.

    >>> bowl = lambda x: (float(x @ x), 2 * x)
    >>> start = np.array([1.0])
    >>> backtracking(bowl, Point(start, *bowl(start)), np.array([-2.0]), 4.0).size
    0.5
    """
    fall = dot(direction, at.gradient)
    for trial in range(1, MAX_TRIALS + 1):
        point = at.vector + size * direction
        value, gradient = function(point)
        if value <= at.loss + ARMIJO * size * fall:
            return Point(point, value, gradient, trial, True, size)
        size /= 2.0
    return Point(point, value, gradient, MAX_TRIALS, False)


def wolfe_search(function: Objective, at: Point, direction: Floats, size: float) -> Point:
    """A step that satisfies the weak Wolfe conditions, by bisection (Lewis and Overton 2013)."""
    fall = dot(direction, at.gradient)
    low, high = 0.0, np.inf
    for trial in range(1, MAX_TRIALS + 1):
        point = at.vector + size * direction
        value, gradient = function(point)
        if not value <= at.loss + ARMIJO * size * fall:
            high = size
        elif dot(gradient, direction) < WOLFE * fall:
            low = size
        else:
            return Point(point, value, gradient, trial, True, size)
        tried, size = size, 2.0 * low if high == np.inf else (low + high) / 2.0
    return Point(point, value, gradient, MAX_TRIALS, value < at.loss, tried)


def strong_wolfe_search(function: Objective, at: Point, direction: Floats, size: float) -> Point:
    """A step near the minimum along the direction: the strong Wolfe conditions.

    The slope at the end must be at most a tenth of that at the beginning, down or up. The next
    trial is where a line through two known slopes is zero, kept off the ends of the bracket.

    >>> bowl = lambda x: (float(x @ x), 2 * x)
    >>> start = np.array([3.0])
    >>> found = strong_wolfe_search(bowl, Point(start, *bowl(start)), np.array([-6.0]), 0.01)
    >>> found.trials, round(found.size, 3)
    (3, 0.5)
    """
    fall = dot(direction, at.gradient)
    low, low_slope, high, high_slope = 0.0, fall, np.inf, np.nan
    for trial in range(1, MAX_TRIALS + 1):
        point = at.vector + size * direction
        value, gradient = function(point)
        slope = dot(gradient, direction)
        risen = not value <= at.loss + ARMIJO * size * fall
        if not risen and abs(slope) <= -STRONG_WOLFE * fall:
            return Point(point, value, gradient, trial, True, size)
        if risen or slope > 0.0:
            high, high_slope = size, slope
        else:
            before, before_slope, low, low_slope = low, low_slope, size, slope
        tried = size
        if high == np.inf:
            least, most = (share * size for share in BEYOND)
            size = _zero(before, before_slope, low, low_slope, least)
        else:
            least, most = (low + share * (high - low) for share in INSIDE)
            size = _zero(low, low_slope, high, high_slope, (low + high) / 2.0)
        size = min(max(size, least), most)
    return Point(point, value, gradient, MAX_TRIALS, value < at.loss, tried)


def _zero(a: float, slope_a: float, b: float, slope_b: float, otherwise: float) -> float:
    """Where the line through two slopes is zero; ``otherwise`` where it does not rise."""
    rise = slope_b - slope_a
    return a - slope_a * (b - a) / rise if 0.0 < rise < np.inf else otherwise
