"""Features of edges that go with the labels of both ends: which pairs share weights, and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.chains.sums import FeatureSums, Residuals
from skipchain.corpus.schemes.labels import split
from skipchain.features.edge_template import TYPES
from skipchain.features.matrix import FeatureMatrix
from skipchain.kernels.mixture import expand_classes, sum_classes
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True, eq=False)
class LabelPairs:
    """The class of each pair of labels [parent's, child's]; pairs of one class share weights.

    >>> LabelPairs.of(["B-PER", "I-PER", "O"], "label").classes.tolist()
    [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    >>> LabelPairs.of(["B-PER", "I-PER", "O"], "type").classes.tolist()
    [[0, 0, 1], [0, 0, 1], [2, 2, 3]]
    """

    classes: Ints  # [L, L]

    @classmethod
    def of(cls, labels: Sequence[str], pairing: str) -> LabelPairs:
        """Each pair by itself, or by the types of labels; one without a type is its own."""
        # a label without a type is no type of the same name: O is not what B-O begins
        names = [(label, "") for label in labels]
        if pairing == TYPES:
            names = [("", kind) if (kind := split(label)[1]) else (label, "") for label in labels]
        kinds = list(dict.fromkeys(names))
        numbers = np.array([kinds.index(name) for name in names])
        return cls(numbers[:, None] * len(kinds) + numbers)

    @property
    def size(self) -> int:
        """The number of classes, K."""
        return int(self.classes.max(initial=-1)) + 1

    def names(self, labels: Sequence[str]) -> list[tuple[str, str]]:
        """The labels, parent's and child's, of each class: their types where it has several. [K]

        >>> labels = ["B-PER", "I-PER", "O"]
        >>> LabelPairs.of(labels, "type").names(labels)
        [('PER', 'PER'), ('PER', 'O'), ('O', 'PER'), ('O', 'O')]
        """

        def name(numbers: Ints) -> str:
            found = [labels[k] for k in np.unique(numbers)]
            return found[0] if len(found) == 1 else split(found[0])[1]

        ends = [np.nonzero(self.classes == k) for k in range(self.size)]
        return [(name(parents), name(children)) for parents, children in ends]

    def expand(self, scores: Floats, table: Floats, out: Floats) -> None:
        """Scores of classes as those of pairs, plus a table. [R, K], [L, L] → [R, L, L]"""
        expand_classes(scores, self.classes, table, out)

    def reduce(self, residuals: Floats, out: Floats) -> None:
        """The inverse for gradients: sums over the pairs of each class. [R, L, L] → [R, K]"""
        sum_classes(residuals, self.classes, out)


NO_PAIRS = LabelPairs(np.zeros((0, 0), np.int64))
"""For models whose edges have no features that go with two labels."""


class PairScorer:
    """Carries a parameter vector to the table [G, K] of an edge type, and gradients back.

    Only the weights of features and classes that occur together are parameters; with ``observed``
    False all are.
    """

    def __init__(
        self,
        rows: FeatureMatrix,
        size: int,
        gold: Labels,
        workers: Workers,
        *,
        observed: bool = True,
    ) -> None:
        self._workers = workers
        self._sums = FeatureSums.of(rows)
        self._table = np.zeros((rows.n_features, size))
        self._support: Ints = np.arange(self._table.size)
        if observed:
            known = (gold[:, None] == np.arange(size)).astype(np.float64)
            self._support = self._sums.unweighted().support(known, workers)

    @property
    def size(self) -> int:
        """The length of the parameter vector."""
        return len(self._support)

    @property
    def nbytes(self) -> int:
        """Bytes held for indexes and tables."""
        return self._sums.nbytes + self._table.nbytes + self._support.nbytes

    def unpack(self, vector: Floats) -> Floats:
        """The table of a parameter vector, in this scorer's memory. [G, K]"""
        self._table.reshape(-1)[self._support] = vector
        return self._table

    def pack(self, table: Floats) -> Floats:
        """The parameter vector of a table."""
        return np.asarray(table.ravel()[self._support])

    def gradient(self, residuals: Residuals) -> Floats:
        """The gradient in the vector, from that in the scores of rows. [R, K]"""
        return self._sums.at(self._support, residuals, self._workers)

    def curvature(self, residuals: Residuals) -> Floats:
        """A rough diagonal of the Hessian, from residuals as in `gradient`."""
        size = np.abs(residuals)
        variances = size * np.maximum(1.0 - size, 0.0)
        return self._sums.squared().at(self._support, variances, self._workers)
