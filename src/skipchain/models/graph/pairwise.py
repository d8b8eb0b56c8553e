"""Graph datasets as undirected graphs: the scores of tokens and of pairs, and the beliefs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.chains.potentials import Constraints, Potentials, log_mask, require_paths
from skipchain.edges.rules import Previous
from skipchain.models.graph.belief import (
    Beliefs,
    BestLabelling,
    PairwiseGraph,
    PropagationSettings,
    max_product,
    propagate,
)
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edges import EdgeScores
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class PairwiseScores:
    """The log scores of an undirected graph, as `propagate` takes them."""

    node: Floats  # [N, L]
    tables: Floats  # [M, L, L] by edge type
    agree: Floats  # [A, L]


@dataclass(frozen=True, slots=True)
class UndirectedGraph:
    """All pairs of the edge types that have rows, whatever the direction.

    A chain's rows are the scores of its tokens. The rows of every other edge type say how well its
    pairs agree: they count where both tokens have the same label.

    >>> from skipchain.corpus import Corpus
    >>> from skipchain.features.matrix import CSRMatrix, FeatureMatrix
    >>> from skipchain.edges import EdgeSet, parse_rules
    >>> corpus = Corpus.of([["Ada", "met", "Bo"], ["Bo", "slept"]])
    >>> rows = FeatureMatrix(CSRMatrix.empty(5), CSRMatrix.empty(0), CSRMatrix.empty(5), 0)
    >>> edge_set = EdgeSet.of(corpus, parse_rules("previous, same_word"))
    >>> edges = {"previous": rows, "same_word": rows.take(np.array([2]))}
    >>> undirected = UndirectedGraph.of(GraphDataset(rows, edge_set, edges))
    >>> undirected.graph.ends.tolist(), undirected.agreement_rows
    ([[0, 1], [1, 2], [3, 4], [2, 3]], {'same_word': slice(0, 1, None)})
    """

    graph: PairwiseGraph
    tokens: Ints  # [N] the token of each node
    node: str | None
    """The edge type whose rows are the scores of tokens; None: there are no such rows."""
    agreement_rows: Mapping[str, slice]
    """Where the rows of every other edge type stand among those of agreeing edges."""

    @classmethod
    def of(cls, dataset: GraphDataset, *, piecewise: bool = False) -> UndirectedGraph:
        """One graph for each document or, with ``piecewise``, for each pair by itself.

        In the latter the rows of tokens have no part.
        """
        relations = {edge_type: dataset.edges_of_type(edge_type)[0] for edge_type in dataset.edges}
        agreement_rows, size = {}, 0
        for edge_type, relation in relations.items():
            if not relation.rule.is_chain:
                agreement_rows[edge_type] = slice(size, size + len(relation.pairs))
                size += len(relation.pairs)
        counts = [len(relation.pairs) for relation in relations.values()]
        type_ids = np.repeat([dataset.type_index(edge_type) for edge_type in relations], counts)
        skipping = np.repeat([edge_type in agreement_rows for edge_type in relations], counts)
        ends = np.concatenate([relation.pairs for relation in relations.values()])
        node = next((edge_type for edge_type in relations if edge_type not in agreement_rows), None)
        documents = dataset.edge_set.documents
        tokens = np.arange(documents[-1])
        if piecewise:
            node, tokens, documents = None, ends.ravel(), np.arange(0, 2 * len(ends) + 1, 2)
            ends = np.arange(len(tokens)).reshape(-1, 2)
        graph = PairwiseGraph.of(documents, ends, type_ids, np.flatnonzero(skipping))
        return cls(graph, tokens, node, agreement_rows)

    def scores(
        self, scores: EdgeScores, workers: Workers, given: Floats | None = None
    ) -> PairwiseScores:
        """The scores of nodes and edges, from those of rows.

        Without rows of tokens their scores are ``given`` [N, L], by default zero.
        """
        tables = scores.tables
        if self.node is not None:
            node = scores.rows(self.node, workers)
        elif given is not None:
            node = given[self.tokens]
        else:
            node = np.zeros((len(self.tokens), tables.shape[1]))
        agree = [node[:0], *(scores.rows(edge_type, workers) for edge_type in self.agreement_rows)]
        return PairwiseScores(node, tables, np.concatenate(agree))

    def propagate(
        self,
        scores: PairwiseScores,
        propagation: PropagationSettings,
        workers: Workers,
        start: Labels | None = None,
    ) -> Beliefs:
        """The beliefs under some scores; ``start`` as in `propagate`."""
        settings = asdict(propagation)
        return propagate(
            self.graph, scores.node, scores.tables, scores.agree, workers, start=start, **settings
        )


def best_labelling(
    scores: EdgeScores,
    constraints: Constraints | None,
    propagation: PropagationSettings,
    workers: Workers,
) -> BestLabelling:
    """The labelling of all documents that max-product finds, among those that are allowed.

    What constraints forbid belongs to the scores: that of neighbours to the table of chains or,
    where there are none, to edges of its own.
    """
    dataset = scores.dataset
    undirected = UndirectedGraph.of(dataset)
    pairwise = undirected.scores(scores, workers)
    graph, node, tables = undirected.graph, pairwise.node, pairwise.tables
    if constraints is not None:
        sentences = Potentials(node, tables[:0], dataset.offsets).constrained(constraints)
        node, forbidden = sentences.node, log_mask(constraints.pairs)[None]
        chain = undirected.node
        if chain is not None and dataset.edges_of_type(chain)[0].rule.has_boundaries:
            tables = tables.copy()
            tables[dataset.type_index(chain)] += forbidden[0]
        else:
            neighbours = Previous().pairs(dataset.edge_set.corpus)
            type_ids = np.append(graph.edge_types, np.full(len(neighbours), len(tables), np.int32))
            ends, tables = np.append(graph.ends, neighbours, 0), np.append(tables, forbidden, 0)
            graph = PairwiseGraph.of(graph.documents, ends, type_ids, graph.agreeing)
    best = max_product(graph, node, tables, pairwise.agree, workers, **asdict(propagation))
    require_paths(best.score, Potentials(node, tables[:0], graph.documents))
    return best
