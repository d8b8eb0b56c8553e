"""Loopy belief propagation on pairwise graphs.

A block is D documents with N nodes of S states and undirected edges, each with a table of log
scores for the states of its ends. Edges stand in the lists of both their ends as *slots*, laid out
by `kernels.adjacency.layout`. A slot holds the message that comes in by its edge; the message that
goes out by slot s comes in at slot ``twin[s]`` of node ``other[s]``. With ψ_n and M_uv the
exponentials of the scores,

    m_{n→k}(j) ∝ Σ_i c_{n∖k}(i) M_nk(i, j),   c_{n∖k}(i) = ψ_n(i) Π_{l≠k} m_{l→n}(i)  (the cavity)
    b_n(i) = ψ_n(i) Π_l m_{l→n}(i) / Z_n,   b_uv(i, j) = c_{u∖v}(i) M_uv(i, j) c_{v∖u}(j) / Z_uv
    log Z ≈ Σ_uv log Z_uv − Σ_n (degree(n) − 1) log Z_n  (Bethe's approximation)

On trees all of this is exact. With loops it is an approximation, if the messages converge (Yedidia,
Freeman & Weiss 2001). At a fixed point log Z does not depend on the messages to first order, so
that its gradient in the scores is the beliefs, and small changes of messages do not show in it.

Max-product has a maximum where the sum is, and logarithms throughout: messages that converge say
how good the best labelling with each label of a node is. On trees that is exact. With loops the
labels of a fixed point without ties are better than any others that differ from them on trees or
single loops only (Weiss & Freeman 2001). Around loops that contradict themselves there are ties.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skipchain.kernels.chain import _log_sum, _probability, _row_peaks
from skipchain.kernels.kernel import kernel

# ψ, tables and messages have the maximum 1. What vanishes in a product of them is below 1e-308:
# nothing beside a sum above this, not even after such a sum has been scaled up once more.
SMALLEST_SUM = 1e-140
SMALLEST_PART = 1e-300  # keeps the relative change of 0 from being 0 / 0
MAX_IMPROVEMENTS = 100  # rounds over a document after max-product
MIN_GAIN = 1e-12  # as a share: less is a rounding error, which could be gained for ever
SUM, LOG_SUM, MAX = 0, 1, 2  # what messages are: sums, logarithms of sums, logarithms of maxima


class MessageSlots(NamedTuple):
    """The documents of a block with N nodes and E edges, as slots; counted from the block's first.

    Of slot s, ``table[s]`` is 2k for the table of edge type k and 2k + 1 for its transpose, so that
    the slot's own node comes first; ``row[s]`` is k, or M + a for the edge that row a of the
    agreement scores belongs to. The other arrays are those of `kernels.adjacency.layout`.
    """

    offsets: np.ndarray  # [D + 1]
    order: np.ndarray  # [N]
    indptr: np.ndarray  # [N + 1]
    middle: np.ndarray  # [N]
    other: np.ndarray  # [2E]
    twin: np.ndarray  # [2E]
    table: np.ndarray  # [2E]
    row: np.ndarray  # [2E]


class BeliefArrays(NamedTuple):
    """What is written for a block: see `propagate`."""

    marginals: np.ndarray  # [N, S]
    pairs: np.ndarray  # [M, S, S]
    agreements: np.ndarray  # [A, S]
    log_z: np.ndarray  # [D]
    sweeps: np.ndarray  # [D]
    residual: np.ndarray  # [D]


class BestArrays(NamedTuple):
    """What is written of the best labelling of a block: see `maximise`."""

    labels: np.ndarray  # [N]
    score: np.ndarray  # [D]
    sweeps: np.ndarray  # [D]
    residual: np.ndarray  # [D]


class _Scores(NamedTuple):
    """Scores as logarithms, and as exponentials of which each row or table has the maximum 1.

    Diagonals stand apart, in ``log_same`` and ``same``: they are what edges of one type differ in.
    The exponentials of row r of these are multiplied by exp(−shift[r]), and ``scale[r]`` brings
    the rest of the table, ``factors``, to the same measure.
    """

    node: np.ndarray  # [N, S]
    psi: np.ndarray  # [N, S]
    peaks: np.ndarray  # [N]
    tables: np.ndarray  # [2M, S, S]
    log_same: np.ndarray  # [M + A, S]
    factors: np.ndarray  # [2M, S, S], 0 on the diagonal
    same: np.ndarray  # [M + A, S]
    scale: np.ndarray  # [M + A]
    shift: np.ndarray  # [M + A]


class _Messages(NamedTuple):
    """The messages of one document, and what is needed to know which have to be sent again."""

    messages: np.ndarray  # [slots, S]
    cavities: np.ndarray  # [slots, S]
    weights: np.ndarray  # [slots], 1 / Z_uv, or log Z_uv in log space
    node_change: np.ndarray  # [nodes], how much the messages in at a node have changed, added up
    slot_change: np.ndarray  # [slots], how much the message in by this slot has changed
    sent_at: np.ndarray  # [slots], node_change − slot_change when the message out was sent


def propagate(node, tables, agree, types, slots, start, damping, tolerance, max_sweeps, beliefs):
    """Send messages until they converge; write what is then believed.

    node [N, S]; tables [M, S, S]; row a of agree [A, S] is added to the diagonal of the table of
    type types[a] [A], for one edge.

    A sweep goes through the order, each node sending to its later neighbours, and back, each
    sending to its earlier ones. A message is sent again only if those that it is made of have
    changed by more than the tolerance, added up since it was sent last; a change is the largest of
    |new − old| / max(new, old). With damping λ, a message sent again becomes (1 − λ) new + λ old.

    Messages begin as equal for all states. With loops there may be more than one fixed point; where
    there are states ``start`` [N] (or [0]), messages also begin as sent by nodes in these states,
    and of the two fixed points the one with the higher log Z counts.

    Written are marginals [N, S], agreements [A, S] (the diagonals of b_uv), log_z [D], sweeps [D],
    and residual [D], the largest change that waits to be passed on: above the tolerance where
    max_sweeps did not suffice. To pairs [M, S, S] the b_uv of each edge type are *added*. Where the
    messages contradict each other, log_z is −∞ and the document's beliefs are 0.

    Hazard: scores so far apart that all parts of a sum vanish; such a document is done again in log
    space, the others stay fast.
    """
    scores = _scores(node, tables, agree, types)
    _propagate_documents(scores, slots, start, (damping, tolerance, max_sweeps), beliefs)


def maximise(node, tables, agree, types, slots, damping, tolerance, max_sweeps, best):
    """Send messages of maxima until they converge; write the labelling that they lead to.

    Scores, sweeps, damping and residual are those of `propagate`. Labels [N] are chosen from the
    end of the order to its beginning, each given the labels of later neighbours and the messages of
    earlier ones, so that they fit together even where several labellings are equally good; of equal
    labels the first is taken. In a tree that is the best labelling. Elsewhere, and where messages
    do not converge, single labels are then changed as long as the labelling gets better. score [D]
    is what the labelling scores, −∞ where none was found that is possible.
    """
    scores = _scores(node, tables, agree, types)
    _maximise_documents(scores, slots, (damping, tolerance, max_sweeps), best)


def _scores(node, tables, agree, types):
    """What both kinds of messages are made of."""
    peaks = np.empty(len(node))
    _row_peaks(node, peaks)
    psi = np.exp(node - peaks[:, None])
    tops = tables.max(axis=(1, 2), initial=-np.inf)
    tops[tops == -np.inf] = 0.0
    factors = np.exp(tables - tops[:, None, None])
    diagonal = np.einsum("kii->ki", tables)
    log_same = np.concatenate([diagonal, diagonal[types] + agree])
    tops = np.concatenate([tops, tops[types]])
    shift = np.maximum(tops, log_same.max(axis=1, initial=-np.inf))
    scale = np.exp(tops - shift)
    same = np.exp(log_same - shift[:, None])
    np.einsum("kii->ki", factors)[:] = 0.0
    doubled, doubled_factors = _with_transposes(tables), _with_transposes(factors)
    return _Scores(node, psi, peaks, doubled, log_same, doubled_factors, same, scale, shift)


def _with_transposes(tables):
    """Each table and its transpose. [2M, S, S]"""
    return np.stack([tables, tables.transpose(0, 2, 1)], axis=1).reshape(-1, *tables.shape[1:])


@kernel
def _propagate_documents(scores, slots, start, limits, beliefs):
    """One document after the other, in log space where need be.

    ``limits`` are damping, tolerance and the largest number of sweeps.
    """
    states = scores.node.shape[1]
    offsets, indptr, row = slots.offsets, slots.indptr, slots.row
    pairs, log_z = beliefs.pairs, beliefs.log_z
    sweeps, residual = beliefs.sweeps, beliefs.residual
    edge_types = pairs.shape[0]
    n_nodes, n_slots = _largest_document(slots)
    work = _no_messages(n_nodes, n_slots, states)
    best_messages = np.empty((n_slots, states))  # those of the better fixed point so far
    outer, alike = np.zeros(scores.factors.shape), np.zeros((edge_types, states))
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        base, n_slots = indptr[first], indptr[last] - indptr[first]
        good = False
        for mode in (SUM, LOG_SUM):
            if good:
                break
            _init_messages(first, last, start[:0], mode, scores, slots, work.messages)
            good = _run_to_convergence(d, mode, scores, slots, limits, work, beliefs)
            good = good and _beliefs(d, mode, scores, slots, work, beliefs)
            # messages that converge at once have met no loop to speak of
            if good and start.shape[0] and sweeps[d] > 1:
                best, rounds, waiting = log_z[d], sweeps[d], residual[d]
                best_messages[:n_slots] = work.messages[:n_slots]
                _init_messages(first, last, start, mode, scores, slots, work.messages)
                good = _run_to_convergence(d, mode, scores, slots, limits, work, beliefs)
                good = good and _beliefs(d, mode, scores, slots, work, beliefs)
                if not (good and log_z[d] > best):
                    sweeps[d], residual[d] = rounds, waiting
                    work.messages[:n_slots] = best_messages[:n_slots]
                    good = _beliefs(d, mode, scores, slots, work, beliefs)
            if good and mode == LOG_SUM:
                _log_pairs(first, last, scores, slots, work, pairs, beliefs.agreements)
            elif good:
                _pairs(first, last, scores, slots, work, outer, alike, beliefs.agreements)
        if not good:
            log_z[d] = -np.inf
            beliefs.marginals[first:last] = 0.0
            for s in range(base, base + n_slots):
                if row[s] >= edge_types:
                    beliefs.agreements[row[s] - edge_types] = 0.0
    factors = scores.factors
    for k in range(edge_types):
        for i in range(states):
            pairs[k, i, i] += alike[k, i]
            for j in range(states):
                both = outer[2 * k, i, j] + outer[2 * k + 1, j, i]
                pairs[k, i, j] += factors[2 * k, i, j] * both


@kernel
def _largest_document(slots):
    """The most nodes and the most slots that a document has."""
    offsets, indptr = slots.offsets, slots.indptr
    n_nodes, n_slots = 0, 0
    for d in range(offsets.shape[0] - 1):
        n_nodes = max(n_nodes, offsets[d + 1] - offsets[d])
        n_slots = max(n_slots, indptr[offsets[d + 1]] - indptr[offsets[d]])
    return n_nodes, n_slots


@kernel
def _no_messages(n_nodes, n_slots, states):
    """Room for the messages of a document."""
    return _Messages(
        np.empty((n_slots, states)),
        np.empty((n_slots, states)),
        np.empty(n_slots),
        np.empty(n_nodes),
        np.empty(n_slots),
        np.empty(n_slots),
    )


@kernel
def _maximise_documents(scores, slots, limits, best):
    """One document after the other."""
    n_nodes, n_slots = _largest_document(slots)
    work = _no_messages(n_nodes, n_slots, scores.node.shape[1])
    start = np.empty(0, np.int32)
    for d in range(slots.offsets.shape[0] - 1):
        first, last = slots.offsets[d], slots.offsets[d + 1]
        best.labels[first:last] = 0
        best.score[d] = -np.inf
        _init_messages(first, last, start, MAX, scores, slots, work.messages)
        if _run_to_convergence(d, MAX, scores, slots, limits, work, best):
            _trace_labels(first, last, scores, slots, work.messages, best.labels)
            best.score[d] = _improve_labels(first, last, scores, slots, best.labels)


@kernel
def _trace_labels(first, last, scores, slots, messages, labels):
    """The labels of one document, from the end of its order to its beginning."""
    base = slots.indptr[first]
    values = np.empty(scores.node.shape[1])
    for p in range(last - first - 1, -1, -1):
        here = first + slots.order[first + p]
        middle = slots.middle[here]
        _label_scores(first, here, middle, scores, slots, labels, values)
        for s in range(slots.indptr[here] - base, middle - base):
            for i in range(len(values)):
                values[i] += messages[s, i]
        labels[here] = _best_label(values, 0)


@kernel
def _improve_labels(first, last, scores, slots, labels):
    """Change one label after the other while the labelling gets better; returns its score.

    Labels that messages of a fixed point lead to are left alone, but for ties.
    """
    values = np.empty(scores.node.shape[1])
    changed, rounds = True, 0
    while changed and rounds < MAX_IMPROVEMENTS:
        changed, rounds = False, rounds + 1
        for here in range(first, last):
            _label_scores(first, here, slots.indptr[here], scores, slots, labels, values)
            pick = _best_label(values, labels[here])
            if values[pick] > values[labels[here]] + MIN_GAIN * (1.0 + abs(values[pick])):
                labels[here], changed = pick, True
    total = 0.0
    for here in range(first, last):
        _label_scores(first, here, slots.middle[here], scores, slots, labels, values)
        total += values[labels[here]]
    return total


@kernel
def _label_scores(first, here, begin, scores, slots, labels, values):
    """The scores of a node's labels given those of its neighbours from slot ``begin`` on."""
    for i in range(len(values)):
        values[i] = scores.node[here, i]
    for s in range(begin, slots.indptr[here + 1]):
        f, r, j = slots.table[s], slots.row[s], labels[first + slots.other[s]]
        for i in range(len(values)):
            values[i] += scores.log_same[r, i] if i == j else scores.tables[f, i, j]


