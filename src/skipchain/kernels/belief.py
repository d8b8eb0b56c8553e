"""Loopy belief propagation on pairwise graphs.

A block is D documents with N nodes of S states and undirected edges, each with a table of log
scores for the states of its ends. Edges stand in the lists of both their ends as *slots*, laid out
by `kernels.neighbours.layout`: ``order``, ``indptr``, ``middle``, ``other``, ``twin``. A slot holds
the message that comes in by its edge; the message that goes out by slot s comes in at slot
``twin[s]`` of node ``other[s]``. With ψ_n and M_uv the exponentials of the scores,

    m_{n→k}(j) ∝ Σ_i c_{n∖k}(i) M_nk(i, j),   c_{n∖k}(i) = ψ_n(i) Π_{l≠k} m_{l→n}(i)  (the cavity)
    b_n(i) = ψ_n(i) Π_l m_{l→n}(i) / Z_n,   b_uv(i, j) = c_{u∖v}(i) M_uv(i, j) c_{v∖u}(j) / Z_uv
    log Z ≈ Σ_uv log Z_uv − Σ_n (degree(n) − 1) log Z_n  (Bethe's approximation)

On trees all of this is exact. With loops it is an approximation, if the messages come to rest
(Yedidia, Freeman & Weiss 2001). There log Z does not depend on the messages to first order, so that
its gradient in the scores is the beliefs, and small changes of messages do not show in it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from skipchain.kernels.chain import _log_sum, _probability, _row_peaks

# Compiled with chain b3bec2b1761a

# ψ, tables and messages have the maximum 1. What vanishes in a product of them is below 1e-308:
# nothing beside a sum above this, not even after such a sum has been scaled up once more.
SMALLEST_SUM = 1e-140
SMALLEST_PART = 1e-300  # keeps the relative change of 0 from being 0 / 0


def propagate(
    node,
    tables,
    agree,
    kinds,
    offsets,
    order,
    indptr,
    middle,
    other,
    twin,
    table,
    row,
    start,
    damping,
    tolerance,
    max_sweeps,
    marginals,
    pairs,
    agreements,
    log_z,
    sweeps,
    residual,
):
    """Send messages until they rest; write what is then believed.

    node [N, S]; tables [M, S, S]; row a of agree [A, S] is added to the diagonal of the table of
    kind kinds[a] [A], for one edge. Of slot s, ``table[s]`` is 2k for the table of kind k and
    2k + 1 for its transpose, so that the slot's own node comes first; ``row[s]`` is k, or M + a for
    the edge that row a of agree belongs to.

    A sweep goes through the order, each node sending to its later neighbours, and back, each
    sending to its earlier ones. A message is sent again only if those that it is made of have
    changed by more than the tolerance, added up since it was sent last; a change is the largest of
    |new − old| / max(new, old). With damping λ, a message sent again becomes (1 − λ) new + λ old.

    Messages begin as equal for all states. With loops they may come to rest in more than one place;
    where there are states ``start`` [N] (or [0]), they also begin as sent by nodes in these states,
    and of the two places the one with the higher log Z counts.

    Written are marginals [N, S], agreements [A, S] (the diagonals of b_uv), log_z [D], sweeps [D],
    and residual [D], the largest change that waits to be passed on: above the tolerance where
    max_sweeps did not suffice. To pairs [M, S, S] the b_uv of each kind are *added*. Where the
    messages contradict each other, log_z is −∞ and the document's beliefs are 0.

    Hazard: scores so far apart that all parts of a sum vanish; such a document is done again in log
    space, the others stay fast.
    """
    peaks = np.empty(len(node))
    _row_peaks(node, peaks)
    psi = np.exp(node - peaks[:, None])
    tops = tables.max(axis=(1, 2), initial=-np.inf)
    tops[tops == -np.inf] = 0.0
    factors = np.exp(tables - tops[:, None, None])
    # diagonals apart: they are what edges of one kind differ in
    diagonal = np.einsum("kii->ki", tables)
    log_same = np.concatenate([diagonal, diagonal[kinds] + agree])
    tops = np.concatenate([tops, tops[kinds]])
    shift = np.maximum(tops, log_same.max(axis=1, initial=-np.inf))
    scale = np.exp(tops - shift)
    same = np.exp(log_same - shift[:, None])
    np.einsum("kii->ki", factors)[:] = 0.0
    _propagate_documents(
        node,
        psi,
        peaks,
        _with_transposes(tables),
        log_same,
        _with_transposes(factors),
        same,
        scale,
        shift,
        offsets,
        order,
        indptr,
        middle,
        other,
        twin,
        table,
        row,
        start,
        damping,
        tolerance,
        max_sweeps,
        marginals,
        pairs,
        agreements,
        log_z,
        sweeps,
        residual,
    )


def _with_transposes(tables):
    """Each table and its transpose. [2M, S, S]"""
    return np.stack([tables, tables.transpose(0, 2, 1)], axis=1).reshape(-1, *tables.shape[1:])


@njit(nogil=True, cache=True)
def _propagate_documents(
    node,
    psi,
    peaks,
    tables,
    log_same,
    factors,
    same,
    scale,
    shift,
    offsets,
    order,
    indptr,
    middle,
    other,
    twin,
    table,
    row,
    start,
    damping,
    tolerance,
    max_sweeps,
    marginals,
    pairs,
    agreements,
    log_z,
    sweeps,
    residual,
):
    """One document after the other, in log space where need be."""
    states = node.shape[1]
    kinds = pairs.shape[0]
    nodes, slots = 0, 0
    for d in range(offsets.shape[0] - 1):
        nodes = max(nodes, offsets[d + 1] - offsets[d])
        slots = max(slots, indptr[offsets[d + 1]] - indptr[offsets[d]])
    messages = np.empty((slots, states))
    fixed_point = np.empty((slots, states))  # the messages of the better place so far
    cavities = np.empty((slots, states))
    total = np.empty(nodes)  # how much the messages in at a node have changed, added up
    own = np.empty(slots)  # how much that in by this slot has
    mark = np.empty(slots)  # total − own when the message out by this slot was sent
    weights = np.empty(slots)
    outer = np.zeros(factors.shape)
    alike = np.zeros((kinds, states))
    for d in range(offsets.shape[0] - 1):
        first, last = offsets[d], offsets[d + 1]
        base, slots = indptr[first], indptr[last] - indptr[first]
        good = False
        for logged in (False, True):
            if good:
                break
            _init_messages(
                first,
                last,
                False,
                logged,
                tables,
                log_same,
                factors,
                same,
                scale,
                start,
                indptr,
                other,
                table,
                row,
                messages,
            )
            good = _run_to_convergence(
                d,
                first,
                last,
                logged,
                node,
                psi,
                tables,
                log_same,
                factors,
                same,
                scale,
                order,
                indptr,
                middle,
                other,
                twin,
                table,
                row,
                damping,
                tolerance,
                max_sweeps,
                messages,
                cavities,
                total,
                own,
                mark,
                sweeps,
                residual,
            ) and _beliefs(
                d,
                first,
                last,
                logged,
                node,
                psi,
                peaks,
                tables,
                log_same,
                factors,
                same,
                scale,
                shift,
                indptr,
                middle,
                twin,
                table,
                row,
                messages,
                cavities,
                weights,
                marginals,
                log_z,
            )
            # messages that rest at once have met no loop to speak of
            if good and start.shape[0] and sweeps[d] > 1:
                best, rounds, waiting = log_z[d], sweeps[d], residual[d]
                fixed_point[:slots] = messages[:slots]
                _init_messages(
                    first,
                    last,
                    True,
                    logged,
                    tables,
                    log_same,
                    factors,
                    same,
                    scale,
                    start,
                    indptr,
                    other,
                    table,
                    row,
                    messages,
                )
                good = _run_to_convergence(
                    d,
                    first,
                    last,
                    logged,
                    node,
                    psi,
                    tables,
                    log_same,
                    factors,
                    same,
                    scale,
                    order,
                    indptr,
                    middle,
                    other,
                    twin,
                    table,
                    row,
                    damping,
                    tolerance,
                    max_sweeps,
                    messages,
                    cavities,
                    total,
                    own,
                    mark,
                    sweeps,
                    residual,
                ) and _beliefs(
                    d,
                    first,
                    last,
                    logged,
                    node,
                    psi,
                    peaks,
                    tables,
                    log_same,
                    factors,
                    same,
                    scale,
                    shift,
                    indptr,
                    middle,
                    twin,
                    table,
                    row,
                    messages,
                    cavities,
                    weights,
                    marginals,
                    log_z,
                )
                if not (good and log_z[d] > best):
                    sweeps[d], residual[d] = rounds, waiting
                    good = _beliefs(
                        d,
                        first,
                        last,
                        logged,
                        node,
                        psi,
                        peaks,
                        tables,
                        log_same,
                        factors,
                        same,
                        scale,
                        shift,
                        indptr,
                        middle,
                        twin,
                        table,
                        row,
                        fixed_point,
                        cavities,
                        weights,
                        marginals,
                        log_z,
                    )
            if good and logged:
                _log_pairs(
                    first,
                    last,
                    cavities,
                    weights,
                    tables,
                    log_same,
                    indptr,
                    middle,
                    twin,
                    table,
                    row,
                    pairs,
                    agreements,
                )
            elif good:
                _pairs(
                    first,
                    last,
                    cavities,
                    weights,
                    same,
                    scale,
                    indptr,
                    middle,
                    twin,
                    table,
                    row,
                    outer,
                    alike,
                    agreements,
                )
        if not good:
            log_z[d] = -np.inf
            marginals[first:last] = 0.0
            for s in range(base, base + slots):
                if row[s] >= kinds:
                    agreements[row[s] - kinds] = 0.0
    for k in range(kinds):
        for i in range(states):
            pairs[k, i, i] += alike[k, i]
            for j in range(states):
                pairs[k, i, j] += factors[2 * k, i, j] * (
                    outer[2 * k, i, j] + outer[2 * k + 1, j, i]
                )


@njit(nogil=True, cache=True)
def _init_messages(
    first,
    last,
    known,
    logged,
    tables,
    log_same,
    factors,
    same,
    scale,
    start,
    indptr,
    other,
    table,
    row,
    messages,
):
    """The first messages of a document: equal for all states, or from ``known`` states."""
    base = indptr[first]
    slots = indptr[last] - base
    messages[:slots] = 0.0 if logged else 1.0
    if not known:
        return
    for s in range(slots):
        f, r = table[base + s], row[base + s]
        j = start[first + other[base + s]]
        top = -np.inf
        for i in range(messages.shape[1]):
            if logged:
                messages[s, i] = log_same[r, j] if i == j else tables[f, i, j]
            else:
                messages[s, i] = same[r, j] if i == j else factors[f, i, j] * scale[r]
            top = max(top, messages[s, i])
        for i in range(messages.shape[1]):
            if logged:
                messages[s, i] = messages[s, i] - top if top > -np.inf else 0.0
            else:
                messages[s, i] = messages[s, i] / top if top > SMALLEST_SUM else 1.0


@njit(nogil=True, cache=True)
def _run_to_convergence(
    d,
    first,
    last,
    logged,
    node,
    psi,
    tables,
    log_same,
    factors,
    same,
    scale,
    order,
    indptr,
    middle,
    other,
    twin,
    table,
    row,
    damping,
    tolerance,
    max_sweeps,
    messages,
    cavities,
    total,
    own,
    mark,
    sweeps,
    residual,
):
    """Sweep over one document until its messages rest; whether all could be told from nothing."""
    slots = indptr[last] - indptr[first]
    total[: last - first] = 0.0
    own[:slots] = 0.0
    mark[:slots] = -np.inf
    sweeps[d] = 0
    residual[d] = np.inf
    good = True
    while good and sweeps[d] < max_sweeps and residual[d] > tolerance:
        for forward in (True, False):
            good = good and _half_sweep(
                first,
                last,
                forward,
                logged,
                node,
                psi,
                tables,
                log_same,
                factors,
                same,
                scale,
                order,
                indptr,
                middle,
                other,
                twin,
                table,
                row,
                damping,
                tolerance,
                messages,
                cavities,
                total,
                own,
                mark,
            )
        sweeps[d] += 1
        residual[d] = _residual(first, last, indptr, total, own, mark)
    return good


@njit(nogil=True, cache=True)
def _residual(first, last, indptr, total, own, mark):
    """The largest change that a message has not yet taken up."""
    base = indptr[first]
    worst = 0.0
    for n in range(last - first):
        for s in range(indptr[first + n] - base, indptr[first + n + 1] - base):
            worst = max(worst, total[n] - own[s] - mark[s])
    return worst


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _half_sweep(
    first,
    last,
    forward,
    logged,
    node,
    psi,
    tables,
    log_same,
    factors,
    same,
    scale,
    order,
    indptr,
    middle,
    other,
    twin,
    table,
    row,
    damping,
    tolerance,
    messages,
    cavities,
    total,
    own,
    mark,
):
    """Half a sweep over one document; returns whether all sums could be told from nothing."""
    base = indptr[first]
    rest = np.empty(node.shape[1])
    out = np.empty(node.shape[1])
    for p in range(last - first):
        n = order[first + p] if forward else order[last - 1 - p]
        here = first + n
        low, high = indptr[here] - base, indptr[here + 1] - base
        a = middle[here] - base if forward else low
        b = high if forward else middle[here] - base
        stale = False
        for s in range(a, b):
            stale = stale or total[n] - own[s] - mark[s] > tolerance
        if not stale:
            continue
        if logged:
            _log_cavities(node, here, low, high, a, b, messages, cavities, rest)
        else:
            _cavities(psi, here, low, high, a, b, messages, cavities, rest)
        for s in range(a, b):
            known = total[n] - own[s]
            if not known - mark[s] > tolerance:
                continue
            f, r, to = table[base + s], row[base + s], twin[base + s]
            if logged:
                good = _log_send(cavities, s, tables, f, log_same, r, out)
            else:
                good = _send(cavities, s, factors, f, same, r, scale[r], out)
            if not good:
                return False
            # a message that has never been sent is not damped
            keep = damping if mark[s] > -np.inf else 0.0
            if logged:
                change = _log_receive(messages, to, out, keep)
            else:
                change = _receive(messages, to, out, keep)
            mark[s] = known - keep * change
            total[other[base + s]] += change
            own[to] += change
    return True


# The three below are part of the loop that calls them: a call with arrays costs as much as they do.


@njit(nogil=True, cache=True, inline="always")
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


@njit(nogil=True, cache=True, inline="always")
def _send(cavities, s, factors, f, same, r, scale, out):
    """The message out by slot s, its maximum 1; returns whether it can be told from nothing."""
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


@njit(nogil=True, cache=True, inline="always")
def _receive(messages, to, out, keep):
    """Put a message in its place, with a share of the old one; returns how new it is."""
    change = 0.0
    for j in range(out.shape[0]):
        old = messages[to, j]
        change = max(change, abs(out[j] - old) / max(out[j], old, SMALLEST_PART))
        messages[to, j] = out[j] + keep * (old - out[j])
    return change


@njit(nogil=True, cache=True)
def _beliefs(
    d,
    first,
    last,
    logged,
    node,
    psi,
    peaks,
    tables,
    log_same,
    factors,
    same,
    scale,
    shift,
    indptr,
    middle,
    twin,
    table,
    row,
    messages,
    cavities,
    weights,
    marginals,
    log_z,
):
    """What the messages of one document say of nodes, and log Z; False if that is too little.

    Left for the pairs are all cavities and, as weights, 1 / Z_uv (logged: log Z_uv).
    """
    if logged:
        return _log_sums(
            d,
            first,
            last,
            node,
            tables,
            log_same,
            indptr,
            middle,
            twin,
            table,
            row,
            messages,
            cavities,
            weights,
            marginals,
            log_z,
        )
    return _sums(
        d,
        first,
        last,
        psi,
        peaks,
        factors,
        same,
        scale,
        shift,
        indptr,
        middle,
        twin,
        table,
        row,
        messages,
        cavities,
        weights,
        marginals,
        log_z,
    )


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _sums(
    d,
    first,
    last,
    psi,
    peaks,
    factors,
    same,
    scale,
    shift,
    indptr,
    middle,
    twin,
    table,
    row,
    messages,
    cavities,
    weights,
    marginals,
    log_z,
):
    """`_beliefs` as plain numbers."""
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
        logs += peaks[here]
        if high - low == 2:
            product *= inverse
            if product < 1e-100 or product > 1e100:
                logs += np.log(product)
                product = 1.0
        elif high - low != 1:
            logs -= (high - low - 1) * np.log(z)
    for here in range(first, last):
        for s in range(middle[here] - base, indptr[here + 1] - base):
            f, r, to = table[base + s], row[base + s], twin[base + s]
            z = 0.0
            for i in range(states):
                x = 0.0
                for j in range(states):
                    x += factors[f, i, j] * cavities[to, j]
                z += cavities[s, i] * (x * scale[r] + same[r, i] * cavities[to, i])
            if not z > SMALLEST_SUM:
                return False
            weights[s] = 1.0 / z
            logs += shift[r]
            product *= z
            if product < 1e-100 or product > 1e100:
                logs += np.log(product)
                product = 1.0
    log_z[d] = logs + np.log(product)
    return True


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _pairs(
    first,
    last,
    cavities,
    weights,
    same,
    scale,
    indptr,
    middle,
    twin,
    table,
    row,
    outer,
    alike,
    agreements,
):
    """Add the b_uv of one document.

    Off the diagonal they come as c_u c_v / Z_uv, to be multiplied by the factors at the end.
    """
    kinds, states = alike.shape
    base = indptr[first]
    for here in range(first, last):
        for s in range(middle[here] - base, indptr[here + 1] - base):
            f, r, to = table[base + s], row[base + s], twin[base + s]
            for i in range(states):
                c = cavities[s, i] * weights[s] * scale[r]
                for j in range(states):
                    outer[f, i, j] += c * cavities[to, j]
            for i in range(states):
                p = cavities[s, i] * weights[s] * same[r, i] * cavities[to, i]
                alike[f >> 1, i] += p
                if r >= kinds:
                    agreements[r - kinds, i] = p


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _log_sums(
    d,
    first,
    last,
    node,
    tables,
    log_same,
    indptr,
    middle,
    twin,
    table,
    row,
    messages,
    cavities,
    weights,
    marginals,
    log_z,
):
    """`_beliefs` by logarithms of sums: slow, safe; False where nothing is possible."""
    states = node.shape[1]
    base = indptr[first]
    rest = np.empty(states)
    score = np.empty((states, states))
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
        for s in range(middle[here] - base, indptr[here + 1] - base):
            _log_pair(s, base, cavities, tables, log_same, twin, table, row, score)
            weights[s] = _log_sum(score.reshape(-1))
            if weights[s] == -np.inf:
                return False
            total += weights[s]
    log_z[d] = total
    return True


@njit(nogil=True, cache=True)
def _log_pairs(
    first,
    last,
    cavities,
    weights,
    tables,
    log_same,
    indptr,
    middle,
    twin,
    table,
    row,
    pairs,
    agreements,
):
    """Add the b_uv of one document, from logarithms."""
    kinds, states = pairs.shape[:2]
    base = indptr[first]
    score = np.empty((states, states))
    for here in range(first, last):
        for s in range(middle[here] - base, indptr[here + 1] - base):
            f, r = table[base + s], row[base + s]
            _log_pair(s, base, cavities, tables, log_same, twin, table, row, score)
            for i in range(states):
                for j in range(states):
                    p = _probability(score[i, j], weights[s])
                    if f & 1:
                        pairs[f >> 1, j, i] += p
                    else:
                        pairs[f >> 1, i, j] += p
                    if i == j and r >= kinds:
                        agreements[r - kinds, i] = p


@njit(nogil=True, cache=True)
def _log_pair(s, base, cavities, tables, log_same, twin, table, row, score):
    """The scores of an edge's states with all else summed out: log c_u(i) M(i, j) c_v(j)."""
    f, r, to = table[base + s], row[base + s], twin[base + s]
    for i in range(score.shape[0]):
        for j in range(score.shape[0]):
            own = log_same[r, i] if i == j else tables[f, i, j]
            score[i, j] = cavities[s, i] + own + cavities[to, j]
