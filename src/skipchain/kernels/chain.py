"""Exact inference on linear chains: sums and maxima over all paths.

Every kernel takes one block of chains as potentials in log space: ``node [N, S]``, ``edge [E, S,
S]`` with E = 1 (one table for all positions) or E = N (``edge[t]`` joins t − 1 to t, and is unused
where a chain begins), indexed ``[prev, cur]``, and chain ``offsets [C + 1]``. A score of −∞
forbids.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

SMALLEST_SUM = 1e-280
SMALLEST_ROW = 1e-100  # of which the parts that matter are still far from the smallest number
SMALLEST_MARGINAL = 1e-300
LARGEST_DRIFT = 1e-10


def forward_backward(node, edge, offsets, marginals, pairs, log_z):
    """Log-partition, node marginals and pair marginals of every chain.

    α_t(j) = ψ_t(j) Σ_i α_{t−1}(i) M(i, j) / s_t,   β_{t−1}(i) = Σ_j M(i, j) ψ_t(j) β_t(j) / s_t,
    log Z = Σ_t log s_t + shifts; ψ and M are shifted by their maxima, and s_t makes each α_t sum to
    one. Hazard: a transition so unlikely that every path under- or overflows; such a chain is done
    again in log space, the others stay fast.

    marginals [N, S] and log_z [C] are written; log_z is −∞ for a chain without a path. ``pairs`` of
    shape [N, S, S] gets the pair marginals of every position (zeros where a chain begins); of shape
    [1, S, S], with E = 1, their sum is *added*; of shape [0, S, S] they are not wanted.
    """
    peaks = np.empty(node.shape[0])
    _row_peaks(node, peaks)
    # numpy's exponential works on many numbers at once, the compiled one on one at a time
    psi = np.exp(node - peaks[:, None])
    _scaled_passes(node, edge, offsets, peaks, psi, marginals, pairs, log_z)


@kernel
def _row_peaks(node, peaks):
    """The maximum of each row; 0 where it is not finite."""
    for t in range(node.shape[0]):
        peak = node[t, 0]
        for j in range(1, node.shape[1]):
            peak = max(peak, node[t, j])
        peaks[t] = peak if np.isfinite(peak) else 0.0


@kernel(fastmath={"reassoc", "contract"})
def _scaled_passes(node, edge, offsets, peaks, psi, marginals, pairs, log_z):
    """Both passes over every chain; ``psi`` [N, S] ends as ψ_t β_t / s_t."""
    states, varying = node.shape[1], edge.shape[0] > 1
    summed = pairs.shape[0] == 1 and not varying
    listed = pairs.shape[0] == node.shape[0] and not summed
    longest = _longest(offsets)
    alpha, scale = np.empty((longest, states)), np.empty(longest)
    beta = np.empty(states)
    factor, transposed = np.empty((states, states)), np.empty((states, states))
    outer = np.zeros((states, states))
    shift = 0.0
    if not varying:
        shift = _exponential(edge[0], factor, transposed)

    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        total = 0.0
        product = 1.0  # of the sums whose logarithm is still to be taken
        good = True
        for t in range(length):
            here = first + t
            s = 0.0
            if t == 0:
                for j in range(states):
                    alpha[0, j] = psi[here, j]
                    s += alpha[0, j]
            else:
                if varying:
                    shift = _exponential(edge[here], factor, transposed)
                for j in range(states):
                    a = 0.0
                    for i in range(states):
                        a += alpha[t - 1, i] * transposed[j, i]
                    a *= psi[here, j] * scale[t - 1]
                    alpha[t, j] = a
                    s += a
                total += shift
            if not (s > SMALLEST_SUM and s < np.inf):
                good = False
                break
            scale[t] = 1.0 / s
            total += peaks[here]
            if s < 1e-100 or product < 1e-100 or product > 1e100:
                total += np.log(product)
                product = 1.0
            product *= s
        total += np.log(product)
        if good:
            for t in range(length):
                for j in range(states):
                    alpha[t, j] *= scale[t]
            for j in range(states):
                beta[j] = 1.0
            for t in range(length - 1, -1, -1):
                here = first + t
                s = 0.0
                for j in range(states):
                    p = alpha[t, j] * beta[j]
                    marginals[here, j] = p
                    s += p
                if not abs(s - 1.0) < LARGEST_DRIFT:
                    good = False
                    break
                if t > 0:
                    if varying:
                        _exponential(edge[here], factor, transposed)
                    for j in range(states):
                        psi[here, j] *= beta[j] * scale[t]
                    for i in range(states):
                        b = 0.0
                        for j in range(states):
                            b += factor[i, j] * psi[here, j]
                        beta[i] = b
        if not good:
            total = _log_space(node, edge, first, first + length, marginals, pairs, summed, listed)
        elif summed:
            for t in range(1, length):
                for i in range(states):
                    a = alpha[t - 1, i]
                    for j in range(states):
                        outer[i, j] += a * psi[first + t, j]
        elif listed:
            if length > 0:
                pairs[first] = 0.0
            for t in range(1, length):
                here = first + t
                if varying:
                    _exponential(edge[here], factor, transposed)
                for i in range(states):
                    a = alpha[t - 1, i]
                    for j in range(states):
                        pairs[here, i, j] = a * factor[i, j] * psi[here, j]
        log_z[c] = total
    if summed:
        for i in range(states):
            for j in range(states):
                pairs[0, i, j] += outer[i, j] * factor[i, j]


@kernel
def _exponential(edge, factor, transposed):
    """exp(edge − max) into ``factor`` and its transpose ``transposed``; returns the maximum."""
    states = edge.shape[0]
    peak = -np.inf
    for i in range(states):
        for j in range(states):
            peak = max(peak, edge[i, j])
    if peak == -np.inf:
        peak = 0.0
    for i in range(states):
        for j in range(states):
            factor[i, j] = np.exp(edge[i, j] - peak)
            transposed[j, i] = factor[i, j]
    return peak


@kernel
def _log_space(node, edge, first, last, marginals, pairs, summed, listed):
    """One chain by logarithms of sums: slow, safe; returns log Z."""
    states = node.shape[1]
    length = last - first
    varying = edge.shape[0] > 1
    alpha, beta = np.empty((length, states)), np.empty((length, states))
    terms = np.empty(states)
    for t in range(length):
        table = edge[first + t] if varying else edge[0]
        for j in range(states):
            alpha[t, j] = node[first + t, j]
            if t > 0:
                for i in range(states):
                    terms[i] = alpha[t - 1, i] + table[i, j]
                alpha[t, j] += _log_sum(terms)
    beta[length - 1] = 0.0
    for t in range(length - 1, 0, -1):
        table = edge[first + t] if varying else edge[0]
        for i in range(states):
            for j in range(states):
                terms[j] = table[i, j] + node[first + t, j] + beta[t, j]
            beta[t - 1, i] = _log_sum(terms)
    total = _log_sum(alpha[length - 1])
    if listed:
        pairs[first] = 0.0
    for t in range(length):
        table = edge[first + t] if varying else edge[0]
        for j in range(states):
            marginals[first + t, j] = _probability(alpha[t, j] + beta[t, j], total)
            if t > 0 and (summed or listed):
                for i in range(states):
                    score = alpha[t - 1, i] + table[i, j] + node[first + t, j] + beta[t, j]
                    p = _probability(score, total)
                    if summed:
                        pairs[0, i, j] += p
                    else:
                        pairs[first + t, i, j] = p
    return total


@kernel
def _log_sum(terms):
    """log Σ exp, with −∞ for an empty sum."""
    peak = -np.inf
    for k in range(terms.shape[0]):
        peak = max(peak, terms[k])
    if peak == -np.inf:
        return peak
    s = 0.0
    for k in range(terms.shape[0]):
        s += np.exp(terms[k] - peak)
    return peak + np.log(s)


@kernel
def _probability(score, total):
    """exp(score − total), and 0 where nothing is possible."""
    if score == -np.inf or total == -np.inf:
        return 0.0
    return np.exp(score - total)


@kernel
def path_score(node, edge, offsets, path, score):
    """The score of one known path per chain, into score [C]."""
    varying = edge.shape[0] > 1
    for c in range(offsets.shape[0] - 1):
        total = 0.0
        for t in range(offsets[c], offsets[c + 1]):
            total += node[t, path[t]]
            if t > offsets[c]:
                total += edge[t if varying else 0, path[t - 1], path[t]]
        score[c] = total


@kernel
def subtract_path(offsets, path, marginals, pairs):
    """Marginals minus the indicator of the given path, in place: the gradient in potentials.

    ``pairs`` as in `forward_backward`: [N, S, S], [1, S, S] (a sum) or [0, S, S].
    """
    summed = pairs.shape[0] == 1
    listed = pairs.shape[0] == marginals.shape[0] and not summed
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c], offsets[c + 1]):
            marginals[t, path[t]] -= 1.0
            if t > offsets[c]:
                if summed:
                    pairs[0, path[t - 1], path[t]] -= 1.0
                elif listed:
                    pairs[t, path[t - 1], path[t]] -= 1.0


@kernel
def viterbi(node, edge, offsets, path, score):
    """The best path of every chain: path [N], score [C] (−∞ where there is no path).

    δ_t(j) = node_t(j) + max_i δ_{t−1}(i) + edge(i, j); ties go to the lower state.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    longest = _longest(offsets)
    back = np.empty((longest, states), np.int32)
    delta, best = np.empty(states), np.empty(states)
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        if length == 0:
            score[c] = 0.0
            continue
        for j in range(states):
            delta[j] = node[first, j]
        for t in range(1, length):
            table = edge[first + t] if varying else edge[0]
            for j in range(states):
                best[j] = delta[0] + table[0, j]
                back[t, j] = 0
            for i in range(1, states):
                d = delta[i]
                for j in range(states):
                    candidate = d + table[i, j]
                    if candidate > best[j]:
                        best[j] = candidate
                        back[t, j] = i
            for j in range(states):
                delta[j] = best[j] + node[first + t, j]
        score[c] = _trace_back(delta, back, first, length, path)


