"""The marginal likelihood as a function of a gate, for fixed scores of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.edges.ordering import Ordering
from skipchain.kernels.mixture import MixtureEdges, adjoint_sweep, pair_tables, sweep
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.gate import FEATURES, GateInputs, mixing_weights
from skipchain.models.graph.mixture import ScoredBlock, mixture_edges
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class _GateBlock:
    """Some documents in one ordering, their edges scored, and their labels."""

    block: ScoredBlock
    edges: MixtureEdges
    gate_inputs: GateInputs
    labels: Labels


class GateLikelihood:
    """−Σ_k log p(y_k | x) + l2 · Σ w², summed over sets of documents and orderings.

    Only the gate's weights w change: the scores of edges should come from models that have not
    seen the documents, or the gate learns to trust what has been memorised. Entropies are
    those of a sweep with equal weights.
    """

    def __init__(
        self,
        sets: Sequence[tuple[EdgeScores, Labels]],
        orderings: Sequence[Ordering],
        edge_types: Sequence[str],
        workers: Workers,
        *,
        l2: float = 0.0,
    ) -> None:
        self.edge_types = tuple(edge_types)
        self._workers = workers
        self._l2 = l2
        names = sets[0][0].dataset.edge_set.edge_types
        self._rows = [names.index(edge_type) for edge_type in edge_types]
        self._parts = [
            part for scores, labels in sets for part in _parts(scores, labels, orderings, workers)
        ]
        self._shape = (len(names), len(FEATURES))

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.edge_types) * len(FEATURES)

    def weights(self, vector: Floats) -> dict[str, Floats]:
        """The gate's weights of each edge type."""
        return dict(zip(self.edge_types, vector.reshape(-1, len(FEATURES)).copy(), strict=True))

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        table = np.zeros(self._shape)
        table[self._rows] = vector.reshape(-1, len(FEATURES))
        results = self._workers.map(lambda part: self._part(table, part), self._parts)
        loss = float(np.array([part[0] for part in results]).sum())
        gradient = np.array([part[1] for part in results]).sum(axis=0)[self._rows].ravel()
        return loss + self._l2 * float(vector @ vector), gradient + 2.0 * self._l2 * vector

    def _part(self, table: Floats, part: _GateBlock) -> tuple[float, Floats]:
        rows, dag = part.block.rows, part.gate_inputs.dag
        first, last = rows.first, rows.last
        chosen = part.gate_inputs.edges(first, last)
        alphas = mixing_weights(table, part.gate_inputs, first, last)
        weights = np.zeros(dag.n_edges)
        weights[chosen] = alphas
        edges = part.edges._replace(weights=weights)
        # parts of several orderings share a block: the norms of this sweep are its own
        rows = rows._replace(norms=np.empty_like(rows.scores))
        marginals = np.empty((dag.n_nodes, rows.scores.shape[1]))
        sweep(rows, edges, marginals)
        mixing, scratch = np.zeros(dag.n_edges), np.empty_like(marginals)
        residuals, pairs = np.zeros_like(rows.scores), np.zeros_like(rows.tables.logs)
        loss = float(
            adjoint_sweep(
                rows, edges, marginals, part.labels, 1.0, scratch, residuals, pairs, mixing
            )
        )
        # through the softmax: dα_e / dlogit_e' = α_e ([e = e'] − α_e')
        weighted = alphas * mixing[chosen]
        counts = np.diff(dag.indptr[first : last + 1])
        sums = np.add.reduceat(weighted, dag.indptr[first:last] - chosen.start)
        logits = weighted - alphas * np.repeat(sums, counts)
        gradient = np.zeros_like(table)
        np.add.at(
            gradient, dag.edge_types[chosen], logits[:, None] * part.gate_inputs.values[chosen]
        )
        return loss, gradient


def _parts(
    scores: EdgeScores, labels: Labels, orderings: Sequence[Ordering], workers: Workers
) -> list[_GateBlock]:
    dataset = scores.dataset
    tables = pair_tables(scores.tables)
    corpus = dataset.edge_set.corpus
    graphs = [(mixture_edges(dag), GateInputs.of(dag, corpus)) for dag in dataset.dags(orderings)]
    marginals = np.empty((corpus.n_tokens, scores.n_labels))

    def run(block: tuple[int, int]) -> list[_GateBlock]:
        scored = ScoredBlock.of(scores, block, tables)
        for edges, gate_inputs in graphs:
            scored.sweep(edges, marginals)
            scored.set_entropies(edges, gate_inputs, marginals)
        return [_GateBlock(scored, edges, gate_inputs, labels) for edges, gate_inputs in graphs]

    return [part for parts in workers.map(run, dataset.blocks()) for part in parts]
