"""Sums of the rows of a table that features choose, and back: the sums of rows by feature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Floats, Ints, Room
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.kernels.gather import column_starts, gather, pick, transpose
from skipchain.parallel import Workers, blocks

Residuals = NDArray[np.float32] | Floats
Result = TypeVar("Result")

GRADIENT_ENTRIES = 1 << 16  # index entries in one block of the transposed sums
TRANSPOSED_ENTRIES, MOST_WALKS = 1 << 23, 32  # in a range of columns; over an index in a file
BLOCK_ROWS = 1 << 16  # features and entries in one block of sums of which parts are kept


@dataclass(frozen=True, slots=True)
class FeatureSums:
    """Sums over the rows that have a feature, partly by way of their bundles.

    Few (feature, label) pairs are parameters, so the table of all sums [F, W] is never held: blocks
    of features are summed, and what is wanted of them is kept. ``by_row`` lists the rows of each
    feature and, after them, of each bundle; ``by_bundle`` the bundles of each feature; ``blocks``
    where each block of features begins and ends.
    """

    by_row: CSRMatrix
    by_bundle: CSRMatrix
    blocks: list[tuple[int, int]]
    room: Room = IN_MEMORY
    _sums: dict[int, Floats] = field(default_factory=dict)  # of bundles, by width

    @classmethod
    def of(cls, rows: FeatureMatrix, room: Room = IN_MEMORY) -> FeatureSums:
        """The transposed indexes of features, in a room of their own."""
        features = rows.n_features
        by_row = transposed(rows.tokens, features + rows.bundles.n_rows, room)
        by_bundle = transposed(rows.bundles, features, room)
        work = by_row.indptr[: features + 1] + by_bundle.indptr + np.arange(features + 1)
        return cls(by_row, by_bundle, blocks(work, BLOCK_ROWS), room)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.by_row.nbytes + self.by_bundle.nbytes

    def unweighted(self) -> FeatureSums:
        """The same with one for each value."""
        return replace(self, by_row=self.by_row.unweighted(), by_bundle=self.by_bundle.unweighted())

    def squared(self) -> FeatureSums:
        """The same with the square of each value."""
        return replace(self, by_row=self.by_row.squared(), by_bundle=self.by_bundle.squared())

    def support(self, residuals: Residuals, workers: Workers) -> Ints:
        """Where the table of sums [F, W] is not 0, as numbers in it from 0 on, rising."""

        def run(first: int, sums: Floats) -> Ints:
            places: Ints = np.flatnonzero(sums)
            places += first * residuals.shape[1]
            return places

        parts = self._map(run, residuals, workers)
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def at(
        self,
        support: Ints | None,
        residuals: Residuals,
        workers: Workers,
        out: Floats | None = None,
    ) -> Floats:
        """The table of sums of residuals [N, W] at some places, which rise; None: at all.

        With ``out`` they are written there.
        """
        width = residuals.shape[1]
        if out is None:
            out = np.empty(self.by_bundle.n_rows * width if support is None else len(support))

        def run(first: int, sums: Floats) -> None:
            low, high = first * width, first * width + sums.size
            if support is None:
                out[low:high] = sums.ravel()
            else:
                here = slice(*np.searchsorted(support, (low, high)))
                pick(sums.ravel(), support[here], low, out[here])

        self._map(run, residuals, workers)
        return out

    def _map(
        self, function: Callable[[int, Floats], Result], residuals: Residuals, workers: Workers
    ) -> list[Result]:
        """The function of the first feature and the sums of each block of features."""
        features, width = self.by_bundle.n_rows, residuals.shape[1]
        bundles = CSRMatrix(self.by_row.indptr[features:], *self.by_row.arrays[1:])
        if width not in self._sums:
            self._sums[width] = self.room.empty((bundles.n_rows, width), np.float64)
        bundle_sums = self._sums[width]
        sum_rows(bundles, residuals, bundle_sums, workers)

        def run(block: tuple[int, int]) -> Result:
            first, last = block
            sums = np.empty((last - first, width))
            sum_block(self.by_row, first, residuals, residuals[:0], sums)
            sum_block(self.by_bundle, first, bundle_sums, bundle_sums[:0], sums, add=True)
            result = function(first, sums)
            self.room.settle()
            return result

        return workers.map(run, self.blocks)


class TableScorer:
    """Sums of the rows of a table [F, W] that tokens' features choose, and back.

    >>> from skipchain.features.matrix import CSRMatrix
    >>> features = CSRMatrix(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32))
    >>> scorer = TableScorer(FeatureMatrix(features, CSRMatrix.empty(0), CSRMatrix.empty(2), 2))
    >>> with Workers(1) as workers:
    ...     scorer.scores(np.array([[1.0], [2.0]]), workers)
    ...     scorer.gradient(np.array([[1.0], [10.0]]), workers)
    array([[3.],
           [2.]])
    array([[ 1.],
           [11.]])
    """

    def __init__(self, rows: FeatureMatrix) -> None:
        self.rows = rows
        self._sums = FeatureSums.of(rows)

    def scores(self, table: Floats, workers: Workers) -> Floats:
        """The scores of all tokens. [N, W]"""
        return table_scores(self.rows, table, workers)

    def gradient(self, residuals: Floats, workers: Workers) -> Floats:
        """The gradient in the table, from that in the scores. [F, W]"""
        return self._sums.at(None, residuals, workers).reshape(-1, residuals.shape[1])


def table_scores(rows: FeatureMatrix, table: Floats, workers: Workers) -> Floats:
    """The sums of the rows of a table that tokens' features choose. [N, W]"""
    scores = np.empty((rows.tokens.n_rows, table.shape[1]))
    sum_rows(rows.tokens, table, scores, workers, more=sum_bundles(rows, table, workers))
    return scores


