"""Choosing one candidate for each of many variables whose spans interact.

A variable v, such as an uncertain segment, has candidates first[v] … first[v + 1] − 1 with scores
of their own, unary[q]. A candidate holds spans, each a mention string (its words, in one document)
and a type. Spans of linked mention strings add to the score: an edge from string s to string r with
a table W and a scale m adds m · W[type of s, type of r] for each pair of spans that are chosen.
Every edge is stored in both directions. So

    log p(c) = Σ_v unary[c_v] + ½ Σ_{spans e ≠ f} Σ_{edges e → f} m W[type e, type f] − log Z

where e and f run over the spans of all chosen candidates and over those that are fixed.

The sums are kept in a field [S, K]: what the spans chosen would add to a span of string s and type
k. A candidate's score is then its own, what pairs of its own spans add (``pairs``), and the field
at its spans, once the spans of its variable are taken out of the field.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skipchain.kernels.kernel import kernel
from skipchain.kernels.random import uniform

MIN_GAIN = 1e-12


class CandidateArrays(NamedTuple):
    """Candidates: variable v has those from first[v] on, candidate q the spans from spans[q] on."""

    first: np.ndarray  # [V + 1]
    unary: np.ndarray  # [Q]
    spans: np.ndarray  # [Q + 1]
    string_ids: np.ndarray  # [E]
    type_ids: np.ndarray  # [E]


class StringEdges(NamedTuple):
    """The edges of mention string s, from starts[s] on: to neighbours, by tables, with scales."""

    starts: np.ndarray  # [S + 1]
    neighbours: np.ndarray  # [R]
    table_ids: np.ndarray  # [R]
    scales: np.ndarray  # [R]


class StringVariables(NamedTuple):
    """The variables that have candidates with spans of string s, from starts[s] on."""

    starts: np.ndarray  # [S + 1]
    variables: np.ndarray  # [U]


@kernel
def add_span(edges, weights, field, string_id, type_id, amount):
    """Put ``amount`` spans of a mention string and type into the field; weights [D, K, K]."""
    for r in range(edges.starts[string_id], edges.starts[string_id + 1]):
        table = weights[edges.table_ids[r], type_id]
        row = field[edges.neighbours[r]]
        size = amount * edges.scales[r]
        for k in range(table.shape[0]):
            row[k] += size * table[k]


@kernel
def add_spans(edges, weights, string_ids, type_ids, amounts, field):
    """Put many spans into the field."""
    for e in range(string_ids.shape[0]):
        add_span(edges, weights, field, string_ids[e], type_ids[e], amounts[e])


@kernel
def internal_scores(arrays, edges, weights, pairs):
    """What the pairs of each candidate's own spans add, into pairs [Q]."""
    for q in range(pairs.shape[0]):
        total = 0.0
        for e in range(arrays.spans[q], arrays.spans[q + 1]):
            s = arrays.string_ids[e]
            for r in range(edges.starts[s], edges.starts[s + 1]):
                for f in range(arrays.spans[q], arrays.spans[q + 1]):
                    if f != e and arrays.string_ids[f] == edges.neighbours[r]:
                        w = weights[edges.table_ids[r], arrays.type_ids[e], arrays.type_ids[f]]
                        total += 0.5 * edges.scales[r] * w
        pairs[q] = total


@kernel
def add_candidate(arrays, edges, weights, field, q, amount):
    """Put a candidate's spans into the field, or take them out (−1)."""
    for e in range(arrays.spans[q], arrays.spans[q + 1]):
        add_span(edges, weights, field, arrays.string_ids[e], arrays.type_ids[e], amount)


@kernel
def score(arrays, pairs, field, q):
    """The score of a candidate whose variable has been taken out of the field."""
    total = arrays.unary[q] + pairs[q]
    for e in range(arrays.spans[q], arrays.spans[q + 1]):
        total += field[arrays.string_ids[e], arrays.type_ids[e]]
    return total


@kernel
def add_and_score(arrays, edges, weights, pairs, field, variables, chosen):
    """Put the chosen candidates of some variables into the field; returns their score."""
    total = 0.0
    for v in variables:
        total += score(arrays, pairs, field, chosen[v])
        add_candidate(arrays, edges, weights, field, chosen[v], 1.0)
    return total


