"""Likelihoods of labels that hidden states emit, as functions of a parameter vector.

Conditional likelihood: loss = log Z(free) − log Z(clamped), sums over all paths of states, with all
labels or with those that agree with what is known; the first is zero for a local model (001,
equations 4.24 and 4.37). Marginal likelihood: −Σ_t log p(y_t | x). Expected likelihood: that of
states and labels together, under a distribution of states that is kept, as the M-step of EM needs
it (001, equations 4.29 and 4.40).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Potentials
from skipchain.chains.sums import sum_rows, transposed
from skipchain.features.matrix import CSRMatrix
from skipchain.kernels.chain import forward_backward, marginal_residuals
from skipchain.kernels.latent import expected_labels, log_softmax_backward
from skipchain.learn.vectors import dot
from skipchain.models.latent.scorer import (
    StatePotentials,
    StateScorer,
    block_tokens,
    state_bundle_sums,
    state_potentials,
)
from skipchain.parallel import Workers, blocks


class StateObjective(ABC):
    """A loss of chains of hidden states + l2 · Σ w², and its gradient, as a function of w.

    A ``local`` model is normalised at each position (IOHMM), else chains are as a whole (HRF).
    """

    def __init__(
        self,
        data: Dataset,
        scorer: StateScorer,
        workers: Workers,
        *,
        l2: float = 0.0,
        local: bool = False,
    ) -> None:
        assert data.labels is not None
        self._labels = data.labels
        self._data = data
        self._scorer = scorer
        self._workers = workers
        self._l2 = l2
        self._local = local
        states, labels = scorer.n_states, scorer.n_labels
        self._transitions = np.zeros((data.n_tokens, states + 1, states))
        self._emissions = np.zeros((data.n_tokens, states, labels))
        nothing = np.zeros((0, labels), np.bool_)
        self._allowed = nothing if data.allowed is None else data.allowed

    @property
    def nbytes(self) -> int:
        """Bytes held for residuals."""
        return self._transitions.nbytes + self._emissions.nbytes

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        # summed in the order of the blocks: the same bits whatever the number of threads
        loss = sum(self._map_blocks(vector, self._block))
        gradient = self._scorer.gradient(self._transitions, self._emissions, self._workers)
        if self._l2:
            loss += self._l2 * dot(vector, vector)
            gradient += 2.0 * self._l2 * vector
        return loss, gradient

    def _map_blocks(
        self, vector: Floats, function: Callable[[StatePotentials], float]
    ) -> list[float]:
        """A function of the potentials of every block."""
        weights = self._scorer.weights(vector)
        rows, offsets = self._data.rows, self._data.offsets
        bundle_sums = state_bundle_sums(rows, weights, self._workers)
        return self._workers.map(
            lambda block: function(
                state_potentials(rows, weights, bundle_sums, offsets, block, local=self._local)
            ),
            blocks(offsets, block_tokens(self._scorer.n_states, self._scorer.n_labels)),
        )

    def _block(self, p: StatePotentials) -> float:
        """Write the gradient in the scores of one block, and return its loss."""
        transitions, emissions = self._transitions[p.tokens], self._emissions[p.tokens]
        gains = np.zeros_like(p.log_norms)
        loss = self._residuals(p, transitions, emissions, gains)
        log_softmax_backward(p.emission_probs, emissions, gains)
        if self._local:
            log_softmax_backward(p.transition_probs, transitions, np.zeros(transitions.shape[:2]))
        return loss

    @abstractmethod
    def _residuals(
        self, p: StatePotentials, transitions: Floats, emissions: Floats, gains: Floats
    ) -> float:
        """Write the gradient in log-potentials and that in ``gains``, the norms; return the loss.

        ``emissions`` [N, S, L] is in log p(label | state), ``gains`` [N, S] in what a state's label
        scores sum up to, which a local model does not have.
        """

    def _posterior(
        self, p: StatePotentials, transitions: Floats, emissions: Floats, power: float = 1.0
    ) -> float:
        """Write p(states | what is known) to both tables; returns log p(what is known, states).

        transitions [N, S + 1, S] are the probabilities of two states in a row, emissions [N, S, L]
        those of a state and its label.
        """
        labels, allowed = self._labels[p.tokens], self._allowed_labels(p)
        known = p.evidence(labels, allowed)
        chain = p.chain(known, power)
        marginals, total = _forward_backward(chain, transitions)
        expected_labels(marginals, p.emissions, labels, allowed, known, emissions)
        return total

    def _allowed_labels(self, p: StatePotentials) -> Bools:
        """Which labels the block's tokens may have; none of them where all are known."""
        return self._allowed[p.tokens] if len(self._allowed) else self._allowed

    def _add_free(self, p: StatePotentials, transitions: Floats, gains: Floats) -> float:
        """Add the gradient of log Z(free), and return it; nothing for a local model."""
        if self._local:
            return 0.0
        free = np.empty_like(transitions)
        marginals, total = _forward_backward(p.chain(), free)
        transitions += free
        gains += marginals
        return total


class StateLikelihood(StateObjective):
    """−log p(labels | input), the sum over whole sequences."""

    def _residuals(
        self, p: StatePotentials, transitions: Floats, emissions: Floats, gains: Floats
    ) -> float:
        known = self._posterior(p, transitions, emissions)
        np.negative(transitions, out=transitions)
        np.negative(emissions, out=emissions)
        if not self._local:
            gains += emissions.sum(axis=2)
        return self._add_free(p, transitions, gains) - known


