"""Experts: chains of hidden states that are sampled together with labels and label features.

An expert has scores of two states in a row, τ, and of a state with its label, ε (both for a fixed
x; the place before a chain is the previous state number S). Beside the label features of
`kernels.rbm`,

    log p(y, h, s) = log p̃(y, h) + Σ_e Σ_t τ_e,t(s_{t−1}, s_t) + ε_e,t(s_t, y_t) − log Z.

Given the labels, units and states are independent, and the states of an expert are a chain whose
evidence at t is exp ε_t(s, y_t). Given the units and the states of all other experts, labels have
scores n_t(j) of their own, and the states of one expert are a chain with the evidence

    Σ_j exp(n_t(j) + ε_t(s, j)):

the labels are summed out. Drawing states in the second way, and labels after them, is drawing both
at once; in the first way, states and labels that go together closely would hold each other where
they are (docs/decisions/0022). The chains are drawn from their end,

    α_t(j) ∝ evidence_t(j) Σ_i α_{t−1}(i) exp τ_t(i, j)
    p(s_{t−1} = i | s_t = j) ∝ α_{t−1}(i) exp τ_t(i, j)

and the same conditional gives the probabilities of states and of two in a row. Hazard: evidence so
unlikely that α vanishes; such a chain is done again by logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from skipchain.kernels.random import uniform

# Compiled with random 8cff55a078fd

SMALLEST_SUM = 1e-280


class Experts(NamedTuple):
    """The scores of the experts for one block of N tokens, one expert after the other.

    Those of expert e are transitions [N, S + 1, S] from ``moves_at[e]`` on, and emissions [N, S, L]
    from ``emits_at[e]`` on. ``moves`` and ``emits`` are the same as exponentials, but for a factor
    for each token.
    """

    sizes: np.ndarray  # [E], states
    moves_at: np.ndarray  # [E]
    emits_at: np.ndarray  # [E]
    transitions: np.ndarray
    emissions: np.ndarray
    moves: np.ndarray
    emits: np.ndarray


class Chain(NamedTuple):
    """The part of one expert for one chain of length T."""

    transitions: np.ndarray  # [T, S + 1, S]
    emissions: np.ndarray  # [T, S, L]
    moves: np.ndarray  # [T, S + 1, S]
    emits: np.ndarray  # [T, S, L]


@njit(nogil=True, cache=True)
def add_states(experts, labels, begin, length, base, heat, turn, states, c, scores, n_labels):
    """Draw the states of all experts, and add what they say of labels to the scores. [T, L + …]

    For the chain of tokens begin … begin + length − 1, in a block that begins at ``base``. The
    states of the expert number ``turn`` (of so many as there are, and then from the first again)
    are drawn last and with the labels summed out, those of the others given ``labels``. The
    experts' scores are multiplied by ``heat``; those of labels are already.
    """
    count = len(experts.sizes)
    if count == 0:
        return
    path = np.empty(length, np.int32)
    for k in range(1, count + 1):
        e = (turn + k) % count
        chain = _chain(experts, e, begin - base, length, n_labels)
        if heat != 1.0:
            chain = Chain(
                heat * chain.transitions,
                heat * chain.emissions,
                chain.moves**heat,
                chain.emits**heat,
            )
        alpha = np.empty((length, experts.sizes[e]))
        if k < count:
            logs = _forward(chain, labels, begin, alpha)
        else:
            logs = _forward_summed(chain, scores, alpha)
        _draw_path(chain, alpha, logs, states, c, path)
        for t in range(length):
            for j in range(n_labels):
                scores[t, j] += chain.emissions[t, path[t], j]


@njit(nogil=True, cache=True)
def count_states(experts, labels, begin, length, base, n_labels, sign, moved, emitted):
    """Add the probabilities of states given the labels, times the sign, to statistics.

    Those of two states in a row go to ``moved``, those of a state and its label to ``emitted``,
    which are laid out as the transitions and emissions of the experts.
    """
    if length == 0:
        return
    for e in range(len(experts.sizes)):
        size = experts.sizes[e]
        chain = _chain(experts, e, begin - base, length, n_labels)
        pairs = _part(moved, experts.moves_at[e], begin - base, length, size + 1, size)
        joint = _part(emitted, experts.emits_at[e], begin - base, length, size, n_labels)
        alpha = np.empty((length, size))
        logs = _forward(chain, labels, begin, alpha)
        here, before, chance = np.empty(size), np.empty(size), np.empty(size)
        _last(alpha, logs, here)
        for t in range(length - 1, -1, -1):
            for j in range(size):
                joint[t, j, labels[begin + t]] += sign * here[j]
                if t == 0:
                    pairs[t, size, j] += sign * here[j]
                before[j] = 0.0
            if t == 0:
                break
            for j in range(size):
                if here[j] > 0.0:
                    _came_from(chain, alpha, logs, t, j, chance)
                    for i in range(size):
                        p = here[j] * chance[i]
                        pairs[t, i, j] += sign * p
                        before[i] += p
            here, before = before, here


@njit(nogil=True, cache=True)
def _chain(experts, e, first, length, n_labels):
    size = experts.sizes[e]
    moves_at, emits_at = experts.moves_at[e], experts.emits_at[e]
    return Chain(
        _part(experts.transitions, moves_at, first, length, size + 1, size),
        _part(experts.emissions, emits_at, first, length, size, n_labels),
        _part(experts.moves, moves_at, first, length, size + 1, size),
        _part(experts.emits, emits_at, first, length, size, n_labels),
    )


@njit(nogil=True, cache=True)
def _part(flat, begin, first, length, rows, columns):
    """Tables [length, rows, columns] of a flat array whose tables begin at ``begin``."""
    begin += first * rows * columns
    return flat[begin : begin + length * rows * columns].reshape(length, rows, columns)


@njit(nogil=True, cache=True)
def _forward(chain, labels, begin, alpha):
    """α given labels, or its logarithms: true where it is these."""
    _given(chain.emits, labels, begin, alpha)
    if _filter(chain.moves, alpha):
        return False
    _given(chain.emissions, labels, begin, alpha)
    _log_filter(chain.transitions, alpha)
    return True


@njit(nogil=True, cache=True)
def _forward_summed(chain, scores, alpha):
    """The same with the labels summed out."""
    _summed(chain.emits, scores, alpha)
    if _filter(chain.moves, alpha):
        return False
    _log_summed(chain.emissions, scores, alpha)
    _log_filter(chain.transitions, alpha)
    return True


@njit(nogil=True, cache=True)
def _given(emits, labels, begin, out):
    """The evidence of labels. [T, S]"""
    for t in range(out.shape[0]):
        for s in range(out.shape[1]):
            out[t, s] = emits[t, s, labels[begin + t]]


@njit(nogil=True, cache=True)
def _summed(emits, scores, out):
    """The evidence of any label, by its score, but for a factor for each token. [T, S]"""
    size = emits.shape[2]
    chance = np.empty(size)
    for t in range(out.shape[0]):
        top = scores[t, 0]
        for j in range(1, size):
            top = max(top, scores[t, j])
        for j in range(size):
            chance[j] = np.exp(scores[t, j] - top)
        for s in range(out.shape[1]):
            total = 0.0
            for j in range(size):
                total += chance[j] * emits[t, s, j]
            out[t, s] = total


@njit(nogil=True, cache=True)
def _log_summed(emissions, scores, out):
    for t in range(out.shape[0]):
        for s in range(out.shape[1]):
            out[t, s] = _log_sum(scores[t, : emissions.shape[2]] + emissions[t, s])


@njit(nogil=True, cache=True)
def _filter(moves, alpha):
    """From evidence to α, in place; rows sum to one. False where a sum vanishes."""
    size = alpha.shape[1]
    sums = np.empty(size)
    for t in range(alpha.shape[0]):
        if t == 0:
            for j in range(size):
                sums[j] = moves[0, size, j]
        else:
            for j in range(size):
                sums[j] = 0.0
            for i in range(size):
                for j in range(size):
                    sums[j] += alpha[t - 1, i] * moves[t, i, j]
        total = 0.0
        for j in range(size):
            alpha[t, j] *= sums[j]
            total += alpha[t, j]
        if not (total > SMALLEST_SUM and total < np.inf):
            return False
        for j in range(size):
            alpha[t, j] /= total
    return True


@njit(nogil=True, cache=True)
def _log_filter(transitions, alpha):
    """From logarithms of evidence to those of α, but for a sum for each token, in place."""
    size = alpha.shape[1]
    for t in range(alpha.shape[0]):
        for j in range(size):
            if t == 0:
                alpha[t, j] += transitions[0, size, j]
            else:
                alpha[t, j] += _log_sum(alpha[t - 1] + transitions[t, :size, j])
        alpha[t] -= alpha[t].max()


@njit(nogil=True, cache=True)
def _draw_path(chain, alpha, logs, states, c, path):
    """States from the last to the first."""
    chance = np.empty(alpha.shape[1])
    for t in range(alpha.shape[0] - 1, -1, -1):
        if t == alpha.shape[0] - 1:
            _last(alpha, logs, chance)
        else:
            _came_from(chain, alpha, logs, t + 1, path[t + 1], chance)
        path[t] = draw(chance, states, c)


@njit(nogil=True, cache=True)
def _last(alpha, logs, out):
    """The probabilities of the last state."""
    out[:] = alpha[-1]
    if logs:
        out[:] = np.exp(out - out.max())
        out /= out.sum()


@njit(nogil=True, cache=True)
def _came_from(chain, alpha, logs, t, j, out):
    """The probabilities of the state before t, given that the one at t is j."""
    size = alpha.shape[1]
    if logs:
        out[:] = alpha[t - 1] + chain.transitions[t, :size, j]
        out[:] = np.exp(out - out.max())
    else:
        for i in range(size):
            out[i] = alpha[t - 1, i] * chain.moves[t, i, j]
    total = 0.0
    for i in range(size):
        total += out[i]
    for i in range(size):
        out[i] /= total


@njit(nogil=True, cache=True)
def _log_sum(terms):
    top = terms.max()
    return top + np.log(np.exp(terms - top).sum()) if top > -np.inf else top


@njit(nogil=True, cache=True)
def draw(chance, states, c):
    """One of several, by their probabilities."""
    u = uniform(states, c)
    for j in range(len(chance) - 1):
        u -= chance[j]
        if u < 0.0:
            return j
    return len(chance) - 1
