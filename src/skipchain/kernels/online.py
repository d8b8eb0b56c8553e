"""Learning from one chain after the other: stochastic likelihood steps and margin updates.

Both walk over the chains in a given order, score one with the weights as they are, and change the
weights of its features at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from skipchain.kernels import second as order2
from skipchain.kernels.chain import (
    _row_peaks,
    _scaled_passes,
    local_path,
    subtract_path,
    viterbi,
)

PERCEPTRON, PASSIVE_AGGRESSIVE, CONFIDENCE = 0, 1, 2
LONG = 128  # tokens; in longer chains steps of what occurs all the time would lead too far
OFTEN = 32  # occurrences of a feature in a long chain that count in full


class Features(NamedTuple):
    """The two-level index of tokens' features and the index of label pairs' features.

    Entry k of a token is feature ``indices[k]`` where that is below F, else unit ``indices[k] − F``
    with all its features. ``values`` of length 0 means ones, and so do ``unit_values``.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    unit_indptr: NDArray[np.int64]
    unit_indices: NDArray[np.int32]
    unit_values: NDArray[np.float64]
    edge_indptr: NDArray[np.int64]
    edge_indices: NDArray[np.int32]
    edge_values: NDArray[np.float64]


class Tables(NamedTuple):
    """Weights, single or double precision, as views into one vector."""

    state: NDArray[Any]  # [F, L]
    transitions: NDArray[Any]  # [L, L]
    start: NDArray[Any]  # [L]
    end: NDArray[Any]  # [L]
    edges: NDArray[Any]  # [G, (L + 1) · L]
    second: NDArray[Any]  # [L + 1, L, L], or [0, L, L] for chains of order 1


class Barriers(NamedTuple):
    """0 for what is allowed, −∞ for what is not."""

    pairs: NDArray[np.float64]  # [L, L]
    start: NDArray[np.float64]  # [L]
    end: NDArray[np.float64]  # [L]


class Counts(NamedTuple):
    """How often features and labels occur in one long chain; of length 0 for other chains."""

    state: NDArray[np.float64]  # [F], Σ value²
    edges: NDArray[np.float64]  # [G], Σ value²
    labels: NDArray[np.float64]  # [L]


@njit(nogil=True, cache=True)
def _draw(random, keep):
    """True with probability ``keep``, by Marsaglia's xorshift; random [1] is its state."""
    if keep >= 1.0:
        return True
    x = random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    random[0] = x
    return np.float64(x >> np.uint64(11)) * 2.0**-53 < keep


@njit(nogil=True, cache=True)
def _score_chain(features, tables, barriers, scale, first, length, keep, random, kept, node, edge):
    """Potentials of one chain, leaving out features at random.

    Each entry of a token (a feature or a whole unit) stays with probability keep[1], and each
    feature of it with probability keep[0]; what stays is scaled up so that the expected score is
    that of all. kept[n] tells of the n-th feature. The weights of features are ``scale`` times what
    the tables hold. node [T, L]; edge [T, L, L], or [1, L, L] where no feature goes with pairs.
    """
    labels = tables.state.shape[1]
    factor = scale / (keep[0] * keep[1])
    if keep[0] < 1.0 or keep[1] < 1.0:
        n = _score_some(features, tables.state, factor, first, length, keep, random, kept, node)
    else:
        n = _score_all(features, tables.state, factor, first, length, node)
        kept[:n] = True
    for j in range(labels):
        node[0, j] += tables.start[j] + barriers.start[j]
        node[length - 1, j] += tables.end[j] + barriers.end[j]
    for t in range(edge.shape[0] if edge.shape[0] == 1 else length):
        for i in range(labels):
            for j in range(labels):
                edge[t, i, j] = tables.transitions[i, j] + barriers.pairs[i, j]
    if tables.edges.shape[0] > 0:
        weighted = features.edge_values.shape[0] > 0
        for t in range(length):
            for k in range(features.edge_indptr[first + t], features.edge_indptr[first + t + 1]):
                g = features.edge_indices[k]
                v = features.edge_values[k] if weighted else 1.0
                on = _draw(random, keep[1]) and _draw(random, keep[0])
                kept[n] = on
                n += 1
                if on and t == 0:
                    for j in range(labels):
                        node[0, j] += factor * v * tables.edges[g, labels * labels + j]
                elif on:
                    for i in range(labels):
                        for j in range(labels):
                            edge[t, i, j] += factor * v * tables.edges[g, i * labels + j]


