"""How often recurring names keep their type through a document, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import Spans, decode, encode


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Pairs of spans of one document by their types; names are compared with case.

    ``same`` counts unordered pairs of spans with the same words (it is symmetric), ``inside`` pairs
    of a span (rows) and a shorter one elsewhere whose words stand next to each other in the longer
    one (columns).
    """

    types: tuple[str, ...]
    same: Ints  # [K, K]
    inside: Ints  # [K, K]


def count_pairs(corpus: Corpus, *, merged: bool = False) -> PairCounts:
    """Count the pairs of a labelled corpus.

    ``merged`` takes neighbouring spans of one type for one span, also across sentences, as is
    usual where labels do not mark where spans begin.

    >>> corpus = Corpus.of(
    ...     [["Ada", "Lee", "met", "Lee"], ["Lee", "slept"]],
    ...     [["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "O"]],
    ...     scheme="iob2",
    ... )
    >>> counts = count_pairs(corpus)
    >>> counts.types
    ('LOC', 'PER')
    >>> counts.same.tolist(), counts.inside.tolist()
    ([[0, 1], [1, 0]], [[0, 0], [1, 1]])
    """
    spans = corpus.spans()
    if merged:
        spans = _merged(corpus, spans)
    names = tuple(sorted(set(spans.names)))
    rank = np.array([names.index(name) for name in spans.names], np.int64)
    size = len(names)
    same, inside = np.zeros((size, size), np.int64), np.zeros((size, size), np.int64)
    words = corpus.words.codes.tolist()
    rows = list(zip(spans.starts.tolist(), spans.stops.tolist(), rank[spans.types], strict=True))
    cuts = np.searchsorted(spans.starts, corpus.sentences[corpus.documents]).tolist()
    for first, last in pairwise(cuts):
        strings: dict[tuple[int, ...], Counter[int]] = {}
        for start, stop, type_id in rows[first:last]:
            strings.setdefault(tuple(words[start:stop]), Counter())[int(type_id)] += 1
        for string, by_type in strings.items():
            for a, count in by_type.items():
                for b, other in by_type.items():
                    same[a, b] += count * (count - 1) // 2 if a == b else count * other
            for part in proper_substrings(string):
                for b, other in strings.get(part, {}).items():
                    for a, count in by_type.items():
                        inside[a, b] += count * other
    return PairCounts(names, same, inside)


def proper_substrings(string: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The distinct shorter strings of words that stand next to each other.

    >>> sorted(proper_substrings((1, 2, 1)))
    [(1,), (1, 2), (2,), (2, 1)]
    """
    size = len(string)
    return {
        string[start : start + length]
        for length in range(1, size)
        for start in range(size - length + 1)
    }


def _merged(corpus: Corpus, spans: Spans) -> Spans:
    """Spans with no bounds but changes of type, each document read as one sentence."""
    plain = encode(spans, corpus.sentences, "io", lossy=True)
    return decode(plain, corpus.sentences[corpus.documents], "io")
