"""The best assignment of candidates, proven: an integer linear programme for each document."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.models.document.candidate_graph import CandidateGraph

MAX_PAIRS = 4_000  # of interacting candidates; a document with more is not tried
TIME_LIMIT = 5.0  # seconds for one document


def solve_ilp(
    graph: CandidateGraph, document: int, most: int = MAX_PAIRS, seconds: float = TIME_LIMIT
) -> Ints | None:
    """The best candidates of one document's interacting segments; None if not proven.

    A candidate q is chosen if x_q = 1, one for each segment; pairs that add w have a variable z =
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
    size = len(candidates)
    gains = np.concatenate([_unary_scores(graph, candidates), list(pairs.values())])
    rows: list[tuple[dict[int, float], float, float]] = []  # coefficients by variable, bounds
    for v in segments.tolist():
        one_of = {number[q]: 1.0 for q in range(int(first[v]), int(first[v + 1]))}
        rows.append((one_of, 1.0, 1.0))
    for z, ((q, r), gain) in enumerate(pairs.items(), size):
        a, b = number[q], number[r]
        if gain < 0.0:  # a cost: z must not be smaller than the product
            rows.append(({a: 1.0, b: 1.0, z: -1.0}, -np.inf, 1.0))
        else:
            rows += [({z: 1.0, factor: -1.0}, -np.inf, 0.0) for factor in (a, b)]
    values = [value for terms, _, _ in rows for value in terms.values()]
    columns = [column for terms, _, _ in rows for column in terms]
    row_ids = np.repeat(np.arange(len(rows)), [len(terms) for terms, _, _ in rows])
    table = coo_array((values, (row_ids, columns)), shape=(len(rows), len(gains))).tocsr()
    low, high = [low for _, low, _ in rows], [high for _, _, high in rows]
    solution = milp(
        -gains,
        integrality=np.arange(len(gains)) < size,
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(table, low, high),
        options={"time_limit": seconds},
    )
    if solution.status != 0:
        return None
    return candidates[np.flatnonzero(solution.x[:size] > 0.5)]


def _unary_scores(graph: CandidateGraph, candidates: Ints) -> Floats:
    """The scores of candidates given the fixed spans."""
    arrays = graph.arrays
    field = graph.field(np.zeros(len(arrays.unary)))
    sums = np.concatenate([[0.0], np.cumsum(field[arrays.string_ids, arrays.type_ids])])
    met = sums[arrays.spans[1:]] - sums[arrays.spans[:-1]]
    scores: Floats = (arrays.unary + graph.internal_scores + met)[candidates]
    return scores


def _pair_scores(graph: CandidateGraph, candidates: Ints) -> dict[tuple[int, int], float]:
    """The scores of pairs of candidates of different segments, where they are not zero."""
    arrays, edges = graph.arrays, graph.edges
    segment = graph.candidates.segment_ids
    holders: dict[int, list[tuple[int, int]]] = defaultdict(list)  # string: candidate, type
    spans = [
        (int(q), int(arrays.string_ids[e]), int(arrays.type_ids[e]))
        for q in candidates
        for e in range(arrays.spans[q], arrays.spans[q + 1])
    ]
    for q, string_id, kind in spans:
        holders[string_id].append((q, kind))
    scores: dict[tuple[int, int], float] = defaultdict(float)
    for q, string_id, kind in spans:
        for r in range(edges.starts[string_id], edges.starts[string_id + 1]):
            table = edges.scales[r] * graph.weights[edges.table_ids[r], kind]
            for other, other_kind in holders[int(edges.neighbours[r])]:
                if q < other and segment[q] != segment[other]:
                    scores[q, other] += float(table[other_kind])
    return {pair: score for pair, score in scores.items() if score}
