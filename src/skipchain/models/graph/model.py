"""The fitted artefact of models whose labels depend on each other across a document."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.chains.from_marginals import DECODERS, best_labels
from skipchain.chains.scorer import Weights
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.edges.ordering import Ordering
from skipchain.edges.relations import Relations
from skipchain.edges.rules import Rule
from skipchain.errors import SkipchainError, SkipchainWarning
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.base.documents import check_documents
from skipchain.models.base.model import BEAM, Model
from skipchain.models.graph import mixture
from skipchain.models.graph.belief import Sending
from skipchain.models.graph.dataset import Linked
from skipchain.models.graph.edges import Conditional, EdgeScores
from skipchain.models.graph.gate import Gate
from skipchain.models.graph.pairwise import Undirected
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class Beliefs:
    """What a model of a graph says of a corpus: the marginals of every token.

    Those of the documents ``unsettled`` are not to be trusted: the messages between their tokens
    did not come to rest.
    """

    linked: Linked
    marginals: Floats  # [N, L]
    unsettled: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.linked.offsets

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""
        return self.linked.tokens.unknown


@dataclass(frozen=True)
class GraphModel(Model):
    """What fitting a model of linked labels leaves, and what a model file holds.

    ``rules`` say which tokens are linked, and ``conditionals`` what each kind of edge has learnt.
    The ``kind`` decides how marginals follow from that. A mixture of parents has exact ones, for
    each of the ``orderings`` in which documents are gone through; they are averaged, and parents
    count alike unless there is a ``gate``. A skip-chain CRF sends messages (``sending``), which
    gives exact marginals where a document has no loops, and an approximation elsewhere.
    """

    form = "graph"

    kind: str
    labels: tuple[str, ...]
    features: Vocabulary
    rules: tuple[Rule, ...]
    conditionals: Mapping[str, Conditional]
    orderings: tuple[Ordering, ...] = (Ordering(),)
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)
    gate: Gate | None = None
    sending: Sending = field(default_factory=Sending)

    def dataset(self, given: Corpus | Sequence[Any], workers: Workers | None = None) -> Linked:
        """The corpus encoded, with its edges."""
        if not isinstance(given, Corpus):
            raise SkipchainError(
                f"the model ({self.kind}) links the tokens of a document, so it takes a Corpus; "
                "Corpus.of(list_of_word_lists) makes one"
            )
        check_documents(given, self.rules, self.summary.get("longest_document"))
        ends = {kind: own.ends for kind, own in self.conditionals.items()}
        rows = self.features.encode(given, workers)
        return Linked.of(rows, Relations.of(given, self.rules), ends)

    def scored(self, data: Linked, workers: Workers) -> Beliefs:
        """The marginals of encoded data."""
        return ENGINES[self.kind](self, self.edge_scores(data, workers), workers)

    def edge_scores(self, data: Linked, workers: Workers) -> EdgeScores:
        """The scores of the edges of encoded data."""
        weights = {kind: own.weights for kind, own in self.conditionals.items()}
        return EdgeScores.of(data, weights, workers)

    def scores(
        self,
        given: Corpus | Sequence[Any],
        workers: Workers,
        forced: Sequence[str | None] | None = None,
    ) -> Beliefs:
        """The corpus encoded, and the marginals of its tokens; warns where they are doubtful."""
        if forced is not None:
            raise SkipchainError(
                f"the model ({self.kind}) cannot keep labels that are given: only chains can"
            )
        found = self.scored(self.dataset(given, workers), workers)
        if len(found.unsettled):
            warnings.warn(
                f"in {len(found.unsettled)} of {found.linked.relations.corpus.n_documents} "
                f"documents, first in number {found.unsettled[0]}, the messages between labels did "
                "not come to rest, so their labels are doubtful; train with more damping or "
                "max_sweeps",
                SkipchainWarning,
                stacklevel=2,
            )
        return found

    def decode(
        self, scores: Beliefs, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""
        decoder = decoder or self.decoders[0]
        self.check_decoder(decoder, beam)
        codes = best_labels(scores.marginals, scores.offsets, self.constraints, decoder, workers)
        return Column(frozen(codes), self.labels)

    def marginals(self, scores: Beliefs, workers: Workers) -> Floats:
        """The probability of each label at each token, exact or not (see above). [N, L]"""
        return scores.marginals

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has unless told."""
        return DECODERS

    @property
    def exact(self) -> bool:
        """Never: at best single labels have their exact probabilities."""
        return False

    @property
    def active(self) -> int:
        """How many weights are not zero."""
        return sum(own.weights.active for own in self.conditionals.values())

    def filled(self, weights: Mapping[str, Weights]) -> GraphModel:
        """The model with weights learnt for some kinds of edges."""
        found = {
            kind: replace(self.conditionals[kind], weights=own) for kind, own in weights.items()
        }
        return replace(self, conditionals={**self.conditionals, **found})

    def pruned(self) -> GraphModel:
        """Without features whose weights are all zero; predictions stay the same."""
        lean = {kind: own.pruned() for kind, own in self.conditionals.items()}
        used = np.zeros(self.features.n_features, np.bool_)
        for own in lean.values():
            if own.ends is None:
                used |= own.weights.state.any(axis=1)
            else:
                used[own.ends.child] = True
                used[own.ends.parent] = True
        if used.all():
            return replace(self, conditionals=lean)
        none = np.zeros(self.features.n_edge_features, np.bool_)
        return replace(
            self,
            features=self.features.keep(used, none),
            conditionals={kind: own.renumbered(used) for kind, own in lean.items()},
        )


def _by_mixture(model: GraphModel, scores: EdgeScores, workers: Workers) -> Beliefs:
    """One sweep for each ordering."""
    dags = scores.linked.dags(model.orderings)
    return Beliefs(scores.linked, mixture.marginals(scores, dags, workers, model.gate))


def _by_messages(model: GraphModel, scores: EdgeScores, workers: Workers) -> Beliefs:
    """Messages along all edges and back, until they rest."""
    graph = Undirected.of(scores.linked)
    found = graph.propagate(graph.scores(scores, workers), model.sending, workers)
    return Beliefs(scores.linked, found.node, model.sending.unsettled(found))


Engine = Callable[[GraphModel, EdgeScores, Workers], Beliefs]
ENGINES: Mapping[str, Engine] = {"mop-memm": _by_mixture, "skip-chain-crf": _by_messages}
"""How the marginals of each kind of model are found."""
