"""Experts, chains of hidden states, as contrastive divergence learns them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.kernels.latent import log_softmax_backward
from skipchain.models.latent.inference import StateScores
from skipchain.models.latent.scorer import StatePotentials, StateScorer, StateWeights
from skipchain.parallel import Workers


class ExpertBatch:
    """The features of some sequences for one expert, and the way back to its weights.

    A ``local`` one is normalised at each position (IOHMM), else its scores are as they are (HRF).
    ``features`` are the rows of all its weights that it needs; None means that it needs them all.
    """

    def __init__(
        self,
        data: Dataset,
        n_states: int,
        n_labels: int,
        *,
        local: bool,
        features: Ints | None = None,
    ) -> None:
        self.data = data
        self.local = local
        self.features = features
        self.scorer = StateScorer(data.rows, n_states, n_labels, bias=True)

    @classmethod
    def of(cls, data: Dataset, like: StateWeights, *, local: bool, compact: bool) -> ExpertBatch:
        """With all features of the weights, or with those only that the data have."""
        features = None
        if compact:
            rows, features = data.rows.compact()
            features = np.append(features, data.rows.n_features)  # what goes with every token
            data = replace(data, rows=rows)
        return cls(data, like.n_states, like.n_labels, local=local, features=features)

    def scores(self, weights: StateWeights, workers: Workers) -> StateScores:
        """What is needed to score any block of chains."""
        return StateScores.of(self.data, weights, workers, local=self.local)

    def gradient(self, contrast: ExpertStatistics, workers: Workers) -> StateWeights:
        """The gradient in all weights."""
        vector = self.scorer.gradient(contrast.transitions, contrast.emissions, workers)
        return self.scorer.weights(vector)


@dataclass(frozen=True, slots=True)
class ExpertStatistics:
    """Probabilities of states given the data, minus those given other labels, of all tokens."""

    transitions: Floats  # [N, S + 1, S]
    emissions: Floats  # [N, S, L]

    @classmethod
    def empty_like(cls, scores: StateScores) -> ExpertStatistics:
        """Not filled yet."""
        n_tokens, weights = scores.data.n_tokens, scores.weights
        return cls(
            np.empty((n_tokens, *weights.transitions.shape[1:])),
            np.empty((n_tokens, *weights.emissions.shape[1:])),
        )

    def write_block(self, p: StatePotentials, transitions: Floats, emissions: Floats) -> None:
        """The part of one block, given as the gradient in its potentials."""
        if len(p.transition_probs):  # what follows from probabilities that are normalised
            for probs, gradient in (
                (p.transition_probs, transitions),
                (p.emission_probs, emissions),
            ):
                log_softmax_backward(probs, gradient, np.zeros(gradient.shape[:2]))
        self.transitions[p.tokens], self.emissions[p.tokens] = transitions, emissions
