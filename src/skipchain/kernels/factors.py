"""Choosing one candidate for each of many variables, whose spans mind each other.

A variable v has candidates first[v] … first[v + 1] − 1 with scores of their own, local[q]. A
candidate holds spans, each a slot (its words, in one document) and a kind (its type). Spans of
linked slots add to the score: a link from slot s to slot r with a table W and a size m adds m ·
W[kind of s, kind of r] for each pair of spans that are chosen. Every link is given in both
directions. So

    log p(c) = Σ_v local[c_v] + ½ Σ_{spans e ≠ f} Σ_{links e → f} m W[kind e, kind f] − log Z

where e and f run over the spans of all chosen candidates and over those that are fixed.

The sums are kept in a field [S, K]: what the spans chosen would add to a span of slot s and kind k.
A candidate's score is then its own, what pairs of its own spans add (``pairs``), and the field at
its spans, once the spans of its variable are taken out of the field.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from skipchain.kernels.random import uniform

# Compiled with random 8cff55a078fd

SMALLEST_GAIN = 1e-12


class Lists(NamedTuple):
    """Candidates: variable v has first[v] …, candidate q the spans spans[q] … of slots, kinds."""

    first: np.ndarray  # [V + 1]
    local: np.ndarray  # [Q]
    spans: np.ndarray  # [Q + 1]
    slots: np.ndarray  # [E]
    kinds: np.ndarray  # [E]


class Links(NamedTuple):
    """The links of slot s are starts[s] …: to others, by tables, of sizes."""

    starts: np.ndarray  # [S + 1]
    others: np.ndarray  # [R]
    tables: np.ndarray  # [R]
    sizes: np.ndarray  # [R]


class Users(NamedTuple):
    """The variables that have candidates with spans of slot s are starts[s] … of variables."""

    starts: np.ndarray  # [S + 1]
    variables: np.ndarray  # [U]


@njit(nogil=True, cache=True)
def add_span(links, weights, field, slot, kind, amount):
    """Put ``amount`` spans of a slot and kind into the field; weights [D, K, K]."""
    for r in range(links.starts[slot], links.starts[slot + 1]):
        table = weights[links.tables[r], kind]
        row = field[links.others[r]]
        size = amount * links.sizes[r]
        for k in range(table.shape[0]):
            row[k] += size * table[k]


@njit(nogil=True, cache=True)
def fill(links, weights, slots, kinds, amounts, field):
    """Put many spans into the field."""
    for e in range(slots.shape[0]):
        add_span(links, weights, field, slots[e], kinds[e], amounts[e])


@njit(nogil=True, cache=True)
def own_pairs(lists, links, weights, pairs):
    """What the pairs of each candidate's own spans add, into pairs [Q]."""
    for q in range(pairs.shape[0]):
        total = 0.0
        for e in range(lists.spans[q], lists.spans[q + 1]):
            for r in range(links.starts[lists.slots[e]], links.starts[lists.slots[e] + 1]):
                for f in range(lists.spans[q], lists.spans[q + 1]):
                    if f != e and lists.slots[f] == links.others[r]:
                        w = weights[links.tables[r], lists.kinds[e], lists.kinds[f]]
                        total += 0.5 * links.sizes[r] * w
        pairs[q] = total


@njit(nogil=True, cache=True)
def put(lists, links, weights, field, q, amount):
    """Put a candidate's spans into the field, or take them out (−1)."""
    for e in range(lists.spans[q], lists.spans[q + 1]):
        add_span(links, weights, field, lists.slots[e], lists.kinds[e], amount)


@njit(nogil=True, cache=True)
def score(lists, pairs, field, q):
    """The score of a candidate whose variable has been taken out of the field."""
    total = lists.local[q] + pairs[q]
    for e in range(lists.spans[q], lists.spans[q + 1]):
        total += field[lists.slots[e], lists.kinds[e]]
    return total


@njit(nogil=True, cache=True)
def tally(lists, links, weights, pairs, field, variables, chosen):
    """Put the chosen candidates of some variables into the field; returns what they score."""
    total = 0.0
    for v in variables:
        total += score(lists, pairs, field, chosen[v])
        put(lists, links, weights, field, chosen[v], 1.0)
    return total


