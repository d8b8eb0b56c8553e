"""The tag dictionary: which labels each frequent word may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools
from skipchain.corpus import Column
from skipchain.features.strings import StringTable


@dataclass(frozen=True, slots=True, eq=False)
class TagDictionary:
    """The labels that words have been seen with, for words seen at least ``min_count`` times.

    A word that is not in it, because it is rare or unknown, may have any label: too little is known
    of it to rule one out.

    >>> words = Column.encode(["the", "saw", "saw", "the", "the", "rare"])
    >>> seen = np.eye(3, dtype=bool)[[0, 1, 2, 0, 0, 1]]  # labels 0, 1, 2, 0, 0, 1
    >>> tags = TagDictionary.fit(words, seen, 2)
    >>> tags.words.tolist()
    ['the', 'saw']
    >>> tags.candidates(Column.encode(["saw", "rare", "new"])).astype(int)
    array([[0, 1, 1],
           [1, 1, 1],
           [1, 1, 1]])
    """

    words: StringTable  # W of them
    labels: Bools  # [W, L]
    min_count: int

    @classmethod
    def fit(cls, words: Column, seen: Bools, min_count: int) -> TagDictionary:
        """The dictionary of tokens' words and of the labels that each has or may have, [N, L]."""
        counts = np.bincount(words.codes, minlength=len(words.values))
        labels = _union(words.codes, seen, len(words.values))
        kept = np.flatnonzero((counts >= min_count) & ~labels.all(axis=1))
        return cls(StringTable.of([words.values[k] for k in kept]), labels[kept], min_count)

    def candidates(self, words: Column) -> Bools:
        """Which labels each token may have. [N, L]"""
        size = self.labels.shape[1]
        known = np.array(self.words.find(words.values), np.int64)
        table = np.vstack([self.labels, np.ones((1, size), np.bool_)])
        return table[np.where(known < 0, -1, known)][words.codes]

    def extended(self, words: Column, seen: Bools) -> TagDictionary:
        """The dictionary with the labels that its words have in further tokens; no new words."""
        known = np.array(self.words.find(words.values), np.int64)[words.codes]
        labels = self.labels | _union(known[known >= 0], seen[known >= 0], len(self.words))
        return TagDictionary(self.words, labels, self.min_count)


def _union(groups: NDArray[np.integer], sets: Bools, size: int) -> Bools:
    """The union of the sets of each group. [G, L]"""
    union = np.zeros((size, sets.shape[1]), np.bool_)
    for label in range(sets.shape[1]):
        union[groups[sets[:, label]], label] = True
    return union
