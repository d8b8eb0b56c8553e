"""Weights of an earlier model for the features and labels that it shares with a new one."""

from __future__ import annotations

import numpy as np

from skipchain.chains.scorer import Weights
from skipchain.errors import SkipchainError
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import shared_numbers
from skipchain.models.chain.model import ChainModel


def as_chain(start: object) -> ChainModel:
    """The chain model of what training is to begin from."""
    model = start.fitted if isinstance(start, BaseEstimator) else start
    if isinstance(model, ChainModel):
        return model
    raise SkipchainError(
        f"start must be a chain model or its estimator, got {type(start).__name__}"
    )


def warm_start_weights(start: ChainModel, untrained: ChainModel, order: int = 1) -> Weights:
    """An earlier model's weights for the features and labels that it shares with the new one.

    Those of label n-grams, of label trigrams and of histories begin at zero.
    """
    features, names = untrained.features, untrained.labels
    labels = len(names)
    weights = Weights.zeros(
        features.n_features + untrained.n_further, features.n_edge_features, labels, order
    )
    source, target = shared_numbers(start.labels, names)
    if not len(source):
        raise SkipchainError("the model to start from shares no label with the training data")
    a, b = shared_numbers(start.features.names(), features.names())
    weights.state[np.ix_(b, target)] = start.weights.state[np.ix_(a, source)]
    weights.transitions[np.ix_(target, target)] = start.weights.transitions[np.ix_(source, source)]
    weights.start[target] = start.weights.start[source]
    weights.end[target] = start.weights.end[source]
    size = len(start.labels)
    before, now = np.append(source, size), np.append(target, labels)
    if weights.order == start.weights.order == 2:
        second = start.weights.triples[np.ix_(before, source, source)]
        weights.triples[np.ix_(now, target, target)] = second
    a, b = shared_numbers(*(own.names(transition=True) for own in (start.features, features)))
    pairs = start.weights.edges.reshape(-1, size + 1, size)
    fresh = weights.edges.reshape(-1, labels + 1, labels)
    fresh[np.ix_(b, now, target)] = pairs[np.ix_(a, before, source)]
    return weights
