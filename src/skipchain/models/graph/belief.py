"""Labels that depend on each other in pairs, anywhere in a document: belief propagation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from skipchain.arrays import Bools, Floats, Ints, Labels
from skipchain.checks import check_integer, check_number
from skipchain.errors import CorpusError, ParameterError
from skipchain.kernels import belief
from skipchain.kernels.adjacency import layout
from skipchain.kernels.belief import BeliefArrays, BestArrays, MessageSlots
from skipchain.parallel import Workers, blocks


@dataclass(frozen=True, slots=True)
class GraphBlock:
    """Some documents of a graph as the kernels want them, numbered from the block's first node."""

    documents: slice
    nodes: slice
    edge_types: Ints  # [k] the types of edges that occur
    agreeing: Ints  # [a] the rows of agree that belong here
    agreeing_edge_types: Ints  # [a] which of ``edge_types`` their edges are
    slots: MessageSlots


@dataclass(frozen=True, slots=True)
class PairwiseGraph:
    """Which nodes of D documents are joined; computed once, for any number of scores.

    Edge e joins the nodes ``ends[e]`` = (u, v) of one document; its edge type says which table of
    scores [y_u, y_v] it has. Edge ``agreeing[a]`` has scores of its own besides, for ends with the
    same label. Two nodes may be joined more than once.

    >>> graph = PairwiseGraph.of([0, 3], ends=[[0, 1], [1, 2], [0, 2]], edge_types=[0, 0, 1])
    >>> graph.n_nodes, graph.n_edges
    (3, 3)
    """

    documents: Ints  # [D + 1] offsets into nodes
    ends: Ints  # [E, 2]
    edge_types: Labels  # [E]
    agreeing: Ints  # [A]
    blocks: tuple[GraphBlock, ...]

    @classmethod
    def of(
        cls,
        documents: ArrayLike,
        ends: ArrayLike,
        edge_types: ArrayLike | None = None,
        agreeing: ArrayLike | None = None,
    ) -> PairwiseGraph:
        """A checked graph; by default all edges are of type 0, and none is ``agreeing``."""
        offsets = np.asarray(documents, np.int64)
        pairs = np.asarray(ends, np.int64).reshape(-1, 2)
        type_ids = np.zeros(len(pairs), np.int32)
        if edge_types is not None:
            type_ids = np.asarray(edge_types, np.int32)
        rows = np.asarray([] if agreeing is None else agreeing, np.int64)
        owner = _documents_of(offsets, pairs, type_ids, rows)
        return cls(offsets, pairs, type_ids, rows, _blocks(offsets, pairs, type_ids, rows, owner))

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return int(self.documents[-1])

    @property
    def n_edges(self) -> int:
        """How many edges there are."""
        return len(self.ends)


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What belief propagation finds: exact in documents without loops, else an approximation.

    ``residual`` is the largest change of a message that had still to be passed on when sending
    stopped. Where it is above the tolerance the messages have not converged, and the rest is not to
    be trusted. ``log_z`` is −∞ where no labelling is possible; all beliefs are 0 there.
    """

    node: Floats  # [N, S] p(y_n)
    pairs: Floats  # [M, S, S] p(y_u, y_v), summed over the edges of each type
    agreements: Floats  # [A, S] p(y_u = y_v = l) of each agreeing edge
    log_z: Floats  # [D]
    sweeps: Ints  # [D]
    residual: Floats  # [D]


@dataclass(frozen=True, slots=True)
class BestLabelling:
    """What max-product finds: the best labelling of documents without loops, else a good one.

    No labelling that differs by a single label is better. ``score`` is that of the labels found,
    −∞ where no labelling is possible or none was found. ``sweeps`` and ``residual`` are those of
    `Beliefs`.
    """

    labels: Labels  # [N]
    score: Floats  # [D]
    sweeps: Ints  # [D]
    residual: Floats  # [D]


MAX_SWEEPS = 1_000  # that settings may ask for


@dataclass(frozen=True, slots=True)
class PropagationSettings:
    """How messages are sent, and when they are said to have converged; see `propagate`."""

    damping: float = 0.0
    tolerance: float = 1e-3
    max_sweeps: int = 100

    def unconverged(self, beliefs: Beliefs | BestLabelling) -> Ints:
        """The documents whose messages did not converge."""
        return np.flatnonzero(beliefs.residual > self.tolerance)


def propagate(
    graph: PairwiseGraph,
    node: Floats,
    tables: Floats,
    agree: Floats | None,
    workers: Workers,
    *,
    damping: float = 0.0,
    tolerance: float = 1e-3,
    max_sweeps: int = 100,
    start: Labels | None = None,
) -> Beliefs:
    """The beliefs of a graph under log scores; −∞ forbids.

    node [N, S]; tables [M, S, S] by edge type, as [y_u, y_v]; agree [A, S] is added where both ends
    of an agreeing edge have the same label. ``tolerance`` is relative: messages that differ by less
    are the same. ``damping`` is the share of the old message in a new one; where messages
    oscillate, a share of 0.5 often lets them converge. There may be more than one fixed point;
    messages that begin in the states ``start`` [N] are tried too, and the higher ``log_z`` counts.
    The gradient of the sum of ``log_z`` in node, tables and agree is ``node``, ``pairs`` and
    ``agreements``.

    Two labels, three words; the first and the last agree in all likelihood:

    >>> graph = PairwiseGraph.of([0, 3], ends=[[0, 1], [1, 2], [0, 2]], agreeing=[2])
    >>> node = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])
    >>> with Workers(1) as workers:
    ...     beliefs = propagate(graph, node, np.zeros((1, 2, 2)), np.full((1, 2), 3.0), workers)
    >>> beliefs.node.round(2)
    array([[0.12, 0.88],
           [0.73, 0.27],
           [0.16, 0.84]])
    >>> bool(beliefs.residual[0] <= 1e-3)
    True
    """
    _check_settings(damping, tolerance, max_sweeps)
    node, tables, agree = _checked_scores(graph, node, tables, agree)
    states = node.shape[-1]
    states_at = np.zeros(0, np.int32) if start is None else np.asarray(start, np.int32)
    documents = len(graph.documents) - 1
    beliefs = Beliefs(
        node=np.empty_like(node),
        pairs=np.zeros_like(tables),
        agreements=np.empty_like(agree),
        log_z=np.empty(documents),
        sweeps=np.empty(documents, np.int64),
        residual=np.empty(documents),
    )
    settings = float(damping), float(tolerance), int(max_sweeps)

    def run(b: GraphBlock) -> Floats:
        pairs = np.zeros((len(b.edge_types), states, states))
        agreements = np.empty((len(b.agreeing), states))
        by_document = (beliefs.log_z, beliefs.sweeps, beliefs.residual)
        totals = (own[b.documents] for own in by_document)
        out = BeliefArrays(beliefs.node[b.nodes], pairs, agreements, *totals)
        given = node[b.nodes], tables[b.edge_types], agree[b.agreeing], b.agreeing_edge_types
        belief.propagate(*given, b.slots, states_at[b.nodes], *settings, out)
        beliefs.agreements[b.agreeing] = agreements
        return pairs

    for block, pairs in zip(graph.blocks, workers.map(run, graph.blocks), strict=True):
        beliefs.pairs[block.edge_types] += pairs
    return beliefs


def max_product(
    graph: PairwiseGraph,
    node: Floats,
    tables: Floats,
    agree: Floats | None,
    workers: Workers,
    *,
    damping: float = 0.0,
    tolerance: float = 1e-3,
    max_sweeps: int = 100,
) -> BestLabelling:
    """The best labelling of a graph under log scores, by messages of maxima; −∞ forbids.

    Scores and settings are those of `propagate`. Of labellings that are equally good the same one
    is always found.

    The first and the last word agree, although the last would rather not:

    >>> graph = PairwiseGraph.of([0, 3], ends=[[0, 1], [1, 2], [0, 2]], agreeing=[2])
    >>> node = np.array([[0.0, 2.0], [1.0, 0.0], [0.5, 0.0]])
    >>> with Workers(1) as workers:
    ...     best = max_product(graph, node, np.zeros((1, 2, 2)), np.full((1, 2), 3.0), workers)
    >>> best.labels.tolist(), best.score.tolist()
    ([1, 0, 1], [6.0])
    """
    _check_settings(damping, tolerance, max_sweeps)
    node, tables, agree = _checked_scores(graph, node, tables, agree)
    documents = len(graph.documents) - 1
    best = BestLabelling(
        labels=np.empty(len(node), np.int32),
        score=np.empty(documents),
        sweeps=np.empty(documents, np.int64),
        residual=np.empty(documents),
    )
    settings = float(damping), float(tolerance), int(max_sweeps)

    def run(b: GraphBlock) -> None:
        by_document = (own[b.documents] for own in (best.score, best.sweeps, best.residual))
        out = BestArrays(best.labels[b.nodes], *by_document)
        given = node[b.nodes], tables[b.edge_types], agree[b.agreeing], b.agreeing_edge_types
        belief.maximise(*given, b.slots, *settings, out)

    workers.map(run, graph.blocks)
    return best


def _blocks(
    offsets: Ints, ends: Ints, edge_types: Labels, agreeing: Ints, owner: Ints
) -> tuple[GraphBlock, ...]:
    """Runs of whole documents with about the same number of nodes."""
    by_document = np.argsort(owner, kind="stable")
    starts = np.searchsorted(owner[by_document], np.arange(len(offsets)))
    agreement = np.full(len(ends), -1)
    agreement[agreeing] = np.arange(len(agreeing))
    parts = [(offsets[a : b + 1], a, starts[a], starts[b]) for a, b in blocks(offsets)]
    return tuple(
        _block(documents, first, by_document[low:high], ends, edge_types, agreement)
        for documents, first, low, high in parts
    )


def _block(
    documents: Ints, first: int, edges: Ints, ends: Ints, edge_types: Labels, agreement: Ints
) -> GraphBlock:
    """The block of the given documents, the first of which is number ``first``, and edges."""
    offsets = documents - documents[0]
    nodes, slots = int(offsets[-1]), 2 * len(edges)
    order = np.empty(nodes, np.int32)
    indptr, middle = np.empty(nodes + 1, np.int64), np.empty(nodes, np.int64)
    other, twin = np.empty(slots, np.int32), np.empty(slots, np.int32)
    sides = np.empty(slots, np.int64)
    layout(offsets, ends[edges] - documents[0], order, indptr, middle, other, twin, sides)
    used, type_ids = np.unique(edge_types[edges], return_inverse=True)
    agree = agreement[edges]
    row = type_ids.copy()
    row[agree >= 0] = len(used) + np.arange(np.count_nonzero(agree >= 0))
    table = (2 * type_ids[sides >> 1] + (sides & 1)).astype(np.int32)
    return GraphBlock(
        documents=slice(first, first + len(documents) - 1),
        nodes=slice(int(documents[0]), int(documents[-1])),
        edge_types=used.astype(np.int64),
        agreeing=agree[agree >= 0],
        agreeing_edge_types=type_ids[agree >= 0],
        slots=MessageSlots(
            offsets, order, indptr, middle, other, twin, table, row[sides >> 1].astype(np.int32)
        ),
    )


def _documents_of(offsets: Ints, ends: Ints, edge_types: Labels, agreeing: Ints) -> Ints:
    """The document of each edge, which must make sense. [E]"""
    if offsets.ndim != 1 or len(offsets) == 0 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise CorpusError(
            "the documents of a graph are offsets into its nodes, which begin with 0 and never "
            f"fall, got {offsets.tolist()[:5]} …"
        )
    if edge_types.shape != (len(ends),):
        raise CorpusError(
            f"there are {len(ends)} edges, but edge types of {edge_types.size}: one each"
        )
    nodes = int(offsets[-1])
    if (e := _first((ends < 0) | (ends >= nodes))) is not None:
        raise CorpusError(
            f"edge {e} joins nodes {_pair(ends, e)}, but there are only nodes 0 to {nodes - 1}"
        )
    if (e := _first(ends[:, 0] == ends[:, 1])) is not None:
        raise CorpusError(
            f"edge {e} joins node {ends[e, 0]} to itself; add its scores to those of the node"
        )
    document = np.searchsorted(offsets, ends, side="right") - 1
    if (e := _first(document[:, 0] != document[:, 1])) is not None:
        raise CorpusError(
            f"edge {e} joins nodes {_pair(ends, e)} of documents {_pair(document, e)}; edges join "
            "nodes of one document: leave it out, or make one document of the two"
        )
    if (e := _first(edge_types < 0)) is not None:
        raise CorpusError(f"edge {e} is of type {edge_types[e]}; edge types are numbered from 0")
    if (a := _first((agreeing < 0) | (agreeing >= len(ends)))) is not None:
        raise CorpusError(
            f"agreeing edge {agreeing[a]} is missing: there are {len(ends)} edges, numbered from 0"
        )
    values, counts = np.unique(agreeing, return_counts=True)
    if (a := _first(counts > 1)) is not None:
        raise CorpusError(f"edge {values[a]} is named twice among those agreeing; add up its rows")
    return document[:, 0]


def _first(wrong: Bools) -> int | None:
    """The first row with anything true in it."""
    rows = np.flatnonzero(wrong.any(axis=1) if wrong.ndim == 2 else wrong)
    return int(rows[0]) if len(rows) else None


def _pair(table: Ints, e: int) -> str:
    return f"{table[e, 0]} and {table[e, 1]}"


def _checked_scores(
    graph: PairwiseGraph, node: Floats, tables: Floats, agree: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Scores as arrays, with shapes that fit the graph and each other."""
    node, tables = np.ascontiguousarray(node, np.float64), np.asarray(tables, np.float64)
    states = node.shape[-1]
    agree = np.zeros((0, states)) if agree is None else np.asarray(agree, np.float64)
    if node.ndim != 2 or states == 0 or len(node) != graph.n_nodes:
        raise CorpusError(f"node scores must be [{graph.n_nodes}, S], S ≥ 1, got {node.shape}")
    if tables.ndim != 3 or tables.shape[1:] != (states, states):
        raise CorpusError(f"tables must be [M, {states}, {states}], got {tables.shape}")
    if agree.shape != (len(graph.agreeing), states):
        raise CorpusError(
            f"agree must be [{len(graph.agreeing)}, {states}], a row for each agreeing edge of the "
            f"graph, got {agree.shape}"
        )
    if (e := _first(graph.edge_types >= len(tables))) is not None:
        raise CorpusError(
            f"edge {e} is of type {graph.edge_types[e]}, but there are only {len(tables)} tables"
        )
    return node, tables, agree


def _check_settings(damping: float, tolerance: float, max_sweeps: int) -> None:
    check_number("damping", damping, below=1.0)
    if not tolerance > 0.0:
        raise ParameterError(f"tolerance must be above 0, got {tolerance!r}")
    check_integer("max_sweeps", max_sweeps)
