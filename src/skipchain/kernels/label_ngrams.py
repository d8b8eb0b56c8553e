"""Label n-grams: beam search over chains in which a label depends on many before it.

Potentials as in `skipchain.kernels.chain2`, and ``table`` [K, S], what each of the ``contexts`` [K]
adds to the scores of the label that follows it. A context is the number that its labels write to
the base S + 2, the label just before as the last digit, each plus one; S + 1 is the place before
the chain. Contexts are sorted.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.caching import njit
from skipchain.kernels.chain import _log_sum, _longest
from skipchain.kernels.search import _find_completable, _top_k

# Compiled with chain c7f9f1bd7610
# Compiled with search b639871ce067


@njit(nogil=True, cache=True)
def beam(
    node, edge, open_node, open_edge, second, contexts, table, order, offsets, width, path, score
):
    """The best path among those whose every prefix is one of the ``width`` most probable kept.

    Every label is drawn given the ``order`` labels before it: its probability is normalised over
    all labels, by the potentials ``open_node`` and ``open_edge`` before anything was ruled out.
    Hypotheses that end in the same ``order`` labels are recombined; of equals the one found first
    is kept. Labels from which the chain cannot be completed are not taken. path [N] and score [C]
    are written.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    longest = _longest(offsets)
    base = states + 2
    powers = np.ones(order + 1, np.int64)
    for n in range(order):
        powers[n + 1] = powers[n] * base
    alive = np.empty((longest, states), np.bool_)
    back, chosen = np.empty((longest, width), np.int64), np.empty((longest, width), np.int64)
    codes, next_codes = np.empty(width, np.int64), np.empty(width, np.int64)
    delta, next_delta = np.empty(width), np.empty(width)
    grown = np.empty(width * states)  # [leader, label], the best of those that are recombined
    source, values = np.empty(width * states, np.int64), np.empty(width * states)
    places, row = np.empty(width, np.int64), np.empty(states)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        score[c] = 0.0
        if length == 0:
            continue
        _find_completable(node, edge, first, first + length, alive)
        codes[0] = states + 1
        delta[0] = 0.0
        count = 1
        for t in range(length):
            here = first + t
            pairs = open_edge[here if varying else 0]
            for k in range(count * states):
                grown[k] = -np.inf
            for a in range(count):
                i = codes[a] % base - 1
                log_total = _label_scores(
                    open_node[here], pairs, second, contexts, table, order, powers, t, codes[a], row
                )
                leader = 0
                while codes[leader] % powers[order - 1] != codes[a] % powers[order - 1]:
                    leader += 1
                for j in range(states):
                    if not alive[t, j]:
                        continue
                    if t > 0 and edge[here if varying else 0, i, j] == -np.inf:
                        continue
                    candidate = delta[a] + row[j] - log_total
                    if candidate > grown[leader * states + j]:
                        grown[leader * states + j] = candidate
                        source[leader * states + j] = a
            many = 0
            for k in range(count * states):
                if grown[k] > -np.inf:
                    values[many] = grown[k]
                    many += 1
            kept = _top_k(grown[: count * states], values, many, width, places)
            for m in range(kept):
                k = places[m]
                a = source[k]
                next_codes[m] = codes[a] % powers[order - 1] * base + k % states + 1
                next_delta[m] = grown[k]
                back[t, m] = a
                chosen[t, m] = k % states
            codes, next_codes = next_codes, codes
            delta, next_delta = next_delta, delta
            count = kept
            if count == 0:
                score[c] = -np.inf
                break
        if count == 0:
            continue
        best = np.argmax(delta[:count])
        score[c] = delta[best]
        for t in range(length - 1, -1, -1):
            path[first + t] = chosen[t, best]
            best = back[t, best]


@njit(nogil=True, cache=True)
def _label_scores(node, edge, second, contexts, table, order, powers, t, code, row):
    """The scores of all labels after one context, into ``row`` [S]; returns log Σ exp of them."""
    states = node.shape[0]
    base = powers[1]
    i = code % base - 1
    h = code // base % base - 1
    for j in range(states):
        row[j] = node[j]
        if t > 0:
            row[j] += edge[i, j] + second[h, i, j]
    for n in range(3, order + 1):
        if code < powers[n - 1]:
            break
        wanted = code % powers[n]
        k = np.searchsorted(contexts, wanted)
        if k < contexts.shape[0] and contexts[k] == wanted:
            for j in range(states):
                row[j] += table[k, j]
    return _log_sum(row)
