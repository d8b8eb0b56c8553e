"""Learning from one chain after the other, against plain versions of every update."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from skipchain import Corpus
from skipchain.chains import online
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood
from skipchain.chains.margins import RUN, MarginUpdates
from skipchain.chains.online import StochasticLikelihood
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels.kept_features import KeptFeatures, score_tokens
from skipchain.kernels.margin_updates import _score_tokens
from skipchain.kernels.sgd import FULL_STEP_COUNT, LONG_CHAIN, OccurrenceCounts, _count_occurrences
from skipchain.parallel import Workers

WORDS = ["Ada", "Bo", "ran", "to", "York", "."]
PLAIN = "word\nshape\nngrams(1, 2)\nword[-1] & word"
PAIRED = PLAIN + "\nlabel[-1] & word\nlabel[-1] & shape"
NUMBERS = "word\nvector(v)\nv\nlabel[-1] & vector(v)"  # units whose features have values
TEMPLATES = pytest.mark.parametrize(
    "templates", [PLAIN, PAIRED, NUMBERS], ids=["plain", "paired", "numbers"]
)


def draw(seed, lengths, labels=3, templates=PAIRED):
    rng = np.random.default_rng(seed)
    sentences = [[WORDS[k] for k in rng.integers(0, len(WORDS), length)] for length in lengths]
    cells = ["0.5 -1", "2 0", "-1.5 3"]
    column = [[cells[len(word) % 3] for word in words] for words in sentences]
    corpus = Corpus.of(sentences, v=column)
    _, rows = Vocabulary.fit(corpus, Templates.parse(templates))
    gold = rng.integers(0, labels, corpus.n_tokens).astype(np.int32)
    return Dataset(rows, corpus.sentences, gold)


def random_weights(data, labels, seed):
    size = (data.rows.n_features, data.rows.n_edge_features, labels)
    blank = Weights.zeros(*size)
    rng = np.random.default_rng(seed)
    return Weights.views(rng.normal(size=len(blank.vector)).astype(np.float32) * 0.3, *size)


def gradient(data, weights, *, local=False, constraints=None):
    """The gradient of the batch objective, for all weights."""
    with Workers(1) as workers:
        scorer = LinearScorer(
            data, weights.n_labels, observed=False, boundaries=True, workers=workers
        )
        objective = ConditionalLikelihood(
            data, scorer, workers, local=local, constraints=constraints
        )
        return objective(scorer.pack(weights))


@TEMPLATES
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
@pytest.mark.parametrize("length", [1, 5])
def test_one_step_follows_the_gradient(templates, local, length):
    data = draw(3, [length], templates=templates)
    first = random_weights(data, 3, 1)
    learner = StochasticLikelihood(data, 3, local=local, l2=0.25, initial_weights=first)
    loss = learner.epoch(0.1)
    wanted_loss, slope = gradient(data, first, local=local)
    assert loss == pytest.approx(wanted_loss, rel=1e-5)
    wanted = first.vector * (1 - 0.1 * 2 * 0.25) - 0.1 * slope
    np.testing.assert_allclose(learner.vector(), wanted, atol=2e-6)


@TEMPLATES
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
@pytest.mark.parametrize("some", [True, False], ids=["partial", "full"])
def test_a_step_of_a_long_chain_is_shorter_where_things_occur_often(templates, local, some):
    data = draw(3, [LONG_CHAIN + 72], templates=templates)
    if some and not local:
        data = Dataset(data.rows, data.offsets, data.labels, np.ones((data.n_tokens, 3), bool))
        data.labels[::2] = -1
    first = random_weights(data, 3, 1)
    learner = StochasticLikelihood(data, 3, local=local, l2=0.25, initial_weights=first)
    learner.epoch(0.01)
    _, slope = gradient(data, first, local=local)
    size = (data.rows.n_features, data.rows.n_edge_features, 3)
    slope = Weights.views(slope, *size)
    flat, edges = data.rows.expanded(), data.rows.edges
    for table, index in ((slope.state, flat), (slope.edges, edges)):
        squares = index.values**2 if len(index.values) else np.ones(len(index.indices))
        often = np.bincount(index.indices, squares, minlength=len(table))
        table /= np.maximum(1.0, often / FULL_STEP_COUNT)[:, None]
    known = [((data.labels == i) | (data.labels < 0)).sum() for i in range(3)]
    slope.transitions[:] /= np.maximum(1.0, np.array(known) / LONG_CHAIN)[:, None]
    wanted = first.vector * (1 - 0.01 * 2 * 0.25) - 0.01 * slope.vector
    np.testing.assert_allclose(learner.vector(), wanted, atol=1e-5)


def test_the_counts_of_a_chain_are_forgotten():
    tally = OccurrenceCounts(np.zeros(5), np.zeros(2), np.zeros(3))
    ends, indices = np.array([0, 2, 3]), np.array([1, 4, 4], np.int32)
    kept = KeptFeatures(ends, indices, np.array([1.0, 2.0, 3.0]))
    pairs = KeptFeatures(np.array([0, 0, 1]), np.array([1], np.int32), np.zeros(0))
    gold = np.array([2, -1], np.int32)
    _count_occurrences(kept, pairs, gold, tally, False)
    assert tally.state.tolist() == [0, 1, 0, 0, 13]
    assert tally.edges.tolist() == [0, 1]
    assert tally.labels.tolist() == [1, 1, 2]
    _count_occurrences(kept, pairs, gold, tally, True)
    assert not any(part.any() for part in tally)


def test_a_partly_labelled_step_follows_the_clamped_gradient():
    data = draw(4, [5])
    allowed = np.random.default_rng(0).random((5, 3)) < 0.5
    allowed[np.arange(5), data.labels] = True
    data = Dataset(data.rows, data.offsets, np.full(5, -1, np.int32), allowed)
    first = random_weights(data, 3, 1)
    learner = StochasticLikelihood(data, 3, initial_weights=first)
    loss = learner.epoch(0.1)
    wanted_loss, slope = gradient(data, first)
    assert loss == pytest.approx(wanted_loss, rel=1e-5)
    np.testing.assert_allclose(learner.vector(), first.vector - 0.1 * slope, atol=2e-6)


def test_constraints_hold_in_a_step():
    data = draw(4, [4], templates=PLAIN)
    data.labels[:] = [0, 1, 2, 2]
    pairs = np.array([[1, 1, 0], [0, 0, 1], [1, 0, 1]], bool)
    allowed = Constraints(pairs, np.array([1, 0, 1], bool), np.array([0, 1, 1], bool))
    first = random_weights(data, 3, 2)
    learner = StochasticLikelihood(data, 3, initial_weights=first, constraints=allowed)
    loss = learner.epoch(0.1)
    wanted_loss, slope = gradient(data, first, constraints=allowed)
    assert loss == pytest.approx(wanted_loss, rel=1e-5)
    np.testing.assert_allclose(learner.vector(), first.vector - 0.1 * slope, atol=2e-6)


def test_a_first_adagrad_step_has_the_size_of_the_rate():
    data = draw(3, [1], templates="word")
    first = random_weights(data, 3, 1)
    learner = StochasticLikelihood(data, 3, adaptive=True, initial_weights=first)
    learner.epoch(0.1)
    moved = learner.vector() - first.vector
    _, slope = gradient(data, first)
    hit = np.abs(slope) > 1e-6
    np.testing.assert_allclose(moved[hit], -0.1 * np.sign(slope[hit]), atol=1e-5)


def test_dropout_keeps_the_expected_score_and_follows_the_seed():
    data = draw(7, [6] * 40)
    runs = [
        StochasticLikelihood(data, 3, dropout=0.5, bundle_dropout=0.2, seed=seed)
        for seed in (1, 1, 2)
    ]
    losses = [[learner.epoch(0.1) for _ in range(3)] for learner in runs]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
    np.testing.assert_array_equal(runs[0].vector(), runs[1].vector())
    first = random_weights(data, 3, 1)
    still = StochasticLikelihood(data, 3, dropout=0.5, bundle_dropout=0.2, initial_weights=first)
    noisy = np.mean([still.epoch(0.0) for _ in range(200)])
    assert noisy > gradient(data, first)[0]  # noise costs, by the convexity of log Z


def test_observed_pairs_are_the_only_ones_to_move():
    data = draw(7, [6] * 10, templates=PLAIN)
    learner = StochasticLikelihood(data, 3, observed=True)
    learner.epoch(0.1)
    flat = data.rows.expanded()
    seen = np.zeros((data.rows.n_features, 3), bool)
    for t, (a, b) in enumerate(pairwise(flat.indptr.tolist())):
        seen[flat.indices[a:b], data.labels[t]] = True
    moved = learner.weights(learner.vector().astype(float)).state != 0
    assert not (moved & ~seen).any()
    assert (moved & seen).any()


# Margin updates, written out plainly -------------------------------------------------------------


def dense(data, labels, path, first, last):
    """The feature vector of one labelling, in the order of the weights."""
    size = (data.rows.n_features, data.rows.n_edge_features, labels)
    total = Weights.zeros(*size)
    flat, edges = data.rows.expanded(), data.rows.edges
    for t in range(first, last):
        y, before = path[t - first], path[t - first - 1] if t > first else labels
        for k in range(flat.indptr[t], flat.indptr[t + 1]):
            total.state[flat.indices[k], y] += flat.values[k] if len(flat.values) else 1
        for k in range(edges.indptr[t], edges.indptr[t + 1]):
            own = edges.values[k] if len(edges.values) else 1
            total.edges[edges.indices[k], before * labels + y] += own
        if t > first:
            total.transitions[before, y] += 1
    total.start[path[0]] += 1
    total.end[path[-1]] += 1
    return total.vector


def best_path(data, labels, vector, first, last):
    from itertools import product

    paths = list(product(range(labels), repeat=last - first))
    scores = [vector @ dense(data, labels, path, first, last) for path in paths]
    return paths[int(np.argmax(scores))]


def plain_updates(data, labels, order, update, limit):
    """All updates of one epoch with full vectors; returns the average."""
    vector = np.zeros(
        len(Weights.zeros(data.rows.n_features, data.rows.n_edge_features, labels).vector)
    )
    spread = np.ones_like(vector)
    total = np.zeros_like(vector)
    for c in order:
        first, last = data.offsets[c], data.offsets[c + 1]
        gold = data.labels[first:last]
        path = best_path(data, labels, vector, first, last)
        wrong = int((np.array(path) != gold).sum())
        if wrong:
            good, bad = (dense(data, labels, p, first, last) for p in (gold, path))
            delta = good - bad
            cost = vector @ bad - vector @ good + np.sqrt(wrong)
            if update == "perceptron":
                vector = vector + delta
            elif update == "pa":
                vector = vector + min(limit, cost / (delta @ delta)) * delta
            else:
                beta = 1 / (delta**2 @ spread + limit)
                vector = vector + cost * beta * spread * delta
                spread = spread - beta * (spread * delta) ** 2
        total += vector
    return total / len(order)


@pytest.mark.parametrize("update", ["perceptron", "pa", "arow"])
@TEMPLATES
def test_margin_updates_equal_the_plain_ones(update, templates):
    data = draw(5, [3, 1, 4, 2, 3, 3, 2, 4], templates=templates)
    learner = MarginUpdates(data, 3, update=update, limit=0.7, seed=4)
    learner.epoch()
    order = np.random.default_rng(4).permutation(8)
    wanted = plain_updates(data, 3, order, update, 0.7)
    np.testing.assert_allclose(learner.vector(), wanted, atol=1e-4)


@TEMPLATES
@pytest.mark.parametrize("form", [{}, {"local": True}, {"order": 2}, {"adaptive": True}])
def test_features_listed_ahead_in_a_thread_change_no_bit(templates, form, monkeypatch):
    data = draw(7, [5, 1, 4, 0, LONG_CHAIN + 9, 3] * 6, templates=templates)
    settings = {"dropout": 0.5, "bundle_dropout": 0.2, "l2": 0.3, **form}
    whole = StochasticLikelihood(data, 3, **settings)
    monkeypatch.setattr(online, "DRAWN", 300)
    with Workers(2) as workers:
        ahead = StochasticLikelihood(data, 3, workers=workers, **settings)
        for _ in range(2):
            assert ahead.epoch(0.05) == whole.epoch(0.05)
    np.testing.assert_array_equal(ahead.vector(), whole.vector())


def test_an_interrupted_pass_leaves_weights_as_they_are_meant(monkeypatch):
    monkeypatch.setattr(online, "DRAWN", 60)
    data = draw(7, [5, 1, 4] * 8, templates=PLAIN)

    def cut(learner, error):
        """Let the passes of a learner end after the first run of chains."""
        draw_all = learner._drawer.draw

        def draw_first(*arguments):
            yield next(draw_all(*arguments))
            if error is not None:
                raise error

        monkeypatch.setattr(learner._drawer, "draw", draw_first)

    interrupted, ended = (StochasticLikelihood(data, 3, l2=50.0) for _ in range(2))
    cut(interrupted, KeyboardInterrupt())
    cut(ended, None)
    with pytest.raises(KeyboardInterrupt):
        interrupted.epoch(0.05)
    ended.epoch(0.05)
    assert ended.vector().any()
    np.testing.assert_array_equal(interrupted.vector(), ended.vector())


def test_without_boundaries_their_scores_stay_zero():
    data = draw(5, [3] * 8)
    for learner in (
        MarginUpdates(data, 3, boundaries=False),
        StochasticLikelihood(data, 3, boundaries=False),
    ):
        learner.epoch() if isinstance(learner, MarginUpdates) else learner.epoch(0.1)
        weights = learner.weights(learner.vector().astype(float))
        assert not weights.start.any()
        assert not weights.end.any()
        assert weights.transitions.any()


def test_margin_updates_visit_each_chain_once_and_neighbours_one_after_the_other():
    learner = MarginUpdates(draw(1, [1] * 45), 3)
    orders = [learner._order() for _ in range(2)]
    assert [sorted(order) for order in orders] == [list(range(45))] * 2
    assert (orders[0] != orders[1]).any()
    runs = (orders[0] // RUN)[:-1]
    assert (np.diff(runs) != 0).sum() <= len(np.unique(runs))


@pytest.mark.parametrize("labels", [3, 8, 9, 17])
def test_scores_of_many_labels_are_added_up_eight_at_a_time(labels):
    data = draw(2, [4, 3], labels=labels)
    state = np.random.default_rng(0).integers(-9, 9, (data.rows.n_features, labels))
    rows = data.rows.expanded()
    kept = KeptFeatures(rows.indptr, rows.indices, rows.values)
    found, plain = np.empty((7, labels)), np.empty((7, labels))
    _score_tokens(kept, state.astype(np.float32), 7, found)
    score_tokens(kept, state.astype(np.float32), 1.0, 7, plain)
    np.testing.assert_array_equal(found, plain)
