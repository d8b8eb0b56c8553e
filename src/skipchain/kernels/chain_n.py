"""Exact inference on chains of any order m: every label depends on the m before it.

The recursions run over *contexts*, the last m labels before a position, or all of them where there
are fewer. A context of n labels is the number that they write to the base S, the last label as the
last digit; label j after context c makes the context (c · S + j) mod S^m. Potentials are those of
`skipchain.kernels.chain2` without ``second``; its part is in ``table`` [R, S], what each context
adds to the label after it. Row B_n + c of it is context c of n labels, B_n = 1 + S + … + S^(n−1);
those of fewer than m labels begin where the chain does. ``weight`` is exp ``table``. ``trigrams``
are the features of `skipchain.kernels.label_ngrams`, which make a table of the two labels before
for single positions.

    α_{t+1}(c · S + j) = Σ_c α_t(c) exp(node_t(j) + edge_t(i, j) + table(c, j) + x_t(h, i, j))

with h and i the last two labels of c; the sum runs over those c that lead to one context. With
``local`` what leaves a context is divided by the sum over all labels, by the potentials
``open_node`` and ``open_edge`` before anything is ruled out. The cost of a position is S^(m+1).
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.chain import _log_sum, _longest
from skipchain.kernels.chain2 import _exponential_row, _highest, _log_add
from skipchain.kernels.kernel import kernel
from skipchain.kernels.label_ngrams import (
    add_trigrams,
    clear_trigrams,
    collect_trigrams,
    exponentials,
)
from skipchain.kernels.paths import _insert

# As in chain2: beyond these the largest part of a sum could have vanished.
SMALLEST_SUM = 1e-150
LARGEST_SCORE = 300.0
LARGEST_DRIFT = 1e-10


@kernel
def forward_backward(
    node, edge, open_node, open_edge, table, weight, order, trigrams, offsets, local, marginals,
    pairs, counts, rows, log_z
):  # fmt: skip
    """Log-partition and marginals of every chain.

    marginals [N, S] and log_z [C] are written; pairs [N, S, S] are written, [1, S, S] added to, and
    of length 0 not wanted. How often each label is expected after each context, counts [R, S], and
    with each row of the trigrams, rows [K, S], are added to; counts of length 0 are not wanted.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    longest, full = _longest(offsets), states**order
    alpha, beta = np.empty((longest + 1, full)), np.empty((longest + 1, full))
    share = np.empty((longest if local else 0, full))  # 1 / what leaves a context
    scale, psi = np.empty(longest), np.empty((longest, states))
    size = states + 1 if trigrams.indptr.shape[0] > 0 else 0
    extra = np.zeros((size, states + 1, states))
    factors = np.ones((size, states + 1, states))
    factor, open_factor = np.empty((states, states)), np.empty((states, states))
    if not varying:
        factor[:] = np.exp(edge[0])
        open_factor[:] = np.exp(open_edge[0])
    small = _highest(table) + _highest(open_edge) <= LARGEST_SCORE
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        log_z[c] = 0.0
        if length == 0:
            continue
        good, total = False, 0.0
        if small:
            good, total = _forward(
                node, edge, open_node, open_edge, weight, order, trigrams, first, length, local,
                extra, factors, factor, open_factor, alpha, share, scale, psi
            )  # fmt: skip
        if good:
            good = _backward(
                edge, weight, order, trigrams, first, length, local, extra, factors, factor, alpha,
                share, scale, psi, beta, marginals
            )  # fmt: skip
        if good:
            log_z[c] = total
            if pairs.shape[0] > 0:
                _expect(
                    edge, weight, order, trigrams, first, length, local, extra, factors, factor,
                    alpha, share, scale, psi, beta, pairs, counts, rows
                )  # fmt: skip
        else:
            log_z[c] = _log_space(
                node, edge, open_node, open_edge, table, order, trigrams, first, length, local,
                extra, marginals, pairs, counts, rows
            )  # fmt: skip


@kernel
def _context(states, order, t):
    """How many contexts there are before position t of a chain, and where their rows begin."""
    size, begin = 1, 0
    for _ in range(min(t, order)):
        begin += size
        size *= states
    return size, begin


@kernel
def _prepare(edge, trigrams, here, extra, factors, factor):
    """exp of what depends on the position and on labels before; whether features do, and how far.

    ``extra`` is zero and ``factors`` are one before and, by `clear_trigrams`, afterwards.
    """
    if edge.shape[0] > 1:
        for i in range(factor.shape[0]):
            for j in range(factor.shape[1]):
                factor[i, j] = np.exp(edge[here, i, j])
    more = add_trigrams(trigrams, here, extra)
    top = exponentials(trigrams, here, extra, factors) if more else 0.0
    return more, top


