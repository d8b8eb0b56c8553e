"""Columns whose cells are sets: what several facts say of a token, with spaces between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.kernels.intern import empty_slots
from skipchain.kernels.token_sets import gather_sets, number_sets


def set_column(
    tokens: Ints,
    codes: NDArray[np.int32],
    n: int,
    names: Callable[[NDArray[np.int32]], Sequence[str]],
) -> Column:
    """A column of n cells from pairs: token ``tokens[k]`` has ``codes[k]``.

    ``names`` gives the strings of codes; it is asked once, for those of the distinct cells.

    >>> name = lambda codes: [f"f{code}" for code in codes.tolist()]
    >>> set_column(np.array([2, 0, 0, 0]), np.array([5, 7, 5, 7], np.int32), 3, name).tolist()
    ['f5 f7', '', 'f5']
    """
    indptr, held = gather_sets(tokens, codes, n)
    numbers, firsts = number_sets(indptr, held, empty_slots(n))
    sizes = (indptr[1:] - indptr[:-1])[firsts]
    offsets = offsets_of(sizes)
    entries = np.repeat(indptr[:-1][firsts] - offsets[:-1], sizes) + np.arange(offsets[-1])
    flat = list(names(held[entries]))
    ends = offsets.tolist()
    values = tuple(" ".join(flat[a:b]) for a, b in pairwise(ends))
    return Column(frozen(numbers), values)
