"""What of a chain's features a step keeps, and the scores that they add up to.

Learners that walk from chain to chain decode a chain's features once, into a list of what dropout
leaves; scores are read from the list, and the step that follows goes down the same list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.kernel import kernel

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


class FeatureIndex(NamedTuple):
    """The two-level index of tokens' features and the index of label pairs' features.

    Entry k of a token is feature ``indices[k]`` where that is below F, else feature bundle
    ``indices[k] − F`` with all its features. ``values`` of length 0 means ones, and so do
    ``bundle_values``.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    bundle_indptr: NDArray[np.int64]
    bundle_indices: NDArray[np.int32]
    bundle_values: NDArray[np.float64]
    edge_indptr: NDArray[np.int64]
    edge_indices: NDArray[np.int32]
    edge_values: NDArray[np.float64]


class KeptFeatures(NamedTuple):
    """The features of chains, token after token; those of token t end before ``ends[t + 1]``.

    ``values`` of length 0 means ones.
    """

    ends: NDArray[np.int64]  # [T + 1]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]


@kernel
def draw_chains(features, split, offsets, order, keep, random, kept, kept_pairs):
    """`draw_features` of chains in this order, one after the other, and `draw_edge_features`."""
    place = 0
    for c in order:
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        draw_features(features, split, first, length, keep, random, kept, place)
        if kept_pairs.indices.shape[0] > 0:
            draw_edge_features(features, first, length, keep, random, kept_pairs, place)
        place += length


@kernel
def of_chain(kept, place, length):
    """The kept features of the chain whose first token comes at this place."""
    return KeptFeatures(kept.ends[place : place + length + 1], kept.indices, kept.values)


@kernel
def _bernoulli(state, keep):
    """The next state of Marsaglia's xorshift, and a draw that is true with probability ``keep``."""
    if keep >= 1.0:
        return state, True
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state, np.float64(state >> np.uint64(11)) * 2.0**-53 < keep


@kernel
def draw_features(features, split, first, length, keep, random, kept, place):
    """List the features of one chain that stay where others are left out at random.

    Each entry of a token (a feature or a whole bundle) stays with probability keep[1], and each
    feature of it with probability keep[0]. Entries from ``split`` on are bundles. random [1] is the
    state of the generator. The chain's tokens are ``kept`` from ``place`` on.
    """
    weighted, bundle_weighted = features.values.shape[0] > 0, features.bundle_values.shape[0] > 0
    listed = kept.values.shape[0] > 0
    state = random[0]
    n = kept.ends[place]
    for t in range(length):
        for k in range(features.indptr[first + t], features.indptr[first + t + 1]):
            state, on = _bernoulli(state, keep[1])
            if not on:
                continue
            source = features.indices[k]
            v = features.values[k] if weighted else 1.0
            if source < split:
                kept.indices[n] = source
                if listed:
                    kept.values[n] = v
                state, on = _bernoulli(state, keep[0])
                n += on  # what is not kept is written over: a branch here is guessed wrong half
                continue  # of the time
            u = source - split
            for b in range(features.bundle_indptr[u], features.bundle_indptr[u + 1]):
                kept.indices[n] = features.bundle_indices[b]
                if listed:
                    kept.values[n] = v * features.bundle_values[b] if bundle_weighted else v
                state, on = _bernoulli(state, keep[0])
                n += on
        kept.ends[place + t + 1] = n
    random[0] = state


@kernel
def draw_edge_features(features, first, length, keep, random, kept, place):
    """`draw_features` of what goes with pairs of labels, which has no bundles."""
    weighted = features.edge_values.shape[0] > 0
    state = random[0]
    n = kept.ends[place]
    for t in range(length):
        for k in range(features.edge_indptr[first + t], features.edge_indptr[first + t + 1]):
            kept.indices[n] = features.edge_indices[k]
            if weighted:
                kept.values[n] = features.edge_values[k]
            state, on = _bernoulli(state, keep[1])
            if on:
                state, on = _bernoulli(state, keep[0])
            n += on
        kept.ends[place + t + 1] = n
    random[0] = state


@kernel
def score_tokens(kept, state, factor, length, node):
    """node [T, L]: ``factor`` times the summed weight rows of the features of each token."""
    labels = state.shape[1]
    for t in range(length):
        sum_rows(kept.indices, kept.values, kept.ends[t], kept.ends[t + 1], state, node[t])
        for j in range(labels):
            node[t, j] *= factor


@kernel
def sum_rows(indices, values, low, high, table, out):
    """out [L]: the sum of the rows of a table that entries ``low … high − 1`` name.

    Four columns at a time are summed in registers, the last four of them from L − 4 on.
    """
    width = table.shape[1]
    if width < 4:
        for j in range(width):
            total = 0.0
            for k in range(low, high):
                total += _value(values, k) * table[indices[k], j]
            out[j] = total
        return
    for start in range(0, width, 4):
        column = np.uint64(min(start, width - 4))  # without a sign, which each access would look at
        a = b = c = d = 0.0
        if values.shape[0] > 0:
            for k in range(low, high):
                r, v = np.uint64(indices[k]), values[k]
                a += v * table[r, column]
                b += v * table[r, column + ONE]
                c += v * table[r, column + TWO]
                d += v * table[r, column + THREE]
        else:
            for k in range(low, high):
                r = np.uint64(indices[k])
                a += table[r, column]
                b += table[r, column + ONE]
                c += table[r, column + TWO]
                d += table[r, column + THREE]
        out[column], out[column + ONE], out[column + TWO], out[column + THREE] = a, b, c, d


@kernel
def _value(values, k):
    return values[k] if values.shape[0] > 0 else 1.0


@kernel
def score_pairs(kept, tables, masks, candidates, factor, first, length, node, edge):
    """Add what goes with the ends of a chain, with pairs of labels and with candidates.

    node [T, L]; edge [T, L, L], or [1, L, L] where no feature goes with pairs, is written. Labels
    that are no ``candidates`` [N, L] of their token score −∞; with [0, L] all are.
    """
    labels = tables.state.shape[1]
    for j in range(labels):
        node[0, j] += tables.start[j] + masks.start[j]
        node[length - 1, j] += tables.end[j] + masks.end[j]
    for t in range(edge.shape[0] if edge.shape[0] == 1 else length):
        for i in range(labels):
            for j in range(labels):
                edge[t, i, j] = tables.transitions[i, j] + masks.pairs[i, j]
    if tables.edges.shape[0] > 0:
        for t in range(length):
            for k in range(kept.ends[t], kept.ends[t + 1]):
                g, v = kept.indices[k], factor * _value(kept.values, k)
                if t == 0:
                    for j in range(labels):
                        node[0, j] += v * tables.edges[g, labels * labels + j]
                else:
                    for i in range(labels):
                        for j in range(labels):
                            edge[t, i, j] += v * tables.edges[g, i * labels + j]
    if candidates.shape[0] > 0:
        for t in range(length):
            for j in range(labels):
                if not candidates[first + t, j]:
                    node[t, j] = -np.inf
