"""Mention strings: the words of all candidate spans, document by document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Ints, offsets_of
from skipchain.corpus.corpus import Corpus
from skipchain.metrics.consistency import string_numbers


@dataclass(frozen=True, slots=True, eq=False)
class MentionStrings:
    """Distinct strings of words, document by document.

    String s stands for all spans of document documents[s] that have the words starts[s] … stops[s]
    − 1 of the corpus. It has candidate spans at n_places[s] places, of possible_types[s].
    """

    corpus: Corpus
    documents: Ints  # [S]
    starts: Ints  # [S]
    stops: Ints  # [S]
    n_places: Ints  # [S]
    possible_types: Bools  # [S, K]

    @classmethod
    def of(
        cls, corpus: Corpus, starts: Ints, stops: Ints, type_ids: Ints, n_types: int
    ) -> tuple[MentionStrings, Ints]:
        """The mention strings of some spans, and the number of each span's string. [E]

        >>> corpus = Corpus.of([["Lee", "met", "Ada", "Lee"], ["Lee"]])
        >>> spans = np.array([[0, 1], [2, 4], [4, 5]])
        >>> mentions, string_ids = MentionStrings.of(corpus, *spans.T, np.zeros(3, np.int64), 1)
        >>> string_ids.tolist(), [mentions.text(s) for s in range(len(mentions))]
        ([0, 1, 0], ['Lee', 'Ada Lee'])
        >>> mentions.n_places.tolist()
        [2, 1]
        """
        first, string_ids = _distinct_strings(corpus, starts, stops)
        possible = np.zeros((len(first), n_types), np.bool_)
        possible[string_ids, type_ids] = True
        width = corpus.n_tokens + 1
        places = np.unique(string_ids * width + starts) // width
        counts = np.bincount(places, minlength=len(first))
        documents = corpus.document_of(starts[first])
        return cls(corpus, documents, starts[first], stops[first], counts, possible), string_ids

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Ints:
        """How many words each string has. [S]"""
        return self.stops - self.starts

    def words(self, number: int) -> list[str]:
        """The words of a string."""
        return self.corpus.words[int(self.starts[number]) : int(self.stops[number])].tolist()

    def text(self, number: int) -> str:
        """The words of a string with blanks between."""
        return " ".join(self.words(number))

    def nested_pairs(self) -> tuple[Ints, Ints]:
        """Pairs of strings of one document: one, and a shorter one that stands in it. [R], [R]

        >>> corpus = Corpus.of([["Lee", "met", "Ada", "Lee"], ["Lee"]])
        >>> spans = np.array([[0, 1], [2, 4], [4, 5]])
        >>> mentions, _ = MentionStrings.of(corpus, *spans.T, np.zeros(3, np.int64), 1)
        >>> [numbers.tolist() for numbers in mentions.nested_pairs()]
        [[1], [0]]
        """
        lengths = self.lengths
        if not len(lengths) or lengths.min() == lengths.max():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        by_size = []
        for size in np.unique(lengths).tolist():
            longer = np.flatnonzero(lengths > size)
            counts = lengths[longer] - size + 1
            owner = np.repeat(longer, counts)
            shift = np.arange(counts.sum()) - np.repeat(offsets_of(counts)[:-1], counts)
            begins = self.starts[owner] + shift
            by_size.append(np.stack([owner, begins, begins + size]))
        owner, begins, ends = np.concatenate(by_size, axis=1)
        _, string_ids = _distinct_strings(
            self.corpus, np.append(self.starts, begins), np.append(self.stops, ends)
        )
        # the strings come first and are distinct, so parts that are none of them are numbered
        # higher
        parts = string_ids[len(self) :]
        known = parts < len(self)
        outer, inner = np.divmod(np.unique(owner[known] * len(self) + parts[known]), len(self))
        return outer, inner


def _distinct_strings(corpus: Corpus, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """Strings in the order in which they are met: the first span of each, and each span's string.

    Spans have the same string if they have the same words in the same document.
    """
    if not len(starts):
        return starts, starts
    strings = string_numbers(corpus.words.codes, starts, stops)
    keys = corpus.document_of(starts) * (int(strings.max()) + 1) + strings
    _, first, string_ids = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[string_ids]
