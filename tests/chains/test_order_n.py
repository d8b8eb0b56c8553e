"""Chains of any order against enumeration, and against orders 1 and 2 where they meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain import Corpus
from skipchain.chains import decode as chains
from skipchain.chains.context_likelihood import ContextLikelihood
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import ChainProblem, _shown
from skipchain.chains.order_n import ContextPotentials
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.chains.scores import ChainScores
from skipchain.chains.span_events import SpanEvents
from skipchain.chains.sums import sum_bundles
from skipchain.features.label_ngrams import LabelNgrams
from skipchain.features.label_trigrams import LabelTrigrams
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers
from tests.oracles.label_contexts import Enumeration

WORDS = ["a", "b", "c"]
TEMPLATES = (
    "word",
    "word\nlabel[-1] & word",
    "word\nlabel[-2] & word\nlabel[-2] & label[-1] & word",
    "word\nlabel[-2] & value(n, raw)\nlabel[-2] & label[-1] & value(n, raw)",
)


def problem(
    seed, lengths, labels, order, *, templates="word", local=False, forbidden=0.0, spread=1.0,
    limited=0.0, stop=False,
):  # fmt: skip
    """Scored chains whose n-grams and trigrams are those of a random labelling."""
    rng = np.random.default_rng(seed)
    words = [[WORDS[k] for k in rng.integers(0, 3, n)] for n in lengths]
    numbers = [[f"{ord(word) - 97.5:g}" for word in sentence] for sentence in words]
    corpus = Corpus.of(words, n=numbers)
    vocabulary, rows = Vocabulary.fit(corpus, Templates.parse(templates))
    size = (rows.n_features, rows.n_edge_features, labels, order)
    vector = Weights.zeros(*size).vector
    weights = Weights.views(rng.normal(0, spread, len(vector)), *size)
    gold = rng.integers(0, labels, corpus.n_tokens).astype(np.int32)
    ngrams = trigrams = constraints = candidates = odds = None
    if order > 2:
        ngrams = LabelNgrams.fit(gold, corpus.sentences, labels, order)
        ngrams = replace(ngrams, weights=rng.normal(0, spread, ngrams.weights.shape))
    if rows.trigrams is not None:
        flags = vocabulary.trigram_has_previous
        trigrams = LabelTrigrams.fit(rows.trigrams, flags, gold, corpus.sentences, labels)
        trigrams = replace(trigrams, weights=rng.normal(0, spread, trigrams.weights.shape))
    if forbidden:
        pairs = rng.random((labels, labels)) >= forbidden
        np.fill_diagonal(pairs, True)
        constraints = Constraints(pairs, np.ones(labels, bool), rng.random(labels) >= forbidden / 2)
        constraints.end[0] = True
    if limited:
        candidates = rng.random((corpus.n_tokens, labels)) >= limited
        candidates[:, 0] = True  # with which any path is possible
    if stop:
        odds = rng.normal(0, 1, labels if order == 1 else (labels + 1, labels))
    data = Dataset(rows, corpus.sentences, gold, candidates=candidates)
    with Workers(1) as workers:
        return ChainScores.of(
            data, weights, workers, constraints, None, local, ngrams, None, trigrams, odds
        )


CASES = st.tuples(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.sampled_from([(1, 3), (2, 2), (3, 2), (2, 3), (3, 3), (2, 4), (2, 5)]),
    st.fixed_dictionaries(
        {
            "local": st.booleans(),
            "forbidden": st.sampled_from([0.0, 0.3]),
            "spread": st.sampled_from([0.5, 3.0, 400.0]),
            "templates": st.sampled_from(TEMPLATES),
            "limited": st.sampled_from([0.0, 0.6]),
            "stop": st.booleans(),
        }
    ),
)


@given(CASES)
@settings(max_examples=150, deadline=None)
def test_every_decoder_equals_enumeration(case):
    seed, lengths, (labels, order), given = case
    scores = problem(seed, lengths, labels, order, **given)
    with Workers(1) as workers:
        path = chains.viterbi(scores, workers)
        found = chains.marginals(scores, workers)
        posterior = chains.posterior(scores, workers)
        ranked = chains.nbest(scores, 4, workers)
        wide = chains.beam(scores, (labels + 1) ** order, workers)
    np.testing.assert_array_equal(posterior, found.argmax(axis=1))
    for c in range(len(lengths)):
        every = Enumeration(scores, c)
        own = slice(every.first, every.last)
        np.testing.assert_allclose(found[own], every.marginals, atol=1e-8)
        for candidate in (path[own], wide[own]):
            score = every.totals[every.paths.index(tuple(candidate.tolist()))]
            assert score == pytest.approx(every.totals.max(), rel=1e-9, abs=1e-9)
        chances = every.probabilities
        top = np.sort(chances[np.isfinite(every.totals)])[::-1][:4]
        np.testing.assert_allclose(ranked[c].probabilities, top, atol=1e-8)
        for p, chance in zip(ranked[c].paths, ranked[c].probabilities, strict=True):
            assert chances[every.paths.index(tuple(p.tolist()))] == pytest.approx(chance, abs=1e-8)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_events_equal_enumeration(local, order):
    rng = np.random.default_rng(order)
    for seed in range(10):
        scores = problem(seed, [5], 2, order, local=local, templates=TEMPLATES[2])
        every = Enumeration(scores, 0)
        allowed = rng.random((3, 2)) < 0.7
        allowed[:, 0] = True
        events = SpanEvents(np.array([1]), np.array([4]), np.array([0]), np.array([0]), allowed)
        with Workers(1) as workers:
            found = chains.event_probabilities(scores, events, workers)
        inside = [all(allowed[t, p[1 + t]] for t in range(3)) for p in every.paths]
        assert found[0] == pytest.approx(every.probabilities[inside].sum())


# The special cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_without_weights_of_more_labels_it_is_order_1(local, order):
    for seed in range(10):
        wide = problem(seed, [6, 1, 3], 3 if order < 4 else 2, order, local=local, stop=False)
        weights = replace(wide.weights, triples=np.zeros_like(wide.weights.triples))
        ngrams = wide.label_ngrams
        if ngrams is None:  # by the general recursions, too
            ngrams = LabelNgrams(2, np.zeros(0, np.int64), np.zeros((0, weights.n_labels)))
        ngrams = replace(ngrams, weights=np.zeros_like(ngrams.weights))
        wide = replace(wide, weights=weights, label_ngrams=ngrams)
        narrow = replace(wide, weights=replace(weights, triples=weights.triples[:0]))
        narrow = replace(narrow, label_ngrams=None)
        assert (wide.order, narrow.order) == (order, 1)
        _same(wide, narrow)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("templates", TEMPLATES[:2])
@pytest.mark.parametrize("stop", [True, False])
def test_order_2_by_the_general_recursions_is_order_2(local, templates, stop):
    for seed in range(10):
        given = {"forbidden": 0.2 * (seed % 2), "limited": 0.3 * (seed % 3 == 0), "stop": stop}
        own = problem(seed, [6, 1, 3], 4, 2, local=local, templates=templates, **given)
        ngrams = LabelNgrams(2, np.zeros(0, np.int64), np.zeros((0, 4)))
        general = replace(own, label_ngrams=ngrams)
        assert not own.by_contexts
        assert general.by_contexts
        _same(own, general)
        with Workers(1) as workers:
            found, wanted = (chains.beam(scores, 3, workers) for scores in (own, general))
        np.testing.assert_array_equal(found, wanted)


def _same(one, other):
    """Two scored chains say the same whatever they are asked."""
    with Workers(1) as workers:
        for ask in (chains.viterbi, chains.greedy):
            np.testing.assert_array_equal(ask(one, workers), ask(other, workers))
        found, wanted = (chains.marginals(scores, workers) for scores in (one, other))
        np.testing.assert_allclose(found, wanted, atol=1e-10)
        ranked = zip(chains.nbest(one, 5, workers), chains.nbest(other, 5, workers), strict=True)
        for a, b in ranked:
            np.testing.assert_allclose(a.probabilities, b.probabilities, atol=1e-10)


# Learning ----------------------------------------------------------------------------------------


def objective(scores, *, observed=False, l2=0.3):
    """The loss of a chain normalised as a whole, and where it is to be looked at."""
    ngrams, trigrams = scores.label_ngrams, scores.label_trigrams
    parts = [own.weights for own in (ngrams, trigrams) if own is not None]
    rows = scores.data.rows.with_features(
        np.zeros((scores.data.n_tokens, 0), np.int64), sum(map(len, parts))
    )
    data = replace(scores.data, rows=rows)
    order, size = scores.order, scores.weights.n_labels
    problem = ChainProblem(data, size, order, label_ngrams=ngrams, label_trigrams=trigrams)
    workers = Workers(1)
    scorer = LinearScorer(
        data, size, observed=observed, boundaries=True, workers=workers, order=order,
        further=_shown(problem),
    )  # fmt: skip
    loss = ContextLikelihood(
        data, scorer, workers, order=order, label_ngrams=ngrams, label_trigrams=trigrams, l2=l2,
        constraints=scores.constraints,
    )  # fmt: skip
    state = np.concatenate([scores.weights.state, *parts])
    return loss, scorer, scorer.pack(replace(scores.weights, state=state))


def rescored(scores, scorer, vector):
    """The scored chains with the weights of a vector."""
    weights = scorer.weights(vector)
    parts = [own for own in (scores.label_ngrams, scores.label_trigrams) if own is not None]
    sizes = [len(own.weights) for own in parts]
    own, *further = np.split(
        weights.state, len(weights.state) - np.cumsum([0, *sizes[::-1]])[:0:-1]
    )
    found = [replace(part, weights=rest) for part, rest in zip(parts, further, strict=True)]
    ngrams = found[0] if scores.label_ngrams is not None else None
    trigrams = found[-1] if scores.label_trigrams is not None else None
    sums = sum_bundles(scores.data.rows, own, Workers(1))
    return replace(
        scores, weights=replace(weights, state=own), bundle_sums=sums, label_ngrams=ngrams,
        label_trigrams=trigrams,
    )  # fmt: skip


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("templates", TEMPLATES)
@pytest.mark.parametrize("spread", [0.7, 500.0])
def test_the_loss_is_enumerated_and_its_gradient_is_that_of_finite_differences(
    order, templates, spread
):
    if order == 2 and "label[-2]" not in templates:
        pytest.skip("order 2 has a likelihood of its own")
    scores = problem(order, [5, 1, 2, 4], 2, order, templates=templates, spread=spread)
    loss, scorer, vector = objective(scores)
    found, gradient = loss(vector)
    again = rescored(scores, scorer, vector)
    wanted = 0.3 * vector @ vector
    for c in range(4):
        every = Enumeration(again, c)
        gold = tuple(scores.data.labels[every.first : every.last].tolist())
        wanted += every.log_z - every.totals[every.paths.index(gold)]
    assert found == pytest.approx(wanted, rel=1e-9)
    if spread > 100.0:
        assert np.isfinite(gradient).all()
        return
    for k in range(len(vector)):
        step = np.zeros_like(vector)
        step[k] = 1e-5
        slope = (loss(vector + step)[0] - loss(vector - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-5)


def test_scaled_and_logarithmic_sums_are_one_gradient():
    scores = problem(3, [7, 2], 3, 3, templates=TEMPLATES[2])
    loss, scorer, vector = objective(scores)
    value, gradient = loss(vector)
    far = vector.copy()
    weights = scorer.weights(vector)
    # what all labels get at a position changes nothing, but is too large for the scaled sums
    weights.triples[:] += 400.0
    far = scorer.pack(weights)
    shifted, turned = loss(far)
    penalty = 0.3 * (far @ far - vector @ vector)
    assert shifted - penalty == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(turned - 0.6 * far, gradient - 0.6 * vector, atol=1e-7)


def test_only_what_training_shows_has_weights_where_pairs_are_observed():
    scores = problem(5, [6, 4], 3, 3, templates=TEMPLATES[2])
    loss, scorer, vector = objective(scores, observed=True)
    further = len(scores.label_ngrams.ngrams) + len(scores.label_trigrams.rows)
    weights = scorer.weights(np.arange(1.0, len(vector) + 1))
    shown = weights.state[len(weights.state) - further :] != 0
    assert shown.any(axis=1).all()
    assert not shown.all()
    found, gradient = loss(vector)
    step = np.zeros_like(vector)
    last = scorer.sizes[0] - 1  # the last parameter of the trigrams
    step[last] = 1e-5
    slope = (loss(vector + step)[0] - loss(vector - step)[0]) / 2e-5
    assert gradient[last] == pytest.approx(slope, abs=1e-5)
    assert np.isfinite(found)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("templates", TEMPLATES)
def test_sums_of_usual_scores_are_scaled_not_logarithmic(local, templates):
    scores = problem(1, [6, 2], 3, 3, local=local, templates=templates)
    contexts = ContextPotentials.of(scores)
    # logarithms are taken of another table, so that they would be noticed
    blind = replace(contexts, table=np.zeros_like(contexts.table))
    raw = scores.raw((0, 2))
    p = scores.with_constraints(raw)
    found, wanted = np.empty_like(p.node), np.empty_like(p.node)
    sums = [
        own.log_partition(p, raw, local, node) for own, node in ((contexts, wanted), (blind, found))
    ]
    np.testing.assert_array_equal(*sums)
    np.testing.assert_array_equal(found, wanted)
