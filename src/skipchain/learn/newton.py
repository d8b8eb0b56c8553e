"""Newton's method, for problems small enough for a table of second derivatives."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.descent import VANISHED
from skipchain.learn.line_search import LINE_SEARCH_FAILED, Objective, Point, backtracking
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.learn.vectors import dot, norm

TOLERANCE = 1e-14  # of the loss: what the next step promises, where it is too little to go on
DAMPING = (0.0, 1e-10, 1e-7, 1e-4, 1e-1)  # what is added to the diagonal, as shares of its mean


def minimize(
    function: Objective,
    curvature: Callable[[Floats], Floats],
    start: Floats,
    max_iterations: int = 100,
    callback: Callable[[Step], bool | None] | None = None,
) -> OptimisationResult:
    """Minimise a convex ``function(x)``, whose second derivatives [P, P] are ``curvature(x)``.

    It ends when a further step would lower the loss by nothing that can be measured, after
    ``max_iterations``, when ``callback`` returns True, or on a keyboard interrupt, which keeps what
    has been reached.

    >>> result = minimize(
    ...     lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), lambda x: 2 * np.eye(2), np.zeros(2)
    ... )
    >>> result.vector, result.iterations
    (array([3., 3.]), 1)
    """
    began = time.perf_counter()
    x = start.astype(np.float64, copy=True)
    at = Point(x, *function(x))
    iteration, evaluations = 0, 1
    reason = f"{max_iterations} iterations"
    try:
        while iteration < max_iterations:
            direction = _direction(curvature(at.vector), at.gradient)
            fall = dot(direction, at.gradient)  # twice what a quadratic function would fall by
            if -fall <= TOLERANCE * max(1.0, abs(at.loss)):
                reason = VANISHED
                break
            found = backtracking(function, at, direction, 1.0)
            evaluations += found.trials
            if not found.accepted:
                reason = LINE_SEARCH_FAILED
                break
            at = found
            iteration += 1
            seconds, steepness = time.perf_counter() - began, norm(at.gradient)
            report = Step(
                iteration, at.vector, at.loss, seconds, steepness, evaluations=evaluations
            )
            if callback is not None and callback(report):
                reason = "stopped early"
                break
    except KeyboardInterrupt:
        reason = INTERRUPTED
    return OptimisationResult(at.vector, at.loss, iteration, evaluations, reason)


def _direction(curvature: Floats, gradient: Floats) -> Floats:
    """−H⁻¹ · gradient; where H is flat in some direction, a little is added to its diagonal."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    diagonal = curvature.diagonal().copy()
    for share in DAMPING:
        np.fill_diagonal(curvature, diagonal + share * diagonal.mean())
        try:
            direction: Floats = -cho_solve(cho_factor(curvature, lower=True), gradient)
        except (LinAlgError, ValueError):  # not positive, or not finite
            continue
        if np.isfinite(direction).all() and dot(direction, gradient) <= 0.0:
            return direction
    return -gradient
