"""Where the rows of a conjunction's features are found by the numbers of its views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, offsets_of
from skipchain.kernels.lookup import DIRECT, fill_table

Codes = NDArray[np.int32]
DIRECT_SHARE = 64
"""How many times the slots of a hash table a table of all keys may have."""


@dataclass(frozen=True, slots=True)
class ConjunctionTable:
    """The ``keys`` [K] and ``features`` [K] of a conjunction whose keys are below ``n_keys``.

    Where few keys are possible, all of them have a place, which is quicker than hashing.

    >>> ConjunctionTable(np.array([3, 5]), np.array([0, 1]), 9).mask == DIRECT
    True
    >>> ConjunctionTable(np.array([3, 5]), np.array([0, 1]), 10**6).mask
    7
    """

    keys: Ints
    features: Ints
    n_keys: int

    @property
    def mask(self) -> int:
        """The slots of a hash table at most half full less one, or `DIRECT`."""
        slots = 1 << (2 * len(self.keys) + 1).bit_length()
        return DIRECT if self.n_keys <= DIRECT_SHARE * slots else slots - 1

    @property
    def size(self) -> int:
        """How many places the table has."""
        return self.n_keys if self.mask == DIRECT else self.mask + 1


def lay_out_tables(tables: Sequence[ConjunctionTable]) -> tuple[Ints, Ints, Codes]:
    """The tables one after the other: where each begins, the keys of slots, the row of each place.

    Rows are numbered from 1 through the features of all tables. Hash tables come first, for places
    of direct tables need no keys.
    """
    hashed = np.array([table.mask != DIRECT for table in tables], np.bool_)
    sizes = np.array([table.size for table in tables], np.int64)
    order = np.argsort(~hashed, kind="stable")
    begins = np.empty(len(tables), np.int64)
    begins[order] = offsets_of(sizes[order].tolist())[:-1]
    keys = np.full(sizes[hashed].sum(), -1, np.int64)
    found = np.zeros(sizes.sum(), np.int32)
    row = 1
    for table, begin in zip(tables, begins.tolist(), strict=True):
        rows = np.arange(row, row + len(table.keys))
        if table.mask == DIRECT:
            found[begin + table.keys] = rows
        else:
            fill_table(table.keys, begin, table.mask, rows, keys, found)
        row += len(rows)
    return begins, keys, found
