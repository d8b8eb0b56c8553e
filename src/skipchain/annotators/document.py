"""Columns from the whole document: where a token stands, and how its word occurs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.annotators.capitals import CapitalizedRuns
from skipchain.annotators.casing import TokenCasing
from skipchain.annotators.layout import patterns, topics, zones
from skipchain.annotators.truecase import Truecase
from skipchain.arrays import Arrays, Ints
from skipchain.checks import check_integer
from skipchain.corpus import Column, Corpus
from skipchain.features.annotator import COLUMN, Columns
from skipchain.features.strings import strings_from_arrays, strings_schema, strings_to_arrays
from skipchain.parallel import Workers
from skipchain.schema.arrays import ArraySchema, check_arrays
from skipchain.schema.fields import Field, Nullable, Whole

ZONE, TOPIC, PATTERN, TRUECASE, RUN, OCCURRENCE, LONGER, CONTEXT, CLUSTERS = COLUMN_NAMES = (
    "zone", "topic", "pattern", "truecase", "run", "occurrence", "longer", "context",
    "context_clusters",
)  # fmt: skip
PREFIX_BITS = 8  # of a neighbour's cluster
MAX_WINDOW, MAX_CONTEXTS = 1_000_000, 1_000


@dataclass(frozen=True, slots=True, eq=False)
class DocumentContext:
    """Columns that look at whole documents.

    * ``zone``: headline, line of place and date, top or body; running text, a row of a table or all
      capitals; ``topic``: the first word of a headline such as `SOCCER - JAPAN WIN`.
    * ``pattern``: in rows and headlines, the shapes of the first words, and the token's place.
    * ``truecase``: the word as running text would write it, where a sentence is all capitals or
      begins with it.
    * ``run``: the length of the run of capitalised words that a token is in, and its place there.
    * ``occurrence`` (a set): how the word occurs in the document: in lower case (``low``),
      capitalised inside sentences, in longer runs, as the initials of one.
    * ``longer`` (a set): the words that longer runs have before or behind this one.
    * ``context`` (a set): the words around its other occurrences, at most ``window`` tokens away
      (None: wherever they are); ``context_clusters``: their clusters, by the column ``clusters``
      where there is one.

    >>> corpus = Corpus.of([["Ann", "Lee", "won", "."], ["then", "Lee", "slept", "."]])
    >>> columns = DocumentContext().columns(corpus, Workers(1))
    >>> columns["longer"].tolist()[5], columns["context"].tolist()[5]
    ('before=ann', 'before=ann behind=won before_run=<s> behind_run=won')
    """

    kind: ClassVar[str] = "documents"
    config_fields: ClassVar[Mapping[str, Field]] = {
        "window": Nullable(Whole(1, MAX_WINDOW)),
        "most": Whole(1, MAX_CONTEXTS),
        "clusters": COLUMN,
    }

    window: int | None = 200
    most: int = 25
    clusters: str = "brown"
    truecase: Truecase = field(default_factory=lambda: Truecase.of({}), repr=False)

    def __post_init__(self) -> None:
        check_integer("most", self.most, most=MAX_CONTEXTS)
        if self.window is not None:
            check_integer("window", self.window, most=MAX_WINDOW)

    @property
    def provides(self) -> tuple[str, ...]:
        """The names of the columns."""
        return COLUMN_NAMES

    @property
    def description(self) -> str:
        """A short description of the annotator, for summaries."""
        around = "" if self.window is None else f", {self.window} tokens around"
        return f"what the document says{around}"

    def fit(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """The annotator with the usual case of the corpus' words, and its columns."""
        fitted = replace(self, truecase=self.truecase.extended(TokenCasing(corpus)))
        return fitted, fitted.columns(corpus, Workers(1))

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """All columns of the corpus; they are cheap, so that none is left out."""
        words = TokenCasing(corpus)
        truecased = self.truecase.column(words)
        runs = CapitalizedRuns(words, truecased)
        window = corpus.n_tokens + 1 if self.window is None else self.window
        cluster = corpus.columns.get(self.clusters)
        return {
            ZONE: zones(words),
            TOPIC: topics(words),
            PATTERN: patterns(words),
            TRUECASE: truecased,
            RUN: runs.column,
            OCCURRENCE: runs.occurrence,
            LONGER: runs.longer(self.most),
            CONTEXT: runs.context(words.lowercase_ids, words.lowercase_forms, window, self.most),
            CLUSTERS: Column.constant("", corpus.n_tokens)
            if cluster is None
            else runs.context(*_cluster_prefixes(cluster), window, self.most),
        }

    def config(self) -> dict[str, Any]:
        """The settings, as JSON can hold them."""
        return {"window": self.window, "most": self.most, "clusters": self.clusters}

    def arrays(self) -> Arrays:
        """How words are mostly written, as arrays by name."""
        folds = strings_to_arrays("folds", self.truecase.lowercase_forms)
        return folds | strings_to_arrays("forms", self.truecase.forms)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], arrays: Arrays) -> DocumentContext:
        """The annotator of a `config` and `arrays`; an `ArrayError` says what does not fit."""
        check_arrays(cls.array_schema(config), arrays)
        folds, forms = (strings_from_arrays(name, arrays) for name in ("folds", "forms"))
        return cls(config["window"], config["most"], config["clusters"], Truecase(folds, forms))

    @classmethod
    def array_schema(cls, config: Mapping[str, Any]) -> dict[str, ArraySchema]:
        """What the arrays of a document context must be."""
        return strings_schema("folds", "words") | strings_schema("forms", "words")


def _cluster_prefixes(column: Column) -> tuple[Ints, list[str]]:
    """The first bits of clusters: numbers [N], and their strings."""
    short = [value[:PREFIX_BITS] for value in column.values]
    names = list(dict.fromkeys(short))
    number = {name: k for k, name in enumerate(names)}
    return np.array([number[value] for value in short], np.int64)[column.codes], names
