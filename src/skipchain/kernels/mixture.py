"""Mixtures of parents: marginals of a directed graph in one sweep, their gradient in another.

A label has the distribution p(y_k | parents) = Σ_u α_ku p(y_k | y_u), a mixture over its parents u
(Rosenberg, Klein and Taskar 2007, equation 2), with

    p(y_k = j | y_u = i) = P(i, j) = exp(s(j) + T(i, j)) / Z(i),   Z(i) = Σ_j exp(s(j) + T(i, j)),

where s is the row of scores of the edge and T the table of its type, or one of its own where
features go with both labels. So the marginals follow from those of the parents, exactly:
p_k(j) = Σ_u α_ku Σ_i p_u(i) P(i, j). Nodes are visited in an order in which parents come first.

Hazards: scores are shifted by the largest of their row and tables by their largest entry before
exponentials are taken, one per label and edge. Where a score and a table disagree by hundreds, Z(i)
may still vanish; that row of P is then computed in log space.

Everything works on the nodes of some documents, ``order[first : last]``, whose scores are a
`BlockScores`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.kernel import kernel

TINY = 1e-280  # sums below have lost their digits
NO_TABLE = np.iinfo(np.int64).min


class MixtureEdges(NamedTuple):
    """A directed graph, as `skipchain.edges.Dag` has it, with the weights of the mixtures."""

    order: NDArray[np.int64]  # [N]
    indptr: NDArray[np.int64]  # [N + 1]
    parents: NDArray[np.int64]  # [E]
    edge_types: NDArray[np.int32]  # [E]
    rows: NDArray[np.int64]  # [E]
    weights: NDArray[np.float64]  # [E], α


class PairTables(NamedTuple):
    """Label pairs of M tables [M, L, L]: scores, exp of them minus the largest, transposed.

    The first tables are those of edge types; edges that have one of their own come after them.

    The last is indexed [m, j, i], so that sums over j run over whole rows at once.
    """

    logs: NDArray[np.float64]
    exps: NDArray[np.float64]
    transposed: NDArray[np.float64]


class BlockScores(NamedTuple):
    """The nodes ``order[first : last]`` of some documents, and the scores of their edges.

    ``scores`` and what has their shape hold the rows of these documents only; row r of edge type m
    is ``scores[r − bases[m]]``. `sweep` writes ``norms``, the 1 / Z(i) of each row; −1 says that
    the row has to be computed in log space. Where rows of type m have tables of their own, the
    table of ``scores[r]`` is ``own_tables[m] + r``; else ``own_tables[m]`` is `NO_TABLE`.
    """

    first: int
    last: int
    bases: NDArray[np.int64]  # [M]
    scores: NDArray[np.float64]  # [R, L]
    psi: NDArray[np.float64]  # [R, L], exp of scores minus the largest of each row
    norms: NDArray[np.float64]  # [R, L]
    tables: PairTables
    own_tables: NDArray[np.int64]  # [M]


def block_scores(
    nodes: tuple[int, int],
    bases: NDArray[np.int64],
    scores: NDArray[np.float64],
    tables: PairTables,
    own_tables: NDArray[np.int64] | None = None,
) -> BlockScores:
    """The scores of the nodes ``nodes[0] … nodes[1] − 1``, with norms to be written.

    By default all edges of a type have one table.
    """
    psi = np.empty_like(scores)
    exponentials(scores, psi)
    if own_tables is None:
        own_tables = np.full(len(bases), NO_TABLE)
    return BlockScores(*nodes, bases, scores, psi, np.empty_like(scores), tables, own_tables)


def pair_tables(logs: NDArray[np.float64]) -> PairTables:
    """Both forms of scores of label pairs. [M, L, L]"""
    exps, turned = np.empty_like(logs), np.empty_like(logs)
    table_exponentials(logs, exps, turned)
    return PairTables(logs, exps, turned)


@kernel
def table_exponentials(logs, exps, transposed):
    """exp of each table minus its largest entry, and the same transposed. [M, L, L]"""
    size = logs.shape[1]
    for t in range(logs.shape[0]):
        peak = -np.inf
        for i in range(size):
            for j in range(size):
                peak = max(peak, logs[t, i, j])
        for i in range(size):
            for j in range(size):
                value = np.exp(logs[t, i, j] - peak)
                exps[t, i, j] = value
                transposed[t, j, i] = value


@kernel
def expand_classes(scores, classes, table, out):
    """Scores of pairs from those of their classes, plus a table. [R, K], [L, L] → [R, L, L]"""
    size = classes.shape[0]
    for r in range(scores.shape[0]):
        for i in range(size):
            for j in range(size):
                out[r, i, j] = scores[r, classes[i, j]] + table[i, j]


@kernel
def sum_classes(pairs, classes, out):
    """The inverse for gradients: sums over the pairs of each class. [R, L, L] → [R, K]"""
    size = classes.shape[0]
    for r in range(pairs.shape[0]):
        out[r] = 0.0
        for i in range(size):
            for j in range(size):
                out[r, classes[i, j]] += pairs[r, i, j]


@kernel
def exponentials(scores, psi):
    """exp of each row of scores minus its largest. [R, L]"""
    for r in range(scores.shape[0]):
        peak = scores[r, 0]
        for j in range(1, scores.shape[1]):
            peak = max(peak, scores[r, j])
        for j in range(scores.shape[1]):
            psi[r, j] = np.exp(scores[r, j] - peak)


@kernel
def _table_of(own_tables, m, r):
    """The table of a row: its own, or that of its type."""
    return m if own_tables[m] == NO_TABLE else own_tables[m] + r


@kernel
def _normaliser(psi, exps):
    """1 / Z(i) of one row, or −1 where it has to be computed in log space."""
    total = 0.0
    for j in range(psi.shape[0]):
        total += psi[j] * exps[j]
    return 1.0 / total if total > TINY else -1.0


@kernel
def _conditional(scores, psi, logs, exps, inverse, out):
    """Row i of P, from the row's scores and row i of its table. out [L]"""
    labels = psi.shape[0]
    if inverse >= 0.0:
        for j in range(labels):
            out[j] = psi[j] * exps[j] * inverse
        return
    peak = -np.inf
    for j in range(labels):
        out[j] = scores[j] + logs[j]
        peak = max(peak, out[j])
    total = 0.0
    for j in range(labels):
        out[j] = np.exp(out[j] - peak)
        total += out[j]
    for j in range(labels):
        out[j] /= total


