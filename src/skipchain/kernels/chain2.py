"""Exact inference on chains of order 2: every label depends on the two before it.

Potentials are those of first-order chains (``node [N, S]``, ``edge [E, S, S]``, ``offsets``), and
``second [S + 1, S, S]``, the score of three labels in a row, indexed [before prev, prev, cur]; S as
the first index stands for the place before the chain. The recursions run over pairs of labels:
α_t(i, j) = e_t(i, j) Σ_h α_{t−1}(h, i) exp second(h, i, j), e_t = exp(node_t(j) + edge_t(i, j)).
A score of −∞ forbids. Every loop runs over the labels that its position can have, those whose node
score is not −∞, so that the cost of a position is the product of three such numbers, not S³.

With ``local`` every label is drawn given the two before it: what leaves the pair (h, i) is divided
by Σ_j e_t(i, j) exp second(h, i, j), the sum over all labels, whether ``open_node`` and
``open_edge`` are limited afterwards or not: these are the potentials before anything is ruled out.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.chain import _longest
from skipchain.kernels.kernel import kernel
from skipchain.kernels.paths import _insert
from skipchain.kernels.search import _find_completable, _select

# Sums that are smaller, or scores of pairs and triples that add up to more, could hide that the
# largest part of a sum has vanished: exp(−745) is nothing, and exp(300 − 745) is less than 1e-150.
SMALLEST_SUM = 1e-150
LARGEST_SCORE = 300.0
LARGEST_DRIFT = 1e-10


@kernel
def _log_add(a, b):
    """log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + np.log1p(np.exp(b - a))


@kernel
def list_labels(node, first, length, rows, counts):
    """The labels that each position of one chain can have: rows [T + 1, S], counts [T + 1].

    Row 0 is the place before the chain and holds S alone; row t + 1 belongs to position t. The pair
    of labels at position t comes from rows t and t + 1.
    """
    states = node.shape[1]
    rows[0, 0] = states
    counts[0] = 1
    for t in range(length):
        count = 0
        for j in range(states):
            if node[first + t, j] != -np.inf:
                rows[t + 1, count] = j
                count += 1
        counts[t + 1] = count


@kernel
def _triple_weights(second, rows, counts, ends, end_counts, length, spent, weight, top):
    """exp second into ``weight``, for one chain's triples or, if that is cheaper, for all.

    The third label is one of ``ends``. ``spent`` counts the exponentials taken so far; −1 says that
    the whole table is filled. Returns it brought up to date; top [1] is the largest score met.
    """
    if spent < 0:
        return spent
    arcs = 0
    for t in range(1, length):
        arcs += counts[t - 1] * counts[t] * end_counts[t + 1]
    spent += arcs
    if spent >= second.size:
        flat, out = second.reshape(-1), weight.reshape(-1)
        for k in range(flat.shape[0]):
            top[0] = max(top[0], flat[k])
            out[k] = np.exp(np.float64(flat[k]))
        return -1
    for t in range(1, length):
        for i in rows[t, : counts[t]]:
            for h in rows[t - 1, : counts[t - 1]]:
                for j in ends[t + 1, : end_counts[t + 1]]:
                    top[0] = max(top[0], second[h, i, j])
                    weight[h, i, j] = np.exp(np.float64(second[h, i, j]))
    return spent


@kernel
def _highest(table):
    """The largest number of a table, at least 0."""
    top = 0.0
    for x in table.flat:
        top = max(top, x)
    return top


@kernel
def _log_total(row):
    """log Σ exp of a row of scores."""
    total = -np.inf
    for j in range(row.shape[0]):
        total = _log_add(total, row[j])
    return total


@kernel
def _log_normaliser(open_node, open_edge, second, t, varying, h, i):
    """The logarithm of what the pair (h, i) is divided by when it leaves for position t."""
    states = open_node.shape[1]
    table = open_edge[t if varying else 0]
    peak = -np.inf
    for j in range(states):
        peak = max(peak, open_node[t, j] + table[i, j] + second[h, i, j])
    if peak == -np.inf:
        return peak
    total = 0.0
    for j in range(states):
        if open_node[t, j] != -np.inf:
            total += np.exp(open_node[t, j] + table[i, j] + second[h, i, j] - peak)
    return peak + np.log(total)