@kernel
def _release(trigrams, here, extra, factors):
    """Forget the features of a position again."""
    clear_trigrams(trigrams, here, extra, 0.0)
    clear_trigrams(trigrams, here, factors, 1.0)


@kernel
def _cells(weight, factor, factors, psi, states, t, c, more, out):
    """exp of the scores of all labels after context c at position t of a chain, into out [S]."""
    for j in range(states):
        out[j] = weight[j] * psi[j]
    if t > 0:
        i = c % states
        for j in range(states):
            out[j] *= factor[i, j]
    if more:
        h = c // states % states if t > 1 else states
        i = c % states if t > 0 else states
        for j in range(states):
            out[j] *= factors[h, i, j]


@kernel
def _forward(
    node, edge, open_node, open_edge, weight, order, trigrams, first, length, local, extra, factors,
    factor, open_factor, alpha, share, scale, psi
):  # fmt: skip
    """The scaled forward pass of one chain: whether it went well, and log Z."""
    states, varying = node.shape[1], edge.shape[0] > 1
    full = states**order
    cells, open_psi = np.empty(states), np.empty(states)
    total = 0.0
    alpha[0, 0] = 1.0
    for t in range(length):
        here = first + t
        peak = -np.inf
        for j in range(states):
            peak = max(peak, open_node[here, j])
        if not np.isfinite(peak):
            return False, 0.0
        for j in range(states):
            psi[t, j] = np.exp(node[here, j] - peak)
            open_psi[j] = np.exp(open_node[here, j] - peak)
        if local and varying:
            for i in range(states):
                for j in range(states):
                    open_factor[i, j] = np.exp(open_edge[here, i, j])
        more, top = _prepare(edge, trigrams, here, extra, factors, factor)
        good = top <= LARGEST_SCORE
        size, begin = _context(states, order, t)
        alpha[t + 1, : min(size * states, full)] = 0.0
        for c in range(size):
            a = alpha[t, c]
            if local:
                share[t, c] = 0.0
            if a == 0.0 or not good:
                continue
            if local:
                _cells(weight[begin + c], open_factor, factors, open_psi, states, t, c, more, cells)
                leaves = 0.0
                for j in range(states):
                    leaves += cells[j]
                if not (leaves > SMALLEST_SUM and leaves < np.inf):
                    good = False
                    continue
                share[t, c] = 1.0 / leaves
                a *= share[t, c]
            _cells(weight[begin + c], factor, factors, psi[t], states, t, c, more, cells)
            to = c * states % full
            for j in range(states):
                alpha[t + 1, to + j] += a * cells[j]
        if more:
            _release(trigrams, here, extra, factors)
        s = 0.0
        for c in range(min(size * states, full)):
            s += alpha[t + 1, c]
        if not good or not (s > SMALLEST_SUM and s < np.inf):
            return False, 0.0
        total += np.log(s)
        if not local:
            total += peak  # else the same in what was divided by
        scale[t] = 1.0 / s
        for c in range(min(size * states, full)):
            alpha[t + 1, c] *= scale[t]
    return True, total


@kernel
def _backward(
    edge, weight, order, trigrams, first, length, local, extra, factors, factor, alpha, share,
    scale, psi, beta, marginals
):  # fmt: skip
    """The backward pass of one chain, and its marginals; whether it went well.

    Scores far apart can under- or overflow in one pass and not in the other: then the marginals do
    not add up to one.
    """
    states = marginals.shape[1]
    full = states**order
    cells = np.empty(states)
    beta[length] = 1.0
    for t in range(length - 1, -1, -1):
        here = first + t
        marginals[here] = 0.0
        more, _ = _prepare(edge, trigrams, here, extra, factors, factor)
        size, begin = _context(states, order, t)
        for c in range(size):
            beta[t, c] = 0.0
            if alpha[t, c] == 0.0:
                continue
            _cells(weight[begin + c], factor, factors, psi[t], states, t, c, more, cells)
            rate = scale[t] * (share[t, c] if local else 1.0)
            to = c * states % full
            for j in range(states):
                mass = rate * cells[j] * beta[t + 1, to + j]
                beta[t, c] += mass
                marginals[here, j] += alpha[t, c] * mass
        if more:
            _release(trigrams, here, extra, factors)
        total = 0.0
        for j in range(states):
            total += marginals[here, j]
        if not abs(total - 1.0) < LARGEST_DRIFT:
            return False
    return True


