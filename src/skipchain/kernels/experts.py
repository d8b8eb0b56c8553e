"""Experts: chains of hidden states that are sampled together with labels and hidden units.

An expert has scores of two states in a row, τ, and of a state with its label, ε (both for a fixed
x; the place before a chain is the previous state number S). Beside the hidden units of
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
unlikely that α vanishes; such a chain is computed again in log space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skipchain.kernels.kernel import kernel
from skipchain.kernels.random import uniform

MIN_SUM = 1e-280


class ExpertTables(NamedTuple):
    """The scores of the experts for one block of N tokens, one expert after the other.

    Those of expert e are transitions [N, S + 1, S] from ``transition_starts[e]`` on, and emissions
    [N, S, L] from ``emission_starts[e]`` on. ``exp_transitions`` and ``exp_emissions`` are their
    exponentials, up to a factor for each token.
    """

    sizes: np.ndarray  # [E], states
    transition_starts: np.ndarray  # [E]
    emission_starts: np.ndarray  # [E]
    transitions: np.ndarray
    emissions: np.ndarray
    exp_transitions: np.ndarray
    exp_emissions: np.ndarray


class ExpertChain(NamedTuple):
    """The scores of one expert for one chain of length T."""

    transitions: np.ndarray  # [T, S + 1, S]
    emissions: np.ndarray  # [T, S, L]
    exp_transitions: np.ndarray  # [T, S + 1, S]
    exp_emissions: np.ndarray  # [T, S, L]


@kernel
def sample_states(experts, labels, begin, length, base, beta, turn, states, c, scores, n_labels):
    """Draw the states of all experts, and add what they say of labels to the scores. [T, L + …]

    For the chain of tokens begin … begin + length − 1, in a block that begins at ``base``. The
    states of the expert number ``turn`` (of so many as there are, and then from the first again)
    are drawn last and with the labels summed out, those of the others given ``labels``. The
    experts' scores are multiplied by the inverse temperature ``beta``; those of labels are already.
    """
    count = len(experts.sizes)
    if count == 0:
        return
    path = np.empty(length, np.int32)
    for k in range(1, count + 1):
        e = (turn + k) % count
        chain = _chain(experts, e, begin - base, length, n_labels)
        if beta != 1.0:
            chain = ExpertChain(
                beta * chain.transitions,
                beta * chain.emissions,
                chain.exp_transitions**beta,
                chain.exp_emissions**beta,
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


@kernel
def add_state_statistics(experts, labels, begin, length, base, n_labels, sign, moved, emitted):
    """Add the probabilities of states given the labels, times the sign, to statistics.

    Those of two states in a row go to ``moved``, those of a state and its label to ``emitted``,
    which are laid out as the transitions and emissions of the experts.
    """
    if length == 0:
        return
    for e in range(len(experts.sizes)):
        size = experts.sizes[e]
        chain = _chain(experts, e, begin - base, length, n_labels)
        pairs = _block(moved, experts.transition_starts[e], begin - base, length, size + 1, size)
        joint = _block(emitted, experts.emission_starts[e], begin - base, length, size, n_labels)
        alpha = np.empty((length, size))
        logs = _forward(chain, labels, begin, alpha)
        here, before, probs = np.empty(size), np.empty(size), np.empty(size)
        _last_state_probs(alpha, logs, here)
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
                    _previous_state_probs(chain, alpha, logs, t, j, probs)
                    for i in range(size):
                        p = here[j] * probs[i]
                        pairs[t, i, j] += sign * p
                        before[i] += p
            here, before = before, here


@kernel
def _chain(experts, e, first, length, n_labels):
    """The tables of expert e for the tokens first … first + length − 1 of the block."""
    size = experts.sizes[e]
    moves, emits = experts.transition_starts[e], experts.emission_starts[e]
    return ExpertChain(
        _block(experts.transitions, moves, first, length, size + 1, size),
        _block(experts.emissions, emits, first, length, size, n_labels),
        _block(experts.exp_transitions, moves, first, length, size + 1, size),
        _block(experts.exp_emissions, emits, first, length, size, n_labels),
    )


@kernel
def _block(flat, begin, first, length, rows, columns):
    """Tables [length, rows, columns] of a flat array whose tables begin at ``begin``."""
    begin += first * rows * columns
    return flat[begin : begin + length * rows * columns].reshape(length, rows, columns)


@kernel
def _forward(chain, labels, begin, alpha):
    """α given labels, or its logarithms: true where it is the latter."""
    _label_evidence(chain.exp_emissions, labels, begin, alpha)
    if _filter(chain.exp_transitions, alpha):
        return False
    _label_evidence(chain.emissions, labels, begin, alpha)
    _log_filter(chain.transitions, alpha)
    return True


@kernel
def _forward_summed(chain, scores, alpha):
    """α with the labels summed out, or its logarithms: true where it is the latter."""
    _summed_evidence(chain.exp_emissions, scores, alpha)
    if _filter(chain.exp_transitions, alpha):
        return False
    _log_summed_evidence(chain.emissions, scores, alpha)
    _log_filter(chain.transitions, alpha)
    return True


@kernel
def _label_evidence(exp_emissions, labels, begin, out):
    """The evidence of labels. [T, S]"""
    for t in range(out.shape[0]):
        for s in range(out.shape[1]):
            out[t, s] = exp_emissions[t, s, labels[begin + t]]


@kernel
def _summed_evidence(exp_emissions, scores, out):
    """The evidence of any label, by its score, but for a factor for each token. [T, S]"""
    size = exp_emissions.shape[2]
    probs = np.empty(size)
    for t in range(out.shape[0]):
        top = scores[t, 0]
        for j in range(1, size):
            top = max(top, scores[t, j])
        for j in range(size):
            probs[j] = np.exp(scores[t, j] - top)
        for s in range(out.shape[1]):
            total = 0.0
            for j in range(size):
                total += probs[j] * exp_emissions[t, s, j]
            out[t, s] = total


@kernel
def _log_summed_evidence(emissions, scores, out):
    for t in range(out.shape[0]):
        for s in range(out.shape[1]):
            out[t, s] = _log_sum(scores[t, : emissions.shape[2]] + emissions[t, s])


@kernel
def _filter(exp_transitions, alpha):
    """From evidence to α, in place; rows sum to one. False where a sum vanishes."""
    size = alpha.shape[1]
    sums = np.empty(size)
    for t in range(alpha.shape[0]):
        if t == 0:
            for j in range(size):
                sums[j] = exp_transitions[0, size, j]
        else:
            for j in range(size):
                sums[j] = 0.0
            for i in range(size):
                for j in range(size):
                    sums[j] += alpha[t - 1, i] * exp_transitions[t, i, j]
        total = 0.0
        for j in range(size):
            alpha[t, j] *= sums[j]
            total += alpha[t, j]
        if not (total > MIN_SUM and total < np.inf):
            return False
        for j in range(size):
            alpha[t, j] /= total
    return True


@kernel
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


@kernel
def _draw_path(chain, alpha, logs, states, c, path):
    """States from the last to the first."""
    probs = np.empty(alpha.shape[1])
    for t in range(alpha.shape[0] - 1, -1, -1):
        if t == alpha.shape[0] - 1:
            _last_state_probs(alpha, logs, probs)
        else:
            _previous_state_probs(chain, alpha, logs, t + 1, path[t + 1], probs)
        path[t] = draw(probs, states, c)


@kernel
def _last_state_probs(alpha, logs, out):
    """The probabilities of the last state."""
    out[:] = alpha[-1]
    if logs:
        out[:] = np.exp(out - out.max())
        out /= out.sum()


@kernel
def _previous_state_probs(chain, alpha, logs, t, j, out):
    """The probabilities of the state before t, given that the one at t is j."""
    size = alpha.shape[1]
    if logs:
        out[:] = alpha[t - 1] + chain.transitions[t, :size, j]
        out[:] = np.exp(out - out.max())
    else:
        for i in range(size):
            out[i] = alpha[t - 1, i] * chain.exp_transitions[t, i, j]
    total = 0.0
    for i in range(size):
        total += out[i]
    for i in range(size):
        out[i] /= total


@kernel
def _log_sum(terms):
    top = terms.max()
    return top + np.log(np.exp(terms - top).sum()) if top > -np.inf else top


@kernel
def draw(probs, states, c):
    """The index of one of several, drawn by their probabilities."""
    u = uniform(states, c)
    for j in range(len(probs) - 1):
        u -= probs[j]
        if u < 0.0:
            return j
    return len(probs) - 1
