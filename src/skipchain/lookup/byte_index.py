"""The values of columns by the bytes of their strings, for text that is never made into strings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, offsets_of
from skipchain.growing import Growing
from skipchain.kernels.column_text import fill_slots, find_slices, hash_slices

Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]


class ByteIndex:
    """Which value a string of a column has, found by its bytes in UTF-8.

    Strings may be looked for while others are added: what is being added is then not yet found.

    >>> index = ByteIndex()
    >>> index.add(0, [b"Ada", b"Bo"], [7, 8])
    >>> text = np.frombuffer(b"Bo Al Ada", np.uint8)
    >>> index.find(text, np.array([[0, 3, 6]], np.int32), np.array([[2, 5, 9]], np.int32))
    array([[ 8, -1,  7]], dtype=int32)
    """

    def __init__(self) -> None:
        self._slots = np.full(1 << 12, -1, np.int32)
        self._known: dict[tuple[int, bytes], None] = {}  # in the order in which they were added
        self._hashes, self._numbers = Growing((), np.uint64), Growing((), np.int32)
        self._places, self._blob = Growing((2,), np.int64), Growing((), np.uint8)

    @property
    def size(self) -> tuple[int, int]:
        """How many strings there are, and their bytes; see `beginning`."""
        return len(self._hashes), len(self._blob)

    def beginning(self, size: tuple[int, int]) -> ByteIndex:
        """An index of the strings that were there when it had this size."""
        other, (count, length) = ByteIndex(), size
        other._known = dict.fromkeys(islice(self._known, count))
        other._hashes = self._hashes.beginning(count)
        other._numbers = self._numbers.beginning(count)
        other._places, other._blob = self._places.beginning(count), self._blob.beginning(length)
        other._slots = np.full(len(self._slots), -1, np.int32)
        fill_slots(other._slots, other._hashes.array, 0)
        return other

    def find(self, text: Bytes, starts: Codes, ends: Codes) -> Codes:
        """The value of each slice of a text [C, N], in the column of its row; −1 for none."""
        values = np.empty(starts.shape, np.int32)
        slots = self._slots  # first: what it has is in all the other arrays
        parts = self._hashes, self._places, self._blob, self._numbers
        find_slices(text, starts, ends, slots, *(part.array for part in parts), values)
        return values

    def add(self, column: int, strings: Sequence[bytes], values: Sequence[int]) -> None:
        """Add distinct strings with their values, but for those that are there."""
        fresh = [k for k, own in enumerate(strings) if (column, own) not in self._known]
        strings, values = [strings[k] for k in fresh], [values[k] for k in fresh]
        self._known.update(((column, own), None) for own in strings)
        ends = offsets_of(map(len, strings))
        begin = self._blob.add(np.frombuffer(b"".join(strings), np.uint8))
        places: Ints = begin + np.stack([ends[:-1], ends[1:]], axis=1)
        hashes = np.empty(len(strings), np.uint64)
        hash_slices(self._blob.array, places, column, hashes)
        self._places.add(places)
        self._numbers.add(np.array(values, np.int32))
        first = self._hashes.add(hashes)
        if 3 * len(self._hashes) > len(self._slots):
            larger = np.full(1 << (4 * len(self._hashes)).bit_length(), -1, np.int32)
            fill_slots(larger, self._hashes.array, 0)
            self._slots = larger
        else:
            fill_slots(self._slots, self._hashes.array, first)