@kernel
def _trace_back(delta, back, first, length, path):
    """Write the path that ends in the best state, the lower of equals; returns its score."""
    state = 0
    for j in range(1, delta.shape[0]):
        if delta[j] > delta[state]:
            state = j
    score = delta[state]
    path[first + length - 1] = state
    for t in range(length - 1, 0, -1):
        state = back[t, state]
        path[first + t - 1] = state
    return score


def normalisers(node, edge, offsets, norms):
    """log Σ_k exp(node_t(k) + edge_t(i, k)) for every position and label i before it. [N, S]

    Where a chain begins, all entries are log Σ_k exp(node_t(k)).
    """
    peaks = np.empty(node.shape[0])
    _row_peaks(node, peaks)
    sums = np.exp(node - peaks[:, None])  # many at once, as in forward_backward
    _scaled_sums(node, edge, offsets, peaks, sums, norms)
    norms += np.log(sums, out=sums)


@kernel
def _scaled_sums(node, edge, offsets, peaks, sums, norms):
    """The normalisers as norms + log(sums); ``sums`` [N, S] comes as exp(node − peaks)."""
    states, varying = node.shape[1], edge.shape[0] > 1
    factor, transposed = np.empty((states, states)), np.empty((states, states))
    psi, total, terms = np.empty(states), np.empty(states), np.empty(states)
    shift = 0.0
    if not varying:
        shift = _exponential(edge[0], factor, transposed)
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c], offsets[c + 1]):
            for k in range(states):
                psi[k] = sums[t, k]
                total[k] = 0.0
            if t == offsets[c]:
                for k in range(states):
                    for i in range(states):
                        total[i] += psi[k]
                base = peaks[t]
            else:
                if varying:
                    shift = _exponential(edge[t], factor, transposed)
                for k in range(states):
                    p = psi[k]
                    for i in range(states):
                        total[i] += p * transposed[k, i]
                base = peaks[t] + shift
            for i in range(states):
                norms[t, i] = base
                sums[t, i] = total[i]
                if not total[i] > SMALLEST_SUM:
                    # too far below the largest score to be seen beside it
                    for k in range(states):
                        terms[k] = node[t, k] + edge[t if varying else 0, i, k]
                    norms[t, i] = _log_sum(terms)
                    sums[t, i] = 1.0