@kernel
def _best_label(values, kept):
    """The first of the best labels, or ``kept`` where that is one of them."""
    pick = kept
    for i in range(len(values)):
        if values[i] > values[pick]:
            pick = i
    return pick


@kernel
def _init_messages(first, last, start, mode, scores, slots, messages):
    """The first messages of a document: equal for all states, or from the states ``start``."""
    base = slots.indptr[first]
    n_slots = slots.indptr[last] - base
    messages[:n_slots] = 1.0 if mode == SUM else 0.0
    if start.shape[0] == 0:
        return
    tables, log_same, factors, same = scores.tables, scores.log_same, scores.factors, scores.same
    for s in range(n_slots):
        f, r = slots.table[base + s], slots.row[base + s]
        j = start[first + slots.other[base + s]]
        top = -np.inf
        for i in range(messages.shape[1]):
            if mode != SUM:
                messages[s, i] = log_same[r, j] if i == j else tables[f, i, j]
            else:
                messages[s, i] = same[r, j] if i == j else factors[f, i, j] * scores.scale[r]
            top = max(top, messages[s, i])
        for i in range(messages.shape[1]):
            if mode != SUM:
                messages[s, i] = messages[s, i] - top if top > -np.inf else 0.0
            else:
                messages[s, i] = messages[s, i] / top if top > SMALLEST_SUM else 1.0


