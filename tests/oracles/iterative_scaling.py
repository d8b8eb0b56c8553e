"""Generalised iterative scaling, written out plainly: slow, and obviously right.

An event is a list of outcomes, each a vector of feature values [K], and the number of the outcome
that was observed. The correction feature is the last one, with a weight of its own.
"""

from __future__ import annotations

import math


def with_correction(events):
    """C, and the events with the feature C − Σ_k f_k added to every outcome."""
    largest = max(sum(features) for outcomes, _ in events for features in outcomes)
    return largest, [
        ([[*features, largest - sum(features)] for features in outcomes], gold)
        for outcomes, gold in events
    ]


def probabilities(outcomes, weights):
    """p(y) ∝ exp Σ_k λ_k f_k(y)."""
    scores = [sum(w * f for w, f in zip(weights, own, strict=True)) for own in outcomes]
    sizes = [math.exp(score) for score in scores]
    return [size / sum(sizes) for size in sizes]


def log_likelihood(events, weights):
    """The sum of the logarithms of what was observed."""
    return sum(math.log(probabilities(outcomes, weights)[gold]) for outcomes, gold in events)


def scaling_steps(events, steps):
    """After each step: the weights λ [K + 1], that of the correction feature last, and the loss.

    Features that never occur with what was observed keep the weight 0.
    """
    largest, events = with_correction(events)
    size = len(events[0][0][0])
    weights = [0.0] * size
    observed = [sum(outcomes[gold][k] for outcomes, gold in events) for k in range(size)]
    for _ in range(steps):
        expected = [0.0] * size
        for outcomes, _ in events:
            for p, features in zip(probabilities(outcomes, weights), outcomes, strict=True):
                for k in range(size):
                    expected[k] += p * features[k]
        for k in range(size):
            if observed[k] > 0.0:
                weights[k] += math.log(observed[k] / expected[k]) / largest
        yield list(weights), -log_likelihood(events, weights)
