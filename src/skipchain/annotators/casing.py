"""The words of a corpus by their letters, and its sentences by their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.annotators.word_memo import Facts, WordMemo
from skipchain.arrays import Bools, Floats, Ints
from skipchain.corpus import Corpus


@dataclass(frozen=True)
class TokenCasing:
    """How the words of a corpus are written: facts about each distinct word, one for each token.

    >>> words = TokenCasing(Corpus.of([["GAME", "OVER"], ["The", "game"]]))
    >>> words.is_capitalized.tolist(), words.sentence_is_upper.tolist()
    ([True, True, True, False], [True, False])
    """

    corpus: Corpus

    @cached_property
    def facts(self) -> WordFacts:
        """What is known of each distinct word."""
        return word_facts(self.corpus.words.values)

    def _per_token(self, facts: NDArray[Any]) -> NDArray[Any]:
        return facts[self.corpus.words.codes]

    @cached_property
    def lowercase_forms(self) -> list[str]:
        """The distinct words in lower case."""
        return list(dict.fromkeys(self.facts.lowercase.tolist()))

    @cached_property
    def lowercase_ids(self) -> Ints:
        """The number of each token's word among `lowercase_forms`. [N]"""
        number = dict(zip(self.lowercase_forms, count(), strict=False))
        codes = list(map(number.__getitem__, self.facts.lowercase.tolist()))
        return self._per_token(np.array(codes, np.int64))

    @cached_property
    def is_capitalized(self) -> Bools:
        """Whether a token begins with a capital. [N]"""
        return self._per_token(self.facts.is_capitalized)

    @cached_property
    def is_lowercase(self) -> Bools:
        """Whether a token is in lower case. [N]"""
        return self._per_token(self.facts.is_lowercase)

    @cached_property
    def has_digit(self) -> Bools:
        """Whether a token has a digit. [N]"""
        return self._per_token(self.facts.has_digit)

    @cached_property
    def not_first(self) -> Bools:
        """Whether a token is not the first of its sentence. [N]"""
        flags = np.ones(self.corpus.n_tokens, np.bool_)
        flags[self.corpus.sentences[:-1][np.diff(self.corpus.sentences) > 0]] = False
        return flags

    @cached_property
    def sentence_ids(self) -> Ints:
        """The sentence of each token. [N]"""
        return np.repeat(np.arange(len(self.corpus)), np.diff(self.corpus.sentences))

    @cached_property
    def document_ids(self) -> Ints:
        """The document of each token. [N]"""
        of_sentence = np.repeat(np.arange(self.corpus.n_documents), np.diff(self.corpus.documents))
        return of_sentence[self.sentence_ids]

    @cached_property
    def document_words(self) -> Ints:
        """One number for each pair of a document and a word in lower case, from 0 on. [N]"""
        pairs = self.document_ids * len(self.lowercase_forms) + self.lowercase_ids
        numbers: Ints = np.unique(pairs, return_inverse=True)[1]
        return numbers

    def sentence_share(self, flags: Bools) -> Floats:
        """The share of a sentence's tokens that a flag holds for. [M]"""
        lengths = np.diff(self.corpus.sentences)
        return np.bincount(self.sentence_ids, flags, len(lengths)) / np.maximum(lengths, 1)

    @cached_property
    def sentence_is_upper(self) -> Bools:
        """Whether a sentence has letters, more than three, and all of them are capitals. [M]"""
        has_lowercase = self._per_token(self.facts.has_lowercase)
        letters = self._per_token(self.facts.letters)
        size = len(self.corpus)
        no_lowercase = np.bincount(self.sentence_ids, has_lowercase, size) == 0
        upper: Bools = no_lowercase & (np.bincount(self.sentence_ids, letters, size) > 3)
        return upper


class WordFacts(NamedTuple):
    """Facts about words, an entry for each. [V]"""

    lowercase: NDArray[np.object_]
    is_capitalized: Bools
    is_lowercase: Bools
    is_acronym: Bools  # all capitals, and more than one
    has_digit: Bools
    has_lowercase: Bools
    letters: Ints  # how long the word is, 0 where it has no letter


def word_facts(words: Sequence[str]) -> WordFacts:
    """The facts about words, which are remembered.

    >>> word_facts(["Oslo", "NATO", "3"]).is_acronym.tolist()
    [False, True, False]
    """
    return WordFacts(*_MEMO(words))


def _find_facts(words: list[str]) -> Facts:
    return (
        np.array([*(word.lower() for word in words), ""], object)[:-1],
        np.array([word[:1].isupper() for word in words], np.bool_),
        np.array([word.islower() for word in words], np.bool_),
        np.array([word.isupper() and len(word) > 1 for word in words], np.bool_),
        np.array([any(map(str.isdigit, word)) for word in words], np.bool_),
        np.array([any(map(str.islower, word)) for word in words], np.bool_),
        np.array([len(word) if any(map(str.isalpha, word)) else 0 for word in words], np.int64),
    )


_MEMO = WordMemo(_find_facts)