@kernel
def _run_to_convergence(d, mode, scores, slots, limits, work, beliefs):
    """Sweep over one document until its messages converge; False where a sum vanished."""
    sweeps, residual = beliefs.sweeps, beliefs.residual
    _, tolerance, max_sweeps = limits
    first, last = slots.offsets[d], slots.offsets[d + 1]
    n_slots = slots.indptr[last] - slots.indptr[first]
    work.node_change[: last - first] = 0.0
    work.slot_change[:n_slots] = 0.0
    work.sent_at[:n_slots] = -np.inf
    sweeps[d] = 0
    residual[d] = np.inf
    good = True
    while good and sweeps[d] < max_sweeps and residual[d] > tolerance:
        for forward in (True, False):
            good = good and _half_sweep(first, last, forward, mode, scores, slots, limits, work)
        sweeps[d] += 1
        residual[d] = _residual(first, last, slots.indptr, work)
    return good


@kernel
def _residual(first, last, indptr, work):
    """The largest change that a message has not yet taken up."""
    base = indptr[first]
    worst = 0.0
    for n in range(last - first):
        for s in range(indptr[first + n] - base, indptr[first + n + 1] - base):
            worst = max(worst, work.node_change[n] - work.slot_change[s] - work.sent_at[s])
    return worst


