"""Chains of order 2: every decoder against enumeration, and against order 1 where they meet."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain import CRF, MEMM, Corpus, Perceptron
from skipchain.chains import decode as chains
from skipchain.chains import order2 as second
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.chains.scores import ChainScores
from skipchain.chains.span_events import SpanEvents
from skipchain.errors import ParameterError
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels import chain2 as kernel
from skipchain.parallel import Workers

WORDS = ["a", "b", "c"]


def problem(
    seed, lengths, labels, *, local=False, forbidden=0.0, spread=1.0, templates="word", limited=0.0
):
    """Scored chains; ``forbidden`` is the share of pairs, ``limited`` that of labels ruled out."""
    rng = np.random.default_rng(seed)
    corpus = Corpus.of([[WORDS[k] for k in rng.integers(0, 3, n)] for n in lengths])
    _, rows = Vocabulary.fit(corpus, Templates.parse(templates))
    size = (rows.n_features, rows.n_edge_features, labels, 2)
    vector = Weights.zeros(*size).vector
    weights = Weights.views(rng.normal(0, spread, len(vector)), *size)
    constraints = None
    if forbidden:
        pairs = rng.random((labels, labels)) >= forbidden
        np.fill_diagonal(pairs, True)
        constraints = Constraints(pairs, np.ones(labels, bool), rng.random(labels) >= forbidden / 2)
        constraints.end[0] = True
    candidates = None
    if limited:
        candidates = rng.random((corpus.n_tokens, labels)) >= limited
        candidates[:, 0] = True  # with which any path is possible
    data = Dataset(rows, corpus.sentences, candidates=candidates)
    with Workers(1) as workers:
        return ChainScores.of(data, weights, workers, constraints, None, local)


class Enumeration:
    """All paths of one chain and their log probabilities or scores, written out plainly."""

    def __init__(self, scores, c):
        raw = scores.raw((0, len(scores.data.offsets) - 1))
        p = scores.with_constraints(raw)
        self.first, self.last = (int(x) for x in p.offsets[c : c + 2])
        self.labels = scores.weights.n_labels
        self.triples = scores.weights.triples
        self.raw, self.p, self.local = raw, p, scores.local
        self.paths = list(itertools.product(range(self.labels), repeat=self.last - self.first))
        self.scores = np.array([self.prefix(path)[-1] if path else 0.0 for path in self.paths])
        self.log_z = np.logaddexp.reduce(self.scores)

    def row(self, potentials, t, before):
        row = potentials.node[t].copy()
        if before:
            edge = potentials.edge[t] if len(potentials.edge) > 1 else potentials.edge[0]
            row += edge[before[-1]]
            row += self.triples[before[-2] if len(before) > 1 else self.labels, before[-1]]
        return row

    def prefix(self, path):
        """The score of every prefix of a path."""
        total, out = 0.0, []
        for k, y in enumerate(path):
            t = self.first + k
            total += self.row(self.p, t, path[:k])[y]
            if self.local:
                total -= np.logaddexp.reduce(self.row(self.raw, t, path[:k]))
            out.append(total)
        return out


CASES = st.tuples(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([0.5, 3.0, 400.0]),
    st.sampled_from(["word", "word\nlabel[-1] & word"]),
    st.sampled_from([0.0, 0.6]),
)


@given(CASES)
@settings(max_examples=100, deadline=None)
def test_every_decoder_equals_enumeration(case):
    seed, lengths, labels, local, forbidden, spread, templates, limited = case
    scores = problem(
        seed, lengths, labels, local=local, forbidden=forbidden, spread=spread,
        templates=templates, limited=limited,
    )  # fmt: skip
    with Workers(1) as workers:
        path = chains.viterbi(scores, workers)
        found = chains.marginals(scores, workers)
        ranked = chains.nbest(scores, 4, workers)
        wide = chains.beam(scores, labels * (labels + 1), workers)
    for c in range(len(lengths)):
        every = Enumeration(scores, c)
        own = slice(every.first, every.last)
        probabilities = np.exp(every.scores - every.log_z)
        wanted = np.zeros((every.last - every.first, labels))
        for p, chance in zip(every.paths, probabilities, strict=True):
            wanted[np.arange(len(p)), list(p)] += chance
        np.testing.assert_allclose(found[own], wanted, atol=1e-8)
        best = every.scores.max()
        for candidate in (path[own], wide[own]):
            score = every.scores[every.paths.index(tuple(candidate.tolist()))]
            assert score == pytest.approx(best, rel=1e-9, abs=1e-9)
        top = np.sort(probabilities[np.isfinite(every.scores)])[::-1][:4]
        np.testing.assert_allclose(ranked[c].probabilities, top, atol=1e-8)
        for p, chance in zip(ranked[c].paths, ranked[c].probabilities, strict=True):
            assert probabilities[every.paths.index(tuple(p.tolist()))] == pytest.approx(
                chance, abs=1e-8
            )


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("limited", [0.0, 0.5])
def test_a_beam_equals_the_plain_one(local, width, limited):
    for seed in range(25):
        scores = problem(seed, [5], 3, local=local, limited=limited)
        every = Enumeration(scores, 0)
        hypotheses = [((), 0.0)]
        for _ in range(5):
            grown = {}
            for path, _ in hypotheses:
                for y in range(3):
                    fresh = (*path, y)
                    score = every.prefix(fresh)[-1]
                    if score == -np.inf:
                        continue
                    if fresh[-2:] not in grown or score > grown[fresh[-2:]][1]:
                        grown[fresh[-2:]] = (fresh, score)
            hypotheses = sorted(grown.values(), key=lambda item: -item[1])[:width]
        with Workers(1) as workers:
            found = chains.beam(scores, width, workers)
            assert tuple(found.tolist()) == hypotheses[0][0]
            if width == 1:
                np.testing.assert_array_equal(chains.greedy(scores, workers), found)


def test_probabilities_of_windows_equal_enumeration():
    scores = problem(3, [4, 2], 3, forbidden=0.2)
    rng = np.random.default_rng(0)
    allowed = rng.random((5, 3)) < 0.6
    windows = SpanEvents(
        np.array([1, 4]), np.array([4, 6]), np.array([0, 3]), np.arange(2), allowed
    )
    with Workers(1) as workers:
        found = second.event_probabilities(scores, windows, workers)
    for w, c in ((0, 0), (1, 1)):
        every = Enumeration(scores, c)
        start, stop = windows.starts[w] - every.first, windows.stops[w] - every.first
        sets = allowed[windows.rows[w] : windows.rows[w] + stop - start]
        inside = [
            all(sets[k, path[start + k]] for k in range(stop - start)) for path in every.paths
        ]
        wanted = np.exp(np.logaddexp.reduce(every.scores[inside]) - every.log_z)
        assert found[w] == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("limited", [0.0, 0.5])
def test_log_space_and_scaled_passes_agree(limited):
    scores = problem(7, [5, 4], 3, limited=limited)
    p = scores.raw((0, 2))
    scaled, safe = np.empty_like(p.node), np.empty_like(p.node)
    triples = np.zeros((2, *scores.weights.triples.shape))
    pairs = np.zeros((2, 1, 3, 3))
    log_z = np.empty(2)
    kernel.forward_backward(
        p.node, p.edge, p.node, p.edge, scores.weights.triples, p.offsets, False, scaled, pairs[0],
        triples[0], log_z,
    )  # fmt: skip
    for c, (a, b) in enumerate(itertools.pairwise(p.offsets.tolist())):
        total = kernel._log_space(
            p.node, p.edge, p.node, p.edge, scores.weights.triples, a, b - a, False, safe, pairs[1],
            triples[1],
        )  # fmt: skip
        assert total == pytest.approx(log_z[c])
    np.testing.assert_allclose(scaled, safe, atol=1e-12)
    np.testing.assert_allclose(pairs[0], pairs[1], atol=1e-12)
    np.testing.assert_allclose(triples[0], triples[1], atol=1e-12)


def test_a_mass_that_one_pass_loses_is_found_again():
    # exp(−800) is 0 in the first pass, exp(900) infinite in the second; together they win
    node = np.array([[0.0, -800.0], [0.0, 0.0], [0.0, 0.0]])
    edge, second = np.zeros((1, 2, 2)), np.zeros((3, 2, 2))
    second[1, 1, 1] = 900.0
    marginals, log_z = np.empty((3, 2)), np.empty(1)
    pairs, triples = np.zeros((1, 2, 2)), np.zeros((3, 2, 2))
    kernel.forward_backward(
        node, edge, node, edge, second, np.array([0, 3]), False, marginals, pairs, triples, log_z
    )
    np.testing.assert_allclose(marginals, [[0, 1]] * 3, atol=1e-12)
    assert log_z[0] == pytest.approx(100.0)
    assert triples[1, 1, 1] == pytest.approx(1.0)


# Learning ----------------------------------------------------------------------------------------


def alternating(size=60, seed=0):
    """A label that follows from the two before it, which no pair of labels shows."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(size):
        own = list(rng.choice(["A", "B"], 2))
        seen = [label.lower() for label in own]
        while len(own) < 10:
            own.append("A" if own[-1] == own[-2] else "B")
            seen.append("?")
        words.append(seen)
        labels.append(own)
    return Corpus.of(words, labels, scheme="none")


