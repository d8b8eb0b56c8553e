"""Marginals of mixtures of parents, averaged over orderings, and labels from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.edges.dag import Dag
from skipchain.errors import SkipchainError
from skipchain.kernels.mixture import (
    NO_TABLE,
    BlockScores,
    MixtureEdges,
    PairTables,
    block_scores,
    edge_entropies,
    pair_tables,
    sweep,
    table_exponentials,
)
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.gate import Gate, GateInputs
from skipchain.parallel import Workers


def mixture_edges(dag: Dag, weights: Floats | None = None) -> MixtureEdges:
    """The graph as kernels take it; by default all parents of a node have the same weight."""
    if weights is None:
        weights = dag.uniform_weights()
    else:
        dag.check_weights(weights)
    return MixtureEdges(dag.order, dag.indptr, dag.parents, dag.edge_types, dag.rows, weights)


@dataclass(frozen=True, slots=True)
class ScoredBlock:
    """Some documents with the scores of their edges, ready to be swept in any order."""

    rows: BlockScores
    places: Mapping[str, slice]
    """Where the rows of each edge type stand."""
    tables: Mapping[str, slice]
    """Where the tables stand of edge types whose rows have their own."""

    @classmethod
    def of(cls, scores: EdgeScores, block: tuple[int, int], tables: PairTables) -> ScoredBlock:
        """The documents of a block; ``tables`` are those of edge types."""
        dataset = scores.dataset
        first, last = dataset.edge_set.documents[list(block)].tolist()
        rows, bases, places = scores.block(block)
        own, size = np.full(len(bases), NO_TABLE), len(tables.logs)
        standing: dict[str, slice] = {}
        for edge_type, place in places.items():
            if scores.has_pairs(edge_type):
                standing[edge_type] = slice(size, size + place.stop - place.start)
                own[dataset.type_index(edge_type)] = size - place.start
                size = standing[edge_type].stop
        if standing:
            more = PairTables(*(np.empty((size, *form.shape[1:])) for form in tables))
            for whole, form in zip(more, tables, strict=True):
                whole[: len(form)] = form
            for edge_type, stand in standing.items():
                row = int(bases[dataset.type_index(edge_type)]) + places[edge_type].start
                scores.fill_pairs(edge_type, row, more.logs[stand])
                table_exponentials(*(form[stand] for form in more))
            tables = more
        return cls(block_scores((first, last), bases, rows, tables, own), places, standing)

    def sweep(self, edges: MixtureEdges, marginals: Floats) -> None:
        """Write the marginals of the block's nodes. [N, L]"""
        sweep(self.rows, edges, marginals)

    def set_entropies(
        self, edges: MixtureEdges, gate_inputs: GateInputs, marginals: Floats
    ) -> None:
        """Tell a gate the entropies after the last sweep."""
        entropies = np.empty(len(edges.parents))
        edge_entropies(self.rows, edges, marginals, entropies)
        gate_inputs.set_entropies(self.rows.first, self.rows.last, marginals, entropies)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One ordering: the mixing weights of its edges, and the marginals of its nodes."""

    dag: Dag
    mixing: Floats  # [E]
    marginals: Floats  # [N, L]


def marginals(
    scores: EdgeScores, dags: Sequence[Dag], workers: Workers, gate: Gate | None = None
) -> Floats:
    """The probability of each label at each token, the mean over the graphs. [N, L]

    With a ``gate`` there are two sweeps: it looks at what the parents are like after the first.
    """
    out = np.zeros((int(scores.dataset.edge_set.documents[-1]), scores.n_labels))

    def add(number: int, nodes: slice, mixing: Floats, block_marginals: Floats) -> None:
        out[nodes] += block_marginals

    _sweep(scores, dags, workers, gate, add)
    return out / len(dags)


def sweeps(
    scores: EdgeScores, dags: Sequence[Dag], workers: Workers, gate: Gate | None = None
) -> list[Sweep]:
    """The mixing weights and marginals of each graph by itself."""
    nodes = int(scores.dataset.edge_set.documents[-1])
    results = [
        Sweep(dag, dag.uniform_weights(), np.empty((nodes, scores.n_labels))) for dag in dags
    ]

    def keep(number: int, nodes: slice, mixing: Floats, block_marginals: Floats) -> None:
        edges = slice(*dags[number].indptr[[nodes.start, nodes.stop]])
        results[number].mixing[edges] = mixing[edges]
        results[number].marginals[nodes] = block_marginals

    _sweep(scores, dags, workers, gate, keep)
    return results


def _sweep(
    scores: EdgeScores,
    dags: Sequence[Dag],
    workers: Workers,
    gate: Gate | None,
    take: Callable[[int, slice, Floats, Floats], None],
) -> None:
    """Sweep over all documents in all graphs; ``take`` gets the results, block by block."""
    dataset = scores.dataset
    tables = pair_tables(scores.tables)
    documents = dataset.edge_set.documents
    graphs = [mixture_edges(dag) for dag in dags]
    gate_inputs = [GateInputs.of(dag, dataset.edge_set.corpus) for dag in dags] if gate else []
    marginals = np.empty((int(documents[-1]), scores.n_labels))

    def run(block: tuple[int, int]) -> None:
        first, last = documents[list(block)].tolist()
        scored = ScoredBlock.of(scores, block, tables)
        for number, edges in enumerate(graphs):
            scored.sweep(edges, marginals)
            if gate is not None:
                scored.set_entropies(edges, gate_inputs[number], marginals)
                edges.weights[gate_inputs[number].edges(first, last)] = gate.mixing(
                    gate_inputs[number], first, last
                )
                scored.sweep(edges, marginals)
            take(number, slice(first, last), edges.weights, marginals[first:last])

    workers.map(run, dataset.blocks())


def exact_marginals(
    dag: Dag,
    scores: Mapping[str, Floats],
    tables: Mapping[str, Floats],
    weights: Floats | None = None,
) -> Floats:
    """The exact marginals of a mixture of parents that was put together by hand. [N, L]

    By edge type: ``scores`` [R, L], one row an edge, and ``tables`` [L, L], the scores of label
    pairs [parent's, child's]. ``weights`` [E] are the mixing weights, which sum to one at each
    node; by default all parents have the same.

    >>> dag = Dag.of_parents([[], [0], [0, 1]])
    >>> scores = {"edge": np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])}
    >>> exact_marginals(dag, scores, {"edge": np.array([[1.0, 0.0], [0.0, 1.0]])}).round(2)
    array([[0.88, 0.12],
           [0.68, 0.32],
           [0.52, 0.48]])
    """
    counts = np.bincount(dag.edge_types, minlength=len(dag.names))
    for type_id, name in enumerate(dag.names):
        for what, by_type in (("scores", scores), ("tables", tables)):
            if counts[type_id] and name not in by_type:
                raise SkipchainError(f"there are no {what} of edges of type {name!r}")
    size = next(iter(tables.values())).shape[-1]
    rows: list[Floats] = []
    logs = np.zeros((len(dag.names), size, size))
    bases = np.zeros(len(dag.names), np.int64)
    for type_id, name in enumerate(dag.names):
        edge_scores = np.asarray(scores.get(name, np.zeros((0, size))), np.float64)
        wanted = int(dag.rows[dag.edge_types == type_id].max(initial=-1)) + 1
        if edge_scores.ndim != 2 or edge_scores.shape[1] != size or len(edge_scores) < wanted:
            raise SkipchainError(
                f"scores of edges of type {name!r} must be [{wanted}, {size}], got "
                f"{edge_scores.shape}"
            )
        bases[type_id] = -sum(map(len, rows))
        rows.append(edge_scores)
        logs[type_id] = tables.get(name, 0.0)
    block = block_scores((0, dag.n_nodes), bases, np.concatenate(rows), pair_tables(logs))
    out = np.empty((dag.n_nodes, size))
    sweep(block, mixture_edges(dag, weights), out)
    return out
