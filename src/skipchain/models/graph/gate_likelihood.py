"""The marginal likelihood as a function of a gate, the scores of edges given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.edges.ordering import Ordering
from skipchain.kernels.mixture import MixtureEdges, pair_tables
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
    seen the documents, or the gate learns to trust what has been learnt by heart. Entropies are
    those of a sweep with equal weights.
    """

    def __init__(
        self,
        sets: Sequence[tuple[EdgeScores, Labels]],
        orderings: Sequence[Ordering],
        kinds: Sequence[str],
        workers: Workers,
        *,
        l2: float = 0.0,
    ) -> None:
        self.edge_types = tuple(kinds)
        self._workers = workers
        self._l2 = l2
        names = sets[0][0].dataset.edge_set.edge_types
        self._rows = [names.index(edge_type) for edge_type in kinds]
        self._parts = [
            part for scores, labels in sets for part in _parts(scores, labels, orderings, workers)
        ]
        self._shape = (len(names), len(FEATURES))

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.edge_types) * len(FEATURES)

    def weights(self, vector: Floats) -> dict[str, Floats]:
        """The gate's weights of each kind."""
        return dict(zip(self.edge_types, vector.reshape(-1, len(FEATURES)).copy(), strict=True))

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        table = np.zeros(self._shape)
        table[self._rows] = vector.reshape(-1, len(FEATURES))
        found = self._workers.map(lambda part: self._part(table, part), self._parts)
        loss = float(np.array([part[0] for part in found]).sum())
        gradient = np.array([part[1] for part in found]).sum(axis=0)[self._rows].ravel()
        return loss + self._l2 * float(vector @ vector), gradient + 2.0 * self._l2 * vector

    def _part(self, table: Floats, part: _GateBlock) -> tuple[float, Floats]:
        first, last, dag = part.block.first, part.block.last, part.gate_inputs.dag
        chosen = part.gate_inputs.edges(first, last)
        alphas = mixing_weights(table, part.gate_inputs, first, last)
        weights = np.zeros(dag.n_edges)
        weights[chosen] = alphas
        edges = part.edges._replace(weights=weights)
        scores, tables = part.block.scores, part.block.tables
        # parts of several orderings share a block: the norms of this sweep are its own
        block = replace(part.block, norms=np.empty_like(scores))
        marginals = np.empty((dag.n_nodes, scores.shape[1]))
        block.sweep(edges, marginals)
        mixing = np.zeros(dag.n_edges)
        loss = block.adjoint(
            edges,
            marginals,
            part.labels,
            1.0,
            np.empty_like(marginals),
            np.zeros_like(scores),
            np.zeros_like(tables.logs),
            mixing,
        )
        # through the softmax: dα_e / dlogit_e' = α_e ([e = e'] − α_e')
        own = alphas * mixing[chosen]
        counts = np.diff(dag.indptr[first : last + 1])
        sums = np.add.reduceat(own, dag.indptr[first:last] - chosen.start)
        logits = own - alphas * np.repeat(sums, counts)
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
