"""Conditional likelihood of chains: loss = log Z(free) − log Z(clamped)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skipchain.dataset import Dataset
from skipchain.errors import CorpusError
from skipchain.kernels.chain import forward_backward, path_score, subtract_path
from skipchain.learn.vectors import dot
from skipchain.parallel import Workers
from skipchain.potentials import Constraints
from skipchain.scorers.linear import LinearScorer, Weights, block_potentials, unit_sums

Floats = NDArray[np.float64]


class ConditionalLikelihood:
    """−log p(labels | input) + l2 · Σ w², and its gradient, as a function of the vector w.

    The clamped term is one gold path. With ``constraints`` the free term sums only over the label
    sequences they allow, which must include the gold ones.
    """

    def __init__(
        self,
        data: Dataset,
        scorer: LinearScorer,
        workers: Workers,
        *,
        l2: float = 0.0,
        constraints: Constraints | None = None,
    ) -> None:
        assert data.labels is not None
        self._labels = data.labels
        self._data = data
        self._scorer = scorer
        self._workers = workers
        self._l2 = l2
        self._constraints = constraints
        labels = scorer.n_labels
        # single precision halves what the transposed sums read; they are added up in double
        self._node = np.empty((data.n_tokens, labels), np.float32)
        listed = data.n_tokens if data.rows.n_edge_features else 0
        self._edges = np.zeros((listed, labels, labels))

    @property
    def nbytes(self) -> int:
        """Bytes held for residuals."""
        return self._node.nbytes + self._edges.nbytes

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        weights = self._scorer.unpack(vector)
        units = unit_sums(self._data.rows, weights.state, self._workers)
        parts = self._workers.map(
            lambda block: self._block(weights, units, block), self._data.blocks()
        )
        # summed in the order of the blocks: the same bits whatever the number of threads
        losses, pairs, starts, ends = (np.array(part) for part in zip(*parts, strict=True))
        edges = self._edges.reshape(len(self._edges), self._scorer.n_labels**2)
        gradient = self._scorer.gradient(
            self._node, pairs.sum(axis=0), starts.sum(axis=0), ends.sum(axis=0), edges
        )
        loss = float(losses.sum())
        if self._l2:
            loss += self._l2 * dot(vector, vector)
            gradient += 2.0 * self._l2 * vector
        return loss, gradient

    def _block(
        self, weights: Weights, units: Floats, block: tuple[int, int]
    ) -> tuple[float, Floats, Floats, Floats]:
        potentials = block_potentials(self._data, weights, units, block)
        if self._constraints is not None:
            potentials = potentials.constrained(self._constraints)
        tokens, offsets = potentials.tokens, potentials.offsets
        gold = self._labels[tokens]
        states = self._scorer.n_labels
        listed = len(self._edges) > 0
        pairs = self._edges[tokens] if listed else np.zeros((1, states, states))
        log_z = np.empty(len(offsets) - 1)
        score = np.empty(len(offsets) - 1)
        node = self._node[tokens]
        forward_backward(potentials.node, potentials.edge, offsets, node, pairs, log_z)
        path_score(potentials.node, potentials.edge, offsets, gold, score)
        if (score == -np.inf).any():
            lost = potentials.first + int(offsets[np.flatnonzero(score == -np.inf)[0]])
            raise CorpusError(
                f"the labels of the sequence at token {lost} break the scheme; "
                "repair them first, or train without constraints"
            )
        subtract_path(offsets, gold, node, pairs)
        start = node[potentials.heads()].sum(axis=0, dtype=np.float64)
        end = node[potentials.tails()].sum(axis=0, dtype=np.float64)
        return float((log_z - score).sum()), pairs.sum(axis=0), start, end
