"""Schemas of arrays: types, shapes, lengths that go together, ranges and order."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain.schema.arrays import (
    INCREASING,
    RISING,
    ArrayError,
    ArraySchema,
    check_arrays,
    check_table_size,
    sparse_schema,
)

TRIE = {
    "token": ArraySchema("int32", ("nodes",), least=0, below="words"),
    "first": ArraySchema("int32", ("nodes + 1",), least=0, order=RISING, last="nodes"),
    "rows": ArraySchema("int32", ("rows", 2), least=0, below=("words", "nodes + 1")),
    "weights": ArraySchema("float64", ("nodes",)),
}
LENGTHS = {"words": 5}


def arrays(**changes):
    return {
        "token": np.array([0, 4, 2], np.int32),
        "first": np.array([1, 2, 2, 3], np.int32),
        "rows": np.array([[0, 3], [4, 0]], np.int32),
        "weights": np.array([0.0, -1e15, 1e15]),
        **changes,
    }


def test_arrays_that_keep_to_their_schema_are_taken():
    check_arrays(TRIE, arrays(), LENGTHS)
    check_arrays(TRIE, arrays(rows=np.zeros((0, 2), np.int32)), LENGTHS)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("token", np.array([0, 4, 2], np.int64), "int64 with 1 dimensions, wanted int32 with 1"),
        ("token", np.array([0, 4, 2], np.uint32), "uint32"),
        ("token", np.array([[0, 4, 2]], np.int32), "2 dimensions"),
        ("token", np.array([0, 5, 2], np.int32), "has 5, wanted numbers below 5"),
        ("token", np.array([0, -1, 2], np.int32), "has -1, wanted at least 0"),
        ("first", np.array([1, 2, 3], np.int32), "has the shape"),
        ("first", np.array([1, 2, 1, 3], np.int32), "falls at entry 2"),
        ("first", np.array([0, 2**31 - 1, -(2**31), 3], np.int32), "wanted at least 0"),
        ("first", np.array([1, 2, 2, 2], np.int32), "does not end with 3"),
        ("rows", np.array([[0, 4]], np.int32), r"below \[5, 4\]"),
        ("rows", np.array([[5, 0]], np.int32), r"below \[5, 4\]"),
        ("rows", np.array([[0]], np.int32), "has the shape"),
        ("weights", np.array([0.0, np.nan, 0.0]), "not all finite"),
        ("weights", np.array([0.0, -np.inf, 0.0]), "not all finite"),
        ("weights", np.array([0.0, 1.1e15, 0.0]), "too large, wanted at most 1e\\+15"),
        ("weights", None, "there is no array here.weights"),
    ],
)
def test_what_is_refused_is_named(name, array, message):
    broken = arrays(**{name: array})
    if array is None:
        del broken[name]
    with pytest.raises(ArrayError, match=message):
        check_arrays(TRIE, broken, LENGTHS, "here.")


def test_order_is_compared_and_not_subtracted():
    """The difference of the two is −1 in 64 bits."""
    schema = {"codes": ArraySchema("int64", ("n",), order=INCREASING)}
    check_arrays(schema, {"codes": np.array([-(2**63), 2**63 - 1])})
    with pytest.raises(ArrayError, match="does not grow at entry 1"):
        check_arrays(schema, {"codes": np.array([2**63 - 1, -(2**63)])})
    with pytest.raises(ArrayError, match="does not grow at entry 1"):
        check_arrays(schema, {"codes": np.array([3, 3])})


def test_a_table_of_nothing_is_not_made_large():
    check_table_size("weights", (1000, 1000), 1)
    with pytest.raises(ArrayError, match="weights is a table of 1000000 × 1000000 numbers"):
        check_table_size("weights", (10**6, 10**6), 1)
    with pytest.raises(ArrayError, match="would have 1,000,000,000,000,000,000,000 entries"):
        sparse_schema("weights", (10**9, 10**12))
