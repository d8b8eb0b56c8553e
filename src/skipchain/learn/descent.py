"""The loop of every descent: from point to point, until one of the reasons to stop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.line_search import LINE_SEARCH_FAILED, Objective, Point
from skipchain.learn.saved_state import SavedState, Trail
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.learn.vectors import norm

Move = Callable[[Point, Floats, int], Point]
"""From a point, the slope there and the number of iterations so far to the next point."""
VANISHED = "the gradient vanished"


def descend(
    function: Objective,
    start: Floats,
    move: Move,
    *,
    slope: Callable[[Point], Floats] = lambda at: at.gradient,
    max_iterations: int = 1000,
    tolerance: float = 1e-5,
    period: int = 10,
    callback: Callable[[Step], bool | None] | None = None,
    trail: Trail | None = None,
) -> OptimisationResult:
    """Go from ``start`` to the point that ``move`` gives, and on from there.

    It ends when the loss has fallen by less than ``tolerance`` (relative) over ``period``
    iterations, when the ``slope`` vanishes, when a move is not accepted, after ``max_iterations``,
    when ``callback`` returns True, or on a keyboard interrupt, which keeps what has been reached.
    A ``trail`` is told of every iteration, and may have one to go on after.

    >>> def bowl(x):
    ...     return float((x - 3) @ (x - 3)), 2 * (x - 3)
    >>> def halfway(at, slope, iteration):
    ...     x = at.vector - slope / 4
    ...     return Point(x, *bowl(x))
    >>> found = descend(bowl, np.zeros(1), halfway, max_iterations=2)
    >>> found.vector, found.reason
    (array([2.25]), '2 iterations')
    """
    began = time.perf_counter()
    x = start.astype(np.float64, copy=True)
    iteration, evaluations = 0, 1
    losses: list[float] | None = None
    saved = None if trail is None else trail.restored()
    if saved is not None:
        x = saved.array("vector", np.float64, len(start))
        iteration, evaluations = saved.whole("iteration"), saved.whole("evaluations")
        losses = saved.array("past", np.float64, None).tolist()
    # also after a restart: what the function notes where it is called last is wanted later
    at = Point(x, *function(x))
    past: deque[float] = deque(losses or [at.loss], maxlen=period + 1)

    def state() -> SavedState:
        values = {"iteration": iteration, "evaluations": evaluations}
        return SavedState(values, {"vector": at.vector, "past": np.array(past)})

    reason = f"{max_iterations} iterations"
    try:
        while iteration < max_iterations:
            steepest = slope(at)
            steepness = norm(steepest)
            if steepness <= 1e-10 * max(1.0, norm(at.vector)):
                reason = VANISHED
                break
            found = move(at, steepest, iteration)
            evaluations += found.trials
            if not found.accepted:
                reason = LINE_SEARCH_FAILED
                break
            at = found
            iteration += 1
            past.append(at.loss)
            fallen = (past[0] - at.loss) / max(abs(at.loss), 1e-12)
            improvement = fallen if len(past) > period else None
            seconds = time.perf_counter() - began
            report = Step(
                iteration, at.vector, at.loss, seconds, steepness, improvement, None, evaluations
            )
            if callback is not None and callback(report):
                reason = "stopped early"
                break
            if improvement is not None and improvement < tolerance:
                reason = f"the loss fell by less than {tolerance:g} in {period} iterations"
                break
            if trail is not None:
                trail.note(state)
    except KeyboardInterrupt:
        reason = INTERRUPTED
    return OptimisationResult(at.vector, at.loss, iteration, evaluations, reason)
