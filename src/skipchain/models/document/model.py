"""The fitted artefact of a chain model with factors across documents beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.chains.scores import Scores
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.corpus.schemes import Spans
from skipchain.errors import SkipchainError
from skipchain.models.base.documents import check_whole
from skipchain.models.base.inputs import Features
from skipchain.models.base.model import BEAM, Model
from skipchain.models.chain.model import ChainModel
from skipchain.models.document import annealing
from skipchain.models.document.annealing import Annealing
from skipchain.models.document.candidate_graph import Interplay, Labelling
from skipchain.models.document.candidates import Candidates, Doubts, certain, find_candidates, runs
from skipchain.models.document.factors.base import SpanFactor
from skipchain.models.document.factors.python import OwnFactor
from skipchain.models.document.python_factors import anneal_own
from skipchain.models.document.twopass import two_pass
from skipchain.parallel import Workers

GIBBS, ICM, MEAN_FIELD, TWO_PASS = "gibbs", "icm", "mean-field", "two-pass"
BURN_IN = 50  # sweeps before those that probabilities are taken from


@dataclass(frozen=True, slots=True)
class Documents:
    """A corpus, and how the chain model encodes it."""

    corpus: Corpus
    chain: Dataset

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.chain.offsets


@dataclass(slots=True)
class Whole:
    """A corpus as a chain model scores it, with what factors make of it once they are asked."""

    corpus: Corpus
    chain: Scores
    interplay: Interplay | None = None
    chances: Floats | None = None

    @property
    def offsets(self) -> Ints:
        """Where sentences begin. [M + 1]"""
        return self.chain.offsets

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""
        return self.chain.unknown


@dataclass(frozen=True)
class FactoredModel(Model):
    """A chain model times factors: p(y | x) ∝ p_chain(y | x) Π exp(what factors add to y).

    Factors are about whole documents: names keep their type, times agree. Sentences are decoded
    together, by sampling unless told otherwise. ``doubts`` says which labels of the chain model are
    taken for certain, and ``annealing`` how is sampled.
    """

    form = "document"

    kind: str
    labels: tuple[str, ...]
    features: Features
    base: ChainModel
    factors: tuple[SpanFactor, ...]
    own: tuple[OwnFactor, ...] = ()
    doubts: Doubts = field(default_factory=Doubts)
    annealing: Annealing = field(default_factory=Annealing)
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)
    further: tuple[str, ...] = ()
    """Types that factors are about though no label has them."""

    @classmethod
    def around(
        cls,
        base: Model,
        factors: Sequence[SpanFactor | OwnFactor],
        doubts: Doubts | None = None,
        annealing: Annealing | None = None,
        summary: Mapping[str, Any] | None = None,
        further: Sequence[str] = (),
    ) -> FactoredModel:
        """Factors beside a chain model; they may be about ``further`` types than it has.

        A factor of the user's own (see `skipchain.models.document.factors.OwnFactor`) is asked in
        Python, token by token, which is slow; it is not kept in a model file.
        """
        if not isinstance(base, ChainModel) or not base.exact or not base.probabilistic:
            raise SkipchainError(no_chain(base.kind, base.order))
        if base.encoding is None or "O" not in base.labels:
            raise SkipchainError(
                "factors are about spans among other words, and the model's labels mark none"
            )
        own = tuple(factor for factor in factors if isinstance(factor, OwnFactor))
        compiled = tuple(factor for factor in factors if not isinstance(factor, OwnFactor))
        found = cls(
            "factored",
            base.labels,
            base.features,
            base,
            compiled,
            own,
            doubts or Doubts(),
            annealing or Annealing(),
            base.scheme,
            base.encoding,
            base.constrained,
            base.summary if summary is None else summary,
            tuple(further),
        )
        for factor in compiled:
            factor.check(found.labelling.types)
        return found

    @property
    def labelling(self) -> Labelling:
        """The labels and their types."""
        assert self.encoding is not None
        return Labelling.of(self.labels, self.encoding, self.further)

    def dataset(self, given: Any, workers: Workers | None = None) -> Documents:
        """The corpus, and how the chain model encodes it."""
        if not isinstance(given, Corpus):
            raise SkipchainError(
                "factors look at the words of whole documents, so the model takes a Corpus; "
                "Corpus.of(list_of_word_lists) makes one"
            )
        check_whole(given, self.summary.get("longest_document"))
        return Documents(given, self.base.dataset(given, workers))

    def scored(self, data: Documents, workers: Workers, allowed: Bools | None = None) -> Whole:
        """Encoded input, ready to be decoded; ``allowed`` [N, L] limits tokens' labels."""
        return Whole(data.corpus, self.base.scored(data.chain, workers, allowed))

    def scores(
        self, given: Any, workers: Workers, forced: Sequence[str | None] | None = None
    ) -> Whole:
        """Input encoded and ready to be decoded; ``forced`` gives the labels of some tokens."""
        data = self.dataset(given, workers)
        allowed = None if forced is None else self.allowed_by(forced, given.sentences)
        return self.scored(data, workers, allowed)

    def interplay(self, scores: Whole, workers: Workers) -> Interplay:
        """The candidates of a corpus and what factors add to them; made once."""
        if scores.interplay is None:
            candidates = self.candidates(scores, workers)
            scores.interplay = Interplay.of(scores.corpus, candidates, self.labelling, self.factors)
        return scores.interplay

    def candidates(self, scores: Whole, workers: Workers) -> Candidates:
        """Where labels are in doubt, for the chain model or because factors object to them."""
        chain, labelling = scores.chain, self.labelling
        best = chains.viterbi(chain, workers)
        alone = certain(best, len(scores.corpus))
        objected = Interplay.of(scores.corpus, alone, labelling, self.factors).contested()
        opened = np.zeros(len(best), np.bool_)
        opened[runs(objected.starts, objected.stops - objected.starts)] = True
        marginals = chains.marginals(chain, workers)
        return find_candidates(
            chain, best, marginals, labelling.kinds, workers, self.doubts, opened
        )

    def decode(
        self, scores: Whole, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""
        decoder = decoder or self.decoders[0]
        self.check_decoder(decoder, beam)
        if decoder in self.base.decoders:
            return self.base.decode(scores.chain, workers, decoder, beam)
        if decoder == TWO_PASS:
            codes = two_pass(scores.chain, scores.corpus, self.labelling.kinds, workers)
            return Column(frozen(codes), self.labels)
        interplay = self.interplay(scores, workers)
        if self.own:
            if decoder != GIBBS:
                raise SkipchainError(f"factors of your own need the decoder gibbs, not {decoder}")
            picks = anneal_own(interplay, scores.corpus, self.labels, self.own, self.annealing)
        elif decoder == GIBBS:
            picks = annealing.anneal(interplay, self.annealing, workers)
        elif decoder == ICM:
            picks = annealing.climb(interplay, workers)
        else:
            picks = interplay.tops(annealing.mean_field(interplay, workers))
        return Column(frozen(interplay.candidates.labelled(picks)), self.labels)

    def marginals(self, scores: Whole, workers: Workers) -> Floats:
        """The probability of each label at each token, sampled where it is in doubt. [N, L]"""
        interplay, chances = self._chances(scores, workers)
        candidates = interplay.candidates
        found = chains.marginals(scores.chain, workers)
        lengths = candidates.stops - candidates.starts
        found[runs(candidates.starts, lengths)] = 0.0
        counts = np.diff(candidates.first)
        tokens = runs(np.repeat(candidates.starts, counts), np.repeat(lengths, counts))
        amounts = np.repeat(chances, np.repeat(lengths, counts))
        np.add.at(found, (tokens, candidates.labels), amounts)
        return found

    def confidences(self, scores: Whole, spans: Spans, workers: Workers) -> Floats:
        """The probability of each span as a whole, sampled where it is in doubt. [K]"""
        interplay, chances = self._chances(scores, workers)
        found = self.base.confidences(scores.chain, spans, workers)
        candidates, labelling = interplay.candidates, self.labelling
        starts, stops, kinds = labelling.spans(candidates.labels, candidates.offsets)
        owners = np.searchsorted(candidates.offsets, starts, side="right") - 1
        shift = candidates.starts[candidates.stretches[owners]] - candidates.places[owners]
        known: dict[tuple[int, int, int], float] = {}
        rows = zip(
            (starts + shift).tolist(),
            (stops + shift).tolist(),
            kinds.tolist(),
            chances[owners].tolist(),
            strict=True,
        )
        for start, stop, kind, chance in rows:
            key = (start, stop, kind)
            known[key] = known.get(key, 0.0) + chance
        number = {name: k for k, name in enumerate(labelling.types)}
        after = np.searchsorted(candidates.stops, spans.starts, side="right")
        doubtful = np.append(candidates.starts, np.inf)[after] < spans.stops
        for k, (start, stop, name) in enumerate(spans):
            if doubtful[k]:  # what no candidate has is never met
                found[k] = min(1.0, known.get((start, stop, number.get(name, -1)), 0.0))
        return found

    def _chances(self, scores: Whole, workers: Workers) -> tuple[Interplay, Floats]:
        if self.own:
            raise SkipchainError("with factors of your own there are labels, but no probabilities")
        interplay = self.interplay(scores, workers)
        if scores.chances is None:
            scores.chances = annealing.sampled(interplay, self.annealing, BURN_IN, workers)
        return interplay, scores.chances

    def sampling(self, samples: int) -> FactoredModel:
        """The same model with so many sweeps of sampling, cooled linearly."""
        return replace(self, annealing=replace(self.annealing, samples=samples, cooling="linear"))

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has unless told."""
        return (GIBBS, ICM, MEAN_FIELD, TWO_PASS, *self.base.decoders)

    @property
    def exact(self) -> bool:
        """Never: the labellings are sampled."""
        return False

    @property
    def weighs_spans(self) -> bool:
        """Spans have probabilities by how often they are sampled."""
        return not self.own

    @property
    def order(self) -> int:
        """How many labels back a label depends on, beside what factors add."""
        return self.base.order

    @property
    def active(self) -> int:
        """How many weights of the chain model are not zero."""
        return self.base.active

    def pruned(self) -> FactoredModel:
        """Without features whose weights are all zero; predictions stay the same."""
        base = self.base.pruned()
        return replace(self, base=base, features=base.features)


def no_chain(kind: str, order: int) -> str:
    """Why factors do not go with a kind of model."""
    told = f", order {order}" if order > 2 else ""
    return (
        f"factors need a chain of order 1 or 2 with probabilities, and {kind}{told} is none; use "
        "crf, memm or hmm"
    )
