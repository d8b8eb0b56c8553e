"""The features of edges: those of the token at one end, and those of the token at the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Ints, Labels, offsets_of
from skipchain.features.matrix import NO_VALUES, Rows, Sparse


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Which features of tokens are features of edges, by the end at which they stand.

    Feature k of an edge is feature ``child[k]`` of its child; after these come the features
    ``parent`` of its parent. Both lists are sorted.

    >>> rows = Rows(Sparse(np.arange(4), np.array([2, 0, 1], np.int32)), Sparse.empty(0),
    ...             Sparse.empty(3), 3)
    >>> ends = Ends.fit(rows, np.array([1, 2]), np.array([0, 0]))
    >>> ends.child, ends.parent
    (array([0, 1], dtype=int32), array([2], dtype=int32))
    >>> ends.rows(rows, np.array([2]), np.array([0])).flat().indices
    array([1, 2], dtype=int32)
    """

    child: Labels
    parent: Labels

    @classmethod
    def fit(cls, rows: Rows, children: Ints, parents: Ints) -> Ends:
        """The features of the tokens that stand at the ends of edges."""
        return cls(
            *(np.unique(rows.take(np.unique(own)).flat().indices) for own in (children, parents))
        )

    @property
    def n_features(self) -> int:
        """How many features edges have."""
        return len(self.child) + len(self.parent)

    def rows(self, rows: Rows, children: Ints, parents: Ints) -> Rows:
        """The features of edges, from those of all tokens.

        A token's features are one unit at each end, so that they are summed once however many edges
        it has.
        """
        sides = [
            self._units(rows, *np.unique(own, return_inverse=True), table, first)
            for own, table, first in (
                (children, self.child, 0),
                (parents, self.parent, len(self.child)),
            )
        ]
        (units, child), (more, parent) = sides
        shift = self.n_features
        entries = np.stack([shift + child, shift + units.n_rows + parent], axis=1)
        edges = len(children)
        return Rows(
            Sparse(np.arange(0, 2 * edges + 1, 2), entries.astype(np.int32).ravel()),
            units.above(more),
            Sparse.empty(edges),
            self.n_features,
        )

    def _units(
        self, rows: Rows, tokens: Ints, owners: Ints, table: Labels, first: int
    ) -> tuple[Sparse, Ints]:
        """One unit per token with the features that the table has, and the unit of each edge."""
        flat = rows.take(tokens).flat()
        number = np.full(rows.n_features, -1, np.int32)
        number[table] = np.arange(first, first + len(table), dtype=np.int32)
        found = number[flat.indices]
        known = found >= 0
        indptr = offsets_of(known)[flat.indptr]
        values = flat.values[known] if len(flat.values) else NO_VALUES
        return Sparse(indptr, found[known], values), owners.ravel()

    def keep(self, chosen: Bools) -> Ends:
        """Only the chosen features of edges."""
        cut = len(self.child)
        return Ends(self.child[chosen[:cut]], self.parent[chosen[cut:]])

    def renumbered(self, features: Bools) -> Ends:
        """For tokens that keep only some ``features`` [F], all of these among them."""
        number = (np.cumsum(features) - 1).astype(np.int32)
        return Ends(number[self.child], number[self.parent])
