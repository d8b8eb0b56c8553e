"""The marginal likelihood as a function of a gate, the scores of edges given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.edges.ordering import Ordering
from skipchain.kernels.mixture import Edges, tables_of
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.gate import FEATURES, EdgeFacts, softmax
from skipchain.models.graph.mixture import ScoredBlock, edges_of
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class _Part:
    """Some documents in one ordering, their edges scored, and their labels."""

    block: ScoredBlock
    edges: Edges
    facts: EdgeFacts
    labels: Labels


class GateObjective:
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
        self.kinds = tuple(kinds)
        self._workers = workers
        self._l2 = l2
        names = sets[0][0].linked.relations.kinds
        self._rows = [names.index(kind) for kind in kinds]
        self._parts = [
            part for scores, labels in sets for part in _parts(scores, labels, orderings, workers)
        ]
        self._shape = (len(names), len(FEATURES))

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.kinds) * len(FEATURES)

    def weights(self, vector: Floats) -> dict[str, Floats]:
        """The gate's weights of each kind."""
        return dict(zip(self.kinds, vector.reshape(-1, len(FEATURES)).copy(), strict=True))

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        table = np.zeros(self._shape)
        table[self._rows] = vector.reshape(-1, len(FEATURES))
        found = self._workers.map(lambda part: self._part(table, part), self._parts)
        loss = float(np.array([part[0] for part in found]).sum())
        gradient = np.array([part[1] for part in found]).sum(axis=0)[self._rows].ravel()
        return loss + self._l2 * float(vector @ vector), gradient + 2.0 * self._l2 * vector

    def _part(self, table: Floats, part: _Part) -> tuple[float, Floats]:
        first, last, dag = part.block.first, part.block.last, part.facts.dag
        chosen = part.facts.edges(first, last)
        alphas = softmax(table, part.facts, first, last)
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
        np.add.at(gradient, dag.kinds[chosen], logits[:, None] * part.facts.values[chosen])
        return loss, gradient


def _parts(
    scores: EdgeScores, labels: Labels, orderings: Sequence[Ordering], workers: Workers
) -> list[_Part]:
    linked = scores.linked
    tables = tables_of(scores.tables)
    corpus = linked.relations.corpus
    graphs = [(edges_of(dag), EdgeFacts.of(dag, corpus)) for dag in linked.dags(orderings)]
    marginals = np.empty((corpus.n_tokens, scores.n_labels))

    def run(block: tuple[int, int]) -> list[_Part]:
        scored = ScoredBlock.of(scores, block, tables)
        for edges, facts in graphs:
            scored.sweep(edges, marginals)
            scored.fill(edges, facts, marginals)
        return [_Part(scored, edges, facts, labels) for edges, facts in graphs]

    return [part for parts in workers.map(run, linked.blocks()) for part in parts]
