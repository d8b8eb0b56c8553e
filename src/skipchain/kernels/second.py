"""Exact inference on chains of order 2: every label depends on the two before it.

Potentials are those of first-order chains (``node [N, S]``, ``edge [E, S, S]``, ``offsets``), and
``second [S + 1, S, S]``, the score of three labels in a row, indexed [before prev, prev, cur]; S as
the first index stands for the place before the chain. The recursions run over pairs of labels:
α_t(i, j) = e_t(i, j) Σ_h α_{t−1}(h, i) exp second(h, i, j), e_t = exp(node_t(j) + edge_t(i, j)).
A score of −∞ forbids, and pairs that cannot be reached cost nothing.

With ``local`` every label is drawn given the two before it: what leaves the pair (h, i) is divided
by Σ_j e_t(i, j) exp second(h, i, j), the sum over all labels, whether ``open_node`` and
``open_edge`` are limited afterwards or not: these are the potentials before anything is ruled out.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from skipchain.kernels.paths import _insert
from skipchain.kernels.search import _find_alive, _longest, _select

SMALLEST_SUM = 1e-280


@njit(nogil=True, cache=True)
def _log_add(a, b):
    """log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + np.log1p(np.exp(b - a))


@njit(nogil=True, cache=True)
def _leaving(open_node, open_edge, second, t, varying, h, i):
    """The logarithm of what the pair (h, i) is divided by when it leaves for position t."""
    total = -np.inf
    for j in range(open_node.shape[1]):
        score = open_node[t, j] + open_edge[t if varying else 0, i, j] + second[h, i, j]
        total = _log_add(total, score)
    return total


@njit(nogil=True, cache=True)
def steps(node, edge, open_node, open_edge, second, first, length, local, out):
    """out [T, S + 1, S, S]: the score of coming from (h, i) to j at each position of one chain.

    At position 0 only [S, 0, j] is used: there is nothing before it. Everything else follows from
    these scores alone, so this is where potentials of all kinds become one.
    """
    states = node.shape[1]
    varying = edge.shape[0] > 1
    whole = -np.inf
    for j in range(states):
        whole = _log_add(whole, open_node[first, j])
    for j in range(states):
        out[0, states, 0, j] = node[first, j] - (whole if local else 0.0)
    for t in range(1, length):
        here = first + t
        for i in range(states):
            for h in range(states + 1):
                if (h == states) != (t == 1):
                    continue
                leave = 0.0
                if local:
                    leave = _leaving(open_node, open_edge, second, here, varying, h, i)
                for j in range(states):
                    pair = node[here, j] + edge[here if varying else 0, i, j]
                    out[t, h, i, j] = pair + second[h, i, j] - leave


@njit(nogil=True, cache=True)
def forward_backward(node, edge, open_node, open_edge, second, offsets, local,
                     marginals, pairs, triples, log_z):  # fmt: skip
    """Log-partition and marginals of every chain.

    marginals [N, S] and log_z [C] are written; pairs [N, S, S] are written, [1, S, S] added to;
    triples [S + 1, S, S] are added to, or of length 0 not wanted.
    """
    states = node.shape[1]
    varying = edge.shape[0] > 1
    longest = _longest(offsets)
    alpha = np.zeros((longest, states + 1, states))
    beta = np.zeros((longest, states + 1, states))
    share = np.ones((longest, states + 1, states))  # what leaves a pair is multiplied by this
    scale = np.empty(longest)
    psi = np.empty((longest, states))
    weight = np.exp(second)
    table = np.empty((states, states))
    open_table = np.empty((states, states))
    for c in range(offsets.shape[0] - 1):
        first = offsets[c]
        length = offsets[c + 1] - first
        log_z[c] = 0.0
        if length == 0:
            continue
        good, total = _forward(
            node, edge, open_node, open_edge, weight, first, length, local, alpha, share, scale,
            psi, table, open_table,
        )  # fmt: skip
        if not good:
            log_z[c] = _log_space(
                node, edge, open_node, open_edge, second, first, length, local, marginals, pairs,
                triples,
            )  # fmt: skip
            continue
        log_z[c] = total
        listed = pairs.shape[0] != 1
        for i in range(states + 1):
            for j in range(states):
                beta[length - 1, i, j] = 1.0
        for t in range(length - 1, -1, -1):
            here = first + t
            for j in range(states):
                p = 0.0
                for i in range(states + 1):
                    p += alpha[t, i, j] * beta[t, i, j]
                marginals[here, j] = p
            if listed:
                for i in range(states):
                    for j in range(states):
                        pairs[here, i, j] = alpha[t, i, j] * beta[t, i, j] if t > 0 else 0.0
            elif t > 0:
                for i in range(states):
                    for j in range(states):
                        pairs[0, i, j] += alpha[t, i, j] * beta[t, i, j]
            if t == 0:
                continue
            _pair_table(edge[here if varying else 0], psi[t], table)
            for i in range(states):
                for h in range(states + 1):
                    a = alpha[t - 1, h, i]
                    b = 0.0
                    if a > 0.0:
                        leave = share[t, h, i] * scale[t]
                        for j in range(states):
                            arc = weight[h, i, j] * table[i, j] * beta[t, i, j] * leave
                            b += arc
                            if triples.shape[0]:
                                triples[h, i, j] += a * arc
                    beta[t - 1, h, i] = b


