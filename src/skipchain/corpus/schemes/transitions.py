"""Which labels may follow each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools
from skipchain.corpus.schemes.labels import parse
from skipchain.corpus.schemes.scheme import CLOSES, OPENS, OUTSIDE, TABLE, check_scheme


def transitions(
    labels: Sequence[str], scheme: str, *, strict: bool = False, touching: bool = True
) -> tuple[Bools, Bools, Bools]:
    """The legal bigrams ``bool [L, L]``, by ``[prev, cur]``, first and last labels ``bool [L]``.

    A sentence is valid in the scheme if and only if its first label, its last and all its bigrams
    are legal. A redundant B- of iob1 or E- of ioe1 is legal unless ``strict``, because its meaning
    is clear and training data have it: CoNLL-2003 would else be impossible under its own scheme.
    Every sequence is then legal in these two. Without ``touching``, no span may touch another of
    its type.

    >>> allowed, first, last = transitions(["O", "B-PER", "I-PER"], "iob2")
    >>> allowed.astype(int)
    array([[1, 1, 0],
           [1, 1, 1],
           [1, 1, 1]])
    >>> first.tolist(), last.tolist()
    ([True, True, False], [True, True, True])
    """
    table = TABLE[check_scheme(scheme)]
    marks, kinds, _ = parse(labels, table)
    size = len(labels)
    inside = kinds != OUTSIDE
    same = (kinds[:, None] == kinds) & inside
    joined = same & ~has_bit(marks, OPENS) & ~has_bit(marks, CLOSES)[:, None]
    apart = np.ones((size, size), bool) if touching else ~same | joined
    if table.only_if_needed and not strict:
        return apart, np.ones(size, bool), np.ones(size, bool)
    # What the scheme would write on either side of the bigram, compared with what stands there.
    border = same & ~joined if table.only_if_needed else ~joined
    allowed = np.ones((size, size), bool)
    first, last = np.ones(size, bool), np.ones(size, bool)
    if table.bits & OPENS:
        allowed &= ~inside | (has_bit(marks, OPENS) == border)
        first = ~inside | (has_bit(marks, OPENS) != table.only_if_needed)
    if table.bits & CLOSES:
        allowed &= ~inside[:, None] | (has_bit(marks, CLOSES)[:, None] == border)
        last = ~inside | (has_bit(marks, CLOSES) != table.only_if_needed)
    return allowed & apart, first, last


def has_bit(marks: NDArray[np.int8], bit: int) -> Bools:
    """Which marks have the bit, ``bool [L]``."""
    flags: Bools = (marks != OUTSIDE) & ((marks & bit) > 0)
    return flags
