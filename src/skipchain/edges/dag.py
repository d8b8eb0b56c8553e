"""A directed graph without cycles: the parents of every node, and an order to visit them in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels, offsets_of
from skipchain.errors import SkipchainError


@dataclass(frozen=True, slots=True, eq=False)
class Dag:
    """The parents of N nodes in compressed rows.

    Node k has the edges ``indptr[k] … indptr[k + 1] − 1``. Edge e comes from ``parents[e]``, or
    from nowhere (−1) where it begins a chain. Its type is ``edge_types[e]``, a number of one of
    ``names``, and its scores are row ``rows[e]`` among those of its type. In ``order`` parents come
    before children.

    >>> dag = Dag.of_parents([[], [0], [0, 1]])
    >>> dag.of(2)
    [(0, 'edge'), (1, 'edge')]
    """

    order: Ints  # [N]
    indptr: Ints  # [N + 1]
    parents: Ints  # [E]
    edge_types: Labels  # [E]
    rows: Ints  # [E]
    names: tuple[str, ...]

    @classmethod
    def from_edges(
        cls,
        order: Ints,
        children: Ints,
        parents: Ints,
        edge_types: Labels,
        rows: Ints,
        names: tuple[str, ...],
    ) -> Dag:
        """From edges in any order; those of one node stay in the order given."""
        by_child = np.argsort(children, kind="stable")
        indptr = offsets_of(np.bincount(children, minlength=len(order)))
        return cls(order, indptr, parents[by_child], edge_types[by_child], rows[by_child], names)

    @classmethod
    def of_parents(
        cls,
        parents: Sequence[Sequence[int]],
        edge_types: Sequence[Sequence[str]] | None = None,
        names: Sequence[str] = ("edge",),
        documents: Sequence[int] | None = None,
    ) -> Dag:
        """From the parents of each node (−1: none), and the type of each edge.

        Rows of scores are numbered through within each edge type. ``documents`` [N] forbids edges
        between nodes of different ones. A node without parents has the one parent −1.

        >>> Dag.of_parents([[1], [0]])
        Traceback (most recent call last):
        ...
        skipchain.errors.SkipchainError: the parents make a cycle: 0 → 1 → 0
        """
        lists = [list(listed) or [-1] for listed in parents]
        numbers = {name: k for k, name in enumerate(names)}
        if not numbers:
            raise SkipchainError("there is no edge type; give names, such as ('edge',)")
        if documents is not None and len(documents) != len(lists):
            raise SkipchainError(f"{len(lists)} nodes, but documents of {len(documents)}")
        for k, j in ((k, j) for k, listed in enumerate(lists) for j in listed):
            if not isinstance(j, (int, np.integer)):
                raise SkipchainError(f"node {k} has the parent {j!r}; wanted the number of a node")
            if not -1 <= j < len(lists):
                raise SkipchainError(
                    f"node {k} has the parent {j}, which is not there: there are {len(lists)} nodes"
                )
            if documents is not None and j >= 0 and documents[j] != documents[k]:
                raise SkipchainError(f"node {k} has the parent {j}, which is in another document")
        child = np.repeat(np.arange(len(lists)), [len(listed) for listed in lists])
        parent = np.array([j for listed in lists for j in listed], np.int64)
        type_ids = _edge_type_codes(lists, edge_types, numbers)
        rows = np.zeros(len(child), np.int64)
        for number in range(len(names)):
            same = type_ids == number
            rows[same] = np.arange(int(same.sum()))
        order = _topological(len(lists), child, parent)
        return cls.from_edges(order, child, parent, type_ids, rows, tuple(names))

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.order)

    @property
    def n_edges(self) -> int:
        """The number of edges, with those from nowhere."""
        return len(self.parents)

    @property
    def children(self) -> Ints:
        """The child of each edge. [E]"""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.indptr))

    def of(self, node: int) -> list[tuple[int, str]]:
        """The parents of a node, and the types of the edges."""
        edges = slice(self.indptr[node], self.indptr[node + 1])
        names = [self.names[number] for number in self.edge_types[edges].tolist()]
        return list(zip(self.parents[edges].tolist(), names, strict=True))

    def uniform_weights(self) -> Floats:
        """Mixing weights that are the same for all parents of a node. [E]"""
        counts = np.diff(self.indptr)
        return np.repeat(1.0 / np.maximum(counts, 1), counts)

    def check_weights(self, weights: Floats) -> None:
        """Refuse mixing weights [E] that are negative or do not sum to one at a node.

        >>> dag = Dag.of_parents([[], [0], [0, 1]])
        >>> dag.check_weights(np.array([1.0, 1.0, 0.5, 0.6]))
        Traceback (most recent call last):
        ...
        skipchain.errors.SkipchainError: the mixing weights of node 2 sum to 1.1, wanted 1: divide \
