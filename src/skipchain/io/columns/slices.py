"""Dictionary encoding of byte slices: from a file's bytes to a `Column` without a string per token.

Only distinct values become strings. On CoNLL-2003 this takes a quarter of the time of splitting the
text and numbering the strings, which `encode_slices_plain` still does where the fast way does not
hold.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.column import Column, frozen

PADDING = b"\0" * 8  # a window of 8 bytes may begin at the last byte
LONGEST = 256  # bytes; longer values are left to `encode_slices_plain`
ROUNDS = 32

# Fibonacci hashing (Knuth, TAOCP 3, 6.4): multiply by an odd constant, keep the high bits.
MIX1, MIX2, FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(29)
MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)

Words = list[tuple[Ints, NDArray[np.uint64]]]


def encode_slices(data: bytes, starts: Ints, ends: Ints) -> Column:
    """The column of the UTF-8 strings ``data[starts[i]:ends[i]]``, numbered by first appearance.

    ``data`` must go on for at least `PADDING` behind the last end; ``starts`` and ``ends`` are
    ``int64 [N]``.

    >>> data = b"the cat the" + PADDING
    >>> column = encode_slices(data, np.array([0, 4, 8]), np.array([3, 7, 11]))
    >>> column.codes.tolist(), column.values
    ([0, 1, 0], ('the', 'cat'))
    """
    lengths = ends - starts
    if lengths.size == 0 or lengths.max() > LONGEST:
        return encode_slices_plain(data, starts, ends)
    hashes, words = hash_slices(data, starts, lengths)
    first = first_equal_hash(hashes)
    if first is None or not identical(first, lengths, words):
        return encode_slices_plain(data, starts, ends)
    new = first == np.arange(len(first))
    codes = (np.cumsum(new, dtype=np.int32) - np.int32(1))[first]
    where = np.flatnonzero(new)
    return Column(frozen(codes), strings(data, starts[where], ends[where]))


def encode_slices_plain(data: bytes, starts: Ints, ends: Ints) -> Column:
    """The column of UTF-8 slices by way of one string per token: slower, but for any slices."""
    return Column.encode(strings(data, starts, ends))


def strings(data: bytes, starts: Ints, ends: Ints) -> tuple[str, ...]:
    """The slices as strings."""
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return tuple([data[start:end].decode() for start, end in pairs])


def hash_slices(data: bytes, starts: Ints, lengths: Ints) -> tuple[NDArray[np.uint64], Words]:
    """A hash of each slice ``uint64 [N]``, and the 8-byte words it was made of.

    Word j is there for the slices that are longer than 8 j bytes: their indices, and the words.
    """
    windows = sliding_window_view(np.frombuffer(data, np.uint8), 8)
    hashes = lengths.astype(np.uint64)
    words: Words = []
    which, at, left = np.arange(len(starts)), starts, lengths
    while len(which):
        word = windows[at].view("<u8").ravel() & MASKS[np.minimum(left, 8)]
        mixed = (hashes[which] ^ word) * MIX1
        hashes[which] = mixed ^ (mixed >> FOLD)
        words.append((which, word))
        longer = left > 8
        which, at, left = which[longer], at[longer] + 8, left[longer] - 8
    return hashes, words


def first_equal_hash(hashes: NDArray[np.uint64]) -> NDArray[np.int32] | None:
    """The first index with the hash of each, ``int32 [N]``; None if collisions remain.

    All indices are written to their slot of a hash table, from last to first, so that the first
    stays. Those that collide with another hash try another slot in the next round.
    """
    bits = len(hashes).bit_length() + 2
    shift = np.uint64(64 - bits)
    table = np.zeros(1 << bits, np.int32)
    first = np.zeros(len(hashes), np.int32)
    which, keys = np.arange(len(hashes), dtype=np.int32), hashes
    for _ in range(ROUNDS):
        slots = (keys >> shift).astype(np.int64)
        table[slots[::-1]] = which[::-1]
        stored = table[slots]
        same = hashes[stored] == hashes[which]
        first[which[same]] = stored[same]
        if same.all():
            return first
        which, keys = which[~same], keys[~same] * MIX2
    return None


def identical(first: NDArray[np.int32], lengths: Ints, words: Words) -> bool:
    """Whether every slice has the bytes of the first with its hash: equal hashes alone may lie."""
    if not np.array_equal(lengths, lengths[first]):
        return False
    scratch = np.zeros(len(lengths), np.uint64)
    for which, word in words:
        scratch[which] = word
        if not np.array_equal(scratch[first[which]], word):
            return False
    return True
