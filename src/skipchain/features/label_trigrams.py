"""Label trigrams: features of a token together with the labels of the two tokens before it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Bools, Floats, Ints, Labels
from skipchain.errors import ParameterError
from skipchain.features.matrix import CSRMatrix, FeatureMatrix

ANY = -1  # in the place of the label before: whatever it is


@dataclass(frozen=True, slots=True, eq=False)
class LabelTrigrams:
    """What a feature adds to a label's score after the labels that training showed before it.

    Templates that begin with ``label[-2] & label[-1] &`` give a feature a row of weights for each
    pair of labels before it, those with ``label[-2] &`` alone one for each label two tokens back:
    the rows that occur in training, and no others. ``rows`` [K, 3] are sorted: the feature's
    number, the label two tokens back, and the label before, or −1 where it does not count. L stands
    for the place before the chain. ``has_previous`` [G] says of which features the label before is
    a part.

    >>> index = CSRMatrix(np.array([0, 1, 2, 3]), np.zeros(3, np.int32))  # one feature, everywhere
    >>> labels, offsets = np.array([1, 0, 1], np.int32), np.array([0, 3])
    >>> trigrams = LabelTrigrams.fit(index, np.array([True]), labels, offsets, 2)
    >>> trigrams.rows.tolist()  # after labels 1 and 0, after the start and 1, at the start
    [[0, 1, 0], [0, 2, 1], [0, 2, 2]]
    """

    rows: Ints  # [K, 3]
    has_previous: Bools  # [G]
    weights: Floats  # [K, L]

    @classmethod
    def fit(
        cls, index: CSRMatrix, has_previous: Bools, labels: Labels, offsets: Ints, n_labels: int
    ) -> LabelTrigrams:
        """The rows of the training labels, with weights of zero; ``index`` [N] has the features."""
        row_limit(len(has_previous), n_labels)
        found = _entry_rows(index, has_previous, labels, offsets, n_labels)
        rows = np.unique(found, axis=0)
        return cls(rows, has_previous, np.zeros((len(rows), n_labels)))

    @property
    def starts(self) -> Ints:
        """Where the rows of each feature begin. [G + 1]"""
        return np.searchsorted(self.rows[:, 0], np.arange(len(self.has_previous) + 1))

    def row_indices(self, index: CSRMatrix, labels: Labels, offsets: Ints) -> Ints:
        """The row that each entry of an index has by the labels before its token, or −1. [E]"""
        size = self.weights.shape[1]
        found = _codes(_entry_rows(index, self.has_previous, labels, offsets, size), size)
        known = _codes(self.rows, size)
        if not len(known):
            return np.full(len(found), -1)
        places = np.searchsorted(known, found).clip(0, len(known) - 1)
        return np.where(known[places] == found, places, -1)

    def append_features(self, rows: FeatureMatrix, labels: Labels, offsets: Ints) -> FeatureMatrix:
        """The matrix with K further features, the last ones: the rows that ``labels`` choose."""
        index = rows.trigrams
        assert index is not None
        found = self.row_indices(index, labels, offsets)
        sizes = np.diff(index.indptr)
        place = np.arange(len(found)) - np.repeat(index.indptr[:-1], sizes)
        shape = (index.n_rows, int(sizes.max(initial=0)))
        numbers = np.full(shape, -1)
        numbers[index.row_ids, place] = found
        values = None
        if len(index.values):
            values = np.zeros(shape)
            values[index.row_ids, place] = index.values
        return rows.with_features(numbers, len(self.rows), values)

    def pruned(self) -> LabelTrigrams:
        """The trigrams without rows whose weights are all zero."""
        kept = self.weights.any(axis=1)
        return replace(self, rows=self.rows[kept], weights=self.weights[kept])

    def keep(self, features: Bools) -> LabelTrigrams:
        """The trigrams of some features only, which are numbered anew. features [G]"""
        chosen = features[self.rows[:, 0]]
        rows = self.rows[chosen].copy()
        rows[:, 0] = (np.cumsum(features) - 1)[rows[:, 0]]
        return LabelTrigrams(rows, self.has_previous[features], self.weights[chosen])

    @property
    def well_formed(self) -> bool:
        """Whether the rows grow, and have a label before where their features go with one."""
        codes = _codes(self.rows, self.weights.shape[1])
        agree = (self.rows[:, 2] != ANY) == self.has_previous[self.rows[:, 0]]
        whole = (self.rows[:, :2] >= 0).all() and (np.diff(codes) > 0).all()
        return bool(whole and agree.all())

    @property
    def used(self) -> Bools:
        """Which features have a row. [G]"""
        return np.diff(self.starts) > 0


def row_limit(n_features: int, n_labels: int) -> int:
    """The numbers of rows are below this; refused where they do not fit into 64 bits."""
    limit: int = (n_features + 1) * (n_labels + 2) ** 2
    if limit >= 1 << 62:
        fault = f"{n_features:,} features of label trigrams are too many for {n_labels:,} labels"
        raise ParameterError(f"{fault}; use fewer templates that begin with 'label[-2] &'")
    return limit


def labels_before(labels: Labels, offsets: Ints, back: int, start: int) -> Ints:
    """The label so many tokens before each token; ``start`` before the chain. [N]"""
    at = np.arange(len(labels)) - np.repeat(offsets[:-1], np.diff(offsets))
    found = np.full(len(labels), start)
    inside = np.flatnonzero(at >= back)
    found[inside] = labels[inside - back]
    return found


def _entry_rows(
    index: CSRMatrix, has_previous: Bools, labels: Labels, offsets: Ints, n_labels: int
) -> Ints:
    """The feature, and the labels two and one before, of each entry of an index. [E, 3]"""
    tokens, features = index.row_ids, index.indices.astype(np.int64)
    second = labels_before(labels, offsets, 2, n_labels)[tokens]
    previous = labels_before(labels, offsets, 1, n_labels)[tokens]
    return np.stack([features, second, np.where(has_previous[features], previous, ANY)], axis=1)


def _codes(rows: Ints, n_labels: int) -> Ints:
    """Rows as numbers, in the order of the rows. [K]"""
    base = n_labels + 2
    codes: Ints = (rows[:, 0] * base + rows[:, 1] + 1) * base + rows[:, 2] + 1
    return codes
