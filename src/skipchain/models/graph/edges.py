"""Scores of edges: what an edge says of its child, given the parent's label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.scorer import Weights, sum_block, sum_bundles
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.parallel import Workers, blocks

ROW_ENTRIES = 1 << 16  # index entries of the rows that one thread scores at a time


@dataclass(frozen=True, slots=True)
class EdgeModel:
    """p(label of the child | label of one parent, input) for one edge type.

    ``weights.state`` goes with the features that ``edge_features`` names or, for chains (None),
    with all features of the child; ``weights.transitions`` [prev, cur] with the labels of parent
    and child.
    """

    weights: Weights
    edge_features: EdgeFeatures | None = None

    def pruned(self) -> EdgeModel:
        """Without features of edges whose weights are all zero."""
        if self.edge_features is None:
            return self
        chosen = np.asarray(self.weights.state.any(axis=1))
        weights = replace(self.weights, state=self.weights.state[chosen])
        return EdgeModel(weights, self.edge_features.keep(chosen))

    def renumbered(self, features: Bools) -> EdgeModel:
        """For tokens that keep only the ``features`` [F]: no other may have weights."""
        if self.edge_features is None:
            return EdgeModel(replace(self.weights, state=self.weights.state[features]))
        return EdgeModel(self.weights, self.edge_features.renumbered(features))


@dataclass(frozen=True, slots=True)
class EdgeScores:
    """The scores of edges, block by block: weights of each edge type, summed once per bundle."""

    dataset: GraphDataset
    weights: Mapping[str, Weights]
    bundle_sums: Mapping[str, Floats]

    @classmethod
    def of(
        cls, dataset: GraphDataset, weights: Mapping[str, Weights], workers: Workers
    ) -> EdgeScores:
        """For the edge types that have rows."""
        bundle_sums = {
            edge_type: sum_bundles(rows, weights[edge_type].state, workers)
            for edge_type, rows in dataset.edges.items()
        }
        return cls(dataset, weights, bundle_sums)

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

    def _fill(self, edge_type: str, first: int, out: Floats) -> None:
        rows, weights = self.dataset.edges[edge_type].tokens, self.weights[edge_type]
        sum_block(rows, first, weights.state, self.bundle_sums[edge_type], out)
        if self.dataset.edges_of_type(edge_type)[0].rule.has_boundaries:
            for tokens, scores in zip(
                self.dataset.chain_bounds(edge_type), (weights.start, weights.end), strict=True
            ):
                inside = tokens[(tokens >= first) & (tokens < first + len(out))]
                out[inside - first] += scores