@njit(nogil=True, cache=True)
def sample(
    lists,
    links,
    weights,
    pairs,
    field,
    users,
    slots,
    every,
    variables,
    chosen,
    heats,
    state,
    visits,
    best,
):
    """Sweeps of Gibbs sampling over some variables.

    Sweep s draws each variable in turn from p ∝ exp(score / heats[s]), and takes the best where the
    heat is 0. After each of ``every`` sweeps (0: never) spans of one slot may change together
    (`retype`), which helps to find the best state but does not keep the distribution. chosen [V] is
    where it begins and ends, best [V] the best state at the end of any sweep; visits [Q], or [0],
    counts the states at the ends of sweeps; state [1] is that of the random numbers. Returns how
    much better the best is than the first.
    """
    total, top = 0.0, 0.0
    widest = 0
    for v in variables:
        best[v] = chosen[v]
        widest = max(widest, lists.first[v + 1] - lists.first[v])
    values, odds = np.empty(widest), np.empty(widest)
    for s in range(heats.shape[0]):
        heat = heats[s]
        for v in variables:
            a = lists.first[v]
            size = lists.first[v + 1] - a
            put(lists, links, weights, field, chosen[v], -1.0)
            peak = 0
            for k in range(size):
                values[k] = score(lists, pairs, field, a + k)
                if values[k] > values[peak]:
                    peak = k
            pick = peak
            if heat > 0.0:
                mass = 0.0
                for k in range(size):
                    odds[k] = np.exp((values[k] - values[peak]) / heat)
                    mass += odds[k]
                rest = uniform(state, 0) * mass
                for k in range(size):
                    rest -= odds[k]
                    if rest < 0.0:
                        pick = k
                        break
            total += values[pick] - values[chosen[v] - a]
            chosen[v] = a + pick
            put(lists, links, weights, field, chosen[v], 1.0)
        if every > 0 and s % every == every - 1:
            total += retype(lists, links, weights, pairs, field, users, slots, chosen, heat, state)
        if total > top + SMALLEST_GAIN:
            top = total
            for v in variables:
                best[v] = chosen[v]
        if visits.shape[0] > 0:
            for v in variables:
                visits[chosen[v]] += 1
    return top


@njit(nogil=True, cache=True)
def retype(lists, links, weights, pairs, field, users, slots, chosen, heat, state):
    """Give all spans of a slot another kind together, where that is better or chance has it.

    For each of ``slots`` and each kind, the variables that use the slot (users.variables, from
    users.starts on) and have it with another kind take their best candidate that has it with this
    one. All of them, or none: with the probability min(1, exp(gain / heat)). Returns the gain.
    """
    total = 0.0
    most = 0
    for s in slots:
        most = max(most, users.starts[s + 1] - users.starts[s])
    moved, before = np.empty(most, np.int64), np.empty(most, np.int64)
    for s in slots:
        for kind in range(field.shape[1]):
            count = 0
            gain = 0.0
            for i in range(users.starts[s], users.starts[s + 1]):
                v = users.variables[i]
                now = chosen[v]
                if not _has(lists, now, s, kind, False):
                    continue
                put(lists, links, weights, field, now, -1.0)
                pick, top = now, -np.inf
                for q in range(lists.first[v], lists.first[v + 1]):
                    if _has(lists, q, s, kind, True):
                        value = score(lists, pairs, field, q)
                        if value > top:
                            pick, top = q, value
                if pick != now:
                    gain += top - score(lists, pairs, field, now)
                    moved[count], before[count] = v, now
                    count += 1
                    chosen[v] = pick
                put(lists, links, weights, field, chosen[v], 1.0)
            if count == 0:
                continue
            taken = gain > SMALLEST_GAIN
            if not taken and heat > 0.0:
                taken = uniform(state, 0) < np.exp(gain / heat)
            if taken:
                total += gain
                continue
            for i in range(count):
                put(lists, links, weights, field, chosen[moved[i]], -1.0)
                chosen[moved[i]] = before[i]
                put(lists, links, weights, field, before[i], 1.0)
    return total


@njit(nogil=True, cache=True)
def _has(lists, q, slot, kind, same):
    """Whether a candidate has a span of a slot, of a kind (``same``) or of another."""
    for e in range(lists.spans[q], lists.spans[q + 1]):
        if lists.slots[e] == slot and (lists.kinds[e] == kind) == same:
            return True
    return False


@njit(nogil=True, cache=True)
def climb(lists, links, weights, pairs, field, users, slots, variables, chosen, sweeps):
    """Take the best candidate of each variable in turn until none changes; returns the gain.

    Where that ends, spans of one slot are changed together (`retype`), and it goes on if it helps.
    """
    gain = 0.0
    state = np.zeros(1, np.uint64)
    for _ in range(sweeps):
        moved = False
        for v in variables:
            put(lists, links, weights, field, chosen[v], -1.0)
            now = score(lists, pairs, field, chosen[v])
            pick, top = chosen[v], now
            for q in range(lists.first[v], lists.first[v + 1]):
                value = score(lists, pairs, field, q)
                if value > top + SMALLEST_GAIN:
                    pick, top = q, value
            if pick != chosen[v]:
                moved = True
                gain += top - now
                chosen[v] = pick
            put(lists, links, weights, field, chosen[v], 1.0)
        if not moved:
            further = retype(lists, links, weights, pairs, field, users, slots, chosen, 0.0, state)
            gain += further
            if further <= SMALLEST_GAIN:
                break
    return gain