@njit(nogil=True, cache=True)
def _score_all(features, state, factor, first, length, node):
    """node [T, L] from all features; returns how many they are."""
    split, labels = state.shape
    weighted = features.values.shape[0] > 0
    unit_weighted = features.unit_values.shape[0] > 0
    n = 0
    for t in range(length):
        for j in range(labels):
            node[t, j] = 0.0
        for k in range(features.indptr[first + t], features.indptr[first + t + 1]):
            source = features.indices[k]
            v = factor * features.values[k] if weighted else factor
            if source < split:
                n += 1
                for j in range(labels):
                    node[t, j] += v * state[source, j]
            else:
                low = features.unit_indptr[source - split]
                high = features.unit_indptr[source - split + 1]
                n += high - low
                for u in range(low, high):
                    f = features.unit_indices[u]
                    w = v * features.unit_values[u] if unit_weighted else v
                    for j in range(labels):
                        node[t, j] += w * state[f, j]
    return n


@njit(nogil=True, cache=True)
def _score_some(features, state, factor, first, length, keep, random, kept, node):
    """node [T, L] from the features that are drawn; returns how many were there to draw from."""
    split, labels = state.shape
    weighted = features.values.shape[0] > 0
    unit_weighted = features.unit_values.shape[0] > 0
    n = 0
    for t in range(length):
        for j in range(labels):
            node[t, j] = 0.0
        for k in range(features.indptr[first + t], features.indptr[first + t + 1]):
            source = features.indices[k]
            v = features.values[k] if weighted else 1.0
            whole = _draw(random, keep[1])
            low, high = 0, 1
            if source >= split:
                low = features.unit_indptr[source - split]
                high = features.unit_indptr[source - split + 1]
            for u in range(low, high):
                f = source if source < split else features.unit_indices[u]
                on = whole and _draw(random, keep[0])
                kept[n] = on
                n += 1
                if on:
                    w = v * features.unit_values[u] if source >= split and unit_weighted else v
                    for j in range(labels):
                        node[t, j] += w * state[f, j]
        for j in range(labels):
            node[t, j] *= factor
    return n


@njit(nogil=True, cache=True)
def _one_chain(node, edge, psi, peaks, bounds, marginals, pairs, log_z):
    """`forward_backward` of one chain, from compiled code."""
    _row_peaks(node, peaks)
    for t in range(node.shape[0]):
        for j in range(node.shape[1]):
            psi[t, j] = np.exp(node[t, j] - peaks[t])
    bounds[1] = node.shape[0]
    pairs[:] = 0.0
    _scaled_passes(node, edge, bounds, peaks, psi, marginals, pairs, log_z)
    return log_z[0]


@njit(nogil=True, cache=True)
def _count(features, first, length, kept, gold, counts, clear):
    """Count the kept features and the labels of one chain, or with ``clear`` forget them again."""
    split = counts.state.shape[0]
    n = 0
    for t in range(first, first + length):
        for k in range(features.indptr[t], features.indptr[t + 1]):
            source = features.indices[k]
            v = features.values[k] if features.values.shape[0] else 1.0
            low, high = 0, 1
            if source >= split:
                low = features.unit_indptr[source - split]
                high = features.unit_indptr[source - split + 1]
            for u in range(low, high):
                f = source if source < split else features.unit_indices[u]
                w = v
                if source >= split and features.unit_values.shape[0]:
                    w *= features.unit_values[u]
                counts.state[f] = 0.0 if clear else counts.state[f] + kept[n] * w * w
                n += 1
        for i in range(counts.labels.shape[0]):
            known = gold[t] < 0 or gold[t] == i
            counts.labels[i] = 0.0 if clear else counts.labels[i] + known
    for k in range(features.edge_indptr[first], features.edge_indptr[first + length]):
        e = features.edge_indices[k]
        v = features.edge_values[k] if features.edge_values.shape[0] else 1.0
        counts.edges[e] = 0.0 if clear else counts.edges[e] + kept[n] * v * v
        n += 1


