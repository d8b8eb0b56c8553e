"""Graph datasets: the encoded tokens of a corpus, and the features of every edge type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from skipchain.arrays import Ints
from skipchain.edges.dag import Dag
from skipchain.edges.ordering import Ordering
from skipchain.edges.relations import EdgeSet, RuleEdges
from skipchain.features.matrix import FeatureMatrix
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.parallel import BLOCK_TOKENS, blocks


@dataclass(frozen=True, slots=True)
class GraphDataset:
    """Tokens, the edge set that links them, and one set of rows per edge type.

    The row of an edge of a chain is that of its child among the tokens; other edges have rows of
    their own, one per pair of their rule, with the features of both ends. ``pairs`` are the
    features of edges that go with the labels of both ends, where an edge type has any.
    """

    tokens: FeatureMatrix
    edge_set: EdgeSet
    edges: Mapping[str, FeatureMatrix] = field(default_factory=dict)
    pairs: Mapping[str, FeatureMatrix] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        tokens: FeatureMatrix,
        edge_set: EdgeSet,
        ends: Mapping[str, EdgeFeatures | None],
        pairs: Mapping[str, EdgeFeatures] | None = None,
    ) -> GraphDataset:
        """With the rows of each edge type; chains have no features of ``ends``."""
        plain = cls(tokens, edge_set)

        def encode(edge_type: str, features: EdgeFeatures | None) -> FeatureMatrix:
            if features is None:
                return tokens
            return features.encode(tokens, *plain.endpoints(edge_type), edge_set.corpus)

        rows, paired = (
            {edge_type: encode(edge_type, own) for edge_type, own in some.items()}
            for some in (ends, pairs or {})
        )
        return cls(tokens, edge_set, rows, paired)

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.edge_set.corpus.sentences

    def edges_of_type(self, edge_type: str) -> tuple[RuleEdges, bool]:
        """The edges of a type, and whether the parent is the first of each pair."""
        number = self.edge_set.edge_types.index(edge_type)
        return self.edge_set.by_rule[number // 2], number % 2 == 0

    def endpoints(self, edge_type: str) -> tuple[Ints, Ints]:
        """The children and the parents of the pairs of an edge type."""
        edges, first_is_parent = self.edges_of_type(edge_type)
        return edges.endpoints(first_is_parent=first_is_parent)

    def type_index(self, edge_type: str) -> int:
        """The number that a graph has for an edge type."""
        return self.edge_set.edge_types.index(edge_type)

    def n_rows(self, edge_type: str) -> int:
        """How many rows the edges of a type have."""
        return int(self.row_offsets(edge_type)[-1])

    def row_offsets(self, edge_type: str) -> Ints:
        """Where the rows of each document begin. [D + 1]"""
        relation, _ = self.edges_of_type(edge_type)
        return self.edge_set.documents if relation.rule.is_chain else relation.offsets

    def dags(self, orderings: Sequence[Ordering]) -> list[Dag]:
        """The graph of each ordering, with edges of the types that have rows."""
        return [self.edge_set.dag(ordering, self.edges) for ordering in orderings]

    def blocks(self) -> list[tuple[int, int]]:
        """Runs of whole documents, for threads to work on."""
        return blocks(self.edge_set.documents, BLOCK_TOKENS)

    def chain_bounds(self, edge_type: str) -> tuple[Ints, Ints]:
        """The tokens that begin and that end chains of an edge type."""
        sentences = self.offsets
        filled = np.diff(sentences) > 0
        ends = sentences[:-1][filled], sentences[1:][filled] - 1
        return ends if self.edges_of_type(edge_type)[1] else ends[::-1]