@kernel
def _weighted_rows(transposed, factors, out):
    """out(i) = Σ_j X(i, j) f(j), from the transposed table."""
    labels = factors.shape[0]
    for i in range(labels):
        out[i] = 0.0
    for j in range(labels):
        f = factors[j]
        row = transposed[j]
        for i in range(labels):
            out[i] += row[i] * f


@kernel
def sweep(block, edges, marginals):
    """Write the marginals of the block's nodes, and its norms. marginals [N, L]

    p_k = Σ_e α_e Σ_i p_u(i) P_e(i, ·); an edge from nowhere adds α_e exp(s) / Σ exp(s).
    """
    bases, scores, psi = block.bases, block.scores, block.psi
    norms, tables = block.norms, block.tables
    labels = scores.shape[1]
    push, row = np.empty(labels), np.empty(labels)
    for place in range(block.first, block.last):
        k = edges.order[place]
        out = marginals[k]
        out[:] = 0.0
        for e in range(edges.indptr[k], edges.indptr[k + 1]):
            m, u = edges.edge_types[e], edges.parents[e]
            r = edges.rows[e] - bases[m]
            near, norm, weight = psi[r], norms[r], edges.weights[e]
            if u < 0:
                total = 0.0
                for j in range(labels):
                    total += near[j]
                norm[0] = 1.0 / total
                for j in range(labels):
                    out[j] += weight * near[j] * norm[0]
                continue
            t = _table_of(block.own_tables, m, r)
            exps, parent = tables.exps[t], marginals[u]
            _weighted_rows(tables.transposed[t], near, norm)
            push[:] = 0.0
            for i in range(labels):
                norm[i] = 1.0 / norm[i] if norm[i] > TINY else -1.0
                mass = weight * parent[i]
                if norm[i] >= 0.0:
                    mass *= norm[i]
                    for j in range(labels):
                        push[j] += mass * exps[i, j]
                elif mass > 0.0:
                    _conditional(scores[r], near, tables.logs[t, i], exps[i], norm[i], row)
                    for j in range(labels):
                        out[j] += mass * row[j]
            for j in range(labels):
                out[j] += push[j] * near[j]


