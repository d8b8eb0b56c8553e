"""Products of long vectors, and walks over them in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats
from skipchain.parallel import Workers

Output = TypeVar("Output")

BLOCK = 1 << 16  # numbers of a vector that one thread works on at a time


def dot(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    """Σ a · b on the calling thread, without BLAS.

    A BLAS library spreads a long product over threads of its own, which then wait busily for more
    work and take the cores away from ours.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b, dtype=np.float64))


def norm(a: Floats) -> float:
    """The length of a vector."""
    return math.sqrt(dot(a, a))


def map_blocks(function: Callable[[int, int], Output], size: int, workers: Workers) -> list[Output]:
    """The function of where each block of a vector begins and ends, in order.

    >>> map_blocks(lambda first, last: last - first, 100_000, Workers(1))
    [65536, 34464]
    """
    return workers.map(
        lambda first: function(first, min(first + BLOCK, size)), range(0, size, BLOCK)
    )
