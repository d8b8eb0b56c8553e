"""What the document of a token says of it: where it stands, and how its word occurs elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.errors import ParameterError
from skipchain.features.source import Arrays, Columns
from skipchain.features.strings import read_strings, string_arrays
from skipchain.features.views import shortshape
from skipchain.kernels.intern import empty_slots, number_tuples
from skipchain.kernels.occurrences import gather_contexts, gather_longer
from skipchain.knowledge.cells import set_column
from skipchain.knowledge.truecase import Truecase
from skipchain.knowledge.words import Words
from skipchain.parallel import Workers

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

ZONE, TOPIC, PATTERN, TRUECASE, RUN, OCCURRENCE, LONGER, CONTEXT, CLUSTERS = GIVEN = (
    "zone", "topic", "pattern", "truecase", "run", "occurrence", "longer", "context",
    "context_clusters",
)  # fmt: skip
SIDES = ("before", "behind", "before_run", "behind_run")
OUTSIDE = ("<s>", "</s>")
BITS = 8  # of a neighbour's cluster
FEW = 0.25  # the share of words in lower case below which a sentence is a row of a table
ROW = 6  # words of a row that make its pattern


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Columns that look at whole documents.

    * ``zone``: headline, line of place and date, top or body; running text, a row of a table or all
      capitals; ``topic``: the first word of a headline such as `SOCCER - JAPAN WIN`.
    * ``pattern``: in rows and headlines, the shapes of the first words, and the token's place.
    * ``truecase``: the word as running text would write it, where a sentence is all capitals.
    * ``run``: the length of the run of capitalised words that a token is in, and its place there.
    * ``occurrence`` (a set): how the word occurs in the document: in lower case (``low``),
      capitalised inside sentences, in longer runs, as the initials of one.
    * ``longer`` (a set): the words that longer runs have beside this one.
    * ``context`` (a set): the words around its other occurrences, at most ``window`` tokens away
      (None: wherever they are); ``context_clusters``: their clusters, by the column ``clusters``
      where there is one.

    >>> corpus = Corpus.of([["Ann", "Lee", "won", "."], ["then", "Lee", "slept", "."]])
    >>> found = Documents().columns(corpus, Workers(1))
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
    def gives(self) -> tuple[str, ...]:
        """The names of the columns."""
        return GIVEN

    @property
    def told(self) -> str:
        """What the source knows, in a few words."""
        return "what the document says" + (
            "" if self.window is None else f", {self.window} tokens around"
        )

    def learnt(self, corpus: Corpus, progress: Any = None) -> tuple[Self, Columns]:
        """How words are written is learnt."""
        own = replace(self, truecase=self.truecase.widened(Words(corpus)))
        return own, own.columns(corpus, Workers(1))

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """All columns; they are cheap, so that none is left out."""
        words = Words(corpus)
        true = self.truecase.column(words)
        runs = Runs(words, true)
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
            CONTEXT: runs.context(words.fold, words.folds, window, self.most),
            CLUSTERS: Column.constant("", corpus.n_tokens)
            if cluster is None
            else runs.context(*_shortened(cluster), window, self.most),
        }

    def described(self) -> dict[str, Any]:
        """Settings, as JSON can hold them."""
        return {"window": self.window, "most": self.most, "clusters": self.clusters}

    def arrays(self) -> Arrays:
        """How words are written."""
        own = self.truecase
        return string_arrays("folds", own.folds) | string_arrays("forms", own.forms)

    @classmethod
    def restored(cls, described: Mapping[str, Any], arrays: Arrays) -> Documents:
        """The inverse of `described` and `arrays`; a ValueError says what does not fit."""
        folds, forms = (read_strings(name, arrays) for name in ("folds", "forms"))
        if len(folds) != len(forms):
            raise ValueError("there are not as many forms as words")
        return cls(
            described["window"], described["most"], str(described["clusters"]),
            Truecase(folds, forms),
        )  # fmt: skip


def _shortened(column: Column) -> tuple[Ints, list[str]]:
    """The first bits of clusters: numbers [N], and their strings."""
    short = [value[:BITS] for value in column.values]
    names = list(dict.fromkeys(short))
    number = {name: k for k, name in enumerate(names)}
    return np.array([number[value] for value in short], np.int64)[column.codes], names


def zones(words: Words) -> Column:
    """Where in its document a sentence stands, and what kind of sentence it is."""
    corpus = words.corpus
    lengths = np.diff(corpus.sentences)
    first = np.repeat(corpus.documents[:-1], np.diff(corpus.documents))
    number = np.arange(len(lengths)) - first
    place = np.select([number == 0, (number == 1) & (lengths <= 4), number < 4], [0, 1, 2], 3)
    kind = np.select([words.shouted, words.share(words.low) < FEW], [0, 1], 2)
    size = np.select([lengths == 1, lengths < 6], [0, 1], 2)
    digits = (words.share(words.numeric) > 0.3).astype(np.int64)
    codes = ((place * 3 + kind) * 3 + size) * 2 + digits
    names = [
        f"{place}-{kind}{size}{digits}"
        for place in ("head", "date", "top", "body")
        for kind in ("capitals", "row", "text")
        for size in ("-one", "-few", "")
        for digits in ("", "-digits")
    ]
    return Column(frozen(codes[words.sentence].astype(np.int32)), tuple(names))


def patterns(words: Words) -> Column:
    """The shapes of the first words of a sentence with few words in lower case, and a place in it.

    Rows of a table have one pattern, and each column of the table its place.
    """
    corpus = words.corpus
    own = corpus.words
    shapes = Column.encode([str(shape) for shape in shortshape(own.values)])
    chosen = np.flatnonzero(
        (words.shouted | (words.share(words.low) < FEW)) & (np.diff(corpus.sentences) > 0)
    )
    first, lengths = corpus.sentences[chosen], np.diff(corpus.sentences)[chosen]
    places = np.minimum(first[:, None] + np.arange(ROW), first[:, None] + lengths[:, None] - 1)
    keys = np.where(np.arange(ROW) < lengths[:, None], shapes.codes[own.codes[places]] + 1, 0)
    keys = np.column_stack([keys, lengths > ROW]).astype(np.int32)
    numbers, rows, _ = number_tuples(keys, empty_slots(len(keys)))
    tokens = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    place = np.minimum(tokens - np.repeat(first, lengths), ROW)
    used, cells = np.unique(
        np.repeat(numbers, lengths).astype(np.int64) * (ROW + 1) + place, return_inverse=True
    )
    told = ["_".join(shapes.values[k - 1] for k in row[:ROW] if k) for row in rows.tolist()]
    more = ["+" if row[ROW] else "" for row in rows.tolist()]
    codes = np.zeros(corpus.n_tokens, np.int32)
    codes[tokens] = cells + 1
    texts = [f"{told[k // (ROW + 1)]}{more[k // (ROW + 1)]}@{k % (ROW + 1)}" for k in used.tolist()]
    return Column(frozen(codes), ("", *texts))


def topics(words: Words) -> Column:
    """The first word of a document's headline, where a dash follows within two words."""
    corpus = words.corpus
    own = corpus.words
    dash = np.array([value in ("-", "--", "–", "—", ":") for value in own.values], np.bool_)
    starts = corpus.sentences[np.minimum(corpus.documents[:-1], len(corpus))]
    after = corpus.sentences[np.minimum(corpus.documents[:-1] + 1, len(corpus))]
    codes = np.full(corpus.n_documents, len(own.values), np.int64)
    for ahead in (2, 1):
        at = np.flatnonzero(starts + ahead < after)
        named = at[dash[own.codes[starts[at] + ahead]]]
        codes[named] = own.codes[starts[named]]
    return Column(frozen(codes[words.document].astype(np.int32)), (*own.values, "<none>"))