@kernel
def adjoint_sweep(block, edges, marginals, labels, share, adjoint, residuals, pairs, mixing):
    """The loss −share · Σ_k log p_k(y_k), and its gradient, after `sweep`.

    From the last node to the first: g_k = −share · [j = y_k] / p_k(y_k) + what its children have
    sent, and each edge sends g_u(i) += α q(i), q(i) = Σ_j P(i, j) g_k(j). The gradient in the
    logits of an edge is α p_u(i) P(i, j) (g_k(j) − q(i)); summed over i it goes to its row of
    ``residuals`` (added), summed over edges of a table to ``pairs`` [M, L, L] (added); ``mixing``
    [E] gets that in α. Nodes with label −1 have no term of their own. adjoint [N, L] is scratch.

    With P(i, j) = ψ(j) X(i, j) / Z(i) and c(i) = α p_u(i) / Z(i) that gradient is
    X(i, j) (c(i) ψ(j) g(j) − c(i) q(i) ψ(j)).
    """
    first, last, bases = block.first, block.last, block.bases
    scores, psi, norms, tables = block.scores, block.psi, block.norms, block.tables
    size = scores.shape[1]
    loss = 0.0
    row, pulled, sent = np.empty(size), np.empty(size), np.empty(size)
    for place in range(first, last):
        adjoint[edges.order[place]] = 0.0
    for place in range(last - 1, first - 1, -1):
        k = edges.order[place]
        g, y = adjoint[k], labels[k]
        if y >= 0:
            p = max(marginals[k, y], TINY)
            loss -= share * np.log(p)
            g[y] -= share / p
        for e in range(edges.indptr[k], edges.indptr[k + 1]):
            m, u = edges.edge_types[e], edges.parents[e]
            r = edges.rows[e] - bases[m]
            near, norm, weight, out = psi[r], norms[r], edges.weights[e], residuals[r]
            for j in range(size):
                pulled[j] = near[j] * g[j]
            if u < 0:
                change = 0.0
                for j in range(size):
                    change += pulled[j]
                change *= norm[0]
                for j in range(size):
                    out[j] += weight * norm[0] * (pulled[j] - change * near[j])
                mixing[e] = change
                continue
            t = _table_of(block.own_tables, m, r)
            exps, parent, back, table = tables.exps[t], marginals[u], adjoint[u], pairs[t]
            _weighted_rows(tables.transposed[t], pulled, sent)
            change = 0.0
            for i in range(size):
                mass = weight * parent[i]
                if norm[i] >= 0.0:
                    q = sent[i] * norm[i]
                    c = mass * norm[i]
                    d = c * q
                    for j in range(size):
                        move = exps[i, j] * (c * pulled[j] - d * near[j])
                        out[j] += move
                        table[i, j] += move
                else:
                    _conditional(scores[r], near, tables.logs[t, i], exps[i], norm[i], row)
                    q = 0.0
                    for j in range(size):
                        q += row[j] * g[j]
                    for j in range(size):
                        move = mass * row[j] * (g[j] - q)
                        out[j] += move
                        table[i, j] += move
                back[i] += weight * q
                change += parent[i] * q
            mixing[e] = change
    return loss


@kernel
def clamped_likelihood(block, edges, labels, mixed, share, residuals, pairs):
    """The loss where all parents have their known labels, and its gradient, added as above.

    With ``mixed`` −share · Σ_k log Σ_u α_ku p(y_k | y_u) (equation 3); else each edge by itself,
    −share · Σ_k Σ_u log p(y_k | y_u). Edges with an end whose label is not known (−1) are left out.
    """
    bases, scores, psi, tables = block.bases, block.scores, block.psi, block.tables
    size = scores.shape[1]
    loss = 0.0
    row, ones = np.empty(size), np.ones(size)
    zeros = np.zeros(size)
    for place in range(block.first, block.last):
        k = edges.order[place]
        y = labels[k]
        if y < 0:
            continue
        whole = 0.0
        for step in range(2 if mixed else 1):
            for e in range(edges.indptr[k], edges.indptr[k + 1]):
                m, u = edges.edge_types[e], edges.parents[e]
                r = edges.rows[e] - bases[m]
                t = _table_of(block.own_tables, m, r)
                i = labels[u] if u >= 0 else 0
                if i < 0:
                    continue
                logs = tables.logs[t, i] if u >= 0 else zeros
                exps = tables.exps[t, i] if u >= 0 else ones
                inverse = _normaliser(psi[r], exps)
                _conditional(scores[r], psi[r], logs, exps, inverse, row)
                if mixed and step == 0:
                    whole += edges.weights[e] * row[y]
                    continue
                part = share
                if mixed:
                    part *= edges.weights[e] * row[y] / max(whole, TINY)
                else:
                    loss -= share * np.log(max(row[y], TINY))
                for j in range(size):
                    d = part * (row[j] - (1.0 if j == y else 0.0))
                    residuals[r, j] += d
                    if u >= 0:
                        pairs[t, i, j] += d
        if mixed and whole > 0.0:
            loss -= share * np.log(max(whole, TINY))
    return loss


@kernel
def edge_entropies(block, edges, marginals, entropies):
    """The entropy of what each edge says of its child, after `sweep`. entropies [E]

    Edge e says Σ_i p_u(i) P_e(i, ·), or exp(s) / Σ exp(s) where it comes from nowhere.
    """
    bases, scores, psi = block.bases, block.scores, block.psi
    norms, tables = block.norms, block.tables
    labels = scores.shape[1]
    said, row = np.empty(labels), np.empty(labels)
    for place in range(block.first, block.last):
        k = edges.order[place]
        for e in range(edges.indptr[k], edges.indptr[k + 1]):
            m, u = edges.edge_types[e], edges.parents[e]
            r = edges.rows[e] - bases[m]
            if u < 0:
                for j in range(labels):
                    said[j] = psi[r, j] * norms[r, 0]
            else:
                said[:] = 0.0
                t = _table_of(block.own_tables, m, r)
                logs, exps = tables.logs[t], tables.exps[t]
                for i in range(labels):
                    _conditional(scores[r], psi[r], logs[i], exps[i], norms[r, i], row)
                    for j in range(labels):
                        said[j] += marginals[u, i] * row[j]
            total = 0.0
            for j in range(labels):
                if said[j] > 0.0:
                    total -= said[j] * np.log(said[j])
            entropies[e] = total