@kernel(fastmath={"reassoc", "contract"})
def _half_sweep(first, last, forward, mode, scores, slots, limits, work):
    """Half a sweep over one document; False where a sum vanished."""
    damping, tolerance, _ = limits
    order, indptr, middle = slots.order, slots.indptr, slots.middle
    other, twin, table, row = slots.other, slots.twin, slots.table, slots.row
    node, psi, scale = scores.node, scores.psi, scores.scale
    tables, log_same, factors, same = scores.tables, scores.log_same, scores.factors, scores.same
    messages, cavities = work.messages, work.cavities
    node_change, slot_change, sent_at = work.node_change, work.slot_change, work.sent_at
    base = indptr[first]
    rest, out = np.empty(node.shape[1]), np.empty(node.shape[1])
    for p in range(last - first):
        n = order[first + p] if forward else order[last - 1 - p]
        here = first + n
        low, high = indptr[here] - base, indptr[here + 1] - base
        a = middle[here] - base if forward else low
        b = high if forward else middle[here] - base
        stale = False
        for s in range(a, b):
            stale = stale or node_change[n] - slot_change[s] - sent_at[s] > tolerance
        if not stale:
            continue
        if mode != SUM:
            _log_cavities(node, here, low, high, a, b, messages, cavities, rest)
        else:
            _cavities(psi, here, low, high, a, b, messages, cavities, rest)
        for s in range(a, b):
            known = node_change[n] - slot_change[s]
            if not known - sent_at[s] > tolerance:
                continue
            f, r, to = table[base + s], row[base + s], twin[base + s]
            if mode == MAX:
                good = _max_send(cavities, s, tables, f, log_same, r, out)
            elif mode == LOG_SUM:
                good = _log_send(cavities, s, tables, f, log_same, r, out)
            else:
                good = _send(cavities, s, factors, f, same, r, scale[r], out)
            if not good:
                return False
            # a message that has never been sent is not damped
            keep = damping if sent_at[s] > -np.inf else 0.0
            if mode != SUM:
                change = _log_receive(messages, to, out, keep)
            else:
                change = _receive(messages, to, out, keep)
            sent_at[s] = known - keep * change
            node_change[other[base + s]] += change
            slot_change[to] += change
    return True


