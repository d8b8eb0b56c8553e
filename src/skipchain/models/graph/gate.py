"""Gates: mixing weights that depend on the edges, instead of one share for each parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.corpus import Corpus
from skipchain.edges.dag import Dag

FEATURES = ("kind", "parents", "distance", "preceding", "entropy", "doubt")
"""What a gate looks at: the edge type (one), the logarithm of the number of parents, that of the
distance, whether the words before both ends are the same, the entropy of the parent's marginal, and
the entropy of what the edge says of its child."""
PARENT_ENTROPY, EDGE_ENTROPY = FEATURES.index("entropy"), FEATURES.index("doubt")


@dataclass(frozen=True, slots=True)
class GateInputs:
    """What a gate knows of each edge of one graph.

    Entropies are those after a sweep with equal weights.
    """

    dag: Dag
    values: Floats  # [E, 6]

    @classmethod
    def of(cls, dag: Dag, corpus: Corpus) -> GateInputs:
        """With all entropies zero yet."""
        children, parents = dag.children, dag.parents
        linked = parents >= 0
        values = np.zeros((dag.n_edges, len(FEATURES)))
        values[:, 0] = 1.0
        counts = np.diff(dag.indptr)
        values[:, 1] = np.log(np.repeat(counts, counts))
        values[linked, 2] = np.log(np.abs(children - parents)[linked])
        words = np.append(-1, corpus.words.codes[:-1]) if corpus.n_tokens else np.zeros(0, int)
        words[corpus.sentences[:-1][np.diff(corpus.sentences) > 0]] = -1
        values[linked, 3] = words[children[linked]] == words[parents[linked]]
        return cls(dag, values)

    def edges(self, first: int, last: int) -> slice:
        """The edges of nodes ``first … last − 1``."""
        return slice(int(self.dag.indptr[first]), int(self.dag.indptr[last]))

    def set_entropies(
        self, first: int, last: int, marginals: Floats, edge_entropies: Floats
    ) -> None:
        """Set the entropies of the edges of nodes ``first … last − 1``. [N, L], [E]"""
        edges = self.edges(first, last)
        probabilities = np.maximum(marginals[first:last], np.finfo(np.float64).tiny)
        entropy = np.append(-(probabilities * np.log(probabilities)).sum(axis=1), 0.0)
        parents = self.dag.parents[edges]
        self.values[edges, PARENT_ENTROPY] = entropy[np.where(parents < 0, last, parents) - first]
        self.values[edges, EDGE_ENTROPY] = edge_entropies[edges]


@dataclass(frozen=True, slots=True)
class Gate:
    """α_e ∝ exp(Σ_n w[type of e, n] · φ_n(e)) among the edges of each node.

    ``weights`` gives each edge type one number per entry of `FEATURES`.
    """

    weights: Mapping[str, Floats]

    @classmethod
    def zeros(cls, edge_types: Mapping[str, object]) -> Gate:
        """The gate that gives all parents the same weight."""
        return cls({edge_type: np.zeros(len(FEATURES)) for edge_type in edge_types})

    def table(self, names: tuple[str, ...]) -> Floats:
        """The weights by edge type. [M, 6]"""
        table = np.zeros((len(names), len(FEATURES)))
        for edge_type, weights in self.weights.items():
            table[names.index(edge_type)] = weights
        return table

    def mixing(self, gate_inputs: GateInputs, first: int, last: int) -> Floats:
        """The mixing weights of the edges of nodes ``first … last − 1``."""
        return mixing_weights(self.table(gate_inputs.dag.names), gate_inputs, first, last)


def mixing_weights(table: Floats, gate_inputs: GateInputs, first: int, last: int) -> Floats:
    """The softmax of the gate's scores among the edges of each node."""
    dag, edges = gate_inputs.dag, gate_inputs.edges(first, last)
    logits = (table[dag.edge_types[edges]] * gate_inputs.values[edges]).sum(axis=1)
    starts = dag.indptr[first:last] - edges.start
    counts = np.diff(dag.indptr[first : last + 1])
    odds: Floats = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts), counts))
    sums: Floats = np.repeat(np.add.reduceat(odds, starts), counts)
    return odds / sums
