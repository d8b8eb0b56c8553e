"""Directions by tables of products against the two loops, written out."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from skipchain.learn import vectors
from skipchain.learn.curvature_pairs import CurvaturePairs
from skipchain.parallel import Workers

SIZE = 300


def walk(steps, seed=0, size=SIZE):
    """Points of a quadratic function, each with its gradient."""
    rng = np.random.default_rng(seed)
    scales = np.exp(rng.normal(size=size))
    points = np.cumsum(rng.normal(size=(steps, size)), axis=0)
    return [(x, scales * x) for x in points]


def filled(points, memory=4, scale=None, workers=None):
    pairs = CurvaturePairs(memory, len(points[0][0]), workers)
    for number, (before, after) in enumerate(pairwise(points)):
        if scale is not None and number == 2:
            pairs.rescale(scale**-2.0)
        pairs.add(before, after)
    return pairs


def two_loops(points, slope, memory=4, scale=1.0):
    """Nocedal and Wright, algorithm 7.4."""
    pairs = [
        [(b - a).astype(np.float32).astype(float) for a, b in zip(before, after, strict=True)]
        for before, after in pairwise(points)
    ][-memory:]
    q, factors = -slope, []
    for s, y in reversed(pairs):
        factors.append(s @ q / (s @ y))
        q = q - factors[-1] * y
    s, y = pairs[-1]
    r = s @ y / (y @ (scale * y)) * scale * q
    for (s, y), factor in zip(pairs, reversed(factors), strict=True):
        r = r + (factor - y @ r / (s @ y)) * s
    return r


@pytest.mark.parametrize("steps", [2, 3, 5, 9])
@pytest.mark.parametrize("scaled", [False, True])
def test_directions_are_those_of_the_two_loops(steps, scaled):
    points = walk(steps)
    slope = np.random.default_rng(1).normal(size=SIZE)
    scale = np.linspace(0.5, 2.0, SIZE).astype(np.float32) if scaled and steps > 3 else None
    found = filled(points, scale=scale).direction(slope)
    wanted = two_loops(points, slope, scale=1.0 if scale is None else scale.astype(float))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_without_pairs_a_direction_goes_straight_down():
    pairs = CurvaturePairs(3, 2)
    pairs.rescale(np.array([4.0, 9.0]))
    assert pairs.direction(np.array([1.0, -2.0])).tolist() == [-1.0, 2.0]
    pairs = filled(walk(3))
    pairs.clear()
    assert len(pairs) == 0
    assert (pairs.direction(np.ones(SIZE)) == -1.0).all()


def test_a_pair_that_tells_nothing_is_not_kept():
    pairs = CurvaturePairs(3, 2)
    pairs.add((np.zeros(2), np.zeros(2)), (np.ones(2), -np.ones(2)))
    assert len(pairs) == 0


def test_bits_do_not_depend_on_threads_and_a_state_has_all_of_them(monkeypatch):
    monkeypatch.setattr(vectors, "BLOCK", 64)
    points, slope = walk(8), np.random.default_rng(2).normal(size=SIZE)
    scale = np.linspace(0.5, 2.0, SIZE)
    with Workers(3) as workers:
        several = filled(points, scale=scale, workers=workers)
        one = filled(points, scale=scale)
        resumed = CurvaturePairs(4, SIZE)
        resumed.restore(several.state())
        for pairs in (several, one, resumed):
            pairs.add(points[0], points[3])
        wanted = one.direction(slope)
        np.testing.assert_array_equal(several.direction(slope), wanted)
        np.testing.assert_array_equal(resumed.direction(slope), wanted)
