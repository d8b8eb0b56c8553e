"""Sources: what gives a corpus further columns before templates read it.

A lexicon, word clusters, the structure of a document, the predictions of an earlier model: each is
a source of columns, which templates read as they read those of the data. Sources belong to the
features of a model, so that every model can use them, and are kept in its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from skipchain.arrays import Arrays
from skipchain.corpus import Column, Corpus
from skipchain.errors import TemplateError
from skipchain.parallel import Workers

Columns = Mapping[str, Column]


@runtime_checkable
class Annotator(Protocol):
    """Gives the columns ``provides``, one string a token.

    ``config`` and ``arrays`` are what a model file keeps, and ``from_config`` the way back.
    """

    kind: ClassVar[str]

    @property
    def provides(self) -> tuple[str, ...]:
        """The names of the columns."""

    @property
    def description(self) -> str:
        """What the source knows, in a few words."""

    def fit(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """The source as a model keeps it, and the columns of the corpus that the model learns from.

        What a source takes from labels must not be shown to the tokens that have these labels.
        ``progress`` is the display of training, for sources that take long.
        """

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The columns of any other corpus."""

    def config(self) -> dict[str, Any]:
        """Settings, as JSON can hold them."""

    def arrays(self) -> Arrays:
        """Everything else."""


class StatelessAnnotator:
    """What sources share that learn nothing: the columns of training are those of any corpus."""

    __slots__ = ()

    def fit(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """Nothing is learnt."""
        return self, self.columns(corpus, Workers(1))

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """The columns of any corpus."""
        raise NotImplementedError


def fit_annotators(
    annotators: Iterable[Annotator], corpus: Corpus, progress: Any = None
) -> tuple[tuple[Annotator, ...], Corpus]:
    """Sources as a model keeps them, and the corpus with their columns.

    Each sees the columns of those before it. Columns that the corpus has already are taken as they
    are.
    """
    kept = []
    for source in annotators:
        if not _has(corpus, source):
            source, columns = source.fit(corpus, progress)  # noqa: PLW2901
            corpus = _with(corpus, columns)
        kept.append(source)
    return tuple(kept), corpus


def annotate(annotators: Iterable[Annotator], corpus: Corpus, workers: Workers) -> Corpus:
    """The corpus with the columns of all sources, but those that it has already."""
    for source in annotators:
        if not _has(corpus, source):
            corpus = _with(corpus, source.columns(corpus, workers))
    return corpus


def _has(corpus: Corpus, source: Annotator) -> bool:
    """Whether the corpus has the columns of a source already; some of them would not be enough."""
    there = [name for name in source.provides if name in corpus.columns]
    if there and len(there) < len(source.provides):
        raise TemplateError(
            f"the data have a column {there[0]!r}, which is also the name of one that "
            f"{type(source).__name__} gives; rename the column of the data"
        )
    return bool(there)


def _with(corpus: Corpus, columns: Columns) -> Corpus:
    for name, column in columns.items():
        corpus = corpus.with_column(name, column)
    return corpus
