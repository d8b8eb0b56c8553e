"""The words of a corpus by their letters, and its sentences by their words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    def lowercase_forms(self) -> list[str]:
        """The distinct words in lower case."""
        return list(dict.fromkeys(value.lower() for value in self.corpus.words.values))

    @cached_property
    def lowercase_ids(self) -> Ints:
        """The number of each token's word among `lowercase_forms`. [N]"""
        number = {value: k for k, value in enumerate(self.lowercase_forms)}
        codes = [number[value.lower()] for value in self.corpus.words.values]
        return np.array(codes, np.int64)[self.corpus.words.codes]

    def _per_token(self, flags: list[bool]) -> Bools:
        return np.array(flags, np.bool_)[self.corpus.words.codes]

    @cached_property
    def is_capitalized(self) -> Bools:
        """Whether a token begins with a capital. [N]"""
        return self._per_token([value[:1].isupper() for value in self.corpus.words.values])

    @cached_property
    def is_lowercase(self) -> Bools:
        """Whether a token is in lower case. [N]"""
        return self._per_token([value.islower() for value in self.corpus.words.values])

    @cached_property
    def has_digit(self) -> Bools:
        """Whether a token has a digit. [N]"""
        return self._per_token([any(map(str.isdigit, value)) for value in self.corpus.words.values])

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

    @property
    def document_word_keys(self) -> Ints:
        """One number for each pair of a document and a word in lower case. [N]"""
        return self.document_ids * len(self.lowercase_forms) + self.lowercase_ids

    def sentence_share(self, flags: Bools) -> Floats:
        """The share of a sentence's tokens that a flag holds for. [M]"""
        lengths = np.diff(self.corpus.sentences)
        return np.bincount(self.sentence_ids, flags, len(lengths)) / np.maximum(lengths, 1)

    @cached_property
    def sentence_is_upper(self) -> Bools:
        """Whether a sentence has letters, more than three, and all of them are capitals. [M]"""
        values = self.corpus.words.values
        has_lowercase = self._per_token([any(map(str.islower, value)) for value in values])
        sizes = [len(value) if any(map(str.isalpha, value)) else 0 for value in values]
        letters = np.array(sizes, np.int64)[self.corpus.words.codes]
        count = len(self.corpus)
        no_lowercase = np.bincount(self.sentence_ids, has_lowercase, count) == 0
        upper: Bools = no_lowercase & (np.bincount(self.sentence_ids, letters, count) > 3)
        return upper
