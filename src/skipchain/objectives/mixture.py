"""Likelihoods of mixtures of parents, as functions of one vector for all kinds of edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skipchain.dataset import Dataset
from skipchain.graph.dag import Dag
from skipchain.inference.mixture import ScoredBlock, edges_of
from skipchain.kernels.mixture import Tables, clamped_likelihood, tables_of
from skipchain.learn.vectors import dot
from skipchain.linked import Linked
from skipchain.parallel import Workers
from skipchain.scorers.edges import EdgeScores
from skipchain.scorers.linear import LinearScorer, Weights

Floats = NDArray[np.float64]

MARGINAL, MIXED, SEPARATE = "marginal", "mixture", "conditional"
TINY = 1e-3  # keeps the curvature above zero where nothing is penalised


class MixtureObjective:
    """A loss of mixtures of parents + l2 · Σ w², and its gradient, over all kinds of edges.

    ``marginal`` is −Σ_k log p(y_k | x), for which the gradient takes one sweep back through the
    graph; ``mixture`` is −Σ_k log Σ_u α_ku p(y_k | y_u, x) with known labels y_u; ``conditional``
    is −Σ_k Σ_u log p(y_k | y_u, x), where the kinds of edges have nothing to do with each other.
    Each of several graphs counts by its ``shares``.
    """

    def __init__(
        self,
        linked: Linked,
        labels: NDArray[np.int32],
        n_labels: int,
        dags: Sequence[Dag],
        workers: Workers,
        *,
        loss: str = MARGINAL,
        l2: float = 0.0,
        observed: bool = True,
        single: bool = False,
        shares: Sequence[float] | None = None,
        mixing: Sequence[Floats] | None = None,
    ) -> None:
        self.n_labels = n_labels
        self._linked = linked
        self._labels = labels
        self._workers = workers
        self._loss = loss
        self._l2 = l2
        self._graphs = [
            edges_of(dag, None if mixing is None else mixing[k]) for k, dag in enumerate(dags)
        ]
        self._shares = list(shares or [1.0] * len(dags))
        self._scorers = {
            kind: LinearScorer(
                self._dataset(kind), n_labels, observed=observed, boundaries=self._bounded(kind),
                workers=workers, single=single,
            )
            for kind in linked.edges
        }  # fmt: skip
        self._cuts = np.cumsum([scorer.size for scorer in self._scorers.values()])
        self._residuals = {
            kind: np.zeros((rows.tokens.n_rows, n_labels)) for kind, rows in linked.edges.items()
        }
        self._adjoint = np.empty((len(labels), n_labels))
        self._marginals = np.empty((len(labels), n_labels))

    @property
    def size(self) -> int:
        """The number of parameters."""
        return int(self._cuts[-1])

    @property
    def nbytes(self) -> int:
        """Bytes held beside the features."""
        parts = [self._adjoint, self._marginals, *self._residuals.values()]
        scorers = self._scorers.values()
        return sum(part.nbytes for part in parts) + sum(scorer.nbytes for scorer in scorers)

    def pack(self, weights: Mapping[str, Weights]) -> Floats:
        """The vector of the weights of each kind."""
        return np.concatenate([scorer.pack(weights[k]) for k, scorer in self._scorers.items()])

    def unpack(self, vector: Floats) -> dict[str, Weights]:
        """The weights of each kind; the tables may be overwritten by the next call."""
        parts = np.split(vector, self._cuts[:-1])
        return {
            kind: scorer.unpack(part)
            for (kind, scorer), part in zip(self._scorers.items(), parts, strict=True)
        }

    def weights(self, vector: Floats) -> dict[str, Weights]:
        """The weights of each kind, to keep."""
        return {kind: own.copy() for kind, own in self.unpack(vector).items()}

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        scores = EdgeScores.of(self._linked, self.unpack(vector), self._workers)
        for residuals in self._residuals.values():
            residuals[:] = 0.0
        tables = tables_of(scores.tables)
        parts = self._workers.map(lambda b: self._block(scores, tables, b), self._linked.blocks())
        # summed in the order of the blocks: the same bits whatever the number of threads
        loss = float(np.array([part[0] for part in parts]).sum())
        pairs = np.array([part[1] for part in parts]).sum(axis=0)
        gradient = np.concatenate([self._gradient(kind, pairs) for kind in self._scorers])
        if self._l2:
            loss += self._l2 * dot(vector, vector)
            gradient += 2.0 * self._l2 * vector
        return loss, gradient

    def curvature(self) -> Floats:
        """A rough diagonal of the Hessian where the objective was called last, above zero."""
        found = [
            scorer.curvature(self._residuals[kind], _none(scorer))
            for kind, scorer in self._scorers.items()
        ]
        return np.concatenate(found) + (2.0 * self._l2 + TINY)

    def _block(
        self, scores: EdgeScores, tables: Tables, block: tuple[int, int]
    ) -> tuple[float, Floats]:
        scored = ScoredBlock.of(scores, block, tables)
        loss, pairs = 0.0, np.zeros_like(tables.logs)
        total = np.zeros_like(scored.scores)
        for edges, share in zip(self._graphs, self._shares, strict=True):
            own, own_pairs = np.zeros_like(total), np.zeros_like(pairs)
            if self._loss == MARGINAL:
                scored.sweep(edges, self._marginals)
                found = scored.adjoint(
                    edges, self._marginals, self._labels, self._adjoint, own, own_pairs,
                    np.empty(len(edges.parents)),
                )  # fmt: skip
            else:
                found = clamped_likelihood(
                    scored.first, scored.last, edges, scored.bases, scored.scores, scored.psi,
                    tables, self._labels, self._loss == MIXED, own, own_pairs,
                )  # fmt: skip
            loss += share * found
            total += share * own
            pairs += share * own_pairs
        for kind, place in scored.places.items():
            start, stop = self._linked.row_offsets(kind)[list(block)].tolist()
            self._residuals[kind][start:stop] = total[place]
        return loss, pairs

    def _gradient(self, kind: str, pairs: Floats) -> Floats:
        scorer, node = self._scorers[kind], self._residuals[kind]
        size = scorer.n_labels
        first, last = np.zeros(size), np.zeros(size)
        if self._bounded(kind):
            heads, tails = self._linked.bounds(kind)
            first, last = node[heads].sum(axis=0), node[tails].sum(axis=0)
        own = pairs[self._linked.number(kind)]
        return scorer.gradient(node, own, first, last, _none(scorer), np.zeros((0, size, size)))

    def _bounded(self, kind: str) -> bool:
        return self._linked.of_kind(kind)[0].rule.bounded

    def _dataset(self, kind: str) -> Dataset:
        relation, along = self._linked.of_kind(kind)
        rows = self._linked.edges[kind]
        children = relation.ends(along=along)[0]
        labels = self._labels if relation.rule.chain else self._labels[children]
        return Dataset(rows, np.arange(rows.tokens.n_rows + 1), labels)


def _none(scorer: LinearScorer) -> Floats:
    """No gradient of edge features, which these models do not have."""
    return np.zeros((0, (scorer.n_labels + 1) * scorer.n_labels))