@kernel
def steps(node, edge, open_node, open_edge, second, first, length, local, out):
    """out [T, S + 1, S, S]: the score of coming from (h, i) to j at each position of one chain.

    At position 0 only [S, 0, j] is used: there is nothing before it. Everything else follows from
    these scores alone, so this is where all potentials become one table.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    whole = _log_total(open_node[first]) if local else 0.0
    for j in range(states):
        out[0, states, 0, j] = node[first, j] - whole
    for t in range(1, length):
        here = first + t
        for i in range(states):
            for h in range(states + 1):
                if (h == states) != (t == 1):
                    continue
                leave = 0.0
                if local:
                    leave = _log_normaliser(open_node, open_edge, second, here, varying, h, i)
                for j in range(states):
                    pair = node[here, j] + edge[here if varying else 0, i, j]
                    out[t, h, i, j] = pair + second[h, i, j] - leave


@kernel
def forward_backward(
    node, edge, open_node, open_edge, second, offsets, local, marginals, pairs, triples, log_z
):
    """Log-partition and marginals of every chain.

    marginals [N, S] and log_z [C] are written; pairs [N, S, S] are written, [1, S, S] added to;
    triples [S + 1, S, S] are added to, or of length 0 not wanted.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    listed = pairs.shape[0] != 1
    wanted = triples.shape[0] > 0
    longest = _longest(offsets)
    alpha, beta = np.empty((longest, states + 1, states)), np.empty((longest, states + 1, states))
    share = np.empty((longest if local else 0, states + 1, states))  # 1 / what leaves a pair
    scale, psi = np.empty(longest), np.empty((longest, states))
    cells, mass = np.empty(states), np.empty(states)
    weight, rows = np.empty(second.shape), np.empty((longest + 1, states), np.int64)
    counts = np.empty(longest + 1, np.int64)
    ends = np.empty((longest + 1, states), np.int64) if local else rows
    end_counts = np.empty(longest + 1, np.int64) if local else counts
    factor, open_factor = np.empty((states, states)), np.empty((states if local else 0, states))
    if not varying:
        factor[:] = np.exp(edge[0])
        if local:
            open_factor[:] = np.exp(open_edge[0])
    spent, top, highest = 0, np.zeros(1), _highest(open_edge)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        log_z[c] = 0.0
        if length == 0:
            continue
        list_labels(node, first, length, rows, counts)
        if local:
            list_labels(open_node, first, length, ends, end_counts)
        spent = _triple_weights(second, rows, counts, ends, end_counts, length, spent, weight, top)
        good, total = False, 0.0
        if top[0] + highest <= LARGEST_SCORE:
            good, total = _forward(
                node, edge, open_node, open_edge, weight, first, length, local, rows, counts, ends,
                end_counts, factor, open_factor, alpha, share, scale, psi, cells, mass
            )  # fmt: skip
        if good:
            good = _backward(
                edge, weight, first, length, local, rows, counts, factor, alpha, share, scale, psi,
                beta, marginals
            )  # fmt: skip
        if not good:
            log_z[c] = _log_space(
                node, edge, open_node, open_edge, second, first, length, local, marginals, pairs,
                triples
            )  # fmt: skip
            continue
        log_z[c] = total
        if listed:
            pairs[first] = 0.0
        for t in range(1, length):
            here = first + t
            if listed:
                pairs[here] = 0.0
            if varying and wanted:
                _exponentials(edge, here, t, rows, counts, rows, counts, factor)
            for m in range(counts[t]):
                i = rows[t, m]
                for k in range(counts[t + 1]):
                    j = rows[t + 1, k]
                    pairs[here if listed else 0, i, j] += alpha[t, i, j] * beta[t, i, j]
                    cells[j] = factor[i, j] * psi[t, j] * beta[t, i, j] * scale[t]
                if wanted:
                    for n in range(counts[t - 1]):
                        h = rows[t - 1, n]
                        mass[n] = alpha[t - 1, h, i] * (share[t, h, i] if local else 1.0)
                    _add_triples(mass, weight, i, cells, rows, counts, t, triples)