@njit(nogil=True, cache=True)
def _pair_table(edge, psi, table):
    """exp(node_t(j) + edge_t(i, j)), from ψ = exp(node − its maximum)."""
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = psi[j] * np.exp(edge[i, j]) if psi[j] > 0.0 else 0.0


@njit(nogil=True, cache=True)
def _forward(node, edge, open_node, open_edge, weight, first, length, local, alpha, share, scale,
             psi, table, open_table):  # fmt: skip
    """The scaled forward pass of one chain: whether it went well, and log Z."""
    states = node.shape[1]
    varying = edge.shape[0] > 1
    open_psi = np.empty(states)
    total = 0.0
    for t in range(length):
        here = first + t
        peak = -np.inf
        for j in range(states):
            peak = max(peak, open_node[here, j] if local else node[here, j])
        if not np.isfinite(peak):
            return False, 0.0
        for j in range(states):
            psi[t, j] = np.exp(node[here, j] - peak)
            open_psi[j] = np.exp(open_node[here, j] - peak)
        total += peak
        s = 0.0
        if t == 0:
            whole = 0.0
            for j in range(states):
                whole += open_psi[j]
            whole = max(whole, SMALLEST_SUM)
            for j in range(states):
                for i in range(states):
                    alpha[0, i, j] = 0.0
                alpha[0, states, j] = psi[0, j] / whole if local else psi[0, j]
                s += alpha[0, states, j]
        else:
            _pair_table(edge[here if varying else 0], psi[t], table)
            if local:
                _pair_table(open_edge[here if varying else 0], open_psi, open_table)
            for i in range(states):
                for j in range(states):
                    alpha[t, i, j] = 0.0
                for h in range(states + 1):
                    a = alpha[t - 1, h, i]
                    if a > 0.0:
                        if local:
                            z = 0.0
                            for j in range(states):
                                z += weight[h, i, j] * open_table[i, j]
                            if not z > SMALLEST_SUM:
                                return False, 0.0
                            share[t, h, i] = 1.0 / z
                            a *= share[t, h, i]
                        for j in range(states):
                            alpha[t, i, j] += a * weight[h, i, j]
                for j in range(states):
                    alpha[t, i, j] *= table[i, j]
                    s += alpha[t, i, j]
            for j in range(states):
                alpha[t, states, j] = 0.0
        if local:
            total -= peak  # the same in what was divided by
        if not (s > SMALLEST_SUM and s < np.inf):
            return False, 0.0
        total += np.log(s)
        scale[t] = 1.0 / s
        for i in range(states + 1):
            for j in range(states):
                alpha[t, i, j] *= scale[t]
    return True, total


