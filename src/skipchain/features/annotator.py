"""Annotators: they add columns to a corpus, which templates read as they read those of the data.

A lexicon, word clusters, the structure of a document, the predictions of a base model: each is an
annotator. Annotators belong to the features of a model, so that every model can use them, and are
kept in its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from skipchain.arrays import Arrays
from skipchain.corpus import Column, Corpus
from skipchain.errors import TemplateError
from skipchain.parallel import Workers
from skipchain.schema.fields import Field, Text

Columns = Mapping[str, Column]
COLUMN = Text(least=1, most=1000)  # the name of a column in a `config`


@runtime_checkable
class Annotator(Protocol):
    """Adds the columns ``provides`` to a corpus, one string a token.

    ``config`` and ``arrays`` are what a model file keeps, and ``from_config`` the way back.
    """

    kind: ClassVar[str]

    @property
    def provides(self) -> tuple[str, ...]:
        """The names of the columns that are added."""

    @property
    def description(self) -> str:
        """A short description of the annotator, for summaries."""

    def fit(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """The fitted annotator, which a model keeps, and the columns of the training corpus.

        What is learned from labels must not be shown to the tokens that have these labels.
        ``progress`` is the display of training, for annotators that take long.
        """

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The columns of a corpus other than the training corpus."""

    def config(self) -> dict[str, Any]:
        """The settings, as JSON can hold them."""

    def arrays(self) -> Arrays:
        """All that is not in `config`, as arrays by name."""


class StatelessAnnotator:
    """Base of annotators with one ``column`` and nothing to fit: any corpus is treated alike."""

    __slots__ = ()
    config_fields: ClassVar[Mapping[str, Field]] = {"column": COLUMN}
    """What a model file may have as `config`."""
    column: str

    @property
    def provides(self) -> tuple[str, ...]:
        """The name of the column that is added."""
        return (self.column,)

    def fit(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """The annotator itself, and the columns of the training corpus."""
        return self, self.columns(corpus, Workers(1))

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The columns of a corpus."""
        raise NotImplementedError

    def config(self) -> dict[str, Any]:
        """The settings, as JSON can hold them."""
        return {"column": self.column}


def fit_annotators(
    annotators: Iterable[Annotator], corpus: Corpus, progress: Any = None
) -> tuple[tuple[Annotator, ...], Corpus]:
    """The fitted annotators, and the corpus with their columns.

    Each sees the columns of those before it. Columns that the corpus has already are taken as they
    are.
    """
    fitted = []
    for annotator in annotators:
        if not _has(corpus, annotator):
            annotator, columns = annotator.fit(corpus, progress)  # noqa: PLW2901
            corpus = _with(corpus, columns)
        fitted.append(annotator)
    return tuple(fitted), corpus


def annotate(annotators: Iterable[Annotator], corpus: Corpus, workers: Workers) -> Corpus:
    """The corpus with the columns of all annotators; columns that it has already are kept."""
    for annotator in annotators:
        if not _has(corpus, annotator):
            corpus = _with(corpus, annotator.columns(corpus, workers))
    return corpus


def _has(corpus: Corpus, annotator: Annotator) -> bool:
    """Whether the corpus has an annotator's columns already; only some of them are an error."""
    present = [name for name in annotator.provides if name in corpus.columns]
    if present and len(present) < len(annotator.provides):
        other = f"which is also the name of one that {type(annotator).__name__} gives"
        fault = f"the data have a column {present[0]!r}, {other}"
        raise TemplateError(f"{fault}; rename the column of the data")
    return bool(present)


def _with(corpus: Corpus, columns: Columns) -> Corpus:
    for name, column in columns.items():
        corpus = corpus.with_column(name, column)
    return corpus