@kernel
def _backward(
    edge, weight, first, length, local, rows, counts, factor, alpha, share, scale, psi, beta,
    marginals
):  # fmt: skip
    """The backward pass of one chain, and its marginals; whether it went well.

    Scores far apart can under- or overflow in one pass and not in the other: then the marginals do
    not add up to one.
    """
    states = marginals.shape[1]
    cells, sums = np.empty(states), np.empty(states)
    for m in range(counts[length - 1]):
        for k in range(counts[length]):
            beta[length - 1, rows[length - 1, m], rows[length, k]] = 1.0
    for t in range(length - 1, -1, -1):
        here = first + t
        marginals[here] = 0.0
        total = 0.0
        for m in range(counts[t]):
            i = rows[t, m]
            for k in range(counts[t + 1]):
                j = rows[t + 1, k]
                p = alpha[t, i, j] * beta[t, i, j]
                marginals[here, j] += p
                total += p
        if not abs(total - 1.0) < LARGEST_DRIFT:
            return False
        if t == 0:
            break
        if edge.shape[0] > 1:
            _exponentials(edge, here, t, rows, counts, rows, counts, factor)
        for m in range(counts[t]):
            i = rows[t, m]
            for k in range(counts[t + 1]):
                j = rows[t + 1, k]
                cells[j] = factor[i, j] * psi[t, j] * beta[t, i, j] * scale[t]
            _collect(cells, weight, i, rows, counts, rows, counts, t, sums)
            for n in range(counts[t - 1]):
                h = rows[t - 1, n]
                beta[t - 1, h, i] = sums[n] * (share[t, h, i] if local else 1.0)
    return True


@kernel
def _exponentials(edge, here, t, rows, counts, ends, end_counts, factor):
    """exp edge_t(i, j), for the labels rows[t] and ends[t + 1]."""
    for m in range(counts[t]):
        i = rows[t, m]
        for k in range(end_counts[t + 1]):
            j = ends[t + 1, k]
            factor[i, j] = np.exp(edge[here, i, j])


# The innermost loops, for one label i before: over the labels h before it, rows[t − 1], and those
# at position t, rows[t + 1]. Where all are possible they run without the list, which is quicker.


@kernel(fastmath={"reassoc", "contract"})
def _spread(mass, weight, i, rows, counts, t, cells):
    """cells(j) = Σ_h mass(h) weight(h, i, j); mass holds one number for each of rows[t − 1]."""
    states = cells.shape[0]
    for j in range(states):
        cells[j] = 0.0
    if counts[t + 1] == states:
        for n in range(counts[t - 1]):
            h, a = rows[t - 1, n], mass[n]
            for j in range(states):
                cells[j] += a * weight[h, i, j]
    else:
        for n in range(counts[t - 1]):
            h, a = rows[t - 1, n], mass[n]
            for k in range(counts[t + 1]):
                j = rows[t + 1, k]
                cells[j] += a * weight[h, i, j]


@kernel(fastmath={"reassoc", "contract"})
def _collect(cells, weight, i, rows, counts, ends, end_counts, t, sums):
    """sums(h) = Σ_j weight(h, i, j) cells(j), j over ends[t + 1]."""
    states = cells.shape[0]
    if end_counts[t + 1] == states:
        for n in range(counts[t - 1]):
            h = rows[t - 1, n]
            total = 0.0
            for j in range(states):
                total += weight[h, i, j] * cells[j]
            sums[n] = total
    else:
        for n in range(counts[t - 1]):
            h = rows[t - 1, n]
            total = 0.0
            for k in range(end_counts[t + 1]):
                j = ends[t + 1, k]
                total += weight[h, i, j] * cells[j]
            sums[n] = total


