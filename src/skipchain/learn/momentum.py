"""Steps along a noisy gradient that keep some of their speed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats
from skipchain.kernels.kernel import kernel

Rows = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Momentum:
    """Ascent with a fixed rate and weight decay; momentum from an epoch on.

    speed ← momentum · speed + rate · (gradient − decay · place), place ← place + speed.
    """

    rate: float
    decay: float = 0.0
    momentum: float = 0.0
    from_epoch: int = field(default=0)

    def momentum_at(self, epoch: int) -> float:
        """How much of its speed a step keeps."""
        return self.momentum if epoch >= self.from_epoch else 0.0


class MomentumTable:
    """A table of numbers [R, W] that move, and their speed.

    A step may have a gradient for some rows only. The others go on by themselves: in m steps
    without a gradient (place, speed) is multiplied m times by the same matrix of four numbers. That
    is done when a row is next looked at, so that a step costs no more than the rows that it has a
    gradient for; `flush` does it for all.

    >>> table = MomentumTable(Momentum(rate=0.5, momentum=0.9), np.zeros((2, 1)))
    >>> table.begin(epoch=0, steps=3)
    >>> for rows in ([0, 1], [1], [1]):
    ...     _ = table.step(np.ones((len(rows), 1)), 1, np.array(rows))
    >>> table.flush()
    >>> table.values  # 0.5 + 0.45 + 0.405; 0.5 + (0.45 + 0.5) + (0.855 + 0.5)
    array([[1.355],
           [2.805]])
    """

    def __init__(self, ascent: Momentum, values: Floats, largest: float = np.inf) -> None:
        self.values = values
        self._velocity = np.zeros_like(values)
        self._ascent = ascent
        self._largest = largest
        self._momentum = 0.0
        self._now = 0
        self._moved = np.zeros(len(values), np.int64)  # the step up to which a row has been moved
        self._powers = np.zeros((1, 4))

    def begin(self, epoch: int, steps: int) -> None:
        """Before an epoch of so many steps; call it after `flush`."""
        self._momentum, self._now = self._ascent.momentum_at(epoch), 0
        self._moved[:] = 0
        shrink = self._ascent.rate * self._ascent.decay
        once = np.array([[1.0 - shrink, self._momentum], [-shrink, self._momentum]])
        powers = [np.eye(2)]
        for _ in range(steps):
            powers.append(once @ powers[-1])
        self._powers = np.array(powers).reshape(-1, 4)

    def current(self, rows: Rows | None = None) -> Floats:
        """Rows as they are now: a copy, or the table itself where all are meant."""
        if rows is None:
            return self.values
        self._apply_pending(rows)
        return self.values[rows]

    def step(self, gradient: Floats, count: int, rows: Rows | None = None) -> bool:
        """A step by a gradient / count, of some rows or of all; false if a number gets too large.

        A table is either moved as a whole in all steps of an epoch, or row by row.
        """
        settings = (count, self._momentum, self._ascent.rate, self._ascent.decay, self._largest)
        if rows is None:
            values, velocity = self.values.reshape(-1), self._velocity.reshape(-1)
            return bool(_step(values, velocity, gradient.reshape(-1), *settings))
        self._apply_pending(rows)
        self._now += 1
        self._moved[rows] = self._now
        return bool(_step_rows(self.values, self._velocity, rows, gradient, *settings))

    def flush(self) -> None:
        """Move all rows to where they are now."""
        if self._now:
            self._apply_pending(np.arange(len(self.values)))

    def _apply_pending(self, rows: Rows) -> None:
        _apply_pending(self.values, self._velocity, rows, self._moved, self._now, self._powers)


@kernel
def update_average(average, vector, count):  # type: ignore[no-untyped-def]
    """Take one more vector into the average of ``count``, itself included."""
    for k in range(len(vector)):
        average[k] += (vector[k] - average[k]) / count


@kernel
def _step(values, velocity, gradient, count, kept, rate, decay, largest):  # type: ignore[no-untyped-def]
    """One walk over memory; true if all numbers stay below the largest (NaN does not)."""
    good = True
    for k in range(len(values)):
        velocity[k] = kept * velocity[k] + rate * (gradient[k] / count - decay * values[k])
        values[k] += velocity[k]
        good &= abs(values[k]) < largest
    return good


@kernel
def _step_rows(values, velocity, rows, gradient, count, kept, rate, decay, largest):  # type: ignore[no-untyped-def]
    good = True
    for r in range(len(rows)):
        row = rows[r]
        good &= _step(values[row], velocity[row], gradient[r], count, kept, rate, decay, largest)
    return good


@kernel
def _apply_pending(values, velocity, rows, moved, now, powers):  # type: ignore[no-untyped-def]
    """The steps without a gradient that rows have not made yet."""
    for row in rows:
        a, b, c, d = powers[now - moved[row]]
        if now > moved[row]:
            for j in range(values.shape[1]):
                p, s = values[row, j], velocity[row, j]
                values[row, j] = a * p + b * s
                velocity[row, j] = c * p + d * s
            moved[row] = now
