"""Sets of numbers, one a token: gathered from pairs, and numbered by what they hold."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.intern import BASIS, PRIME, _mix
from skipchain.kernels.kernel import kernel


@kernel
def gather_sets(tokens, codes, n):
    """The distinct codes of each token, in ascending order: indptr [n + 1], codes.

    Pair k says that token ``tokens[k]`` has ``codes[k]``. Placed by counting, then sorted by
    insertion within each token: sets are small.
    """
    first = np.zeros(n + 1, np.int64)
    for k in range(tokens.shape[0]):
        first[tokens[k] + 1] += 1
    for t in range(n):
        first[t + 1] += first[t]
    held, filled = np.empty(tokens.shape[0], np.int32), np.zeros(n, np.int32)
    for k in range(tokens.shape[0]):
        t, code = tokens[k], codes[k]
        begin = first[t]
        at = begin + filled[t]
        known = False
        place = at
        while place > begin and held[place - 1] >= code:
            if held[place - 1] == code:
                known = True
                break
            place -= 1
        if known:
            continue
        for m in range(at, place, -1):
            held[m] = held[m - 1]
        held[place] = code
        filled[t] += 1
    indptr = np.zeros(n + 1, np.int64)
    for t in range(n):
        indptr[t + 1] = indptr[t] + filled[t]
    distinct = np.empty(indptr[n], np.int32)
    for t in range(n):
        for m in range(filled[t]):
            distinct[indptr[t] + m] = held[first[t] + m]
    return indptr, distinct


@kernel
def number_sets(indptr, codes, slots):
    """Number the distinct sets by first appearance: numbers [n], the first token of each [D].

    ``slots`` is a table for n keys, as `kernels.intern` has them.
    """
    n = indptr.shape[0] - 1
    numbers, firsts = np.empty(n, np.int32), np.empty(n, np.int64)
    mask = np.uint64(slots.shape[0] - 1)
    count = 0
    for t in range(n):
        h = BASIS
        size = indptr[t + 1] - indptr[t]
        for m in range(indptr[t], indptr[t + 1]):
            h = (h ^ np.uint64(codes[m])) * PRIME
        at = _mix(h) & mask
        while slots[at] >= 0:
            other = firsts[slots[at]]
            same = indptr[other + 1] - indptr[other] == size
            if same:
                for m in range(size):
                    if codes[indptr[other] + m] != codes[indptr[t] + m]:
                        same = False
                        break
            if same:
                break
            at = (at + np.uint64(1)) & mask
        if slots[at] < 0:
            slots[at] = count
            firsts[count] = t
            count += 1
        numbers[t] = slots[at]
    return numbers, firsts[:count].copy()


@kernel
def _resized(array, room):
    """The array with room for more."""
    resized = np.empty(room, array.dtype)
    resized[: array.shape[0]] = array
    return resized
