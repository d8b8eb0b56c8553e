"""A tagger: a model from a file, put to work on text or on a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain import pretrained
from skipchain.arrays import Floats
from skipchain.chains.scores import NBestPaths
from skipchain.checks import check_integer
from skipchain.corpus import Column, Corpus
from skipchain.corpus.schemes import Spans
from skipchain.errors import ParameterError, SkipchainError
from skipchain.features.views import UserView
from skipchain.io.text import parse_plain
from skipchain.kernels.kernel import sparingly
from skipchain.modelfile import load_model, save
from skipchain.models.base.inputs import Input, as_input, count_tokens
from skipchain.models.base.model import BEAM, MAX_NBEST, AnyModel, Explained, Model
from skipchain.parallel import Workers


def load(
    path: str | Path | None = None,
    *,
    functions: Mapping[str, UserView] | None = None,
    threads: int | None = None,
) -> Tagger:
    """A tagger from a model file; without one, the English model that comes with the package.

    ``functions`` are views of the author's own, where the model was trained with any; ``threads``
    None uses all cores.

    >>> found = load().tag("Angela Merkel was born in Hamburg.")
    >>> [(entity.text, entity.label) for entity in found.entities]
    [('Angela Merkel', 'PER'), ('Hamburg', 'LOC')]
    """
    source = pretrained.path() if path is None else path
    return Tagger(load_model(source, functions), threads)


@dataclass(frozen=True, slots=True)
class Entity:
    """A labelled span of a text: characters ``start … end − 1``, and how sure the model is.

    A model that can only be searched, or of linked labels, cannot tell, and gives None.
    """

    start: int
    end: int
    label: str
    text: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text with its tokens (start and end character), their labels, and the labelled spans."""

    text: str
    tokens: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    entities: tuple[Entity, ...]

    @property
    def words(self) -> list[str]:
        """The tokens' strings."""
        return [self.text[start:end] for start, end in self.tokens]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of a corpus; parts that were not asked for are None."""

    corpus: Corpus
    codes: NDArray[np.int32]  # [N], numbers of the model's labels
    spans: Spans | None = None
    confidences: Floats | None = None  # [K], one per span
    marginals: Floats | None = None  # [N, L], columns as the model's labels
    ranked: list[NBestPaths] | None = None  # one per sentence
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class Tagger:
    """Tags text and corpora with one model.

    >>> from skipchain import CRF, Corpus
    >>> words = [["Then", "Ada", "slept", "."], ["Bo", "slept", "."], ["Then", "all", "ran", "."]]
    >>> labels = [["O", "B-PER", "O", "O"], ["B-PER", "O", "O"], ["O", "O", "O", "O"]]
    >>> corpus = Corpus.of(words * 9, labels * 9, scheme="iob2")
    >>> tagger = Tagger(CRF("word").fit(corpus).model_)
    >>> [(entity.text, entity.label) for entity in tagger.tag("Ada slept.").entities]
    [('Ada', 'PER')]
    """

    model: AnyModel
    threads: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            advice = "load(path) reads one from a file"
            if hasattr(self.model, "fit"):
                advice = "of an estimator it is model_, which fit leaves"
            kind = type(self.model).__name__
            raise ParameterError(f"a tagger needs a fitted model, got {kind}; {advice}")
        if self.threads is not None:
            check_integer("threads", self.threads)

    def tag(self, text: str, *, decoder: str | None = None, beam: int = BEAM) -> TaggedText:
        """Tokenise and tag running text; an empty text has no tokens."""
        if not isinstance(text, str):
            advice = "predict takes a corpus, label takes features given directly"
            raise ParameterError(f"tag takes a string, got {type(text).__name__}; {advice}")
        if not text.strip():
            return TaggedText(text, (), (), ())
        corpus = parse_plain(text)
        assert corpus.starts is not None
        assert corpus.ends is not None
        told = self.model.encoding is not None and self.model.has_span_probabilities
        found = self.predict(corpus, decoder=decoder, beam=beam, confidences=told)
        starts, ends = corpus.starts.tolist(), corpus.ends.tolist()
        entities = []
        if found.spans is not None:
            sures = found.confidences
            known = [None] * len(found.spans) if sures is None else sures.tolist()
            for (a, b, label), sure in zip(found.spans, known, strict=True):
                start, end = starts[a], ends[b - 1]
                entities.append(Entity(start, end, label, text[start:end], sure))
        return TaggedText(
            text,
            tuple(zip(starts, ends, strict=True)),
            tuple(found.corpus.labels.tolist()),
            tuple(entities),
        )

    def predict(
        self,
        corpus: Corpus,
        *,
        decoder: str | None = None,
        beam: int = BEAM,
        forced: Sequence[str | None] | None = None,
        confidences: bool = False,
        probabilities: bool = False,
        nbest: int = 0,
    ) -> Prediction:
        """Label a corpus, and say whatever else is asked for.

        ``decoder`` is ``viterbi``, ``posterior``, ``greedy`` or ``beam``, the last with the width
        ``beam``; None is the model's own, most often ``viterbi``. ``forced`` gives some tokens'
        labels (None: free); ``confidences`` asks for the probability of each span,
        ``probabilities`` for that of each label at each token, ``nbest`` for so many labellings of
        each sentence (0: none).
        """
        model = self.model
        if not isinstance(corpus, Corpus):
            raise SkipchainError("predict takes a Corpus; label takes features given directly")
        model.check_decoder(decoder, beam)
        check_integer("nbest", nbest, least=0, most=MAX_NBEST)
        with (
            sparingly(self._effort(corpus, decoder, beam, nbest)),
            Workers(self.threads) as workers,
        ):
            scores = model.scores(corpus, workers, forced)
            labels = model.decode(scores, workers, decoder, beam)
            tagged = corpus.with_labels(model.to_scheme(labels, corpus.sentences), model.scheme)
            spans = None if model.encoding is None else model.spans(labels, corpus.sentences)
            sure = None
            if confidences:
                if spans is None:
                    raise SkipchainError(
                        "the model's labels mark no spans, so there are none to weigh"
                    )
                sure = model.confidences(scores, spans, workers)
            return Prediction(
                tagged,
                labels.codes,
                spans,
                sure,
                model.marginals(scores, workers) if probabilities else None,
                model.nbest(scores, nbest, workers) if nbest else None,
                scores.unknown,
            )

    def label(
        self, sequences: Any, *, decoder: str | None = None, beam: int = BEAM
    ) -> list[list[str]]:
        """The labels of each sequence, for input of the kind that the model was fitted on."""
        data = as_input(sequences)
        with sparingly(self._effort(data, decoder, beam)), Workers(self.threads) as workers:
            return self.model.label(data, workers, decoder, beam)

    def explain(
        self,
        given: str | Input,
        token: int | str,
        *,
        labels: Sequence[str] | None = None,
        sentence: int | None = None,
    ) -> Explained:
        """What decides between two labels at one token of a text, a corpus or given features.

        ``token`` is a number, counted from 0 through the whole input, or a word that occurs once;
        with a ``sentence`` of a corpus it is one of that sentence. Without ``labels`` the predicted
        one and the runner-up are compared. A model of linked labels tells which other tokens the
        label comes from, and one with factors what these add or take away, so both look at the
        whole input.
        """
        from skipchain.models.chain.explain import token_index

        _check_question(token, labels, sentence)
        data = as_input(parse_plain(given) if isinstance(given, str) else given)
        if sentence is not None:
            chosen = _sentence(data, sentence)
            if self.model.explains_sentences:
                data = chosen
            else:
                place = token_index(chosen, token, chosen.n_tokens)
                token = place + sum(len(own) for own in data[:sentence])
        with sparingly(self._effort(data)):
            return self.model.explain(data, token, labels=labels, threads=self.threads)

    def _effort(
        self, given: Input, decoder: str | None = None, beam: int = 1, nbest: int = 0
    ) -> float:
        """What plain kernels would have to do, in tokens of a small chain."""
        searched = beam if decoder == "beam" else 1
        return count_tokens(given) * self.model.plain_cost * max(1, searched, nbest)

    def with_samples(self, samples: int) -> Tagger:
        """The tagger with so many sweeps of Gibbs sampling, for a model with factors."""
        return Tagger(self.model.with_samples(samples), self.threads)

    def with_moves(self, moves: str) -> Tagger:
        """The tagger whose Gibbs sampling draws a ``segment`` or a ``token`` at a time."""
        return Tagger(self.model.with_moves(moves), self.threads)

    def without_factors(self, decoder: str | None = None) -> Tagger | None:
        """The tagger of the chain model alone; None where ``decoder`` uses no factors anyway."""
        chain = self.model.without_factors()
        if chain is None or decoder in chain.decoders:
            return None
        return Tagger(chain, self.threads)

    def alternatives(self, corpus: Corpus, ranked: Sequence[NBestPaths], rank: int) -> Column:
        """The labels of the rank-th best labelling of each sentence (of the last, where fewer)."""
        model = self.model
        parts = [best.paths[min(rank, len(best.paths) - 1)] for best in ranked]
        codes = np.concatenate(parts) if parts else np.zeros(0, np.int32)
        return model.to_scheme(Column(codes.astype(np.int32), model.labels), corpus.sentences)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the model file."""
        save(self.model, path, overwrite=overwrite)


def _check_question(token: Any, labels: Any, sentence: Any) -> None:
    """Refuse what names no token, no two labels or no sentence."""
    if not isinstance(token, str):
        check_integer("token", token, least=0)
    if sentence is not None:
        check_integer("sentence", sentence, least=0)
    if labels is not None and not (
        isinstance(labels, (list, tuple)) and all(isinstance(label, str) for label in labels)
    ):
        raise ParameterError(f"labels must be a list of two labels, got {labels!r}")


def _sentence(data: Any, number: int) -> Corpus:
    """One sentence of a corpus, as a corpus."""
    if not isinstance(data, Corpus) or not 0 <= number < len(data):
        raise SkipchainError(f"there is no sentence {number}; there are {len(data)}, from 0 on")
    return data[number : number + 1]