@kernel
def sample(
    arrays, edges, weights, pairs, field, holders, string_ids, every, variables, chosen,
    temperatures, state, visits, best
):  # fmt: skip
    """Sweeps of Gibbs sampling over some variables.

    Sweep s draws each variable in turn from p ∝ exp(score / temperatures[s]), and takes the best
    where that is 0. After each of ``every`` sweeps (0: never) spans of one mention string may
    change together (`retype`), which helps to find the best assignment but does not keep the
    distribution. chosen [V] is the assignment where it begins and ends, best [V] the best one at
    the end of any sweep; visits [Q], or [0], counts the assignments at the ends of sweeps; state
    [1] is that of the random numbers. Returns how much better the best is than the first.
    """
    total, top = 0.0, 0.0
    widest = 0
    for v in variables:
        best[v] = chosen[v]
        widest = max(widest, arrays.first[v + 1] - arrays.first[v])
    values, odds = np.empty(widest), np.empty(widest)
    for s in range(temperatures.shape[0]):
        temperature = temperatures[s]
        for v in variables:
            a = arrays.first[v]
            size = arrays.first[v + 1] - a
            add_candidate(arrays, edges, weights, field, chosen[v], -1.0)
            peak = 0
            for k in range(size):
                values[k] = score(arrays, pairs, field, a + k)
                if values[k] > values[peak]:
                    peak = k
            pick = peak
            if temperature > 0.0:
                mass = 0.0
                for k in range(size):
                    odds[k] = np.exp((values[k] - values[peak]) / temperature)
                    mass += odds[k]
                rest = uniform(state, 0) * mass
                for k in range(size):
                    rest -= odds[k]
                    if rest < 0.0:
                        pick = k
                        break
            total += values[pick] - values[chosen[v] - a]
            chosen[v] = a + pick
            add_candidate(arrays, edges, weights, field, chosen[v], 1.0)
        if every > 0 and s % every == every - 1:
            total += retype(
                arrays, edges, weights, pairs, field, holders, string_ids, chosen, temperature,
                state
            )  # fmt: skip
        if total > top + MIN_GAIN:
            top = total
            for v in variables:
                best[v] = chosen[v]
        if visits.shape[0] > 0:
            for v in variables:
                visits[chosen[v]] += 1
    return top


@kernel
def retype(arrays, edges, weights, pairs, field, holders, string_ids, chosen, temperature, state):
    """Give all spans of a mention string another type together, where that is better or drawn.

    For each of ``string_ids`` and each type, the variables that use the string (``holders``) and
    have it with another type take their best candidate that has it with this one. All of them, or
    none: with the probability min(1, exp(gain / temperature)). Returns the gain.
    """
    total, most = 0.0, 0
    for s in string_ids:
        most = max(most, holders.starts[s + 1] - holders.starts[s])
    moved, before = np.empty(most, np.int64), np.empty(most, np.int64)
    for s in string_ids:
        for type_id in range(field.shape[1]):
            count, gain = 0, 0.0
            for i in range(holders.starts[s], holders.starts[s + 1]):
                v = holders.variables[i]
                now = chosen[v]
                if not _has_mention(arrays, now, s, type_id, False):
                    continue
                add_candidate(arrays, edges, weights, field, now, -1.0)
                best, best_score = now, -np.inf
                for q in range(arrays.first[v], arrays.first[v + 1]):
                    if _has_mention(arrays, q, s, type_id, True):
                        value = score(arrays, pairs, field, q)
                        if value > best_score:
                            best, best_score = q, value
                if best != now:
                    gain += best_score - score(arrays, pairs, field, now)
                    moved[count], before[count] = v, now
                    count += 1
                    chosen[v] = best
                add_candidate(arrays, edges, weights, field, chosen[v], 1.0)
            if count == 0:
                continue
            taken = gain > MIN_GAIN
            if not taken and temperature > 0.0:
                taken = uniform(state, 0) < np.exp(gain / temperature)
            if taken:
                total += gain
                continue
            for i in range(count):
                add_candidate(arrays, edges, weights, field, chosen[moved[i]], -1.0)
                chosen[moved[i]] = before[i]
                add_candidate(arrays, edges, weights, field, before[i], 1.0)
    return total


@kernel
def _has_mention(arrays, q, string_id, type_id, same):
    """Whether a candidate has a span of a mention string, of a type (``same``) or of another."""
    for e in range(arrays.spans[q], arrays.spans[q + 1]):
        if arrays.string_ids[e] == string_id and (arrays.type_ids[e] == type_id) == same:
            return True
    return False


@kernel
def icm(arrays, edges, weights, pairs, field, holders, string_ids, variables, chosen, sweeps):
    """Iterated conditional modes: the best candidate of each variable in turn until none changes.

    Where that ends, spans of one mention string are changed together (`retype`), and it goes on if
    that helps. Returns the gain.
    """
    gain = 0.0
    state = np.zeros(1, np.uint64)
    for _ in range(sweeps):
        moved = False
        for v in variables:
            add_candidate(arrays, edges, weights, field, chosen[v], -1.0)
            now = score(arrays, pairs, field, chosen[v])
            best, best_score = chosen[v], now
            for q in range(arrays.first[v], arrays.first[v + 1]):
                value = score(arrays, pairs, field, q)
                if value > best_score + MIN_GAIN:
                    best, best_score = q, value
            if best != chosen[v]:
                moved = True
                gain += best_score - now
                chosen[v] = best
            add_candidate(arrays, edges, weights, field, chosen[v], 1.0)
        if not moved:
            further = retype(
                arrays, edges, weights, pairs, field, holders, string_ids, chosen, 0.0, state
            )
            gain += further
            if further <= MIN_GAIN:
                break
    return gain


