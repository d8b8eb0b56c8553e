"""Binary hidden units by themselves: the probability that one is on, and drawing it."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel
from skipchain.kernels.random import uniform

# σ at multiples of 1/8, from −SIGMOID_RANGE to SIGMOID_RANGE: between two of them lies what a
# uniform number has to be compared with, so that an exponential is seldom needed
SIGMOID_RANGE = 40
SIGMOID_RESOLUTION = 8
SIGMOIDS = 1.0 / (
    1.0
    + np.exp(
        -np.arange(-SIGMOID_RANGE * SIGMOID_RESOLUTION, SIGMOID_RANGE * SIGMOID_RESOLUTION + 1)
        / SIGMOID_RESOLUTION
    )
)


@kernel
def draw_unit(a, states, c):
    """Draw a unit: 1 with probability σ(a)."""
    u = uniform(states, c)
    if not -SIGMOID_RANGE <= a < SIGMOID_RANGE:  # NaN has no place in the table
        return u < sigmoid(a)
    below = int((a + SIGMOID_RANGE) * SIGMOID_RESOLUTION)
    if u < SIGMOIDS[below]:
        return True
    if u >= SIGMOIDS[below + 1]:
        return False
    return u < sigmoid(a)


@kernel
def sigmoid(a):
    """The probability of a unit whose activation is a."""
    return 1.0 / (1.0 + np.exp(-a)) if a > -700.0 else 0.0
