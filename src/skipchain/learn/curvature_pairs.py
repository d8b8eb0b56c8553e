"""The last steps of L-BFGS and what the gradient did along them: a guess at the curvature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Floats, Room
from skipchain.kernels.kernel import Kernel, kernel
from skipchain.learn.saved_state import SavedState
from skipchain.learn.vectors import map_blocks
from skipchain.parallel import Workers

Floats32 = NDArray[np.float32]

TABLES = ("mixed", "scaled")
TILE = 1024  # numbers of a vector that stay in the processor's first cache


class CurvaturePairs:
    """Steps s and gradient changes y, and the directions −H · slope that they give.

    The two loops of L-BFGS (Nocedal 1980) need products of these vectors, and add multiples of them
    up: a direction is −γ D (slope + Σ a_i y_i) + Σ b_i s_i with a diagonal D. So products are kept
    as tables that grow by a row with each pair (Chen, Wang and Zhou 2014), the loops run over
    numbers, and a direction takes two walks over memory whatever the number of pairs. Walks go
    block by block, in threads; sums of blocks are added in order, and the bits are the same
    whatever the number of threads.

    Single precision is enough for a direction, and halves what is kept and read. The vectors are
    made in ``room``.
    """

    def __init__(
        self, memory: int, size: int, workers: Workers | None = None, room: Room = IN_MEMORY
    ) -> None:
        self._workers = workers or Workers(1)
        self._size = size
        self._slots: list[int] = []  # of the pairs, oldest first; one slot more is for the next
        self._steps = room.empty((memory + 1, size), np.float32)
        self._changes = room.empty((memory + 1, size), np.float32)
        self._scale: Floats32 = np.ones(0, np.float32)
        # by slots: s_i · y_j and y_i · D y_j
        self._mixed = np.zeros((memory + 1, memory + 1))
        self._scaled = np.zeros((memory + 1, memory + 1))

    def __len__(self) -> int:
        return len(self._slots)

    def clear(self) -> None:
        """Forget all pairs."""
        self._slots.clear()

    def state(self) -> SavedState:
        """All pairs, and the diagonal."""
        arrays = {
            "steps": self._steps[self._slots],
            "changes": self._changes[self._slots],
            "scale": self._scale,
        }
        tables = {name: self._table(name) for name in TABLES}
        return SavedState({}, {**arrays, **tables})

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        steps = saved.array("steps", np.float32, None, self._size)
        count = len(steps)
        changes = saved.array("changes", np.float32, count, self._size)
        mixed, scaled = (saved.array(name, np.float64, count, count) for name in TABLES)
        scale = saved.array("scale", np.float32, None)
        if count >= len(self._steps):
            saved.refuse("steps", f"{len(self._steps) - 1} vectors at most")
        if len(scale) not in (0, self._size):
            saved.refuse("scale", f"{self._size} numbers, or none")
        self._slots = list(range(count))
        self._steps[:count], self._changes[:count], self._scale = steps, changes, scale
        self._mixed[:count, :count], self._scaled[:count, :count] = mixed, scaled

    def rescale(self, curvature: Floats) -> None:
        """Start from this diagonal from now on."""
        self._scale = (curvature**-0.5).astype(np.float32)
        for place in range(len(self._slots)):
            self._note(place)

    def add(self, before: tuple[Floats, Floats], after: tuple[Floats, Floats]) -> None:
        """Remember the way from a (vector, gradient) to the next, unless rounding has spoilt it."""
        free = next(slot for slot in range(len(self._steps)) if slot not in self._slots)
        step, change = self._steps[free], self._changes[free]
        product, squares = self._sum(2, subtract_pair, *before, *after, step, change)
        if not product > 1e-10 * squares:  # nor where it is not a number
            return
        if len(self._slots) == len(self._steps) - 1:
            del self._slots[0]
        self._slots.append(free)
        self._note(len(self._slots) - 1)

    def direction(self, slope: Floats) -> Floats:
        """−H · slope."""
        out = np.empty(self._size)
        slots = np.array(self._slots, np.int64)
        gamma, change_factors, step_factors = 1.0, np.zeros(0), np.zeros(0)
        if self._slots:
            vectors = (self._steps, self._changes, self._scale, slots)
            sums = self._sum(2 * len(slots), slope_products, *vectors, slope)
            gamma, change_factors, step_factors = self._loops(*sums.reshape(2, -1))
        # the first step goes straight down
        scale = self._scale if self._slots else self._scale[:0]
        factors = (gamma, change_factors, step_factors)
        map_blocks(
            lambda *block: combine(
                self._steps, self._changes, scale, slots, slope, *factors, out, *block
            ),
            self._size,
            self._workers,
        )
        return out

    def _loops(self, steps: Floats, changes: Floats) -> tuple[float, Floats, Floats]:
        """γ, a and b of a direction, from s_i · slope and y_i · D slope, oldest first."""
        mixed, scaled = (self._table(name) for name in TABLES)
        count = len(steps)
        a, b = np.zeros(count), np.zeros(count)
        for i in reversed(range(count)):  # what −slope has left of y_i
            a[i] = (-steps[i] - mixed[i, i + 1 :] @ a[i + 1 :]) / mixed[i, i]
        gamma = float(mixed[-1, -1] / scaled[-1, -1])
        for i in range(count):
            product = mixed[:i, i] @ b[:i] - gamma * (changes[i] + scaled[i] @ a)
            b[i] = a[i] - product / mixed[i, i]
        return gamma, a, b

    def _note(self, place: int) -> None:
        """Put the products of a pair with itself and older ones into the tables."""
        slots = np.array(self._slots[: place + 1], np.int64)
        own = slots[-1]
        vectors = (self._steps, self._changes, self._scale, slots)
        sums = self._sum(3 * len(slots), pair_products, *vectors)
        mixed, mixed_back, scaled = sums.reshape(3, -1)
        self._mixed[slots, own], self._mixed[own, slots] = mixed, mixed_back
        self._scaled[slots, own] = self._scaled[own, slots] = scaled

    def _table(self, name: str) -> Floats:
        """One of the tables, by the order of pairs."""
        table: Floats = getattr(self, f"_{name}")
        return table[np.ix_(self._slots, self._slots)]

    def _sum(self, width: int, products: Kernel, *arrays: Any) -> Floats:
        """The sums of a kernel that writes those of a block to the last of its arguments."""

        def run(first: int, last: int) -> Floats:
            out = np.zeros(width)
            products(*arrays, first, last, out)
            return out

        total: Floats = np.array(map_blocks(run, self._size, self._workers)).sum(axis=0)
        return total


@kernel(fastmath={"reassoc", "contract"})
def subtract_pair(vector, gradient, later, later_gradient, step, change, first, last, out):  # type: ignore[no-untyped-def]
    """Write s and y of one step, and Σ s · y and Σ y · y to ``out`` [2]."""
    product = squares = 0.0
    for k in range(first, last):
        s = np.float32(later[k] - vector[k])
        y = np.float32(later_gradient[k] - gradient[k])
        step[k], change[k] = s, y
        product += np.float64(s) * np.float64(y)
        squares += np.float64(y) * np.float64(y)
    out[0], out[1] = product, squares


@kernel(fastmath={"reassoc", "contract"})
def slope_products(steps, changes, scale, slots, slope, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ s_i · slope and Σ y_i · D slope of a block to ``out`` [2 K]."""
    count = slots.shape[0]
    scaled = np.empty(TILE)
    for begin in range(first, last, TILE):
        size = min(TILE, last - begin)
        for k in range(size):
            scaled[k] = slope[begin + k]
            if scale.shape[0] > 0:
                scaled[k] *= scale[begin + k]
        for i in range(count):
            slot = slots[i]
            a = b = 0.0
            for k in range(size):
                a += steps[slot, begin + k] * slope[begin + k]
                b += changes[slot, begin + k] * scaled[k]
            out[i] += a
            out[count + i] += b