@dataclass(frozen=True)
class Runs:
    """Runs of capitalised words, and the occurrences of words in them."""

    words: Words
    true: Column

    @cached_property
    def capital(self) -> Flags:
        """Whether running text would write a token with a capital. [N]"""
        flags = np.array([value[:1].isupper() for value in self.true.values], np.bool_)
        return flags[self.true.codes]

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """Where the run that a token is in begins and ends; nowhere for other tokens. [N], [N]"""
        n = len(self.capital)
        cut = np.append(~self.words.inside, True)
        cut[1:-1] |= self.capital[1:] != self.capital[:-1]
        places = np.flatnonzero(cut) if n else np.zeros(1, np.int64)
        lengths = np.diff(places)
        begins, ends = np.repeat(places[:-1], lengths), np.repeat(places[1:], lengths)
        return begins, np.where(self.capital, ends, begins)

    @cached_property
    def key(self) -> Ints:
        """A number for each word of each document. [N]"""
        return self.words.document * len(self.words.folds) + self.words.fold

    def _groups(self, kept: Flags) -> tuple[Ints, Ints, Ints]:
        """The kept occurrences by word and document: order, where each group begins, group [N]."""
        where = np.flatnonzero(kept)
        order = where[np.argsort(self.key[where], kind="stable")]
        keys, first = np.unique(self.key[order], return_index=True)
        group = np.full(len(kept), -1, np.int64)
        if len(keys):
            at = np.minimum(np.searchsorted(keys, self.key), len(keys) - 1)
            group = np.where(keys[at] == self.key, at, -1)
        return order, np.append(first, len(order)), group

    @cached_property
    def plain(self) -> Flags:
        """Whether a token's sentence is not all capitals. [N]"""
        return ~self.words.shouted[self.words.sentence]

    def _count(self, kept: Flags) -> Ints:
        """How many kept tokens of its document have a token's word. [N]"""
        keys, counts = np.unique(self.key[kept], return_counts=True)
        if not len(keys):
            return np.zeros(len(kept), np.int64)
        at = np.minimum(np.searchsorted(keys, self.key), len(keys) - 1)
        return np.where(keys[at] == self.key, counts[at], 0)

    @property
    def column(self) -> Column:
        """Length of the run and place in it; empty for other tokens."""
        begins, ends = self.bounds
        length = np.minimum(ends - begins, 4)
        place = np.minimum(np.arange(len(begins)) - begins, 3)
        codes = np.where(length > 0, (length - 1) * 4 + place, 16).astype(np.int32)
        names = [f"{length}-{place}" for length in range(1, 5) for place in range(1, 5)]
        return Column(frozen(codes), (*names, ""))

    @property
    def occurrence(self) -> Column:
        """How the word occurs in the document, for words that do so with a capital."""
        words = self.words
        begins, ends = self.bounds
        place = np.arange(len(begins)) - begins
        long = self.capital & self.plain & (ends - begins > 1)
        last = place == ends - begins - 1
        inside = self._count(self.plain & words.inside & words.capitalised)
        number = self._count(self.capital)
        facts = {
            "low": self._count(self.plain & ~words.capitalised & words.low) > 0,
            "initials": self._initials(),
            "first_of_run": self._count(long & (place == 0)) > 0,
            "last_of_run": self._count(long & last) > 0,
            "inside_run": self._count(long & (place > 0) & ~last) > 0,
        }
        for many in (1, 2, 3):
            facts[f"capital_{many}"] = np.minimum(inside, 3) == many
        for many in (1, 2, 3, 4):
            facts[f"times_{many}"] = np.minimum(number, 4) == many
        known = number > 0
        pairs = [np.flatnonzero(flags & known) for flags in facts.values()]
        codes = np.repeat(np.arange(len(pairs)), [len(own) for own in pairs])
        names = np.array(list(facts), object)
        return set_column(
            np.concatenate(pairs), codes.astype(np.int32), len(begins), lambda k: names[k].tolist()
        )

    def _initials(self) -> Flags:
        """Whether a token in capitals is the initials of a run of its document. [N]"""
        corpus = self.words.corpus
        values = corpus.words.values
        begins, ends = self.bounds
        starts = np.flatnonzero((np.arange(len(begins)) == begins) & (ends - begins > 1))
        letters = np.array([value[:1].lower() for value in values], object)[corpus.words.codes]
        documents = self.words.document
        short = {
            (document, "".join(letters[a:b]))
            for document, a, b in zip(
                documents[starts].tolist(), starts.tolist(), ends[starts].tolist(), strict=True
            )
        }
        upper = np.array([value.isupper() and len(value) > 1 for value in values], np.bool_)
        found = np.zeros(len(begins), np.bool_)
        for t in np.flatnonzero(upper[corpus.words.codes]).tolist():
            found[t] = (int(documents[t]), values[corpus.words.codes[t]].lower()) in short
        return found

    def longer(self, most: int) -> Column:
        """The words that longer runs have beside the run of a token."""
        begins, ends = self.bounds
        names = self.words.folds
        order, first, group = self._groups(self.capital & self.plain)
        tokens, codes = gather_longer(
            order, first, group, self.words.fold, len(names), most, begins, ends
        )
        return self._column(tokens, codes, names)

    def context(self, values: Ints, names: list[str], window: int, most: int) -> Column:
        """The values around other occurrences of a token's word."""
        begins, ends = self.bounds
        order, first, group = self._groups(self.capital & self.plain)
        sentences = self.words.corpus.sentences
        low, high = sentences[:-1][self.words.sentence], sentences[1:][self.words.sentence]
        names = [*names, *OUTSIDE]
        tokens, codes = gather_contexts(
            order, first, group, values, len(names), window, most, begins, ends, low, high
        )
        return self._column(tokens, codes, names)

    def _column(self, tokens: Ints, codes: NDArray[np.int32], names: list[str]) -> Column:
        whole = ["_".join(name.split()) for name in names]  # spaces part the values of a cell

        def named(codes: NDArray[np.int32]) -> list[str]:
            size = len(whole)
            pairs = zip((codes // size).tolist(), (codes % size).tolist(), strict=True)
            return [f"{SIDES[side]}={whole[k]}" for side, k in pairs]

        return set_column(tokens, codes, len(self.key), named)
