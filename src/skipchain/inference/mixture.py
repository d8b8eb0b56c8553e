"""Marginals of mixtures of parents, averaged over orderings, and labels from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skipchain.graph.dag import Dag
from skipchain.kernels import chain
from skipchain.kernels.mixture import Edges, exponentials, sweep, tables_of
from skipchain.parallel import Workers, blocks
from skipchain.potentials import Constraints, Potentials, require_paths
from skipchain.scorers.edges import EdgeScores

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]


def edges_of(dag: Dag, weights: Floats | None = None) -> Edges:
    """The graph as kernels take it; without ``weights`` parents count alike."""
    own = dag.uniform() if weights is None else weights
    return Edges(dag.order, dag.indptr, dag.parents, dag.kinds, dag.rows, own)


def marginals(scores: EdgeScores, dags: Sequence[Dag], workers: Workers) -> Floats:
    """The probability of each label at each token, the mean over the graphs. [N, L]"""
    linked = scores.linked
    tables = tables_of(scores.tables)
    graphs = [edges_of(dag) for dag in dags]
    documents = linked.relations.documents
    out = np.zeros((int(documents[-1]), tables.logs.shape[1]))
    own = np.empty_like(out)

    def run(block: tuple[int, int]) -> None:
        first, last = documents[list(block)].tolist()
        node, bases, _ = scores.block(block)
        psi, norms = np.empty_like(node), np.empty_like(node)
        exponentials(node, psi)
        for edges in graphs:
            sweep(first, last, edges, bases, node, psi, tables, norms, own)
            out[first:last] += own[first:last]

    workers.map(run, linked.blocks())
    return out / len(graphs)


def legal(
    marginals: Floats,
    offsets: NDArray[np.int64],
    constraints: Constraints | None,
    workers: Workers,
) -> Labels:
    """The labels with the largest product of marginals among the sequences allowed. [N]"""
    path = np.empty(len(marginals), np.int32)
    size = marginals.shape[1]
    node = np.log(np.maximum(marginals, np.finfo(np.float64).tiny))

    def run(block: tuple[int, int]) -> None:
        own = offsets[block[0] : block[1] + 1]
        first, last = int(own[0]), int(own[-1])
        p = Potentials(node[first:last], np.zeros((1, size, size)), own - first, first)
        if constraints is not None:
            p = p.constrained(constraints)
        best = np.empty(len(own) - 1)
        chain.viterbi(p.node, p.edge, p.offsets, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, blocks(offsets))
    return path
