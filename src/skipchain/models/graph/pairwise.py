"""Linked data as an undirected graph: the scores of tokens, of pairs, and what is believed then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints
from skipchain.models.graph.belief import Beliefs, PairwiseGraph, Sending, propagate
from skipchain.models.graph.dataset import Linked
from skipchain.models.graph.edges import EdgeScores
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class Scores:
    """The log scores of an undirected graph, as `propagate` takes them."""

    node: Floats  # [N, L]
    tables: Floats  # [M, L, L] by the number of the kind
    agree: Floats  # [A, L]


@dataclass(frozen=True, slots=True)
class Undirected:
    """All pairs of the kinds of edges that have rows, whatever the direction.

    A chain's rows are the scores of its tokens. The rows of every other kind say how well its pairs
    agree: they count where both tokens have the same label.

    >>> from skipchain.corpus import Corpus
    >>> from skipchain.features.matrix import Rows, Sparse
    >>> from skipchain.edges import Relations, parse_rules
    >>> corpus = Corpus.of([["Ada", "met", "Bo"], ["Bo", "slept"]])
    >>> rows = Rows(Sparse.empty(5), Sparse.empty(0), Sparse.empty(5), 0)
    >>> relations = Relations.of(corpus, parse_rules("previous, same_word"))
    >>> edges = {"previous": rows, "same_word": rows.take(np.array([2]))}
    >>> found = Undirected.of(Linked(rows, relations, edges))
    >>> found.graph.ends.tolist(), found.skips
    ([[0, 1], [1, 2], [3, 4], [2, 3]], {'same_word': slice(0, 1, None)})
    """

    graph: PairwiseGraph
    tokens: Ints  # [N] the token of each node
    node: str | None
    """The kind whose rows are the scores of tokens; None: there are no such rows."""
    skips: Mapping[str, slice]
    """Where the rows of every other kind stand among those of agreeing edges."""

    @classmethod
    def of(cls, linked: Linked, *, apart: bool = False) -> Undirected:
        """One graph for each document or, with ``apart``, for each pair by itself.

        In the latter the rows of tokens have no part.
        """
        relations = {kind: linked.of_kind(kind)[0] for kind in linked.edges}
        skips, size = {}, 0
        for kind, relation in relations.items():
            if not relation.rule.chain:
                skips[kind] = slice(size, size + len(relation.pairs))
                size += len(relation.pairs)
        counts = [len(relation.pairs) for relation in relations.values()]
        kinds = np.repeat([linked.number(kind) for kind in relations], counts)
        skipping = np.repeat([kind in skips for kind in relations], counts)
        ends = np.concatenate([relation.pairs for relation in relations.values()])
        node = next((kind for kind in relations if kind not in skips), None)
        documents = linked.relations.documents
        tokens = np.arange(documents[-1])
        if apart:
            node, tokens, documents = None, ends.ravel(), np.arange(0, 2 * len(ends) + 1, 2)
            ends = np.arange(len(tokens)).reshape(-1, 2)
        graph = PairwiseGraph.of(documents, ends, kinds, np.flatnonzero(skipping))
        return cls(graph, tokens, node, skips)

    def scores(self, scores: EdgeScores, workers: Workers, given: Floats | None = None) -> Scores:
        """The scores of nodes and edges, from those of rows.

        Without rows of tokens, ``given`` [N, L] are the scores of these, or else they are zero.
        """
        tables = scores.tables
        if self.node is not None:
            node = scores.rows(self.node, workers)
        elif given is not None:
            node = given[self.tokens]
        else:
            node = np.zeros((len(self.tokens), tables.shape[1]))
        agree = [node[:0], *(scores.rows(kind, workers) for kind in self.skips)]
        return Scores(node, tables, np.concatenate(agree))

    def propagate(
        self,
        scores: Scores,
        sending: Sending,
        workers: Workers,
        start: NDArray[np.int32] | None = None,
    ) -> Beliefs:
        """The beliefs under some scores; ``start`` as in `propagate`."""
        own = asdict(sending)
        return propagate(
            self.graph, scores.node, scores.tables, scores.agree, workers, start=start, **own
        )
