"""What all fitted models share, whatever their labels depend on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains import decode as chains
from skipchain.chains.allowed import allowed_labels, require_agreement
from skipchain.chains.potentials import Constraints
from skipchain.chains.scores import NBestPaths
from skipchain.corpus import Column, Corpus
from skipchain.corpus.schemes import Spans, decode, transitions
from skipchain.corpus.schemes import encode as encode_spans
from skipchain.errors import SkipchainError
from skipchain.parallel import Workers

BEAM = 10  # the width of a beam unless told


class Model(ABC):
    """The artefact of fitting: what a model file holds, and what a tagger puts to work.

    Input goes through `dataset` (encoded) and `score_dataset` (ready to be decoded), or through
    both at once by `scores`. Labels are written in ``encoding``, and given back in ``scheme``, that
    of the training data; both are None for labels that mark no spans.
    """

    form: ClassVar[str]
    """The form of the artefact, which many kinds of models may share."""
    kind: str
    labels: tuple[str, ...]
    scheme: str | None
    encoding: str | None
    constrained: bool
    features: Any
    summary: Mapping[str, Any]

    @abstractmethod
    def dataset(self, given: Any, workers: Workers | None = None) -> Any:
        """The input encoded."""

    @abstractmethod
    def score_dataset(self, data: Any, workers: Workers) -> Any:
        """Encoded input, ready to be decoded."""

    @abstractmethod
    def scores(
        self, given: Any, workers: Workers, forced: Sequence[str | None] | None = None
    ) -> Any:
        """Input encoded and ready to be decoded; ``forced`` gives the labels of some tokens."""

    @abstractmethod
    def decode(
        self, scores: Any, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""

    @abstractmethod
    def marginals(self, scores: Any, workers: Workers) -> Floats:
        """The probability of each label at each token. [N, L]"""

    def confidences(self, scores: Any, spans: Spans, workers: Workers) -> Floats:
        """The probability of each span as a whole, where the model knows it. [K]"""
        raise SkipchainError(
            f"the model ({self.kind}) knows how probable single labels are, not whole spans"
        )

    def nbest(self, scores: Any, k: int, workers: Workers) -> list[NBestPaths]:
        """The k best label sequences of each sentence, where the model knows them."""
        raise SkipchainError(f"the model ({self.kind}) has no n-best sequences: only chains have")

    @abstractmethod
    def pruned(self) -> Model:
        """Without features whose weights are all zero; predictions stay the same."""

    @property
    @abstractmethod
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has unless told."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether all labellings can be gone through, as n-best lists need it."""

    @property
    def has_span_probabilities(self) -> bool:
        """Whether the probability of a span as a whole is known."""
        return self.exact

    @property
    @abstractmethod
    def n_nonzero(self) -> int:
        """How many weights are not zero."""

    @cached_property
    def constraints(self) -> Constraints | None:
        """The label sequences that the encoding allows; None where anything goes.

        A set of labels may leave sentences of some length without any legal labelling (spans of two
        tokens and nothing else, say). Such constraints are not used.
        """
        if self.encoding is None or not self.constrained:
            return None
        found = Constraints(*transitions(self.labels, self.encoding))
        return found if found.allow_every_length() else None

    @property
    def order(self) -> int:
        """How many labels back a label depends on."""
        return 1

    def allowed_by(self, forced: Sequence[str | None], offsets: Ints) -> Bools:
        """The labels that each token may have where some are given, in the model's scheme. [N, L]

        Those that the scheme could never give back are refused.
        """
        if len(forced) != offsets[-1]:
            raise SkipchainError(
                f"{len(forced)} forced labels (None where free) for {offsets[-1]} tokens"
            )
        allowed = allowed_labels(forced, offsets, self.scheme, self.labels, self.encoding)
        if self.constraints is not None:
            require_agreement(forced, allowed, offsets, self.constraints)
        return allowed

    def check_decoder(self, decoder: str | None, beam: int = BEAM) -> None:
        """Refuse a decoder that the model does not have, and a beam without width."""
        decoder = decoder or self.decoders[0]
        if decoder not in self.decoders:
            raise SkipchainError(
                f"the model ({self.kind}, order {self.order}) has no decoder {decoder!r}; "
                f"it has {', '.join(self.decoders)}"
            )
        chains.check_width(beam)

    def label(
        self,
        given: Corpus | Sequence[Any],
        workers: Workers,
        decoder: str | None = None,
        beam: int = BEAM,
    ) -> list[list[str]]:
        """The labels of each sequence, in the scheme of the training data."""
        self.check_decoder(decoder, beam)
        scores = self.scores(given, workers)
        offsets = scores.offsets
        flat = self.to_scheme(self.decode(scores, workers, decoder, beam), offsets).tolist()
        return [flat[a:b] for a, b in pairwise(offsets.tolist())]

    def to_scheme(self, labels: Column, sentences: Ints) -> Column:
        """Labels of the model's encoding, written in the scheme of the training data."""
        if self.scheme is None or self.encoding is None or self.scheme == self.encoding:
            return labels
        spans = decode(labels, sentences, self.encoding)
        return encode_spans(spans, sentences, self.scheme, lossy=True)

    def spans(self, labels: Column, sentences: Ints) -> Spans:
        """The spans of predicted labels in the model's encoding."""
        if self.encoding is None:
            raise SkipchainError("the model's labels mark no spans")
        return decode(labels, sentences, self.encoding)