@njit(nogil=True, cache=True)
def _descend(
    features, tables, support, squares, first, length, rates, kept, counts, node, pairs, triples
):  # fmt: skip
    """One step down: weights minus rate · residual · value, for every feature that was kept.

    rates = (for the small tables, for the tables of features, the factor by which kept features
    count more, what AdaGrad's rate is divided by). With ``squares`` of the tables' shape the step
    is AdaGrad's; a ``support`` of the tables' shape says which weights may move. With ``counts``
    what occurs often takes a step as if it occurred less often.
    """
    split, labels = tables.state.shape
    small, large, factor, scale = rates
    adaptive = squares.state.shape[0] > 0
    masked = support.shape[0] > 0
    weighted = features.values.shape[0] > 0
    unit_weighted = features.unit_values.shape[0] > 0
    long = counts.labels.shape[0] > 0
    after = np.full(labels, small)
    for i in range(counts.labels.shape[0]):
        after[i] /= max(1.0, counts.labels[i] / LONG)
    row = np.empty(labels)
    n = 0
    for t in range(length):
        for j in range(labels):
            row[j] = node[t, j] * factor
        for k in range(features.indptr[first + t], features.indptr[first + t + 1]):
            source = features.indices[k]
            v = features.values[k] if weighted else 1.0
            low, high = 0, 1
            if source >= split:
                low = features.unit_indptr[source - split]
                high = features.unit_indptr[source - split + 1]
            for u in range(low, high):
                n += 1
                if not kept[n - 1]:
                    continue
                f = source if source < split else features.unit_indices[u]
                w = v * features.unit_values[u] if source >= split and unit_weighted else v
                if long:
                    w /= max(1.0, counts.state[f] / OFTEN)
                if adaptive:
                    for j in range(labels):
                        if not masked or support[f, j]:
                            g = w * row[j]
                            squares.state[f, j] += g * g
                            tables.state[f, j] -= (
                                small * g / (np.sqrt(squares.state[f, j]) + 1e-8) / scale
                            )
                elif masked:
                    for j in range(labels):
                        tables.state[f, j] -= large * w * row[j] * support[f, j]
                else:
                    for j in range(labels):
                        tables.state[f, j] -= large * w * row[j]
    listed = pairs.shape[0] > 1
    for t in range(1, length if listed else 2):
        own = pairs[t] if listed else pairs[0]
        for i in range(labels):
            for j in range(labels):
                g = own[i, j]
                if adaptive:
                    squares.transitions[i, j] += g * g
                    g /= np.sqrt(squares.transitions[i, j]) + 1e-8
                tables.transitions[i, j] -= after[i] * g
    if tables.edges.shape[0] > 0:
        weighted = features.edge_values.shape[0] > 0
        for t in range(length):
            for k in range(features.edge_indptr[first + t], features.edge_indptr[first + t + 1]):
                n += 1
                if not kept[n - 1]:
                    continue
                e = features.edge_indices[k]
                v = features.edge_values[k] if weighted else 1.0
                if long:
                    v /= max(1.0, counts.edges[e] / OFTEN)
                for i in range(0 if t > 0 else labels, labels if t > 0 else labels + 1):
                    for j in range(labels):
                        g = v * factor * (pairs[t, i, j] if t > 0 else node[0, j])
                        if adaptive:
                            squares.edges[e, i * labels + j] += g * g
                            g *= small / (np.sqrt(squares.edges[e, i * labels + j]) + 1e-8) / scale
                        else:
                            g *= large
                        tables.edges[e, i * labels + j] -= g
    for h in range(triples.shape[0]):
        for i in range(labels):
            for j in range(labels):
                g = triples[h, i, j]
                if adaptive:
                    squares.second[h, i, j] += g * g
                    g /= np.sqrt(squares.second[h, i, j]) + 1e-8
                tables.second[h, i, j] -= after[i] * g
    for table, square, t in (
        (tables.start, squares.start, 0),
        (tables.end, squares.end, length - 1),
    ):
        for j in range(labels):
            g = node[t, j]
            if adaptive:
                square[j] += g * g
                g /= np.sqrt(square[j]) + 1e-8
            table[j] -= small * g


