"""Whether a name keeps its type through a document."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes.spans import Spans
from skipchain.metrics.score import percent


@dataclass(frozen=True, slots=True)
class ConsistencyScore:
    """Names that occur more than once in a document, and those of them with more than one type."""

    groups: int
    inconsistent: int

    @property
    def percent(self) -> float | None:
        """The share of names with one type only, in percent; None where no name recurs."""
        return percent(self.groups - self.inconsistent, self.groups) if self.groups else None


def label_consistency(corpus: Corpus, spans: Spans) -> ConsistencyScore:
    """Count recurring names, and those that do not have one type throughout their document.

    A group is all spans of one document that have the same words, compared with case, where the
    first word begins with an uppercase letter. Groups of two spans or more are counted, and a group
    is inconsistent if its spans have more than one type. Occurrences outside any span do not enter.

    >>> corpus = Corpus.of([["Lee", "met", "Lee"], ["Rome", "and", "Rome"]])
    >>> spans = Spans.of([(0, 1, "PER"), (2, 3, "LOC"), (3, 4, "LOC"), (5, 6, "LOC")])
    >>> label_consistency(corpus, spans)
    ConsistencyScore(groups=2, inconsistent=1)
    >>> label_consistency(corpus, spans).percent
    50.0
    """
    values = corpus.words.values
    upper = np.fromiter((value[:1].isupper() for value in values), bool, len(values))
    named = upper[corpus.words.codes[spans.starts]] if len(spans) else np.zeros(0, bool)
    starts, stops, kinds = spans.starts[named], spans.stops[named], spans.types[named]
    if not len(starts):
        return ConsistencyScore(0, 0)
    documents = np.searchsorted(corpus.sentences[corpus.documents], starts, side="right")
    groups = number_pairs(documents, string_numbers(corpus.words.codes, starts, stops))
    order = np.lexsort((kinds, groups))
    groups, kinds = groups[order], kinds[order]
    first = np.flatnonzero(np.diff(groups, prepend=-1))  # where each group begins
    last = np.append(first[1:], len(groups)) - 1
    # Sorted by type within the group: it has one type if its first and last spans agree.
    return ConsistencyScore(int((last > first).sum()), int((kinds[first] != kinds[last]).sum()))


def string_numbers(codes: NDArray[np.int32], starts: Ints, stops: Ints) -> Ints:
    """A number ``int64 [K]`` for each span, equal for equal words.

    Word by word: the number of a string of n words comes from the pair (number of the first n - 1
    words, word n). Only the spans that are so long take part in a step.
    """
    numbers = codes[starts].astype(np.int64)
    lengths = stops - starts
    for length in range(2, int(lengths.max()) + 1):
        longer = np.flatnonzero(lengths >= length)
        pairs = number_pairs(numbers[longer], codes[starts[longer] + length - 1])
        numbers[longer] = pairs + (numbers.max() + 1)  # shorter strings keep their own numbers
    return numbers


def number_pairs(a: NDArray[np.integer], b: NDArray[np.integer]) -> Ints:
    """Number the distinct pairs from 0, ``int64 [K]``."""
    width = int(b.max()) + 1
    return np.unique(a.astype(np.int64) * width + b, return_inverse=True)[1].astype(np.int64)
