"""What new features would add to the likelihood, token by token, with all other weights fixed.

A feature with weights δ_j, one for each label, turns the probabilities p(j) of a token that has it
into p(j) · exp δ_j / Σ_i p(i) · exp δ_i, and adds

    Σ_t (δ_{ŷ_t} − log Σ_j p_t(j) · exp δ_j) − l2 · Σ_j δ_j²

to the penalised likelihood, where neighbours keep the probabilities they have: exactly so for a
classifier of single positions, approximately for a chain (McCallum 2003). Tokens hold the
probabilities that matter as rows of a sparse index: token t has ``probabilities[indptr[t] :
indptr[t + 1]]`` of the labels ``labels[…]``, and entry ``gold[t]`` is that of the gold label.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

ITERATIONS = 500  # far more than the tolerance of gains needs
LONGEST_STEP = 2.0


@kernel
def group_tokens(numbers, size):
    """The tokens of each number below ``size``, number after number; negative numbers have none.

    Returns the tokens and where those of each number begin [size + 1].
    """
    bounds = np.zeros(size + 1, np.int64)
    for t in range(numbers.shape[0]):
        if numbers[t] >= 0:
            bounds[numbers[t] + 1] += 1
    for f in range(size):
        bounds[f + 1] += bounds[f]
    order, filled = np.empty(bounds[size], np.int64), bounds[:-1].copy()
    for t in range(numbers.shape[0]):
        f = numbers[t]
        if f >= 0:
            order[filled[f]] = t
            filled[f] += 1
    return order, bounds


@kernel
def fit_feature(members, folds, left_out, index, l2, tolerance, weights, scratch):
    """The weights of one feature that make the penalised likelihood of some tokens largest.

    The tokens are those of ``members`` outside the fold ``left_out``. The index is (indptr, labels,
    probabilities, gold); ``weights`` [L] is filled for labels of these tokens, ``scratch`` [4, L].

    Newton's steps with a diagonal in place of the curvature: 2 Σ q (1 − q) + 2 l2, the sum of a row
    of the Hessian without its signs. It is no smaller than the Hessian (Gershgorin), and right for
    two labels. Where q is near 0 or 1 a step may be far too long, so steps have a limit: half
    of the last step where the direction of a weight turns, else twice the last limit.
    """
    indptr, labels, probabilities, gold = index
    gradient, curvature, last, limit = scratch
    for t in members:
        for e in range(indptr[t], indptr[t + 1]):
            j = labels[e]
            weights[j], last[j], limit[j] = 0.0, 0.0, LONGEST_STEP
    for _ in range(ITERATIONS):
        for t in members:
            for e in range(indptr[t], indptr[t + 1]):
                j = labels[e]
                gradient[j], curvature[j] = -2.0 * l2 * weights[j], 2.0 * l2
        for t in members:
            if folds[t] == left_out:
                continue
            total = 0.0
            for e in range(indptr[t], indptr[t + 1]):
                total += probabilities[e] * np.exp(weights[labels[e]])
            for e in range(indptr[t], indptr[t + 1]):
                j = labels[e]
                q = probabilities[e] * np.exp(weights[j]) / total
                gradient[j] -= q
                curvature[j] += 2.0 * q * (1.0 - q)
            gradient[labels[gold[t]]] += 1.0
        longest = 0.0
        for t in members:
            for e in range(indptr[t], indptr[t + 1]):
                j = labels[e]
                if curvature[j] <= 0.0:  # gone through already, or of other folds and no penalty
                    continue
                step = gradient[j] / curvature[j]
                if step * last[j] < 0.0:
                    limit[j] = 0.5 * abs(last[j])
                else:
                    limit[j] = min(2.0 * limit[j], LONGEST_STEP)
                step = min(max(step, -limit[j]), limit[j])
                weights[j] += step
                last[j], curvature[j] = step, 0.0
                longest = max(longest, abs(step))
        if longest < tolerance:
            break


@kernel
def token_gain(t, index, weights):
    """What the weights of a feature add to the log-likelihood of a token."""
    indptr, labels, probabilities, gold = index
    total = 0.0
    for e in range(indptr[t], indptr[t + 1]):
        total += probabilities[e] * np.exp(weights[labels[e]])
    return weights[labels[gold[t]]] - np.log(total)


@kernel
def cross_gain(numbers, size, folds, n_folds, index, n_labels, l2, tolerance, shifts):
    """What a template adds to the likelihood of tokens by weights that others have taught it.

    Token t has the feature ``numbers[t]`` of ``size`` (−1: none). For each fold, weights are fitted
    on the tokens of the other folds, and their gain is measured on its own. ``shifts`` [K] gets the
    weight that goes with each entry of the index, where it is not empty.
    """
    indptr, labels, _, _ = index
    order, bounds = group_tokens(numbers, size)
    weights, scratch = np.zeros(n_labels), np.zeros((4, n_labels))
    gain = 0.0
    for f in range(size):
        members = order[bounds[f] : bounds[f + 1]]
        for k in range(n_folds):
            inside = 0
            for t in members:
                inside += folds[t] == k
            if inside == 0 or inside == members.shape[0]:
                continue
            fit_feature(members, folds, k, index, l2, tolerance, weights, scratch)
            for t in members:
                if folds[t] != k:
                    continue
                gain += token_gain(t, index, weights)
                if shifts.shape[0]:
                    for e in range(indptr[t], indptr[t + 1]):
                        shifts[e] = weights[labels[e]]
    return gain