them by their sum
        """
        if weights.shape != (self.n_edges,):
            raise SkipchainError(f"{self.n_edges} edges, but mixing weights {weights.shape}")
        sums = np.bincount(self.children, weights, minlength=self.n_nodes)
        counts = np.diff(self.indptr)
        wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= 1e-6) & (counts > 0))  # NaN is wrong too
        if len(wrong):
            k = int(wrong[0])
            raise SkipchainError(
                f"the mixing weights of node {k} sum to {sums[k]:.6g}, wanted 1: divide them by "
                "their sum"
            )
        if (weights < 0).any():
            edge = int((weights < 0).argmax())
            raise SkipchainError(
                f"the mixing weight {weights[edge]:.6g} of node {self.children[edge]} is negative"
            )


def _edge_type_codes(
    parents: Sequence[Sequence[int]],
    edge_types: Sequence[Sequence[str]] | None,
    numbers: dict[str, int],
) -> Labels:
    if edge_types is None:
        return np.zeros(sum(map(len, parents)), np.int32)
    codes = []
    if len(edge_types) != len(parents):
        raise SkipchainError(f"{len(parents)} nodes, but edge types for {len(edge_types)}")
    for k, (node_parents, listed) in enumerate(zip(parents, edge_types, strict=True)):
        if len(listed) != len(node_parents):
            raise SkipchainError(
                f"node {k} has {len(node_parents)} parents, but {len(listed)} edge types"
            )
        for name in listed:
            if name not in numbers:
                raise SkipchainError(
                    f"node {k}: there is no edge type {name!r}; there are {', '.join(numbers)}"
                )
            codes.append(numbers[name])
    return np.array(codes, np.int32)


def _topological(size: int, child: Ints, parent: Ints) -> Ints:
    """Nodes with parents first; those that could come next in the order of their numbers."""
    waiting = np.bincount(child[parent >= 0], minlength=size)
    after: list[list[int]] = [[] for _ in range(size)]
    for k, j in zip(child.tolist(), parent.tolist(), strict=True):
        if j >= 0:
            after[j].append(k)
    ready = np.flatnonzero(waiting == 0).tolist()
    order = []
    for node in ready:  # grows on the way
        order.append(node)
        for k in after[node]:
            waiting[k] -= 1
            if waiting[k] == 0:
                ready.append(k)
    if len(order) < size:
        raise SkipchainError(f"the parents make a cycle: {_cycle(child, parent, waiting)}")
    return np.array(order, np.int64)


def _cycle(child: Ints, parent: Ints, waiting: Ints) -> str:
    """One cycle among the nodes that wait for each other, written out."""
    before = {
        k: j
        for k, j in zip(child.tolist(), parent.tolist(), strict=True)
        if j >= 0 and waiting[j] > 0 and waiting[k] > 0
    }
    node, seen = next(k for k in before), []
    while node not in seen:
        seen.append(node)
        node = before[node]
    loop = [*seen[seen.index(node) :], node]
    if len(loop) > 8:
        return " → ".join([*map(str, loop[:6]), "…", str(node)])
    return " → ".join(map(str, loop))