@njit(nogil=True, cache=True)
def settle(lists, links, weights, pairs, field, variables, chances, damping, tolerance, sweeps):
    """Mean field: chances [Q] of candidates given the chances of all others, until they rest.

    ``field`` holds the spans with their chances. Returns the largest change in the last sweep.
    """
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for v in variables:
            a, b = lists.first[v], lists.first[v + 1]
            for q in range(a, b):
                put(lists, links, weights, field, q, -chances[q])
            top = -np.inf
            for q in range(a, b):
                top = max(top, score(lists, pairs, field, q))
            mass = 0.0
            for q in range(a, b):
                mass += np.exp(score(lists, pairs, field, q) - top)
            for q in range(a, b):
                fresh = np.exp(score(lists, pairs, field, q) - top) / mass
                fresh = damping * chances[q] + (1.0 - damping) * fresh
                change = max(change, abs(fresh - chances[q]))
                chances[q] = fresh
            for q in range(a, b):
                put(lists, links, weights, field, q, chances[q])
        if change < tolerance:
            break
    return change


@njit(nogil=True, cache=True)
def pseudo_likelihood(lists, links, weights, scale, counts, chances, gold, gradient, slope):
    """−log p of the right candidates, each given how often the others' spans are expected.

    gold [V] are the right candidates, −1 where there is none. counts [S, K] are the expected spans
    of each slot and kind, to which a variable's own candidates belong with their chances [Q]; they
    are taken out while it is looked at. Scores are scale · local. The gradient in weights is added
    to gradient [D, K, K], that in scale to slope [1]; the loss is returned.
    """
    loss = 0.0
    widest = 0
    for v in range(gold.shape[0]):
        widest = max(widest, lists.first[v + 1] - lists.first[v])
    values = np.empty(widest)
    for v in range(gold.shape[0]):
        if gold[v] < 0:
            continue
        a, b = lists.first[v], lists.first[v + 1]
        _count(lists, counts, a, b, chances, -1.0)
        top = -np.inf
        for q in range(a, b):
            values[q - a] = scale * lists.local[q] + _interplay(lists, links, weights, counts, q)
            top = max(top, values[q - a])
        mass = 0.0
        for q in range(a, b):
            mass += np.exp(values[q - a] - top)
        loss += top + np.log(mass) - values[gold[v] - a]
        for q in range(a, b):
            share = np.exp(values[q - a] - top) / mass - (1.0 if q == gold[v] else 0.0)
            slope[0] += share * lists.local[q]
            if abs(share) > SMALLEST_GAIN:
                _interplay_gradient(lists, links, counts, q, share, gradient)
        _count(lists, counts, a, b, chances, 1.0)
    return loss


@njit(nogil=True, cache=True)
def _count(lists, counts, a, b, chances, amount):
    """Add the spans of candidates a … b − 1 to the counts, each with its chance."""
    for q in range(a, b):
        for e in range(lists.spans[q], lists.spans[q + 1]):
            counts[lists.slots[e], lists.kinds[e]] += amount * chances[q]


@njit(nogil=True, cache=True)
def _interplay(lists, links, weights, counts, q):
    """What a candidate's spans add to its score, with those counted and with each other."""
    total = 0.0
    for e in range(lists.spans[q], lists.spans[q + 1]):
        for r in range(links.starts[lists.slots[e]], links.starts[lists.slots[e] + 1]):
            table = weights[links.tables[r], lists.kinds[e]]
            own = counts[links.others[r]]
            for k in range(table.shape[0]):
                total += links.sizes[r] * table[k] * own[k]
            for f in range(lists.spans[q], lists.spans[q + 1]):
                if f != e and lists.slots[f] == links.others[r]:
                    total += 0.5 * links.sizes[r] * table[lists.kinds[f]]
    return total


@njit(nogil=True, cache=True)
def _interplay_gradient(lists, links, counts, q, share, gradient):
    """The gradient of `_interplay` in the weights, times ``share``, added."""
    for e in range(lists.spans[q], lists.spans[q + 1]):
        for r in range(links.starts[lists.slots[e]], links.starts[lists.slots[e] + 1]):
            row = gradient[links.tables[r], lists.kinds[e]]
            own = counts[links.others[r]]
            for k in range(row.shape[0]):
                row[k] += share * links.sizes[r] * own[k]
            for f in range(lists.spans[q], lists.spans[q + 1]):
                if f != e and lists.slots[f] == links.others[r]:
                    row[lists.kinds[f]] += 0.5 * share * links.sizes[r]
