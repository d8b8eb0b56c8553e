"""Numbering of tuples and of character n-grams by open-addressing hash tables.

A table is ``slots int32 [2^b]``, at most half full: a number, or −1. Keys are not kept in the
slots; a hit is confirmed by comparing the key itself, so two keys never share a number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.kernel import kernel

PRIME = np.uint64(0x100000001B3)
BASIS = np.uint64(0xCBF29CE484222325)


def empty_slots(keys: int) -> NDArray[np.int32]:
    """A table with room for that many keys."""
    return np.full(1 << max(4, int(2 * keys + 1).bit_length()), -1, np.int32)


@kernel
def _mix(h):
    """Spread the bits, so that the low ones can pick a slot."""
    h ^= h >> np.uint64(32)
    h *= np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(29)
    return h


def _fill(hashes, slots):
    """Put the numbers of distinct keys where kernels look for them, or into the next free slot.

    All keys take a step at once: those that find a slot taken, by an earlier or by another one,
    go on to the next. What is between a key's place and its slot is taken, as it must be.
    """
    mask = slots.shape[0] - 1
    at = (_mix.plain(hashes) & np.uint64(mask)).astype(np.int64)
    left = np.arange(hashes.shape[0], dtype=np.int32)
    while len(left):
        free = slots[at] < 0
        slots[at[free]] = left[free]
        lost = slots[at] != left
        left, at = left[lost], (at[lost] + 1) & mask


@kernel
def _tuple_slot(slots, rows, keys, k):
    """Where key k is, or the free slot where it belongs."""
    h = BASIS
    for m in range(keys.shape[1]):
        h = (h ^ np.uint64(keys[k, m])) * PRIME
    mask = np.uint64(slots.shape[0] - 1)
    at = _mix(h) & mask
    while slots[at] >= 0:
        same = True
        for m in range(keys.shape[1]):
            if rows[slots[at], m] != keys[k, m]:
                same = False
                break
        if same:
            break
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def _is_complete(keys, k):
    """Whether key k has no negative member."""
    for m in range(keys.shape[1]):
        if keys[k, m] < 0:
            return False
    return True


@kernel
def number_tuples(keys, slots):
    """Number the distinct rows of keys [K, M] by first appearance.

    Rows with a negative member are left out. Returns numbers [K] (−1 where left out), the distinct
    rows [D, M] and how often each occurs [D]. ``slots`` must have room for K keys.
    """
    count = 0
    numbers = np.empty(keys.shape[0], np.int32)
    rows = np.empty_like(keys)
    counts = np.zeros(keys.shape[0], np.int64)
    for k in range(keys.shape[0]):
        numbers[k] = -1
        if not _is_complete(keys, k):
            continue
        at = _tuple_slot(slots, rows, keys, k)
        if slots[at] < 0:
            slots[at] = count
            for m in range(keys.shape[1]):
                rows[count, m] = keys[k, m]
            count += 1
        numbers[k] = slots[at]
        counts[slots[at]] += 1
    return numbers, rows[:count].copy(), counts[:count].copy()


@kernel
def number_further(keys, rows, count, slots):
    """Number the rows of keys [K, M] as `number_tuples` goes on after the first ``count`` rows.

    Returns numbers [K], and the places [E] in keys of those that are new, in their order, which are
    added to the rows [R, M]. There and in ``slots``, which has the rows, must be room for K more.
    No member is negative.
    """
    known = count
    numbers = np.empty(keys.shape[0], np.int32)
    places = np.empty(keys.shape[0], np.int64)
    for k in range(keys.shape[0]):
        at = _tuple_slot(slots, rows, keys, k)
        if slots[at] < 0:
            slots[at] = count
            for m in range(keys.shape[1]):
                rows[count, m] = keys[k, m]
            places[count - known] = k
            count += 1
        numbers[k] = slots[at]
    return numbers, places[: count - known].copy()


def index_tuples(rows, slots):
    """Fill the table with the distinct rows [D, M], row d as number d."""
    _fill(_tuple_hashes(rows), slots)


def hash_tuples(rows):
    """A hash of each row [D], all of whose bits depend on all of the row."""
    return _mix.plain(_tuple_hashes(rows))


def _tuple_hashes(rows):
    """What `_tuple_slot` makes of each row before the bits are spread."""
    hashes = np.full(rows.shape[0], BASIS)
    for m in range(rows.shape[1]):
        hashes = (hashes ^ rows[:, m].astype(np.uint64)) * PRIME
    return hashes


@kernel
def find_tuples(keys, rows, slots):
    """The number of each row of keys [K, M], −1 where unknown or with a negative member."""
    numbers = np.empty(keys.shape[0], np.int32)
    for k in range(keys.shape[0]):
        numbers[k] = slots[_tuple_slot(slots, rows, keys, k)] if _is_complete(keys, k) else -1
    return numbers


@kernel
def _ngram_slot(slots, points, starts, lengths, text, first, length, h):
    """Where the n-gram text[first : first + length] with hash h is, or belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    at = _mix(h ^ np.uint64(length)) & mask
    while slots[at] >= 0:
        known = slots[at]
        if lengths[known] == length:
            same = True
            for m in range(length):
                if points[starts[known] + m] != text[first + m]:
                    same = False
                    break
            if same:
                break
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def count_ngrams(offsets, shortest, longest):
    """How many n-grams all words have together, counting repetitions."""
    total = 0
    for w in range(offsets.shape[0] - 1):
        size = offsets[w + 1] - offsets[w]
        for length in range(shortest, min(longest, size) + 1):
            total += size - length + 1
    return total


