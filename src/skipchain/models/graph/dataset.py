"""Linked data: the encoded tokens of a corpus, and the features of every kind of edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skipchain.arrays import Ints
from skipchain.edges.dag import Dag
from skipchain.edges.ordering import Ordering
from skipchain.edges.relations import Relation, Relations
from skipchain.features.matrix import Rows
from skipchain.models.graph.edge_features import Ends
from skipchain.parallel import BLOCK_TOKENS, blocks


@dataclass(frozen=True, slots=True)
class Linked:
    """Tokens, what links them, and one set of rows per kind of edge.

    The row of an edge of a chain is that of its child among the tokens; other edges have rows of
    their own, one per pair of their relation, with the features of both ends.
    """

    tokens: Rows
    relations: Relations
    edges: Mapping[str, Rows] = field(default_factory=dict)

    @classmethod
    def of(cls, tokens: Rows, relations: Relations, ends: Mapping[str, Ends | None]) -> Linked:
        """With the rows of each kind; those of chains have no ``ends``."""
        found = {}
        for kind, own in ends.items():
            relation, along = cls(tokens, relations).of_kind(kind)
            if own is None:
                found[kind] = tokens
            else:
                found[kind] = own.rows(tokens, *relation.ends(along=along))
        return cls(tokens, relations, found)

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.relations.corpus.sentences

    def of_kind(self, kind: str) -> tuple[Relation, bool]:
        """The relation of a kind of edge, and whether the parent is the first of the pair."""
        number = self.relations.kinds.index(kind)
        return self.relations.relations[number // 2], number % 2 == 0

    def number(self, kind: str) -> int:
        """The number that a graph has for the kind."""
        return self.relations.kinds.index(kind)

    def n_rows(self, kind: str) -> int:
        """How many rows the edges of a kind have."""
        return int(self.row_offsets(kind)[-1])

    def row_offsets(self, kind: str) -> Ints:
        """Where the rows of each document begin. [D + 1]"""
        relation, _ = self.of_kind(kind)
        return self.relations.documents if relation.rule.chain else relation.offsets

    def dags(self, orderings: Sequence[Ordering]) -> list[Dag]:
        """The graph of each ordering, with edges of the kinds that have rows."""
        return [self.relations.dag(ordering, self.edges) for ordering in orderings]

    def blocks(self) -> list[tuple[int, int]]:
        """Runs of whole documents, for threads to work on."""
        return blocks(self.relations.documents, BLOCK_TOKENS)

    def bounds(self, kind: str) -> tuple[Ints, Ints]:
        """The tokens that begin and that end chains of a kind."""
        sentences = self.offsets
        filled = np.diff(sentences) > 0
        ends = sentences[:-1][filled], sentences[1:][filled] - 1
        return ends if self.of_kind(kind)[1] else ends[::-1]