@kernel
def _expect(
    edge, weight, order, trigrams, first, length, local, extra, factors, factor, alpha, share,
    scale, psi, beta, pairs, counts, rows
):  # fmt: skip
    """What is expected of the labels of one chain after each context, by both passes."""
    states = psi.shape[1]
    full = states**order
    listed, wanted = pairs.shape[0] > 1, counts.shape[0] > 0
    cells, expected = np.empty(states), np.zeros(extra.shape)
    for t in range(length):
        here = first + t
        if listed:
            pairs[here] = 0.0
        more, _ = _prepare(edge, trigrams, here, extra, factors, factor)
        size, begin = _context(states, order, t)
        for c in range(size):
            if alpha[t, c] == 0.0:
                continue
            _cells(weight[begin + c], factor, factors, psi[t], states, t, c, more, cells)
            rate = alpha[t, c] * scale[t] * (share[t, c] if local else 1.0)
            to = c * states % full
            for j in range(states):
                cells[j] *= rate * beta[t + 1, to + j]
            _add(cells, states, t, c, begin, here if listed else 0, more, pairs, counts, expected)
        if more:
            if wanted:
                collect_trigrams(trigrams, here, expected, rows)
            expected[:] = 0.0
            _release(trigrams, here, extra, factors)


@kernel
def _add(cells, states, t, c, begin, place, more, pairs, counts, expected):
    """Add the probabilities of the labels after context c to all that is counted."""
    for j in range(states):
        if t > 0:
            pairs[place, c % states, j] += cells[j]
        if counts.shape[0] > 0:
            counts[begin + c, j] += cells[j]
        if more:
            h = c // states % states if t > 1 else states
            expected[h, c % states if t > 0 else states, j] += cells[j]


@kernel
def _log_scores(node, edge, table, extra, states, t, c, more, out):
    """The scores of all labels after context c at position t of a chain, into out [S]."""
    for j in range(states):
        out[j] = node[j] + table[j]
        if t > 0:
            out[j] += edge[c % states, j]
        if more:
            h = c // states % states if t > 1 else states
            out[j] += extra[h, c % states if t > 0 else states, j]


@kernel
def _log_space(
    node, edge, open_node, open_edge, table, order, trigrams, first, length, local, extra,
    marginals, pairs, counts, rows
):  # fmt: skip
    """One chain by logarithms of sums: slow, safe; returns log Z."""
    states, varying = node.shape[1], edge.shape[0] > 1
    full = states**order
    alpha = np.full((length + 1, full), -np.inf)
    beta = np.full((length + 1, full), -np.inf)
    arcs, leaves = np.empty(states), np.zeros((length, full))
    expected = np.zeros(extra.shape)
    alpha[0, 0] = 0.0
    for t in range(length):
        here = first + t
        at = here if varying else 0
        more = add_trigrams(trigrams, here, extra)
        size, begin = _context(states, order, t)
        for c in range(size):
            if alpha[t, c] == -np.inf:
                continue
            row = table[begin + c]
            if local:
                _log_scores(open_node[here], open_edge[at], row, extra, states, t, c, more, arcs)
                leaves[t, c] = _log_sum(arcs)
            _log_scores(node[here], edge[at], row, extra, states, t, c, more, arcs)
            for j in range(states):
                to = (c * states + j) % full
                score = alpha[t, c] + arcs[j] - leaves[t, c]
                alpha[t + 1, to] = _log_add(alpha[t + 1, to], score)
        if more:
            clear_trigrams(trigrams, here, extra, 0.0)
    total = -np.inf
    for c in range(_context(states, order, length)[0]):
        total = _log_add(total, alpha[length, c])
    beta[length] = 0.0
    listed = pairs.shape[0] > 1
    for t in range(length - 1, -1, -1):
        here = first + t
        at = here if varying else 0
        marginals[here] = 0.0
        if listed:
            pairs[here] = 0.0
        more = add_trigrams(trigrams, here, extra)
        size, begin = _context(states, order, t)
        for c in range(size):
            if alpha[t, c] == -np.inf or total == -np.inf:
                continue
            _log_scores(node[here], edge[at], table[begin + c], extra, states, t, c, more, arcs)
            for j in range(states):
                arcs[j] += beta[t + 1, (c * states + j) % full] - leaves[t, c]
                beta[t, c] = _log_add(beta[t, c], arcs[j])
                arcs[j] = np.exp(alpha[t, c] + arcs[j] - total)
                marginals[here, j] += arcs[j]
            if pairs.shape[0] > 0:
                place = here if listed else 0
                _add(arcs, states, t, c, begin, place, more, pairs, counts, expected)
        if more:
            if counts.shape[0] > 0:
                collect_trigrams(trigrams, here, expected, rows)
            expected[:] = 0.0
            clear_trigrams(trigrams, here, extra, 0.0)
    return total


