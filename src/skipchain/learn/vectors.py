"""Products of long vectors, on the calling thread alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats
from skipchain.kernels.kernel import kernel


def dot(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    """Σ a · b, without BLAS.

    A BLAS library spreads a long product over threads of its own, which then wait busily for more
    work and take the cores away from ours.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b, dtype=np.float64))


def norm(a: Floats) -> float:
    """The length of a vector."""
    return math.sqrt(dot(a, a))


@kernel(fastmath={"reassoc", "contract"})
def add_dot(d, factor, a, b):  # type: ignore[no-untyped-def]
    """d += factor · a in place, and then Σ b · d, in one walk over memory.

    >>> d = np.array([1.0, 2.0])
    >>> float(add_dot(d, 2.0, np.array([1.0, 1.0]), np.array([1.0, 0.5]))), d
    (5.0, array([3., 4.]))
    """
    total = 0.0
    for k in range(d.shape[0]):
        d[k] += factor * a[k]
        total += b[k] * d[k]
    return total
