"""Counts of the words of a text, and of pairs of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError
from skipchain.resources.ngrams.counting import NgramCounter
from skipchain.resources.ngrams.duck import MEMORY, is_installed
from skipchain.resources.ngrams.scratch import check_space, counting_space

Text = Corpus | Iterable[Corpus | Sequence[str]]

BATCH = 50_000  # sentences that are counted at once
MOST = 2_000_000  # pairs that are held, of which each takes some 100 bytes while they are sorted
FEW = 500_000  # pairs that are put aside before they are sorted in


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
    def count(
        cls,
        text: Text,
        min_count: int = 1,
        *,
        memory: str = MEMORY,
        scratch: str | Path | None = None,
    ) -> Bigrams:
        """Count a corpus, or a stream of sentences or corpora, which need not fit in memory.

        Words that are rarer than ``min_count`` are left out; equally frequent ones are in the order
        of their letters. Where there are many pairs, the counts go to disk and are summed there, by
        a database that takes about so much ``memory`` and writes to the folder ``scratch``, by
        default among the system's temporary ones; the sums are the same. Without DuckDB all pairs
        are held.
        """
        check_space(memory, scratch)
        tables = NeighbourCounts()
        with ExitStack() as stack:
            counter = None
            for codes, sentences in _batches(text, tables.numbers):
                tables.add(codes, sentences)
                if len(tables) > MOST and is_installed():
                    if counter is None:
                        counter = stack.enter_context(counting_space(memory, scratch))
                    tables.empty_into(counter)
            if counter is not None:
                tables.empty_into(counter)
                return cls.summed(counter, min_count)
        return tables.bigrams(min_count)

    @staticmethod
    def count_into(counter: NgramCounter, text: Text) -> None:
        """Count words and pairs of a text into a counter on disk; see `summed`."""
        tables = NeighbourCounts()
        for codes, sentences in _batches(text, tables.numbers):
            tables.add(codes, sentences)
            if len(tables) > MOST:
                tables.empty_into(counter)
        tables.empty_into(counter)

    @classmethod
    def summed(cls, counter: NgramCounter, min_count: int = 1) -> Bigrams:
        """What a counter has of words and pairs."""
        if not counter.kinds():
            return NeighbourCounts().bigrams(min_count)
        database = counter.database
        database.execute(
            "CREATE TEMP TABLE ranks AS SELECT w1 AS word, count, "
            "row_number() OVER (ORDER BY count DESC, w1) - 1 AS rank "
            f"FROM ({counter.sums(1)}) WHERE count >= {min_count}"
        )
        rows = database.execute("SELECT word, count FROM ranks ORDER BY rank").fetchnumpy()
        pairs: dict[str, Ints] = dict.fromkeys(("left", "right", "count"), np.zeros(0, np.int64))
        if 2 in counter.kinds():
            pairs = database.execute(
                'SELECT a.rank AS "left", b.rank AS "right", CAST(sum(p.count) AS BIGINT) AS count '
                f"FROM {counter.rows(2)} p JOIN ranks a ON p.w1 = a.word "
                "JOIN ranks b ON p.w2 = b.word GROUP BY 1, 2 ORDER BY 1, 2"
            ).fetchnumpy()
        counts, *sides = (np.asarray(own, np.int64) for own in (rows["count"], *pairs.values()))
        left, right, times = sides
        return cls(rows["word"].tolist(), counts, left, right, times, counter.total[1])

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


class NeighbourCounts:
    """Words and pairs of neighbours that have been counted, by numbers that words are given."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        self.numbers.clear()
        self._counts = np.zeros(0, np.int64)
        self._keys, self._times = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._waiting: list[tuple[Ints, Ints]] = []

    def __len__(self) -> int:
        return len(self._keys) + self._put_aside()

    def _put_aside(self) -> int:
        return sum(len(keys) for keys, _ in self._waiting)

    def add(self, codes: Ints, sentences: Ints) -> None:
        """Count a batch; what is new is sorted in when there is enough of it."""
        before = np.pad(self._counts, (0, len(self.numbers) - len(self._counts)))
        self._counts = before + np.bincount(codes, minlength=len(self.numbers))
        self._waiting.append(np.unique(_neighbours(codes, sentences), return_counts=True))
        if self._put_aside() > max(FEW, len(self._keys)):
            self._sort_in()

    def _sort_in(self) -> None:
        keys = np.concatenate([self._keys, *(own for own, _ in self._waiting)])
        times = np.concatenate([self._times, *(own for _, own in self._waiting)])
        self._waiting.clear()
        self._keys, place = np.unique(keys, return_inverse=True)
        self._times = np.bincount(place, times, len(self._keys)).astype(np.int64)

    def bigrams(self, min_count: int) -> Bigrams:
        """The counts of words that are not too rare."""
        self._sort_in()
        words, counts = list(self.numbers), self._counts
        kept = [code for code in range(len(words)) if counts[code] >= min_count]
        kept.sort(key=lambda code: (-counts[code], words[code]))
        rank = np.full(len(words), -1)
        rank[kept] = np.arange(len(kept))
        firsts, seconds = rank[self._keys >> 32], rank[self._keys & 0xFFFFFFFF]
        both = (firsts >= 0) & (seconds >= 0)
        firsts, seconds, times = firsts[both], seconds[both], self._times[both]
        order = np.lexsort((seconds, firsts))
        names, total = [words[code] for code in kept], int(counts.sum())
        pairs = firsts[order], seconds[order], times[order]
        return Bigrams(names, counts[kept], *pairs, total)

    def empty_into(self, counter: NgramCounter) -> None:
        """Hand all counts to a counter on disk, and begin anew."""
        self._sort_in()
        words = np.array([*self.numbers, ""], object)[:-1]
        counter.write(1, {"w1": words, "count": self._counts})
        firsts, seconds = words[self._keys >> 32], words[self._keys & 0xFFFFFFFF]
        counter.write(2, {"w1": firsts, "w2": seconds, "count": self._times})
        self._clear()


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
