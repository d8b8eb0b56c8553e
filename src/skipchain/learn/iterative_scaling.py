"""Generalised iterative scaling (Darroch and Ratcliff 1972), with a correction feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.descent import descend
from skipchain.learn.line_search import Objective, Point
from skipchain.learn.step import OptimisationResult, Step

NOTHING = 1e-12  # what is less, as a share, is rounding


def minimize(
    function: Objective,
    start: Floats,
    *,
    counts: Floats,
    largest_sum: float,
    events: int,
    callback: Callable[[Step], bool | None] | None = None,
    **stopping: Any,
) -> OptimisationResult:
    """Minimise ``function(x)``, −log-likelihood of a log-linear model, by iterative scaling.

    Features f_k are not below zero, and in every one of the ``events`` they sum to at most C, the
    ``largest_sum``, whatever the outcome. ``counts`` [P] are their sums over what was observed,
    Ẽ_k, and the gradient of the loss is E_k − Ẽ_k: what the model expects, minus these. A
    correction feature f_0 = C − Σ_k f_k makes all sums C, and each step is

        λ_k ← λ_k + 1/C · log(Ẽ_k / E_k)   for all k, and for 0.

    f_0 is what the others leave, so p ∝ exp(Σ_k λ_k f_k + λ_0 f_0) is the same distribution as p ∝
    exp Σ_k (λ_k − λ_0) f_k, and the vector holds x_k = λ_k − λ_0. In the same way the counts of f_0
    are what is left of ``events`` · C. What was never observed (Ẽ_k = 0) would go to −∞: it is no
    feature, and keeps its number of ``start``.

    When it is to end (``max_iterations``, ``tolerance``, ``period``) is as for
    `skipchain.learn.descent.descend`.

    >>> def two_of_three(x):  # one outcome of two; it has a feature, and was seen in 2 of 3 events
    ...     p = 1 / (1 + np.exp(-x[0]))
    ...     return -2 * np.log(p) - np.log(1 - p), np.array([3 * p - 2])
    >>> counts = np.array([2.0])
    >>> fitted = minimize(two_of_three, np.zeros(1), counts=counts, largest_sum=1.0, events=3)
    >>> np.exp(fitted.vector).round(3)
    array([2.])
    """
    features = counts > 0.0
    observed = counts[features]
    whole = events * largest_sum
    left = whole - observed.sum()  # the counts of the correction feature

    def move(at: Point, slope: Floats, iteration: int) -> Point:
        expected = np.maximum(observed + slope[features], NOTHING * observed)
        step = np.log(observed / expected)
        left_over = whole - expected.sum()
        if min(left, left_over) > NOTHING * whole:
            step -= np.log(left / left_over)
        point = at.vector.copy()
        point[features] += step / largest_sum
        value, gradient = function(point)
        return Point(point, value, gradient, accepted=value < at.loss)

    def slope(at: Point) -> Floats:
        return np.where(features, at.gradient, 0.0)

    return descend(function, start, move, slope=slope, **stopping, callback=callback)
