"""The gain of new features, written out plainly: a search for each weight, token by token."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar


def log_likelihood(probabilities, gold, weights):
    """What weights [L] of a feature add to the log-likelihood of tokens that have it, [T, L]."""
    return sum(
        weights[y] - np.log(np.sum(row * np.exp(weights)))
        for row, y in zip(probabilities, gold, strict=True)
    )


def best_weights(probabilities, gold, l2):
    """The weights [L] that make the penalised likelihood largest."""

    def loss(weights):
        return l2 * np.sum(weights**2) - log_likelihood(probabilities, gold, weights)

    start = np.zeros(probabilities.shape[1])
    return minimize(loss, start, method="Nelder-Mead" if len(start) < 3 else "BFGS").x


def best_weight(probabilities, gold, label, l2):
    """The weight of one label alone, all others fixed at 0: a search along a line."""

    def loss(weight):
        weights = np.where(np.arange(probabilities.shape[1]) == label, weight, 0.0)
        return l2 * weight**2 - log_likelihood(probabilities, gold, weights)

    return minimize_scalar(loss, bounds=(-30, 30), method="bounded").x


def cross_gain(numbers, folds, probabilities, gold, l2):
    """What features add to the likelihood of each fold by weights from the other folds."""
    total = 0.0
    for f in sorted(set(numbers.tolist()) - {-1}):
        for k in sorted(set(folds.tolist())):
            own, others = (numbers == f) & (folds == k), (numbers == f) & (folds != k)
            if own.any() and others.any():
                weights = best_weights(probabilities[others], gold[others], l2)
                total += log_likelihood(probabilities[own], gold[own], weights)
    return total