@njit(nogil=True, cache=True)
def _second_order(node, edge, second, bounds, gold, allowed, local, own, pairs, triples):
    """Loss of one chain of order 2, and its gradient in potentials."""
    length, labels = node.shape
    pairs[:] = 0.0
    triples[:] = 0.0
    if local:
        return order2.local_path(node, edge, second, bounds, gold, own, pairs, triples)
    log_z = np.empty(1)
    order2.forward_backward(
        node, edge, node, edge, second, bounds, False, own, pairs, triples, log_z
    )
    loss = log_z[0]
    if allowed.shape[0]:
        limits = node.copy()
        for t in range(length):
            for j in range(labels):
                if not allowed[t, j]:
                    limits[t, j] = -np.inf
        known, known_pairs = np.zeros(node.shape), np.zeros(pairs.shape)
        known_triples = np.zeros(triples.shape)
        order2.forward_backward(
            limits, edge, limits, edge, second, bounds, False, known, known_pairs, known_triples,
            log_z,
        )  # fmt: skip
        own -= known
        pairs -= known_pairs
        triples -= known_triples
    else:
        order2.path_score(node, edge, second, bounds, gold, log_z)
        subtract_path(bounds, gold, own, pairs)
        order2.subtract_path(bounds, gold, triples)
    return loss - log_z[0]


@njit(nogil=True, cache=True)
def likelihood_epoch(
    features, tables, squares, support, barriers, offsets, order, gold, allowed, local, bounded,
    rate, shrink, keep, random, room,
):  # fmt: skip
    """One pass of stochastic steps on −log p(labels | input), chain by chain; returns its loss.

    The gradient in the potentials is marginals(free) − marginals(clamped); with ``allowed`` [N, L]
    the clamped term sums over all allowed paths, else it is the gold path. With ``local`` each
    position is normalised given the gold label before it. Every step multiplies the weights by
    1 − rate · shrink; for those of features this is done by one common factor.
    """
    labels = tables.state.shape[1]
    longest = 1
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    paired = tables.edges.shape[0] > 0
    node = np.empty((longest, labels))
    edge = np.empty((longest if paired else 1, labels, labels))
    psi = np.empty((longest, labels))
    peaks = np.empty(longest)
    marginals = np.empty((longest, labels))
    pairs = np.empty((longest if paired else 1, labels, labels))
    limited = allowed.shape[0] > 0
    clamped = np.empty((longest if limited else 0, labels))
    clamped_pairs = np.empty((pairs.shape[0] if limited else 0, labels, labels))
    triples = np.zeros(tables.second.shape)
    bounds = np.zeros(2, np.int64)
    log_z = np.empty(1)
    kept = np.empty(room, np.bool_)
    counted = longest > LONG and squares.state.shape[0] == 0  # AdaGrad sees to it by itself
    none = Counts(np.zeros(0), np.zeros(0), np.zeros(0))
    counts = none
    if counted:
        counts = Counts(
            np.zeros(tables.state.shape[0]), np.zeros(tables.edges.shape[0]), np.zeros(labels)
        )
    scale = 1.0
    loss = 0.0
    for c in order:
        first = offsets[c]
        length = offsets[c + 1] - first
        if length == 0:
            continue
        many = length if paired else 1
        _score_chain(
            features, tables, barriers, scale, first, length, keep, random, kept, node, edge[:many]
        )
        own, own_pairs = marginals[:length], pairs[:many]
        if tables.second.shape[0]:
            bounds[1] = length
            loss += _second_order(
                node[:length], edge[:many], tables.second.astype(np.float64), bounds,
                gold[first : first + length], allowed[first : first + length] if limited else
                allowed, local, own, own_pairs, triples,
            )  # fmt: skip
        elif local:
            own_pairs[:] = 0.0
            bounds[1] = length
            path = gold[first : first + length]
            loss += local_path(node[:length], edge[:many], bounds, path, own, own_pairs)
        else:
            loss += _one_chain(
                node[:length], edge[:many], psi[:length], peaks[:length], bounds, own, own_pairs,
                log_z,
            )  # fmt: skip
            if limited:
                for t in range(length):
                    for j in range(labels):
                        if not allowed[first + t, j]:
                            node[t, j] = -np.inf
                loss -= _one_chain(
                    node[:length], edge[:many], psi[:length], peaks[:length], bounds,
                    clamped[:length], clamped_pairs[:many], log_z,
                )  # fmt: skip
                own -= clamped[:length]
                own_pairs -= clamped_pairs[:many]
            else:
                for t in range(length):
                    y = gold[first + t]
                    loss -= node[t, y]
                    own[t, y] -= 1.0
                    if t > 0:
                        loss -= edge[t if many > 1 else 0, gold[first + t - 1], y]
                        own_pairs[t if many > 1 else 0, gold[first + t - 1], y] -= 1.0
        fall = 1.0 - rate * shrink
        scale *= fall
        factor = 1.0 / (keep[0] * keep[1])
        rates = (rate, rate / scale, factor, scale)
        if shrink > 0.0:
            tables.transitions[:] *= fall
            tables.start[:] *= fall
            tables.end[:] *= fall
            tables.second[:] *= fall
        long = counted and length > LONG
        if long:
            _count(features, first, length, kept, gold, counts, False)
        _descend(
            features, tables, support, squares, first, length, rates, kept,
            counts if long else none, own, own_pairs, triples,
        )  # fmt: skip
        if long:
            _count(features, first, length, kept, gold, counts, True)
        if not bounded:
            tables.start[:] = 0.0
            tables.end[:] = 0.0
        if scale < 1e-4:
            tables.state[:] *= scale
            tables.edges[:] *= scale
            scale = 1.0
    tables.state[:] *= scale
    tables.edges[:] *= scale
    return loss


