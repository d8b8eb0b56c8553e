"""The fitted artefact of a chain model with factors across documents beside it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels, concat_ranges
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.chains.scores import ChainScores
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.corpus.schemes import Spans
from skipchain.errors import SkipchainError, SkipchainWarning
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.base.documents import check_document_boundaries
from skipchain.models.base.inputs import Features, Input
from skipchain.models.base.model import BEAM, AnyModel, Explained, Model, Pair
from skipchain.models.chain.model import ChainModel
from skipchain.models.document import annealing
from skipchain.models.document.annealing import TOKEN, Annealing
from skipchain.models.document.candidate_graph import CandidateGraph, LabelTypes
from skipchain.models.document.candidates import (
    CandidateLimits,
    Candidates,
    all_fixed,
    find_candidates,
)
from skipchain.models.document.factors.base import SpanFactor
from skipchain.models.document.factors.consistency import Consistency
from skipchain.models.document.factors.python import PythonFactor
from skipchain.models.document.python_factors import anneal_with_python_factors
from skipchain.models.document.token_gibbs import (
    TokenGraph,
    anneal_tokens,
    sample_token_probabilities,
)
from skipchain.models.document.twopass import two_pass
from skipchain.parallel import Workers

GIBBS, ICM, MEAN_FIELD, TWO_PASS = DECODERS = "gibbs", "icm", "mean-field", "two-pass"
BURN_IN = 50  # sweeps before those that probabilities are taken from
WITHOUT_FACTORS = (
    "; or label sentence by sentence, in a fraction of the time: --decoder viterbi "
    "(decoder='viterbi')"
)


@dataclass(frozen=True, slots=True)
class DocumentDataset:
    """A corpus, and how the chain model encodes it."""

    corpus: Corpus
    chain: Dataset

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.chain.offsets


@dataclass(slots=True)
class DocumentScores:
    """A corpus as a chain model scores it, with what factors make of it once they are asked."""

    corpus: Corpus
    chain: ChainScores
    candidate_graph: CandidateGraph | None = None
    probabilities: Floats | None = None
    token_graph: TokenGraph | None = None
    token_probabilities: tuple[Ints, Floats, Floats] | None = None

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.chain.offsets

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""
        return self.chain.unknown


@dataclass(frozen=True, repr=False)
class FactoredModel(Model[DocumentDataset, DocumentScores]):
    """A chain model times factors: p(y | x) ∝ p_chain(y | x) Π exp(what factors add to y).

    Factors are about whole documents: names keep their type, times agree. Sentences are decoded
    together, by sampling by default. ``candidate_limits`` says which labels of the chain
    model are taken for certain, and ``annealing`` how is sampled.
    """

    form = "document"

    kind: str
    labels: tuple[str, ...]
    features: Features
    base: ChainModel
    factors: tuple[SpanFactor, ...]
    python_factors: tuple[PythonFactor, ...] = ()
    candidate_limits: CandidateLimits = field(default_factory=CandidateLimits)
    annealing: Annealing = field(default_factory=Annealing)
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)
    extra_types: tuple[str, ...] = ()
    """Types that factors are about though no label has them."""

    @classmethod
    def from_chain(
        cls,
        base: AnyModel,
        factors: Sequence[SpanFactor | PythonFactor],
        candidate_limits: CandidateLimits | None = None,
        annealing: Annealing | None = None,
        summary: Mapping[str, Any] | None = None,
        extra_types: Sequence[str] = (),
    ) -> FactoredModel:
        """Factors beside a chain model; they may be about ``extra_types`` types than it has.

        A factor of the user's own (see `skipchain.models.document.factors.PythonFactor`) is asked
        in Python, token by token, which is slow; it is not kept in a model file.
        """
        if not isinstance(base, ChainModel) or not base.plain or not base.probabilistic:
            features = base.features
            templates = features.templates if isinstance(features, Vocabulary) else None
            message = further_labels_message(templates)
            raise SkipchainError(message or not_a_chain_message(base.kind, base.order))
        if base.encoding is None or "O" not in base.labels:
            raise SkipchainError(
                "factors are about spans among other words, and the model's labels mark none"
            )
        own = tuple(factor for factor in factors if isinstance(factor, PythonFactor))
        compiled = tuple(factor for factor in factors if not isinstance(factor, PythonFactor))
        shared = ("labels", "features", "scheme", "encoding", "constrained")
        found = cls(
            kind="factored",
            base=base,
            factors=compiled,
            python_factors=own,
            candidate_limits=candidate_limits or CandidateLimits(),
            annealing=annealing or Annealing(),
            summary=base.summary if summary is None else summary,
            extra_types=tuple(extra_types),
            **{name: getattr(base, name) for name in shared},
        )
        for factor in compiled:
            factor.check(found.label_types.types)
        return found

    @cached_property
    def label_types(self) -> LabelTypes:
        """The labels and their types."""
        assert self.encoding is not None
        return LabelTypes.of(self.labels, self.encoding, self.extra_types)

    def dataset(self, given: Any, workers: Workers | None = None) -> DocumentDataset:
        """The corpus, and how the chain model encodes it."""
        corpus = self._checked(given)
        return DocumentDataset(corpus, self.base.dataset(corpus, workers))

    def scores(
        self, given: Any, workers: Workers, forced: Sequence[str | None] | None = None
    ) -> DocumentScores:
        """The input encoded and ready to be decoded; ``forced`` as for every model."""
        corpus = self._checked(given)
        allowed = None if forced is None else self.allowed_by(forced, corpus.sentences)
        return DocumentScores(corpus, self.base.look_up(corpus, workers, allowed))

    def _checked(self, given: Any) -> Corpus:
        """The input, which must be a corpus of documents."""
        if not isinstance(given, Corpus):
            raise SkipchainError(
                "factors look at the words of whole documents, so the model takes a Corpus; "
                "Corpus.of(list_of_word_lists) makes one"
            )
        return given

    def _check_documents(self, corpus: Corpus) -> None:
        """Warn of a corpus whose documents are hardly such as factors are about."""
        longest = self.summary.get("longest_document")
        check_document_boundaries(
            corpus, longest, apart=self.annealing.alike, otherwise=WITHOUT_FACTORS
        )

    def score_dataset(
        self, data: DocumentDataset, workers: Workers, allowed: Bools | None = None
    ) -> DocumentScores:
        """Encoded input, ready to be decoded; ``allowed`` [N, L] limits tokens' labels."""
        return DocumentScores(data.corpus, self.base.score_dataset(data.chain, workers, allowed))

    def candidate_graph(self, scores: DocumentScores, workers: Workers) -> CandidateGraph:
        """The candidates of a corpus and what factors add to them; made once."""
        if scores.candidate_graph is None:
            candidates = self.candidates(scores, workers)
            inside = self.label_types.type_ids[candidates.fixed] >= 0
            inside[concat_ranges(candidates.starts, candidates.stops - candidates.starts)] = True
            apart = self._are_strangers(scores.corpus, inside.nonzero()[0])
            scores.candidate_graph = CandidateGraph.of(
                scores.corpus, candidates, self.label_types, () if apart else self.factors
            )
        return scores.candidate_graph

    def candidates(self, scores: DocumentScores, workers: Workers) -> Candidates:
        """Where labels are in doubt, for the chain model or because factors object to them."""
        chain, label_types = scores.chain, self.label_types
        best, opened = self._best_and_opened(scores, workers)
        marginals = chains.marginals(chain, workers)
        return find_candidates(
            chain, best, marginals, label_types.type_ids, workers, self.candidate_limits, opened
        )

    def token_graph(self, scores: DocumentScores, workers: Workers) -> TokenGraph:
        """The tokens in doubt and all spans that they can mark, for moves of tokens; made once."""
        if scores.token_graph is None:
            best, opened = self._best_and_opened(scores, workers)
            marginals = chains.marginals(replace(scores.chain, constraints=None), workers)
            gaps = 1.0 - marginals[np.arange(len(best)), best]
            sure = (gaps <= self.candidate_limits.tolerance) & ~opened
            scores.token_graph = TokenGraph.of(
                scores.corpus, scores.chain, best, sure, self.label_types, self.factors
            )
        return scores.token_graph

    def _best_and_opened(self, scores: DocumentScores, workers: Workers) -> tuple[Labels, Bools]:
        """The best labels of the chain [N], and the tokens whose labels factors object to. [N]"""
        self._check_documents(scores.corpus)
        best = chains.viterbi(scores.chain, workers)
        opened = np.zeros(len(best), np.bool_)
        if self._are_strangers(scores.corpus, (self.label_types.type_ids[best] >= 0).nonzero()[0]):
            return best, opened
        alone = all_fixed(best, len(scores.corpus))
        graph = CandidateGraph.of(scores.corpus, alone, self.label_types, self.factors)
        objected = graph.contested()
        opened[concat_ranges(objected.starts, objected.stops - objected.starts)] = True
        return best, opened

    def _are_strangers(self, corpus: Corpus, tokens: Ints) -> bool:
        """Whether no factor has anything to say of spans of these tokens, as in most short texts.

        Names keep their type where they have words in common, and here no word comes again.
        """
        if not all(isinstance(factor, Consistency) for factor in self.factors):
            return False
        words = corpus.document_of(tokens) * len(corpus.words.values) + corpus.words.codes[tokens]
        return len(set(words.tolist())) == len(tokens)

    def decode(
        self, scores: DocumentScores, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""
        decoder = decoder or self.decoders[0]
        self.check_decoder(decoder, beam)
        if decoder in self.base.decoders:
            return self.base.decode(scores.chain, workers, decoder, beam)
        if decoder == TWO_PASS:
            self._check_documents(scores.corpus)
            codes = two_pass(scores.chain, scores.corpus, self.label_types.type_ids, workers)
            return Column(frozen(codes), self.labels)
        if decoder == GIBBS and self.annealing.moves == TOKEN:
            self._refuse_python_factors()
            codes = anneal_tokens(self.token_graph(scores, workers), self.annealing, workers)
            return Column(frozen(codes), self.labels)
        graph = self.candidate_graph(scores, workers)
        if self.python_factors:
            if decoder != GIBBS:
                raise SkipchainError(f"factors of your own need the decoder gibbs, not {decoder}")
            assignment = anneal_with_python_factors(
                graph, scores.corpus, self.labels, self.python_factors, self.annealing
            )
        elif decoder == GIBBS:
            assignment = annealing.anneal(graph, self.annealing, workers)
        elif decoder == ICM:
            assignment = annealing.icm(graph, workers)
        else:
            assignment = graph.argmax(annealing.mean_field(graph, workers))
        return Column(frozen(graph.candidates.assemble_labels(assignment)), self.labels)

    def marginals(self, scores: DocumentScores, workers: Workers) -> Floats:
        """The probability of each label at each token, sampled where it is in doubt. [N, L]"""
        if self.annealing.moves == TOKEN:
            tokens, labels, _ = self._token_probabilities(scores, workers)
            found = chains.marginals(scores.chain, workers)
            found[tokens] = labels[tokens]
            return found
        graph, probabilities = self._candidate_probabilities(scores, workers)
        candidates = graph.candidates
        found = chains.marginals(scores.chain, workers)
        lengths = candidates.stops - candidates.starts
        found[concat_ranges(candidates.starts, lengths)] = 0.0
        counts = np.diff(candidates.first)
        tokens = concat_ranges(np.repeat(candidates.starts, counts), np.repeat(lengths, counts))
        amounts = np.repeat(probabilities, np.repeat(lengths, counts))
        np.add.at(found, (tokens, candidates.labels), amounts)
        return found

    def confidences(self, scores: DocumentScores, spans: Spans, workers: Workers) -> Floats:
        """The probability of each span as a whole, sampled where it is in doubt. [K]"""
        if self.annealing.moves == TOKEN:
            return self._token_confidences(scores, spans, workers)
        graph, probabilities = self._candidate_probabilities(scores, workers)
        found = self.base.confidences(scores.chain, spans, workers)
        candidates, label_types = graph.candidates, self.label_types
        starts, stops, type_ids = label_types.spans(candidates.labels, candidates.offsets)
        owners = np.searchsorted(candidates.offsets, starts, side="right") - 1
        shift = candidates.starts[candidates.segment_ids[owners]] - candidates.label_starts[owners]
        known: dict[tuple[int, int, int], float] = {}
        rows = zip(
            (starts + shift).tolist(),
            (stops + shift).tolist(),
            type_ids.tolist(),
            probabilities[owners].tolist(),
            strict=True,
        )
        for start, stop, kind, chance in rows:
            key = (start, stop, kind)
            known[key] = known.get(key, 0.0) + chance
        number = {name: k for k, name in enumerate(label_types.types)}
        after = np.searchsorted(candidates.stops, spans.starts, side="right")
        doubtful = np.append(candidates.starts, np.inf)[after] < spans.stops
        for k, (start, stop, name) in enumerate(spans):
            if doubtful[k]:  # what no candidate has is never met
                found[k] = min(1.0, known.get((start, stop, number.get(name, -1)), 0.0))
        return found

    def _token_confidences(self, scores: DocumentScores, spans: Spans, workers: Workers) -> Floats:
        """How often each span is met when single tokens are drawn. [K]"""
        tokens, _, visits = self._token_probabilities(scores, workers)
        found = self.base.confidences(scores.chain, spans, workers)
        places, types = self.token_graph(scores, workers).spans, self.label_types.types
        drawn = np.zeros(scores.corpus.n_tokens + 1, np.int64)
        drawn[tokens + 1] = 1
        drawn = np.cumsum(drawn)
        sampled = drawn[spans.stops] > drawn[spans.starts]
        for k, (start, stop, name) in enumerate(spans):
            if sampled[k]:
                found[k] = 0.0
                if stop - start <= places.longest[start] and name in types:
                    number = places.base[start] + (stop - start - 1) * len(types)
                    found[k] = visits[number + types.index(name)]
        return found

    def _token_probabilities(
        self, scores: DocumentScores, workers: Workers
    ) -> tuple[Ints, Floats, Floats]:
        """The tokens that are drawn, and how often labels [N, L] and spans [P] are met.

        Documents without a sample that the scheme allows are left to the chain, with a warning.
        """
        self._refuse_python_factors()
        graph = self.token_graph(scores, workers)
        if scores.token_probabilities is None:
            labels, spans = sample_token_probabilities(graph, self.annealing, BURN_IN, workers)
            met = labels[graph.tokens].any(axis=1)
            _warn_of_unmet(scores.corpus, graph.tokens[~met])
            scores.token_probabilities = graph.tokens[met], labels, spans
        return scores.token_probabilities

    def _refuse_python_factors(self) -> None:
        if self.python_factors:
            raise SkipchainError(
                "factors of your own are asked for whole segments; decode with moves='segment'"
            )

    def _candidate_probabilities(
        self, scores: DocumentScores, workers: Workers
    ) -> tuple[CandidateGraph, Floats]:
        if self.python_factors:
            raise SkipchainError("with factors of your own there are labels, but no probabilities")
        graph = self.candidate_graph(scores, workers)
        if scores.probabilities is None:
            scores.probabilities = annealing.sample_probabilities(
                graph, self.annealing, BURN_IN, workers
            )
        return graph, scores.probabilities

    @property
    def plain_cost(self) -> float:
        """That of the chain, as often as two hundred samples are drawn."""
        sampled = self.annealing.samples * self.annealing.chains / 200
        return self.base.plain_cost * max(1.0, sampled)

    def with_samples(self, samples: int) -> FactoredModel:
        """The same model with so many sweeps of sampling, cooled linearly."""
        return replace(self, annealing=replace(self.annealing, samples=samples, schedule="linear"))

    def with_moves(self, moves: str) -> FactoredModel:
        """The same model, in which sampling draws a ``segment`` or a ``token`` at a time."""
        return replace(self, annealing=replace(self.annealing, moves=moves))

    @property
    def apart(self) -> FactoredModel | None:
        """The model that draws each document with the same random numbers, as it does one alone."""
        annealing = self.annealing
        if self.python_factors or annealing.moves == TOKEN or annealing.random_start:
            return None  # these go through a corpus as a whole
        return replace(self, annealing=replace(annealing, alike=True)) if self.base.apart else None

    @property
    def labels_documents_apart(self) -> bool:
        """Whether documents are drawn with the same random numbers, whatever their place."""
        return self.annealing.alike and self.base.labels_documents_apart

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has by default."""
        return (*DECODERS, *self.base.decoders)

    @property
    def has_span_probabilities(self) -> bool:
        """Spans have probabilities by how often they are sampled."""
        return not self.python_factors

    @property
    def order(self) -> int:
        """How many labels back a label depends on, beside what factors add."""
        return self.base.order

    @property
    def n_nonzero(self) -> int:
        """How many weights of the chain model are not zero."""
        return self.base.n_nonzero

    def without_factors(self) -> ChainModel:
        """The chain model by itself."""
        return self.base

    def pruned(self) -> FactoredModel:
        """Without features whose weights are all zero; predictions stay the same."""
        base = self.base.pruned()
        return replace(self, base=base, features=base.features)

    # What it has learnt ------------------------------------------------------------------------

    def explain(
        self, given: Input, token: int | str, *, labels: Pair = None, threads: int | None = None
    ) -> Explained:
        """The factors that speak for and against the labels with and without them."""
        from skipchain.models.document.explain import explain_factors

        if labels is not None:
            raise SkipchainError(
                "with factors the labels with and without them are compared; to compare others, "
                "explain the chain model alone"
            )
        return explain_factors(self, given, token, threads=threads)

    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """What the chain model has learnt, and what factors add to pairs of spans."""
        chain = self.base._family_summary(top, labels)
        return {**chain, "factors": [factor.describe() for factor in self.factors]}


def _warn_of_unmet(corpus: Corpus, tokens: Ints) -> None:
    """Warn of documents in which sampling met nothing that the scheme allows."""
    documents = np.unique(corpus.document_of(tokens))
    if len(documents):
        warnings.warn(
            f"in {len(documents)} of {corpus.n_documents} documents, first in number "
            f"{documents[0]}, no sample was a labelling that the scheme allows, so their "
            "probabilities are those without factors; take more samples, or moves='segment'",
            SkipchainWarning,
            stacklevel=5,
        )


def not_a_chain_message(kind: str, order: int) -> str:
    """Why factors do not go with a kind of model."""
    told = f", order {order}" if order > 2 else ""
    return (
        f"factors need a chain of order 1 or 2 with probabilities, and {kind}{told} is none; use "
        "crf, memm or hmm, without templates that look two labels back or at a history"
    )


def further_labels_message(templates: Templates | None) -> str | None:
    """Why factors do not go with a model of some templates; None where they do."""
    if templates is None:
        return None
    if templates.trigram is not None:
        told = f"template '{templates.trigram}' looks two labels back"
    elif templates.label_history is not None:
        told = f"{templates.label_history} looks at labels given earlier in the document"
    else:
        return None
    return (
        f"{told}, and factors need a chain whose labels depend on each other by tables of two or "
        "three labels alone; leave it out"
    )
