"""The names that come into question in each document, whatever their type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Ints
from skipchain.corpus.corpus import Corpus
from skipchain.metrics.consistency import number_pairs, string_numbers


@dataclass(frozen=True, slots=True, eq=False)
class MentionStrings:
    """Distinct strings of words, document by document: slots.

    Slot s stands for all spans of document documents[s] that have the words starts[s] … stops[s] −
    1 of the corpus. They come into question at places[s] places, with the types possible[s].
    """

    corpus: Corpus
    documents: Ints  # [S]
    starts: Ints  # [S]
    stops: Ints  # [S]
    n_places: Ints  # [S]
    possible_types: Bools  # [S, K]

    @classmethod
    def of(
        cls, corpus: Corpus, starts: Ints, stops: Ints, kinds: Ints, types: int
    ) -> tuple[MentionStrings, Ints]:
        """The slots of some spans with the numbers of their types, and the slot of each span. [E]

        >>> corpus = Corpus.of([["Lee", "met", "Ada", "Lee"], ["Lee"]])
        >>> spans = np.array([[0, 1], [2, 4], [4, 5]])
        >>> mentions, slots = MentionStrings.of(corpus, *spans.T, np.zeros(3, np.int64), 1)
        >>> slots.tolist(), [mentions.text(slot) for slot in range(len(mentions))]
        ([0, 1, 0], ['Lee', 'Ada Lee'])
        >>> mentions.n_places.tolist()
        [2, 1]
        """
        first, slots = _distinct_strings(corpus, starts, stops)
        possible = np.zeros((len(first), types), np.bool_)
        possible[slots, kinds] = True
        places = np.unique(np.stack([slots, starts]), axis=1)[0]
        counts = np.bincount(places, minlength=len(first))
        documents = corpus.document_of(starts[first])
        return cls(corpus, documents, starts[first], stops[first], counts, possible), slots

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Ints:
        """How many words each slot has. [S]"""
        return self.stops - self.starts

    def words(self, slot: int) -> list[str]:
        """The words of a slot."""
        return self.corpus.words[int(self.starts[slot]) : int(self.stops[slot])].tolist()

    def text(self, slot: int) -> str:
        """The words of a slot with blanks between."""
        return " ".join(self.words(slot))

    def nested_pairs(self) -> tuple[Ints, Ints]:
        """Pairs of slots of one document: one, and a shorter one whose words stand in it. [R], [R]

        >>> corpus = Corpus.of([["Lee", "met", "Ada", "Lee"], ["Lee"]])
        >>> spans = np.array([[0, 1], [2, 4], [4, 5]])
        >>> mentions, _ = MentionStrings.of(corpus, *spans.T, np.zeros(3, np.int64), 1)
        >>> [own.tolist() for own in mentions.nested_pairs()]
        [[1], [0]]
        """
        lengths = self.lengths
        found = []
        for size in np.unique(lengths).tolist():
            longer = np.flatnonzero(lengths > size)
            counts = lengths[longer] - size + 1
            owner = np.repeat(longer, counts)
            shift = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            begins = self.starts[owner] + shift
            found.append(np.stack([owner, begins, begins + size]))
        owner, begins, ends = np.concatenate(found or [np.zeros((3, 0), np.int64)], axis=1)
        _, slots = _distinct_strings(
            self.corpus, np.append(self.starts, begins), np.append(self.stops, ends)
        )
        # slots come first and are distinct, so those of parts that are no slots have higher numbers
        parts = slots[len(self) :]
        known = parts < len(self)
        pairs = np.unique(np.stack([owner[known], parts[known]]), axis=1)
        return pairs[0], pairs[1]


def _distinct_strings(corpus: Corpus, starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """Slots in the order in which they are met: the first span of each, and the slot of each span.

    Spans have the same slot if they have the same words in the same document.
    """
    if not len(starts):
        return starts, starts
    strings = string_numbers(corpus.words.codes, starts, stops)
    keys = number_pairs(corpus.document_of(starts), strings)
    _, first, slots = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[slots]
