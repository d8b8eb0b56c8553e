"""Scores of edges: what one kind of edge says of its child, given the parent's label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.scorer import Weights, unit_sums
from skipchain.kernels.gather import gather
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.parallel import Workers, blocks

ROW_ENTRIES = 1 << 16  # index entries of the rows that one thread scores at a time


@dataclass(frozen=True, slots=True)
class EdgeModel:
    """p(label of the child | label of one parent, input) for one kind of edge.

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
    """The scores of edges, block by block: weights of each kind, summed once for each unit."""

    dataset: GraphDataset
    weights: Mapping[str, Weights]
    units: Mapping[str, Floats]

    @classmethod
    def of(
        cls, dataset: GraphDataset, weights: Mapping[str, Weights], workers: Workers
    ) -> EdgeScores:
        """For the kinds of edges that have rows."""
        units = {
            edge_type: unit_sums(rows, weights[edge_type].state, workers)
            for edge_type, rows in dataset.edges.items()
        }
        return cls(dataset, weights, units)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return next(iter(self.weights.values())).n_labels

    @property
    def tables(self) -> Floats:
        """The scores of label pairs by the number of the kind; zero for those without. [M, L, L]"""
        size = self.n_labels
        found = np.zeros((len(self.dataset.edge_set.edge_types), size, size))
        for edge_type, own in self.weights.items():
            found[self.dataset.type_index(edge_type)] = own.transitions
        return found

    def rows(self, edge_type: str, workers: Workers) -> Floats:
        """The scores of all edges of one kind. [R, L]"""
        index = self.dataset.edges[edge_type].tokens
        scores = np.empty((index.n_rows, self.weights[edge_type].n_labels))
        workers.map(
            lambda b: self._fill(edge_type, b[0], scores[slice(*b)]),
            blocks(index.indptr, ROW_ENTRIES),
        )
        return scores

    def block(self, block: tuple[int, int]) -> tuple[Floats, Ints, dict[str, slice]]:
        """The scores of the edges of some documents.

        Scores [R, L] of all kinds; by the number of the kind which of its rows would be the first
        of them [M]; and where the rows of each kind stand.
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
        gather(
            rows.indptr[first : first + len(out) + 1],
            rows.indices,
            rows.values,
            weights.state,
            self.units[edge_type],
            out,
            0,
            len(out),
            False,
        )
        if self.dataset.edges_of_type(edge_type)[0].rule.has_boundaries:
            for tokens, scores in zip(
                self.dataset.chain_bounds(edge_type), (weights.start, weights.end), strict=True
            ):
                inside = tokens[(tokens >= first) & (tokens < first + len(out))]
                out[inside - first] += scores
