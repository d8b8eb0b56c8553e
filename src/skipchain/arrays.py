"""Names of array types, and the few steps on offsets that every layer takes."""

from __future__ import annotations

from collections.abc import Iterable
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


def offsets_of(lengths: Iterable[int] | Ints) -> Ints:
    """Where parts of the given lengths begin, and the end of the last. [K + 1]

    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    sizes = np.fromiter(lengths, np.int64) if not isinstance(lengths, np.ndarray) else lengths
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def members(offsets: Ints, parts: Iterable[int] | Ints) -> Ints:
    """The numbers that lie in some of the parts that offsets cut, part after part.

    >>> members(np.array([0, 2, 2, 5]), [2, 0])
    array([2, 3, 4, 0, 1])
    """
    chosen = np.asarray(parts if isinstance(parts, np.ndarray) else list(parts), np.int64)
    starts, sizes = offsets[chosen], offsets[chosen + 1] - offsets[chosen]
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + sizes, sizes) + np.arange(total)