def sum_bundles(
    rows: FeatureMatrix, state: Floats, workers: Workers, out: Floats | None = None
) -> Floats:
    """The summed weight rows of every feature bundle, written to ``out`` if it is given. [U, L]"""
    bundles = rows.bundles
    sums = np.empty((bundles.n_rows, state.shape[1]), state.dtype) if out is None else out
    sum_rows(bundles, state, sums, workers)
    return sums


def sum_rows(
    index: CSRMatrix,
    source: Residuals,
    out: Floats,
    workers: Workers,
    *,
    more: Residuals | None = None,
) -> None:
    """Write to each row of ``out`` the sum of the rows of ``source`` in its index.

    Entries beyond the last row of ``source`` are those of ``more``.
    """
    further = source[:0] if more is None else more
    workers.map(
        lambda b: gather(
            index.indptr, index.indices, index.values, source, further, out, *b, False
        ),
        blocks(index.indptr, GRADIENT_ENTRIES),
    )


def sum_block(
    index: CSRMatrix,
    first: int,
    table: Residuals,
    more: Residuals,
    out: Floats,
    *,
    add: bool = False,
) -> None:
    """Write (or add) the sums of `sum_rows` for the rows from ``first`` on that ``out`` has."""
    size = len(out)
    indptr = index.indptr[first : first + size + 1]
    gather(indptr, index.indices, index.values, table, more, out, 0, size, add)


def transposed(index: CSRMatrix, columns: int, room: Room = IN_MEMORY) -> CSRMatrix:
    """The transposed index.

    Elsewhere than in memory it is written range by range of columns, so that what is written at
    once lies together.
    """
    indices, values = index.indices, index.values
    indptr = room.empty((columns + 1,), np.int64)
    column_starts(indices, indptr)
    made = CSRMatrix(
        indptr, room.empty(indices.shape, np.int32), room.empty(values.shape, np.float64)
    )
    size = max(TRANSPOSED_ENTRIES, len(indices) // MOST_WALKS, 1)
    ranges = [(0, columns)] if room is IN_MEMORY else blocks(indptr, size)
    for first, last in ranges:
        transpose(*index.arrays, first, last, *made.arrays)
    return made
