"""Runs of capitalised words, and how the words in them occur through their document."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skipchain.annotators.casing import TokenCasing, word_facts
from skipchain.annotators.set_column import set_column
from skipchain.arrays import Bools, Ints, offsets_of
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.kernels.occurrences import gather_contexts, gather_longer

SIDES = ("before", "behind", "before_run", "behind_run")
OUTSIDE = ("<s>", "</s>")


@dataclass(frozen=True)
class CapitalizedRuns:
    """Runs of capitalised words, and the occurrences of words in them."""

    words: TokenCasing
    truecased: Column

    @cached_property
    def is_truecased_capital(self) -> Bools:
        """Whether running text would write a token with a capital. [N]"""
        return word_facts(self.truecased.values).is_capitalized[self.truecased.codes]

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """Where the run that a token is in begins and ends; nowhere for other tokens. [N], [N]"""
        n = len(self.is_truecased_capital)
        cut = np.append(~self.words.not_first, True)
        cut[1:-1] |= self.is_truecased_capital[1:] != self.is_truecased_capital[:-1]
        places = np.flatnonzero(cut) if n else np.zeros(1, np.int64)
        lengths = np.diff(places)
        begins, ends = np.repeat(places[:-1], lengths), np.repeat(places[1:], lengths)
        return begins, np.where(self.is_truecased_capital, ends, begins)

    def _occurrences(self) -> tuple[Ints, Ints, Ints]:
        """The capitalised tokens by word and document: order [K], offsets [W + 1], word [N]."""
        where = np.flatnonzero(self.is_truecased_capital & self.not_upper)
        words = self.words.document_words
        order = where[np.argsort(words[where], kind="stable")]
        counts = np.bincount(words[where], minlength=words.max(initial=-1) + 1)
        return order, offsets_of(counts), words

    @cached_property
    def not_upper(self) -> Bools:
        """Whether a token's sentence is not all capitals. [N]"""
        return ~self.words.sentence_is_upper[self.words.sentence_ids]

    def _count_in_document(self, kept: Bools) -> Ints:
        """How many of the kept tokens of its document have a token's word. [N]"""
        words = self.words.document_words
        return np.bincount(words[kept], minlength=words.max(initial=-1) + 1)[words]

    @property
    def column(self) -> Column:
        """The length of a token's run and its place there; empty for other tokens."""
        begins, ends = self.bounds
        length = np.minimum(ends - begins, 4)
        place = np.minimum(np.arange(len(begins)) - begins, 3)
        codes = np.where(length > 0, (length - 1) * 4 + place, 16).astype(np.int32)
        names = [f"{length}-{place}" for length in range(1, 5) for place in range(1, 5)]
        return Column(frozen(codes), (*names, ""))

    @property
    def occurrence(self) -> Column:
        """How the word occurs in the document, for words that do so with a capital."""
        words, count = self.words, self._count_in_document
        begins, ends = self.bounds
        place = np.arange(len(begins)) - begins
        long = self.is_truecased_capital & self.not_upper & (ends - begins > 1)
        last = place == ends - begins - 1
        inside = count(self.not_upper & words.not_first & words.is_capitalized)
        number = count(self.is_truecased_capital)
        facts = {
            "low": count(self.not_upper & ~words.is_capitalized & words.is_lowercase) > 0,
            "initials": self._initials(),
            "first_of_run": count(long & (place == 0)) > 0,
            "last_of_run": count(long & last) > 0,
            "inside_run": count(long & (place > 0) & ~last) > 0,
        }
        for many in (1, 2, 3):
            facts[f"capital_{many}"] = np.minimum(inside, 3) == many
        for many in (1, 2, 3, 4):
            facts[f"times_{many}"] = np.minimum(number, 4) == many
        codes, tokens = np.nonzero(np.stack(list(facts.values())) & (number > 0))
        names = np.array(list(facts), object)
        return set_column(tokens, codes.astype(np.int32), len(begins), lambda k: names[k].tolist())

    def _initials(self) -> Bools:
        """Whether a token in capitals is the initials of a run of its document. [N]"""
        corpus = self.words.corpus
        facts, codes = self.words.facts, corpus.words.codes
        begins, ends = self.bounds
        starts = np.flatnonzero((np.arange(len(begins)) == begins) & (ends - begins > 1))
        first = np.array([*(value[:1].lower() for value in corpus.words.values), ""], object)
        letters = first[codes].tolist()
        documents = self.words.document_ids
        runs = zip(documents[starts].tolist(), starts.tolist(), ends[starts].tolist(), strict=True)
        acronyms = {(document, "".join(letters[start:end])) for document, start, end in runs}
        initials = np.zeros(len(begins), np.bool_)
        tokens = np.flatnonzero(facts.is_acronym[codes])
        written = facts.lowercase[codes[tokens]].tolist()
        pairs = zip(documents[tokens].tolist(), written, strict=True)
        initials[tokens] = [pair in acronyms for pair in pairs]
        return initials

    def longer(self, most: int) -> Column:
        """The words that longer runs have before or behind the run of a token."""
        names, ids = self.words.lowercase_forms, self.words.lowercase_ids
        tokens, codes = gather_longer(*self._occurrences(), ids, len(names), most, *self.bounds)
        return self._column(tokens, codes, names)

    def context(self, values: Ints, names: list[str], window: int, most: int) -> Column:
        """The values around other occurrences of a token's word."""
        sentences, ids = self.words.corpus.sentences, self.words.sentence_ids
        places = *self.bounds, sentences[:-1][ids], sentences[1:][ids]
        names = [*names, *OUTSIDE]
        limits = len(names), window, most
        tokens, codes = gather_contexts(*self._occurrences(), values, *limits, *places)
        return self._column(tokens, codes, names)

    def _column(self, tokens: Ints, codes: NDArray[np.int32], names: list[str]) -> Column:
        def texts(codes: NDArray[np.int32]) -> list[str]:
            used = np.zeros(len(SIDES) * len(names), np.bool_)
            used[codes] = True
            distinct = np.flatnonzero(used)
            pairs = zip(*(part.tolist() for part in divmod(distinct, len(names))), strict=True)
            # spaces separate the items of a cell
            items = [f"{SIDES[side]}={'_'.join(names[k].split())}" for side, k in pairs]
            place = np.zeros(len(used), np.int32)
            place[distinct] = np.arange(len(distinct))
            return np.array([*items, ""], object)[place[codes]].tolist()  # type: ignore[no-any-return]

        return set_column(tokens, codes, len(self.words.document_words), texts)
