"""The marginals of one token in a mixture of parents, as a sum over its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.mixture import Sweep


@dataclass(frozen=True, slots=True)
class ParentShare:
    """What one edge of one graph adds to the marginals of its child.

    ``parent`` is −1 where the edge comes from nowhere, and ``parent_marginals`` are the parent's
    own marginals in that graph; ``row`` is the edge's among those of its type.
    """

    parent: int
    kind: str
    row: int
    weight: float  # α
    parent_marginals: Floats | None  # [L]
    marginal_share: Floats  # [L], α Σ_i p_u(i) P(i, ·)


def parent_shares(
    scores: EdgeScores, sweeps: Sequence[Sweep], token: int
) -> list[list[ParentShare]]:
    """The shares of a token's marginals, graph by graph; those of a graph sum to its marginals."""
    edge_set = scores.dataset.edge_set
    document = int(np.searchsorted(edge_set.documents, token, side="right")) - 1
    rows, bases, _ = scores.block((document, document + 1))
    tables = scores.tables

    def share(sweep: Sweep, e: int) -> ParentShare:
        dag, weight = sweep.dag, float(sweep.mixing[e])
        type_id, parent, row = int(dag.edge_types[e]), int(dag.parents[e]), int(dag.rows[e])
        edge_scores, before = rows[row - bases[type_id]], None
        name = edge_set.edge_types[type_id]
        if parent < 0:
            added = _softmax(edge_scores)
        else:
            before = sweep.marginals[parent]
            table = tables[type_id]
            if scores.has_pairs(name):
                table = np.empty((1, *table.shape))
                scores.fill_pairs(name, row, table)
            added = before @ _softmax(edge_scores + table.reshape(tables[type_id].shape))
        return ParentShare(parent, name, row, weight, before, weight * added)

    return [
        [share(sweep, e) for e in range(*sweep.dag.indptr[[token, token + 1]])] for sweep in sweeps
    ]


def _softmax(scores: Floats) -> Floats:
    """exp of scores, along the last axis divided by their sum."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities: Floats = shifted / shifted.sum(axis=-1, keepdims=True)
    return probabilities
