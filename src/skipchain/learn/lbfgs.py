"""L-BFGS, and OWL-QN where there is an L1 penalty."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Arrays, Floats, Room
from skipchain.learn.descent import descend
from skipchain.learn.line_search import ARMIJO, MAX_TRIALS, Objective, Point, wolfe_search
from skipchain.learn.saved_state import SavedState, Trail
from skipchain.learn.step import OptimisationResult, Step
from skipchain.learn.vectors import add_dot, dot, norm

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
) -> OptimisationResult:
    """Minimise ``function(x) + l1 · Σ|x|`` from ``start``.

    ``curvature`` estimates the diagonal of the Hessian at the point where ``function`` was called
    last, as numbers above zero; it is asked now and then, and directions start from its inverse
    square root instead of the identity.

    It ends when the loss has fallen by less than ``tolerance`` (relative) over ``period``
    iterations, when the gradient vanishes, after ``max_iterations``, when ``callback`` returns
    True, or on a keyboard interrupt, which keeps what has been reached. A ``trail`` is told of
    every iteration, and may have one to go on after. Earlier steps are kept in ``room``.

    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2)).vector
    array([3., 3.])
    """
    history = _CurvaturePairs(memory, len(start), room)

    def penalised(x: Floats) -> tuple[float, Floats]:
        value, gradient = function(x)
        return value + l1 * float(np.abs(x).sum()), gradient

    def slope(at: Point) -> Floats:
        return _pseudo_gradient(at.vector, at.gradient, l1) if l1 else at.gradient

    def move(at: Point, slope: Floats, iteration: int) -> Point:
        if curvature is not None and _is_rescale_iteration(iteration):
            history.rescale(curvature())
        direction = history.direction(slope)
        if l1:
            direction[direction * slope >= 0.0] = 0.0
        if dot(direction, slope) >= 0.0:  # rounding has spoilt the curvature: begin afresh
            history.pairs.clear()
            direction = -slope
        size = 1.0 if history.pairs else 1.0 / norm(slope)
        if l1:
            found = _orthant_search(penalised, at, slope, direction, size)
        else:
            found = wolfe_search(function, at, direction, size)
        if found.accepted:
            history.add(found.vector - at.vector, found.gradient - at.gradient)
        elif history.pairs:
            history.pairs.clear()
            again = move(at, slope, iteration)
            return replace(again, trials=again.trials + found.trials)
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

    def __init__(self, memory: int, size: int, room: Room) -> None:
        self._room = room
        self.pairs: deque[_CurvaturePair] = deque(maxlen=memory)
        self._scale: NDArray[np.float32] | None = None
        self._size = size

    def state(self) -> SavedState:
        """All pairs, and the diagonal."""
        arrays: Arrays = {} if self._scale is None else {"scale": self._scale}
        arrays["products"] = np.array([pair.product for pair in self.pairs])
        for number, pair in enumerate(self.pairs):
            arrays |= {f"step.{number}": pair.step, f"change.{number}": pair.change}
        return SavedState({}, arrays)

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        self.pairs.clear()
        for number, product in enumerate(saved.array("products", np.float64, None).tolist()):
            names = (f"step.{number}", f"change.{number}")
            step, change = (saved.array(name, np.float32, self._size) for name in names)
            self.pairs.append(_CurvaturePair(step, change, product))
        if "scale" in saved.arrays:
            self._scale = saved.array("scale", np.float32, self._size)

    def rescale(self, curvature: Floats) -> None:
        """Start from this diagonal from now on."""
        self._scale = (curvature**-0.5).astype(np.float32)

    def add(self, step: Floats, change: Floats) -> None:
        """Remember a step, unless rounding has spoilt what it tells."""
        product = dot(step, change)
        if product > 1e-10 * dot(change, change):
            kept = [self._room.copy(array, np.float32) for array in (step, change)]
            self.pairs.append(_CurvaturePair(kept[0], kept[1], product))

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
