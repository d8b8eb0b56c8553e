"""Counts as they can be compared, however they were made."""

from __future__ import annotations

import numpy as np


def rows_of(store):
    """All rows of all orders of a store as they stand in the files."""
    with store.session() as session:
        return {
            order: session.rows(f"SELECT * FROM {session.source(order)}", order)
            for order in store.orders
        }


def assert_same_bigrams(one, other):
    assert (one.words, one.tokens) == (other.words, other.tokens)
    for name in ("counts", "left_words", "right_words", "pair_counts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype == np.int64
