"""Counting in ranges gives what counting at once gives, with little in memory."""

from __future__ import annotations

from tempfile import TemporaryFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.scratch.counting import KeyCounter, KeyCounts, range_of


def plain(keys, min_count):
    """Distinct complete keys with counts and first places, sorted by Python alone."""
    counts, first = {}, {}
    for place, key in enumerate(map(tuple, keys.tolist())):
        if min(key) >= 0:
            counts[key] = counts.get(key, 0) + 1
            first.setdefault(key, place)
    kept = [key for key in counts if counts[key] >= min_count]
    kept.sort(key=lambda key: (-counts[key], first[key]))
    return [(key, counts[key], first[key]) for key in kept]


def listed(counts):
    keys = map(tuple, counts.keys.tolist())
    return list(zip(keys, counts.counts.tolist(), counts.first.tolist(), strict=True))


def some_keys(seed, size=5000, width=2, values=60):
    return np.random.default_rng(seed).integers(-1, values, (size, width)).astype(np.int32)


@pytest.mark.parametrize("min_count", [1, 2, 3])
@pytest.mark.parametrize("held", [1, 50, 700, 1 << 20])
@pytest.mark.parametrize("block", [1, 97, 5000])
def test_blocks_and_ranges_count_as_one(min_count, held, block):
    keys = some_keys(0, 600 if block == 1 else 5000)
    with KeyCounter(2, TemporaryFile, held=held, ranges=3) as counter:
        for first in range(0, len(keys), block):
            counter.add(keys[first : first + block])
        assert listed(counter.frequent(min_count)) == plain(keys, min_count)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.integers(-1, 5), min_size=3, max_size=3), max_size=40),
    st.integers(1, 20),
    st.integers(1, 4),
)
def test_any_keys(rows, held, ranges):
    keys = np.array(rows, np.int32).reshape(-1, 3)
    with KeyCounter(3, TemporaryFile, held=held, ranges=ranges) as counter:
        for row in keys:
            counter.add(row[None])
        assert listed(counter.frequent(1)) == plain(keys, 1)


def test_what_is_held_does_not_grow_with_the_data():
    held = 500
    with KeyCounter(2, TemporaryFile, held=held) as counter:
        for seed in range(60):
            counter.add(some_keys(seed, 200, values=10_000))
        found = counter.frequent(2)
        assert counter.most <= held + 200
    assert len(found) < 100


def test_workers_count_ranges_apart():
    keys = some_keys(3)
    shards = [KeyCounts.of(keys[:2000]), KeyCounts.of(keys[2000:], place=2000)]
    dealt = [shard.ranges(4) for shard in shards]
    apart = [KeyCounts.merged(parts).frequent(2) for parts in zip(*reversed(dealt), strict=True)]
    assert listed(KeyCounts.joined(apart).frequent(1)) == plain(keys, 2)


def test_a_key_is_in_one_range_alone():
    keys = some_keys(4)
    chosen = range_of(keys, 7)
    assert set(chosen.tolist()) == set(range(7))
    assert {tuple(k): c for k, c in zip(keys.tolist(), chosen, strict=True)} == {
        tuple(k): c for k, c in zip(keys[::-1].tolist(), chosen[::-1], strict=True)
    }
