"""What a tagger gives: text with labels and spans, and predictions for a corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import shorten
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.corpus.corpus import plural
from skipchain.corpus.schemes import Spans
from skipchain.errors import ParameterError
from skipchain.models.base.model import BEAM, AnyModel
from skipchain.models.base.output_labels import RankedLabels
from skipchain.report import notebook

Fields = dict[str, str | list[str]]
"""What stands under each label of a text: a string, or a list of them where it comes again."""
BEGINNING = 60  # characters of a text that are shown for it


@dataclass(frozen=True, slots=True)
class Entity:
    """A labelled span of a text: characters ``start … end − 1``, and how sure the model is.

    ``confidence`` is the probability of the whole span. It is None, for all spans alike, where a
    model does not know it (its ``has_span_probabilities`` is False): in mixtures of parents,
    skip-chain CRFs and RBM-CRFs labels have probabilities, but not runs of them; with label
    histories, or a high order and many labels, labellings can only be searched; with factors
    written in Python nothing is sampled. A perceptron's is computed from scores that were not
    learnt as probabilities: it ranks spans, no more.
    """

    start: int
    end: int
    label: str
    text: str
    confidence: float | None


@dataclass(frozen=True, slots=True, repr=False)
class TaggedText:
    """A text with its tokens (start and end character), their labels, and the labelled spans.

    >>> TaggedText("Ada slept.", ((0, 3), (4, 9), (9, 10)), ("B-PER", "O", "O"),
    ...            (Entity(0, 3, "PER", "Ada", 0.9),))
    TaggedText('Ada slept.', 3 tokens, 1 entity: PER)
    """

    text: str
    tokens: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    entities: tuple[Entity, ...]

    @property
    def words(self) -> list[str]:
        """The tokens' strings."""
        return [self.text[start:end] for start, end in self.tokens]

    @property
    def fields(self) -> Fields:
        """The texts of the spans by label; a label that comes again has a list of them.

        >>> spans = Entity(0, 2, "number", "12", None), Entity(3, 12, "street", "High Road", None)
        >>> TaggedText("12 High Road", (), (), spans).fields
        {'number': '12', 'street': 'High Road'}
        """
        found: Fields = {}
        for own in self.entities:
            before = found.get(own.label)
            if before is None:
                found[own.label] = own.text
            elif isinstance(before, list):
                before.append(own.text)
            else:
                found[own.label] = [before, own.text]
        return found

    def __repr__(self) -> str:
        beginning = shorten(self.text, BEGINNING, placeholder=" …")
        sizes = f"{plural(len(self.tokens), 'token')}, {_entities(self.entities)}"
        return f"TaggedText({beginning!r}, {sizes})"

    def _repr_html_(self) -> str:
        return notebook.marked_text(self.text, self._marks())

    def _marks(self) -> list[tuple[int, int, str, str]]:
        """What is marked in a picture: the spans, or the tokens of labels that mark none."""
        if self.entities:
            return [
                (own.start, own.end, own.label, _tooltip(own.label, own.confidence))
                for own in self.entities
            ]
        tokens = zip(self.tokens, self.labels, strict=True)
        return [(*place, label, label) for place, label in tokens if label not in ("O", "")]


