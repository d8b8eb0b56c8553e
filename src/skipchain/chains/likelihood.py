"""Likelihoods of chains as functions of a parameter vector.

Conditional likelihood: loss = log Z(free) − log Z(clamped), where the clamped sum runs over the
label sequences that agree with what is known, most often one gold path. Marginal likelihood: the
sum over positions of −log p(y_t | x). Both for chains normalised as a whole and for chains
normalised at each position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints, Potentials
from skipchain.chains.scorer import LinearScorer, Weights, block_potentials, variances
from skipchain.chains.sums import Residuals, sum_bundles
from skipchain.errors import CorpusError, ParameterError
from skipchain.kernels import chain2 as order2
from skipchain.kernels.chain import (
    forward_backward,
    local_marginals,
    local_path,
    marginal_residuals,
    normalisers,
    path_score,
    pull_back,
    subtract_path,
)
from skipchain.learn.vectors import dot, map_blocks
from skipchain.parallel import BLOCK_TOKENS, Workers, blocks

TINY = 1e-3  # keeps the curvature above zero where nothing is penalised
RUN_TOKENS = 1 << 17  # whose residuals are held at once, where those of all are not
Blocks = list[tuple[int, int]]
PAIR_NUMBERS = 1 << 18  # in the tables of pairs of one block


class ChainObjective(ABC):
    """A loss of chains + l2 · Σ w², and its gradient, as a function of the vector w.

    With ``local`` every label is drawn given the one before it; else chains are normalised as a
    whole, over the label sequences that ``constraints`` allow, which must include the known ones.
    """

    def __init__(
        self,
        data: Dataset,
        scorer: LinearScorer,
        workers: Workers,
        *,
        l2: float = 0.0,
        constraints: Constraints | None = None,
        local: bool = False,
    ) -> None:
        assert data.labels is not None
        self._labels = data.labels
        self._data = data
        self.scorer = scorer
        self._workers = workers
        self._l2 = l2
        self._constraints = constraints
        self._local = local
        labels = scorer.n_labels
        # single precision halves what the transposed sums read; they are added up in double
        precision: Any = np.float32 if scorer.single_precision else np.float64
        room = scorer.room
        self._runs = _runs(data.offsets, self._blocks()) if scorer.by_token else []
        self._first = 0  # token of the run that is worked on
        held = max((tokens.stop - tokens.start for _, tokens in self._runs), default=data.n_tokens)
        self._node: Residuals = np.empty((held, labels), precision)
        listed = data.n_tokens if data.rows.n_edge_features else 0
        self._edges = room.zeros((listed, labels + 1, labels), np.float64)
        self._bundle_sums = room.table((data.rows.bundles.n_rows, labels), precision)
        self._latest: tuple[Weights, Floats] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held for residuals."""
        return self._node.nbytes + self._edges.nbytes

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        weights = self.scorer.unpack(vector)
        bundle_sums = sum_bundles(self._data.rows, weights.state, self._workers, self._bundle_sums)
        parts = self._parts(weights, bundle_sums)
        # summed in the order of the blocks: the same bits whatever the number of threads
        losses, pairs, starts, ends, triples = (np.array(part) for part in zip(*parts, strict=True))
        pair, start, end, second = (part.sum(axis=0) for part in (pairs, starts, ends, triples))
        gradient = self.scorer.gradient(self._node, pair, start, end, self._edge_rows, second)
        loss = float(losses.sum())
        if self._l2:
            loss += self._penalise(vector, gradient)
        return loss, gradient

    def _penalise(self, vector: Floats, gradient: Floats) -> float:
        """l2 · Σ w², whose gradient is added in place."""

        def penalise(first: int, last: int) -> float:
            part = vector[first:last]
            gradient[first:last] += 2.0 * self._l2 * part
            return dot(part, part)

        return self._l2 * sum(map_blocks(penalise, len(vector), self._workers))

    def curvature(self) -> Floats:
        """A rough diagonal of the Hessian where the objective was called last, above zero."""
        diagonal = self.spread()
        diagonal += 2.0 * self._l2 + TINY
        return diagonal

    def spread(self) -> Floats:
        """The share of the data in the `curvature`."""
        if self.scorer.by_token:
            assert self._latest is not None
            self._parts(*self._latest, squared=True)
            return self.scorer.added_curvature(self._spread, self._edge_rows)
        return self.scorer.curvature(self._node, self._edge_rows)

    def _parts(
        self, weights: Weights, bundle_sums: Floats, *, squared: bool = False
    ) -> list[tuple[float, Floats, Floats, Floats, Floats]]:
        """Loss and gradient of each block; residuals are added run by run, or stay as they are.

        With ``squared`` their variances are added, see `LinearScorer.curvature`.
        """

        def run(block: tuple[int, int]) -> tuple[float, Floats, Floats, Floats, Floats]:
            return self._block(weights, bundle_sums, block)

        if not self.scorer.by_token:
            return self._workers.map(run, self._blocks())
        self._latest = weights, bundle_sums
        self._spread = np.zeros(self.scorer.n_labels)
        self.scorer.begin()
        parts = []
        for blocks_of_run, tokens in self._runs:
            self._first = tokens.start
            parts += self._workers.map(run, blocks_of_run)
            node = self._node[: tokens.stop - tokens.start]
            if squared:
                node = variances(node)
                both = np.concatenate([self._spread[None], node])  # in the order of one long sum
                self._spread = both.sum(axis=0)
            self.scorer.add(tokens.start, node, squared=squared)
        return parts

    @property
    def _edge_rows(self) -> Floats:
        tokens, before, labels = self._edges.shape
        return self._edges.reshape(tokens, before * labels)

    def _block(
        self, weights: Weights, bundle_sums: Floats, block: tuple[int, int]
    ) -> tuple[float, Floats, Floats, Floats, Floats]:
        potentials = block_potentials(self._data, weights, bundle_sums, block)
        if self._constraints is not None:
            potentials = potentials.constrained(self._constraints)
        begin = potentials.first - self._first
        node = self._node[begin : begin + len(potentials.node)]
        triples = np.zeros_like(weights.triples)
        if weights.order == 2:
            loss, pairs = self._second_residuals(potentials, weights.triples, node, triples)
        else:
            loss, pairs = self._residuals(potentials, node)
        start, end = self._ends(potentials, node, pairs)
        self.scorer.room.settle()
        return loss, pairs.sum(axis=0), start, end, triples

    def _ends(self, p: Potentials, node: Residuals, pairs: Floats) -> tuple[Floats, Floats]:
        """The gradient in the scores of first and last labels; features of pairs are noted."""
        heads = p.heads()
        if len(self._edges):
            edges = self._edges[p.tokens]
            edges[:, :-1] = pairs
            edges[:, -1] = 0.0
            edges[heads, -1] = node[heads]
        start = node[heads].sum(axis=0, dtype=np.float64)
        return start, node[p.tails()].sum(axis=0, dtype=np.float64)

    def _blocks(self) -> list[tuple[int, int]]:
        """Runs of whole chains that are worked on together."""
        return self._data.blocks()

    @abstractmethod
    def _residuals(self, p: Potentials, node: Residuals) -> tuple[float, Floats]:
        """Write the gradient in node scores; return the loss and the gradient in pair scores."""

    def _second_residuals(
        self, p: Potentials, second: Floats, node: Residuals, triples: Floats
    ) -> tuple[float, Floats]:
        """`_residuals` for chains of order 2; the gradient in triples is added to ``triples``."""
        raise ParameterError("this likelihood is for chains of order 1")

    def _allowed(self, p: Potentials) -> Bools:
        """Which labels the tokens of a block may have; none of them where all are known."""
        if self._data.allowed is None:
            return np.zeros((0, self.scorer.n_labels), np.bool_)
        return self._data.allowed[p.tokens]

    def _pairs(self, p: Potentials) -> Floats:
        states = self.scorer.n_labels
        return np.zeros((len(p.node) if len(self._edges) else 1, states, states))


