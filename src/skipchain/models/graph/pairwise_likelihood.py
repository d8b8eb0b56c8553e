"""The likelihood of undirected graphs, as a function of one vector for all edge types."""

from __future__ import annotations

from typing import Any

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.models.graph.belief import PropagationSettings
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.objective import GraphObjective
from skipchain.models.graph.pairwise import UndirectedGraph
from skipchain.parallel import Workers


class PairwiseLikelihood(GraphObjective):
    """−log p(labels | input) of whole documents + l2 · Σ w², and its gradient.

    log Z is Bethe's approximation: exact for documents without loops. Where messages have several
    fixed points, those reached from equal messages and from the gold labels are compared: a fixed
    point with a low log Z would pass for a good fit. The gradient in the scores is the beliefs
    minus the gold labels.

    With ``piecewise`` [N, L] every pair is normalised by itself, given these log probabilities of
    its two labels; that is exact. ``unconverged`` counts the documents whose messages had not
    converged when the objective was called last. Other arguments are those of `GraphObjective`.
    """

    def __init__(
        self,
        dataset: GraphDataset,
        labels: Labels,
        n_labels: int,
        workers: Workers,
        *,
        propagation: PropagationSettings | None = None,
        piecewise: Floats | None = None,
        **others: Any,
    ) -> None:
        super().__init__(dataset, labels, n_labels, workers, **others)
        self.unconverged = 0
        self._propagation = propagation or PropagationSettings()
        self._graph = UndirectedGraph.of(dataset, piecewise=piecewise is not None)
        self._node_log_probabilities = piecewise
        self._nodes = labels[self._graph.tokens]
        graph = self._graph.graph
        ends = self._nodes[graph.ends]
        self._counts = np.zeros((len(dataset.edge_set.edge_types), n_labels, n_labels))
        np.add.at(self._counts, (graph.edge_types, ends[:, 0], ends[:, 1]), 1.0)
        alike = ends[graph.agreeing]
        same = np.flatnonzero(alike[:, 0] == alike[:, 1])
        self._agreed = same, alike[same, 0]

    def _gold(self, edge_type: str) -> Labels:
        relation, _ = self.dataset.edges_of_type(edge_type)
        if relation.rule.is_chain:
            return self._labels
        first, second = self._labels[relation.pairs].T
        return np.where(first == second, first, self.n_labels).astype(np.int32)

    def _losses(self, scores: EdgeScores) -> tuple[float, Floats]:
        graph = self._graph
        pairwise = graph.scores(scores, self._workers, self._node_log_probabilities)
        beliefs = graph.propagate(pairwise, self._propagation, self._workers, self._nodes)
        self.unconverged = len(self._propagation.unconverged(beliefs))
        gold = np.arange(len(self._nodes)), self._nodes
        score = pairwise.node[gold].sum() + (pairwise.tables * self._counts).sum()
        loss = float(beliefs.log_z.sum()) - float(score + pairwise.agree[self._agreed].sum())
        beliefs.node[gold] -= 1.0
        beliefs.agreements[self._agreed] -= 1.0
        if graph.node is not None:
            self._residuals[graph.node] = beliefs.node
        for edge_type, place in graph.agreement_rows.items():
            self._residuals[edge_type] = beliefs.agreements[place]
        return loss, beliefs.pairs - self._counts
