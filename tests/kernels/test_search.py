"""Greedy and beam search against plain searches and enumeration of all paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.kernels import chain, search


def draw(seed, lengths, states, varying, forbidden=0.0, whole=False):
    """Random potentials; ``whole`` scores are small whole numbers, so that many are equal."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    node = rng.normal(0, 2, (n, states))
    edge = rng.normal(0, 2, (max(n, 1) if varying else 1, states, states))
    if whole:
        node, edge = node.round(), edge.round()
    node[rng.random(node.shape) < forbidden / 2] = -np.inf
    edge[rng.random(edge.shape) < forbidden] = -np.inf
    return node, edge, offsets


def charges(node):
    """Random numbers in the place of normalisers: the search does not ask where they are from."""
    return np.random.default_rng(len(node)).normal(0, 3, node.shape)


def step(edge, t):
    return edge[t if len(edge) > 1 else 0]


def completable(node, edge, first, last):
    """Of each position the labels from which some path leads to the end, by enumeration."""
    states = range(node.shape[1])
    found = []
    for t in range(first, last):
        alive = set()
        for rest in itertools.product(states, repeat=last - t):
            total = node[t, rest[0]]
            for k in range(1, len(rest)):
                total += step(edge, t + k)[rest[k - 1], rest[k]] + node[t + k, rest[k]]
            if total > -np.inf:
                alive.add(rest[0])
        found.append(alive)
    return found


def plain_beam(node, edge, norms, first, last, width, alive):
    """Hypotheses as (score, labels), the best one of each last label, the ``width`` best of all.

    Sums are taken in the order of the kernel, so that equals are equal.
    """
    kept = [(0.0, ())]
    for t in range(first, last):
        best = {}
        for (total, labels), j in itertools.product(kept, sorted(alive[t - first])):
            if labels:
                charge = norms[t, labels[-1]] if len(norms) else 0.0
                value = total - charge + step(edge, t)[labels[-1], j] + node[t, j]
            else:
                value = node[t, j] - (norms[t, j] if len(norms) else 0.0)
            if value > -np.inf and (j not in best or value > best[j][0]):
                best[j] = (value, (*labels, j))
        ranked = sorted(best.values(), key=lambda h: (-h[0], h[1][-1]))
        kept = sorted(ranked[:width], key=lambda h: h[1][-1])
    return min(kept, key=lambda h: (-h[0], h[1][-1:]), default=(-np.inf, None))


def run_beam(node, edge, norms, offsets, width):
    path = np.full(len(node), -1, np.int32)
    score = np.full(len(offsets) - 1, np.nan)
    search.beam(node, edge, norms, offsets, width, path, score)
    return path, score


def run_greedy(node, edge, offsets):
    path = np.full(len(node), -1, np.int32)
    score = np.full(len(offsets) - 1, np.nan)
    search.greedy(node, edge, offsets, path, score)
    return path, score


def run_viterbi(node, edge, offsets):
    path = np.full(len(node), -1, np.int32)
    score = np.full(len(offsets) - 1, np.nan)
    chain.viterbi(node, edge, offsets, path, score)
    return path, score


problems = st.tuples(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.integers(1, 4),
    st.booleans(),
    st.sampled_from([0.0, 0.3, 0.6]),
    st.booleans(),
)


@given(problems, st.integers(1, 5), st.booleans())
@settings(max_examples=200, deadline=None)
def test_beam_is_the_plain_beam(problem, width, local):
    node, edge, offsets = draw(*problem)
    norms = charges(node) if local else node[:0]
    path, score = run_beam(node, edge, norms, offsets, width)
    for c, (first, last) in enumerate(itertools.pairwise(offsets)):
        alive = completable(node, edge, first, last)
        wanted, labels = plain_beam(node, edge, norms, first, last, width, alive)
        assert score[c] == wanted
        if labels is not None:
            assert tuple(path[first:last]) == labels


