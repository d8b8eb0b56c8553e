"""Random numbers for kernels: SplitMix64, with as many independent generators as are wanted."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

STEP = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


def seeded(seed, stream, count):
    """The generators' first states for ``count`` chains: other seeds and streams, other numbers."""
    return np.random.SeedSequence((seed, stream)).generate_state(count, np.uint64)


@kernel
def uniform(states, c):
    """The next number in [0, 1) of generator c."""
    states[c] += STEP
    z = states[c]
    z = (z ^ (z >> np.uint64(30))) * MIX1
    z = (z ^ (z >> np.uint64(27))) * MIX2
    return np.float64((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * UNIT
