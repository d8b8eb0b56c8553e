"""Label history: labels that depend on those of the same word earlier in the document.

``previous`` [N] is the last token before each that is like it, in the same document; −1 where there
is none. Of the tokens s on that trail of token t, the share of label i is

    v_t(i) = Σ_s decay(t − s) [y_s = i] / Σ_s decay(t − s)

and label j gets Σ_i v_t(i) ``table[i, j]``. ``decay`` [D] ends the trail: a token D or more before
does not count. This is the extended prediction history of Ratinov and Roth (2009).
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.chain import _log_sum, _longest
from skipchain.kernels.kernel import kernel
from skipchain.kernels.search import _find_completable, _top_k


@kernel
def label_shares(previous, labels, decay, out):
    """The shares by known labels [N] into out [N, L], which is 0."""
    size = previous.shape[0]
    for t in range(size):
        _history_shares(previous, decay, labels, labels, t, size, out[t])


@kernel
def beam(
    node, edge, open_node, open_edge, second, previous, decay, table, offsets, width, path, score
):
    """The best path of each chain among those whose every prefix is one of the ``width`` best.

    Chains are searched in order. A hypothesis sees its own labels of the chain, and of the chains
    before it the labels that were chosen there. Every label is drawn given the one or two before it
    and the label history: its probability is normalised over all labels, by the potentials
    ``open_node`` and ``open_edge`` before anything was ruled out. Hypotheses are not recombined:
    their labels may belong to the history of later ones. Of equals the one found first is kept.
    Labels from which the chain cannot be completed are not taken. path [N] and score [C] are
    written.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    longest = _longest(offsets)
    alive = np.empty((longest, states), np.bool_)
    trails, next_trails = np.empty((width, longest), np.int32), np.empty((width, longest), np.int32)
    delta, next_delta = np.empty(width), np.empty(width)
    grown, values = np.empty(width * states), np.empty(width * states)
    places = np.empty(width, np.int64)
    row, shares = np.empty(states), np.empty(states)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        score[c] = 0.0
        if length == 0:
            continue
        _find_completable(node, edge, first, first + length, alive)
        delta[0] = 0.0
        count = 1
        for t in range(length):
            here = first + t
            at = here if varying else 0
            many = 0
            for a in range(count):
                for j in range(states):
                    row[j] = open_node[here, j]
                if t > 0:
                    i = trails[a, t - 1]
                    for j in range(states):
                        row[j] += open_edge[at, i, j]
                    if second.shape[0] > 0:
                        h = trails[a, t - 2] if t > 1 else states
                        for j in range(states):
                            row[j] += second[h, i, j]
                if _history_shares(previous, decay, path, trails[a], here, first, shares):
                    for i in range(states):
                        if shares[i] > 0.0:
                            for j in range(states):
                                row[j] += shares[i] * table[i, j]
                log_total = _log_sum(row)
                for j in range(states):
                    k = a * states + j
                    grown[k] = -np.inf
                    if not alive[t, j]:
                        continue
                    if t > 0 and edge[at, trails[a, t - 1], j] == -np.inf:
                        continue
                    grown[k] = delta[a] + row[j] - log_total
                    if grown[k] > -np.inf:
                        values[many] = grown[k]
                        many += 1
            kept = _top_k(grown[: count * states], values, many, width, places)
            for m in range(kept):
                k = places[m]
                next_trails[m, :t] = trails[k // states, :t]
                next_trails[m, t] = k % states
                next_delta[m] = grown[k]
            trails, next_trails = next_trails, trails
            delta, next_delta = next_delta, delta
            count = kept
            if count == 0:
                score[c] = -np.inf
                break
        if count == 0:
            path[first : first + length] = 0
            continue
        best = np.argmax(delta[:count])
        score[c] = delta[best]
        path[first : first + length] = trails[best, :length]


@kernel
def _history_shares(previous, decay, path, trail, here, first, out):
    """The shares at token ``here`` into out [S]; whether there are any.

    Labels before token ``first`` are those of ``path``, the others those of ``trail``.
    """
    s = previous[here]
    if s < 0 or here - s >= decay.shape[0]:
        return False
    out[:] = 0.0
    total = 0.0
    while s >= 0 and here - s < decay.shape[0]:
        out[trail[s - first] if s >= first else path[s]] += decay[here - s]
        total += decay[here - s]
        s = previous[s]
    if total > 0.0:
        for i in range(out.shape[0]):
            out[i] /= total
    return True
