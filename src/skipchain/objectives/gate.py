"""The marginal likelihood as a function of a gate, the scores of edges given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.graph.ordering import Ordering
from skipchain.inference.gate import FEATURES, EdgeFacts, softmax
from skipchain.inference.mixture import edges_of
from skipchain.kernels.mixture import (
    Edges,
    Tables,
    adjoint_sweep,
    exponentials,
    sweep,
    tables_of,
)
from skipchain.parallel import Workers
from skipchain.scorers.edges import EdgeScores

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some documents in one ordering, their edges scored."""

    first: int
    last: int
    edges: Edges
    facts: EdgeFacts
    chosen: slice
    bases: NDArray[np.int64]
    scores: Floats
    psi: Floats
    tables: Tables
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
        first, last, dag = part.first, part.last, part.facts.dag
        alphas = softmax(table, part.facts, part.chosen, first, last)
        weights = np.zeros(dag.n_edges)
        weights[part.chosen] = alphas
        edges = part.edges._replace(weights=weights)
        size = part.scores.shape[1]
        norms, marginals = np.empty_like(part.scores), np.empty((dag.n_nodes, size))
        sweep(first, last, edges, part.bases, part.scores, part.psi, part.tables, norms, marginals)
        mixing = np.zeros(dag.n_edges)
        loss = adjoint_sweep(
            first, last, edges, part.bases, part.scores, part.psi, part.tables, norms, marginals,
            part.labels, np.empty_like(marginals), np.zeros_like(part.scores),
            np.zeros_like(part.tables.logs), mixing,
        )  # fmt: skip
        # through the softmax: dα_e / dlogit_e' = α_e ([e = e'] − α_e')
        own = alphas * mixing[part.chosen]
        counts = np.diff(dag.indptr[first : last + 1])
        sums = np.add.reduceat(own, dag.indptr[first:last] - part.chosen.start)
        logits = own - alphas * np.repeat(sums, counts)
        gradient = np.zeros_like(table)
        np.add.at(
            gradient, dag.kinds[part.chosen], logits[:, None] * part.facts.values[part.chosen]
        )
        return loss, gradient


def _parts(
    scores: EdgeScores, labels: Labels, orderings: Sequence[Ordering], workers: Workers
) -> list[_Part]:
    linked = scores.linked
    tables = tables_of(scores.tables)
    documents = linked.relations.documents
    graphs = [(dag, EdgeFacts.of(dag, linked.relations.corpus)) for dag in linked.dags(orderings)]

    def run(block: tuple[int, int]) -> list[_Part]:
        first, last = documents[list(block)].tolist()
        node, bases, _ = scores.block(block)
        psi, norms = np.empty_like(node), np.empty_like(node)
        exponentials(node, psi)
        found = []
        for dag, facts in graphs:
            edges = edges_of(dag)
            marginals = np.empty((dag.n_nodes, node.shape[1]))
            sweep(first, last, edges, bases, node, psi, tables, norms, marginals)
            chosen = facts.fill(first, last, marginals)
            found.append(_Part(first, last, edges, facts, chosen, bases, node, psi, tables, labels))
        return found

    return [part for parts in workers.map(run, linked.blocks()) for part in parts]
