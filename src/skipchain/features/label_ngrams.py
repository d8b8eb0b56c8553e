"""Label n-grams: three and more labels in a row as features of the label that follows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.errors import ParameterError
from skipchain.features.matrix import FeatureMatrix

HIGHEST_ORDER = 16  # of a model in a file
SHORTEST = 3  # two labels and fewer have tables of their own


@dataclass(frozen=True, slots=True, eq=False)
class LabelNgrams:
    """The n-grams of 3 to ``order`` labels seen in training, and what they add to the next label.

    An n-gram is a number: its last label is the last digit to the base L + 2, written as the
    label's number plus one; L + 1 stands for the place before the chain. ``ngrams`` [K] are sorted,
    so that one is found by bisection; one that training did not see adds nothing.

    >>> ngrams = LabelNgrams.fit(np.array([0, 1, 0, 1, 0], np.int32), np.array([0, 5]), 2, 3)
    >>> ngrams.ngrams  # 121, 212 and 312 (the start, label 0, label 1) to the base 4
    array([25, 38, 54])
    >>> ngrams.context_indices(np.array([0, 1, 0, 1], np.int32), np.array([0, 4]))
    array([[-1],
           [-1],
           [ 2],
           [ 0]])
    """

    order: int
    ngrams: Ints  # [K]
    weights: Floats  # [K, L]

    @classmethod
    def fit(cls, labels: Labels, offsets: Ints, n_labels: int, order: int) -> LabelNgrams:
        """The n-grams of the training labels, with weights of zero."""
        ngram_limit(n_labels, order)
        codes = _codes(labels, offsets, n_labels, order)
        contexts = np.unique(codes[codes >= 0])
        return cls(order, contexts, np.zeros((len(contexts), n_labels)))

    def context_indices(self, labels: Labels, offsets: Ints) -> Ints:
        """The n-grams before each token as indices into ``ngrams``, or −1. [N, order − 2]"""
        codes = _codes(labels, offsets, self.weights.shape[1], self.order)
        if not len(self.ngrams):
            return np.full(codes.shape, -1)
        places = np.searchsorted(self.ngrams, codes).clip(0, len(self.ngrams) - 1)
        return np.where(self.ngrams[places] == codes, places, -1)

    def indices_of(self, contexts: Ints) -> Ints:
        """The n-grams that runs of labels end in, as indices into ``ngrams``, or −1.

        ``contexts`` [R, order] have the last label at the right, and L wherever the chain has not
        begun. [R, order − 2]

        >>> ngrams = LabelNgrams(3, np.array([25, 54]), np.zeros((2, 2)))
        >>> ngrams.indices_of(np.array([[0, 1, 0], [2, 0, 1], [2, 2, 0]])).tolist()
        [[0], [1], [-1]]
        """
        size = self.weights.shape[1]
        base = size + 2
        found = np.full((len(contexts), self.order - SHORTEST + 1), -1)
        code = np.zeros(len(contexts), np.int64)
        for back in range(1, self.order + 1):
            code = code + (contexts[:, -back] + 1) * base ** (back - 1)
            if back >= SHORTEST and len(self.ngrams):
                # the place before the chain is one label
                whole = contexts[:, 1 - back] < size
                places = np.searchsorted(self.ngrams, code).clip(0, len(self.ngrams) - 1)
                known = whole & (self.ngrams[places] == code)
                found[known, back - SHORTEST] = places[known]
        return found

    def labels_of(self, index: int) -> list[int]:
        """The labels of one n-gram, the earliest first; L is the place before the chain.

        >>> ngrams = LabelNgrams(3, np.array([25, 54]), np.zeros((2, 2)))
        >>> ngrams.labels_of(0), ngrams.labels_of(1)
        ([0, 1, 0], [2, 0, 1])
        """
        code, base, found = int(self.ngrams[index]), self.weights.shape[1] + 2, []
        while code:
            code, digit = divmod(code, base)
            found.append(digit - 1)
        return found[::-1]

    def append_features(self, rows: FeatureMatrix, labels: Labels, offsets: Ints) -> FeatureMatrix:
        """The rows with K further features, the last ones: the n-grams of ``labels``."""
        return rows.with_features(self.context_indices(labels, offsets), len(self.ngrams))

    def pruned(self) -> LabelNgrams:
        """The n-grams without those whose weights are all zero."""
        kept = self.weights.any(axis=1)
        return LabelNgrams(self.order, self.ngrams[kept], self.weights[kept])


def ngram_limit(n_labels: int, order: int) -> int:
    """The numbers of n-grams are below this; refused where they do not fit into 64 bits."""
    limit: int = (n_labels + 2) ** order
    if limit >= 1 << 62:
        fault = f"order {order} is too long for {n_labels} labels; use a shorter one"
        raise ParameterError(fault)
    return limit


def _codes(labels: Labels, offsets: Ints, n_labels: int, order: int) -> Ints:
    """The n labels before each token as a number, n = 3 … order; −1 where there are fewer.

    The place before the chain counts as one label.
    """
    base = n_labels + 2
    digits = np.append(labels.astype(np.int64) + 1, n_labels + 1)
    at = np.arange(len(labels)) - np.repeat(offsets[:-1], np.diff(offsets))
    code = np.zeros(len(labels), np.int64)
    codes = np.full((len(labels), order - SHORTEST + 1), -1)
    for back in range(1, order + 1):
        inside = at - back >= -1
        where = np.where(at - back >= 0, np.arange(len(labels)) - back, -1)
        code = code + digits[where] * base ** (back - 1)
        if back >= SHORTEST:
            codes[inside, back - SHORTEST] = code[inside]
    return codes
