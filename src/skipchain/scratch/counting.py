"""Counts of more distinct keys than memory holds: by hash ranges, one after the other.

A key is a row of whole numbers, such as the numbers of the views of a conjunction. What is counted
of one part of the data is a `KeyCounts`; counts of several parts are merged, and can be dealt into
ranges of a hash that are merged apart from each other, on disk or on several machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Ints
from skipchain.kernels.intern import empty_slots, hash_tuples, number_tuples

Keys = NDArray[np.int32]

HELD = 1 << 20  # distinct keys
RANGES = 32
RANGE_BITS = np.uint64(32)  # of a hash, from which on they choose the range


@dataclass(frozen=True, slots=True)
class KeyCounts:
    """Distinct keys, how often each occurs, and where it does first.

    ``keys`` is int32 [D, M]; keys with a member below 0 are never counted. ``counts`` and ``first``
    are [D]. Places are numbers that rise through the data.

    >>> counts = KeyCounts.of(np.array([[7, 1], [2, 2], [7, 1], [-1, 2]], np.int32), place=10)
    >>> counts.keys.tolist(), counts.counts, counts.first
    ([[7, 1], [2, 2]], array([2, 1]), array([10, 11]))
    """

    keys: Keys
    counts: Ints
    first: Ints

    @classmethod
    def of(cls, keys: Keys, place: int = 0) -> KeyCounts:
        """The keys [K, M] that stand at ``place`` and the places behind it, one at each."""
        numbers, distinct, counts = number_tuples(keys, empty_slots(len(keys)))
        return cls(distinct, counts, place + _first_places(numbers))

    @classmethod
    def none(cls, width: int) -> KeyCounts:
        """No key of so many members."""
        nothing = np.zeros(0, np.int64)
        return cls(np.zeros((0, width), np.int32), nothing, nothing)

    @classmethod
    def merged(cls, parts: Sequence[KeyCounts]) -> KeyCounts:
        """The counts of several parts of the data together, in whatever order they come.

        >>> one = KeyCounts.of(np.array([[5], [3]], np.int32))
        >>> both = KeyCounts.merged([one, KeyCounts.of(np.array([[3]], np.int32), place=2)])
        >>> both.keys.ravel().tolist(), both.counts, both.first
        ([5, 3], array([1, 2]), array([0, 1]))
        """
        if len(parts) == 1:
            return parts[0]
        keys = np.concatenate([part.keys for part in parts])
        numbers, distinct, _ = number_tuples(keys, empty_slots(len(keys)))
        counts = np.zeros(len(distinct), np.int64)
        np.add.at(counts, numbers, np.concatenate([part.counts for part in parts]))
        first = np.full(len(distinct), np.iinfo(np.int64).max)
        np.minimum.at(first, numbers, np.concatenate([part.first for part in parts]))
        return cls(distinct, counts, first)

    @classmethod
    def joined(cls, parts: Sequence[KeyCounts]) -> KeyCounts:
        """The counts of several ranges together, of which no two have a key in common."""
        own = ([getattr(part, name) for part in parts] for name in cls.__slots__)
        return cls(*map(np.concatenate, own))

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, chosen: Ints | Bools) -> KeyCounts:
        """Some of the keys, in their order."""
        return KeyCounts(self.keys[chosen], self.counts[chosen], self.first[chosen])

    def ranges(self, count: int) -> list[KeyCounts]:
        """The counts by range of the keys' hash; a key is in the same range wherever it occurs.

        >>> counts = KeyCounts.of(np.arange(100, dtype=np.int32)[:, None])
        >>> sum(map(len, counts.ranges(4)))
        100
        """
        if count == 1:
            return [self]
        chosen = range_of(self.keys, count)
        order = np.argsort(chosen, kind="stable")
        cuts = np.searchsorted(chosen[order], np.arange(count + 1))
        return [self.take(order[a:b]) for a, b in pairwise(cuts.tolist())]

    def frequent(self, min_count: int) -> KeyCounts:
        """The keys that occur so often, the most frequent first; of equals, that which is first."""
        kept = self.take(self.counts >= max(min_count, 1))
        return kept.take(np.lexsort((kept.first, -kept.counts)))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.keys.nbytes + self.counts.nbytes + self.first.nbytes


def range_of(keys: Keys, count: int) -> Ints:
    """In which of ``count`` ranges of the hash each key [K, M] is. [K]"""
    chosen: Ints = ((hash_tuples(keys) >> RANGE_BITS) % np.uint64(count)).astype(np.int64)
    return chosen


class KeyCounter:
    """Counts keys as they come, with no more than about ``held`` distinct ones in memory.

    What is beyond goes to the file that ``open_file`` opens when it is first needed, dealt into
    ranges; the result is the same.

    >>> from tempfile import TemporaryFile
    >>> with KeyCounter(1, TemporaryFile, held=8) as counter:
    ...     for _ in range(3):
    ...         counter.add(np.arange(20, dtype=np.int32)[:, None])
    ...     counter.add(np.array([[5]], np.int32))
    ...     frequent = counter.frequent(2)
    >>> frequent.keys[:2].ravel().tolist(), frequent.counts[:2]
    ([5, 0], array([4, 3]))
    """

    def __init__(
        self,
        width: int,
        open_file: Callable[[], IO[bytes]],
        *,
        held: int = HELD,
        ranges: int = RANGES,
    ) -> None:
        self.width = width
        self.places = 0
        self.most = 0
        """The most keys that were in memory at once, with those that had just come."""
        self._open_file, self._held, self._ranges = open_file, held, ranges
        self._pending: list[KeyCounts] = []
        self._size = 0  # keys that are pending
        self._file: IO[bytes] | None = None
        self._stored: list[list[tuple[int, int]]] = [[] for _ in range(ranges)]  # place, keys

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, keys: Keys) -> None:
        """Count the keys [K, M], which come behind all that came before."""
        self.include(KeyCounts.of(keys, self.places))
        self.places += len(keys)

    def include(self, counts: KeyCounts) -> None:
        """Take in counts that were made elsewhere."""
        self._pending.append(counts)
        self._size += len(counts)
        self.most = max(self.most, self._size)
        if self._size <= self._held:
            return
        merged = KeyCounts.merged(self._pending)
        self._pending, self._size = [merged], len(merged)
        if self._size > self._held // 2:
            self._spill()

    def frequent(self, min_count: int) -> KeyCounts:
        """See `KeyCounts.frequent`; what is returned is held in memory, whatever its size."""
        if self._file is None:
            parts = self._pending or [KeyCounts.none(self.width)]
            return KeyCounts.merged(parts).frequent(min_count)
        if self._size:
            self._spill()
        return KeyCounts.joined([part.frequent(min_count) for part in self._parts()]).frequent(1)

    def _spill(self) -> None:
        """Write what is pending behind what has been written, range by range."""
        if self._file is None:
            self._file = self._open_file()
        self._file.seek(0, 2)
        parts = KeyCounts.merged(self._pending).ranges(self._ranges)
        for stored, part in zip(self._stored, parts, strict=True):
            if len(part):
                stored.append((self._file.tell(), len(part)))
                for array in (part.keys, part.counts, part.first):
                    self._file.write(np.ascontiguousarray(array).data)
        self._pending, self._size = [], 0

    def _parts(self) -> Iterator[KeyCounts]:
        """Counts of all data for ranges of keys, each small enough to be held."""
        for stored in self._stored:
            total = sum(size for _, size in stored)
            smaller = -(-total // self._held)  # ranges inside the range
            for number in range(smaller):
                runs = []
                for place, size in stored:
                    run = self._load(place, size)
                    if smaller > 1:
                        run = run.take(_inner_range(run.keys, self._ranges, smaller) == number)
                    runs.append(run)
                if runs:
                    self.most = max(self.most, sum(map(len, runs)))
                    yield KeyCounts.merged(runs)

    def _load(self, place: int, size: int) -> KeyCounts:
        """Counts that were written."""
        assert self._file is not None
        self._file.seek(place)
        keys = _read(self._file, size * self.width, np.int32).reshape(size, self.width)
        return KeyCounts(keys, _read(self._file, size, np.int64), _read(self._file, size, np.int64))


def _inner_range(keys: Keys, ranges: int, count: int) -> Ints:
    """In which part of its range each key is: by what of the hash has not chosen the range."""
    left = (hash_tuples(keys) >> RANGE_BITS) // np.uint64(ranges)
    chosen: Ints = (left % np.uint64(count)).astype(np.int64)
    return chosen


def _read(file: IO[bytes], count: int, dtype: Any) -> NDArray[Any]:
    """So many numbers from a file."""
    return np.frombuffer(file.read(count * np.dtype(dtype).itemsize), dtype)


def _first_places(numbers: NDArray[np.int32]) -> Ints:
    """Where each number comes first, of numbers given by first appearance; −1 is none."""
    highest = np.maximum.accumulate(numbers) if len(numbers) else numbers
    return np.flatnonzero(np.diff(highest, prepend=-1) > 0)