# The three below are part of the loop that calls them: a call with arrays costs as much as they do.


@kernel(inline="always")
def _cavities(psi, here, low, high, a, b, messages, cavities, rest):
    """ψ times all messages in but one, for slots a … b − 1 of a node with slots low … high − 1.

    Products of those before and those after; a quotient would not do where a message is 0.
    """
    states = psi.shape[1]
    for i in range(states):
        cavities[a, i] = psi[here, i]
    for s in range(low, a):
        for i in range(states):
            cavities[a, i] *= messages[s, i]
    for s in range(b, high):
        for i in range(states):
            cavities[a, i] *= messages[s, i]
    if b - a > 1:
        for s in range(a, b - 1):
            for i in range(states):
                cavities[s + 1, i] = cavities[s, i] * messages[s, i]
        for i in range(states):
            rest[i] = 1.0
        for s in range(b - 2, a - 1, -1):
            for i in range(states):
                rest[i] *= messages[s + 1, i]
                cavities[s, i] *= rest[i]


@kernel(inline="always")
def _send(cavities, s, factors, f, same, r, scale, out):
    """The message out by slot s, its maximum 1; False where it vanished."""
    states = out.shape[0]
    top = 0.0
    for j in range(states):
        x = 0.0
        for i in range(states):
            x += cavities[s, i] * factors[f ^ 1, j, i]
        out[j] = x * scale + cavities[s, j] * same[r, j]
        top = max(top, out[j])
    if not top > SMALLEST_SUM:
        return False
    inverse = 1.0 / top
    for j in range(states):
        out[j] *= inverse
    return True


@kernel(inline="always")
def _receive(messages, to, out, keep):
    """Put a message in its place, with a share of the old one; returns how much it changed."""
    change = 0.0
    for j in range(out.shape[0]):
        old = messages[to, j]
        change = max(change, abs(out[j] - old) / max(out[j], old, SMALLEST_PART))
        messages[to, j] = out[j] + keep * (old - out[j])
    return change


