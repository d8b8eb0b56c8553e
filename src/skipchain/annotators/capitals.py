"""Runs of capitalised words, and how the words in them occur through their document."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skipchain.annotators.casing import TokenCasing
from skipchain.annotators.set_column import set_column
from skipchain.arrays import Bools, Ints
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
        flags = np.array([value[:1].isupper() for value in self.truecased.values], np.bool_)
        return flags[self.truecased.codes]

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

    @cached_property
    def word_keys(self) -> Ints:
        """A number for each word of each document. [N]"""
        return self.words.document_ids * len(self.words.lowercase_forms) + self.words.lowercase_ids

    def _group_occurrences(self, kept: Bools) -> tuple[Ints, Ints, Ints]:
        """The kept occurrences by word and document: order, where each group begins, group [N]."""
        where = np.flatnonzero(kept)
        order = where[np.argsort(self.word_keys[where], kind="stable")]
        keys, first = np.unique(self.word_keys[order], return_index=True)
        group = np.full(len(kept), -1, np.int64)
        if len(keys):
            at = np.minimum(np.searchsorted(keys, self.word_keys), len(keys) - 1)
            group = np.where(keys[at] == self.word_keys, at, -1)
        return order, np.append(first, len(order)), group

    @cached_property
    def not_upper(self) -> Bools:
        """Whether a token's sentence is not all capitals. [N]"""
        return ~self.words.sentence_is_upper[self.words.sentence_ids]

    def _count_in_document(self, kept: Bools) -> Ints:
        """How many kept tokens of its document have a token's word. [N]"""
        keys, counts = np.unique(self.word_keys[kept], return_counts=True)
        if not len(keys):
            return np.zeros(len(kept), np.int64)
        at = np.minimum(np.searchsorted(keys, self.word_keys), len(keys) - 1)
        return np.where(keys[at] == self.word_keys, counts[at], 0)

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
        long = self.is_truecased_capital & self.not_upper & (ends - begins > 1)
        last = place == ends - begins - 1
        inside = self._count_in_document(self.not_upper & words.not_first & words.is_capitalized)
        number = self._count_in_document(self.is_truecased_capital)
        facts = {
            "low": self._count_in_document(
                self.not_upper & ~words.is_capitalized & words.is_lowercase
            )
            > 0,
            "initials": self._initials(),
            "first_of_run": self._count_in_document(long & (place == 0)) > 0,
            "last_of_run": self._count_in_document(long & last) > 0,
            "inside_run": self._count_in_document(long & (place > 0) & ~last) > 0,
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

    def _initials(self) -> Bools:
        """Whether a token in capitals is the initials of a run of its document. [N]"""
        corpus = self.words.corpus
        values = corpus.words.values
        begins, ends = self.bounds
        starts = np.flatnonzero((np.arange(len(begins)) == begins) & (ends - begins > 1))
        letters = np.array([value[:1].lower() for value in values], object)[corpus.words.codes]
        documents = self.words.document_ids
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
        names = self.words.lowercase_forms
        order, first, group = self._group_occurrences(self.is_truecased_capital & self.not_upper)
        tokens, codes = gather_longer(
            order, first, group, self.words.lowercase_ids, len(names), most, begins, ends
        )
        return self._column(tokens, codes, names)

    def context(self, values: Ints, names: list[str], window: int, most: int) -> Column:
        """The values around other occurrences of a token's word."""
        begins, ends = self.bounds
        order, first, group = self._group_occurrences(self.is_truecased_capital & self.not_upper)
        sentences = self.words.corpus.sentences
        low, high = sentences[:-1][self.words.sentence_ids], sentences[1:][self.words.sentence_ids]
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

        return set_column(tokens, codes, len(self.word_keys), named)
