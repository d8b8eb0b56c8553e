"""The best choice among candidates, proven: an integer programme for each document."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.models.document.candidate_graph import CandidateGraph

MAX_PAIRS = 4_000  # of candidates that mind each other; beyond, a document is not tried
TIME_LIMIT = 5.0  # for one document


def solve_ilp(
    graph: CandidateGraph, document: int, most: int = MAX_PAIRS, seconds: float = TIME_LIMIT
) -> Ints | None:
    """The best candidates of one document's interacting segments; None if not proven.

    A candidate q is chosen if x_q = 1, one for each stretch; pairs that add w have a variable z =
    x_q x_r, which linear constraints bind: z ≤ x_q, z ≤ x_r, z ≥ x_q + x_r − 1.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    segments = graph.document_segments[document]
    first = graph.arrays.first
    candidates = np.concatenate([np.arange(first[v], first[v + 1]) for v in segments])
    number = {int(q): k for k, q in enumerate(candidates)}
    pairs = _pair_scores(graph, candidates)
    if len(pairs) > most:
        return None
    scores = _unary_scores(graph, candidates)
    size = len(candidates)
    gains = np.concatenate([scores, list(pairs.values())])
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    low: list[float] = []
    high: list[float] = []
    for v in segments.tolist():
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


def _unary_scores(graph: CandidateGraph, candidates: Ints) -> Floats:
    """The scores of candidates beside the fixed spans."""
    arrays = graph.arrays
    field = graph.field(np.zeros(len(arrays.unary)))
    met = field[arrays.string_ids, arrays.type_ids]
    ends = np.concatenate([[0.0], np.cumsum(met)])
    own = arrays.unary + graph.internal_scores + ends[arrays.spans[1:]] - ends[arrays.spans[:-1]]
    found: Floats = own[candidates]
    return found


def _pair_scores(graph: CandidateGraph, candidates: Ints) -> dict[tuple[int, int], float]:
    """What pairs of candidates of different stretches add, where it is not zero."""
    arrays, edges = graph.arrays, graph.edges
    segment = graph.candidates.segment_ids
    holders: dict[int, list[tuple[int, int]]] = defaultdict(list)  # slot: candidate, kind
    spans = [
        (int(q), int(arrays.string_ids[e]), int(arrays.type_ids[e]))
        for q in candidates
        for e in range(arrays.spans[q], arrays.spans[q + 1])
    ]
    for q, string_id, kind in spans:
        holders[string_id].append((q, kind))
    found: dict[tuple[int, int], float] = defaultdict(float)
    for q, string_id, kind in spans:
        for r in range(edges.starts[string_id], edges.starts[string_id + 1]):
            table = edges.scales[r] * graph.weights[edges.table_ids[r], kind]
            for other, own in holders[int(edges.neighbours[r])]:
                if q < other and segment[q] != segment[other]:
                    found[q, other] += float(table[own])
    return {pair: gain for pair, gain in found.items() if gain}
