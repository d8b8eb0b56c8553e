"""What iterative scaling knows of the data: how often features occur, and how many at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.curvature import classifier_inputs
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.errors import FeatureError


@dataclass(frozen=True, slots=True)
class FeatureCounts:
    """Sums of the features of a locally normalised chain, whose positions are the events.

    A feature is an input of a position's classifier together with a label, where training shows the
    two together: f(x_t, y) = x_t[d] · [y = j].
    """

    counts: Floats
    """Ẽ: sums over the positions with their gold labels; 0 is no feature. [P]"""
    largest_sum: float
    """C: the largest sum of all features of a position and a label."""
    events: int
    """N, the number of positions."""

    @classmethod
    def of(cls, data: Dataset, scorer: LinearScorer) -> FeatureCounts:
        """The counts of encoded chains; values below zero are refused."""
        assert data.labels is not None
        labels = scorer.n_labels
        inputs = classifier_inputs(data, labels, scorer.order)  # [N, D]
        if inputs.nnz and inputs.min() < 0.0:
            negative = inputs.tocoo()
            first = int(np.argmax(negative.data < 0.0))
            raise FeatureError(
                f"token {negative.row[first]}: feature value {negative.data[first]:g} is below 0, "
                "and solver='gis' scales values of at least 0 (value(…) centres, value(…, "
                "raw) does not); give others, or use solver='lbfgs'"
            )
        gold = (data.labels[:, None] == np.arange(labels)).astype(np.float64)
        table = inputs.T @ gold  # [D, L]
        sizes = (data.rows.n_features, data.rows.n_edge_features, labels, scorer.order)
        counts = scorer.pack(Weights.views(table.ravel(), *sizes))
        # boundaries may have no weights: what the vector lacks is no feature
        tables = scorer.weights((counts > 0.0).astype(np.float64)).vector
        sums = inputs @ tables.reshape(table.shape)  # [N, L]
        return cls(counts, float(sums.max(initial=0.0)), data.n_tokens)