@dataclass(frozen=True, slots=True, repr=False)
class Prediction:
    """What a model says of a corpus; parts that were not asked for are None.

    All labels are in the scheme of the ``corpus``: its own, those of the columns of ``marginals``
    (``labels``), and those of the n-best lists.
    """

    corpus: Corpus
    labels: tuple[str, ...]  # [L], all that may come
    spans: Spans | None = None
    confidences: Floats | None = None  # [K], one per span
    marginals: Floats | None = None  # [N, L]
    nbest: list[RankedLabels] | None = None  # one per sentence
    unknown: int = 0

    @property
    def codes(self) -> Labels:
        """The predicted labels as numbers of ``labels``; −1 for one that is not among them. [N]"""
        column = self.corpus.labels
        number = {label: k for k, label in enumerate(self.labels)}
        known = np.array([number.get(value, -1) for value in column.values], np.int32)
        return known[column.codes]

    def nbest_labels(self, rank: int) -> Column:
        """The labels of the rank-th best labelling of each sentence (of the last, where fewer).

        The best is 0; n-best labellings must have been asked for (``predict(corpus, nbest=2)``).
        """
        if self.nbest is None:
            raise ParameterError("no n-best labellings were asked for: predict(corpus, nbest=2)")
        if not self.nbest:
            return Column.encode([])
        paths = [best.paths[min(rank, len(best) - 1)] for best in self.nbest]
        return Column(frozen(np.concatenate(paths).astype(np.int32)), self.nbest[0].names)

    def __repr__(self) -> str:
        return f"Prediction({', '.join([repr(self.corpus), *self._parts()])})"

    def _repr_html_(self) -> str:
        about = ", ".join(self._parts())
        return f"{self.corpus._repr_html_()}\n{notebook.paragraph(about)}"

    def _parts(self) -> list[str]:
        """What there is beside the labels, in words."""
        parts = [] if self.spans is None else [plural(len(self.spans), "span")]
        for name in ("confidences", "marginals"):
            parts += [name] if getattr(self, name) is not None else []
        return [*parts, *(["n-best labellings"] if self.nbest is not None else [])]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a tagger for a file, and the format in which it is written.

    ``marginals`` and ``nbest`` are probabilities and further labellings, as far as the format shows
    them; ``scheme`` is that of the labels that are written.
    """

    to: str = "conll"
    decoder: str | None = None
    beam: int = BEAM
    marginals: bool = False
    nbest: int = 0
    scheme: str | None = None

    def only_labels(self, model: AnyModel) -> bool:
        """Whether nothing is asked but the labels that the model gives by itself, in columns."""
        plain = self.to == "conll" and not (self.marginals or self.nbest or self.scheme)
        return plain and self.beam == BEAM and self.decoder in (None, model.decoders[0])

    def extras(self, model: AnyModel) -> dict[str, Any]:
        """What `Tagger.predict` is asked for beside labels."""
        page = self.to == "html"
        # Where spans have no probabilities, those of labels do, but a page shows only spans.
        sure = model.has_span_probabilities or (self.marginals and page)
        return {
            "confidences": model.encoding is not None and (self.marginals or page) and sure,
            "probabilities": self.marginals and not page,
            "nbest": self.nbest,
            "scheme": self.scheme,
        }


def in_their_place(labelled: Corpus, source: Corpus) -> Corpus:
    """The corpus with its columns in the order of the one that was read, further ones behind."""
    order = [name for name in source.columns if name in labelled.columns]
    names = dict.fromkeys([*order, *labelled.columns])
    columns = {name: labelled.columns[name] for name in names}
    return replace(labelled, columns=columns)


def tagged_texts(found: Prediction) -> list[TaggedText]:
    """What was found in each text of a corpus that was made from running text."""
    corpus = found.corpus
    assert corpus.starts is not None
    assert corpus.ends is not None
    assert corpus.texts is not None
    places = list(zip(corpus.starts.tolist(), corpus.ends.tolist(), strict=True))
    labels = corpus.labels.tolist()
    bounds = corpus.sentences[corpus.documents]
    entities: list[list[Entity]] = [[] for _ in corpus.texts]
    if found.spans is not None:
        sures = found.confidences
        known = [None] * len(found.spans) if sures is None else sures.tolist()
        owners = (np.searchsorted(bounds, found.spans.starts, side="right") - 1).tolist()
        for (a, b, label), sure, owner in zip(found.spans, known, owners, strict=True):
            start, end = places[a][0], places[b - 1][1]
            text = corpus.texts[owner][start:end]
            entities[owner].append(Entity(start, end, label, text, sure))
    return [
        TaggedText(text, tuple(places[a:b]), tuple(labels[a:b]), tuple(own))
        for text, own, (a, b) in zip(corpus.texts, entities, pairwise(bounds.tolist()), strict=True)
    ]


def _entities(entities: tuple[Entity, ...]) -> str:
    """How many spans there are, by type."""
    counts = Counter(own.label for own in entities)
    kinds = [label if count == 1 else f"{count:,} {label}" for label, count in counts.items()]
    number = f"{len(entities):,} " + ("entity" if len(entities) == 1 else "entities")
    return f"{number}: {', '.join(kinds)}" if kinds else number


def _tooltip(label: str, confidence: float | None) -> str:
    return label if confidence is None else f"{label}, confidence {confidence:.0%}"
