"""Label n-grams: beam search over chains in which a label depends on many before it.

Potentials as in `skipchain.kernels.chain2`, and ``table`` [K, S], what each of the ``contexts`` [K]
adds to the scores of the label that follows it. A context is the number that its labels write to
the base S + 2, the label just before as the last digit, each plus one; S + 1 is the place before
the chain. Contexts are sorted. `TrigramIndex` has the features that go with the label two tokens
back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.chain import _log_sum, _longest
from skipchain.kernels.kernel import kernel
from skipchain.kernels.search import _find_completable, _top_k


class TrigramIndex(NamedTuple):
    """Features that go with the label two tokens back, and maybe the one before, of a block.

    Token n has the entries ``indices[indptr[n] : indptr[n + 1]]``, weighted by ``values`` or, where
    that has the length 0, by one. The rows of feature g are those from ``starts[g]`` on: after the
    labels ``second`` and ``previous`` (−1: any) it adds ``weights`` to the label's score. S is the
    place before the chain. Without such features ``indptr`` has the length 0.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    starts: NDArray[np.int64]  # [G + 1]
    second: NDArray[np.int64]  # [K]
    previous: NDArray[np.int64]  # [K]
    weights: NDArray[np.float64]  # [K, S]


@kernel
def beam(
    node, edge, open_node, open_edge, second, contexts, table, order, trigrams, offsets, local,
    width, path, score
):  # fmt: skip
    """The best path among those whose every prefix is one of the ``width`` best kept.

    With ``local`` every label is drawn given the ``order`` labels before it: its probability is
    normalised over all labels, by the potentials ``open_node`` and ``open_edge`` before anything
    was ruled out or added. Otherwise prefixes are compared by their scores. Hypotheses that end in
    the same ``order`` labels are recombined; of equals the one found first is kept. Labels from
    which the chain cannot be completed are not taken. path [N] and score [C] are written.
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
    extra = np.zeros((states + 1 if trigrams.indptr.shape[0] else 0, states + 1, states))
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
            more = add_trigrams(trigrams, here, extra)
            for k in range(count * states):
                grown[k] = -np.inf
            for a in range(count):
                i = codes[a] % base - 1
                _label_scores(
                    open_node[here], pairs, second, contexts, table, order, powers, t, codes[a], row
                )
                if more:
                    h = codes[a] // base % base - 1 if t > 0 else states
                    for j in range(states):
                        row[j] += extra[h, i, j]
                log_total = _log_sum(row) if local else 0.0
                leader = 0
                while codes[leader] % powers[order - 1] != codes[a] % powers[order - 1]:
                    leader += 1
                for j in range(states):
                    if not alive[t, j]:
                        continue
                    added = node[here, j] - open_node[here, j]
                    if t > 0:
                        added += edge[here if varying else 0, i, j] - pairs[i, j]
                    if added == -np.inf:
                        continue
                    candidate = delta[a] + row[j] - log_total + added
                    if candidate > grown[leader * states + j]:
                        grown[leader * states + j] = candidate
                        source[leader * states + j] = a
            if more:
                clear_trigrams(trigrams, here, extra, 0.0)
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


@kernel
def _label_scores(node, edge, second, contexts, table, order, powers, t, code, row):
    """The scores of all labels after one context, into ``row`` [S]."""
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


@kernel
def add_trigrams(trigrams, here, scores):
    """Add what the features of a token say to scores [S + 1, S + 1, S]; whether it has any."""
    if trigrams.indptr.shape[0] == 0 or trigrams.indptr[here] == trigrams.indptr[here + 1]:
        return False
    states = scores.shape[2]
    for entry in range(trigrams.indptr[here], trigrams.indptr[here + 1]):
        g = trigrams.indices[entry]
        value = trigrams.values[entry] if trigrams.values.shape[0] > 0 else 1.0
        for k in range(trigrams.starts[g], trigrams.starts[g + 1]):
            i = trigrams.previous[k]
            for before in range(i if i >= 0 else 0, i + 1 if i >= 0 else states + 1):
                for j in range(states):
                    scores[trigrams.second[k], before, j] += value * trigrams.weights[k, j]
    return True


@kernel
def clear_trigrams(trigrams, here, scores, value):
    """Set what `add_trigrams` has written to a value."""
    states = scores.shape[2]
    for entry in range(trigrams.indptr[here], trigrams.indptr[here + 1]):
        g = trigrams.indices[entry]
        for k in range(trigrams.starts[g], trigrams.starts[g + 1]):
            i = trigrams.previous[k]
            for before in range(i if i >= 0 else 0, i + 1 if i >= 0 else states + 1):
                scores[trigrams.second[k], before, :] = value


@kernel
def exponentials(trigrams, here, scores, factors):
    """exp scores into ``factors``, where `add_trigrams` has written; returns the largest score."""
    states, top = scores.shape[2], 0.0
    for entry in range(trigrams.indptr[here], trigrams.indptr[here + 1]):
        g = trigrams.indices[entry]
        for k in range(trigrams.starts[g], trigrams.starts[g + 1]):
            h, i = trigrams.second[k], trigrams.previous[k]
            for before in range(i if i >= 0 else 0, i + 1 if i >= 0 else states + 1):
                for j in range(states):
                    top = max(top, abs(scores[h, before, j]))
                    factors[h, before, j] = np.exp(scores[h, before, j])
    return top


@kernel
def collect_trigrams(trigrams, here, expected, rows):
    """Add to rows [K, S] what is expected [S + 1, S + 1, S] of a token's labels, by its features.

    This is the transposed sum of `add_trigrams`.
    """
    states = expected.shape[2]
    for entry in range(trigrams.indptr[here], trigrams.indptr[here + 1]):
        g = trigrams.indices[entry]
        value = trigrams.values[entry] if trigrams.values.shape[0] > 0 else 1.0
        for k in range(trigrams.starts[g], trigrams.starts[g + 1]):
            i = trigrams.previous[k]
            for before in range(i if i >= 0 else 0, i + 1 if i >= 0 else states + 1):
                for j in range(states):
                    rows[k, j] += value * expected[trigrams.second[k], before, j]
