"""L-BFGS, and OWL-QN where there is an L1 penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skipchain.arrays import IN_MEMORY, Floats, Room
from skipchain.learn.curvature_pairs import CurvaturePairs
from skipchain.learn.descent import descend
from skipchain.learn.line_search import ARMIJO, MAX_TRIALS, Objective, Point, wolfe_search
from skipchain.learn.saved_state import Trail
from skipchain.learn.step import OptimisationResult, Step
from skipchain.learn.vectors import dot, norm
from skipchain.parallel import Workers

RESCALE_AT, RESCALE_EVERY = (5, 10, 20), 40


def minimize(
    function: Objective,
    start: Floats,
    *,
    l1: float = 0.0,
    memory: int = 6,
    max_iterations: int = 1000,
    tolerance: float = 1e-5,
    period: int = 10,
    curvature: Callable[[], Floats] | None = None,
    callback: Callable[[Step], bool | None] | None = None,
    trail: Trail | None = None,
    room: Room = IN_MEMORY,
    workers: Workers | None = None,
) -> OptimisationResult:
    """Minimise ``function(x) + l1 · Σ|x|`` from ``start``.

    ``curvature`` estimates the diagonal of the Hessian at the point where ``function`` was called
    last, as numbers above zero; it is asked now and then, and directions start from its inverse
    square root instead of the identity.

    It ends when the loss has fallen by less than ``tolerance`` (relative) over ``period``
    iterations, when the gradient vanishes, after ``max_iterations``, when ``callback`` returns
    True, or on a keyboard interrupt, which keeps what has been reached. A ``trail`` is told of
    every iteration, and may have one to go on after. Earlier steps are kept in ``room``. Directions
    are found by ``workers``; the bits of a result do not depend on their number.

    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).vector
    array([3., 3.])
    """
    history = CurvaturePairs(memory, len(start), workers, room)

    def penalised(x: Floats) -> tuple[float, Floats]:
        value, gradient = function(x)
        return value + l1 * float(np.abs(x).sum()), gradient

    def slope(at: Point) -> Floats:
        return _pseudo_gradient(at.vector, at.gradient, l1) if l1 else at.gradient

    def step(at: Point, slope: Floats) -> Point:
        direction = history.direction(slope)
        if l1:
            direction[direction * slope >= 0.0] = 0.0
        if dot(direction, slope) >= 0.0:  # rounding has spoilt the curvature: begin afresh
            history.clear()
            direction = -slope
        size = 1.0 if len(history) else 1.0 / norm(slope)
        if l1:
            return _orthant_search(penalised, at, slope, direction, size)
        return wolfe_search(function, at, direction, size)

    def move(at: Point, slope: Floats, iteration: int) -> Point:
        if curvature is not None and _is_rescale_iteration(iteration):
            history.rescale(curvature())
        found = step(at, slope)
        if not found.accepted and len(history):
            history.clear()
            again = step(at, slope)
            found = replace(again, trials=again.trials + found.trials)
        if found.accepted:
            history.add((at.vector, at.gradient), (found.vector, found.gradient))
        return found

    return descend(
        penalised if l1 else function,
        start,
        move,
        slope=slope,
        max_iterations=max_iterations,
        tolerance=tolerance,
        period=period,
        callback=callback,
        trail=None if trail is None else trail.having(curvature=history),
    )


def _is_rescale_iteration(iteration: int) -> bool:
    """Whether the diagonal is worth another look: often at first, when it changes fast."""
    return iteration in RESCALE_AT or (iteration > 0 and iteration % RESCALE_EVERY == 0)


def _orthant_search(
    function: Objective, at: Point, slope: Floats, direction: Floats, size: float
) -> Point:
    """A backtracking step that stays in one orthant (Andrew and Gao 2007, OWL-QN)."""
    x = at.vector
    orthant = np.where(x != 0.0, np.sign(x), -np.sign(slope))
    for trial in range(1, MAX_TRIALS + 1):
        point = x + size * direction
        point[point * orthant <= 0.0] = 0.0
        value, gradient = function(point)
        if value <= at.loss + ARMIJO * dot(slope, point - x):
            return Point(point, value, gradient, trial)
        size /= 2.0
    return Point(point, value, gradient, MAX_TRIALS, accepted=False)


def _pseudo_gradient(x: Floats, gradient: Floats, l1: float) -> Floats:
    """The steepest one-sided slope of loss + l1 · |x|."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(x != 0.0, gradient + l1 * np.sign(x), at_zero)
