"""The fitted artefact of models whose labels depend on each other across a document."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.decode import renormalised
from skipchain.chains.from_marginals import DECODERS
from skipchain.chains.scorer import Weights
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.edges.ordering import Ordering
from skipchain.edges.relations import EdgeSet
from skipchain.edges.rules import Rule
from skipchain.errors import SkipchainError, SkipchainWarning
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.base.inputs import Input
from skipchain.models.base.marginal_model import MarginalModel
from skipchain.models.base.model import BEAM, Explained, Pair
from skipchain.models.base.summary import (
    chain_pairs,
    label_row,
    label_table,
    strongest_features,
    strongest_pairs,
)
from skipchain.models.graph import mixture
from skipchain.models.graph.belief import PropagationSettings
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.documents import check_linked_documents
from skipchain.models.graph.edges import EdgeModel, EdgeScores
from skipchain.models.graph.gate import FEATURES as GATE_FEATURES
from skipchain.models.graph.gate import Gate
from skipchain.models.graph.pairs import NO_PAIRS, LabelPairs
from skipchain.models.graph.pairwise import UndirectedGraph, best_labelling
from skipchain.parallel import Workers

VITERBI = "viterbi"
DECODERS_BY_KIND = {"skip-chain-crf": (*DECODERS, VITERBI)}
"""The decoders of kinds that have more than those that take marginals."""


@dataclass(slots=True)
class GraphScores:
    """A corpus with its edges, and the marginals of every token once they are asked for.

    Those of the documents ``unconverged`` are not to be trusted: the messages between their tokens
    did not come to rest. Where it ``warns``, that is told when the marginals are found.
    """

    dataset: GraphDataset
    warns: bool = False
    marginals: Floats | None = None  # [N, L]
    unconverged: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.dataset.offsets

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""
        return self.dataset.tokens.unknown


@dataclass(frozen=True, repr=False)
class GraphModel(MarginalModel[GraphDataset, GraphScores]):
    """What fitting a model of linked labels leaves, and what a model file holds.

    ``rules`` say which tokens are linked, and ``edge_models`` what each kind of edge has learnt.
    The ``kind`` decides how marginals follow from that. A mixture of parents has exact ones, for
    each of the ``orderings`` in which documents are gone through; they are averaged, and parents
    count alike unless there is a ``gate``. A skip-chain CRF sends messages (``propagation``), which
    gives exact marginals where a document has no loops, and an approximation elsewhere.
    """

    form = "graph"
    labels_documents_apart = True

    kind: str
    labels: tuple[str, ...]
    features: Vocabulary
    rules: tuple[Rule, ...]
    edge_models: Mapping[str, EdgeModel]
    orderings: tuple[Ordering, ...] = (Ordering(),)
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)
    gate: Gate | None = None
    propagation: PropagationSettings = field(default_factory=PropagationSettings)

    def dataset(self, given: Input, workers: Workers | None = None) -> GraphDataset:
        """The corpus encoded, with its edges."""
        if not isinstance(given, Corpus):
            raise SkipchainError(
                f"the model ({self.kind}) links the tokens of a document, so it takes a Corpus; "
                "Corpus.of(list_of_word_lists) makes one"
            )
        check_linked_documents(given, self.rules, self.summary.get("longest_document"))
        rows = self.features.encode(given, workers)
        return self.graph_dataset(rows, EdgeSet.of(given, self.rules))

    def graph_dataset(self, rows: FeatureMatrix, edge_set: EdgeSet) -> GraphDataset:
        """Encoded tokens with the features of their edges."""
        models = self.edge_models.items()
        ends = {name: own.edge_features for name, own in models}
        pairs = {name: own.pair_features for name, own in models if own.pair_features is not None}
        return GraphDataset.of(rows, edge_set, ends, pairs)

    @property
    def label_pairs(self) -> LabelPairs:
        """Which label pairs share weights, where features of edges go with two labels."""
        lines = self.features.templates.edge_templates
        pairing = next((line.pairing for line in lines if line.pairing), None)
        return NO_PAIRS if pairing is None else LabelPairs.of(self.labels, pairing)

    @property
    def edge_weights(self) -> dict[str, Weights]:
        """The weights of each edge type."""
        return {name: own.weights for name, own in self.edge_models.items()}

    def score_dataset(
        self, data: GraphDataset, workers: Workers, allowed: Bools | None = None
    ) -> GraphScores:
        """Encoded data, ready to be decoded."""
        return GraphScores(data)

    def edge_scores(self, data: GraphDataset, workers: Workers) -> EdgeScores:
        """The scores of the edges of encoded data."""
        return EdgeScores.of(data, self.edge_weights, workers, self.label_pairs)

    def scores(
        self, given: Input, workers: Workers, forced: Sequence[str | None] | None = None
    ) -> GraphScores:
        """The corpus encoded; its marginals come with a warning where they are doubtful."""
        if forced is not None:
            raise SkipchainError(
                f"the model ({self.kind}) cannot keep labels that are given: only chains can"
            )
        return GraphScores(self.dataset(given, workers), warns=True)

    def marginals(self, scores: GraphScores, workers: Workers) -> Floats:
        """The probability of each label at each token, found once. [N, L]"""
        if scores.marginals is None:
            edge_scores = self.edge_scores(scores.dataset, workers)
            scores.marginals, found = MARGINAL_INFERENCE[self.kind](self, edge_scores, workers)
            if scores.warns:
                self._warn_of_unconverged(found, scores)
            scores.unconverged = found
        return scores.marginals

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has by default."""
        return DECODERS_BY_KIND.get(self.kind, DECODERS)

    def decode(
        self, scores: GraphScores, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding; warns where `VITERBI` did not converge."""
        if decoder != VITERBI:
            return super().decode(scores, workers, decoder, beam)
        self.check_decoder(decoder, beam)
        edge_scores = self.edge_scores(scores.dataset, workers)
        best = best_labelling(edge_scores, self.constraints, self.propagation, workers)
        self._warn_of_unconverged(self.propagation.unconverged(best), scores)
        return Column(frozen(best.labels), self.labels)

    def _warn_of_unconverged(self, documents: Ints, scores: GraphScores) -> None:
        documents = np.setdiff1d(documents, scores.unconverged)  # those have been told
        if len(documents):
            warnings.warn(
                f"in {len(documents)} of {scores.dataset.edge_set.corpus.n_documents} "
                f"documents, first in number {documents[0]}, the messages between labels "
                "did not come to rest, so their labels are doubtful; train with more damping or "
                "max_sweeps",
                SkipchainWarning,
                stacklevel=3,
            )

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return sum(own.weights.n_nonzero for own in self.edge_models.values())

    def with_weights(self, weights: Mapping[str, Weights]) -> GraphModel:
        """The model with weights learnt for some kinds of edges."""
        models = self.edge_models
        found = {kind: replace(models[kind], weights=own) for kind, own in weights.items()}
        return replace(self, edge_models={**models, **found})

    def pruned(self) -> GraphModel:
        """Without features whose weights are all zero; predictions stay the same."""
        lean = {kind: own.pruned() for kind, own in self.edge_models.items()}
        used = np.zeros(self.features.n_features, np.bool_)
        paired = np.zeros(self.features.n_edge_features, np.bool_)
        for own in lean.values():
            if own.edge_features is None:
                used |= own.weights.state.any(axis=1)
                paired |= own.weights.edges.any(axis=1)
            for ends in own.used:
                used[ends.child] = True
                used[ends.parent] = True
        if used.all() and paired.all():
            return replace(self, edge_models=lean)
        return replace(
            self,
            features=self.features.keep(used, paired),
            edge_models={kind: own.renumbered(used, paired) for kind, own in lean.items()},
        )

    # What it has learnt ------------------------------------------------------------------------

    def explain(
        self, given: Input, token: int | str, *, labels: Pair = None, threads: int | None = None
    ) -> Explained:
        """The tokens that a label comes from, and what their edges say."""
        from skipchain.models.graph.explain import explain_parents

        return explain_parents(self, given, token, labels=labels, threads=threads)

    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """The rules, the orderings, and what each edge type has learnt."""
        counts = self.summary.get("pairs", {})
        return {
            "rules": [{"rule": str(rule), "pairs": counts.get(str(rule))} for rule in self.rules],
            "orderings": [str(ordering) for ordering in self.orderings],
            "kinds": {name: self._edge_summary(name, top, labels) for name in self.edge_models},
        }

    def _edge_summary(self, edge_type: str, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """What one edge type has learnt; <start> and <end> are those of the sentence."""
        edge_model = self.edge_models[edge_type]
        weights, ends = edge_model.weights, edge_model.edge_features
        token = self.features.names()
        names = token if ends is None else ends.names(token)
        at = ["child"] * len(names) if ends is None else ends.ends
        transitions = label_table(self.labels, weights.transitions)
        for rule in self.rules:
            if rule.has_boundaries and edge_type in rule.edge_types:
                first, last = weights.start, weights.end
                if edge_type != rule.edge_types[0]:  # a chain that begins where the sentence ends
                    first, last = last, first
                transitions["<start>"] = label_row(self.labels, first)
                transitions["<end>"] = label_row(self.labels, last)
        summary: dict[str, Any] = {"features": len(names), "weights": weights.n_nonzero}
        summary.update(self._pair_summary(edge_type, top))
        if self.gate is not None:
            gate = self.gate.weights[edge_type].tolist()
            summary["gate"] = dict(zip(GATE_FEATURES, gate, strict=True))
        state = {label: weights.state[:, self.labels.index(label)] for label in labels}
        summary["labels"] = {
            label: {"features": strongest_features(column, names, top, at)}
            for label, column in state.items()
        }
        return {**summary, "transitions": transitions}

    def _pair_summary(self, edge_type: str, top: int) -> dict[str, Any]:
        """The features of one edge type that go with two labels: how many, and the strongest."""
        edge_model = self.edge_models[edge_type]
        pairs, table = edge_model.pair_features, edge_model.weights.edges
        if pairs is not None:
            names, labels = pairs.names(self.features.names()), self.label_pairs.names(self.labels)
            strongest = strongest_pairs(table, names, labels, top, pairs.ends)
        else:
            names = self.features.names(transition=True)
            forward = any(edge_type == rule.edge_types[0] for rule in self.rules)
            labels = chain_pairs(self.labels, "<start>" if forward else "<end>")
            strongest = strongest_pairs(table, names, labels, top, ["child"] * len(names))
        return {"pair_features": len(table), "pairs": strongest}


def _mixture_marginals(
    model: GraphModel, scores: EdgeScores, workers: Workers
) -> tuple[Floats, Ints]:
    """One sweep for each ordering."""
    dags = scores.dataset.dags(model.orderings)
    return mixture.marginals(scores, dags, workers, model.gate), np.zeros(0, np.int64)


def _propagated_marginals(
    model: GraphModel, scores: EdgeScores, workers: Workers
) -> tuple[Floats, Ints]:
    """Messages along all edges and back, until they rest."""
    graph = UndirectedGraph.of(scores.dataset)
    found = graph.propagate(graph.scores(scores, workers), model.propagation, workers)
    return renormalised(found.node), model.propagation.unconverged(found)


MarginalInference = Callable[[GraphModel, EdgeScores, Workers], tuple[Floats, Ints]]
MARGINAL_INFERENCE: Mapping[str, MarginalInference] = {
    "mop-memm": _mixture_marginals,
    "skip-chain-crf": _propagated_marginals,
}
"""How the marginals of each kind of model, and documents whose own are doubtful, are found."""
