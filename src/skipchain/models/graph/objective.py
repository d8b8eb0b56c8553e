"""What all losses of linked labels share: one vector for all edge types, and its gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import LinearScorer, Residuals, Weights
from skipchain.learn.vectors import dot
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edges import EdgeScores
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
    ) -> None:
        self.n_labels = n_labels
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
            )
            for edge_type, rows in dataset.edges.items()
        }
        self._cuts = np.cumsum([scorer.size for scorer in self._scorers.values()])
        # single precision halves what the transposed sums read; they are added up in double
        precision: Any = np.float32 if single_precision else np.float64
        self._residuals: dict[str, Residuals] = {
            edge_type: np.zeros((rows.tokens.n_rows, n_labels), precision)
            for edge_type, rows in dataset.edges.items()
        }

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
        scorers = sum(scorer.nbytes for scorer in self._scorers.values())
        return scorers + sum(part.nbytes for part in self._residuals.values())

    def pack(self, weights: Mapping[str, Weights]) -> Floats:
        """The vector of the weights of each edge type."""
        return np.concatenate([scorer.pack(weights[k]) for k, scorer in self._scorers.items()])

    def unpack(self, vector: Floats) -> dict[str, Weights]:
        """The weights of each edge type; the tables may be overwritten by the next call."""
        return {name: self._scorers[name].unpack(part) for name, part in self._parts(vector)}

    def weights(self, vector: Floats) -> dict[str, Weights]:
        """The weights of each edge type, to keep: in double precision and memory of their own."""
        return {name: self._scorers[name].weights(part) for name, part in self._parts(vector)}

    def _parts(self, vector: Floats) -> zip[tuple[str, Floats]]:
        return zip(self._scorers, np.split(vector, self._cuts[:-1]), strict=True)

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        scores = EdgeScores.of(self.dataset, self.unpack(vector), self._workers)
        loss, pairs = self._losses(scores)
        gradient = np.concatenate([self._gradient(edge_type, pairs) for edge_type in self._scorers])
        if self._l2:
            loss += self._l2 * dot(vector, vector)
            gradient += 2.0 * self._l2 * vector
        return loss, gradient

    def curvature(self) -> Floats:
        """A rough diagonal of the Hessian where the objective was called last, above zero."""
        diagonals = [
            scorer.curvature(self._residuals[edge_type], _none(scorer))
            for edge_type, scorer in self._scorers.items()
        ]
        return np.concatenate(diagonals) + (2.0 * self._l2 + TINY)

    def _gradient(self, edge_type: str, pairs: Floats) -> Floats:
        scorer, node = self._scorers[edge_type], self._residuals[edge_type]
        size = scorer.n_labels
        first, last = np.zeros(size), np.zeros(size)
        if self._has_boundaries(edge_type):
            heads, tails = self.dataset.chain_bounds(edge_type)
            first, last = (node[ends].sum(axis=0, dtype=np.float64) for ends in (heads, tails))
        table, triples = pairs[self.dataset.type_index(edge_type)], np.zeros((0, size, size))
        return scorer.gradient(node, table, first, last, _none(scorer), triples)

    def _has_boundaries(self, edge_type: str) -> bool:
        return self.dataset.edges_of_type(edge_type)[0].rule.has_boundaries


def _none(scorer: LinearScorer) -> Floats:
    """No gradient of edge features, which these models do not have."""
    return np.zeros((0, (scorer.n_labels + 1) * scorer.n_labels))
