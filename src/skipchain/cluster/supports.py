"""Which pairs of a feature and a label are parameters, for features that several workers have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Ints, Labels, offsets_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_disk.token_sums import label_support

Bits = NDArray[np.uint8]
"""Rows of flags, eight to a byte. [K, B]"""
SET = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)
"""How many flags each byte has."""


@dataclass(frozen=True)
class ShownLabels:
    """What the data of one worker show: by the numbers of features in a range, rows of flags."""

    numbers: Ints  # [K]
    bits: Bits  # [K, B]


@dataclass(frozen=True)
class Joined:
    """The flags of the features of one range, and where the parameters of each feature begin."""

    per_template: Ints  # [T] parameters
    bits: Bits  # [F, B]
    offsets: Ints  # [F]

    @classmethod
    def of(cls, shown: Sequence[ShownLabels], per_template: Ints) -> Joined:
        """What all workers have shown of the features of a range, so many of each template."""
        size = int(per_template.sum())
        bits = np.zeros((size, shown[0].bits.shape[1]), np.uint8)
        for own in shown:  # each has a feature once
            bits[own.numbers] |= own.bits
        counts = SET[bits].sum(axis=1, dtype=np.int64)
        ends = offsets_of(counts)
        return cls(np.diff(ends[offsets_of(per_template)]), bits, ends[:-1])

    def answer(self, numbers: Ints) -> tuple[Bits, Ints]:
        """The flags of some features, and where their parameters begin in the range."""
        return self.bits[numbers], self.offsets[numbers]


def state_support(data: Dataset, n_labels: int) -> Bools:
    """Which labels tokens with a feature have. [F, L]"""
    assert data.labels is not None
    return label_support(data.rows, data.labels, n_labels).astype(np.bool_)


def edge_support(data: Dataset, n_labels: int) -> Bools:
    """Which pairs of labels meet at tokens with a feature of pairs. [G, (L + 1) · L]

    A label that is not known (−1) may be any.
    """
    assert data.labels is not None
    labels, before = data.labels, _before(data, n_labels)
    edges = data.rows.edges
    support = np.zeros((data.rows.n_edge_features, n_labels + 1, n_labels), np.bool_)
    tokens = edges.row_ids
    sure = (labels[tokens] >= 0) & (before[tokens] >= 0)
    features, own = edges.indices[sure], tokens[sure]
    support[features, before[own], labels[own]] = True
    for feature, token in zip(edges.indices[~sure], tokens[~sure], strict=True):
        earlier = slice(n_labels) if before[token] < 0 else before[token]
        support[feature, earlier, slice(None) if labels[token] < 0 else labels[token]] = True
    return support.reshape(len(support), (n_labels + 1) * n_labels)


def places_of(bits: Bits, offsets: Ints, width: int) -> tuple[Ints, Ints]:
    """Where flags are set in the table [K, width], and the parameters there.

    >>> bits = np.packbits(np.array([[1, 0, 1], [0, 1, 0]], np.bool_), axis=1)
    >>> places_of(bits, np.array([10, 5]), 3)
    (array([0, 2, 4]), array([10, 11,  5]))
    """
    table = np.unpackbits(bits, axis=1, count=width)
    support = np.flatnonzero(table)
    counts = table.sum(axis=1, dtype=np.int64)
    begins = np.repeat(np.cumsum(counts) - counts, counts)
    return support, np.repeat(offsets, counts) + np.arange(len(support)) - begins


def _before(data: Dataset, n_labels: int) -> Labels:
    """The label before each token, L where a chain begins. [N]"""
    assert data.labels is not None
    before = np.roll(data.labels, 1)
    before[data.offsets[:-1][np.diff(data.offsets) > 0]] = n_labels
    return before