@given(problems, st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_a_beam_as_wide_as_there_are_labels_is_viterbi(problem, more):
    node, edge, offsets = draw(*problem)
    path, score = run_beam(node, edge, node[:0], offsets, node.shape[1] + more)
    best, wanted = run_viterbi(node, edge, offsets)
    np.testing.assert_array_equal(score, wanted)
    for c, (first, last) in enumerate(itertools.pairwise(offsets)):
        if score[c] > -np.inf:
            np.testing.assert_array_equal(path[first:last], best[first:last])


@given(problems)
@settings(max_examples=200, deadline=None)
def test_greedy_takes_the_best_label_that_leads_to_an_end(problem):
    node, edge, offsets = draw(*problem)
    path, score = run_greedy(node, edge, offsets)
    scored = np.empty(len(offsets) - 1)
    chain.path_score(node, edge, offsets, path, scored)
    _, best = run_viterbi(node, edge, offsets)
    for c, (first, last) in enumerate(itertools.pairwise(offsets)):
        assert (score[c] == -np.inf) == (best[c] == -np.inf)  # a path wherever there is one
        if score[c] == -np.inf:
            continue
        np.testing.assert_allclose(score[c], scored[c], rtol=1e-12, atol=1e-12)
        alive = completable(node, edge, first, last)
        for t in range(first, last):
            own = node[t] + (step(edge, t)[path[t - 1]] if t > first else 0.0)
            own[[j for j in range(len(own)) if j not in alive[t - first]]] = -np.inf
            assert path[t] == own.argmax()


@given(problems, st.booleans())
@settings(max_examples=100, deadline=None)
def test_greedy_is_a_beam_of_one(problem, local):
    """What a local model normalises by does not matter to it: one prefix has one normaliser."""
    *shape, whole = problem
    node, edge, offsets = draw(*shape, whole and not local)  # rounded norms would split ties
    norms = np.zeros_like(node) if local else node[:0]
    if local:
        chain.normalisers(np.maximum(node, -9), np.maximum(edge, -9), offsets, norms)
    narrow, found = run_beam(node, edge, norms, offsets, 1)
    path, score = run_greedy(node, edge, offsets)
    np.testing.assert_array_equal(found == -np.inf, score == -np.inf)
    for c, (first, last) in enumerate(itertools.pairwise(offsets)):
        if score[c] > -np.inf:
            np.testing.assert_array_equal(path[first:last], narrow[first:last])


@pytest.mark.parametrize("states", [17, 45])
@pytest.mark.parametrize("width", [1, 2, 10, 16, 44])
@pytest.mark.parametrize("whole", [False, True])
def test_beam_of_many_labels(states, width, whole):
    node, edge, offsets = draw(states + width, [12, 0, 1, 25], states, False, whole=whole)
    path, score = run_beam(node, edge, node[:0], offsets, width)
    everything = [set(range(states))] * 25
    for c, (first, last) in enumerate(itertools.pairwise(offsets)):
        wanted, labels = plain_beam(node, edge, node[:0], first, last, width, everything)
        assert score[c] == wanted
        assert tuple(path[first:last]) == labels


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("varying", [False, True])
def test_dead_ends_are_not_entered(width, varying):
    """Label 0 is by far the best and cannot go on; the last token must be label 2."""
    node = np.array([[9.0, 0.0, 1.0], [9.0, 0.0, 1.0], [9.0, 0.0, 0.5], [-np.inf, -np.inf, 0.0]])
    edge = np.zeros((4 if varying else 1, 3, 3))
    edge[:, 0] = -np.inf
    edge[:, 2, 1] = -np.inf
    offsets = np.array([0, 4])
    for path, score in (
        run_beam(node, edge, node[:0], offsets, width),
        run_greedy(node, edge, offsets),
    ):
        assert path.tolist() == [2, 2, 2, 2]
        assert score.tolist() == [2.5]


def test_ties_go_to_the_lower_label():
    node, edge, offsets = np.zeros((6, 5)), np.zeros((1, 5, 5)), np.array([0, 4, 6])
    for width in (1, 2, 4, 5, 9):
        assert run_beam(node, edge, node[:0], offsets, width)[0].tolist() == [0] * 6
    assert run_greedy(node, edge, offsets)[0].tolist() == [0] * 6
    node[0] = [0, 1, 1, 1, 0]  # of three equals the lower two are kept, so 3 does not come into it
    edge[0, 3] = 5.0
    assert run_beam(node, edge, node[:0], offsets, 2)[0].tolist() == [1, 0, 0, 0, 0, 0]
    assert run_beam(node, edge, node[:0], offsets, 3)[0].tolist() == [3, 0, 0, 0, 0, 0]


def test_prefixes_of_a_local_model_are_compared_by_their_probability():
    """After label 0 every label is likely, after label 1 one is sure: a raw score cannot tell."""
    node = np.array([[0.1, 0.0, -9.0], [0.0, 0.0, 0.0]])
    edge = np.array([[[5.0, 5.0, 5.0], [0.0, -9.0, -9.0], [0.0, 0.0, 0.0]]])
    offsets = np.array([0, 2])
    norms = np.empty_like(node)
    chain.normalisers(node, edge, offsets, norms)
    by_score, _ = run_beam(node, edge, node[:0], offsets, 2)
    by_probability, found = run_beam(node, edge, norms, offsets, 2)
    assert by_score.tolist() == [0, 0]
    assert by_probability.tolist() == [1, 0]
    first = np.exp(node[0]) / np.exp(node[0]).sum()
    second = np.exp(edge[0, 1]) / np.exp(edge[0, 1]).sum()
    assert found[0] == pytest.approx(np.log(first[1] * second[0]))