class ConditionalLikelihood(ChainObjective):
    """−log p(labels | input), the sum over whole sequences."""

    def _residuals(self, p: Potentials, node: Residuals) -> tuple[float, Floats]:
        pairs = self._pairs(p)
        gold = self._labels[p.tokens]
        if self._data.allowed is not None:
            return self._clamped_sum(p, node, pairs)
        if self._local:
            return local_path(p.node, p.edge, p.offsets, gold, node, pairs), pairs
        log_z = np.empty(len(p.offsets) - 1)
        score = np.empty(len(p.offsets) - 1)
        forward_backward(p.node, p.edge, p.offsets, node, pairs, log_z)
        path_score(p.node, p.edge, p.offsets, gold, score)
        require_possible(score, p)
        subtract_path(p.offsets, gold, node, pairs)
        return float((log_z - score).sum()), pairs

    def _second_residuals(
        self, p: Potentials, second: Floats, node: Residuals, triples: Floats
    ) -> tuple[float, Floats]:
        pairs = self._pairs(p)
        gold = self._labels[p.tokens]
        if self._local:
            loss = order2.local_path(p.node, p.edge, second, p.offsets, gold, node, pairs, triples)
            return loss, pairs
        log_z = self._second_sums(p, second, node, pairs, triples)
        if self._data.allowed is None:
            known = np.empty_like(log_z)
            order2.path_score(p.node, p.edge, second, p.offsets, gold, known)
            require_possible(known, p)
            subtract_path(p.offsets, gold, node, pairs)
            order2.subtract_path(p.offsets, gold, triples)
        else:
            clamped = p.clamped(self._allowed(p))
            clamped_node, clamped_pairs, clamped_triples = (
                np.zeros_like(x) for x in (p.node, pairs, triples)
            )
            known = self._second_sums(clamped, second, clamped_node, clamped_pairs, clamped_triples)
            require_possible(known, p)
            node -= clamped_node
            pairs -= clamped_pairs
            triples -= clamped_triples
        return float((log_z - known).sum()), pairs

    def _second_sums(
        self,
        p: Potentials,
        second: Floats,
        node: NDArray[np.floating],
        pairs: Floats,
        triples: Floats,
    ) -> Floats:
        log_z = np.empty(len(p.offsets) - 1)
        order2.forward_backward(
            p.node, p.edge, p.node, p.edge, second, p.offsets, False, node, pairs, triples, log_z
        )
        return log_z

    def _clamped_sum(self, p: Potentials, node: Residuals, pairs: Floats) -> tuple[float, Floats]:
        """Free minus clamped; the free part of a locally normalised chain is constant."""
        free = p.normalised() if self._local else p
        clamped = free.clamped(self._allowed(p))
        known, known_pairs = np.empty_like(p.node), np.zeros_like(pairs)
        known_z = np.empty(len(p.offsets) - 1)
        forward_backward(clamped.node, clamped.edge, p.offsets, known, known_pairs, known_z)
        require_possible(known_z, p)
        if self._local:
            norms = np.empty_like(p.node)
            normalisers(p.node, p.edge, p.offsets, norms)
            known *= -1.0
            known_pairs *= -1.0
            pull_back(p.node, p.edge, p.offsets, norms, known, known_pairs)
            node[:] = known
            return float(-known_z.sum()), known_pairs
        log_z = np.empty(len(p.offsets) - 1)
        forward_backward(p.node, p.edge, p.offsets, node, pairs, log_z)
        node -= known
        pairs -= known_pairs
        return float((log_z - known_z).sum()), pairs


