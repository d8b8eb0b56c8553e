"""Marginals and best labels of chains of hidden states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.decode import renormalised
from skipchain.chains.potentials import Constraints, require_paths
from skipchain.chains.span_events import SpanEvents
from skipchain.kernels.chain import forward_backward
from skipchain.kernels.latent import best_paths, expected_labels, window_probabilities
from skipchain.models.latent.scorer import (
    StatePotentials,
    StateWeights,
    block_tokens,
    state_bundle_sums,
    state_potentials,
)
from skipchain.parallel import Workers, blocks


@dataclass(frozen=True, slots=True)
class StateScores:
    """What is needed to score any block of chains of hidden states.

    ``allowed`` [N, L] says which labels each token may have; [0, L] leaves all tokens free.
    """

    data: Dataset
    weights: StateWeights
    bundle_sums: tuple[Floats, Floats]
    allowed: Bools
    local: bool

    @classmethod
    def of(
        cls,
        data: Dataset,
        weights: StateWeights,
        workers: Workers,
        *,
        local: bool,
        allowed: Bools | None = None,
    ) -> StateScores:
        """Scores of a dataset under weights."""
        if allowed is None:
            allowed = np.zeros((0, weights.n_labels), np.bool_)
        return cls(data, weights, state_bundle_sums(data.rows, weights, workers), allowed, local)

    @property
    def offsets(self) -> Ints:
        """Where chains begin. [C + 1]"""
        return self.data.offsets

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""
        return self.data.rows.unknown

    def potentials(self, block: tuple[int, int]) -> StatePotentials:
        """The scores of one block."""
        return state_potentials(
            self.data.rows, self.weights, self.bundle_sums, self.offsets, block, local=self.local
        )

    def label_evidence(self, p: StatePotentials) -> tuple[Labels, Bools, Floats]:
        """No labels, those that are allowed, and what that is worth to each state."""
        nothing = np.full(len(p.log_norms), -1, np.int32)
        allowed = self.allowed[p.tokens] if len(self.allowed) else self.allowed
        return nothing, allowed, p.evidence(nothing, allowed)

    def blocks(self) -> list[tuple[int, int]]:
        """Runs of chains, for threads to work on."""
        return blocks(self.offsets, block_tokens(self.weights.n_states, self.weights.n_labels))


def marginals(scores: StateScores, workers: Workers) -> Floats:
    """The probability of each label at each token. [N, L]"""
    out = np.empty((scores.data.n_tokens, scores.weights.n_labels))

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        labels, allowed, known = scores.label_evidence(p)
        states, _ = _forward_backward(p, known)
        joint = np.empty_like(p.emissions)
        expected_labels(states, p.emissions, labels, allowed, known, joint)
        out[p.tokens] = joint.sum(axis=1)

    workers.map(run, scores.blocks())
    return renormalised(out)


def viterbi(scores: StateScores, constraints: Constraints | None, workers: Workers) -> Labels:
    """The labels of the most probable path of states and labels together. [N]

    That of labels alone, all paths of states added up, cannot be found in a time that grows with
    the length of a chain only.
    """
    size = scores.weights.n_labels
    if constraints is None:
        anything = np.ones(size, np.bool_)
        constraints = Constraints(np.ones((size, size), np.bool_), anything, anything)
    path = np.zeros(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        emissions = p.emissions + p.log_norms[:, :, None]
        _, allowed, known = scores.label_evidence(p)
        if len(allowed):
            emissions = np.where(allowed[:, None, :], emissions, -np.inf)
        best = np.empty(len(p.offsets) - 1)
        rules = (constraints.pairs, constraints.start, constraints.end)
        best_paths(p.transitions, emissions, *rules, p.offsets, path[p.tokens], best)
        require_paths(best, p.chain(known))

    workers.map(run, scores.blocks())
    return path


def window_sums(scores: StateScores, windows: SpanEvents, workers: Workers) -> Floats:
    """The probability that the labels of each window lie in its sets. [K]"""
    out = np.empty(len(windows.starts))

    def run(block: tuple[int, int]) -> None:
        first, last = scores.offsets[list(block)]
        which, inside = windows.starting_in(first, last)
        if len(which) == 0:
            return
        p = scores.potentials(block)
        labels, allowed, known = scores.label_evidence(p)
        states, pairs = _forward_backward(p, known)
        joint = np.empty_like(p.emissions)
        expected_labels(np.ones_like(states), p.emissions, labels, allowed, known, joint)
        probability = np.empty(len(which))
        parts = inside.starts, inside.stops, inside.allowed, inside.rows
        window_probabilities(states, pairs, joint, *parts, probability)
        out[which] = probability

    workers.map(run, scores.blocks())
    return out


def _forward_backward(p: StatePotentials, known: Floats) -> tuple[Floats, Floats]:
    """The probabilities of states [N, S], and of two in a row [N, S, S]."""
    chain = p.chain(known)
    states, pairs = np.empty_like(chain.node), np.zeros_like(chain.edge)
    log_z = np.empty(len(chain.offsets) - 1)
    forward_backward(chain.node, chain.edge, chain.offsets, states, pairs, log_z)
    return states, pairs
