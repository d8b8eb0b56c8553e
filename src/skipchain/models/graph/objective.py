"""What all losses of linked labels share: one vector for all edge types, and its gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.chains.sums import Residuals
from skipchain.learn.vectors import dot
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.pairs import NO_PAIRS, LabelPairs, PairScorer
from skipchain.parallel import Workers

TINY = 1e-3  # keeps the curvature above zero where nothing is penalised


class GraphObjective(ABC):
    """A loss of linked labels + l2 · Σ w², and its gradient, over all edge types.

    The vector holds the parameters of one `LinearScorer` after the other, one for each edge type
    that has rows.
    """

    def __init__(
        self,
        dataset: GraphDataset,
        labels: Labels,
        n_labels: int,
        workers: Workers,
        *,
        l2: float = 0.0,
        observed: bool = True,
        single_precision: bool = False,
        label_pairs: LabelPairs = NO_PAIRS,
    ) -> None:
        self.n_labels = n_labels
        self.label_pairs = label_pairs
        self.dataset = dataset
        self._labels = labels
        self._workers = workers
        self._l2 = l2
        self._scorers = {
            edge_type: LinearScorer(
                Dataset(rows, np.arange(rows.tokens.n_rows + 1), self._gold(edge_type)),
                n_labels,
                observed=observed,
                boundaries=self._has_boundaries(edge_type),
                workers=workers,
                single_precision=single_precision,
                before=self._gold_before(edge_type) if rows.n_edge_features else None,
            )
            for edge_type, rows in dataset.edges.items()
        }
        self._pair_scorers = {
            edge_type: PairScorer(
                rows, label_pairs.size, self._gold_pairs(edge_type), workers, observed=observed
            )
            for edge_type, rows in dataset.pairs.items()
        }
        sizes = [[own.size for own in self._parts_of(edge_type)] for edge_type in self._scorers]
        self._cuts = np.cumsum([size for part in sizes for size in part])
        # single precision halves what the transposed sums read; they are added up in double
        precision: Any = np.float32 if single_precision else np.float64
        self._residuals: dict[str, Residuals] = {
            edge_type: np.zeros((rows.tokens.n_rows, n_labels), precision)
            for edge_type, rows in dataset.edges.items()
        }
        # of features that go with two labels: of chains [N, (L + 1) · L], of other edges [R, K]
        self._pair_residuals = {
            edge_type: np.zeros((len(self._residuals[edge_type]), width))
            for edge_type, width in self._pair_widths().items()
        }

    def _pair_widths(self) -> dict[str, int]:
        widths = dict.fromkeys(self._pair_scorers, self.label_pairs.size)
        for edge_type, rows in self.dataset.edges.items():
            if rows.n_edge_features:
                widths[edge_type] = (self.n_labels + 1) * self.n_labels
        return widths

    def _gold_before(self, edge_type: str) -> Labels:
        """The label before each token in a chain of an edge type, L where one begins. [N]"""
        forward = self.dataset.edges_of_type(edge_type)[1]
        before = np.roll(self._labels, 1 if forward else -1)
        before[self.dataset.chain_bounds(edge_type)[0]] = self.n_labels
        return before

    def _gold_pairs(self, edge_type: str) -> Labels:
        """The class of the gold labels of each edge of a type, −1 where one is not known. [R]"""
        child, parent = (self._labels[ends] for ends in self.dataset.endpoints(edge_type))
        classes = self.label_pairs.classes[parent, child]
        return np.where((child < 0) | (parent < 0), -1, classes).astype(np.int32)

    def _set_pair_residuals(self, edge_type: str, first: int, tables: Floats) -> None:
        """Keep the gradient in the label pairs of some rows, from ``first`` on. [R, L, L]"""
        out = self._pair_residuals[edge_type][first : first + len(tables)]
        if edge_type in self._pair_scorers:
            self.label_pairs.reduce(tables, out)
            return
        size = self.n_labels
        by_pair = out.reshape(len(tables), size + 1, size)
        by_pair[:, :size] = tables
        heads = self.dataset.chain_bounds(edge_type)[0]
        heads = heads[(heads >= first) & (heads < first + len(tables))]
        by_pair[heads - first, size] = self._residuals[edge_type][heads]

    @abstractmethod
    def _gold(self, edge_type: str) -> Labels:
        """The gold label that the features of each row of an edge type go with, L for none. [R]"""

    @abstractmethod
    def _losses(self, scores: EdgeScores) -> tuple[float, Floats]:
        """The loss; write its gradient in the scores of rows, and return that in pair scores.

        The tables [M, L, L] are by edge type.
        """

    @property
    def size(self) -> int:
        """The number of parameters."""
        return int(self._cuts[-1])

    @property
    def nbytes(self) -> int:
        """Bytes held beside the features."""
        scorers = (own for edge_type in self._scorers for own in self._parts_of(edge_type))
        residuals = (*self._residuals.values(), *self._pair_residuals.values())
        return sum(own.nbytes for own in scorers) + sum(own.nbytes for own in residuals)

    def _parts_of(self, edge_type: str) -> list[LinearScorer | PairScorer]:
        """What carries the parameters of one edge type."""
        own: list[LinearScorer | PairScorer] = [self._scorers[edge_type]]
        return [*own, self._pair_scorers[edge_type]] if edge_type in self._pair_scorers else own

    def pack(self, weights: Mapping[str, Weights]) -> Floats:
        """The vector of the weights of each edge type."""
        parts = []
        for edge_type, scorer in self._scorers.items():
            own = weights[edge_type]
            if edge_type in self._pair_scorers:
                parts.append(scorer.pack(replace(own, edges=own.edges[:0])))
                parts.append(self._pair_scorers[edge_type].pack(own.edges))
            else:
                parts.append(scorer.pack(own))
        return np.concatenate(parts)

    def unpack(self, vector: Floats) -> dict[str, Weights]:
        """The weights of each edge type; the tables may be overwritten by the next call."""
        return self._unpack(vector, kept=False)

    def weights(self, vector: Floats) -> dict[str, Weights]:
        """The weights of each edge type, to keep: in double precision and memory of their own."""
        return self._unpack(vector, kept=True)

    def _unpack(self, vector: Floats, *, kept: bool) -> dict[str, Weights]:
        parts = iter(np.split(vector, self._cuts[:-1]))
        found = {}
        for edge_type, scorer in self._scorers.items():
            part = next(parts)
            found[edge_type] = scorer.weights(part) if kept else scorer.unpack(part)
            if edge_type in self._pair_scorers:
                table = self._pair_scorers[edge_type].unpack(next(parts))
                found[edge_type] = replace(found[edge_type], edges=table.copy() if kept else table)
        return found

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        weights = self.unpack(vector)
        scores = EdgeScores.of(self.dataset, weights, self._workers, self.label_pairs)
        loss, pairs = self._losses(scores)
        gradient = np.concatenate([self._gradient(edge_type, pairs) for edge_type in self._scorers])
        if self._l2:
            loss += self._l2 * dot(vector, vector)
            gradient += 2.0 * self._l2 * vector
        return loss, gradient

    def curvature(self) -> Floats:
        """A rough diagonal of the Hessian where the objective was called last, above zero."""
        diagonals = []
        for edge_type, scorer in self._scorers.items():
            node = self._residuals[edge_type]
            diagonals.append(scorer.curvature(node, self._chain_residuals(edge_type)))
            if edge_type in self._pair_scorers:
                pairs = self._pair_residuals[edge_type]
                diagonals.append(self._pair_scorers[edge_type].curvature(pairs))
        return np.concatenate(diagonals) + (2.0 * self._l2 + TINY)

    def _gradient(self, edge_type: str, pairs: Floats) -> Floats:
        scorer, node = self._scorers[edge_type], self._residuals[edge_type]
        size = scorer.n_labels
        first, last = np.zeros(size), np.zeros(size)
        if self._has_boundaries(edge_type):
            heads, tails = self.dataset.chain_bounds(edge_type)
            first, last = (node[ends].sum(axis=0, dtype=np.float64) for ends in (heads, tails))
        table, triples = pairs[self.dataset.type_index(edge_type)], np.zeros((0, size, size))
        edges = self._chain_residuals(edge_type)
        gradient = scorer.gradient(node, table, first, last, edges, triples)
        if edge_type not in self._pair_scorers:
            return gradient
        pair_scorer = self._pair_scorers[edge_type]
        return np.concatenate([gradient, pair_scorer.gradient(self._pair_residuals[edge_type])])

    def _chain_residuals(self, edge_type: str) -> Floats:
        """The gradient in the scores of features with two labels of a chain, where it has any."""
        if self.dataset.edges[edge_type].n_edge_features:
            return self._pair_residuals[edge_type]
        return np.zeros((0, (self.n_labels + 1) * self.n_labels))

    def _has_boundaries(self, edge_type: str) -> bool:
        return self.dataset.edges_of_type(edge_type)[0].rule.has_boundaries
