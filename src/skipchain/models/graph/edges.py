"""Scores of edges: what an edge says of its child, given the parent's label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.scorer import Weights
from skipchain.chains.sums import sum_block, sum_bundles
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.pairs import NO_PAIRS, LabelPairs
from skipchain.parallel import Workers, blocks

ROW_ENTRIES = 1 << 16  # index entries of the rows that one thread scores at a time


@dataclass(frozen=True, slots=True)
class EdgeModel:
    """p(label of the child | label of one parent, input) for one edge type.

    ``weights.state`` goes with the features that ``edge_features`` names or, for chains (None),
    with all features of the child; ``weights.transitions`` [prev, cur] with the labels of parent
    and child. ``weights.edges`` goes with both labels: in chains as that of any chain, else [G, K]
    with the features that ``pair_features`` names and the classes of `LabelPairs`.
    """

    weights: Weights
    edge_features: EdgeFeatures | None = None
    pair_features: EdgeFeatures | None = None

    @property
    def used(self) -> list[EdgeFeatures]:
        """The features of tokens that edges have, but for chains."""
        return [own for own in (self.edge_features, self.pair_features) if own is not None]

    def pruned(self) -> EdgeModel:
        """Without features of edges whose weights are all zero."""
        ends, pairs, weights = self.edge_features, self.pair_features, self.weights
        if ends is not None:
            ends, state = _pruned(ends, weights.state)
            weights = replace(weights, state=state)
        if pairs is not None:
            pairs, table = _pruned(pairs, weights.edges)
            weights = replace(weights, edges=table)
        return EdgeModel(weights, ends, pairs)

    def renumbered(self, state: Bools, edge: Bools) -> EdgeModel:
        """For tokens that keep only the chosen features [F], [G]: no other may have weights."""
        ends, pairs = self.edge_features, self.pair_features
        if ends is None:
            weights = self.weights
            return EdgeModel(
                replace(weights, state=weights.state[state], edges=weights.edges[edge])
            )
        return EdgeModel(
            self.weights, ends.renumbered(state), None if pairs is None else pairs.renumbered(state)
        )


def _pruned(features: EdgeFeatures, table: Floats) -> tuple[EdgeFeatures, Floats]:
    """Features of edges and their weights, without those of tokens whose weights are zero."""
    chosen = np.asarray(table.any(axis=1))
    chosen[len(chosen) - len(features.same) :] = True
    return features.keep(chosen), table[chosen]


@dataclass(frozen=True, slots=True)
class EdgeScores:
    """The scores of edges, block by block: weights of each edge type, summed once per bundle."""

    dataset: GraphDataset
    weights: Mapping[str, Weights]
    bundle_sums: Mapping[str, Floats]
    pair_sums: Mapping[str, Floats]
    label_pairs: LabelPairs

    @classmethod
    def of(
        cls,
        dataset: GraphDataset,
        weights: Mapping[str, Weights],
        workers: Workers,
        label_pairs: LabelPairs = NO_PAIRS,
    ) -> EdgeScores:
        """For the edge types that have rows."""
        bundle_sums = {
            edge_type: sum_bundles(rows, weights[edge_type].state, workers)
            for edge_type, rows in dataset.edges.items()
        }
        pair_sums = {
            edge_type: sum_bundles(rows, weights[edge_type].edges, workers)
            for edge_type, rows in dataset.pairs.items()
        }
        return cls(dataset, weights, bundle_sums, pair_sums, label_pairs)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return next(iter(self.weights.values())).n_labels

    @property
    def tables(self) -> Floats:
        """The scores of label pairs by edge type; zero for types without weights. [M, L, L]"""
        size = self.n_labels
        tables = np.zeros((len(self.dataset.edge_set.edge_types), size, size))
        for edge_type, weights in self.weights.items():
            tables[self.dataset.type_index(edge_type)] = weights.transitions
        return tables

    def rows(self, edge_type: str, workers: Workers) -> Floats:
        """The scores of all edges of one type. [R, L]"""
        index = self.dataset.edges[edge_type].tokens
        scores = np.empty((index.n_rows, self.weights[edge_type].n_labels))
        workers.map(
            lambda b: self._fill(edge_type, b[0], scores[slice(*b)]),
            blocks(index.indptr, ROW_ENTRIES),
        )
        return scores

    def block(self, block: tuple[int, int]) -> tuple[Floats, Ints, dict[str, slice]]:
        """The scores of the edges of some documents.

        Scores [R, L] of all edge types; for each type which of its rows would be the first of them
        [M]; and where the rows of each type stand.
        """
        dataset = self.dataset
        bases = np.zeros(len(dataset.edge_set.edge_types), np.int64)
        places: dict[str, slice] = {}
        size = 0
        for edge_type in dataset.edges:
            first, last = dataset.row_offsets(edge_type)[list(block)].tolist()
            bases[dataset.type_index(edge_type)] = first - size
            places[edge_type] = slice(size, size + last - first)
            size += last - first
        scores = np.empty((size, self.n_labels))
        for edge_type, place in places.items():
            self._fill(edge_type, int(dataset.row_offsets(edge_type)[block[0]]), scores[place])
        return scores, bases, places

    def has_pairs(self, edge_type: str) -> bool:
        """Whether the rows of a type have tables of label pairs of their own."""
        dataset = self.dataset
        return edge_type in dataset.pairs or bool(dataset.edges[edge_type].n_edge_features)

    def fill_pairs(self, edge_type: str, first: int, out: Floats) -> None:
        """Write the scores of label pairs of a type's rows, from ``first`` on. [R, L, L]

        They include the table of the type, which must be one that `has_pairs`.
        """
        weights, labels = self.weights[edge_type], self.n_labels
        if edge_type in self.dataset.pairs:
            rows = self.dataset.pairs[edge_type].tokens
            by_class = np.empty((len(out), self.label_pairs.size))
            sum_block(rows, first, weights.edges, self.pair_sums[edge_type], by_class)
            self.label_pairs.expand(by_class, weights.transitions, out)
        else:
            pairs = self._chain_pairs(edge_type, first, len(out))
            np.add(pairs[:, :labels], weights.transitions, out=out)

    def _chain_pairs(self, edge_type: str, first: int, size: int) -> Floats:
        """The scores of features with two labels in a chain; L is the place before it.

        [R, L + 1, L]
        """
        weights, labels = self.weights[edge_type], self.n_labels
        flat = np.empty((size, (labels + 1) * labels))
        rows = self.dataset.edges[edge_type].edges
        sum_block(rows, first, weights.edges, weights.edges[:0], flat)
        return flat.reshape(size, labels + 1, labels)

    def _fill(self, edge_type: str, first: int, out: Floats) -> None:
        rows, weights = self.dataset.edges[edge_type], self.weights[edge_type]
        sum_block(rows.tokens, first, weights.state, self.bundle_sums[edge_type], out)
        if not self.dataset.edges_of_type(edge_type)[0].rule.has_boundaries:
            return
        heads, tails = (
            tokens[(tokens >= first) & (tokens < first + len(out))] - first
            for tokens in self.dataset.chain_bounds(edge_type)
        )
        out[heads] += weights.start
        out[tails] += weights.end
        if rows.n_edge_features:
            out[heads] += self._chain_pairs(edge_type, first, len(out))[heads, self.n_labels]
