"""Sets of paths through linear chains: the k best, those within sets of labels, none at all."""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel


@kernel
def nbest(node, edge, k, paths, scores):
    """The k best paths of *one* chain of T tokens, best first: paths [k, T], scores [k].

    Each state keeps its k best histories, each a (state, rank) of the position before. Ranks that
    do not exist (fewer than k paths) score −∞.
    """
    length, states = node.shape
    varying = edge.shape[0] > 1
    delta = np.full((states, k), -np.inf)
    fresh = np.empty((states, k))
    back = np.zeros((length, states, k), np.int64)  # state · k + rank
    for j in range(states):
        delta[j, 0] = node[0, j]
    for t in range(1, length):
        table = edge[t] if varying else edge[0]
        for j in range(states):
            for r in range(k):
                fresh[j, r] = -np.inf
            for i in range(states):
                for r in range(k):
                    candidate = delta[i, r] + table[i, j]
                    if not candidate > fresh[j, k - 1]:
                        break
                    _insert(fresh[j], back[t, j], candidate, i * k + r)
            for r in range(k):
                fresh[j, r] += node[t, j]
        delta, fresh = fresh, delta
    last = np.zeros(k, np.int64)
    scores[:k] = -np.inf
    for i in range(states):
        for r in range(k):
            if not delta[i, r] > scores[k - 1]:
                break
            _insert(scores, last, delta[i, r], i * k + r)
    for r in range(k):
        here = last[r]
        for t in range(length - 1, -1, -1):
            paths[r, t] = here // k
            here = back[t, here // k, here % k]


@kernel
def _insert(ranked, sources, candidate, source):
    """Put a candidate into a falling list, dropping the last; equals keep their order."""
    r = ranked.shape[0] - 1
    while r > 0 and ranked[r - 1] < candidate:
        ranked[r] = ranked[r - 1]
        sources[r] = sources[r - 1]
        r -= 1
    ranked[r] = candidate
    sources[r] = source


@kernel
def set_probability(marginals, pairs, starts, stops, allowed, rows, probability):
    """The probability that the labels of each window lie in its sets, into probability [K].

    Given the input, the labels of a chain form a Markov chain, so the sum over all paths through
    the sets is p(y_a ∈ A_a) Π_t p(y_t ∈ A_t | y_{t−1}), from marginals [N, S] and pairs [N, S, S]
    alone. Window k covers tokens starts[k] … stops[k] − 1; its sets are allowed[rows[k] + t], bool
    [·, S].
    """
    states = marginals.shape[1]
    weight, fresh = np.empty(states), np.empty(states)
    for k in range(starts.shape[0]):
        first = starts[k]
        for j in range(states):
            weight[j] = marginals[first, j] if allowed[rows[k], j] else 0.0
        for t in range(first + 1, stops[k]):
            sets = allowed[rows[k] + t - first]
            for j in range(states):
                fresh[j] = 0.0
            for i in range(states):
                if weight[i] > 0.0 and marginals[t - 1, i] > 0.0:
                    share = weight[i] / marginals[t - 1, i]
                    for j in range(states):
                        if sets[j]:
                            fresh[j] += share * pairs[t, i, j]
            weight, fresh = fresh, weight
        total = 0.0
        for j in range(states):
            total += weight[j]
        probability[k] = min(total, 1.0)


@kernel
def dead_ends(allowed, pairs, start, end, offsets, where):
    """The first token of each chain that no allowed path reaches, into where [C]; −1 where none.

    allowed [N, S], pairs [S, S], start and end [S] are all true or false. Of a chain whose last
    token is reached but may not be its end, it is the last token.
    """
    states = allowed.shape[1]
    reached, fresh = np.empty(states, np.bool_), np.empty(states, np.bool_)
    for c in range(offsets.shape[0] - 1):
        where[c] = -1
        for t in range(offsets[c], offsets[c + 1]):
            alive = False
            for j in range(states):
                fresh[j] = False
                if not allowed[t, j] or (t == offsets[c + 1] - 1 and not end[j]):
                    continue
                if t == offsets[c]:
                    fresh[j] = start[j]
                else:
                    for i in range(states):
                        if reached[i] and pairs[i, j]:
                            fresh[j] = True
                            break
                alive = alive or fresh[j]
            if not alive:
                where[c] = t
                break
            reached, fresh = fresh, reached