@kernel(fastmath={"reassoc", "contract"})
def _add_triples(mass, weight, i, cells, rows, counts, t, triples):
    """triples(h, i, j) += mass(h) weight(h, i, j) cells(j)."""
    states = cells.shape[0]
    if counts[t + 1] == states:
        for n in range(counts[t - 1]):
            h, a = rows[t - 1, n], mass[n]
            for j in range(states):
                triples[h, i, j] += a * weight[h, i, j] * cells[j]
    else:
        for n in range(counts[t - 1]):
            h, a = rows[t - 1, n], mass[n]
            for k in range(counts[t + 1]):
                j = rows[t + 1, k]
                triples[h, i, j] += a * weight[h, i, j] * cells[j]


@kernel
def _forward(
    node, edge, open_node, open_edge, weight, first, length, local, rows, counts, ends, end_counts,
    factor, open_factor, alpha, share, scale, psi, cells, mass
):  # fmt: skip
    """The scaled forward pass of one chain: whether it went well, and log Z."""
    states, varying = node.shape[1], edge.shape[0] > 1
    open_psi, sums = np.empty(states), np.empty(states)
    total = 0.0
    for t in range(length):
        here = first + t
        n_now, n_open = counts[t + 1], end_counts[t + 1]
        peak = -np.inf
        for k in range(n_open):
            peak = max(peak, open_node[here, ends[t + 1, k]])
        if not np.isfinite(peak):
            return False, 0.0
        for k in range(n_now):
            j = rows[t + 1, k]
            psi[t, j] = np.exp(node[here, j] - peak)
        if local:
            for k in range(n_open):
                j = ends[t + 1, k]
                open_psi[j] = np.exp(open_node[here, j] - peak)
        total += peak
        s = 0.0
        if t == 0:
            whole = 1.0
            if local:
                whole = 0.0
                for k in range(n_open):
                    whole += open_psi[ends[1, k]]
            for k in range(n_now):
                j = rows[1, k]
                alpha[0, states, j] = psi[0, j] / whole
                s += alpha[0, states, j]
        else:
            if varying:
                _exponentials(edge, here, t, rows, counts, rows, counts, factor)
                if local:
                    _exponentials(open_edge, here, t, rows, counts, ends, end_counts, open_factor)
            for m in range(counts[t]):
                i = rows[t, m]
                for n in range(counts[t - 1]):
                    mass[n] = alpha[t - 1, rows[t - 1, n], i]
                if local:
                    for k in range(n_open):
                        j = ends[t + 1, k]
                        cells[j] = open_psi[j] * open_factor[i, j]
                    _collect(cells, weight, i, rows, counts, ends, end_counts, t, sums)
                    for n in range(counts[t - 1]):
                        if not (sums[n] > SMALLEST_SUM and sums[n] < np.inf) and mass[n] > 0.0:
                            return False, 0.0
                        share[t, rows[t - 1, n], i] = 1.0 / max(sums[n], SMALLEST_SUM)
                        mass[n] *= share[t, rows[t - 1, n], i]
                _spread(mass, weight, i, rows, counts, t, cells)
                for k in range(n_now):
                    j = rows[t + 1, k]
                    alpha[t, i, j] = cells[j] * psi[t, j] * factor[i, j]
                    s += alpha[t, i, j]
        if local:
            total -= peak  # the same in what was divided by
        if not (s > SMALLEST_SUM and s < np.inf):
            return False, 0.0
        total += np.log(s)
        scale[t] = 1.0 / s
        for m in range(counts[t]):
            i = rows[t, m]
            for k in range(n_now):
                alpha[t, i, rows[t + 1, k]] *= scale[t]
    return True, total


@kernel
def _log_space(
    node, edge, open_node, open_edge, second, first, length, local, marginals, pairs, triples
):
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
                    after = arcs[t, h, i, j] + beta[t, i, j]
                    beta[t - 1, h, i] = _log_add(beta[t - 1, h, i], after)
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


@kernel
def path_score(node, edge, second, offsets, path, score):
    """The score of one given path per chain, without any normalising. score [C]"""
    states, varying = node.shape[1], edge.shape[0] > 1
    for c in range(offsets.shape[0] - 1):
        total = 0.0
        for t in range(offsets[c], offsets[c + 1]):
            total += node[t, path[t]]
            if t > offsets[c]:
                before = path[t - 2] if t > offsets[c] + 1 else states
                total += edge[t if varying else 0, path[t - 1], path[t]]
                total += second[before, path[t - 1], path[t]]
        score[c] = total