@njit(nogil=True, cache=True)
def _push(positions, amounts, n, position, amount):
    """Note that a weight is to move."""
    positions[n] = position
    amounts[n] = amount
    return n + 1


@njit(nogil=True, cache=True)
def _difference(features, tables, first, length, gold, path, positions, amounts):
    """Features of the gold labels minus those of the path, as positions in the vector.

    The vector holds the tables in their order, one after the other.
    """
    split, labels = tables.state.shape
    at_pairs = split * labels
    at_start = at_pairs + labels * labels
    at_end = at_start + labels
    at_edges = at_end + labels
    at_second = at_edges + tables.edges.size
    weighted = features.values.shape[0] > 0
    unit_weighted = features.unit_values.shape[0] > 0
    edge_weighted = features.edge_values.shape[0] > 0
    n = 0
    for t in range(length):
        here = first + t
        right, wrong = gold[here], path[t]
        if right != wrong:
            for k in range(features.indptr[here], features.indptr[here + 1]):
                source = features.indices[k]
                v = features.values[k] if weighted else 1.0
                low, high = 0, 1
                if source >= split:
                    low = features.unit_indptr[source - split]
                    high = features.unit_indptr[source - split + 1]
                for u in range(low, high):
                    f = source if source < split else features.unit_indices[u]
                    w = v * features.unit_values[u] if source >= split and unit_weighted else v
                    n = _push(positions, amounts, n, f * labels + right, w)
                    n = _push(positions, amounts, n, f * labels + wrong, -w)
            if t == 0:
                n = _push(positions, amounts, n, at_start + right, 1.0)
                n = _push(positions, amounts, n, at_start + wrong, -1.0)
            if t == length - 1:
                n = _push(positions, amounts, n, at_end + right, 1.0)
                n = _push(positions, amounts, n, at_end + wrong, -1.0)
        right += (gold[here - 1] if t > 0 else labels) * labels
        wrong += (path[t - 1] if t > 0 else labels) * labels
        if right != wrong:
            if t > 0:
                n = _push(positions, amounts, n, at_pairs + right, 1.0)
                n = _push(positions, amounts, n, at_pairs + wrong, -1.0)
            for k in range(features.edge_indptr[here], features.edge_indptr[here + 1]):
                e = at_edges + features.edge_indices[k] * (labels + 1) * labels
                v = features.edge_values[k] if edge_weighted else 1.0
                n = _push(positions, amounts, n, e + right, v)
                n = _push(positions, amounts, n, e + wrong, -v)
        if tables.second.shape[0] and t > 0:
            right += (gold[here - 2] if t > 1 else labels) * labels * labels
            wrong += (path[t - 2] if t > 1 else labels) * labels * labels
            if right != wrong:
                n = _push(positions, amounts, n, at_second + right, 1.0)
                n = _push(positions, amounts, n, at_second + wrong, -1.0)
    return n


