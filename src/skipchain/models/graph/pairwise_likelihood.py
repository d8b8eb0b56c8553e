"""The likelihood of undirected graphs, as a function of one vector for all kinds of edges."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.models.graph.belief import Sending
from skipchain.models.graph.dataset import Linked
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.objective import LinkedObjective
from skipchain.models.graph.pairwise import Undirected
from skipchain.parallel import Workers


class PairwiseLikelihood(LinkedObjective):
    """−log p(labels | input) of whole documents + l2 · Σ w², and its gradient.

    log Z is Bethe's approximation: exact for documents without loops. Where messages can rest in
    several places, those found from equal messages and from the known labels are compared: a place
    with a low log Z would pass for a good fit. The gradient in the scores is what is believed minus
    what is known.

    With ``apart`` [N, L] every pair is normalised by itself, given these log probabilities of its
    two labels; that is exact. ``unsettled`` counts the documents whose messages had not come to
    rest when the objective was called last.
    """

    def __init__(
        self,
        linked: Linked,
        labels: Labels,
        n_labels: int,
        workers: Workers,
        *,
        l2: float = 0.0,
        observed: bool = True,
        single: bool = False,
        sending: Sending | None = None,
        apart: Floats | None = None,
    ) -> None:
        super().__init__(linked, labels, n_labels, workers, l2=l2, observed=observed, single=single)
        self.unsettled = 0
        self._sending = sending or Sending()
        self._graph = Undirected.of(linked, apart=apart is not None)
        self._given = apart
        self._nodes = labels[self._graph.tokens]
        graph = self._graph.graph
        ends = self._nodes[graph.ends]
        self._counts = np.zeros((len(linked.relations.kinds), n_labels, n_labels))
        np.add.at(self._counts, (graph.kinds, ends[:, 0], ends[:, 1]), 1.0)
        alike = ends[graph.agreeing]
        same = np.flatnonzero(alike[:, 0] == alike[:, 1])
        self._agreed = same, alike[same, 0]

    def _gold(self, kind: str) -> Labels:
        relation, _ = self.linked.of_kind(kind)
        if relation.rule.chain:
            return self._labels
        first, second = self._labels[relation.pairs].T
        return np.where(first == second, first, self.n_labels).astype(np.int32)

    def _losses(self, scores: EdgeScores) -> tuple[float, Floats]:
        graph = self._graph
        own = graph.scores(scores, self._workers, self._given)
        found = graph.propagate(own, self._sending, self._workers, self._nodes)
        self.unsettled = len(self._sending.unsettled(found))
        known = np.arange(len(self._nodes)), self._nodes
        loss = float(found.log_z.sum()) - float(
            own.node[known].sum()
            + (own.tables * self._counts).sum()
            + own.agree[self._agreed].sum()
        )
        found.node[known] -= 1.0
        found.agreements[self._agreed] -= 1.0
        if graph.node is not None:
            self._residuals[graph.node] = found.node
        for kind, place in graph.skips.items():
            self._residuals[kind] = found.agreements[place]
        return loss, found.pairs - self._counts
