"""What the document of a token says of it: where it stands, and how its word occurs elsewhere."""

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
from skipchain.corpus import Column, Corpus
from skipchain.errors import ParameterError
from skipchain.features.annotator import Columns
from skipchain.features.strings import strings_from_arrays, strings_to_arrays
from skipchain.parallel import Workers

ZONE, TOPIC, PATTERN, TRUECASE, RUN, OCCURRENCE, LONGER, CONTEXT, CLUSTERS = COLUMN_NAMES = (
    "zone", "topic", "pattern", "truecase", "run", "occurrence", "longer", "context",
    "context_clusters",
)  # fmt: skip
PREFIX_BITS = 8  # of a neighbour's cluster


@dataclass(frozen=True, slots=True, eq=False)
class DocumentContext:
    """Columns that look at whole documents.

    * ``zone``: headline, line of place and date, top or body; running text, a row of a table or all
      capitals; ``topic``: the first word of a headline such as `SOCCER - JAPAN WIN`.
    * ``pattern``: in rows and headlines, the shapes of the first words, and the token's place.
    * ``truecase``: the word as running text would write it, where a sentence is all capitals or
      begins with it.
    * ``run``: the length of the run of capitalised words that a token is in, and its place there.
    * ``occurrence`` (a set): how the word occurs in the document: in lower case (``is_lowercase``),
      capitalised inside sentences, in longer runs, as the initials of one.
    * ``longer`` (a set): the words that longer runs have beside this one.
    * ``context`` (a set): the words around its other occurrences, at most ``window`` tokens away
      (None: wherever they are); ``context_clusters``: their clusters, by the column ``clusters``
      where there is one.

    >>> corpus = Corpus.of([["Ann", "Lee", "won", "."], ["then", "Lee", "slept", "."]])
    >>> found = DocumentContext().columns(corpus, Workers(1))
    >>> found["longer"].tolist()[5], found["context"].tolist()[5]
    ('before=ann', 'before=ann behind=won before_run=<s> behind_run=won')
    """

    kind: ClassVar[str] = "documents"

    window: int | None = 200
    most: int = 25
    clusters: str = "brown"
    truecase: Truecase = field(default_factory=lambda: Truecase.of({}))

    def __post_init__(self) -> None:
        for name in ("window", "most"):
            value = getattr(self, name)
            if name == "window" and value is None:
                continue
            if not isinstance(value, int) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")

    @property
    def provides(self) -> tuple[str, ...]:
        """The names of the columns."""
        return COLUMN_NAMES

    @property
    def description(self) -> str:
        """What the source knows, in a few words."""
        return "what the document says" + (
            "" if self.window is None else f", {self.window} tokens around"
        )

    def fit(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """How words are written is learnt."""
        own = replace(self, truecase=self.truecase.extended(TokenCasing(corpus)))
        return own, own.columns(corpus, Workers(1))

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """All columns; they are cheap, so that none is left out."""
        words = TokenCasing(corpus)
        true = self.truecase.column(words)
        runs = CapitalizedRuns(words, true)
        window = corpus.n_tokens + 1 if self.window is None else self.window
        cluster = corpus.columns.get(self.clusters)
        return {
            ZONE: zones(words),
            TOPIC: topics(words),
            PATTERN: patterns(words),
            TRUECASE: true,
            RUN: runs.column,
            OCCURRENCE: runs.occurrence,
            LONGER: runs.longer(self.most),
            CONTEXT: runs.context(words.lowercase_ids, words.lowercase_forms, window, self.most),
            CLUSTERS: Column.constant("", corpus.n_tokens)
            if cluster is None
            else runs.context(*_cluster_prefixes(cluster), window, self.most),
        }

    def config(self) -> dict[str, Any]:
        """Settings, as JSON can hold them."""
        return {"window": self.window, "most": self.most, "clusters": self.clusters}

    def arrays(self) -> Arrays:
        """How words are written."""
        own = self.truecase
        return strings_to_arrays("folds", own.lowercase_forms) | strings_to_arrays(
            "forms", own.forms
        )

    @classmethod
    def from_config(cls, config: Mapping[str, Any], arrays: Arrays) -> DocumentContext:
        """The inverse of `config` and `arrays`; a ValueError says what does not fit."""
        folds, forms = (strings_from_arrays(name, arrays) for name in ("folds", "forms"))
        if len(folds) != len(forms):
            raise ValueError("there are not as many forms as words")
        return cls(
            config["window"], config["most"], str(config["clusters"]), Truecase(folds, forms)
        )


def _cluster_prefixes(column: Column) -> tuple[Ints, list[str]]:
    """The first bits of clusters: numbers [N], and their strings."""
    short = [value[:PREFIX_BITS] for value in column.values]
    names = list(dict.fromkeys(short))
    number = {name: k for k, name in enumerate(names)}
    return np.array([number[value] for value in short], np.int64)[column.codes], names