@njit(nogil=True, cache=True)
def _merge(positions, amounts, n, scratch):
    """Add up the amounts of equal positions; scratch [P] is zero before and after."""
    for k in range(n):
        scratch[positions[k]] += amounts[k]
    kept = 0
    for k in range(n):
        amount = scratch[positions[k]]
        if amount != 0.0:
            positions[kept] = positions[k]
            amounts[kept] = amount
            kept += 1
        scratch[positions[k]] = 0.0
    return kept


@njit(nogil=True, cache=True)
def margin_epoch(
    features, tables, vector, total, spread, scratch, fixed, barriers, offsets, order, gold,
    update, limit, seen, room,
):  # fmt: skip
    """One pass of updates on chains that the best path gets wrong; returns their number.

    The vector, of which the tables are views, moves by τ δ, δ = features of the gold path minus
    those of the best path. Perceptron: τ = 1. Passive-aggressive (PA-I): τ = min(limit, cost /
    ‖δ‖²) where cost = score(best) − score(gold) + √(wrong labels). AROW: with variances ``spread``
    [P] the step is cost / (δᵀ Σ δ + limit) · Σ δ, and Σ shrinks where δ moved. ``total`` gathers
    seen · step, so that vector − total / seen is the average over all chains (Daumé 2006).
    Positions from fixed[0] to below fixed[1] do not move.
    """
    labels = tables.state.shape[1]
    longest = 1
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    paired = tables.edges.shape[0] > 0
    node = np.empty((longest, labels))
    edge = np.empty((longest if paired else 1, labels, labels))
    path = np.empty(longest, np.int32)
    paths = np.empty((1, longest), np.int32)
    bounds = np.zeros(2, np.int64)
    best = np.empty(1)
    kept = np.empty(room, np.bool_)
    random = np.ones(1, np.uint64)
    positions = np.empty(2 * room + 4 * longest + 4, np.int64)
    amounts = np.empty(len(positions))
    mistakes = 0
    for o in range(order.shape[0]):
        c = order[o]
        first = offsets[c]
        length = offsets[c + 1] - first
        if length == 0:
            continue
        many = length if paired else 1
        _score_chain(
            features, tables, barriers, 1.0, first, length, (1.0, 1.0), random, kept, node,
            edge[:many],
        )  # fmt: skip
        bounds[1] = length
        if tables.second.shape[0]:
            own, own_edge = node[:length], edge[:many]
            second = tables.second.astype(np.float64)
            order2.nbest(own, own_edge, own, own_edge, second, False, 1, paths[:, :length], best)
            path[:length] = paths[0, :length]
        else:
            viterbi(node[:length], edge[:many], bounds, path[:length], best)
        wrong = 0
        right = 0.0
        for t in range(length):
            y = gold[first + t]
            wrong += path[t] != y
            right += node[t, y]
            if t > 0:
                right += edge[t if many > 1 else 0, gold[first + t - 1], y]
                if tables.second.shape[0]:
                    before = gold[first + t - 2] if t > 1 else labels
                    right += tables.second[before, gold[first + t - 1], y]
        count = float(seen + o)
        if wrong == 0:
            continue
        mistakes += 1
        n = _difference(features, tables, first, length, gold, path, positions, amounts)
        tau = 1.0
        if update != PERCEPTRON:
            n = _merge(positions, amounts, n, scratch)
            cost = best[0] - right + np.sqrt(wrong)
            size = 0.0
            for k in range(n):
                sigma = spread[positions[k]] if update == CONFIDENCE else 1.0
                size += amounts[k] * amounts[k] * sigma
            if update == PASSIVE_AGGRESSIVE:
                tau = min(limit, cost / max(size, 1e-300))
            else:
                tau = cost / (size + limit)
        for k in range(n):
            p = positions[k]
            if fixed[0] <= p < fixed[1]:
                continue
            step = tau * amounts[k]
            if update == CONFIDENCE:
                sigma = spread[p]
                step *= sigma
                spread[p] -= (sigma * amounts[k]) ** 2 / (size + limit)
            vector[p] += step
            total[p] += count * step
    return mistakes
