"""Every chain kernel against enumeration of all paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.kernels import chain
from skipchain.kernels.paths import nbest as best_paths
from skipchain.kernels.paths import set_probability


class Enumeration:
    """All label paths of one chain with their scores: obviously right, exponential."""

    def __init__(self, node, edge):
        length, states = node.shape
        self.paths = np.array(list(itertools.product(range(states), repeat=length)))
        self.scores = np.array([score(node, edge, path) for path in self.paths])
        peak = self.scores.max()
        self.log_z = peak if peak == -np.inf else peak + np.log(np.exp(self.scores - peak).sum())
        with np.errstate(invalid="ignore"):  # no path at all: −∞ − −∞
            self.probabilities = np.exp(self.scores - self.log_z)

    def marginals(self, length, states):
        out = np.zeros((length, states))
        for path, p in zip(self.paths, self.probabilities, strict=True):
            out[np.arange(length), path] += p
        return out

    def pairs(self, length, states):
        out = np.zeros((length, states, states))
        for path, p in zip(self.paths, self.probabilities, strict=True):
            out[np.arange(1, length), path[:-1], path[1:]] += p
        return out


def score(node, edge, path):
    total = 0.0
    for t, label in enumerate(path):
        total += node[t, label]
        if t:
            total += edge[t if len(edge) > 1 else 0, path[t - 1], label]
    return total


def draw(seed, lengths, states, varying, spread=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    node = rng.normal(0, spread, (n, states))
    edge = rng.normal(0, spread, (max(n, 1) if varying else 1, states, states))
    edge[rng.random(edge.shape) < forbidden] = -np.inf
    return node, edge, offsets


def run(node, edge, offsets, pair_rows):
    n, states = node.shape
    marginals = np.empty((n, states))
    pairs = np.zeros((pair_rows, states, states))
    log_z = np.empty(len(offsets) - 1)
    chain.forward_backward(node, edge, offsets, marginals, pairs, log_z)
    return marginals, pairs, log_z


problems = st.tuples(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 5), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0.1, 1.0, 5.0, 400.0]),  # 400: beyond what a scaled pass can hold
)


def chains(node, edge, offsets):
    for first, last in itertools.pairwise(offsets):
        yield first, last, node[first:last], edge[first:last] if len(edge) > 1 else edge


@given(problems)
@settings(max_examples=150, deadline=None)
def test_forward_backward_equals_enumeration(problem):
    seed, lengths, states, varying, spread = problem
    node, edge, offsets = draw(seed, lengths, states, varying, spread)
    marginals, pairs, log_z = run(node, edge, offsets, len(node))
    for c, (first, last, own, own_edge) in enumerate(chains(node, edge, offsets)):
        length = last - first
        if length == 0:
            assert log_z[c] == 0.0
            continue
        truth = Enumeration(own, own_edge)
        np.testing.assert_allclose(log_z[c], truth.log_z, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(
            marginals[first:last], truth.marginals(length, states), rtol=1e-7, atol=1e-9
        )
        if len(node) > 1:
            np.testing.assert_allclose(
                pairs[first:last], truth.pairs(length, states), rtol=1e-7, atol=1e-9
            )


@given(problems)
@settings(max_examples=50, deadline=None)
def test_summed_pairs_are_the_sum_of_listed_pairs(problem):
    seed, lengths, states, _, spread = problem
    node, edge, offsets = draw(seed, [*lengths, 2], states, False, spread)
    _, listed, _ = run(node, edge, offsets, len(node))
    _, summed, _ = run(node, edge, offsets, 1)
    np.testing.assert_allclose(summed[0], listed.sum(axis=0), rtol=1e-9, atol=1e-9)


def test_scaled_and_log_space_passes_agree():
    node, edge, offsets = draw(3, [40], 5, True, 3.0)
    marginals, pairs, log_z = run(node, edge, offsets, len(node))
    slow_marginals, slow_pairs = np.empty_like(marginals), np.zeros_like(pairs)
    slow = chain._log_space(node, edge, 0, 40, slow_marginals, slow_pairs, False, True)
    np.testing.assert_allclose(log_z[0], slow, rtol=1e-12)
    np.testing.assert_allclose(marginals, slow_marginals, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairs, slow_pairs, rtol=1e-9, atol=1e-12)


def test_a_chain_without_a_path_has_log_partition_minus_infinity():
    node = np.zeros((3, 2))
    edge = np.full((1, 2, 2), -np.inf)
    marginals, _, log_z = run(node, edge, np.array([0, 2, 3]), 1)
    assert log_z[0] == -np.inf
    assert log_z[1] == pytest.approx(np.log(2))
    np.testing.assert_array_equal(marginals[:2], 0.0)


@given(problems)
@settings(max_examples=100, deadline=None)
def test_normalisers_are_the_sums_over_the_next_label(problem):
    seed, lengths, states, varying, spread = problem
    node, edge, offsets = draw(seed, lengths, states, varying, spread)
    norms = np.full_like(node, np.nan)
    chain.normalisers(node, edge, offsets, norms)
    for first, last in itertools.pairwise(offsets):
        for t in range(first, last):
            for i in range(states):
                own = node[t].copy()
                if t > first:
                    own += edge[t if len(edge) > 1 else 0, i]
                wanted = own.max() + np.log(np.exp(own - own.max()).sum())
                np.testing.assert_allclose(norms[t, i], wanted, rtol=1e-12, atol=1e-10)


@given(problems)
@settings(max_examples=100, deadline=None)
def test_local_marginals_by_logarithms(problem):
    """However far apart the scores are, and where a label has no probability to speak of."""
    seed, lengths, states, varying, spread = problem
    node, edge, offsets = draw(seed, lengths, states, varying, spread)
    path = np.random.default_rng(seed).integers(0, states, len(node)).astype(np.int32)
    residuals = np.full_like(node, np.nan)
    pairs = np.zeros((len(node) if varying and len(node) > 1 else 1, states, states))
    free = np.zeros((0, states), np.bool_)
    loss = chain.local_marginals(node, edge, offsets, path, free, residuals, pairs)
    logs = []
    for first, last in itertools.pairwise(offsets):
        log_mu = np.zeros(1)
        for t in range(first, last):
            rows = node[t][None] if t == first else node[t] + edge[t if len(edge) > 1 else 0]
            rows = rows - np.logaddexp.reduce(rows, axis=1)[:, None]
            log_mu = np.logaddexp.reduce(log_mu[:, None] + rows, axis=0)
            logs.append(log_mu[path[t]])
    if min(logs, default=0.0) > -300.0:
        np.testing.assert_allclose(loss, -sum(logs), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(residuals.sum(axis=1), 0.0, atol=1e-8)
    else:
        assert 300.0 < loss < np.inf
        assert (residuals[np.arange(len(path)), path] < 0.0).any()
    assert np.isfinite(residuals).all()
    assert np.isfinite(pairs).all()


@given(problems, st.floats(0.0, 0.4))
@settings(max_examples=100, deadline=None)
def test_viterbi_finds_the_best_path(problem, forbidden):
    seed, lengths, states, varying, spread = problem
    node, edge, offsets = draw(seed, lengths, states, varying, spread, forbidden)
    path = np.empty(len(node), np.int32)
    best = np.empty(len(lengths))
    chain.viterbi(node, edge, offsets, path, best)
    scored = np.empty(len(lengths))
    chain.path_score(node, edge, offsets, path, scored)
    for c, (first, last, own, own_edge) in enumerate(chains(node, edge, offsets)):
        if first == last:
            assert best[c] == 0.0
            continue
        truth = Enumeration(own, own_edge)
        np.testing.assert_allclose(best[c], truth.scores.max(), rtol=1e-12, atol=1e-12)
        if np.isfinite(best[c]):
            np.testing.assert_allclose(scored[c], best[c], rtol=1e-12, atol=1e-12)
            assert tuple(path[first:last]) == tuple(truth.paths[truth.scores.argmax()])


@given(problems, st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_nbest_lists_the_paths_in_order(problem, k):
    seed, lengths, states, varying, spread = problem
    node, edge, _ = draw(seed, [max(lengths[0], 1)], states, varying, spread)
    length = len(node)
    paths = np.empty((k, length), np.int32)
    scores = np.empty(k)
    best_paths(node, edge, k, paths, scores)
    truth = Enumeration(node, edge)
    wanted = np.sort(truth.scores)[::-1][:k]
    np.testing.assert_allclose(scores[: len(wanted)], wanted, rtol=1e-10, atol=1e-10)
    assert (scores[len(wanted) :] == -np.inf).all()
    found = {tuple(path) for path in paths[: len(wanted)]}
    assert len(found) == len(wanted)
    for path, value in zip(paths[: len(wanted)], scores, strict=False):
        np.testing.assert_allclose(score(node, edge, path), value, rtol=1e-10, atol=1e-10)


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3), st.booleans())
@settings(max_examples=80, deadline=None)
def test_set_probability_sums_the_paths_inside_the_sets(seed, length, states, varying):
    node, edge, offsets = draw(seed, [length], states, varying)
    marginals, pairs, _ = run(node, edge, offsets, length)
    if length == 1:
        pairs = np.zeros((1, states, states))
    rng = np.random.default_rng(seed)
    first = int(rng.integers(0, length))
    last = int(rng.integers(first + 1, length + 1))
    allowed = rng.random((last - first, states)) < 0.7
    probability = np.empty(1)
    set_probability(
        marginals, pairs, np.array([first]), np.array([last]), allowed, np.array([0]), probability
    )
    truth = Enumeration(node, edge)
    inside = np.array(
        [all(allowed[t - first, path[t]] for t in range(first, last)) for path in truth.paths]
    )
    np.testing.assert_allclose(probability[0], truth.probabilities[inside].sum(), atol=1e-10)


def test_subtract_path_leaves_the_gradient_in_potentials():
    node, edge, offsets = draw(5, [4], 3, True)
    path = np.array([0, 2, 1, 1], np.int32)
    marginals, pairs, _ = run(node, edge, offsets, 4)
    chain.subtract_path(offsets, path, marginals, pairs)

    def loss(node, edge):
        truth = Enumeration(node, edge)
        return truth.log_z - score(node, edge, path)

    step = 1e-6
    for gradient, array in ((marginals, node), (pairs, edge)):
        for where in np.ndindex(*array.shape):
            kept = array[where]
            array[where] = kept + step
            above = loss(node, edge)
            array[where] = kept - step
            below = loss(node, edge)
            array[where] = kept
            np.testing.assert_allclose(gradient[where], (above - below) / (2 * step), atol=1e-6)
