"""Columns whose cells are sets: several items a token, with spaces between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, members, offsets_of
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

    ``names`` maps codes to strings; it is called once, with the codes of the distinct cells.

    >>> name = lambda codes: [f"f{code}" for code in codes.tolist()]
    >>> set_column(np.array([2, 0, 0, 0]), np.array([5, 7, 5, 7], np.int32), 3, name).tolist()
    ['f5 f7', '', 'f5']
    """
    indptr, sets = gather_sets(tokens, codes, n)
    numbers, firsts = number_sets(indptr, sets, empty_slots(n))
    items = list(names(sets[members(indptr, firsts)]))
    offsets = offsets_of(np.diff(indptr)[firsts]).tolist()
    return Column(frozen(numbers), tuple(" ".join(items[a:b]) for a, b in pairwise(offsets)))
