"""Counts of the words of a text, and of pairs of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError

Text = Corpus | Iterable[Corpus | Sequence[str]]

BATCH = 50_000  # sentences that are counted at once


@dataclass(frozen=True, slots=True, eq=False)
class Bigrams:
    """The words of a text, the most frequent first, and K pairs of neighbours with their counts.

    Pairs do not cross the end of a sentence, nor a word that was left out as too rare.

    >>> bigrams = Bigrams.count([["the", "cat", "saw", "the", "dog"], ["the", "cat", "slept"]])
    >>> bigrams.words, bigrams.counts.tolist()
    (['the', 'cat', 'dog', 'saw', 'slept'], [3, 2, 1, 1, 1])
    >>> bigrams.tokens, int(bigrams.pair_counts.sum())
    (8, 6)
    >>> Bigrams.count([["the", "cat", "saw", "the", "dog"]], min_count=2).words
    ['the']
    """

    words: list[str]
    counts: Ints  # [V]
    left_words: Ints  # [K]
    right_words: Ints  # [K]
    pair_counts: Ints  # [K]
    tokens: int
    """The number of tokens of the whole text, rare words included."""

    @classmethod
    def count(cls, text: Text, min_count: int = 1) -> Bigrams:
        """Count a corpus, or a stream of sentences or corpora, which need not fit in memory.

        Words that are rarer than ``min_count`` are left out; equally frequent ones are in the order
        of their letters.
        """
        numbers: dict[str, int] = {}
        counts = np.zeros(0, np.int64)
        keys, times = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for codes, sentences in _batches(text, numbers):
            before = np.pad(counts, (0, len(numbers) - len(counts)))
            counts = before + np.bincount(codes, minlength=len(numbers))
            batch_keys, batch_counts = np.unique(_neighbours(codes, sentences), return_counts=True)
            keys, place = np.unique(np.append(keys, batch_keys), return_inverse=True)
            times = np.bincount(place, np.append(times, batch_counts), len(keys)).astype(np.int64)
        words = list(numbers)
        kept = [code for code in range(len(words)) if counts[code] >= min_count]
        kept.sort(key=lambda code: (-counts[code], words[code]))
        rank = np.full(len(words), -1)
        rank[kept] = np.arange(len(kept))
        firsts, seconds = rank[keys >> 32], rank[keys & 0xFFFFFFFF]
        both = (firsts >= 0) & (seconds >= 0)
        names, total = [words[code] for code in kept], int(counts.sum())
        return cls(names, counts[kept], firsts[both], seconds[both], times[both], total)

    def adjacent_words(self, *, after: bool) -> tuple[Ints, Ints, Ints]:
        """Successors of each word, or predecessors: indptr [V + 1], words [K], counts [K]."""
        sides = self.left_words, self.right_words
        key, neighbour = sides if after else sides[::-1]
        order = np.lexsort((neighbour, key))
        indptr = np.searchsorted(key[order], np.arange(len(self.words) + 1))
        return indptr, neighbour[order], self.pair_counts[order]

    def margins(self) -> tuple[Ints, Ints]:
        """The counts of each word as the first and as the second of a pair. [V] each"""
        sides = (self.left_words, self.right_words)
        left, right = (np.bincount(side, self.pair_counts, len(self.words)) for side in sides)
        return left.astype(np.int64), right.astype(np.int64)


def _batches(text: Text, numbers: dict[str, int]) -> Iterable[tuple[Ints, Ints]]:
    """Codes [N] and offsets of sentences [M + 1], a batch at a time; ``numbers`` grows."""
    items = iter([text] if isinstance(text, Corpus) else text)
    for item in items:
        if isinstance(item, Corpus):
            yield _codes(item.words.values, numbers)[item.words.codes], item.sentences
            continue
        batch: list[Sequence[str]] = []
        for sentence in chain([item], islice(items, BATCH - 1)):
            if isinstance(sentence, str | Corpus):
                got = repr(str(sentence)[:40])
                raise CorpusError(f"a sentence is a list of words, got {got}; cut it into words")
            batch.append(sentence)
        words = [word for sentence in batch for word in sentence]
        yield _codes(words, numbers), offsets_of(map(len, batch))


def _codes(words: Sequence[str], numbers: dict[str, int]) -> Ints:
    codes = (numbers.setdefault(word, len(numbers)) for word in words)
    return np.fromiter(codes, np.int64, len(words))


def _neighbours(codes: Ints, sentences: Ints) -> Ints:
    """The pairs of words that stand side by side in a sentence, each as one number."""
    inside = np.ones(len(codes), np.bool_)
    inside[sentences[:-1][np.diff(sentences) > 0]] = False
    second = np.flatnonzero(inside)
    return (codes[second - 1] << 32) | codes[second]