@kernel
def _beliefs(d, mode, scores, slots, work, beliefs):
    """What the messages of one document say of nodes, and log Z; False where a sum vanished.

    Left for the pairs are all cavities and, as weights, 1 / Z_uv (or log Z_uv).
    """
    if mode == LOG_SUM:
        return _log_sums(d, scores, slots, work, beliefs.marginals, beliefs.log_z)
    return _sums(d, scores, slots, work, beliefs.marginals, beliefs.log_z)


@kernel(fastmath={"reassoc", "contract"})
def _sums(d, scores, slots, work, marginals, log_z):
    """`_beliefs` as plain numbers."""
    first, last = slots.offsets[d], slots.offsets[d + 1]
    indptr, twin, table, row = slots.indptr, slots.twin, slots.table, slots.row
    psi, factors, same, scale = scores.psi, scores.factors, scores.same, scores.scale
    messages, cavities = work.messages, work.cavities
    states = psi.shape[1]
    base = indptr[first]
    rest = np.empty(states)
    logs = 0.0
    product = 1.0  # of the sums whose logarithm is still to be taken
    for here in range(first, last):
        low, high = indptr[here] - base, indptr[here + 1] - base
        for i in range(states):
            marginals[here, i] = psi[here, i]
        if high > low:
            _cavities(psi, here, low, high, low, high, messages, cavities, rest)
            for i in range(states):
                marginals[here, i] = cavities[low, i] * messages[low, i]
        z = 0.0
        for i in range(states):
            z += marginals[here, i]
        if not z > SMALLEST_SUM:
            return False
        inverse = 1.0 / z
        for i in range(states):
            marginals[here, i] *= inverse
        logs += scores.peaks[here]
        if high - low == 2:
            product *= inverse
            if product < 1e-100 or product > 1e100:
                logs += np.log(product)
                product = 1.0
        elif high - low != 1:
            logs -= (high - low - 1) * np.log(z)
    for here in range(first, last):
        for s in range(slots.middle[here] - base, indptr[here + 1] - base):
            f, r, to = table[base + s], row[base + s], twin[base + s]
            z = 0.0
            for i in range(states):
                x = 0.0
                for j in range(states):
                    x += factors[f, i, j] * cavities[to, j]
                z += cavities[s, i] * (x * scale[r] + same[r, i] * cavities[to, i])
            if not z > SMALLEST_SUM:
                return False
            work.weights[s] = 1.0 / z
            logs += scores.shift[r]
            product *= z
            if product < 1e-100 or product > 1e100:
                logs += np.log(product)
                product = 1.0
    log_z[d] = logs + np.log(product)
    return True


@kernel(fastmath={"reassoc", "contract"})
def _pairs(first, last, scores, slots, work, outer, alike, agreements):
    """Add the b_uv of one document.

    Off the diagonal they come as c_u c_v / Z_uv, to be multiplied by the factors at the end.
    """
    indptr, twin, table, row = slots.indptr, slots.twin, slots.table, slots.row
    cavities, weights = work.cavities, work.weights
    same, scale = scores.same, scores.scale
    edge_types, states = alike.shape
    base = indptr[first]
    for here in range(first, last):
        for s in range(slots.middle[here] - base, indptr[here + 1] - base):
            f, r, to = table[base + s], row[base + s], twin[base + s]
            for i in range(states):
                c = cavities[s, i] * weights[s] * scale[r]
                for j in range(states):
                    outer[f, i, j] += c * cavities[to, j]
            for i in range(states):
                p = cavities[s, i] * weights[s] * same[r, i] * cavities[to, i]
                alike[f >> 1, i] += p
                if r >= edge_types:
                    agreements[r - edge_types, i] = p


@kernel
def _log_cavities(node, here, low, high, a, b, messages, cavities, rest):
    """`_cavities` of logarithms."""
    states = node.shape[1]
    for i in range(states):
        cavities[a, i] = node[here, i]
        rest[i] = 0.0
        for s in range(low, high):
            if s < a or s >= b:
                cavities[a, i] += messages[s, i]
        for s in range(a, b - 1):
            cavities[s + 1, i] = cavities[s, i] + messages[s, i]
        for s in range(b - 2, a - 1, -1):
            rest[i] += messages[s + 1, i]
            cavities[s, i] += rest[i]


