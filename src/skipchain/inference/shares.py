"""Shares: the marginals of one token of a mixture of parents, taken apart edge by edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.mixture import Edges, exponentials, sweep, tables_of
from skipchain.scorers.edges import EdgeScores

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """What one edge of one graph adds to the marginals of its child.

    ``parent`` is −1 where the edge comes from nowhere, and ``before`` are the parent's own
    marginals in that graph; ``row`` is the edge's among those of its kind.
    """

    parent: int
    kind: str
    row: int
    weight: float  # α
    before: Floats | None  # [L]
    added: Floats  # [L], α Σ_i p_u(i) P(i, ·)


def shares(scores: EdgeScores, graphs: Sequence[Edges], token: int) -> list[list[Share]]:
    """The shares of a token's marginals, graph by graph; those of a graph sum to its marginals."""
    linked = scores.linked
    documents = linked.relations.documents
    own = int(np.searchsorted(documents, token, side="right")) - 1
    first, last = documents[[own, own + 1]].tolist()
    rows, bases, _ = scores.block((own, own + 1))
    tables = tables_of(scores.tables)
    psi, norms = np.empty_like(rows), np.empty_like(rows)
    exponentials(rows, psi)
    marginals = np.empty((int(documents[-1]), rows.shape[1]))
    found = []
    for edges in graphs:
        sweep(first, last, edges, bases, rows, psi, tables, norms, marginals)
        listed = []
        for e in range(edges.indptr[token], edges.indptr[token + 1]):
            kind, parent, weight = int(edges.kinds[e]), int(edges.parents[e]), edges.weights[e]
            at = int(edges.rows[e])
            own_scores = rows[at - bases[kind]]
            before = None if parent < 0 else marginals[parent].copy()
            if before is None:
                added = _softmax(own_scores)
            else:
                added = before @ _softmax(own_scores + tables.logs[kind])
            name = linked.relations.kinds[kind]
            listed.append(Share(parent, name, at, float(weight), before, weight * added))
        found.append(listed)
    return found


def _softmax(scores: Floats) -> Floats:
    """exp of scores, along the last axis divided by their sum."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Floats = shifted / shifted.sum(axis=-1, keepdims=True)
    return found
