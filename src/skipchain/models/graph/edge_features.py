"""The features of edges: those of the token at one end, and those of the token at the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Ints, Labels, offsets_of
from skipchain.features.matrix import NO_VALUES, CSRMatrix, FeatureMatrix


@dataclass(frozen=True, slots=True, eq=False)
class EdgeFeatures:
    """Which features of tokens are features of edges, by the end at which they stand.

    Feature k of an edge is feature ``child[k]`` of its child; after these come the features
    ``parent`` of its parent. Both lists are sorted.

    >>> tokens = CSRMatrix(np.arange(4), np.array([2, 0, 1], np.int32))
    >>> rows = FeatureMatrix(tokens, CSRMatrix.empty(0),
    ...             CSRMatrix.empty(3), 3)
    >>> ends = EdgeFeatures.fit(rows, np.array([1, 2]), np.array([0, 0]))
    >>> ends.child, ends.parent
    (array([0, 1], dtype=int32), array([2], dtype=int32))
    >>> ends.encode(rows, np.array([2]), np.array([0])).expanded().indices
    array([1, 2], dtype=int32)
    """

    child: Labels
    parent: Labels

    @classmethod
    def fit(cls, rows: FeatureMatrix, children: Ints, parents: Ints) -> EdgeFeatures:
        """The features of the tokens that stand at the ends of edges."""
        tokens = (rows.take(np.unique(ends)) for ends in (children, parents))
        return cls(*(np.unique(some.expanded().indices) for some in tokens))

    @property
    def n_features(self) -> int:
        """How many features edges have."""
        return len(self.child) + len(self.parent)

    def encode(self, rows: FeatureMatrix, children: Ints, parents: Ints) -> FeatureMatrix:
        """The features of edges, from those of all tokens.

        A token's features are one feature bundle at each end, so that they are summed once however
        many edges it has.
        """
        bundles, child = self._bundles(rows, children, self.child, 0)
        more, parent = self._bundles(rows, parents, self.parent, len(self.child))
        shift = self.n_features
        entries = np.stack([shift + child, shift + bundles.n_rows + parent], axis=1)
        edges = len(children)
        return FeatureMatrix(
            CSRMatrix(np.arange(0, 2 * edges + 1, 2), entries.astype(np.int32).ravel()),
            bundles.vstack(more),
            CSRMatrix.empty(edges),
            self.n_features,
        )

    def _bundles(
        self, rows: FeatureMatrix, ends: Ints, table: Labels, first: int
    ) -> tuple[CSRMatrix, Ints]:
        """One bundle per token with the features of the table, and the bundle of each edge."""
        tokens, owners = np.unique(ends, return_inverse=True)
        expanded = rows.take(tokens).expanded()
        numbers = np.full(rows.n_features, -1, np.int32)
        numbers[table] = np.arange(first, first + len(table), dtype=np.int32)
        indices = numbers[expanded.indices]
        known = indices >= 0
        indptr = offsets_of(known)[expanded.indptr]
        values = expanded.values[known] if len(expanded.values) else NO_VALUES
        return CSRMatrix(indptr, indices[known], values), owners.ravel()

    def keep(self, chosen: Bools) -> EdgeFeatures:
        """Only the chosen features of edges."""
        cut = len(self.child)
        return EdgeFeatures(self.child[chosen[:cut]], self.parent[chosen[cut:]])

    def renumbered(self, features: Bools) -> EdgeFeatures:
        """For tokens that keep only some ``features`` [F], all of these among them."""
        number = (np.cumsum(features) - 1).astype(np.int32)
        return EdgeFeatures(number[self.child], number[self.parent])
