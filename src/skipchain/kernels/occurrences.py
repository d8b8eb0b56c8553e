"""What the other occurrences of a word in its document say of it.

Occurrences are in ``order [K]``, those of one word in one document together and by position;
``group [N]`` is the place in ``first [G + 1]`` of a token's word, or −1 where it has none. At most
``most`` occurrences before a token and as many behind it are looked at.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel
from skipchain.kernels.token_sets import _resized

ROUNDING = 1e-6  # added to a mean before it is put into a bin


@kernel
def _nearby_occurrences(order, first, group, t, window, most):
    """The occurrences order[a : b] of token t's word that lie near it."""
    low, high = first[group[t]], first[group[t] + 1]
    a, b = low, high
    while a < b:
        middle = (a + b) // 2
        if order[middle] < t:
            a = middle + 1
        else:
            b = middle
    at = a
    begin = max(low, at - most)
    while begin < at and t - order[begin] > window:
        begin += 1
    end = min(high, at + most + 1)
    while end > at and order[end - 1] - t > window:
        end -= 1
    return begin, end


@kernel
def gather_contexts(order, first, group, values, size, window, most, begins, ends, low, high):
    """What stands around the other occurrences: pairs of tokens and side · size + value.

    Sides are 0 (before the word), 1 (behind it), 2 and 3 (before and behind the run of capitalised
    words that it is in, ``begins [N]`` to ``ends [N]``). ``values [N]`` are below size − 2; the
    places before and behind a sentence, ``low [N]`` to ``high [N]``, are the last two.
    """
    room = 1024
    tokens, codes = np.empty(room, np.int64), np.empty(room, np.int32)
    count = 0
    for t in range(group.shape[0]):
        if group[t] < 0:
            continue
        a, b = _nearby_occurrences(order, first, group, t, window, most)
        for k in range(a, b):
            q = order[k]
            if q == t:
                continue
            if count + 4 > room:
                room *= 2
                tokens = _resized(tokens, room)
                codes = _resized(codes, room)
            for side in range(4):
                if side == 0:
                    place = q - 1
                elif side == 1:
                    place = q + 1
                elif side == 2:
                    place = begins[q] - 1
                else:
                    place = ends[q]
                value = values[place] if low[q] <= place < high[q] else size - 2
                if place >= high[q]:
                    value = size - 1
                tokens[count] = t
                codes[count] = side * size + value
                count += 1
    return tokens[:count], codes[:count]


@kernel
def gather_longer(order, first, group, words, size, most, begins, ends):
    """The words that longer runs have beside the run a token is in.

    Pairs of tokens and side · size + word: side 0 for words before (the run ends a longer one), 1
    for words behind (it begins one). ``words [N]`` are below size.
    """
    room = 1024
    tokens, codes = np.empty(room, np.int64), np.empty(room, np.int32)
    count = 0
    for t in range(group.shape[0]):
        if group[t] < 0 or ends[t] == begins[t]:
            continue
        length = ends[t] - begins[t]
        a, b = _nearby_occurrences(order, first, group, t, group.shape[0], most)
        for k in range(a, b):
            q = order[k]
            rest = ends[q] - begins[q] - length
            if rest <= 0:
                continue
            last, begun = True, True
            for m in range(length):
                last = last and words[begins[t] + m] == words[ends[q] - length + m]
                begun = begun and words[begins[t] + m] == words[begins[q] + m]
            if not last and not begun:
                continue
            while count + rest > room:
                room *= 2
                tokens = _resized(tokens, room)
                codes = _resized(codes, room)
            for m in range(rest):
                tokens[count] = t
                if last:
                    codes[count] = words[begins[q] + m]
                else:
                    codes[count] = size + words[begins[q] + length + m]
                count += 1
    return tokens[:count], codes[:count]


@kernel
def likeliest_elsewhere(group, scores, bins):
    """The best column of ``scores`` [N, K] over the other members of a token's group, and its mean.

    Column k with a mean in bin b is k · bins + b, and K · bins says that there are no others.
    ``group`` [N] numbers groups; means are from 0 to 1. [N]
    """
    groups, kinds = 0, scores.shape[1]
    for t in range(group.shape[0]):
        groups = max(groups, group[t] + 1)
    sums, sizes = np.zeros((groups, kinds)), np.zeros(groups, np.int64)
    for t in range(group.shape[0]):
        sizes[group[t]] += 1
        for k in range(kinds):
            sums[group[t], k] += scores[t, k]
    codes = np.empty(group.shape[0], np.int32)
    for t in range(group.shape[0]):
        others = sizes[group[t]] - 1
        if others == 0:
            codes[t] = kinds * bins
            continue
        best, most = 0, sums[group[t], 0] - scores[t, 0]
        for k in range(1, kinds):
            value = sums[group[t], k] - scores[t, k]
            if value > most:
                best, most = k, value
        codes[t] = best * bins + min(int(most / others * bins + ROUNDING), bins - 1)
    return codes
