"""L-BFGS, and OWL-QN where there is an L1 penalty."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.learn.step import INTERRUPTED, Minimum, Step
from skipchain.learn.vectors import add_dot, dot, norm

Floats = NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]

ARMIJO, WOLFE = 1e-4, 0.9
MAX_TRIALS = 30
STUCK = "no step lowers the loss further"


def minimize(
    function: Function,
    start: Floats,
    *,
    l1: float = 0.0,
    memory: int = 6,
    max_iterations: int = 1000,
    tolerance: float = 1e-5,
    period: int = 10,
    callback: Callable[[Step], bool | None] | None = None,
) -> Minimum:
    """Minimise ``function(x) + l1 · Σ|x|`` from ``start``.

    It ends when the loss has fallen by less than ``tolerance`` (relative) over ``period``
    iterations, when the gradient vanishes, after ``max_iterations``, when ``callback`` returns
    True, or on a keyboard interrupt, which keeps what has been reached.

    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).vector
    array([3., 3.])
    """
    began = time.perf_counter()
    search = _orthant_search if l1 else _wolfe_search
    x = start.astype(np.float64, copy=True)
    history: deque[_Pair] = deque(maxlen=memory)
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
            direction = _direction(slope, history)
            if l1:
                direction[direction * slope >= 0.0] = 0.0
            if dot(direction, slope) >= 0.0:  # rounding has spoilt the curvature: begin afresh
                history.clear()
                direction = -slope
            first = 1.0 if history else 1.0 / steepness
            found = search(function, x, loss, gradient, slope, direction, first, l1)
            evaluations += found.trials
            if not found.accepted:
                if not history:
                    reason = STUCK
                    break
                history.clear()
                continue
            step, change = found.vector - x, found.gradient - gradient
            curvature = dot(step, change)
            if curvature > 1e-10 * dot(change, change):
                history.append(_Pair(step.astype(np.float32), change.astype(np.float32), curvature))
            x, loss, gradient = found.vector, found.loss, found.gradient
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
    return Minimum(x, loss, iteration, evaluations, reason)


def _direction(slope: Floats, history: deque[_Pair]) -> Floats:
    """−H · slope by the two-loop recursion (Nocedal 1980)."""
    d = -slope
    if not history:
        return d
    pairs = list(history)
    factors = []
    product = dot(pairs[-1].step, d)
    for newer, older in zip(reversed(pairs), [*reversed(pairs[:-1]), None], strict=True):
        factors.append(product / newer.curvature)
        after = newer.change if older is None else older.step
        product = float(add_dot(d, -factors[-1], newer.change, after))
    scale = pairs[-1].curvature / dot(pairs[-1].change, pairs[-1].change)
    d *= scale
    product = dot(pairs[0].change, d)
    for older, newer, factor in zip(pairs, [*pairs[1:], pairs[0]], reversed(factors), strict=True):
        step = factor - product / older.curvature
        product = float(add_dot(d, step, older.step, newer.change))
    return d


@dataclass(frozen=True, slots=True)
class _Pair:
    """A step, the change of the gradient along it, and their product.

    Single precision is enough for a direction, and halves what is kept and read.
    """

    step: NDArray[np.float32]
    change: NDArray[np.float32]
    curvature: float


@dataclass(frozen=True, slots=True)
class _Found:
    vector: Floats
    loss: float
    gradient: Floats
    trials: int
    accepted: bool


def _wolfe_search(
    function: Function,
    x: Floats,
    loss: float,
    gradient: Floats,
    slope: Floats,
    direction: Floats,
    size: float,
    l1: float,
) -> _Found:
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
            return _Found(point, value, grad, trial, True)
        size = 2.0 * low if high == np.inf else (low + high) / 2.0
    return _Found(point, value, grad, MAX_TRIALS, value < loss)


def _orthant_search(
    function: Function,
    x: Floats,
    loss: float,
    gradient: Floats,
    slope: Floats,
    direction: Floats,
    size: float,
    l1: float,
) -> _Found:
    """A backtracking step that stays in one orthant (Andrew and Gao 2007, OWL-QN)."""
    orthant = np.where(x != 0.0, np.sign(x), -np.sign(slope))
    for trial in range(1, MAX_TRIALS + 1):
        point = x + size * direction
        point[point * orthant <= 0.0] = 0.0
        value, grad = function(point)
        value += l1 * float(np.abs(point).sum())
        if value <= loss + ARMIJO * dot(slope, point - x):
            return _Found(point, value, grad, trial, True)
        size /= 2.0
    return _Found(point, value, grad, MAX_TRIALS, False)


def _pseudo_gradient(x: Floats, gradient: Floats, l1: float) -> Floats:
    """The steepest one-sided slope of loss + l1 · |x|."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(x != 0.0, gradient + l1 * np.sign(x), at_zero)
