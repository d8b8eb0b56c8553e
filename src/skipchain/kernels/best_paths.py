"""Best paths of many chains in single precision, for tagging; `skipchain.kernels.chain` has them
in double precision, with their scores.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel


@kernel
def best_paths(node, edge, start, end, offsets, path):
    """The best path of every chain, path [N]; ties go to the lower state.

    δ_t(j) = node_t(j) + max_i δ_{t−1}(i) + edge(i, j), of node [N, S], edge [S, S], start and end
    [S]. Hazard: single precision has seven digits, and δ grows with t, so that the digits that
    decide would be lost in long chains; the largest δ_{t−1} is taken off at each step.
    """
    states, longest = node.shape[1], 1
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    back = np.empty((longest, states), np.int32)
    delta, best = np.empty(states, node.dtype), np.empty(states, node.dtype)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        for j in range(states):
            delta[j] = node[first, j] + start[j]
        for t in range(1, length):
            largest = delta[0]
            for i in range(1, states):
                largest = max(largest, delta[i])
            for j in range(states):
                best[j] = delta[0] + edge[0, j]
                back[t, j] = 0
            for i in range(1, states):
                d = delta[i]
                for j in range(states):
                    candidate = d + edge[i, j]
                    if candidate > best[j]:
                        best[j] = candidate
                        back[t, j] = i
            for j in range(states):
                delta[j] = (best[j] - largest) + node[first + t, j]
        for j in range(states):
            delta[j] += end[j]
        state = 0
        for j in range(1, states):
            if delta[j] > delta[state]:
                state = j
        path[first + length - 1] = state
        for t in range(length - 1, 0, -1):
            state = back[t, state]
            path[first + t - 1] = state
