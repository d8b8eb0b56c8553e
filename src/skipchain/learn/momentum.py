"""Steps along a noisy gradient that keep some of their speed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Momentum:
    """Ascent with a fixed rate and weight decay; momentum from an epoch on.

    >>> ascent = Momentum(rate=0.5, decay=0.0, momentum=0.9, since=1)
    >>> place, speed = np.zeros(1), np.zeros(1)
    >>> for epoch in range(3):
    ...     ascent.step(place, speed, np.ones(1), epoch)
    >>> place  # 0.5 + (0.45 + 0.5) + (0.855 + 0.5)
    array([2.805])
    """

    rate: float
    decay: float = 0.0
    momentum: float = 0.0
    since: int = field(default=0)

    def step(self, place: Floats, speed: Floats, gradient: Floats, epoch: int) -> None:
        """Change place and speed."""
        speed *= self.momentum if epoch >= self.since else 0.0
        speed += self.rate * (gradient - self.decay * place)
        place += speed
