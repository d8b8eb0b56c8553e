"""Steps along a noisy gradient that keep some of their speed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skipchain.arrays import Floats

Rows = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Momentum:
    """Ascent with a fixed rate and weight decay; momentum from an epoch on.

    speed ← momentum · speed + rate · (gradient − decay · place), place ← place + speed.
    """

    rate: float
    decay: float = 0.0
    momentum: float = 0.0
    since: int = field(default=0)

    def kept(self, epoch: int) -> float:
        """How much of its speed a step keeps."""
        return self.momentum if epoch >= self.since else 0.0


class Moving:
    """A table of numbers [R, W] that move, and their speed.

    A step may have a gradient for some rows only. The others go on by themselves: in m steps
    without a gradient (place, speed) is multiplied m times by the same matrix of four numbers. That
    is done when a row is next looked at, so that a step costs no more than the rows that it has a
    gradient for; `settle` does it for all.

    >>> table = Moving(Momentum(rate=0.5, momentum=0.9), np.zeros((2, 1)))
    >>> table.begin(epoch=0, steps=3)
    >>> for rows in ([0, 1], [1], [1]):
    ...     _ = table.push(np.ones((len(rows), 1)), 1, np.array(rows))
    >>> table.settle()
    >>> table.place  # 0.5 + 0.45 + 0.405; 0.5 + (0.45 + 0.5) + (0.855 + 0.5)
    array([[1.355],
           [2.805]])
    """

    def __init__(self, ascent: Momentum, place: Floats, largest: float = np.inf) -> None:
        self.place = place
        self._speed = np.zeros_like(place)
        self._ascent = ascent
        self._largest = largest
        self._kept = 0.0
        self._now = 0
        self._moved = np.zeros(len(place), np.int64)  # the step up to which a row has been moved
        self._powers = np.zeros((1, 4))

    def begin(self, epoch: int, steps: int) -> None:
        """Before an epoch of so many steps; all rows must be settled."""
        self._kept, self._now = self._ascent.kept(epoch), 0
        self._moved[:] = 0
        shrink = self._ascent.rate * self._ascent.decay
        once = np.array([[1.0 - shrink, self._kept], [-shrink, self._kept]])
        powers = [np.eye(2)]
        for _ in range(steps):
            powers.append(once @ powers[-1])
        self._powers = np.array(powers).reshape(-1, 4)

    def look(self, rows: Rows | None = None) -> Floats:
        """Rows as they are now: a copy, or the table itself where all are meant."""
        if rows is None:
            return self.place
        self._follow(rows)
        return self.place[rows]

    def push(self, gradient: Floats, count: int, rows: Rows | None = None) -> bool:
        """A step by a gradient / count, of some rows or of all; false if a number gets too large.

        A table is either moved as a whole in all steps of an epoch, or row by row.
        """
        ascent = self._ascent
        if rows is None:
            return bool(
                _push(
                    self.place.reshape(-1),
                    self._speed.reshape(-1),
                    gradient.reshape(-1),
                    count,
                    self._kept,
                    ascent.rate,
                    ascent.decay,
                    self._largest,
                )
            )
        self._follow(rows)
        self._now += 1
        self._moved[rows] = self._now
        return bool(
            _push_rows(
                self.place,
                self._speed,
                rows,
                gradient,
                count,
                self._kept,
                ascent.rate,
                ascent.decay,
                self._largest,
            )
        )

    def settle(self) -> None:
        """Move all rows to where they are now."""
        if self._now:
            self._follow(np.arange(len(self.place)))

    def _follow(self, rows: Rows) -> None:
        _follow(self.place, self._speed, rows, self._moved, self._now, self._powers)


@njit(nogil=True, cache=True)
def average_in(average, vector, count):  # type: ignore[no-untyped-def]
    """Take one more vector into the average of ``count``, itself included."""
    for k in range(len(vector)):
        average[k] += (vector[k] - average[k]) / count


@njit(nogil=True, cache=True)
def _push(place, speed, gradient, count, kept, rate, decay, largest):  # type: ignore[no-untyped-def]
    """One walk over memory; true if all numbers stay below the largest (NaN does not)."""
    good = True
    for k in range(len(place)):
        speed[k] = kept * speed[k] + rate * (gradient[k] / count - decay * place[k])
        place[k] += speed[k]
        good &= abs(place[k]) < largest
    return good


@njit(nogil=True, cache=True)
def _push_rows(place, speed, rows, gradient, count, kept, rate, decay, largest):  # type: ignore[no-untyped-def]
    good = True
    for r in range(len(rows)):
        own = rows[r]
        good &= _push(place[own], speed[own], gradient[r], count, kept, rate, decay, largest)
    return good


@njit(nogil=True, cache=True)
def _follow(place, speed, rows, moved, now, powers):  # type: ignore[no-untyped-def]
    """The steps without a gradient that rows have not made yet."""
    for row in rows:
        a, b, c, d = powers[now - moved[row]]
        if now > moved[row]:
            for j in range(place.shape[1]):
                p, s = place[row, j], speed[row, j]
                place[row, j] = a * p + b * s
                speed[row, j] = c * p + d * s
            moved[row] = now