@njit(nogil=True, cache=True)
def _log_space(node, edge, open_node, open_edge, second, first, length, local,
               marginals, pairs, triples):  # fmt: skip
    """One chain by logarithms of sums: slow, safe; returns log Z."""
    states = node.shape[1]
    arcs = np.full((length, states + 1, states, states), -np.inf)
    steps(node, edge, open_node, open_edge, second, first, length, local, arcs)
    alpha = np.full((length, states + 1, states), -np.inf)
    beta = np.full((length, states + 1, states), -np.inf)
    for j in range(states):
        alpha[0, states, j] = arcs[0, states, 0, j]
    for t in range(1, length):
        for h in range(states + 1):
            for i in range(states):
                for j in range(states):
                    alpha[t, i, j] = _log_add(alpha[t, i, j], alpha[t - 1, h, i] + arcs[t, h, i, j])
    beta[length - 1] = 0.0
    for t in range(length - 1, 0, -1):
        for h in range(states + 1):
            for i in range(states):
                for j in range(states):
                    beta[t - 1, h, i] = _log_add(
                        beta[t - 1, h, i], arcs[t, h, i, j] + beta[t, i, j]
                    )
    total = -np.inf
    for i in range(states + 1):
        for j in range(states):
            total = _log_add(total, alpha[length - 1, i, j])
    listed = pairs.shape[0] != 1
    for t in range(length):
        here = first + t
        marginals[here] = 0.0
        if listed:
            pairs[here] = 0.0
        for i in range(states + 1):
            for j in range(states):
                score = alpha[t, i, j] + beta[t, i, j]
                if score == -np.inf or total == -np.inf:
                    continue
                p = np.exp(score - total)
                marginals[here, j] += p
                if i < states and t > 0:
                    pairs[here if listed else 0, i, j] += p
                if t > 0 and triples.shape[0] and i < states:
                    for h in range(states + 1):
                        arc = alpha[t - 1, h, i] + arcs[t, h, i, j] + beta[t, i, j]
                        if arc > -np.inf:
                            triples[h, i, j] += np.exp(arc - total)
    return total


@njit(nogil=True, cache=True)
def path_score(node, edge, second, offsets, path, score):
    """The score of one given path per chain, without any normalising. score [C]"""
    states = node.shape[1]
    varying = edge.shape[0] > 1
    for c in range(offsets.shape[0] - 1):
        total = 0.0
        for t in range(offsets[c], offsets[c + 1]):
            total += node[t, path[t]]
            if t > offsets[c]:
                before = path[t - 2] if t > offsets[c] + 1 else states
                total += edge[t if varying else 0, path[t - 1], path[t]]
                total += second[before, path[t - 1], path[t]]
        score[c] = total


@njit(nogil=True, cache=True)
def subtract_path(offsets, path, triples):
    """Triple marginals minus the indicator of the given path, in place."""
    states = triples.shape[1]
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c] + 1, offsets[c + 1]):
            before = path[t - 2] if t > offsets[c] + 1 else states
            triples[before, path[t - 1], path[t]] -= 1.0


@njit(nogil=True, cache=True)
def local_path(node, edge, second, offsets, path, residuals, pairs, triples):
    """−Σ_t log p(y_t | y_{t−2}, y_{t−1}, x) of a given path, and its gradient in the potentials.

    residuals [N, S] are written; pairs [N, S, S] or [1, S, S] and triples [S + 1, S, S] added to.
    """
    states = node.shape[1]
    varying = edge.shape[0] > 1
    listed = pairs.shape[0] == node.shape[0] and pairs.shape[0] != 1
    scores = np.empty(states)
    loss = 0.0
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c], offsets[c + 1]):
            inner = t > offsets[c]
            i = path[t - 1] if inner else 0
            h = path[t - 2] if t > offsets[c] + 1 else states
            peak = -np.inf
            for j in range(states):
                scores[j] = node[t, j]
                if inner:
                    scores[j] += edge[t if varying else 0, i, j] + second[h, i, j]
                peak = max(peak, scores[j])
            loss += peak - scores[path[t]]
            total = 0.0
            for j in range(states):
                scores[j] = np.exp(scores[j] - peak)
                total += scores[j]
            loss += np.log(total)
            for j in range(states):
                p = scores[j] / total - (1.0 if j == path[t] else 0.0)
                residuals[t, j] = p
                if inner:
                    pairs[t if listed else 0, i, j] += p
                    triples[h, i, j] += p
    return loss


