"""Scores of edges: what one kind of edge says of its child, given the parent's label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.scorer import Weights, unit_sums
from skipchain.kernels.gather import gather
from skipchain.models.graph.dataset import Linked
from skipchain.models.graph.edge_features import Ends
from skipchain.parallel import Workers, blocks

ROW_ENTRIES = 1 << 16  # index entries of the rows that one thread scores at a time


@dataclass(frozen=True, slots=True)
class Conditional:
    """p(label of the child | label of one parent, input) for one kind of edge.

    ``weights.state`` goes with the features that ``ends`` names or, for chains (None), with all
    features of the child; ``weights.transitions`` [prev, cur] with the labels of parent and child.
    """

    weights: Weights
    ends: Ends | None = None

    def pruned(self) -> Conditional:
        """Without features of edges whose weights are all zero."""
        if self.ends is None:
            return self
        chosen = np.asarray(self.weights.state.any(axis=1))
        weights = replace(self.weights, state=self.weights.state[chosen])
        return Conditional(weights, self.ends.keep(chosen))

    def renumbered(self, features: Bools) -> Conditional:
        """For tokens that keep only the ``features`` [F]: no other may have weights."""
        if self.ends is None:
            return Conditional(replace(self.weights, state=self.weights.state[features]))
        return Conditional(self.weights, self.ends.renumbered(features))


@dataclass(frozen=True, slots=True)
class EdgeScores:
    """The scores of edges, block by block: weights of each kind, summed once for each unit."""

    linked: Linked
    weights: Mapping[str, Weights]
    units: Mapping[str, Floats]

    @classmethod
    def of(cls, linked: Linked, weights: Mapping[str, Weights], workers: Workers) -> EdgeScores:
        """For the kinds of edges that have rows."""
        units = {
            kind: unit_sums(rows, weights[kind].state, workers)
            for kind, rows in linked.edges.items()
        }
        return cls(linked, weights, units)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return next(iter(self.weights.values())).n_labels

    @property
    def tables(self) -> Floats:
        """The scores of label pairs by the number of the kind; zero for those without. [M, L, L]"""
        size = self.n_labels
        found = np.zeros((len(self.linked.relations.kinds), size, size))
        for kind, own in self.weights.items():
            found[self.linked.number(kind)] = own.transitions
        return found

    def rows(self, kind: str, workers: Workers) -> Floats:
        """The scores of all edges of one kind. [R, L]"""
        index = self.linked.edges[kind].tokens
        scores = np.empty((index.n_rows, self.weights[kind].n_labels))
        workers.map(
            lambda b: self._fill(kind, b[0], scores[slice(*b)]), blocks(index.indptr, ROW_ENTRIES)
        )
        return scores

    def block(self, block: tuple[int, int]) -> tuple[Floats, Ints, dict[str, slice]]:
        """The scores of the edges of some documents.

        Scores [R, L] of all kinds; by the number of the kind which of its rows would be the first
        of them [M]; and where the rows of each kind stand.
        """
        linked = self.linked
        bases = np.zeros(len(linked.relations.kinds), np.int64)
        places: dict[str, slice] = {}
        size = 0
        for kind in linked.edges:
            first, last = linked.row_offsets(kind)[list(block)].tolist()
            bases[linked.number(kind)] = first - size
            places[kind] = slice(size, size + last - first)
            size += last - first
        scores = np.empty((size, self.n_labels))
        for kind, place in places.items():
            self._fill(kind, int(linked.row_offsets(kind)[block[0]]), scores[place])
        return scores, bases, places

    def _fill(self, kind: str, first: int, out: Floats) -> None:
        rows, weights = self.linked.edges[kind].tokens, self.weights[kind]
        gather(
            rows.indptr[first : first + len(out) + 1],
            rows.indices,
            rows.values,
            weights.state,
            self.units[kind],
            out,
            0,
            len(out),
            False,
        )
        if self.linked.of_kind(kind)[0].rule.bounded:
            for tokens, scores in zip(
                self.linked.bounds(kind), (weights.start, weights.end), strict=True
            ):
                inside = tokens[(tokens >= first) & (tokens < first + len(out))]
                out[inside - first] += scores