@kernel
def pull_back(node, edge, offsets, norms, residuals, pairs):
    """Turn the gradient in normalised potentials into that in the potentials themselves, in place.

    node and edge are those before normalising, norms as from `normalisers`. A normaliser at t
    passes what comes in for the node score at t − 1 on to all scores that it sums over.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    listed = pairs.shape[0] == node.shape[0] and pairs.shape[0] != 1
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c + 1] - 1, offsets[c], -1):
            for i in range(states):
                g = residuals[t - 1, i]
                if g != 0.0:
                    for k in range(states):
                        score = node[t, k] + edge[t if varying else 0, i, k]
                        p = g * np.exp(score - norms[t, i])
                        residuals[t, k] -= p
                        pairs[t if listed else 0, i, k] -= p
        if offsets[c + 1] > offsets[c]:
            t = offsets[c]
            g = 0.0
            for k in range(states):
                g += residuals[t, k]
            for k in range(states):
                residuals[t, k] -= g * np.exp(node[t, k] - norms[t, k])


@kernel
def local_path(node, edge, offsets, path, residuals, pairs):
    """−Σ_t log p(y_t | y_{t−1}, x) of a given path, and its gradient in the potentials.

    p(j | i) ∝ exp(node_t(j) + edge_t(i, j)): one classifier per position, given the label before.
    residuals [N, S] are written; pairs [N, S, S] or [1, S, S] are added to.
    """
    states, varying = node.shape[1], edge.shape[0] > 1
    listed = pairs.shape[0] == node.shape[0] and pairs.shape[0] != 1
    scores = np.empty(states)
    loss = 0.0
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c], offsets[c + 1]):
            inner = t > offsets[c]
            before = path[t - 1] if inner else 0
            peak = -np.inf
            for j in range(states):
                scores[j] = node[t, j]
                if inner:
                    scores[j] += edge[t if varying else 0, before, j]
                peak = max(peak, scores[j])
            loss += peak - scores[path[t]]
            total = 0.0
            for j in range(states):
                scores[j] = np.exp(scores[j] - peak)
                total += scores[j]
            loss += np.log(total)
            for j in range(states):
                p = scores[j] / total - (1.0 if j == path[t] else 0.0)
                residuals[t, j] = p
                if inner:
                    pairs[t if listed else 0, before, j] += p
    return loss


def local_marginals(node, edge, offsets, path, allowed, residuals, pairs):
    """−Σ_t log p(y_t | x) of a locally normalised chain, and its gradient in the potentials.

    With P_t(i, j) = p(y_t = j | y_{t−1} = i), the marginals are μ_t = P_tᵀ μ_{t−1}. One sweep back
    carries g_t(j) = ∂loss / ∂μ_t(j) = −[j is known] / p(known at t) + Σ_k P_{t+1}(j, k) g_{t+1}(k)
    (000, §3.2), and the gradient in the scores of i, j at t is
    μ_{t−1}(i) P_t(i, j) (g_t(j) − Σ_k P_t(i, k) g_t(k)).

    What is known of a position is the label path[t], or with ``allowed`` [N, S] a set of labels.
    residuals [N, S] are written; pairs [N, S, S] or [1, S, S] are added to; returns the loss.
    """
    peaks = np.empty(node.shape[0])
    _row_peaks(node, peaks)
    psi = np.exp(node - peaks[:, None])  # many at once, as in forward_backward
    return _local_sweeps(node, edge, offsets, psi, path, allowed, residuals, pairs)


@kernel(fastmath={"reassoc", "contract"})
def _local_sweeps(node, edge, offsets, psi, path, allowed, residuals, pairs):
    """Both sweeps over every chain; ``psi`` [N, S] is exp(node) up to a factor of each row."""
    states, varying = node.shape[1], edge.shape[0] > 1
    listed = pairs.shape[0] == node.shape[0] and pairs.shape[0] != 1
    longest = _longest(offsets)
    table, mu = np.empty((longest, states, states)), np.empty((longest, states))
    known = np.empty(longest)
    after = np.empty(states)  # Σ_k P(i, k) g(k)
    g, row, terms = np.empty(states), np.empty(states), np.empty(states)
    factor = np.empty((states, states))
    if not varying:
        _row_exponentials(edge[0], factor)
    loss = 0.0
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        for t in range(length):
            here = first + t
            if t == 0:
                total = 0.0
                for k in range(states):
                    total += psi[here, k]
                scale = 1.0 / total if total > 0.0 else 0.0
                for k in range(states):
                    mu[0, k] = psi[here, k] * scale
            else:
                if varying:
                    _row_exponentials(edge[here], factor)
                mu[t] = 0.0
                for i in range(states):
                    total = 0.0
                    for k in range(states):
                        table[t, i, k] = factor[i, k] * psi[here, k]
                        total += table[t, i, k]
                    scale = 1.0
                    if total > SMALLEST_ROW:
                        scale = 1.0 / total
                    else:
                        # too far below the largest score to be seen beside it
                        for k in range(states):
                            terms[k] = node[here, k] + edge[here if varying else 0, i, k]
                        total = _log_sum(terms)
                        for k in range(states):
                            table[t, i, k] = _probability(terms[k], total)
                    before = mu[t - 1, i]
                    for k in range(states):
                        p = table[t, i, k] * scale
                        table[t, i, k] = p
                        mu[t, k] += before * p
            known[t] = 0.0
            for k in range(states):
                if allowed[here, k] if allowed.shape[0] else k == path[here]:
                    known[t] += mu[t, k]
            loss -= np.log(max(known[t], SMALLEST_MARGINAL))
        after[:] = 0.0
        for t in range(length - 1, -1, -1):
            here = first + t
            lost = known[t] <= SMALLEST_MARGINAL
            for k in range(states):
                on = allowed[here, k] if allowed.shape[0] else k == path[here]
                g[k] = after[k] - (1.0 / known[t] if on and not lost else 0.0)
                # what has no probability to speak of has no gradient either: a push instead
                row[k] = -1.0 if on and lost else 0.0
            if t == 0:
                total = 0.0
                for k in range(states):
                    total += mu[0, k] * g[k]
                for k in range(states):
                    row[k] += mu[0, k] * (g[k] - total)
            else:
                pair_gradient = pairs[here if listed else 0]
                for i in range(states):
                    total = 0.0
                    for k in range(states):
                        total += table[t, i, k] * g[k]
                    after[i] = total
                    before = mu[t - 1, i]
                    for k in range(states):
                        r = before * table[t, i, k] * (g[k] - total)
                        row[k] += r
                        pair_gradient[i, k] += r
            for k in range(states):
                residuals[here, k] = row[k]
    return loss


@kernel
def _row_exponentials(edge, factor):
    """exp(edge − the maximum of each row)."""
    for i in range(edge.shape[0]):
        peak = -np.inf
        for j in range(edge.shape[1]):
            peak = max(peak, edge[i, j])
        for j in range(edge.shape[1]):
            factor[i, j] = _probability(edge[i, j], peak)


@kernel
def _longest(offsets):
    """The length of the longest chain, at least 1."""
    longest = 1
    for c in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[c + 1] - offsets[c])
    return longest


@kernel(fastmath={"reassoc", "contract"})
def marginal_residuals(offsets, path, allowed, marginals, pairs, loss):
    """−Σ_t log p(y_t | x), one position at a time, and its gradient in the potentials, in place.

    Given the input, the labels are a Markov chain with the marginals μ [N, S] and the pairs
    [N, S, S] that `forward_backward` lists. With e_t the distribution of y_t given what is known of
    it alone (the label path[t], or with ``allowed`` [N, S] a set of labels, or how likely each
    state makes what is known), two sweeps add up what every known label says of every other
    position (000, §3.2, in marginal form):
    A_t(j) = e_t(j) + Σ_k p(y_t = j | y_{t+1} = k) A_{t+1}(k),
    B_t(j) = e_t(j) + Σ_i p(y_t = j | y_{t−1} = i) B_{t−1}(i);
    the gradient is −(A + B − e − n μ), with n the number of positions. marginals and pairs are
    overwritten by it; loss [C].
    """
    states = marginals.shape[1]
    longest = _longest(offsets)
    known = np.empty((longest, states))
    later = np.empty((longest, states))  # A / μ
    earlier = np.empty(states)
    before = np.empty(states)  # B / μ of the position before
    share = np.empty((longest, states))  # 1 / μ, and 0 where μ is
    for c in range(offsets.shape[0] - 1):
        first, length = offsets[c], offsets[c + 1] - offsets[c]
        loss[c] = 0.0
        for t in range(length):
            here = first + t
            total = 0.0
            for j in range(states):
                if allowed.shape[0]:
                    known[t, j] = marginals[here, j] * allowed[here, j]
                else:
                    known[t, j] = marginals[here, j] if j == path[here] else 0.0
                total += known[t, j]
                small = marginals[here, j] <= SMALLEST_MARGINAL
                share[t, j] = 0.0 if small else 1.0 / marginals[here, j]
            loss[c] -= np.log(max(total, SMALLEST_MARGINAL))
            for j in range(states):
                known[t, j] = known[t, j] / total if total > SMALLEST_MARGINAL else 0.0
                if total <= SMALLEST_MARGINAL and not allowed.shape[0]:
                    known[t, j] = 1.0 if j == path[here] else 0.0
        for t in range(length - 1, -1, -1):
            for j in range(states):
                s = known[t, j]
                if t < length - 1:
                    for k in range(states):
                        s += pairs[first + t + 1, j, k] * later[t + 1, k]
                marginals[first + t, j] = length * marginals[first + t, j] - s
                later[t, j] = s * share[t, j]
        for t in range(length):
            here = first + t
            for j in range(states):
                earlier[j] = known[t, j]
            if t > 0:
                for i in range(states):
                    b = before[i]
                    for j in range(states):
                        p = pairs[here, i, j]
                        earlier[j] += p * b
                        pairs[here, i, j] = p * (length - later[t, j] - b)
            for j in range(states):
                marginals[here, j] += known[t, j] - earlier[j]
                before[j] = earlier[j] * share[t, j]
