"""Sums of residuals by feature that are added up run by run of tokens.

They are those of `chains.sums.FeatureSums`, bit for bit: every sum has its terms in the order of
the tokens, and bundles behind them. No more than the residuals of a run are held, and no transposed
index of tokens; in memory the other way is quicker, for it has more work for threads.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Floats, Ints, Labels, Room, parts_of
from skipchain.chains.sums import Residuals, transposed
from skipchain.features.matrix import FeatureMatrix
from skipchain.kernels.gather import add_bundles, column_starts, scatter
from skipchain.parallel import Workers, blocks

BUNDLE_ENTRIES = 1 << 16  # of features, in a block of what is added at the end
WIDEST = 1 << 15  # labels


class TokenSums:
    """The sums of the (feature, label) pairs in ``support``: numbers f · L + l that rise."""

    def __init__(
        self, rows: FeatureMatrix, support: Ints, n_labels: int, workers: Workers, room: Room
    ) -> None:
        features = rows.n_features
        self._rows, self._workers, self._room = rows, workers, room
        starts = np.searchsorted(support, np.arange(features + 1) * n_labels)
        self._starts: Ints = room.copy(starts, np.int64)
        self._labels: NDArray[np.int16] = room.empty(support.shape, np.int16)
        for part in parts_of(support):
            self._labels[part] = support[part] % n_labels
        self._by_bundle = transposed(rows.bundles, features, room)
        self._sums: Floats = room.table((rows.bundles.n_rows, n_labels), np.float64)
        self._out: Floats = np.zeros(0)
        self._cuts = self._shares(features + rows.bundles.n_rows)

    def begin(self, out: Floats) -> None:
        """Add up in ``out`` from now on."""
        self._out = out
        out[:] = 0.0
        for part in parts_of(self._sums):
            self._sums[part] = 0.0
            self._room.settle()

    def add(self, first: int, residuals: Residuals, *, squared: bool = False) -> None:
        """Add the residuals [n, L] of the tokens from ``first`` on, which follow those before."""
        tokens = self._rows.tokens.squared() if squared else self._rows.tokens
        indptr = tokens.indptr[first : first + len(residuals) + 1]
        self._workers.map(
            lambda share: scatter(
                indptr, tokens.indices, tokens.values, residuals, *share, self._starts,
                self._labels, self._out, self._sums
            ),
            self._cuts,
        )  # fmt: skip
        self._room.settle()

    def finish(self, *, squared: bool = False) -> None:
        """Add what comes by way of bundles, once all tokens have been there."""
        index = self._by_bundle.squared() if squared else self._by_bundle

        def run(block: tuple[int, int]) -> None:
            add_bundles(*index.arrays, self._sums, *block, self._starts, self._labels, self._out)
            self._room.settle()

        self._workers.map(run, blocks(index.indptr, BUNDLE_ENTRIES))

    def _shares(self, columns: int) -> list[tuple[int, int]]:
        """Ranges of features and bundles that occur equally often, one a thread."""
        starts = np.zeros(columns + 1, np.int64)
        column_starts(self._rows.tokens.indices, starts)
        threads = self._workers.threads
        goals = np.arange(1, threads) * int(starts[-1]) // threads
        return list(pairwise([0, *np.searchsorted(starts, goals).tolist(), columns]))


def observed_pairs(rows: FeatureMatrix, labels: Labels, n_labels: int, room: Room) -> Ints:
    """The (feature, label) pairs that occur, as numbers f · L + l, rising. [P]"""
    table = label_support(rows, labels, n_labels, room)
    found = []
    for part in parts_of(table):
        found.append(np.flatnonzero(table[part]) + part.start * n_labels)
        room.settle()
    return room.copy(np.concatenate(found), np.int64) if found else np.zeros(0, np.int64)


def label_support(
    rows: FeatureMatrix, labels: Labels, n_labels: int, room: Room = IN_MEMORY
) -> NDArray[np.uint8]:
    """Which labels tokens with a feature have, 1 or 0; all where one is not known (−1). [F, L]"""
    shape = rows.n_features + rows.bundles.n_rows, n_labels
    support: NDArray[np.uint8] = room.table(shape, np.uint8)
    for entries, tokens in rows.tokens.entries():
        gold = labels[tokens]
        support[entries[gold >= 0], gold[gold >= 0]] = 1
        support[entries[gold < 0]] = 1
    for entries, owners in rows.bundles.entries():
        shown = support[rows.n_features + owners]
        for label in range(n_labels):
            support[entries[shown[:, label] == 1], label] = 1
    return support[: rows.n_features]
