"""Gibbs sampling of single labels of chains with factors, one after the other.

A label is drawn given all others, p(y_t = j) ∝ exp((chain(j) + factors(j)) / T), T the
temperature: equations 1, 2, 4 and 7 of Finkel, Grenager and Manning (2005). Of the chain those
scores count that the label has a part in: in chains of order 1 node_t(j) + edge_t(y_{t−1}, j) +
edge_{t+1}(j, y_{t+1}), in those of order 2 three triples as well. Of factors those spans count that
the label changes: they end before it, hold it or begin after it. Labels of one type that join the
same neighbours make the same spans, so factors are asked once for all of them. What other spans add
is kept as a field, as in `kernels.factors`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skipchain.kernels.factors import add_span
from skipchain.kernels.kernel import kernel
from skipchain.kernels.random import uniform

MIN_GAIN = 1e-12
NEGLIGIBLE = 30.0  # a label e^30 times less probable than another one is never drawn


class DocumentChain(NamedTuple):
    """The potentials of one document, from token ``first`` of the corpus on.

    Chains of order 2 have triples [S + 1, S, S] and, where each position is normalised by itself,
    norms [N, S + 1, S] by the two labels before it; else both are of length 0.
    """

    first: int
    node: np.ndarray  # [N, S]
    edge: np.ndarray  # [1, S, S] or [N, S, S]
    triples: np.ndarray
    norms: np.ndarray


class TokenSpans(NamedTuple):
    """The spans that labels can mark, and the mention strings that each counts as.

    heads and tails bound the sentence of each token. Two labels are in one span where ``joins``;
    types [S] are −1 outside. Span (t, t + n) of type k is number base[t] + (n − 1) K + k, n up to
    longest[t]; its strings are those from starts on. Token t has the violations from
    violation_starts[t] on: it counts as a span of the string, of type K, where its type is not the
    one required. ``most`` bounds how many strings the spans and violations around a token have.
    """

    heads: np.ndarray  # [N]
    tails: np.ndarray  # [N]
    joins: np.ndarray  # [S, S]
    types: np.ndarray  # [S]
    base: np.ndarray  # [N]
    longest: np.ndarray  # [N]
    starts: np.ndarray  # [P + 1]
    string_ids: np.ndarray  # [E]
    violation_starts: np.ndarray  # [N + 1]
    violation_strings: np.ndarray  # [J]
    required_types: np.ndarray  # [J]
    most: int


class AllowedLabels(NamedTuple):
    """Which labellings may be kept: by pairs [S, S], first [S] and last labels [S]."""

    pairs: np.ndarray
    start: np.ndarray
    end: np.ndarray


@kernel
def possible_spans(allowed, joins, types, n_types, base, longest, possible):
    """Which spans some labels can mark, into possible [P]; allowed [N, S] are those of tokens."""
    size = types.shape[0]
    now, after = np.empty(size, np.bool_), np.empty(size, np.bool_)
    for t in range(longest.shape[0]):
        for k in range(n_types):
            for n in range(longest[t]):
                some = False
                for j in range(size):
                    after[j] = False
                    if allowed[t + n, j] and types[j] == k:
                        after[j] = n == 0
                        for i in range(size):
                            if n > 0 and now[i] and joins[i, j]:
                                after[j] = True
                    some = some or after[j]
                if not some:
                    break
                now[:] = after
                possible[base[t] + n * n_types + k] = True


@kernel
def triple_norms(node, edge, triples, offsets, norms):
    """log Σ_j exp(node_t(j) + edge_t(i, j) + triples(h, i, j)) into norms [N, S + 1, S]."""
    size = node.shape[1]
    varying = edge.shape[0] > 1
    norms[:] = 0.0
    for c in range(offsets.shape[0] - 1):
        for t in range(offsets[c] + 1, offsets[c + 1]):
            table = edge[t if varying else 0]
            for h in range(size + 1):
                for i in range(size):
                    top = -np.inf
                    for j in range(size):
                        top = max(top, node[t, j] + table[i, j] + triples[h, i, j])
                    mass = 0.0
                    for j in range(size):
                        mass += np.exp(node[t, j] + table[i, j] + triples[h, i, j] - top)
                    norms[t, h, i] = top + np.log(mass)


@kernel
def sample_tokens(
    chain, spans, edges, weights, field, allowed, tokens, labels, temperatures, state, best, top,
    label_visits, span_visits
):  # fmt: skip
    """Sweep over some tokens of a document once per temperature; labels [N] is where it ends.

    ``field`` [Z, K + 1] holds all spans and violations of ``labels`` when it begins and when it
    ends. Where the temperature is 0 the best label is taken, where it is infinite any that is
    possible. best [N] is the best labelling that is ``allowed`` at the end of a sweep, if it scores
    more than ``top``, counted from the labels where it begins; its score is returned.
    label_visits [N, S] and span_visits [P], or of length 0, count labels and spans at the ends of
    sweeps, where the labelling is ``allowed``; state [1] is that of the random numbers. A label
    that all others forbid is left.
    """
    # arrays by themselves: each look into a tuple of them counts a reference
    heads, tails, joins, type_of, base, longest, starts, string_ids = spans[:8]
    violation_starts, violation_strings, required = spans[8:11]
    size, n_types = type_of.shape[0], weights.shape[1] - 1
    linked = edges.neighbours.shape[0] > 0
    penalties = linked and weights.max() <= 0.0 and edges.scales.min() >= 0.0
    counted = label_visits.shape[0] > 0 or span_visits.shape[0] > 0
    values, odds = np.empty(size), np.empty(size)
    amounts, known = np.empty(4 * n_types + 4), np.zeros(4 * n_types + 4, np.int64)
    strings, types = np.empty(spans.most, np.int64), np.empty(spans.most, np.int64)
    total, number = 0.0, 0
    for temperature in temperatures:
        for t in tokens:
            _chain_scores(chain, heads[t], tails[t], t, labels, values)
            old = labels[t]
            low, high = t, t + 1
            if linked:
                low, high = _neighbours(heads[t], tails[t], joins, type_of, labels, t)
                count = _mentions(
                    joins,
                    type_of,
                    longest,
                    base,
                    starts,
                    string_ids,
                    violation_starts,
                    violation_strings,
                    required,
                    labels,
                    t,
                    low,
                    high,
                    old,
                    n_types,
                    strings,
                    types,
                )
                for e in range(count):
                    add_span(edges, weights, field, strings[e], types[e], -1.0)
                number += 1
            peak, floor = -1, -np.inf
            if linked and penalties and values[old] > -np.inf:
                key = _key(joins, type_of, labels, t, low, high, old)
                known[key] = number
                amounts[key] = _factor_score(edges, weights, field, strings, types, count)
                floor = values[old] + amounts[key] - NEGLIGIBLE * temperature
            for j in range(size):
                if values[j] < floor:  # what factors take off makes it no better
                    values[j] = -np.inf
                if not values[j] > -np.inf:
                    continue
                if linked:
                    key = _key(joins, type_of, labels, t, low, high, j)
                    if known[key] != number:
                        known[key] = number
                        count = _mentions(
                            joins,
                            type_of,
                            longest,
                            base,
                            starts,
                            string_ids,
                            violation_starts,
                            violation_strings,
                            required,
                            labels,
                            t,
                            low,
                            high,
                            j,
                            n_types,
                            strings,
                            types,
                        )
                        amounts[key] = _factor_score(edges, weights, field, strings, types, count)
                    values[j] += amounts[key]
                if values[j] > -np.inf and (peak < 0 or values[j] > values[peak]):
                    peak = j
            pick = old
            if peak >= 0:
                pick = peak
                if temperature > 0.0:
                    mass = 0.0
                    for j in range(size):
                        odds[j] = 0.0
                        if values[j] > -np.inf:
                            odds[j] = np.exp((values[j] - values[peak]) / temperature)
                        mass += odds[j]
                    rest = uniform(state, 0) * mass
                    for j in range(size):
                        rest -= odds[j]
                        if rest < 0.0:
                            pick = j
                            break
                total += values[pick] - values[old]
                labels[t] = pick
            if linked:
                count = _mentions(
                    joins,
                    type_of,
                    longest,
                    base,
                    starts,
                    string_ids,
                    violation_starts,
                    violation_strings,
                    required,
                    labels,
                    t,
                    low,
                    high,
                    pick,
                    n_types,
                    strings,
                    types,
                )
                for e in range(count):
                    add_span(edges, weights, field, strings[e], types[e], 1.0)
        better = total > top + MIN_GAIN
        if not (better or counted) or not _all_allowed(spans, allowed, tokens, labels):
            continue
        if better:
            top = total
            for t in tokens:
                best[t] = labels[t]
        if label_visits.shape[0] > 0:
            for t in tokens:
                label_visits[t, labels[t]] += 1
        if span_visits.shape[0] > 0:
            _count_spans(spans, n_types, tokens, labels, span_visits)
    return top


@kernel
def _chain_scores(chain, head, tail, t, labels, values):
    """The scores of the chain that a label has a part in, for each label of token t."""
    size = values.shape[0]
    here, second = t - chain.first, chain.triples.shape[0] > 0
    local = chain.norms.shape[0] > 0
    varying = chain.edge.shape[0] > 1
    before = labels[t - 1] if t > head else size
    for j in range(size):
        values[j] = chain.node[here, j]
    if t > head:
        table = chain.edge[here if varying else 0, before]
        for j in range(size):
            values[j] += table[j]
        if second:
            row = chain.triples[labels[t - 2] if t - 1 > head else size, before]
            for j in range(size):
                values[j] += row[j]
    if t + 1 < tail:
        after = labels[t + 1]
        for j in range(size):
            values[j] += chain.edge[here + 1 if varying else 0, j, after]
            if second:
                values[j] += chain.triples[before, j, after]
            if local:
                values[j] -= chain.norms[here + 1, before, j]
        if second and t + 2 < tail:
            for j in range(size):
                values[j] += chain.triples[j, after, labels[t + 2]]
                if local:
                    values[j] -= chain.norms[here + 2, j, after]


@kernel
def _neighbours(head, tail, joins, type_of, labels, t):
    """Where the span at the token before t begins (else t), and where that after t ends (t + 1)."""
    low, high = t, t + 1
    if t > head and type_of[labels[t - 1]] >= 0:
        low = t - 1
        while low > head and joins[labels[low - 1], labels[low]]:
            low -= 1
    if high < tail and type_of[labels[high]] >= 0:
        high += 1
        while high < tail and joins[labels[high - 1], labels[high]]:
            high += 1
    return low, high


@kernel
def _key(joins, type_of, labels, t, low, high, j):
    """A number for the spans that label j of token t makes."""
    left = low < t and joins[labels[t - 1], j]
    right = high > t + 1 and joins[j, labels[t + 1]]
    return 4 * (type_of[j] + 1) + 2 * left + right


@kernel
def _mentions(
    joins,
    type_of,
    longest,
    base,
    starts,
    string_ids,
    violation_starts,
    violation_strings,
    required,
    labels,
    t,
    low,
    high,
    j,
    n_types,
    strings,
    types,
):
    """The spans around token t if it had label j, and its violations; returns how many."""
    count, kind = 0, type_of[j]
    left = low < t and joins[labels[t - 1], j]
    right = high > t + 1 and joins[j, labels[t + 1]]
    places = longest, base, starts, string_ids
    if low < t and not left:
        count = _mention(*places, low, t, type_of[labels[low]], n_types, strings, types, count)
    if kind >= 0:
        begin, end = low if left else t, high if right else t + 1
        count = _mention(*places, begin, end, kind, n_types, strings, types, count)
    if high > t + 1 and not right:
        after = type_of[labels[t + 1]]
        count = _mention(*places, t + 1, high, after, n_types, strings, types, count)
    for v in range(violation_starts[t], violation_starts[t + 1]):
        if kind != required[v]:
            strings[count], types[count] = violation_strings[v], n_types
            count += 1
    return count


@kernel
def _mention(longest, base, starts, string_ids, begin, end, kind, n_types, strings, types, count):
    """Add the strings that one span counts as; spans that are too long count as none."""
    if end - begin > longest[begin]:
        return count
    number = base[begin] + (end - begin - 1) * n_types + kind
    for e in range(starts[number], starts[number + 1]):
        strings[count], types[count] = string_ids[e], kind
        count += 1
    return count


@kernel
def _factor_score(edges, weights, field, strings, types, count):
    """What some spans add, with those in the field and with each other."""
    total = 0.0
    for e in range(count):
        total += field[strings[e], types[e]]
        if count == 1:
            break
        for r in range(edges.starts[strings[e]], edges.starts[strings[e] + 1]):
            for f in range(e + 1, count):
                if strings[f] == edges.neighbours[r]:
                    w = weights[edges.table_ids[r], types[e], types[f]]
                    total += edges.scales[r] * w
    return total


@kernel
def _all_allowed(spans, allowed, tokens, labels):
    """Whether the labels of some tokens may stand where they do."""
    for t in tokens:
        now = labels[t]
        if t == spans.heads[t]:
            if not allowed.start[now]:
                return False
        elif not allowed.pairs[labels[t - 1], now]:
            return False
        if t + 1 == spans.tails[t]:
            if not allowed.end[now]:
                return False
        elif not allowed.pairs[now, labels[t + 1]]:
            return False
    return True


@kernel
def _count_spans(spans, n_types, tokens, labels, visits):
    """Count the spans that hold any of some tokens, each once."""
    end = -1
    for t in tokens:
        kind = spans.types[labels[t]]
        if kind < 0 or t < end:
            continue
        begin, end = t, t + 1
        while begin > spans.heads[t] and spans.joins[labels[begin - 1], labels[begin]]:
            begin -= 1
        while end < spans.tails[t] and spans.joins[labels[end - 1], labels[end]]:
            end += 1
        if end - begin <= spans.longest[begin]:
            visits[spans.base[begin] + (end - begin - 1) * n_types + kind] += 1