def index_ngrams(points, starts, lengths, slots):
    """Fill the table with known n-grams, the d-th as number d."""
    hashes = np.full(starts.shape[0], BASIS)
    left = np.arange(starts.shape[0])
    for m in range(lengths.max(initial=0)):
        left = left[lengths[left] > m]
        hashes[left] = (hashes[left] ^ points[starts[left] + m].astype(np.uint64)) * PRIME
    _fill(hashes ^ lengths.astype(np.uint64), slots)


@kernel
def _insert_ngram(slots, text, starts, lengths, first, length, h, count):
    """The number of text[first : first + length] in the table; a new one becomes ``count``."""
    at = _ngram_slot(slots, text, starts, lengths, text, first, length, h)
    if slots[at] < 0:
        slots[at] = count
        starts[count] = first
        lengths[count] = length
    return slots[at]


@kernel
def _word_ngrams(text, offsets, shortest, longest, room, points, starts, lengths, slots, new_slots):
    """The sets of n-grams behind `number_ngrams` and `find_ngrams`, and the new ones among them."""
    words = offsets.shape[0] - 1
    known = starts.shape[0]
    new_starts, new_lengths = np.empty(room, np.int32), np.empty(room, np.int32)
    seen, indptr = np.full(known + room, -1, np.int32), np.zeros(words + 1, np.int64)
    numbers = np.empty(room, np.int32)
    count, filled = 0, 0
    for w in range(words):
        for first in range(offsets[w], offsets[w + 1]):
            h = BASIS
            for length in range(1, min(longest, offsets[w + 1] - first) + 1):
                h = (h ^ np.uint64(text[first + length - 1])) * PRIME
                if length < shortest:
                    continue
                number = slots[_ngram_slot(slots, points, starts, lengths, text, first, length, h)]
                if number < 0:
                    new = _insert_ngram(
                        new_slots, text, new_starts, new_lengths, first, length, h, count
                    )
                    count = max(count, new + 1)
                    number = known + new
                if seen[number] != w:
                    seen[number] = w
                    numbers[filled] = number
                    filled += 1
        indptr[w + 1] = filled
    return (new_starts[:count].copy(), new_lengths[:count].copy(), indptr, numbers[:filled].copy())


@kernel
def number_ngrams(text, offsets, shortest, longest, total, slots):
    """Number the distinct character n-grams of the words text[offsets[w] : offsets[w + 1]].

    text holds code points. Returns the n-grams as starts [D] and lengths [D] in ``text``, and for
    each word its set of n-grams: indptr [W + 1], numbers.
    """
    none, unused = np.empty(0, np.int32), np.full(1, -1, np.int32)
    return _word_ngrams(text, offsets, shortest, longest, total, text, none, none, unused, slots)


@kernel
def find_ngrams(text, offsets, shortest, longest, total, points, starts, lengths, slots, new_slots):
    """Each word's set of n-grams as indptr [W + 1], numbers; and how many numbers are in use.

    The known n-grams are starts [D] and lengths [D] in ``points``, with their table ``slots``; the
    others are numbered from D, by ``new_slots`` with room for ``total`` keys.
    """
    fresh, _, indptr, numbers = _word_ngrams(
        text, offsets, shortest, longest, total, points, starts, lengths, slots, new_slots
    )
    return indptr, numbers, starts.shape[0] + fresh.shape[0]


@kernel
def find_slices(text, firsts, sizes, points, starts, lengths, slots, new_slots):
    """The number of each slice of ``text`` [K]; −1 where its size is negative; how many in use.

    Known strings and new ones are numbered as in `find_ngrams`; ``new_slots`` has room for K keys.
    """
    known = starts.shape[0]
    new_starts = np.empty(firsts.shape[0], np.int32)
    new_lengths, numbers = np.empty(firsts.shape[0], np.int32), np.empty(firsts.shape[0], np.int32)
    count = 0
    for k in range(firsts.shape[0]):
        first, length = firsts[k], sizes[k]
        if length < 0:
            numbers[k] = -1
            continue
        h = BASIS
        for m in range(length):
            h = (h ^ np.uint64(text[first + m])) * PRIME
        number = slots[_ngram_slot(slots, points, starts, lengths, text, first, length, h)]
        if number < 0:
            new = _insert_ngram(new_slots, text, new_starts, new_lengths, first, length, h, count)
            count = max(count, new + 1)
            number = known + new
        numbers[k] = number
    return numbers, known + count
