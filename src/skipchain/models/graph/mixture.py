"""Marginals of mixtures of parents, averaged over orderings, and labels from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.edges.dag import Dag
from skipchain.errors import SkipchainError
from skipchain.kernels.mixture import (
    MixtureEdges,
    PairTables,
    adjoint_sweep,
    edge_entropies,
    exponentials,
    pair_tables,
    sweep,
)
from skipchain.models.graph.edges import EdgeScores
from skipchain.models.graph.gate import Gate, GateInputs
from skipchain.parallel import Workers


def mixture_edges(dag: Dag, weights: Floats | None = None) -> MixtureEdges:
    """The graph as kernels take it; without ``weights`` parents count alike."""
    if weights is None:
        weights = dag.uniform_weights()
    else:
        dag.check_weights(weights)
    return MixtureEdges(dag.order, dag.indptr, dag.parents, dag.edge_types, dag.rows, weights)


@dataclass(frozen=True, slots=True)
class ScoredBlock:
    """Some documents with the scores of their edges, ready to be gone through in any order."""

    first: int
    last: int
    bases: Ints  # [M]
    scores: Floats  # [R, L]
    psi: Floats  # [R, L]
    norms: Floats  # [R, L]
    tables: PairTables
    places: Mapping[str, slice]

    @classmethod
    def of(cls, scores: EdgeScores, block: tuple[int, int], tables: PairTables) -> ScoredBlock:
        """The documents of a block."""
        first, last = scores.dataset.edge_set.documents[list(block)].tolist()
        node, bases, places = scores.block(block)
        psi = np.empty_like(node)
        exponentials(node, psi)
        return cls(first, last, bases, node, psi, np.empty_like(node), tables, places)

    def sweep(self, edges: MixtureEdges, marginals: Floats) -> None:
        """Write the marginals of the block's nodes. [N, L]"""
        sweep(
            self.first,
            self.last,
            edges,
            self.bases,
            self.scores,
            self.psi,
            self.tables,
            self.norms,
            marginals,
        )

    def set_entropies(
        self, edges: MixtureEdges, gate_inputs: GateInputs, marginals: Floats
    ) -> None:
        """Tell a gate what the last sweep found."""
        found = np.empty(len(edges.parents))
        edge_entropies(
            self.first,
            self.last,
            edges,
            self.bases,
            self.scores,
            self.psi,
            self.tables,
            self.norms,
            marginals,
            found,
        )
        gate_inputs.set_entropies(self.first, self.last, marginals, found)

    def adjoint(
        self,
        edges: MixtureEdges,
        marginals: Floats,
        labels: Labels,
        share: float,
        scratch: Floats,
        residuals: Floats,
        pairs: Floats,
        mixing: Floats,
    ) -> float:
        """The loss −share · Σ log p_k(y_k) after a sweep, and its gradient; see the kernel."""
        return float(
            adjoint_sweep(
                self.first,
                self.last,
                edges,
                self.bases,
                self.scores,
                self.psi,
                self.tables,
                self.norms,
                marginals,
                labels,
                share,
                scratch,
                residuals,
                pairs,
                mixing,
            )
        )


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one ordering says: the mixing weights of its edges, and the marginals of its nodes."""

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

    def add(number: int, nodes: slice, mixing: Floats, own: Floats) -> None:
        out[nodes] += own

    _sweep(scores, dags, workers, gate, add)
    return out / len(dags)


def sweeps(
    scores: EdgeScores, dags: Sequence[Dag], workers: Workers, gate: Gate | None = None
) -> list[Sweep]:
    """What each graph says by itself."""
    nodes = int(scores.dataset.edge_set.documents[-1])
    found = [Sweep(dag, dag.uniform_weights(), np.empty((nodes, scores.n_labels))) for dag in dags]

    def keep(number: int, nodes: slice, mixing: Floats, own: Floats) -> None:
        edges = slice(*dags[number].indptr[[nodes.start, nodes.stop]])
        found[number].mixing[edges] = mixing[edges]
        found[number].marginals[nodes] = own

    _sweep(scores, dags, workers, gate, keep)
    return found


def _sweep(
    scores: EdgeScores,
    dags: Sequence[Dag],
    workers: Workers,
    gate: Gate | None,
    take: Callable[[int, slice, Floats, Floats], None],
) -> None:
    """Go through all documents in all graphs; ``take`` gets what was found, part by part."""
    dataset = scores.dataset
    tables = pair_tables(scores.tables)
    documents = dataset.edge_set.documents
    graphs = [mixture_edges(dag) for dag in dags]
    gate_inputs = [GateInputs.of(dag, dataset.edge_set.corpus) for dag in dags] if gate else []
    own = np.empty((int(documents[-1]), scores.n_labels))

    def run(block: tuple[int, int]) -> None:
        first, last = documents[list(block)].tolist()
        scored = ScoredBlock.of(scores, block, tables)
        for number, edges in enumerate(graphs):
            scored.sweep(edges, own)
            if gate is not None:
                scored.set_entropies(edges, gate_inputs[number], own)
                edges.weights[gate_inputs[number].edges(first, last)] = gate.mixing(
                    gate_inputs[number], first, last
                )
                scored.sweep(edges, own)
            take(number, slice(first, last), edges.weights, own[first:last])

    workers.map(run, dataset.blocks())


def exact_marginals(
    dag: Dag,
    scores: Mapping[str, Floats],
    tables: Mapping[str, Floats],
    weights: Floats | None = None,
) -> Floats:
    """The exact marginals of a mixture of parents that was put together by hand. [N, L]

    By kind of edge: ``scores`` [R, L], one row an edge, and ``tables`` [L, L], the scores of label
    pairs [parent's, child's]. ``weights`` [E] are the mixing weights, which sum to one at each
    node; without them parents count alike.

    >>> dag = Dag.of_parents([[], [0], [0, 1]])
    >>> said = {"edge": np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])}
    >>> exact_marginals(dag, said, {"edge": np.array([[1.0, 0.0], [0.0, 1.0]])}).round(2)
    array([[0.88, 0.12],
           [0.68, 0.32],
           [0.52, 0.48]])
    """
    counts = np.bincount(dag.edge_types, minlength=len(dag.names))
    for kind, name in enumerate(dag.names):
        for what, given in (("scores", scores), ("tables", tables)):
            if counts[kind] and name not in given:
                raise SkipchainError(f"there are no {what} of edges of kind {name!r}")
    size = next(iter(tables.values())).shape[-1]
    rows: list[Floats] = []
    logs = np.zeros((len(dag.names), size, size))
    bases = np.zeros(len(dag.names), np.int64)
    for kind, name in enumerate(dag.names):
        own = np.asarray(scores.get(name, np.zeros((0, size))), np.float64)
        wanted = int(dag.rows[dag.edge_types == kind].max(initial=-1)) + 1
        if own.ndim != 2 or own.shape[1] != size or len(own) < wanted:
            raise SkipchainError(
                f"scores of edges of kind {name!r} must be [{wanted}, {size}], got {own.shape}"
            )
        bases[kind] = -sum(len(part) for part in rows)
        rows.append(own)
        logs[kind] = tables.get(name, 0.0)
    node = np.concatenate(rows)
    psi, norms, out = np.empty_like(node), np.empty_like(node), np.empty((dag.n_nodes, size))
    exponentials(node, psi)
    sweep(
        0, dag.n_nodes, mixture_edges(dag, weights), bases, node, psi, pair_tables(logs), norms, out
    )
    return out