@kernel
def path_score(node, edge, table, order, trigrams, offsets, path, score):
    """The score of one given path per chain, without any normalising. score [C]"""
    states, varying = node.shape[1], edge.shape[0] > 1
    full = states**order
    size = states + 1 if trigrams.indptr.shape[0] > 0 else 0
    extra = np.zeros((size, states + 1, states))
    scores = np.empty(states)
    for chain in range(offsets.shape[0] - 1):
        score[chain] = 0.0
        c = 0
        for t in range(offsets[chain + 1] - offsets[chain]):
            here = offsets[chain] + t
            more = add_trigrams(trigrams, here, extra)
            begin = _context(states, order, t)[1]
            pairs = edge[here if varying else 0]
            _log_scores(node[here], pairs, table[begin + c], extra, states, t, c, more, scores)
            score[chain] += scores[path[here]]
            c = (c * states + path[here]) % full
            if more:
                clear_trigrams(trigrams, here, extra, 0.0)


@kernel
def subtract_path(order, trigrams, offsets, path, counts, rows):
    """Expected counts minus those of the given path, in place."""
    states = counts.shape[1]
    full = states**order
    size = states + 1 if trigrams.indptr.shape[0] > 0 else 0
    expected = np.zeros((size, states + 1, states))
    for chain in range(offsets.shape[0] - 1):
        c = 0
        for t in range(offsets[chain + 1] - offsets[chain]):
            here = offsets[chain] + t
            j = path[here]
            counts[_context(states, order, t)[1] + c, j] -= 1.0
            if size > 0 and trigrams.indptr[here + 1] > trigrams.indptr[here]:
                h = c // states % states if t > 1 else states
                i = c % states if t > 0 else states
                expected[h, i, j] = -1.0
                collect_trigrams(trigrams, here, expected, rows)
                expected[h, i, j] = 0.0
            c = (c * states + j) % full


@kernel
def nbest(
    node, edge, open_node, open_edge, table, weight, order, trigrams, local, k, paths, scores
):
    """The k best paths of *one* chain of T tokens, best first: paths [k, T], scores [k].

    Each context keeps its k best histories. Ranks that do not exist score −∞; ties go to the lower
    labels.
    """
    length, states = node.shape
    varying, full = edge.shape[0] > 1, states**order
    delta, fresh = np.full((full, k), -np.inf), np.full((full, k), -np.inf)
    back = np.empty((length, full, k), np.int64)  # context · k + rank
    size = states + 1 if trigrams.indptr.shape[0] > 0 else 0
    extra = np.zeros((size, states + 1, states))
    factors = np.ones((size, states + 1, states))
    open_factor, open_psi = np.exp(open_edge[0]), np.empty(states)
    small = _highest(table) + _highest(open_edge) <= LARGEST_SCORE
    row = np.empty(states)
    delta[0, 0] = 0.0
    for t in range(length):
        at = t if varying else 0
        more, top = False, 0.0
        peak = 0.0
        if local:
            peak = _exponential_row(open_node[t], open_psi)
            more, top = _prepare(open_edge, trigrams, t, extra, factors, open_factor)
        else:
            more = add_trigrams(trigrams, t, extra)
        size, begin = _context(states, order, t)
        fresh[: min(size * states, full)] = -np.inf
        for c in range(size):
            if not delta[c, 0] > -np.inf:
                continue
            leaves = 0.0
            if local:
                total = 0.0
                if small and top <= LARGEST_SCORE:
                    _cells(
                        weight[begin + c], open_factor, factors, open_psi, states, t, c, more, row
                    )
                    for j in range(states):
                        total += row[j]
                if total > SMALLEST_SUM and total < np.inf:
                    leaves = peak + np.log(total)
                else:
                    _log_scores(
                        open_node[t],
                        open_edge[at],
                        table[begin + c],
                        extra,
                        states,
                        t,
                        c,
                        more,
                        row,
                    )
                    leaves = _log_sum(row)
            _log_scores(node[t], edge[at], table[begin + c], extra, states, t, c, more, row)
            to = c * states % full
            for j in range(states):
                arc = row[j] - leaves
                for r in range(k):
                    candidate = delta[c, r] + arc
                    if not candidate > fresh[to + j, k - 1]:  # NaN would have no history
                        break
                    _insert(fresh[to + j], back[t, to + j], candidate, c * k + r)
        if more:
            _release(trigrams, t, extra, factors)
        delta, fresh = fresh, delta
    last = np.zeros(k, np.int64)
    scores[:k] = -np.inf
    for c in range(_context(states, order, length)[0]):
        for r in range(k):
            if not delta[c, r] > scores[k - 1]:
                break
            _insert(scores, last, delta[c, r], c * k + r)
    for r in range(k):
        if scores[r] == -np.inf:
            paths[r] = 0
            continue
        at = last[r]
        for t in range(length - 1, -1, -1):
            paths[r, t] = at // k % states
            at = back[t, at // k, at % k]
