"""The scorer of hidden states: weights to scores of transitions and emissions, gradients back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels
from skipchain.chains.potentials import Potentials
from skipchain.chains.sums import FeatureSums, sum_block, sum_bundles
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.kernels.latent import evidence, log_softmax
from skipchain.parallel import BLOCK_TOKENS, Workers

BLOCK_SCORES = 1 << 15  # scores of one block
MAX_STATES = 1_000


@dataclass(frozen=True, slots=True)
class StateWeights:
    """What features say of hidden states and of the labels that these emit.

    The place before a chain is the previous state number S. The last row of both tables goes with
    every token, whatever its features.
    """

    transitions: Floats  # [F + 1, S + 1, S]
    emissions: Floats  # [F + 1, S, L]

    @classmethod
    def zeros(cls, n_features: int, n_states: int, n_labels: int) -> StateWeights:
        """All weights zero."""
        shapes = state_shapes(n_features, n_states, n_labels)
        return cls(np.zeros(shapes[0]), np.zeros(shapes[1]))

    @property
    def n_states(self) -> int:
        """The number of hidden states."""
        return int(self.emissions.shape[1])

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.emissions.shape[2])

    @property
    def vector(self) -> Floats:
        """All weights in one vector."""
        return np.concatenate([self.transitions.ravel(), self.emissions.ravel()])

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.transitions.size + self.emissions.size

    def from_vector(self, vector: Floats) -> StateWeights:
        """Tables of the same shapes from a vector, whose memory they share."""
        first, second = np.split(vector, [self.transitions.size])
        return StateWeights(
            first.reshape(self.transitions.shape), second.reshape(self.emissions.shape)
        )

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return int(np.count_nonzero(self.transitions) + np.count_nonzero(self.emissions))

    def keep_features(self, features: Bools) -> StateWeights:
        """Without the features that are not wanted. features [F]"""
        rows = np.append(features, True)
        return StateWeights(self.transitions[rows], self.emissions[rows])

    def to_log_probs(self, least: float) -> StateWeights:
        """Each row as the log-probabilities that its feature gives by itself, at least ``least``.

        Rows without any weight, of features that say nothing, stay zero.
        """
        tables = []
        for table in (self.transitions, self.emissions):
            logs = table.copy()
            log_softmax(logs, np.empty_like(logs), np.empty(logs.shape[:2]))
            said = np.any(table, axis=(1, 2), keepdims=True)
            tables.append(np.where(said, np.maximum(logs, least), 0.0))
        return StateWeights(*tables)


def state_shapes(n_features: int, n_states: int, n_labels: int) -> tuple[tuple[int, ...], ...]:
    """The shapes of the tables of `StateWeights`."""
    return (n_features + 1, n_states + 1, n_states), (n_features + 1, n_states, n_labels)


@dataclass(frozen=True, slots=True)
class StatePotentials:
    """The scores of one block of chains of hidden states.

    ``emissions`` are log p(label | state); ``log_norms`` is what a state's label scores summed up
    to before, as a logarithm, and zero for a ``local`` model. ``transitions`` are log p(state |
    previous state) if the model is local, else plain scores. The ``probs`` are the probabilities
    that belong to them.
    """

    transitions: Floats  # [N, S + 1, S]
    emissions: Floats  # [N, S, L]
    transition_probs: Floats  # [N, S + 1, S], or [0, S + 1, S] where there are none
    emission_probs: Floats  # [N, S, L]
    log_norms: Floats  # [N, S]
    offsets: Ints  # [C + 1]
    first: int = 0

    @property
    def tokens(self) -> slice:
        """Where the block stands in the whole."""
        return slice(self.first, self.first + len(self.log_norms))

    def evidence(self, labels: Labels, allowed: Bools) -> Floats:
        """log p(what is known of the label | state) at the block's tokens. [N, S]"""
        known = np.empty_like(self.log_norms)
        evidence(self.emissions, labels, allowed, known)
        return known

    def chain(self, known: Floats | None = None, power: float = 1.0) -> Potentials:
        """The chain of states, whatever the labels are or with what is ``known`` of them. [N, S]

        A ``power`` below one flattens what is known and all that the model says.
        """
        states = self.log_norms.shape[1]
        node = self.log_norms.copy() if known is None else self.log_norms + known
        chain = Potentials(node, self.transitions[:, :states].copy(), self.offsets, self.first)
        heads = chain.heads()
        node[heads] += self.transitions[heads, states]
        if power == 1.0:
            return chain
        return replace(chain, node=node * power, edge=chain.edge * power)


