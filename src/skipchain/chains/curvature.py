"""Second derivatives of the likelihood of locally normalised chains."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, diags, hstack, issparse

from skipchain.arrays import Floats, Ints, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import LinearScorer, Weights, block_potentials
from skipchain.chains.sums import sum_bundles
from skipchain.features.matrix import NO_VALUES
from skipchain.parallel import Workers

DENSE = 0.1  # the share of cells that are not zero from which on a table is kept as a whole


class LocalHessian:
    """The second derivatives of −log p(labels | input) + l2 · Σ w², as a function of the vector w.

    Given the gold label before it, a position of a locally normalised chain is a classifier whose
    input x_t says everything: features, the label before, first and last place, and features that
    go with the label before. All tables of weights stacked are its weights [D, L], and

        ∂² / ∂w[d, j] ∂w[e, k] = Σ_t x_t[d] x_t[e] p_t(j) ([j = k] − p_t(k)) + 2 · l2 · [same].

    The labels must be known.
    """

    def __init__(
        self, data: Dataset, scorer: LinearScorer, workers: Workers, *, l2: float = 0.0
    ) -> None:
        self._data = data
        self._scorer = scorer
        self._workers = workers
        self._l2 = l2
        labels = scorer.n_labels
        inputs = classifier_inputs(data, labels, scorer.order)
        if inputs.nnz > DENSE * inputs.shape[0] * inputs.shape[1]:
            inputs = inputs.toarray()
        sizes = (data.rows.n_features, data.rows.n_edge_features, labels, scorer.order)
        every = np.arange(inputs.shape[1] * labels, dtype=np.float64)
        rows, columns = np.divmod(scorer.pack(Weights.views(every, *sizes)).astype(int), labels)
        self._inputs = inputs
        self._places = [np.flatnonzero(columns == j) for j in range(labels)]
        self._rows = [rows[place] for place in self._places]

    def __call__(self, vector: Floats) -> Floats:
        """The table of second derivatives. [P, P]"""
        p = self._probabilities(vector)
        out = np.zeros((len(vector), len(vector)))
        for j, place in enumerate(self._places):
            for k, other in enumerate(self._places[: j + 1]):
                weighted = diags(p[:, j] * (float(j == k) - p[:, k])) @ self._inputs
                whole: Any = self._inputs.T @ weighted
                table = whole.toarray() if issparse(whole) else whole
                block = table[np.ix_(self._rows[j], self._rows[k])]
                out[np.ix_(place, other)] = block
                out[np.ix_(other, place)] = block.T
        out[np.diag_indices_from(out)] += 2.0 * self._l2
        return out

    def _probabilities(self, vector: Floats) -> Floats:
        """Of every label, given the gold labels before. [N, L]"""
        gold = self._data.labels
        assert gold is not None
        weights = self._scorer.unpack(vector)
        bundle_sums = sum_bundles(self._data.rows, weights.state, self._workers)
        scores = np.empty((self._data.n_tokens, weights.n_labels))
        for block in self._data.blocks():
            p = block_potentials(self._data, weights, bundle_sums, block)
            before, second = labels_before(gold[p.tokens], p.offsets, weights.n_labels)
            follows = np.flatnonzero(before < weights.n_labels)
            edge = p.edge[follows if len(p.edge) > 1 else np.zeros_like(follows), before[follows]]
            node = p.node.copy()
            node[follows] += edge
            if weights.order >= 2:
                node[follows] += weights.triples[second[follows], before[follows]]
            scores[p.tokens] = node
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
        return scores


def classifier_inputs(data: Dataset, n_labels: int, order: int) -> Any:
    """What the classifier of each position sees, a sparse table. [N, D]

    Its columns are the rows of all tables of `Weights`, stacked.
    """
    assert data.labels is not None
    rows = data.rows
    expanded, edges = rows.expanded(), rows.edges
    filled = np.diff(data.offsets) > 0
    heads, tails = data.offsets[:-1][filled], data.offsets[1:][filled] - 1
    before, second = labels_before(data.labels, data.offsets, n_labels)
    follows = np.flatnonzero(before < n_labels)
    places = n_labels + 1
    pairs = edges.indices * np.int64(places) + before[edges.row_ids]

    def table(tokens: Ints, columns: Ints, width: int, values: Floats = NO_VALUES) -> Any:
        cells = (tokens, columns)
        numbers = values if len(values) else np.ones(len(tokens))
        return coo_array((numbers, cells), (data.n_tokens, width))

    parts = [
        table(
            expanded.row_ids, expanded.indices.astype(np.int64), rows.n_features, expanded.values
        ),
        table(follows, before[follows], n_labels),
        table(heads, np.zeros_like(heads), 1),
        table(tails, np.zeros_like(tails), 1),
        table(edges.row_ids, pairs, rows.n_edge_features * places, edges.values),
    ]
    if order >= 2:
        before_that = second[follows] * n_labels + before[follows]
        parts.append(table(follows, before_that, places * n_labels))
    return hstack(parts, format="csc")


def labels_before(labels: Labels, offsets: Ints, n_labels: int) -> tuple[Ints, Ints]:
    """The label before each token, and the one before that; L before the chain begins. [N], [N]

    >>> [labels.tolist() for labels in labels_before(np.array([1, 0, 1]), np.array([0, 2, 3]), 5)]
    [[5, 1, 5], [5, 5, 5]]
    """
    place = np.arange(len(labels)) - np.repeat(offsets[:-1], np.diff(offsets))
    before, second = np.roll(labels, 1).astype(np.int64), np.roll(labels, 2).astype(np.int64)
    before[place < 1] = n_labels
    second[place < 2] = n_labels
    return before, second
