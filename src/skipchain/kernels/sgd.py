"""Stochastic steps of likelihood.

The chains are walked over in a given order; one is scored with the weights as they are, and the
weights of its features change at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels import chain2 as order2
from skipchain.kernels.chain import _row_peaks, _scaled_passes, local_path, subtract_path
from skipchain.kernels.kept_features import of_chain, score_pairs, score_tokens
from skipchain.kernels.kernel import kernel

LONG_CHAIN = 128  # tokens; in longer chains steps of what occurs all the time would lead too far
FULL_STEP_COUNT = 32  # occurrences of a feature in a long chain that count in full


class WeightTables(NamedTuple):
    """Weights, single or double precision, as views into one vector."""

    state: NDArray[Any]  # [F, L]
    transitions: NDArray[Any]  # [L, L]
    start: NDArray[Any]  # [L]
    end: NDArray[Any]  # [L]
    edges: NDArray[Any]  # [G, (L + 1) · L]
    triples: NDArray[Any]  # [L + 1, L, L], or [0, L, L] for chains of order 1

    @property
    def second(self) -> NDArray[Any] | None:
        """The triples; None for chains of order 1."""
        return self.triples if len(self.triples) else None


class LogMasks(NamedTuple):
    """0 for what is allowed, −∞ for what is not."""

    pairs: NDArray[np.float64]  # [L, L]
    start: NDArray[np.float64]  # [L]
    end: NDArray[np.float64]  # [L]


class OccurrenceCounts(NamedTuple):
    """How often features and labels occur in one long chain; of length 0 for other chains."""

    state: NDArray[np.float64]  # [F], Σ value²
    edges: NDArray[np.float64]  # [G], Σ value²
    labels: NDArray[np.float64]  # [L]


# Loops, where an assignment to a slice would have numba compile what can go wrong with shapes.


@kernel
def _clear(pairs):
    """Set tables of pairs to 0."""
    for t in range(pairs.shape[0]):
        for i in range(pairs.shape[1]):
            for j in range(pairs.shape[2]):
                pairs[t, i, j] = 0.0


@kernel
def _scale_rows(table, factor):
    """Multiply a table by a number."""
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] *= factor


@kernel
def _subtract(residuals, pairs, known, known_pairs):
    """Take clamped marginals off."""
    for t in range(residuals.shape[0]):
        for j in range(residuals.shape[1]):
            residuals[t, j] -= known[t, j]
    for t in range(pairs.shape[0]):
        for i in range(pairs.shape[1]):
            for j in range(pairs.shape[2]):
                pairs[t, i, j] -= known_pairs[t, i, j]


@kernel
def _one_chain(node, edge, scratch, bounds, marginals, pairs, log_z):
    """`forward_backward` of one chain, from compiled code; scratch is psi [T, L], peaks [T]."""
    psi, peaks = scratch
    _row_peaks(node, peaks)
    for t in range(node.shape[0]):
        for j in range(node.shape[1]):
            psi[t, j] = np.exp(node[t, j] - peaks[t])
    bounds[1] = node.shape[0]
    _clear(pairs)
    _scaled_passes(node, edge, bounds, peaks, psi, marginals, pairs, log_z)
    return log_z[0]


@kernel
def _count_occurrences(kept, kept_pairs, gold, tally, clear):
    """Count the kept features and the labels of one chain, or with ``clear`` forget them again."""
    for t in range(gold.shape[0]):
        for i in range(tally.labels.shape[0]):
            known = gold[t] < 0 or gold[t] == i
            tally.labels[i] = 0.0 if clear else tally.labels[i] + known
    for listed, counts in ((kept, tally.state), (kept_pairs, tally.edges)):
        for k in range(listed.ends[0], listed.ends[gold.shape[0]]):
            f, v = listed.indices[k], listed.values[k] if listed.values.shape[0] else 1.0
            counts[f] = 0.0 if clear else counts[f] + v * v


@kernel
def _pair_rates(rate, tally, labels):
    """The rate of pairs and triples by their label before: lower where it occurs often. [L]"""
    rates = np.full(labels, rate)
    for i in range(tally.labels.shape[0]):
        rates[i] /= max(1.0, tally.labels[i] / LONG_CHAIN)
    return rates


@kernel
def _sgd_step(
    kept, kept_pairs, tables, support, squares, length, rates, pair_rates, tally, node, pairs
):
    """One step down: weights minus rate · residual · value, for every feature that was kept.

    rates = (for the small tables, for the tables of features, the factor by which kept features
    count more, what AdaGrad's rate is divided by). With ``squares`` of the tables' shape the step
    is AdaGrad's; a ``support`` of the tables' shape says which weights may move. With a ``tally``
    what occurs often takes a step as if it occurred less often.
    """
    labels = tables.state.shape[1]
    small, large, factor, scale = rates
    adaptive = squares.state.shape[0] > 0
    masked = support.shape[0] > 0
    weighted, pairs_weighted = kept.values.shape[0] > 0, kept_pairs.values.shape[0] > 0
    long = tally.labels.shape[0] > 0
    row = np.empty(labels)
    for t in range(length):
        for j in range(labels):
            row[j] = node[t, j] * factor
        for k in range(kept.ends[t], kept.ends[t + 1]):
            f = kept.indices[k]
            w = kept.values[k] if weighted else 1.0
            if long:
                w /= max(1.0, tally.state[f] / FULL_STEP_COUNT)
            if adaptive:
                for j in range(labels):
                    if not masked or support[f, j]:
                        g = w * row[j]
                        squares.state[f, j] += g * g
                        size = np.sqrt(squares.state[f, j]) + 1e-8
                        tables.state[f, j] -= small * g / size / scale
            elif masked:
                for j in range(labels):
                    tables.state[f, j] -= large * w * row[j] * support[f, j]
            else:
                for j in range(labels):
                    tables.state[f, j] -= large * w * row[j]
    listed = pairs.shape[0] > 1
    for t in range(1, length if listed else 2):
        pair_residuals = pairs[t] if listed else pairs[0]
        for i in range(labels):
            for j in range(labels):
                g = pair_residuals[i, j]
                if adaptive:
                    squares.transitions[i, j] += g * g
                    g /= np.sqrt(squares.transitions[i, j]) + 1e-8
                tables.transitions[i, j] -= pair_rates[i] * g
    if tables.edges.shape[0] > 0:
        for t in range(length):
            for k in range(kept_pairs.ends[t], kept_pairs.ends[t + 1]):
                e = kept_pairs.indices[k]
                v = kept_pairs.values[k] if pairs_weighted else 1.0
                if long:
                    v /= max(1.0, tally.edges[e] / FULL_STEP_COUNT)
                for i in range(0 if t > 0 else labels, labels if t > 0 else labels + 1):
                    for j in range(labels):
                        g = v * factor * (pairs[t, i, j] if t > 0 else node[0, j])
                        if adaptive:
                            squares.edges[e, i * labels + j] += g * g
                            g *= small / (np.sqrt(squares.edges[e, i * labels + j]) + 1e-8) / scale
                        else:
                            g *= large
                        tables.edges[e, i * labels + j] -= g
    ends = ((tables.start, squares.start, 0), (tables.end, squares.end, length - 1))
    for table, square, t in ends:
        for j in range(labels):
            g = node[t, j]
            if adaptive:
                square[j] += g * g
                g /= np.sqrt(square[j]) + 1e-8
            table[j] -= small * g


@kernel
def _sgd_step_triples(tables, squares, rows, counts, length, rates, triples):
    """The step of the triples' weights; ``triples`` are zero afterwards.

    ``rows`` and ``counts`` list the labels that each position can have, as `order2.list_labels`
    does: where these are few, only a small part of the table has moved.
    """
    size = triples.shape[0]
    pairs = 0
    for t in range(1, length):
        pairs += counts[t - 1] * counts[t]
    if pairs >= size * (size - 1):
        for h in range(size):
            for i in range(size - 1):
                _sgd_step_row(tables, squares, h, i, rates[i], triples[h, i])
        return
    for t in range(1, length):
        for h in rows[t - 1, : counts[t - 1]]:
            for i in rows[t, : counts[t]]:
                _sgd_step_row(tables, squares, h, i, rates[i], triples[h, i])


@kernel
def _sgd_step_row(tables, squares, h, i, rate, row):
    """The step of the weights [h, i, ·]."""
    weights = tables.triples[h, i]
    if squares.triples.shape[0] > 0:
        for j in range(row.shape[0]):
            g = row[j]
            squares.triples[h, i, j] += g * g
            weights[j] -= rate * g / (np.sqrt(squares.triples[h, i, j]) + 1e-8)
            row[j] = 0.0
    else:
        for j in range(row.shape[0]):
            weights[j] -= rate * row[j]
            row[j] = 0.0


@kernel
def _second_order(node, edge, second, bounds, gold, allowed, local, residuals, pairs, triples):
    """Loss of one chain of order 2, and its gradient in potentials; triples are zero before."""
    length, labels = node.shape
    pairs[:] = 0.0
    if local:
        return order2.local_path(node, edge, second, bounds, gold, residuals, pairs, triples)
    log_z = np.empty(1)
    order2.forward_backward(
        node, edge, node, edge, second, bounds, False, residuals, pairs, triples, log_z
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
            log_z
        )  # fmt: skip
        residuals -= known
        pairs -= known_pairs
        triples -= known_triples
    else:
        order2.path_score(node, edge, second, bounds, gold, log_z)
        subtract_path(bounds, gold, residuals, pairs)
        order2.subtract_path(bounds, gold, triples)
    return loss - log_z[0]


@kernel
def likelihood_steps(
    drawn, drawn_pairs, tables, second, squares, support, masks, candidates, offsets, order, gold,
    allowed, local, bounded, rate, shrink, keep, progress, last
):  # fmt: skip
    """Stochastic steps on −log p(labels | input), chain by chain, in this order.

    ``drawn`` are the features of these chains as `draw_chains` lists them. The gradient in the
    potentials is marginals(free) − marginals(clamped); with ``allowed`` [N, L] the clamped term
    sums over all allowed paths, else it is the gold path. With ``local`` each position is
    normalised given the gold label before it. Every step multiplies the weights by
    1 − rate · shrink; for those of features this is done by one common factor, which is progress[0]
    until the ``last`` steps of a pass have been taken. The loss is added to progress[1].
    ``second`` are the tables' triples, or None for chains of order 1, which then compile nothing of
    order 2.
    """
    labels = tables.state.shape[1]
    longest = 1
    for c in order:
        longest = max(longest, offsets[c + 1] - offsets[c])
    paired = tables.edges.shape[0] > 0
    node = np.empty((longest, labels))
    edge = np.empty((longest if paired else 1, labels, labels))
    psi, peaks = np.empty((longest, labels)), np.empty(longest)
    marginals = np.empty((longest, labels))
    pairs = np.empty((longest if paired else 1, labels, labels))
    limited = allowed.shape[0] > 0
    clamped = np.empty((longest if limited else 0, labels))
    clamped_pairs = np.empty((pairs.shape[0] if limited else 0, labels, labels))
    triples, rows = np.zeros(tables.triples.shape), np.empty((longest + 1, labels), np.int64)
    counts, bounds = np.ones(longest + 1, np.int64), np.zeros(2, np.int64)
    log_z = np.empty(1)
    counted = longest > LONG_CHAIN and squares.state.shape[0] == 0  # AdaGrad sees to it by itself
    none = OccurrenceCounts(np.zeros(0), np.zeros(0), np.zeros(0))
    tally = none
    if counted:
        tally = OccurrenceCounts(
            np.zeros(tables.state.shape[0]), np.zeros(tables.edges.shape[0]), np.zeros(labels)
        )
    scale, loss, place = progress[0], progress[1], 0
    for c in order:
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        if length == 0:
            continue
        many = length if paired else 1
        factor = 1.0 / (keep[0] * keep[1])
        kept, kept_pairs = of_chain(drawn, place, length), of_chain(drawn_pairs, place, length)
        place += length
        score_tokens(kept, tables.state, scale / (keep[0] * keep[1]), length, node)
        score_pairs(
            kept_pairs, tables, masks, candidates, scale / (keep[0] * keep[1]), first, length, node,
            edge[:many]
        )  # fmt: skip
        nodes, edges = node[:length], edge[:many]
        residuals, pair_residuals = marginals[:length], pairs[:many]
        path = gold[first : first + length]
        if second is not None:
            bounds[1] = length
            limits = allowed[first : first + length] if limited else allowed
            loss += _second_order(
                nodes, edges, second, bounds, path, limits, local, residuals,
                pair_residuals, triples
            )  # fmt: skip
            if local:  # only what follows the gold labels has moved
                rows[0, 0] = labels
                rows[1 : length + 1, 0] = path
            else:
                order2.list_labels(node, 0, length, rows, counts)
        elif local:
            _clear(pair_residuals)
            bounds[1] = length
            loss += local_path(nodes, edges, bounds, path, residuals, pair_residuals)
        else:
            scratch = (psi[:length], peaks[:length])
            loss += _one_chain(nodes, edges, scratch, bounds, residuals, pair_residuals, log_z)
            if limited:
                for t in range(length):
                    for j in range(labels):
                        if not allowed[first + t, j]:
                            node[t, j] = -np.inf
                known, known_pairs = clamped[:length], clamped_pairs[:many]
                loss -= _one_chain(nodes, edges, scratch, bounds, known, known_pairs, log_z)
                _subtract(residuals, pair_residuals, known, known_pairs)
            else:
                for t in range(length):
                    y = gold[first + t]
                    loss -= node[t, y]
                    residuals[t, y] -= 1.0
                    if t > 0:
                        loss -= edge[t if many > 1 else 0, gold[first + t - 1], y]
                        pair_residuals[t if many > 1 else 0, gold[first + t - 1], y] -= 1.0
        fall = 1.0 - rate * shrink
        scale *= fall
        rates = (rate, rate / scale, factor, scale)
        if shrink > 0.0:
            for i in range(labels):
                tables.start[i] *= fall
                tables.end[i] *= fall
            _scale_rows(tables.transitions, fall)
            if second is not None:
                for i in range(labels + 1):
                    _scale_rows(second[i], fall)
        long = counted and length > LONG_CHAIN
        if long:
            _count_occurrences(kept, kept_pairs, path, tally, False)
        seen = tally if long else none
        pair_rates = _pair_rates(rate, seen, labels)
        _sgd_step(
            kept, kept_pairs, tables, support, squares, length, rates, pair_rates, seen, residuals,
            pair_residuals
        )  # fmt: skip
        if second is not None:
            _sgd_step_triples(tables, squares, rows, counts, length, pair_rates, triples)
        if long:
            _count_occurrences(kept, kept_pairs, path, tally, True)
        if not bounded:
            for i in range(labels):
                tables.start[i] = 0.0
                tables.end[i] = 0.0
        if scale < 1e-4:
            _scale_rows(tables.state, scale)
            _scale_rows(tables.edges, scale)
            scale = 1.0
    if last:
        _scale_rows(tables.state, scale)
        _scale_rows(tables.edges, scale)
        scale = 1.0
    progress[0], progress[1] = scale, loss