def state_potentials(
    rows: FeatureMatrix,
    weights: StateWeights,
    bundle_sums: tuple[Floats, Floats],
    offsets: Ints,
    block: tuple[int, int],
    *,
    local: bool,
) -> StatePotentials:
    """The scores of the chains in one block; ``bundle_sums`` as from `state_bundle_sums`."""
    bounds = offsets[block[0] : block[1] + 1]
    first, last = int(bounds[0]), int(bounds[-1])
    transitions, emissions = (
        _scores(rows.tokens, table, sums, first, last)
        for table, sums in zip((weights.transitions, weights.emissions), bundle_sums, strict=True)
    )
    probs, norms = np.empty_like(emissions), np.empty(emissions.shape[:2])
    log_softmax(emissions, probs, norms)
    moves = np.empty_like(transitions if local else transitions[:0])
    if local:
        norms[:] = 0.0
        log_softmax(transitions, moves, np.empty(transitions.shape[:2]))
    return StatePotentials(transitions, emissions, moves, probs, norms, bounds - first, first)


def block_tokens(n_states: int, n_labels: int) -> int:
    """How many tokens to score at once: so few that their tables stay in the processor's cache."""
    return min(BLOCK_TOKENS, max(1, BLOCK_SCORES // (n_states * (n_states + 1 + n_labels))))


def state_bundle_sums(
    rows: FeatureMatrix, weights: StateWeights, workers: Workers
) -> tuple[Floats, Floats]:
    """The summed weight rows of every feature bundle: of transitions and of emissions."""
    tables = (_flat(weights.transitions)[:-1], _flat(weights.emissions)[:-1])
    return sum_bundles(rows, tables[0], workers), sum_bundles(rows, tables[1], workers)


def _scores(tokens: CSRMatrix, table: Floats, bundle_sums: Floats, first: int, last: int) -> Floats:
    """Sums of the rows of a table for some tokens. [N, A, B]"""
    flat = _flat(table)
    out = np.empty((last - first, flat.shape[1]))
    sum_block(tokens, first, flat[:-1], bundle_sums, out)
    out += flat[-1]
    return out.reshape(last - first, *table.shape[1:])


def _flat(table: Floats) -> Floats:
    return table.reshape(len(table), -1)


class StateScorer:
    """Carries a parameter vector to weight tables, and gradients in scores back to a vector.

    Without ``bias`` there are no weights that go with every token. It keeps nothing but the index,
    so that several learners can share it.
    """

    def __init__(self, rows: FeatureMatrix, n_states: int, n_labels: int, *, bias: bool) -> None:
        self.rows = rows
        self.n_states, self.n_labels = n_states, n_labels
        self.bias = bias
        self._shapes = state_shapes(rows.n_features, n_states, n_labels)
        self._sums = FeatureSums.of(rows)

    @property
    def size(self) -> int:
        """The length of the parameter vector."""
        rows = self.rows.n_features + self.bias
        return rows * sum(shape[1] * shape[2] for shape in self._shapes)

    @property
    def nbytes(self) -> int:
        """Bytes held for indexes."""
        return self._sums.nbytes

    def weights(self, vector: Floats) -> StateWeights:
        """The weight tables of a parameter vector."""
        rows = self.rows.n_features + self.bias
        cut = rows * self._shapes[0][1] * self._shapes[0][2]
        tables = []
        for part, shape in zip((vector[:cut], vector[cut:]), self._shapes, strict=True):
            table = np.zeros(shape)
            table[:rows] = part.reshape(rows, *shape[1:])
            tables.append(table)
        return StateWeights(*tables)

    def pack(self, weights: StateWeights) -> Floats:
        """The parameter vector of weight tables."""
        rows = self.rows.n_features + self.bias
        return np.concatenate(
            [weights.transitions[:rows].ravel(), weights.emissions[:rows].ravel()]
        )

    def gradient(self, transitions: Floats, emissions: Floats, workers: Workers) -> Floats:
        """The gradient in the vector, from that in scores [N, S + 1, S] and [N, S, L]."""
        parts = []
        for residuals in (transitions, emissions):
            flat = _flat(residuals)
            parts.append(self._sums.at(None, flat, workers))
            if self.bias:
                parts.append(flat.sum(axis=0))
        return np.concatenate(parts)