class StateMarginalLikelihood(StateObjective):
    """−Σ_t log p(y_t | input): every position's own label, whatever the others are."""

    def _residuals(
        self, p: StatePotentials, transitions: Floats, emissions: Floats, gains: Floats
    ) -> float:
        labels, allowed = self._labels[p.tokens], self._allowed_labels(p)
        known = p.evidence(labels, allowed)
        likely = np.exp(known)
        marginals, _ = _forward_backward(p.chain(), transitions)
        # given the label of its own position alone
        states = marginals * likely
        total = states.sum(axis=1, keepdims=True)
        states /= np.maximum(total, np.finfo(np.float64).tiny)
        expected_labels(states, p.emissions, labels, allowed, known, emissions)
        np.negative(emissions, out=emissions)
        pairs = transitions[:, :-1].copy()
        losses = np.empty(len(p.offsets) - 1)
        marginal_residuals(p.offsets, labels, likely, marginals, pairs, losses)
        transitions[:, :-1] = pairs
        _write_starts(transitions, marginals, p.offsets)
        if not self._local:
            gains += marginals
        return float(losses.sum())


class ExpectedLikelihood(StateObjective):
    """−E[log p(states, labels | input)] under the distribution of states from the last `e_step`."""

    def __init__(
        self, data: Dataset, scorer: StateScorer, workers: Workers, **settings: Any
    ) -> None:
        super().__init__(data, scorer, workers, **settings)
        self._pairs = np.zeros_like(self._transitions)
        self._emitted = np.zeros_like(self._emissions)
        self._members = CSRMatrix.empty(0)
        self._on_distinct = self._on_distinct_tokens() if self._local else None

    def _on_distinct_tokens(self) -> ExpectedLikelihood | None:
        """The objective of tokens with distinct features; None where most tokens are distinct."""
        data, scorer = self._data, self._scorer
        first, like = data.rows.tokens.distinct_rows()
        if len(first) > data.n_tokens // 2:
            return None
        self._members = transposed(CSRMatrix(np.arange(data.n_tokens + 1), like), len(first))
        size = len(first)
        few = Dataset(data.rows.take(first), np.arange(size + 1), np.zeros(size, np.int32))
        distinct = StateScorer(few.rows, scorer.n_states, scorer.n_labels, bias=scorer.bias)
        return ExpectedLikelihood(few, distinct, self._workers, l2=self._l2, local=True)

    @property
    def nbytes(self) -> int:
        """Bytes held for residuals and for the states' distribution."""
        return 2 * super().nbytes

    def e_step(self, vector: Floats, power: float = 1.0) -> None:
        """Find the distribution of the states under a vector: the E-step.

        A ``power`` below one makes it flatter (deterministic annealing).
        """
        self._map_blocks(
            vector,
            lambda p: self._posterior(p, self._pairs[p.tokens], self._emitted[p.tokens], power),
        )

    def m_step(self) -> StateObjective:
        """What the M-step is to minimise.

        A local model learns from every token by itself, so that tokens with the same features are
        taken together; where there are many, that saves most of the work.
        """
        if self._on_distinct is None:
            return self
        few = self._on_distinct
        for source, out in ((self._pairs, few._pairs), (self._emitted, few._emitted)):
            width = source[0].size
            sum_rows(
                self._members, source.reshape(-1, width), out.reshape(-1, width), self._workers
            )
        return few

    def counts(self) -> tuple[Floats, Floats]:
        """How often states follow each other [S + 1, S], and emit labels [S, L], as expected."""
        return self._pairs.sum(axis=0), self._emitted.sum(axis=0)

    def _residuals(
        self, p: StatePotentials, transitions: Floats, emissions: Floats, gains: Floats
    ) -> float:
        np.negative(self._pairs[p.tokens], out=transitions)
        np.negative(self._emitted[p.tokens], out=emissions)
        expected = _product(transitions, p.transitions) + _product(emissions, p.emissions)
        if not self._local:
            gains += emissions.sum(axis=2)
            expected += _product(gains, p.log_norms)
        return expected + self._add_free(p, transitions, gains)


def expected_counts(
    data: Dataset, scorer: StateScorer, vector: Floats, workers: Workers, *, local: bool
) -> tuple[Floats, Floats]:
    """How often states follow each other [S + 1, S] and emit labels [S, L], given the labels."""
    bound = ExpectedLikelihood(data, scorer, workers, local=local)
    bound.e_step(vector)
    return bound.counts()


def _forward_backward(chain: Potentials, transitions: Floats) -> tuple[Floats, float]:
    """The marginals of states [N, S], and log Z; those of two in a row go to ``transitions``."""
    marginals = np.empty_like(chain.node)
    pairs = np.zeros_like(chain.edge)
    log_z = np.empty(len(chain.offsets) - 1)
    forward_backward(chain.node, chain.edge, chain.offsets, marginals, pairs, log_z)
    transitions[:, :-1] = pairs
    _write_starts(transitions, marginals, chain.offsets)
    return marginals, float(log_z.sum())


def _product(a: Floats, b: Floats) -> float:
    return dot(a.ravel(), b.ravel())


def _write_starts(transitions: Floats, marginals: Floats, offsets: Ints) -> None:
    """What begins a chain comes from the place before it."""
    heads = offsets[:-1][np.diff(offsets) > 0]
    transitions[:, -1] = 0.0
    transitions[heads, :-1] = 0.0
    transitions[heads, -1] = marginals[heads]
