"""L-BFGS, and OWL-QN where there is an L1 penalty."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.learn.vectors import add_dot, dot, norm

Objective = Callable[[Floats], tuple[float, Floats]]

ARMIJO, WOLFE = 1e-4, 0.9
MAX_TRIALS = 30
RESCALE_AT, RESCALE_EVERY = (5, 10, 20), 40
LINE_SEARCH_FAILED = "no step lowers the loss further"


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
) -> OptimisationResult:
    """Minimise ``function(x) + l1 · Σ|x|`` from ``start``.

    ``curvature`` estimates the diagonal of the Hessian at the point where ``function`` was called
    last, as numbers above zero; it is asked now and then, and directions start from its inverse
    square root instead of the identity.

    It ends when the loss has fallen by less than ``tolerance`` (relative) over ``period``
    iterations, when the gradient vanishes, after ``max_iterations``, when ``callback`` returns
    True, or on a keyboard interrupt, which keeps what has been reached.

    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).vector
    array([3., 3.])
    """
    began = time.perf_counter()
    search = _orthant_search if l1 else _wolfe_search
    x = start.astype(np.float64, copy=True)
    history = _CurvaturePairs(memory)
    past: deque[float] = deque(maxlen=period + 1)
    iteration, evaluations = 0, 1
    reason = f"{max_iterations} iterations"
    loss, gradient = function(x)
    loss += l1 * float(np.abs(x).sum())
    past.append(loss)
    try:
        while iteration < max_iterations:
            slope = _pseudo_gradient(x, gradient, l1) if l1 else gradient
            steepness = norm(slope)
            if steepness <= 1e-10 * max(1.0, norm(x)):
                reason = "the gradient vanished"
                break
            if curvature is not None and _is_rescale_iteration(iteration):
                history.rescale(curvature())
            direction = history.direction(slope)
            if l1:
                direction[direction * slope >= 0.0] = 0.0
            if dot(direction, slope) >= 0.0:  # rounding has spoilt the curvature: begin afresh
                history.pairs.clear()
                direction = -slope
            size = 1.0 if history.pairs else 1.0 / steepness
            step = search(function, x, loss, slope, direction, size, l1)
            evaluations += step.trials
            if not step.accepted:
                if not history.pairs:
                    reason = LINE_SEARCH_FAILED
                    break
                history.pairs.clear()
                continue
            history.add(step.vector - x, step.gradient - gradient)
            x, loss, gradient = step.vector, step.loss, step.gradient
            iteration += 1
            past.append(loss)
            improvement = (past[0] - loss) / max(abs(loss), 1e-12) if len(past) > period else None
            report = Step(iteration, x, loss, time.perf_counter() - began, steepness, improvement)
            if callback is not None and callback(report):
                reason = "stopped early"
                break
            if improvement is not None and improvement < tolerance:
                reason = f"the loss fell by less than {tolerance:g} in {period} iterations"
                break
    except KeyboardInterrupt:
        reason = INTERRUPTED
    return OptimisationResult(x, loss, iteration, evaluations, reason)


def _is_rescale_iteration(iteration: int) -> bool:
    """Whether the diagonal is worth another look: often at first, when it changes fast."""
    return iteration in RESCALE_AT or (iteration > 0 and iteration % RESCALE_EVERY == 0)


@dataclass(frozen=True, slots=True)
class _CurvaturePair:
    """A step, the change of the gradient along it, and their product.

    Single precision is enough for a direction, and halves what is kept and read.
    """

    step: NDArray[np.float32]
    change: NDArray[np.float32]
    product: float


class _CurvaturePairs:
    """The last steps, from which the curvature is guessed; older ones are forgotten."""

    def __init__(self, memory: int) -> None:
        self.pairs: deque[_CurvaturePair] = deque(maxlen=memory)
        self._scale: NDArray[np.float32] | None = None

    def rescale(self, curvature: Floats) -> None:
        """Start from this diagonal from now on."""
        self._scale = (curvature**-0.5).astype(np.float32)

    def add(self, step: Floats, change: Floats) -> None:
        """Remember a step, unless rounding has spoilt what it tells."""
        product = dot(step, change)
        if product > 1e-10 * dot(change, change):
            self.pairs.append(
                _CurvaturePair(step.astype(np.float32), change.astype(np.float32), product)
            )

    def direction(self, slope: Floats) -> Floats:
        """−H · slope by the two-loop recursion (Nocedal 1980)."""
        d = -slope
        if not self.pairs:
            return d
        pairs = list(self.pairs)
        factors = []
        product = dot(pairs[-1].step, d)
        for newer, older in zip(reversed(pairs), [*reversed(pairs[:-1]), None], strict=True):
            factors.append(product / newer.product)
            after = newer.change if older is None else older.step
            product = float(add_dot(d, -factors[-1], newer.change, after))
        change = pairs[-1].change
        if self._scale is not None:
            d *= self._scale
            change = change * self._scale
        d *= pairs[-1].product / dot(pairs[-1].change, change)
        product = dot(pairs[0].change, d)
        for older, newer, factor in zip(
            pairs, [*pairs[1:], pairs[0]], reversed(factors), strict=True
        ):
            step = factor - product / older.product
            product = float(add_dot(d, step, older.step, newer.change))
        return d


@dataclass(frozen=True, slots=True)
class _LineSearchResult:
    vector: Floats
    loss: float
    gradient: Floats
    trials: int
    accepted: bool


def _wolfe_search(
    function: Objective,
    x: Floats,
    loss: float,
    slope: Floats,
    direction: Floats,
    size: float,
    l1: float,
) -> _LineSearchResult:
    """A step that satisfies the weak Wolfe conditions, by bisection (Lewis and Overton 2013)."""
    fall = dot(direction, slope)
    low, high = 0.0, np.inf
    for trial in range(1, MAX_TRIALS + 1):
        point = x + size * direction
        value, grad = function(point)
        if not value <= loss + ARMIJO * size * fall:
            high = size
        elif dot(grad, direction) < WOLFE * fall:
            low = size
        else:
            return _LineSearchResult(point, value, grad, trial, True)
        size = 2.0 * low if high == np.inf else (low + high) / 2.0
    return _LineSearchResult(point, value, grad, MAX_TRIALS, value < loss)


def _orthant_search(
    function: Objective,
    x: Floats,
    loss: float,
    slope: Floats,
    direction: Floats,
    size: float,
    l1: float,
) -> _LineSearchResult:
    """A backtracking step that stays in one orthant (Andrew and Gao 2007, OWL-QN)."""
    orthant = np.where(x != 0.0, np.sign(x), -np.sign(slope))
    for trial in range(1, MAX_TRIALS + 1):
        point = x + size * direction
        point[point * orthant <= 0.0] = 0.0
        value, grad = function(point)
        value += l1 * float(np.abs(point).sum())
        if value <= loss + ARMIJO * dot(slope, point - x):
            return _LineSearchResult(point, value, grad, trial, True)
        size /= 2.0
    return _LineSearchResult(point, value, grad, MAX_TRIALS, False)


def _pseudo_gradient(x: Floats, gradient: Floats, l1: float) -> Floats:
    """The steepest one-sided slope of loss + l1 · |x|."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(x != 0.0, gradient + l1 * np.sign(x), at_zero)