@pytest.mark.parametrize("solver", ["lbfgs", "sgd"])
@pytest.mark.parametrize("kind", [CRF, MEMM])
def test_order_2_learns_what_order_1_cannot(kind, solver):
    train, test = alternating(), alternating(20, 1)
    settings = {"solver": solver, "l2": 0.01}
    if solver != "lbfgs":
        settings |= {"dropout": 0.0, "bundle_dropout": 0.0}
    assert kind("word", order=2, **settings).fit(train).score(test) == 1.0
    assert kind("word", **settings).fit(train).score(test) < 0.9


@pytest.mark.parametrize("update", ["perceptron", "pa", "arow"])
def test_margin_updates_learn_triples(update):
    found = Perceptron("word", order=2, update=update, epochs=20).fit(alternating())
    assert found.score(alternating(20, 1)) == 1.0


def test_a_warm_start_carries_the_scores_of_triples():
    model = CRF("word", order=2, solver="lbfgs").fit(alternating())
    warm = CRF("word", order=2, solver="lbfgs").fit(alternating(), start=model)
    assert warm.result_.iterations < model.result_.iterations


def test_orders_out_of_range_are_refused():
    with pytest.raises(ParameterError, match="order must be 1 or 2"):
        Perceptron("word", order=3).fit(alternating(2))
    with pytest.raises(ParameterError, match="order 1"):
        CRF("word", order=2, objective="marginal").fit(alternating(2))
