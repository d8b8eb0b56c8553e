"""Gibbs sampling of single labels of chains, one after the other.

Potentials are those of `kernels.chain` (``node [N, S]``, ``edge [E, S, S]``, ``offsets``). A label
is drawn given those beside it, p(y_t = j) ∝ exp((node_t(j) + edge_t(y_{t−1}, j) + edge_{t+1}(j,
y_{t+1})) / T), T the temperature: equations 2 and 4 of Finkel, Grenager and Manning (2005).
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.caching import njit
from skipchain.kernels.random import uniform

# Compiled with random 44eb5a9ad83c


@njit(nogil=True, cache=True)
def gibbs_sweeps(node, edge, offsets, temperatures, states, labels):
    """Sweep over each chain once per temperature; labels [N] is where it begins and ends.

    states [C] are those of the chains' random numbers. Where the temperature is 0 the best label is
    taken. A label that all others forbid is left as it is.
    """
    size = node.shape[1]
    varying = edge.shape[0] > 1
    values = np.empty(size)
    for c in range(offsets.shape[0] - 1):
        first, last = offsets[c], offsets[c + 1]
        for s in range(temperatures.shape[0]):
            for t in range(first, last):
                peak = -1
                for j in range(size):
                    value = node[t, j]
                    if t > first:
                        value += edge[t if varying else 0, labels[t - 1], j]
                    if t < last - 1:
                        value += edge[t + 1 if varying else 0, j, labels[t + 1]]
                    values[j] = value
                    if value > -np.inf and (peak < 0 or value > values[peak]):
                        peak = j
                if peak < 0:
                    continue
                labels[t] = peak
                if temperatures[s] == 0.0:
                    continue
                mass = 0.0
                for j in range(size):
                    mass += np.exp((values[j] - values[peak]) / temperatures[s])
                rest = uniform(states, c) * mass
                for j in range(size):
                    rest -= np.exp((values[j] - values[peak]) / temperatures[s])
                    if rest < 0.0:
                        labels[t] = j
                        break