class MarginalLikelihood(ChainObjective):
    """−Σ_t log p(y_t | input): every position's own label, whatever the others are."""

    def _blocks(self) -> list[tuple[int, int]]:
        """Short enough for the tables of pairs to stay in the processor's cache."""
        size = max(1, PAIR_NUMBERS // self.scorer.n_labels**2)
        return blocks(self._data.offsets, min(BLOCK_TOKENS, size))

    def _residuals(self, p: Potentials, node: Residuals) -> tuple[float, Floats]:
        gold, allowed = self._labels[p.tokens], self._allowed(p)
        if self._local:
            pairs = self._pairs(p)
            return local_marginals(p.node, p.edge, p.offsets, gold, allowed, node, pairs), pairs
        pairs = np.empty((*p.node.shape, self.scorer.n_labels))
        marginals = np.empty_like(p.node)
        log_z, loss = np.empty(len(p.offsets) - 1), np.empty(len(p.offsets) - 1)
        forward_backward(p.node, p.edge, p.offsets, marginals, pairs, log_z)
        marginal_residuals(p.offsets, gold, allowed, marginals, pairs, loss)
        node[:] = marginals
        return float(loss.sum()), pairs


def _runs(offsets: Ints, chosen: list[tuple[int, int]]) -> list[tuple[Blocks, slice]]:
    """Neighbouring blocks of chains, of about `RUN_TOKENS` together, and their tokens."""
    runs: list[tuple[Blocks, slice]] = []
    for first, last in chosen:
        begin, end = int(offsets[first]), int(offsets[last])
        if runs and end - runs[-1][1].start <= RUN_TOKENS:
            own, tokens = runs.pop()
            runs.append(([*own, (first, last)], slice(tokens.start, end)))
        else:
            runs.append(([(first, last)], slice(begin, end)))
    return runs


def require_possible(score: Floats, p: Potentials) -> None:
    """Raise where what is known of a chain has no path."""
    lost = np.flatnonzero(score == -np.inf)
    if len(lost):
        token = p.first + int(p.offsets[lost[0]])
        raise CorpusError(
            f"the labels of the sequence at token {token} break the scheme or contradict each "
            "other; repair them first, or train without constraints"
        )
