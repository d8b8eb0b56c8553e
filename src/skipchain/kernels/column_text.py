"""Column files as bytes: where lines and cells lie, which values they are, and lines with labels.

A *tidy* text has lines that end in LF; a line is blank, or a marker that begins a document, or has
``width`` cells that are not empty, with one separator between neighbours. A text that is not tidy
is left to `skipchain.io.columns`.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels.kernel import kernel

SPACE, TAB, NEWLINE, HASH = 32, 9, 10, 35
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
FOLD = np.uint64(29)
UNTIDY = -1


@kernel
def scan_lines(text, separator, width, marker, wanted, starts, ends, lines, sentences):
    """Where tokens and sentences lie in a tidy text; returns how many there are, or `UNTIDY`.

    ``starts`` and ``ends`` [C, N] get the cells that are ``wanted`` [C] (their places in a line, in
    rising order), ``lines`` [N, 3] where each token's line begins, where its last cell but one ends
    and where the line ends; ``sentences`` the offsets of sentences. All have room for as many
    tokens as there are lines. A line that begins with ``marker`` and a gap begins a document.
    """
    tokens, count, at, inside = 0, 0, 0, False
    other = SPACE if separator == TAB else TAB
    sentences[0] = 0
    while at < text.shape[0]:
        begin = at
        if text[at] == NEWLINE:
            inside = False
            at += 1
            continue
        if _is_marker(text, at, marker):
            if inside:
                return UNTIDY, UNTIDY
            while text[at] != NEWLINE:
                at += 1
            at += 1
            continue
        cells, first, place, kept = 0, at, 0, at
        while True:
            byte = text[at]
            if byte == separator or byte == NEWLINE:
                if at == first:
                    return UNTIDY, UNTIDY
                if place < wanted.shape[0] and wanted[place] == cells:
                    starts[place, tokens] = first
                    ends[place, tokens] = at
                    place += 1
                cells += 1
                if cells == width - 1:
                    kept = at
                first = at + 1
                if byte == NEWLINE:
                    break
            elif byte == other:
                return UNTIDY, UNTIDY
            at += 1
        if cells != width:
            return UNTIDY, UNTIDY
        lines[tokens, 0] = begin
        lines[tokens, 1] = kept
        lines[tokens, 2] = at
        if not inside:
            sentences[count] = tokens
            count += 1
            inside = True
        tokens += 1
        at += 1
    sentences[count] = tokens
    return tokens, count


@kernel
def _is_marker(text, at, marker):
    """Whether a line begins with the marker, alone or before a gap."""
    if at + marker.shape[0] >= text.shape[0]:  # a line ends in LF, so something is behind it
        return False
    for k in range(marker.shape[0]):
        if text[at + k] != marker[k]:
            return False
    after = text[at + marker.shape[0]]
    return after == SPACE or after == TAB or after == NEWLINE


@kernel
def hash_slice(text, start, end, column):
    """A hash of some bytes in a column."""
    mixed = np.uint64(column + 1)
    for k in range(start, end):
        mixed = (mixed ^ np.uint64(text[k])) * MULTIPLIER
        mixed ^= mixed >> FOLD
    return mixed


@kernel
def find_slices(text, starts, ends, slots, hashes, places, blob, numbers, values):
    """The value of each slice [C, N], −1 where it is not known; returns how many are not.

    ``slots`` is an open-addressing table of entries, −1 where free; entry e has the hash
    ``hashes[e]``, the bytes ``blob[places[e, 0] : places[e, 1]]`` and the value ``numbers[e]``. The
    hash of equal bytes differs from column to column. The table may have entries that were added
    after the other arrays were taken; they are passed over.
    """
    mask, missing = slots.shape[0] - 1, 0
    for column in range(starts.shape[0]):
        for t in range(starts.shape[1]):
            start, end = starts[column, t], ends[column, t]
            mixed = hash_slice(text, start, end, column)
            at = np.int64(mixed >> FOLD) & mask
            entry = slots[at]
            while entry >= 0:
                known = entry < hashes.shape[0] and hashes[entry] == mixed
                if known and _is_same(text, start, end, blob, places[entry]):
                    break
                at = (at + 1) & mask
                entry = slots[at]
            values[column, t] = numbers[entry] if entry >= 0 else -1
            missing += entry < 0
    return missing


@kernel
def _is_same(text, start, end, blob, place):
    """Whether two slices have the same bytes."""
    if end - start != place[1] - place[0]:
        return False
    for k in range(end - start):
        if text[start + k] != blob[place[0] + k]:
            return False
    return True


@kernel
def fill_slots(slots, hashes, first):
    """Put the entries from ``first`` on into the table by their hashes."""
    mask = slots.shape[0] - 1
    for entry in range(first, hashes.shape[0]):
        at = np.int64(hashes[entry] >> FOLD) & mask
        while slots[at] >= 0:
            at = (at + 1) & mask
        slots[at] = entry


@kernel
def hash_slices(text, places, column, hashes):
    """The hashes of slices [K, 2] of a column."""
    for k in range(places.shape[0]):
        hashes[k] = hash_slice(text, places[k, 0], places[k, 1], column)


@kernel
def write_lines(text, lines, whole, codes, names, name_ends, out):
    """The text with a label at the end of each token's line; returns how many bytes it has.

    The label is written in place of the last cell, or behind the ``whole`` line. Label k is
    ``names[name_ends[k] : name_ends[k + 1]]``. Cells are written with spaces between them.
    """
    at, size = 0, 0
    for t in range(lines.shape[0]):
        for k in range(at, lines[t, 0]):
            out[size] = text[k]
            size += 1
        at = lines[t, 2]
        for k in range(lines[t, 0], at if whole else lines[t, 1]):
            out[size] = SPACE if text[k] == TAB else text[k]
            size += 1
        out[size] = SPACE
        size += 1
        for k in range(name_ends[codes[t]], name_ends[codes[t] + 1]):
            out[size] = names[k]
            size += 1
    for k in range(at, text.shape[0]):
        out[size] = text[k]
        size += 1
    return size