@kernel
def _log_send(cavities, s, tables, f, log_same, r, out):
    """`_send` of logarithms; False where nothing is possible."""
    states = out.shape[0]
    terms = np.empty(states)
    top = -np.inf
    for j in range(states):
        for i in range(states):
            terms[i] = cavities[s, i] + (log_same[r, i] if i == j else tables[f, i, j])
        out[j] = _log_sum(terms)
        top = max(top, out[j])
    if top == -np.inf:
        return False
    for j in range(states):
        out[j] -= top
    return True


@kernel
def _max_send(cavities, s, tables, f, log_same, r, out):
    """`_log_send` with the maximum for the sum."""
    states = out.shape[0]
    top = -np.inf
    for j in range(states):
        peak = cavities[s, j] + log_same[r, j]
        for i in range(states):
            if i != j:
                peak = max(peak, cavities[s, i] + tables[f ^ 1, j, i])
        out[j] = peak
        top = max(top, peak)
    if not top > -np.inf:
        return False
    for j in range(states):
        out[j] -= top
    return True


@kernel
def _log_receive(messages, to, out, keep):
    """`_receive` of logarithms; changes are measured in the same way."""
    change = 0.0
    for j in range(out.shape[0]):
        old, new = messages[to, j], out[j]
        if old != new:
            change = max(change, 1.0 - np.exp(-abs(new - old)))
            if keep > 0.0:
                top = max(old, new)
                part = (1.0 - keep) * np.exp(new - top) + keep * np.exp(old - top)
                messages[to, j] = top + np.log(part)
            else:
                messages[to, j] = new
    return change


@kernel
def _log_sums(d, scores, slots, work, marginals, log_z):
    """`_beliefs` by logarithms of sums: slow, safe; False where nothing is possible."""
    first, last = slots.offsets[d], slots.offsets[d + 1]
    node, indptr = scores.node, slots.indptr
    messages, cavities, weights = work.messages, work.cavities, work.weights
    states = node.shape[1]
    base = indptr[first]
    rest, score = np.empty(states), np.empty((states, states))
    total = 0.0
    for here in range(first, last):
        low, high = indptr[here] - base, indptr[here + 1] - base
        marginals[here] = node[here]
        if high > low:
            _log_cavities(node, here, low, high, low, high, messages, cavities, rest)
            marginals[here] = cavities[low] + messages[low]
        z = _log_sum(marginals[here])
        if z == -np.inf:
            return False
        for i in range(states):
            marginals[here, i] = _probability(marginals[here, i], z)
        total -= (high - low - 1) * z
    for here in range(first, last):
        for s in range(slots.middle[here] - base, indptr[here + 1] - base):
            _log_pair(s, base, cavities, scores, slots, score)
            weights[s] = _log_sum(score.reshape(-1))
            if weights[s] == -np.inf:
                return False
            total += weights[s]
    log_z[d] = total
    return True


@kernel
def _log_pairs(first, last, scores, slots, work, pairs, agreements):
    """Add the b_uv of one document, from logarithms."""
    indptr, table, row = slots.indptr, slots.table, slots.row
    edge_types, states = pairs.shape[:2]
    base = indptr[first]
    score = np.empty((states, states))
    for here in range(first, last):
        for s in range(slots.middle[here] - base, indptr[here + 1] - base):
            f, r = table[base + s], row[base + s]
            _log_pair(s, base, work.cavities, scores, slots, score)
            for i in range(states):
                for j in range(states):
                    p = _probability(score[i, j], work.weights[s])
                    if f & 1:
                        pairs[f >> 1, j, i] += p
                    else:
                        pairs[f >> 1, i, j] += p
                    if i == j and r >= edge_types:
                        agreements[r - edge_types, i] = p


@kernel
def _log_pair(s, base, cavities, scores, slots, score):
    """The scores of an edge's states with all else summed out: log c_u(i) M(i, j) c_v(j)."""
    f, r, to = slots.table[base + s], slots.row[base + s], slots.twin[base + s]
    for i in range(score.shape[0]):
        for j in range(score.shape[0]):
            edge = scores.log_same[r, i] if i == j else scores.tables[f, i, j]
            score[i, j] = cavities[s, i] + edge + cavities[to, j]
