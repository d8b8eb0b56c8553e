"""Scores of tokens from one table of weights, and its gradient."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.scorer import feature_sums, sum_bundles, sum_rows, transposed
from skipchain.features.matrix import FeatureMatrix
from skipchain.parallel import Workers


class TableScorer:
    """Sums of the rows of a table [F, W] that tokens' features choose, and back.

    >>> from skipchain.features.matrix import CSRMatrix
    >>> features = CSRMatrix(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32))
    >>> scorer = TableScorer(FeatureMatrix(features, CSRMatrix.empty(0), CSRMatrix.empty(2), 2))
    >>> with Workers(1) as workers:
    ...     scorer.scores(np.array([[1.0], [2.0]]), workers)
    ...     scorer.gradient(np.array([[1.0], [10.0]]), workers)
    array([[3.],
           [2.]])
    array([[ 1.],
           [11.]])
    """

    def __init__(self, rows: FeatureMatrix) -> None:
        self.rows = rows
        self._by_row = transposed(rows.tokens, rows.n_features + rows.bundles.n_rows)
        self._by_bundle = transposed(rows.bundles, rows.n_features)

    def scores(self, table: Floats, workers: Workers) -> Floats:
        """The scores of all tokens. [N, W]"""
        return table_scores(self.rows, table, workers)

    def gradient(self, residuals: Floats, workers: Workers) -> Floats:
        """The gradient in the table, from that in the scores. [F, W]"""
        out = np.empty((self._by_row.n_rows, residuals.shape[1]))
        return feature_sums(self._by_row, self._by_bundle, residuals, out, workers)


def table_scores(rows: FeatureMatrix, table: Floats, workers: Workers) -> Floats:
    """The sums of the rows of a table that tokens' features choose. [N, W]"""
    scores = np.empty((rows.tokens.n_rows, table.shape[1]))
    sum_rows(rows.tokens, table, scores, workers, more=sum_bundles(rows, table, workers))
    return scores
