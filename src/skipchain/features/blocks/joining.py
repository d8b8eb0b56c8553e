"""Bundles of features that several columns in files have together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.features.matrix import CSRMatrix
from skipchain.growing import Growing
from skipchain.kernels.gather import compress_columns
from skipchain.kernels.intern import empty_slots, index_tuples, number_further
from skipchain.scratch.folder import Scratch

Numbers = NDArray[np.int32]


def joint_columns(
    columns: list[Numbers], scratch: Scratch, size: int
) -> tuple[list[Numbers], CSRMatrix, Numbers] | None:
    """What `features.matrix` makes of columns at once: those that stay alone, bundles, their codes.

    The columns are looked at in blocks of ``size`` tokens. None where no two are joined.
    """
    tokens = len(columns[0])
    alone: list[Numbers] = []
    joined = columns[:1]
    codes, first = _numbered([columns[0]], [1], scratch, size, tokens + 1) or (columns[0], None)
    assert first is not None  # a column has no more values than tokens
    for column in columns[1:]:
        # as many bundles as make the index no shorter: D (J + 1) − B J ≥ N
        most = -(-(tokens + len(first) * len(joined)) // (len(joined) + 1))
        wider = _numbered([codes, column], [0, 1], scratch, size, most)
        if wider is None:
            alone.append(column)
        else:
            codes, first = wider
            joined = [*joined, column]
    if len(joined) == 1:
        return None
    nothing = CSRMatrix.empty(len(first))
    table = np.stack([column[first] for column in joined])
    bundles = compress_columns(table, nothing.indptr, nothing.indices)
    return alone, CSRMatrix(*bundles), codes


def _numbered(
    columns: list[Numbers], shifts: list[int], scratch: Scratch, size: int, most: int
) -> tuple[Numbers, Ints] | None:
    """The number of each combination by first appearance [N], and where each comes first [D].

    None where there are ``most`` combinations or more; ``shifts`` are added to the columns.
    """
    tokens, room = len(columns[0]), 0
    codes = scratch.empty((tokens,), np.int32)
    known = np.empty((0, len(columns)), np.int32)
    slots = empty_slots(0)
    first = Growing((), np.int64)
    for begin in range(0, tokens, size):
        parts = [column[begin : begin + size] for column in columns]
        keys = np.stack([part + np.int32(k) for part, k in zip(parts, shifts, strict=True)], axis=1)
        if len(first) + len(keys) > room:
            room = 2 * (len(first) + len(keys))
            wider = np.empty((room, len(columns)), np.int32)
            wider[: len(first)] = known[: len(first)]
            known = wider
            slots = empty_slots(room)
            index_tuples(known[: len(first)], slots)
        numbers, places = number_further(keys, known, len(first), slots)
        codes[begin : begin + size] = numbers
        first.add(places + begin)
        if len(first) >= most:
            return None
    return codes, first.array