@njit(nogil=True, cache=True)
def nbest(node, edge, open_node, open_edge, second, local, k, paths, scores):
    """The k best paths of *one* chain of T tokens, best first: paths [k, T], scores [k].

    Each pair of labels keeps its k best histories. Ranks that do not exist score −∞; ties go to the
    lower labels.
    """
    length, states = node.shape
    varying = edge.shape[0] > 1
    delta = np.full((states + 1, states, k), -np.inf)
    fresh = np.full((states + 1, states, k), -np.inf)
    back = np.zeros((length, states + 1, states, k), np.int64)  # h · k + rank
    whole = -np.inf
    for j in range(states):
        whole = _log_add(whole, open_node[0, j])
    for j in range(states):
        delta[states, j, 0] = node[0, j] - (whole if local else 0.0)
    for t in range(1, length):
        for i in range(states):
            for j in range(states):
                for r in range(k):
                    fresh[i, j, r] = -np.inf
            for h in range(states + 1):
                if delta[h, i, 0] == -np.inf:
                    continue
                leave = 0.0
                if local:
                    leave = _leaving(open_node, open_edge, second, t, varying, h, i)
                for j in range(states):
                    arc = second[h, i, j] - leave
                    for r in range(k):
                        candidate = delta[h, i, r] + arc
                        if candidate <= fresh[i, j, k - 1]:
                            break
                        _insert(fresh[i, j], back[t, i, j], candidate, h * k + r)
            for j in range(states):
                own = node[t, j] + edge[t if varying else 0, i, j]
                for r in range(k):
                    fresh[i, j, r] += own
        for j in range(states):
            for r in range(k):
                fresh[states, j, r] = -np.inf
        delta, fresh = fresh, delta
    last = np.zeros(k, np.int64)
    for r in range(k):
        scores[r] = -np.inf
    for i in range(states + 1):
        for j in range(states):
            for r in range(k):
                if delta[i, j, r] <= scores[k - 1]:
                    break
                _insert(scores, last, delta[i, j, r], (i * states + j) * k + r)
    for r in range(k):
        rank = last[r] % k
        j = last[r] // k % states
        i = last[r] // k // states
        for t in range(length - 1, -1, -1):
            paths[r, t] = j
            before = back[t, i, j, rank]
            i, j, rank = before // k, i, before % k


@njit(nogil=True, cache=True)
def beam(node, edge, open_node, open_edge, second, offsets, local, width, path, score):
    """The best path among those whose every prefix is one of the ``width`` best kept.

    Hypotheses that end in the same two labels are recombined; with width ≥ S² nothing is dropped,
    and the path is the best of all. Width 1 is the greedy search. Prefixes of local chains are
    compared by their probabilities, others by their scores; ties go to the lower labels. Labels
    from which the chain cannot be completed are not taken. path [N] and score [C] are written.
    """
    states = node.shape[1]
    varying = edge.shape[0] > 1
    longest = _longest(offsets)
    pairs = (states + 1) * states
    back = np.empty((longest, pairs), np.int32)
    alive = np.empty((longest, states), np.bool_)
    delta = np.full(pairs, -np.inf)
    fresh = np.full(pairs, -np.inf)
    kept = np.empty(pairs + 1, np.int64)
    reached = np.empty(pairs, np.int64)
    values = np.empty(pairs)
    for c in range(offsets.shape[0] - 1):
        first = offsets[c]
        length = offsets[c + 1] - first
        if length == 0:
            score[c] = 0.0
            continue
        _find_alive(node, edge, first, first + length, alive)
        delta[:] = -np.inf
        whole = -np.inf
        for j in range(states):
            whole = _log_add(whole, open_node[first, j])
        many = 0
        for j in range(states):
            if alive[0, j]:
                reached[many] = states * states + j
                delta[reached[many]] = node[first, j] - (whole if local else 0.0)
                many += 1
        for t in range(1, length):
            here = first + t
            count = _widest(delta, reached, many, width, values, kept)
            fresh[:] = -np.inf
            many = 0
            for k in range(count):
                h, i = kept[k] // states, kept[k] % states
                d = delta[kept[k]]
                if local:
                    d -= _leaving(open_node, open_edge, second, here, varying, h, i)
                for j in range(states):
                    if not alive[t, j]:
                        continue
                    candidate = d + node[here, j] + edge[here if varying else 0, i, j]
                    candidate += second[h, i, j]
                    place = i * states + j
                    if candidate > fresh[place]:
                        if fresh[place] == -np.inf:
                            reached[many] = place
                            many += 1
                        fresh[place] = candidate
                        back[t, place] = h
            delta, fresh = fresh, delta
        best = -1
        for k in range(many):
            place = reached[k]
            if best < 0 or delta[place] > delta[best]:
                best = place
        score[c] = delta[best] if best >= 0 else -np.inf
        if best < 0:
            continue
        i, j = best // states, best % states
        for t in range(length - 1, -1, -1):
            path[first + t] = j
            if t > 0:
                i, j = back[t, i * states + j], i


@njit(nogil=True, cache=True)
def _widest(delta, reached, many, width, values, kept):
    """Of the reached pairs those with the ``width`` highest scores, into kept; how many."""
    bar = -np.inf
    if many > width:
        for k in range(many):
            values[k] = delta[reached[k]]
        bar = _select(values[:many], width - 1)
    count = 0
    for k in range(many):
        if delta[reached[k]] > bar:
            kept[count] = reached[k]
            count += 1
    for k in range(many):
        if count < width and delta[reached[k]] == bar:
            kept[count] = reached[k]
            count += 1
    return count