@kernel
def mean_field(arrays, edges, weights, pairs, field, variables, probs, damping, tolerance, sweeps):
    """Mean field: the probabilities of candidates given those of all others, until they converge.

    ``probs`` [Q] are changed in place; ``field`` holds the spans with their probabilities. Returns
    the largest change in the last sweep.
    """
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for v in variables:
            a, b = arrays.first[v], arrays.first[v + 1]
            for q in range(a, b):
                add_candidate(arrays, edges, weights, field, q, -probs[q])
            top = -np.inf
            for q in range(a, b):
                top = max(top, score(arrays, pairs, field, q))
            mass = 0.0
            for q in range(a, b):
                mass += np.exp(score(arrays, pairs, field, q) - top)
            for q in range(a, b):
                fresh = np.exp(score(arrays, pairs, field, q) - top) / mass
                fresh = damping * probs[q] + (1.0 - damping) * fresh
                change = max(change, abs(fresh - probs[q]))
                probs[q] = fresh
            for q in range(a, b):
                add_candidate(arrays, edges, weights, field, q, probs[q])
        if change < tolerance:
            break
    return change


@kernel
def pseudo_likelihood(arrays, edges, weights, scale, counts, probabilities, gold, gradient, slope):
    """−log p of the gold candidates, each given how often the others' spans are expected.

    gold [V] are the gold candidates, −1 where there is none. counts [S, K] are the expected spans
    of each mention string and type, to which a variable's own candidates belong with their
    probabilities [Q]; they are taken out while it is looked at. Scores are scale · unary. The
    gradient in weights is added to gradient [D, K, K], that in scale to slope [1]; the loss is
    returned.
    """
    loss, widest = 0.0, 0
    for v in range(gold.shape[0]):
        widest = max(widest, arrays.first[v + 1] - arrays.first[v])
    values = np.empty(widest)
    for v in range(gold.shape[0]):
        if gold[v] < 0:
            continue
        a, b = arrays.first[v], arrays.first[v + 1]
        _add_expected(arrays, counts, a, b, probabilities, -1.0)
        top = -np.inf
        for q in range(a, b):
            values[q - a] = scale * arrays.unary[q]
            values[q - a] += _interaction(arrays, edges, weights, counts, q)
            top = max(top, values[q - a])
        mass = 0.0
        for q in range(a, b):
            mass += np.exp(values[q - a] - top)
        loss += top + np.log(mass) - values[gold[v] - a]
        for q in range(a, b):
            share = np.exp(values[q - a] - top) / mass - (1.0 if q == gold[v] else 0.0)
            slope[0] += share * arrays.unary[q]
            if abs(share) > MIN_GAIN:
                _interaction_gradient(arrays, edges, counts, q, share, gradient)
        _add_expected(arrays, counts, a, b, probabilities, 1.0)
    return loss


@kernel
def _add_expected(arrays, counts, a, b, probabilities, amount):
    """Add the spans of candidates a … b − 1 to the counts, each with its probability."""
    for q in range(a, b):
        for e in range(arrays.spans[q], arrays.spans[q + 1]):
            counts[arrays.string_ids[e], arrays.type_ids[e]] += amount * probabilities[q]


@kernel
def _interaction(arrays, edges, weights, counts, q):
    """What a candidate's spans add to its score, with those counted and with each other."""
    total = 0.0
    for e in range(arrays.spans[q], arrays.spans[q + 1]):
        for r in range(edges.starts[arrays.string_ids[e]], edges.starts[arrays.string_ids[e] + 1]):
            table = weights[edges.table_ids[r], arrays.type_ids[e]]
            expected = counts[edges.neighbours[r]]
            for k in range(table.shape[0]):
                total += edges.scales[r] * table[k] * expected[k]
            for f in range(arrays.spans[q], arrays.spans[q + 1]):
                if f != e and arrays.string_ids[f] == edges.neighbours[r]:
                    total += 0.5 * edges.scales[r] * table[arrays.type_ids[f]]
    return total


@kernel
def _interaction_gradient(arrays, edges, counts, q, share, gradient):
    """The gradient of `_interaction` in the weights, times ``share``, added."""
    for e in range(arrays.spans[q], arrays.spans[q + 1]):
        for r in range(edges.starts[arrays.string_ids[e]], edges.starts[arrays.string_ids[e] + 1]):
            row = gradient[edges.table_ids[r], arrays.type_ids[e]]
            expected = counts[edges.neighbours[r]]
            for k in range(row.shape[0]):
                row[k] += share * edges.scales[r] * expected[k]
            for f in range(arrays.spans[q], arrays.spans[q + 1]):
                if f != e and arrays.string_ids[f] == edges.neighbours[r]:
                    row[arrays.type_ids[f]] += 0.5 * share * edges.scales[r]
