"""Best paths of many chains in single precision, for tagging; `skipchain.kernels.chain` has them
in double precision, with their scores.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

LANES = 8  # rows of scores are a multiple of so many numbers long: many are added at once


@kernel
def best_paths(node, edge, leads, start, end, offsets, path):
    """The best path of every chain, path [N]; ties go to the lower state.

    δ_t(j) = node_t(j) + max_i δ_{t−1}(i) + edge(i, j), of node [N, S], edge [S, S], start and end
    [S], where S is a multiple of `LANES`; places that are no states are forbidden. Hazard: single
    precision has seven digits, and δ grows with t, so that the digits that decide would be lost in
    long chains; the largest δ_{t−1} is taken off at each step.

    Most states are too far behind the best one, a, to be the i of any j: where
    δ(a) − δ(i) > leads(a, i) ≥ max_j edge(i, j) − edge(a, j) [S, S], i is passed over. The δ and
    the states that are left are kept, so that the i of those j alone is found anew that are on the
    best path. Four states at a time are compared; to make up the number, a comes again.
    """
    states, longest = node.shape[1], 1
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    delta, best = np.empty((longest, states), node.dtype), np.empty(states, node.dtype)
    left, counts = np.empty((longest, states + 3), np.int32), np.empty(longest, np.int64)
    largest_of = np.empty(LANES, node.dtype)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        for j in range(states):
            delta[0, j] = node[first, j] + start[j]
        for t in range(1, length):
            largest, top, count = _largest(delta, t - 1, largest_of), 0, 0
            while top < states - 1 and delta[t - 1, top] != largest:
                top += 1
            for i in range(states):
                left[t, count] = i
                count += delta[t - 1, i] + leads[top, i] >= largest
            for k in range(count, count + 3):
                left[t, k] = top
            counts[t] = count
            for j in range(states):
                best[j] = -np.inf
            for k in range(0, count, 4):
                i0, i1, i2, i3 = left[t, k], left[t, k + 1], left[t, k + 2], left[t, k + 3]
                d0, d1 = delta[t - 1, i0], delta[t - 1, i1]
                d2, d3 = delta[t - 1, i2], delta[t - 1, i3]
                for j in range(states):
                    s0, s1 = d0 + edge[i0, j], d1 + edge[i1, j]
                    s2, s3 = d2 + edge[i2, j], d3 + edge[i3, j]
                    s0, s2 = s0 if s0 > s1 else s1, s2 if s2 > s3 else s3
                    s0 = s0 if s0 > s2 else s2
                    best[j] = s0 if s0 > best[j] else best[j]
            for j in range(states):
                delta[t, j] = (best[j] - largest) + node[first + t, j]
        state = 0
        for j in range(states):
            best[j] = delta[length - 1, j] + end[j]
            if best[j] > best[state]:
                state = j
        path[first + length - 1] = state
        for t in range(length - 1, 0, -1):
            score, j, state = np.float32(-np.inf), state, 0
            for k in range(counts[t]):
                i = left[t, k]
                if delta[t - 1, i] + edge[i, j] > score:
                    score, state = delta[t - 1, i] + edge[i, j], i
            path[first + t - 1] = state


@kernel
def _largest(delta, t, largest_of):
    """The largest number of a row; ``largest_of`` is room for the largest of each lane."""
    lanes = largest_of.shape[0]
    for k in range(lanes):
        largest_of[k] = -np.inf
    for first in range(0, delta.shape[1], lanes):
        for k in range(lanes):
            d = delta[t, first + k]
            largest_of[k] = d if d > largest_of[k] else largest_of[k]
    largest = largest_of[0]
    for k in range(1, lanes):
        largest = max(largest, largest_of[k])
    return largest
