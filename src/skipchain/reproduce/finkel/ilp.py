"""The best choice among candidates, proven: an integer programme for each document."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.models.document.candidate_graph import Interplay

MOST_PAIRS = 4_000  # of candidates that mind each other; beyond, a document is not tried
SECONDS = 5.0  # for one document


def optimum(
    interplay: Interplay, document: int, most: int = MOST_PAIRS, seconds: float = SECONDS
) -> Ints | None:
    """The best candidates of the live stretches of one of the ``groups``; None if not proven.

    A candidate q is chosen if x_q = 1, one for each stretch; pairs that add w have a variable z =
    x_q x_r, which linear constraints bind: z ≤ x_q, z ≤ x_r, z ≥ x_q + x_r − 1.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    stretches = interplay.groups[document]
    first = interplay.lists.first
    candidates = np.concatenate([np.arange(first[v], first[v + 1]) for v in stretches])
    number = {int(q): k for k, q in enumerate(candidates)}
    pairs = _pairs(interplay, candidates)
    if len(pairs) > most:
        return None
    scores = _scores(interplay, candidates)
    size = len(candidates)
    gains = np.concatenate([scores, list(pairs.values())])
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    low: list[float] = []
    high: list[float] = []
    for v in stretches.tolist():
        own = [number[q] for q in range(int(first[v]), int(first[v + 1]))]
        rows += [len(low)] * len(own)
        columns += own
        values += [1.0] * len(own)
        low.append(1.0)
        high.append(1.0)
    for k, ((q, r), gain) in enumerate(pairs.items()):
        z, a, b = size + k, number[q], number[r]
        bounds: list[tuple[tuple[int, float], ...]]
        bounds = [((z, 1.0), (a, -1.0)), ((z, 1.0), (b, -1.0))]
        if gain < 0.0:  # a cost: z must not be less than it is
            bounds = [((a, 1.0), (b, 1.0), (z, -1.0))]
        for terms in bounds:
            rows += [len(low)] * len(terms)
            columns += [column for column, _ in terms]
            values += [value for _, value in terms]
            low.append(-np.inf)
            high.append(1.0 if gain < 0.0 else 0.0)
    table = coo_array((values, (rows, columns)), shape=(len(low), size + len(pairs))).tocsr()
    whole = np.concatenate([np.ones(size), np.zeros(len(pairs))])
    found = milp(
        -gains,
        integrality=whole,
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(table, low, high),
        options={"time_limit": seconds},
    )
    if found.status != 0:
        return None
    return candidates[np.flatnonzero(found.x[:size] > 0.5)]


def _scores(interplay: Interplay, candidates: Ints) -> Floats:
    """The scores of candidates beside the fixed spans."""
    lists = interplay.lists
    field = interplay.field(np.zeros(len(lists.local)))
    met = field[lists.slots, lists.kinds]
    ends = np.concatenate([[0.0], np.cumsum(met)])
    own = lists.local + interplay.pairs + ends[lists.spans[1:]] - ends[lists.spans[:-1]]
    found: Floats = own[candidates]
    return found


def _pairs(interplay: Interplay, candidates: Ints) -> dict[tuple[int, int], float]:
    """What pairs of candidates of different stretches add, where it is not zero."""
    lists, links = interplay.lists, interplay.links
    stretch = interplay.candidates.stretches
    holders: dict[int, list[tuple[int, int]]] = defaultdict(list)  # slot: candidate, kind
    spans = [
        (int(q), int(lists.slots[e]), int(lists.kinds[e]))
        for q in candidates
        for e in range(lists.spans[q], lists.spans[q + 1])
    ]
    for q, slot, kind in spans:
        holders[slot].append((q, kind))
    found: dict[tuple[int, int], float] = defaultdict(float)
    for q, slot, kind in spans:
        for r in range(links.starts[slot], links.starts[slot + 1]):
            table = links.sizes[r] * interplay.weights[links.tables[r], kind]
            for other, own in holders[int(links.others[r])]:
                if q < other and stretch[q] != stretch[other]:
                    found[q, other] += float(table[own])
    return {pair: gain for pair, gain in found.items() if gain}
