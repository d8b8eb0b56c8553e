"""The sparse sums and the hash tables against numpy and dicts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.chains import sums
from skipchain.chains.sums import transposed
from skipchain.features.matrix import CSRMatrix
from skipchain.kernels import intern
from skipchain.kernels.gather import compress_columns, expand_bundles, gather
from skipchain.scratch.folder import Scratch


def transpose(index, columns):
    return transposed(CSRMatrix(*index), columns).arrays


QUICK = settings(max_examples=60, deadline=None)
NOTHING = np.zeros(0, np.float64)


@st.composite
def indexes(draw, columns=6):
    """A sparse index of a few rows, with duplicates, empty rows, and weights or none."""
    rows = draw(st.lists(st.lists(st.integers(0, columns - 1), max_size=5), max_size=6))
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    indices = np.array([c for row in rows for c in row], np.int32)
    seed = draw(st.integers(0, 2**32 - 1))
    values = (
        np.random.default_rng(seed).normal(size=len(indices)) if draw(st.booleans()) else NOTHING
    )
    return indptr, indices, values


def dense(indptr, indices, values, columns):
    out = np.zeros((len(indptr) - 1, columns))
    for r in range(len(out)):
        for k in range(indptr[r], indptr[r + 1]):
            out[r, indices[k]] += values[k] if len(values) else 1.0
    return out


@QUICK
@given(indexes(), st.integers(0, 4), st.booleans(), st.data())
def test_gather_is_a_matrix_product(index, width, add, data):
    matrix = dense(*index, columns=6)
    rows = len(matrix)
    table = np.random.default_rng(rows).normal(size=(6, width))
    split = data.draw(st.integers(0, 6))  # one table, or two that serve as one
    first = data.draw(st.integers(0, rows))
    last = data.draw(st.integers(first, rows))
    before = np.full((rows, width), 7.0)
    out = before.copy()
    gather(*index, table[:split], table[split:], out, first, last, add)
    wanted = before.copy()
    wanted[first:last] = (matrix @ table)[first:last] + (7.0 if add else 0.0)
    np.testing.assert_allclose(out, wanted, rtol=1e-12, atol=1e-12)


@QUICK
@given(indexes(), indexes(columns=4))
def test_units_are_written_out_in_their_place(index, units):
    indptr, indices, values = index
    size = len(units[0]) - 1
    split = 6 - size if size else 6  # the last columns are units
    found = expand_bundles(*index, split, *units)
    rows = []
    for r in range(len(indptr) - 1):
        rows.append([])
        for k in range(indptr[r], indptr[r + 1]):
            v = values[k] if len(values) else 1.0
            if indices[k] < split:
                rows[-1].append((indices[k], v))
                continue
            for e in range(*units[0][indices[k] - split : indices[k] - split + 2]):
                rows[-1].append((units[1][e], v * (units[2][e] if len(units[2]) else 1.0)))
    np.testing.assert_array_equal(np.diff(found[0]), [len(row) for row in rows])
    np.testing.assert_array_equal(found[1], [f for row in rows for f, _ in row])
    if len(values) or len(units[2]):
        np.testing.assert_array_equal(found[2], [v for row in rows for _, v in row])
    else:
        assert len(found[2]) == 0


@QUICK
@given(indexes(), st.integers(0, 3))
def test_transpose_turns_the_matrix_and_keeps_rows_in_order(index, spare):
    columns = 6 + spare
    turned = transpose(index, columns)
    np.testing.assert_allclose(
        dense(*turned, columns=max(1, len(index[0]) - 1)),
        dense(*index, columns=columns).T if len(index[0]) > 1 else np.zeros((columns, 1)),
        rtol=1e-12,
    )
    indptr, indices, values = turned
    assert len(indptr) == columns + 1
    assert len(values) == len(index[2])
    for c in range(columns):
        assert (np.diff(indices[indptr[c] : indptr[c + 1]]) >= 0).all()


def test_transposing_in_ranges_gives_the_same(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    indptr = np.append(0, np.cumsum(random.integers(0, 6, 500)))
    index = CSRMatrix(indptr, random.integers(0, 40, indptr[-1]).astype(np.int32))
    weighted = CSRMatrix(*index.arrays[:2], random.normal(size=indptr[-1]))
    monkeypatch.setattr(sums, "TRANSPOSED_ENTRIES", 100)
    with Scratch(tmp_path, small=0) as scratch:
        for matrix in (index, weighted):
            once, parted = transposed(matrix, 45), transposed(matrix, 45, scratch)
            assert all(map(np.array_equal, once.arrays, parted.arrays))


@QUICK
@given(indexes())
def test_transposing_twice_gives_sorted_rows(index):
    rows = len(index[0]) - 1
    twice = transpose(transpose(index, 6), rows)
    np.testing.assert_array_equal(twice[0], index[0])
    for r in range(rows):
        part = slice(index[0][r], index[0][r + 1])
        order = np.argsort(index[1][part], kind="stable")
        np.testing.assert_array_equal(twice[1][part], index[1][part][order])
        if len(index[2]):
            np.testing.assert_array_equal(twice[2][part], index[2][part][order])


@QUICK
@given(indexes(), st.integers(0, 4), st.data())
def test_compress_puts_columns_before_the_further_index(index, width, data):
    indptr, indices, _ = index
    rows = len(indptr) - 1
    cells = st.lists(st.integers(-1, 5), min_size=rows, max_size=rows)
    columns = np.array([data.draw(cells) for _ in range(width)], np.int32).reshape(width, rows)
    got_indptr, got = compress_columns(columns, indptr, indices)
    wanted = [
        [c for c in columns[:, r].tolist() if c >= 0] + indices[indptr[r] : indptr[r + 1]].tolist()
        for r in range(rows)
    ]
    assert got_indptr.tolist() == np.cumsum([0, *map(len, wanted)]).tolist()
    assert got.tolist() == [c for row in wanted for c in row]
    assert got.dtype == np.int32


# Hash tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [0, 1, 7, 8, 9, 1000, 2**20])
def test_tables_are_at_most_half_full(keys):
    slots = intern.empty_slots(keys)
    assert len(slots) >= 2 * keys
    assert len(slots) & (len(slots) - 1) == 0
    assert (slots == -1).all()


def crowded(keys):
    """The smallest table that still has a free slot: every look-up meets collisions."""
    return np.full(1 << int(keys).bit_length(), -1, np.int32)


TUPLES = st.integers(1, 3).flatmap(
    lambda m: st.lists(
        st.tuples(*[st.one_of(st.integers(-1, 3), st.integers(0, 2**31 - 1))] * m), max_size=25
    ).map(lambda rows: np.array(rows, np.int32).reshape(len(rows), m))
)


@QUICK
@given(TUPLES, st.booleans())
def test_tuples_are_numbered_by_first_appearance(keys, tight):
    slots = crowded(len(keys)) if tight else intern.empty_slots(len(keys))
    numbers, rows, counts = intern.number_tuples(keys, slots)
    wanted: dict[tuple[int, ...], int] = {}
    numbered = [
        -1 if min(key) < 0 else wanted.setdefault(key, len(wanted))
        for key in map(tuple, keys.tolist())
    ]
    assert numbers.tolist() == numbered
    assert list(map(tuple, rows.tolist())) == list(wanted)
    assert counts.tolist() == [numbered.count(k) for k in range(len(wanted))]


@QUICK
@given(TUPLES, TUPLES, st.booleans())
def test_tuples_are_found_again(keys, known, tight):
    if keys.shape[1] != known.shape[1]:
        known = known[:, :1].repeat(keys.shape[1], axis=1)
    rows = np.array(
        list(dict.fromkeys(key for key in map(tuple, known.tolist()) if min(key) >= 0)), np.int32
    ).reshape(-1, keys.shape[1])
    slots = crowded(len(rows)) if tight else intern.empty_slots(len(rows))
    intern.index_tuples(rows, slots)
    number = {key: k for k, key in enumerate(map(tuple, rows.tolist()))}
    for asked in (keys, rows):
        found = intern.find_tuples(asked, rows, slots)
        assert found.tolist() == [number.get(key, -1) for key in map(tuple, asked.tolist())]


WORDS = st.lists(st.text("abé日𝄞", max_size=6), max_size=6)
LENGTHS = st.tuples(st.integers(1, 4), st.integers(1, 7)).map(lambda ab: (min(ab), max(ab)))


def prepared(words):
    points = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    return points, np.cumsum([0, *map(len, words)]).astype(np.int64)


def ngrams(word, shortest, longest):
    """With repetitions, in the order of the text."""
    return [
        word[first : first + length]
        for first in range(len(word))
        for length in range(shortest, min(longest, len(word) - first) + 1)
    ]


def parts(indptr, numbers):
    return [numbers[a:b].tolist() for a, b in itertools.pairwise(indptr)]


@QUICK
@given(WORDS, LENGTHS, st.booleans())
def test_ngrams_are_numbered_by_first_appearance(words, lengths, tight):
    points, offsets = prepared(words)
    every = [ngrams(word, *lengths) for word in words]
    total = intern.count_ngrams(offsets, *lengths)
    assert total == sum(map(len, every))
    slots = crowded(total) if tight else intern.empty_slots(total)
    starts, sizes, indptr, numbers = intern.number_ngrams(points, offsets, *lengths, total, slots)
    wanted = list(dict.fromkeys(gram for grams in every for gram in grams))
    text = "".join(words)
    assert [text[a : a + n] for a, n in zip(starts, sizes, strict=True)] == wanted
    assert parts(indptr, numbers) == [
        [wanted.index(gram) for gram in dict.fromkeys(grams)] for grams in every
    ]


@QUICK
@given(WORDS, WORDS, LENGTHS, st.booleans(), st.data())
def test_ngrams_are_found_and_the_others_numbered_after_them(before, words, lengths, tight, data):
    known_points, known_offsets = prepared(before)
    total = intern.count_ngrams(known_offsets, *lengths)
    starts, sizes, _, _ = intern.number_ngrams(
        known_points, known_offsets, *lengths, total, intern.empty_slots(total)
    )
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(starts), max_size=len(starts))))
    starts, sizes = starts[kept.astype(bool)], sizes[kept.astype(bool)]
    slots = crowded(len(starts)) if tight else intern.empty_slots(len(starts))
    intern.index_ngrams(known_points, starts, sizes, slots)
    text = "".join(before)
    number = {text[a : a + n]: k for k, (a, n) in enumerate(zip(starts, sizes, strict=True))}

    points, offsets = prepared(words)
    total = intern.count_ngrams(offsets, *lengths)
    indptr, numbers, size = intern.find_ngrams(
        points, offsets, *lengths, total, known_points, starts, sizes, slots,
        crowded(total) if tight else intern.empty_slots(total),
    )  # fmt: skip
    wanted = [
        [number.setdefault(gram, len(number)) for gram in dict.fromkeys(ngrams(word, *lengths))]
        for word in words
    ]
    assert parts(indptr, numbers) == wanted
    assert size == len(number)
