"""Chains of hidden states that emit labels.

A hidden state depends on the state before it and on the input, a label on its state and on the
input (001, §4.2). Given the input the states are a chain, so sums over them are those of
`kernels.chain`; what is here leads to that chain and back. Arrays are those of one block:
``transitions [N, S + 1, S]`` (the place before a chain is the previous state number S) and
``emissions [N, S, L]``, both log scores.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.chain import _longest
from skipchain.kernels.kernel import kernel


def log_softmax(scores, probs, norms):
    """Turn every row of scores [N, R, K] into log-probabilities, in place.

    log p(k) = scores(k) − log Σ_k' exp(scores(k')). The probabilities go to ``probs`` [N, R, K],
    the logarithms of the sums to ``norms`` [N, R].
    """
    _subtract_peaks(scores, norms)
    np.exp(scores, out=probs)  # many at once, where a compiled one takes one at a time
    _divide(scores, probs, norms)


@kernel
def _subtract_peaks(scores, norms):
    """Every row minus its maximum, which goes to ``norms``."""
    for t in range(scores.shape[0]):
        for r in range(scores.shape[1]):
            peak = scores[t, r, 0]
            for k in range(1, scores.shape[2]):
                peak = max(peak, scores[t, r, k])
            for k in range(scores.shape[2]):
                scores[t, r, k] -= peak
            norms[t, r] = peak


@kernel
def _divide(scores, probs, norms):
    """Rows of ``probs`` divided by their sums, whose logarithms the others take."""
    for t in range(scores.shape[0]):
        for r in range(scores.shape[1]):
            total = 0.0
            for k in range(scores.shape[2]):
                total += probs[t, r, k]
            share, log = 1.0 / total, np.log(total)
            for k in range(scores.shape[2]):
                probs[t, r, k] *= share
                scores[t, r, k] -= log
            norms[t, r] += log


@kernel
def log_softmax_backward(probs, residuals, gains):
    """The gradient in scores, from that in log-probabilities, in place.

    ``residuals`` [N, R, K] come as D(k) = ∂loss / ∂log p(k), ``gains`` [N, R] is what the loss
    gains from the logarithm of a row's sum. A score lifts its own log-probability, and lowers all
    of its row: the gradient is D(k) + p(k) (gain − Σ_k' D(k')).
    """
    for t in range(probs.shape[0]):
        for r in range(probs.shape[1]):
            push = gains[t, r]
            for k in range(probs.shape[2]):
                push -= residuals[t, r, k]
            for k in range(probs.shape[2]):
                residuals[t, r, k] += probs[t, r, k] * push


@kernel
def evidence(emissions, labels, allowed, out):
    """log p(what is known of the label | state) of every token and state, into out [N, S].

    What is known is the label ``labels[t]`` (−1: nothing), or with ``allowed`` [N, L] one of a set.
    ``emissions`` [N, S, L] are log-probabilities.
    """
    states, n_labels = emissions.shape[1:]
    for t in range(emissions.shape[0]):
        for s in range(states):
            if allowed.shape[0] == 0:
                out[t, s] = emissions[t, s, labels[t]] if labels[t] >= 0 else 0.0
                continue
            peak, rest = -np.inf, False
            for y in range(n_labels):
                if allowed[t, y]:
                    peak = max(peak, emissions[t, s, y])
                else:
                    rest = True
            total = 0.0
            for y in range(n_labels):
                if allowed[t, y]:
                    total += np.exp(emissions[t, s, y] - peak)
            out[t, s] = peak + np.log(total) if rest else 0.0


@kernel
def expected_labels(posterior, emissions, labels, allowed, known, out):
    """p(state, label) given what is known, into out [N, S, L].

    ``posterior`` [N, S] are the states' probabilities; a state's label is drawn from those that
    ``labels`` and ``allowed`` leave (as in `evidence`, which gives ``known``).
    """
    states, n_labels = emissions.shape[1:]
    for t in range(emissions.shape[0]):
        for s in range(states):
            for y in range(n_labels):
                out[t, s, y] = 0.0
            if allowed.shape[0] == 0 and labels[t] >= 0:
                out[t, s, labels[t]] = posterior[t, s]
                continue
            for y in range(n_labels):
                if allowed.shape[0] == 0 or allowed[t, y]:
                    out[t, s, y] = posterior[t, s] * np.exp(emissions[t, s, y] - known[t, s])


@kernel
def best_paths(transitions, emissions, pairs, start, end, offsets, labels, score):
    """The labels of the best path of states and labels together: labels [N], score [C].

    δ_t(s, y) = emission_t(s, y) + max_i transition_t(i, s) + max_{y' before y} δ_{t−1}(i, y'),
    where ``pairs`` [L, L], ``start`` and ``end`` [L] say which labels may follow each other, come
    first and come last. Ties go to the lower number; score is −∞ where there is no path.
    """
    states, n_labels = emissions.shape[1:]
    longest = _longest(offsets)
    delta = np.empty((states, n_labels))
    reach = np.empty((states, n_labels))  # the best score before, of what label y may follow
    label_back = np.zeros((longest, states, n_labels), np.int32)
    state_back = np.zeros((longest, states, n_labels), np.int32)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        score[c] = 0.0
        if length == 0:
            continue
        for s in range(states):
            for y in range(n_labels):
                lead = transitions[first, states, s] if start[y] else -np.inf
                delta[s, y] = emissions[first, s, y] + lead
        for t in range(1, length):
            here = first + t
            for i in range(states):
                for y in range(n_labels):
                    best, who = -np.inf, 0
                    for before in range(n_labels):
                        if pairs[before, y] and delta[i, before] > best:
                            best, who = delta[i, before], before
                    reach[i, y] = best
                    label_back[t, i, y] = who
            for s in range(states):
                for y in range(n_labels):
                    best, who = -np.inf, 0
                    for i in range(states):
                        candidate = transitions[here, i, s] + reach[i, y]
                        if candidate > best:
                            best, who = candidate, i
                    delta[s, y] = best + emissions[here, s, y]
                    state_back[t, s, y] = who
        best, s, y = -np.inf, 0, 0
        for i in range(states):
            for last in range(n_labels):
                if end[last] and delta[i, last] > best:
                    best, s, y = delta[i, last], i, last
        score[c] = best
        labels[first + length - 1] = y
        for t in range(length - 1, 0, -1):
            s = state_back[t, s, y]
            y = label_back[t, s, y]
            labels[first + t - 1] = y


@kernel
def window_probabilities(states, pairs, probs, starts, stops, allowed, rows, probability):
    """The probability that the labels of each window lie in its sets, into probability [K].

    Given the input the states are a Markov chain with marginals ``states`` [N, S] and ``pairs``
    [N, S, S]; ``probs`` [N, S, L] are p(label | state). The sets are as in `SpanEvents`.
    """
    size = states.shape[1]
    here, before = np.empty(size), np.empty(size)
    for k in range(starts.shape[0]):
        total = 0.0
        for t in range(starts[k], stops[k]):
            row = allowed[rows[k] + t - starts[k]]
            total = 0.0
            for s in range(size):
                mass = states[t, s]
                if t > starts[k]:
                    mass = 0.0
                    for i in range(size):
                        if before[i] > 0.0:
                            mass += before[i] * pairs[t, i, s] / states[t - 1, i]
                share = 0.0
                for y in range(row.shape[0]):
                    if row[y]:
                        share += probs[t, s, y]
                here[s] = mass * share
                total += here[s]
            here, before = before, here
        probability[k] = total
