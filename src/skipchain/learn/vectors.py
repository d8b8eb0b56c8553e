"""Products of long vectors, on the calling thread alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def dot(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Σ a · b, without BLAS.

    A BLAS library spreads a long product over threads of its own, which then wait busily for more
    work and take the cores away from ours.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.einsum("i,i->", a, b))


def norm(a: NDArray[np.float64]) -> float:
    """The length of a vector."""
    return math.sqrt(dot(a, a))
