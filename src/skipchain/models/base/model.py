"""What all fitted models share, whatever their labels depend on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.chains.allowed import allowed_labels, require_agreement
from skipchain.chains.decode import check_width
from skipchain.chains.potentials import Constraints
from skipchain.chains.scores import MAX_CONTEXTS, NBestPaths
from skipchain.checks import check_integer
from skipchain.corpus import Column
from skipchain.corpus.schemes import Spans, decode, transitions
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.inputs import Input
from skipchain.models.base.output_labels import OutputLabels, output_scheme
from skipchain.parallel import Workers
from skipchain.report.sheet import TOP, Sheet

if TYPE_CHECKING:
    from skipchain.lookup.frozen import FrozenChain
    from skipchain.report.pictures import Picture

BEAM = 10  # the width of a beam by default
MAX_NBEST = 10_000
"""How many labellings of a sentence can be asked for."""
NBEST_BYTES = 4 << 30  # that the search for them, and they themselves, may take


class Encoded(Protocol):
    """Input as a model has encoded it, or as it has scored it."""

    @property
    def offsets(self) -> Ints:
        """Where sequences begin. [M + 1]"""


class Scored(Encoded, Protocol):
    """Input that a model has scored."""

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""


class Explained(Protocol):
    """What decides between two labels of a token."""

    def as_dict(self) -> dict[str, Any]:
        """The explanation as JSON can hold it."""

    def sheet(self, top: int = TOP) -> Sheet:
        """The explanation for people, with at most ``top`` rows of what is ranked in a table."""


Pair = Sequence[str] | None
"""Two labels to be compared; None: the predicted one and the runner-up."""
Data = TypeVar("Data", bound=Encoded)
Scores = TypeVar("Scores", bound=Scored)


class Model(ABC, Generic[Data, Scores]):
    """The artefact of fitting: what a model file holds, and what a tagger puts to work.

    Input goes through `dataset` (encoded) and `score_dataset` (ready to be decoded), or through
    both at once by `scores`. Labels are written in ``encoding``, and given back in ``scheme``, that
    of the training data; both are None for labels that mark no spans.
    """

    form: ClassVar[str]
    """The form of the artefact, which many kinds of models may share."""
    explains_sentences: ClassVar[bool] = False
    """Whether a sentence by itself is enough for `explain`; else it needs the document."""
    kind: str
    labels: tuple[str, ...]
    scheme: str | None
    encoding: str | None
    constrained: bool
    features: Any
    summary: Mapping[str, Any]

    @abstractmethod
    def dataset(self, given: Input, workers: Workers | None = None) -> Data:
        """The input encoded."""

    @abstractmethod
    def score_dataset(self, data: Data, workers: Workers, allowed: Bools | None = None) -> Scores:
        """Encoded input, ready to be decoded; ``allowed`` [N, L] limits the labels of tokens."""

    def scores(
        self, given: Input, workers: Workers, forced: Sequence[str | None] | None = None
    ) -> Scores:
        """The input encoded and ready to be decoded.

        ``forced`` gives the labels of some tokens, in the model's scheme, and None for the others.
        """
        data = self.dataset(given, workers)
        allowed = None if forced is None else self.allowed_by(forced, data.offsets)
        return self.score_dataset(data, workers, allowed)

    @abstractmethod
    def decode(
        self, scores: Scores, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        """The predicted labels, in the model's encoding."""

    @abstractmethod
    def marginals(self, scores: Scores, workers: Workers) -> Floats:
        """The probability of each label at each token. [N, L]"""

    def output_marginals(
        self,
        scores: Scores,
        output: OutputLabels,
        workers: Workers,
        predicted: Column | None = None,
    ) -> Floats:
        """The probability of each label that comes out, at each token. [N, L']

        Where it depends on the labels beside, these are as ``predicted``, by default as decoded.
        """
        marginals = self.marginals(scores, workers)
        if output.plain:
            return marginals
        if predicted is None and output.looks_beside:
            predicted = self.decode(scores, workers)
        return output.marginals(marginals, predicted, scores.offsets)

    def confidences(self, scores: Scores, spans: Spans, workers: Workers) -> Floats:
        """The probability of each span as a whole, where the model knows it. [K]"""
        raise SkipchainError(
            f"the model ({self.kind}) knows how probable single labels are, not whole spans"
        )

    def nbest(self, scores: Scores, k: int, workers: Workers) -> list[NBestPaths]:
        """The k best label sequences of each sentence, where the model knows them."""
        raise SkipchainError(f"the model ({self.kind}) has no n-best sequences: only chains have")

    def without_factors(self) -> AnyModel | None:
        """The chain model by itself, where there are factors beside it."""
        return None

    def pictures(self) -> tuple[Picture, ...]:
        """Diagrams of what has been learnt, where there are any: the weights of hidden units."""
        raise SkipchainError(f"--plot draws hidden units, and a {self.kind} has none")

    @abstractmethod
    def pruned(self) -> Self:
        """Without features whose weights are all zero; predictions stay the same."""

    def with_summary(self, summary: Mapping[str, Any]) -> Self:
        """The model with what it tells of its training."""
        return replace(self, summary=summary)  # type: ignore[type-var]

    def with_samples(self, samples: int) -> Self:
        """The model with so many sweeps when it samples; refused where it does not."""
        raise SkipchainError(
            f"samples are for models with factors, and {self.kind} has none; train it with "
            "--consistency"
        )

    def with_moves(self, moves: str) -> Self:
        """The model that samples in other moves; refused where it does not sample."""
        raise SkipchainError(
            f"moves are for models with factors, and {self.kind} has none; train it with "
            "--consistency"
        )

    # What it is --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_short})"

    def _repr_html_(self) -> str:
        """For notebooks: the model, what it was made with and what its training told."""
        from skipchain.models.base.summary import common_summary
        from skipchain.report import notebook

        told = common_summary(self)
        sources = [own["description"] for own in told["sources"]]
        rows = {
            "labels": ", ".join(self.labels),
            "scheme": f"{self.scheme}, learnt as {self.encoding}" if self.scheme else "",
            "templates": ", ".join((told["templates"] or "").splitlines()),
            "annotators": "; ".join(sources),
            "training": ", ".join(f"{key} {value}" for key, value in told["training"].items()),
        }
        table = notebook.table(("", ""), [row for row in rows.items() if row[1]])
        return f"{notebook.paragraph(repr(self))}\n{table}"

    @property
    def in_short(self) -> str:
        """Kind and size in a few words."""
        from skipchain.corpus.corpus import plural

        features = self.features.n_features + self.features.n_edge_features
        sizes = f"{plural(features, 'feature')}, {plural(self.n_nonzero, 'weight')}"
        scheme = f" ({self.scheme})" if self.scheme else ""
        return f"{self.kind}, {plural(len(self.labels), 'label')}{scheme}, {sizes}"

    # What it has learnt ------------------------------------------------------------------------

    def explain(
        self, given: Input, token: int | str, *, labels: Pair = None, threads: int | None = None
    ) -> Explained:
        """What decides between two labels at one token of the input; see `Tagger.explain`."""
        raise SkipchainError(
            f"labels of the model ({self.kind}) have no explanation by feature: hidden states or "
            "hidden units stand between them; skipchain inspect shows what these do"
        )

    def summarise(self, *, top: int = 10, labels: Sequence[str] | None = None) -> dict[str, Any]:
        """The ``top`` features of each label by the size of their weight, and what else was learnt.

        Every model tells its kind, schemes, templates, annotators, size and training; what follows
        is that of its family (see ``docs/guide/model-files.md``).
        """
        chosen = list(self.labels) if labels is None else list(labels)
        from skipchain.models.base.summary import common_summary

        return {**common_summary(self), **self._family_summary(top, chosen)}

    @abstractmethod
    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        """What a summary tells of one family: features of labels, transitions, states …"""

    # Decoding ----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the model supports, first the one that it has by default."""

    @property
    def exact(self) -> bool:
        """Whether all labellings can be gone through, as n-best lists need it."""
        return False

    @property
    def labels_documents_alone(self) -> bool:
        """Whether a document is labelled the same, and in silence, whatever stands beside it."""
        return False

    @property
    def apart(self) -> Self | None:
        """The model as it labels documents of one corpus each by itself; None where it cannot."""
        return self if self.labels_documents_alone else None

    @property
    def labels_documents_apart(self) -> bool:
        """Whether the labels of a document depend on it alone, whatever is told of all of them."""
        return self.labels_documents_alone

    @property
    def labels_sentences_apart(self) -> bool:
        """Whether the labels of a sentence depend on it alone."""
        return False

    @property
    def frozen(self) -> FrozenChain | None:
        """The model as it is put to work on much text, where it is such that it can be."""
        return None

    @property
    def plain_cost(self) -> float:
        """How long a token takes with plain kernels, where a small chain takes 1; ∞: too long."""
        return float("inf")

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
        found = Constraints(*legal_transitions(self.labels, self.scheme, self.encoding))
        return found if found.allow_every_length() else None

    @property
    def order(self) -> int:
        """How many labels back a label depends on."""
        return 1

    def allowed_by(self, forced: Sequence[str | None], offsets: Ints) -> Bools:
        """The labels that each token may have where some are given, in the model's scheme. [N, L]

        Those that the scheme could never give back are refused.
        """
        if isinstance(forced, str) or not isinstance(forced, Iterable):
            kind = type(forced).__name__
            raise ParameterError(f"forced takes a list, a label or None for each token, got {kind}")
        forced = list(forced)
        if len(forced) != offsets[-1]:
            raise SkipchainError(
                f"{len(forced)} forced labels (None where free) for {offsets[-1]} tokens"
            )
        for token, label in enumerate(forced):
            if not (label is None or isinstance(label, str)):
                raise ParameterError(
                    f"token {token}: the forced label {label!r} is neither a string nor None"
                )
        allowed = allowed_labels(forced, offsets, self.scheme, self.labels, self.encoding)
        if self.constraints is not None:
            require_agreement(forced, allowed, offsets, self.constraints)
        return allowed

    def check_nbest(self, k: int, offsets: Ints | None = None) -> None:
        """Refuse a number of labellings that makes no sense, or does not fit into memory."""
        check_integer("nbest", k, most=MAX_NBEST)
        if offsets is None or len(offsets) < 2:
            return
        contexts = len(self.labels) ** min(self.order, 2)
        if self.order > 2:
            contexts = max(contexts, min(len(self.labels) ** self.order, MAX_CONTEXTS))
        histories = int(np.diff(offsets).max()) * contexts
        size = int(k) * (8 * histories + 4 * int(offsets[-1]))
        if size > NBEST_BYTES:
            raise ParameterError(
                f"the {k:,} best labellings of {offsets[-1]:,} tokens take {size >> 20:,} MB, and "
                f"{NBEST_BYTES >> 20:,} are allowed; ask for fewer, or give the input in parts"
            )

    def check_decoder(self, decoder: str | None, beam: int = BEAM) -> None:
        """Refuse a decoder that the model does not have, and a beam without width."""
        decoder = decoder or self.decoders[0]
        if decoder not in self.decoders:
            raise SkipchainError(
                f"the model ({self.kind}, order {self.order}) has no decoder {decoder!r}; "
                f"it has {', '.join(self.decoders)}"
            )
        check_width(beam)

    def label(
        self, given: Input, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> list[list[str]]:
        """The labels of each sequence, in the scheme of the training data."""
        self.check_decoder(decoder, beam)
        scores = self.scores(given, workers)
        offsets = scores.offsets
        flat = self.to_scheme(self.decode(scores, workers, decoder, beam), offsets).tolist()
        return [flat[a:b] for a, b in pairwise(offsets.tolist())]

    def to_scheme(self, labels: Column, sentences: Ints) -> Column:
        """Labels of the model's encoding, written in the scheme of the training data."""
        return self.read(labels, sentences)[0]

    def read(self, labels: Column, sentences: Ints) -> tuple[Column, Spans | None]:
        """Labels of the model's encoding in the scheme of the training data, and their spans.

        There are none where labels mark no spans.
        """
        return self.output.read(labels, sentences)

    @cached_property
    def output(self) -> OutputLabels:
        """How labels leave the model: in the scheme of the training data."""
        return OutputLabels.of(self.labels, self.encoding, self.scheme, self.constrained)

    def output_in(self, scheme: str | None) -> OutputLabels:
        """How labels leave the model in a scheme, by default that of the training data."""
        if scheme is None:
            return self.output
        wanted = output_scheme(scheme, self.encoding)
        return OutputLabels.of(self.labels, self.encoding, wanted, self.constrained)

    def spans(self, labels: Column, sentences: Ints) -> Spans:
        """The spans of predicted labels in the model's encoding."""
        if self.encoding is None:
            raise SkipchainError("the model's labels mark no spans")
        return decode(labels, sentences, self.encoding)


def legal_transitions(
    labels: Sequence[str], scheme: str | None, encoding: str
) -> tuple[Bools, Bools, Bools]:
    """The label pairs, first and last labels that an encoding allows, for data in a scheme.

    In ``bare`` data no span touches one of its type, so none is predicted, and each labelling of
    the data is one of the model. (``io`` is alike, but models of it have always been free.)
    """
    return transitions(labels, encoding, touching=scheme != "bare")


AnyModel = Model[Any, Any]
"""A model of whatever family."""