@kernel
def subtract_path(offsets, path, triples):
    """Triple marginals minus the indicator of the given path, in place."""
    states = triples.shape[1]
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c] + 1, offsets[c + 1]):
            before = path[t - 2] if t > offsets[c] + 1 else states
            triples[before, path[t - 1], path[t]] -= 1.0


@kernel
def local_path(node, edge, second, offsets, path, residuals, pairs, triples):
    """−Σ_t log p(y_t | y_{t−2}, y_{t−1}, x) of a given path, and its gradient in the potentials.

    residuals [N, S] are written; pairs [N, S, S] or [1, S, S] and triples [S + 1, S, S] added to.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
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


@kernel
def nbest(node, edge, open_node, open_edge, second, local, k, paths, scores):
    """The k best paths of *one* chain of T tokens, best first: paths [k, T], scores [k].

    Each pair of labels keeps its k best histories. Ranks that do not exist score −∞; ties go to the
    lower labels.
    """
    length, states = node.shape
    varying = edge.shape[0] > 1
    delta, fresh = np.empty((states + 1, states, k)), np.empty((states + 1, states, k))
    back = np.empty((length, states + 1, states, k), np.int64)  # h · k + rank
    rows, counts = np.empty((length + 1, states), np.int64), np.empty(length + 1, np.int64)
    list_labels(node, 0, length, rows, counts)
    ends = np.empty((length + 1 if local else 0, states), np.int64)
    end_counts = np.empty(length + 1 if local else 0, np.int64)
    weight = np.empty(second.shape if local else (0, states, states))
    cells, sums = np.empty(states), np.empty(states)
    top = np.zeros(1)
    if local:
        list_labels(open_node, 0, length, ends, end_counts)
        _triple_weights(second, rows, counts, ends, end_counts, length, 0, weight, top)
    whole = _log_total(open_node[0]) if local else 0.0
    for j in rows[1, : counts[1]]:
        delta[states, j, :] = -np.inf
        delta[states, j, 0] = node[0, j] - whole
    for t in range(1, length):
        now = rows[t + 1, : counts[t + 1]]
        for i in rows[t, : counts[t]]:
            peak = 0.0
            if local:
                peak = _open_cells(open_node[t], open_edge[t if varying else 0, i], cells)
                _collect(cells, weight, i, rows, counts, ends, end_counts, t, sums)
            for j in now:
                fresh[i, j, :] = -np.inf
            for n in range(counts[t - 1]):
                h = rows[t - 1, n]
                if delta[h, i, 0] == -np.inf:
                    continue
                leave = 0.0
                if local:
                    leave = peak + np.log(sums[n])
                    if not SMALLEST_SUM < sums[n] < np.inf or top[0] > LARGEST_SCORE:
                        leave = _log_normaliser(open_node, open_edge, second, t, varying, h, i)
                for m in range(counts[t + 1]):
                    j = rows[t + 1, m]
                    arc = second[h, i, j] - leave
                    if k == 1:  # no list to keep in order
                        if delta[h, i, 0] + arc > fresh[i, j, 0]:
                            fresh[i, j, 0] = delta[h, i, 0] + arc
                            back[t, i, j, 0] = h
                        continue
                    for r in range(k):
                        candidate = delta[h, i, r] + arc
                        if not candidate > fresh[i, j, k - 1]:  # NaN would have no history
                            break
                        _insert(fresh[i, j], back[t, i, j], candidate, h * k + r)
            for j in now:
                local_score = node[t, j] + edge[t if varying else 0, i, j]
                for r in range(k):
                    fresh[i, j, r] += local_score
        delta, fresh = fresh, delta
    last = np.zeros(k, np.int64)
    scores[:k] = -np.inf
    for i in rows[length - 1, : counts[length - 1]]:
        for j in rows[length, : counts[length]]:
            for r in range(k):
                if not delta[i, j, r] > scores[k - 1]:
                    break
                _insert(scores, last, delta[i, j, r], (i * states + j) * k + r)
    for r in range(k):
        if scores[r] == -np.inf:
            paths[r] = 0
            continue
        rank = last[r] % k
        j = last[r] // k % states
        i = last[r] // k // states
        for t in range(length - 1, -1, -1):
            paths[r, t] = j
            if t > 0:
                before = back[t, i, j, rank]
                i, j, rank = before // k, i, before % k


@kernel
def _open_cells(node, edge, cells):
    """exp(node + edge − its maximum) into ``cells`` [S]; returns the maximum."""
    peak = -np.inf
    for j in range(node.shape[0]):
        cells[j] = node[j] + edge[j]
        peak = max(peak, cells[j])
    if not np.isfinite(peak):
        peak = 0.0
    for j in range(node.shape[0]):
        if node[j] != -np.inf:
            cells[j] = np.exp(cells[j] - peak)
    return peak


@kernel
def beam(node, edge, open_node, open_edge, second, offsets, local, width, path, score):
    """The best path among those whose every prefix is one of the ``width`` best kept.

    Hypotheses that end in the same two labels are recombined; with width ≥ S² nothing is dropped,
    and the path is the best of all. Width 1 is the greedy search. Prefixes of local chains are
    compared by their probabilities, others by their scores; ties go to the lower labels. Labels
    from which the chain cannot be completed are not taken. path [N] and score [C] are written.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    longest = _longest(offsets)
    pairs = (states + 1) * states
    back, alive = np.empty((longest, pairs), np.int32), np.empty((longest, states), np.bool_)
    live, delta = np.empty(states, np.int64), np.full(pairs, -np.inf)
    fresh = np.full(pairs, -np.inf)  # −∞ but for what is reached
    reached, before = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    kept, values = np.empty(pairs + 1, np.int64), np.empty(pairs)
    psi = np.empty(states)
    quick = local and not varying and _highest(second) + _highest(open_edge) <= LARGEST_SCORE
    weight = np.exp(second) if quick else second
    factor = np.exp(open_edge[0]) if quick else open_edge[0]
    many = 0
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        if length == 0:
            score[c] = 0.0
            continue
        _find_completable(node, edge, first, first + length, alive)
        for k in range(many):
            delta[reached[k]] = -np.inf
        whole = _log_total(open_node[first]) if local else 0.0
        many = 0
        for j in range(states):
            if alive[0, j]:
                reached[many] = states * states + j
                delta[reached[many]] = node[first, j] - whole
                many += 1
        for t in range(1, length):
            here = first + t
            table = edge[here if varying else 0]
            count = _widest(delta, reached, many, width, values, kept)
            n_live = 0
            for j in range(states):
                if alive[t, j]:
                    live[n_live] = j
                    n_live += 1
            reached, before = before, reached
            known, many = many, 0
            peak = _exponential_row(open_node[here], psi) if quick else 0.0
            for k in range(count):
                h, i = kept[k] // states, kept[k] % states
                d = delta[kept[k]]
                if local:
                    leaves = 0.0
                    if quick:
                        for j in range(states):
                            leaves += psi[j] * factor[i, j] * weight[h, i, j]
                    if leaves > SMALLEST_SUM and leaves < np.inf:
                        d -= peak + np.log(leaves)
                    else:
                        d -= _log_normaliser(open_node, open_edge, second, here, varying, h, i)
                for j in live[:n_live]:
                    candidate = d + node[here, j] + table[i, j] + second[h, i, j]
                    place = i * states + j
                    if candidate > fresh[place]:
                        if fresh[place] == -np.inf:
                            reached[many] = place
                            many += 1
                        fresh[place] = candidate
                        back[t, place] = h
            for k in range(known):
                delta[before[k]] = -np.inf
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


@kernel
def _exponential_row(row, out):
    """exp(row − its maximum) into out; returns the maximum, 0 where it is not finite."""
    peak = -np.inf
    for j in range(row.shape[0]):
        peak = max(peak, row[j])
    if not np.isfinite(peak):
        peak = 0.0
    for j in range(row.shape[0]):
        out[j] = np.exp(row[j] - peak)
    return peak


@kernel
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
