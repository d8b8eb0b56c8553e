"""Names of array types, and the few steps on offsets that every layer takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int32]
"""Labels, or other entries of a short list, by number."""
Bools = NDArray[np.bool_]
Arrays = dict[str, NDArray[Any]]
"""Arrays by name, as a file holds them."""
Shape = tuple[int, ...]
LARGEST_WEIGHT = 1e15
"""The size of a weight in a model file; sums of such weights stay finite."""


class Room:
    """Where large arrays are made: in memory, or wherever a subclass makes them.

    >>> IN_MEMORY.copy(np.array([0.5]), np.float32)
    array([0.5], dtype=float32)
    """

    nbytes = 0
    """Bytes of what lies outside memory."""

    def empty(self, shape: Shape, dtype: Any) -> NDArray[Any]:
        """An array of whatever numbers."""
        return np.empty(shape, dtype)

    def zeros(self, shape: Shape, dtype: Any) -> NDArray[Any]:
        """An array of zeros."""
        return np.zeros(shape, dtype)

    def table(self, shape: Shape, dtype: Any) -> NDArray[Any]:
        """An array of zeros that will be read and written all over, not from end to end."""
        return self.zeros(shape, dtype)

    def release(self) -> None:
        """Hold no more than must be, before work of another kind."""

    def settle(self) -> None:
        """Keep to what may be held, now that a part of the work is done."""

    def copy(self, array: NDArray[Any], dtype: Any) -> NDArray[Any]:
        """The numbers of an array in one of another type."""
        made = self.empty(array.shape, dtype)
        made[...] = array
        return made


IN_MEMORY = Room()


PART = 1 << 20  # numbers


def parts_of(array: NDArray[Any]) -> Iterator[slice]:
    """Its rows in parts of about `PART` numbers, for what makes further arrays of them.

    >>> list(parts_of(np.zeros((3, PART // 2))))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    width = max(1, int(np.prod(array.shape[1:])))
    size = max(1, PART // width)
    for first in range(0, len(array), size):
        yield slice(first, first + size)


def offsets_of(lengths: Iterable[int] | Ints) -> Ints:
    """Where parts of the given lengths begin, and the end of the last. [K + 1]

    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    sizes = np.fromiter(lengths, np.int64) if not isinstance(lengths, np.ndarray) else lengths
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def concat_ranges(starts: Ints, lengths: Ints) -> Ints:
    """starts[k], starts[k] + 1 … for lengths[k] numbers each, one after the other.

    >>> concat_ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    return np.repeat(starts - offsets_of(lengths)[:-1], lengths) + np.arange(lengths.sum())


def members(offsets: Ints, parts: Iterable[int] | Ints) -> Ints:
    """The numbers that lie in some of the parts that offsets cut, part after part.

    >>> members(np.array([0, 2, 2, 5]), [2, 0])
    array([2, 3, 4, 0, 1])
    """
    chosen = np.asarray(parts if isinstance(parts, np.ndarray) else list(parts), np.int64)
    return concat_ranges(offsets[chosen], offsets[chosen + 1] - offsets[chosen])
