"""Gates: mixing weights that depend on the edges, instead of one share for each parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Corpus
from skipchain.graph.dag import Dag

Floats = NDArray[np.float64]

FEATURES = ("kind", "parents", "entropy", "distance", "preceding")
"""What a gate looks at: the kind of edge (one), the logarithm of the number of parents, the entropy
of the parent's marginal, the logarithm of the distance, and whether the words before both ends are
the same."""
ENTROPY = FEATURES.index("entropy")


@dataclass(frozen=True, slots=True)
class EdgeFacts:
    """What a gate knows of each edge of one graph.

    The entropies are those that parents have after a sweep with equal weights.
    """

    dag: Dag
    values: Floats  # [E, 5]

    @classmethod
    def of(cls, dag: Dag, corpus: Corpus) -> EdgeFacts:
        """With all entropies zero yet."""
        children, parents = dag.children, dag.parents
        linked = parents >= 0
        values = np.zeros((dag.n_edges, len(FEATURES)))
        values[:, 0] = 1.0
        counts = np.diff(dag.indptr)
        values[:, 1] = np.log(np.repeat(counts, counts))
        values[linked, 3] = np.log(np.abs(children - parents)[linked])
        words = np.append(-1, corpus.words.codes[:-1]) if corpus.n_tokens else np.zeros(0, int)
        words[corpus.sentences[:-1][np.diff(corpus.sentences) > 0]] = -1
        values[linked, 4] = words[children[linked]] == words[parents[linked]]
        return cls(dag, values)

    def fill(self, first: int, last: int, marginals: Floats) -> slice:
        """Set the entropies of the edges of nodes ``first … last − 1``, and say which they are."""
        edges = slice(int(self.dag.indptr[first]), int(self.dag.indptr[last]))
        own = np.maximum(marginals[first:last], np.finfo(np.float64).tiny)
        entropy = np.append(-(own * np.log(own)).sum(axis=1), 0.0)
        parents = self.dag.parents[edges]
        self.values[edges, ENTROPY] = entropy[np.where(parents < 0, last, parents) - first]
        return edges


@dataclass(frozen=True, slots=True)
class Gate:
    """α_e ∝ exp(Σ_n w[kind, n] · φ_n(e)) among the edges of each node.

    ``weights`` gives each kind of edge one number per entry of `FEATURES`.
    """

    weights: Mapping[str, Floats]

    @classmethod
    def zeros(cls, kinds: Mapping[str, object]) -> Gate:
        """The gate that gives all parents the same weight."""
        return cls({kind: np.zeros(len(FEATURES)) for kind in kinds})

    def table(self, names: tuple[str, ...]) -> Floats:
        """The weights by the number of the kind. [M, 5]"""
        found = np.zeros((len(names), len(FEATURES)))
        for kind, own in self.weights.items():
            found[names.index(kind)] = own
        return found

    def mixing(self, facts: EdgeFacts, edges: slice, first: int, last: int) -> Floats:
        """The mixing weights of the edges of nodes ``first … last − 1``."""
        return softmax(self.table(facts.dag.names), facts, edges, first, last)


def softmax(table: Floats, facts: EdgeFacts, edges: slice, first: int, last: int) -> Floats:
    """exp of each edge's weighted facts, divided by their sum at its node."""
    dag = facts.dag
    logits = (table[dag.kinds[edges]] * facts.values[edges]).sum(axis=1)
    starts = dag.indptr[first:last] - edges.start
    counts = np.diff(dag.indptr[first : last + 1])
    odds: Floats = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts), counts))
    sums: Floats = np.repeat(np.add.reduceat(odds, starts), counts)
    return odds / sums
