"""Margin updates: where the best path of a chain is wrong, weights move towards the gold one."""

from __future__ import annotations

import numpy as np

from skipchain.kernels import chain2 as order2
from skipchain.kernels.chain import _longest, viterbi
from skipchain.kernels.kept_features import KeptFeatures, score_pairs, score_tokens
from skipchain.kernels.kernel import kernel

PERCEPTRON, PASSIVE_AGGRESSIVE, AROW = 0, 1, 2
WIDE = 8  # labels whose scores are added up together


@kernel
def _score_tokens(kept, state, length, node):
    """`score_tokens`, without values in single precision: a perceptron's weights are whole numbers.

    What takes the time is waiting for rows of weights, so each row is read once for eight labels;
    the last eight are those from L − 8 on.
    """
    labels = state.shape[1]
    if labels < WIDE or kept.values.shape[0] > 0:
        score_tokens(kept, state, 1.0, length, node)
        return
    zero = np.float32(0.0)
    for t in range(length):
        for start in range(0, labels, WIDE):
            j = min(start, labels - WIDE)
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = zero
            for k in range(kept.ends[t], kept.ends[t + 1]):
                r = kept.indices[k]
                s0 += state[r, j]
                s1 += state[r, j + 1]
                s2 += state[r, j + 2]
                s3 += state[r, j + 3]
                s4 += state[r, j + 4]
                s5 += state[r, j + 5]
                s6 += state[r, j + 6]
                s7 += state[r, j + 7]
            node[t, j], node[t, j + 1], node[t, j + 2], node[t, j + 3] = s0, s1, s2, s3
            node[t, j + 4], node[t, j + 5], node[t, j + 6], node[t, j + 7] = s4, s5, s6, s7


@kernel
def _push(positions, amounts, n, position, amount):
    """Note that a weight is to move."""
    positions[n] = position
    amounts[n] = amount
    return n + 1


@kernel
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
    weighted, bundle_weighted = features.values.shape[0] > 0, features.bundle_values.shape[0] > 0
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
                    low = features.bundle_indptr[source - split]
                    high = features.bundle_indptr[source - split + 1]
                for u in range(low, high):
                    f = source if source < split else features.bundle_indices[u]
                    w = v * features.bundle_values[u] if source >= split and bundle_weighted else v
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
        if tables.triples.shape[0] and t > 0:
            right += (gold[here - 2] if t > 1 else labels) * labels * labels
            wrong += (path[t - 2] if t > 1 else labels) * labels * labels
            if right != wrong:
                n = _push(positions, amounts, n, at_second + right, 1.0)
                n = _push(positions, amounts, n, at_second + wrong, -1.0)
    return n


@kernel
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


@kernel
def margin_epoch(
    features, tables, second, vector, total, spread, scratch, fixed, masks, candidates, offsets,
    order, gold, update, limit, seen, room
):  # fmt: skip
    """One pass of updates on chains that the best path gets wrong; returns their number.

    The vector, of which the tables are views, moves by τ δ, δ = features of the gold path minus
    those of the best path. Perceptron: τ = 1. Passive-aggressive (PA-I): τ = min(limit, cost /
    ‖δ‖²) where cost = score(best) − score(gold) + √(wrong labels). AROW: with variances ``spread``
    [P] the step is cost / (δᵀ Σ δ + limit) · Σ δ, and Σ shrinks where δ moved. ``total`` gathers
    seen · step, so that vector − total / seen is the average over all chains (Daumé 2006).
    Positions from fixed[0] to below fixed[1] do not move. The features are expanded.
    ``second`` is as in `skipchain.kernels.sgd.likelihood_steps`.
    """
    labels = tables.state.shape[1]
    longest = _longest(offsets)
    paired = tables.edges.shape[0] > 0
    node = np.empty((longest, labels))
    edge = np.empty((longest if paired else 1, labels, labels))
    path, paths = np.empty(longest, np.int32), np.empty((1, longest), np.int32)
    bounds, best = np.zeros(2, np.int64), np.empty(1)
    positions = np.empty(2 * room + 4 * longest + 4, np.int64)
    amounts = np.empty(len(positions))
    mistakes = 0
    for o in range(order.shape[0]):
        c = order[o]
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        if length == 0:
            continue
        many = length if paired else 1
        last = first + length + 1
        kept = KeptFeatures(features.indptr[first:last], features.indices, features.values)
        kept_pairs = KeptFeatures(
            features.edge_indptr[first:last], features.edge_indices, features.edge_values
        )
        _score_tokens(kept, tables.state, length, node)
        score_pairs(kept_pairs, tables, masks, candidates, 1.0, first, length, node, edge[:many])
        bounds[1] = length
        nodes, edges = node[:length], edge[:many]
        if second is not None:
            top = paths[:, :length]
            order2.nbest(nodes, edges, nodes, edges, second, False, 1, top, best)
            path[:length] = paths[0, :length]
        else:
            viterbi(nodes, edges, bounds, path[:length], best)
        wrong, right = 0, 0.0
        for t in range(length):
            y = gold[first + t]
            wrong += path[t] != y
            right += node[t, y]
            if t > 0:
                right += edge[t if many > 1 else 0, gold[first + t - 1], y]
                if second is not None:
                    before = gold[first + t - 2] if t > 1 else labels
                    right += second[before, gold[first + t - 1], y]
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
                sigma = spread[positions[k]] if update == AROW else 1.0
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
            if update == AROW:
                sigma = spread[p]
                step *= sigma
                spread[p] -= (sigma * amounts[k]) ** 2 / (size + limit)
            vector[p] += step
            total[p] += count * step
    return mistakes
