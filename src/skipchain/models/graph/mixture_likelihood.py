"""Likelihoods of mixtures of parents, as functions of one vector for all edge types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.edges.dag import Dag
from skipchain.kernels.mixture import PairTables, adjoint_sweep, clamped_likelihood, pair_tables
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.mixture import ScoredBlock, mixture_edges
from skipchain.models.graph.objective import GraphObjective
from skipchain.parallel import Workers

MARGINAL, MIXTURE, CONDITIONAL = "marginal", "mixture", "conditional"


class MixtureLikelihood(GraphObjective):
    """A loss of mixtures of parents + l2 · Σ w², and its gradient, over all edge types.

    ``marginal`` is −Σ_k log p(y_k | x), for which the gradient takes one sweep back through the
    graph; ``mixture`` is −Σ_k log Σ_u α_ku p(y_k | y_u, x) with known labels y_u; ``conditional``
    is −Σ_k Σ_u log p(y_k | y_u, x), where edge types are independent of each other.
    Each of several graphs counts by its ``shares``. Other arguments are those of `GraphObjective`.
    """

    def __init__(
        self,
        dataset: GraphDataset,
        labels: Labels,
        n_labels: int,
        dags: Sequence[Dag],
        workers: Workers,
        *,
        loss: str = MARGINAL,
        shares: Sequence[float] | None = None,
        **others: Any,
    ) -> None:
        super().__init__(dataset, labels, n_labels, workers, **others)
        self._loss = loss
        self._graphs = [mixture_edges(dag) for dag in dags]
        self._shares = list(shares or [1.0] * len(dags))
        self._adjoint = np.empty((len(labels), n_labels))
        self._marginals = np.empty((len(labels), n_labels))

    @property
    def nbytes(self) -> int:
        """Bytes held beside the features."""
        return super().nbytes + self._adjoint.nbytes + self._marginals.nbytes

    def _gold(self, edge_type: str) -> Labels:
        if self.dataset.edges_of_type(edge_type)[0].rule.is_chain:
            return self._labels
        return self._labels[self.dataset.endpoints(edge_type)[0]]

    def _losses(self, scores: EdgeScores) -> tuple[float, Floats]:
        tables = pair_tables(scores.tables)
        parts = self._workers.map(lambda b: self._block(scores, tables, b), self.dataset.blocks())
        # summed in the order of the blocks: the same bits whatever the number of threads
        loss = float(np.array([part[0] for part in parts]).sum())
        return loss, np.array([part[1] for part in parts]).sum(axis=0)

    def _block(
        self, scores: EdgeScores, tables: PairTables, block: tuple[int, int]
    ) -> tuple[float, Floats]:
        scored = ScoredBlock.of(scores, block, tables)
        rows = scored.rows
        loss, pairs = 0.0, np.zeros_like(rows.tables.logs)
        total = np.zeros_like(rows.scores)
        for edges, share in zip(self._graphs, self._shares, strict=True):
            if self._loss == MARGINAL:
                scored.sweep(edges, self._marginals)
                mixing, known = np.empty(len(edges.parents)), (self._marginals, self._labels)
                loss += float(
                    adjoint_sweep(rows, edges, *known, share, self._adjoint, total, pairs, mixing)
                )
            else:
                mixed = self._loss == MIXTURE
                loss += clamped_likelihood(rows, edges, self._labels, mixed, share, total, pairs)
        for edge_type, place in scored.places.items():
            start, stop = self.dataset.row_offsets(edge_type)[list(block)].tolist()
            self._residuals[edge_type][start:stop] = total[place]
            if edge_type in scored.tables:
                own = pairs[scored.tables[edge_type]]
                pairs[self.dataset.type_index(edge_type)] = own.sum(axis=0)
                self._set_pair_residuals(edge_type, start, own)
        return loss, pairs[: len(tables.logs)]
