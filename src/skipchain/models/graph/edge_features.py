"""The features of edges: those of the tokens at either end, and what the ends have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from skipchain.arrays import Bools, Ints, Labels, offsets_of
from skipchain.corpus import Corpus
from skipchain.features.edge_template import EdgeTemplate, same_at_ends
from skipchain.features.matrix import NO_VALUES, CSRMatrix, FeatureMatrix
from skipchain.features.template import Atom
from skipchain.features.views import UserViews
from skipchain.features.vocabulary import Vocabulary

ENDS = ("child", "parent", "both")


@dataclass(frozen=True, slots=True, eq=False)
class EdgeFeatures:
    """Which features of tokens are features of edges, by the end at which they stand.

    Feature k of an edge is feature ``child[k]`` of its child; after these come the features
    ``parent`` of its parent. Both lists are sorted. Last come one feature for each view of
    ``same``, that both ends have the same value of it.

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
    same: tuple[Atom, ...] = ()
    functions: UserViews = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        rows: FeatureMatrix,
        children: Ints,
        parents: Ints,
        chosen: Bools | None = None,
        same: Sequence[Atom] = (),
        functions: UserViews | None = None,
    ) -> EdgeFeatures:
        """The features of the tokens that stand at the ends of edges, all or the ``chosen`` [F]."""

        def features_at(ends: Ints) -> Labels:
            found = np.unique(rows.take(np.unique(ends)).expanded().indices)
            return found if chosen is None else found[chosen[found]]

        return cls(features_at(children), features_at(parents), tuple(same), functions or {})

    @classmethod
    def of_lines(
        cls,
        vocabulary: Vocabulary,
        lines: Sequence[EdgeTemplate],
        rows: FeatureMatrix,
        ends: tuple[Ints, Ints],
    ) -> EdgeFeatures:
        """The features that edge templates name, of edges between (children, parents)."""
        same = [line.same for line in lines if line.same is not None]
        named = [line.template for line in lines if line.same is None]
        chosen = None
        if None not in named:
            chosen = vocabulary.features_of({own for own in named if own is not None})
        return cls.fit(rows, *ends, chosen, same, vocabulary.templates.functions)

    @property
    def n_features(self) -> int:
        """How many features edges have."""
        return len(self.child) + len(self.parent) + len(self.same)

    @property
    def ends(self) -> list[str]:
        """Which end each feature stands at: ``child``, ``parent`` or ``both``."""
        counts = len(self.child), len(self.parent), len(self.same)
        return [end for end, n in zip(ENDS, counts, strict=True) for _ in range(n)]

    def encode(
        self, rows: FeatureMatrix, children: Ints, parents: Ints, corpus: Corpus | None = None
    ) -> FeatureMatrix:
        """The features of edges, from those of all tokens; ``same`` needs their corpus.

        A token's features are one feature bundle at each end, so that they are summed once however
        many edges it has.
        """
        bundles, child = self._bundles(rows, children, self.child, 0)
        more, parent = self._bundles(rows, parents, self.parent, len(self.child))
        shift, edges = self.n_features, len(children)
        columns = [shift + child, shift + bundles.n_rows + parent]
        there = np.ones((edges, 2 + len(self.same)), np.bool_)
        for k, atom in enumerate(self.same):
            assert corpus is not None
            there[:, 2 + k] = same_at_ends(atom, corpus, self.functions, children, parents)
            columns.append(np.full(edges, shift - len(self.same) + k))
        entries = np.stack(columns, axis=1)[there]
        return FeatureMatrix(
            CSRMatrix(offsets_of(there.sum(axis=1)), entries.astype(np.int32)),
            bundles.vstack(more),
            CSRMatrix.empty(edges),
            self.n_features,
        )

    def names(self, tokens: Sequence[str]) -> list[str]:
        """The names of all features, from those of tokens' features."""
        ends = [tokens[k] for k in [*self.child, *self.parent]]
        return [*ends, *(f"same({atom})" for atom in self.same)]

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
        """Only the chosen features of tokens; those that compare the ends stay."""
        cut = len(self.child)
        ends = chosen[:cut], chosen[cut : cut + len(self.parent)]
        return replace(self, child=self.child[ends[0]], parent=self.parent[ends[1]])

    def renumbered(self, features: Bools) -> EdgeFeatures:
        """For tokens that keep only some ``features`` [F], all of these among them."""
        number = (np.cumsum(features) - 1).astype(np.int32)
        return replace(self, child=number[self.child], parent=number[self.parent])
