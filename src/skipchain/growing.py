"""Arrays that grow by rows."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE = 64  # bytes that come from memory together


class Growing:
    """An array to which rows are added; what was taken of it before stays as it is.

    >>> numbers = Growing((), np.int64)
    >>> numbers.add(np.array([3, 4])), numbers.add(np.array([5]))
    (0, 2)
    >>> numbers.array.tolist()
    [3, 4, 5]
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._all = _aligned_zeros((16, *shape), np.dtype(dtype))
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def array(self) -> NDArray[Any]:
        """The rows so far."""
        return self._all[: self._size]

    def add(self, rows: NDArray[Any]) -> int:
        """Add rows; returns the place of the first."""
        first = self.add_zeros(len(rows))
        self._all[first : self._size] = rows
        return first

    def add_zeros(self, count: int) -> int:
        """Add rows of zeros; returns the place of the first."""
        first, self._size = self._size, self._size + count
        if self._size > len(self._all):
            shape = max(self._size, 2 * first), *self._all.shape[1:]
            larger = _aligned_zeros(shape, self._all.dtype)
            larger[:first] = self._all[:first]
            self._all = larger
        return first


def _aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros that begin with a line of the processor's cache, so that rows lie in fewer of them."""
    if dtype.hasobject:
        return np.zeros(shape, dtype)
    size = prod(shape) * dtype.itemsize
    room = np.zeros(size + LINE, np.uint8)
    begin = -room.ctypes.data % LINE
    return room[begin : begin + size].view(dtype).reshape(shape)