@kernel(fastmath={"reassoc", "contract"})
def pair_products(steps, changes, scale, slots, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ s_i · y_n, Σ s_n · y_i and Σ y_i · D y_n, with n the last slot, to ``out`` [3 K]."""
    count = slots.shape[0]
    own = slots[count - 1]
    step, change, scaled = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for begin in range(first, last, TILE):
        size = min(TILE, last - begin)
        for k in range(size):
            step[k], change[k] = steps[own, begin + k], changes[own, begin + k]
            scaled[k] = change[k]
            if scale.shape[0] > 0:
                scaled[k] *= scale[begin + k]
        for i in range(count):
            slot = slots[i]
            a = b = c = 0.0
            for k in range(size):
                s, y = np.float64(steps[slot, begin + k]), np.float64(changes[slot, begin + k])
                a += s * change[k]
                b += step[k] * y
                c += y * scaled[k]
            out[i] += a
            out[count + i] += b
            out[2 * count + i] += c


@kernel(fastmath={"reassoc", "contract"})
def combine(steps, changes, scale, slots, slope, gamma, a, b, out, first, last):  # type: ignore[no-untyped-def]
    """out = −γ D (slope + Σ a_i y_i) + Σ b_i s_i, in a block; a ``scale`` D of length 0 is one."""
    for begin in range(first, last, TILE):
        end = min(begin + TILE, last)
        for k in range(begin, end):
            out[k] = slope[k]
        for i in range(slots.shape[0]):
            slot = slots[i]
            for k in range(begin, end):
                out[k] += a[i] * changes[slot, k]
        for k in range(begin, end):
            out[k] *= -gamma
            if scale.shape[0] > 0:
                out[k] *= scale[k]
        for i in range(slots.shape[0]):
            slot = slots[i]
            for k in range(begin, end):
                out[k] += b[i] * steps[slot, k]
