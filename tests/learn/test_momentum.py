"""Steps that keep their speed: row by row they are those of the whole table."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import HRF, RBMCRF, Corpus
from skipchain.chains.sums import TableScorer
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.momentum import Momentum, MomentumTable, update_average
from skipchain.models.rbm.training import RBMTask
from skipchain.parallel import Workers


class Plain:
    """The whole table in every step, as it is written in books."""

    def __init__(self, ascent, place):
        self.ascent, self.values, self.speed = ascent, place.copy(), np.zeros_like(place)

    def step(self, gradient, epoch):
        self.speed *= self.ascent.momentum_at(epoch)
        self.speed += self.ascent.rate * (gradient - self.ascent.decay * self.values)
        self.values += self.speed


def moved(ascent, epochs=4, steps=5, *, sparse, seed=0):
    """A table after some epochs, by rows or as a whole, and as it should be."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(7, 3))
    own, plain = MomentumTable(ascent, first.copy()), Plain(ascent, first)
    for epoch in range(epochs):
        own.begin(epoch, steps)
        for _ in range(steps):
            rows = np.sort(rng.choice(7, rng.integers(1, 5), replace=False))
            gradient = np.zeros((7, 3))
            gradient[rows] = rng.normal(size=(len(rows), 3))
            if sparse:
                np.testing.assert_allclose(own.current(rows), plain.values[rows], rtol=1e-12)
                assert own.step(4.0 * gradient[rows], 4, rows)
            else:
                assert own.current() is own.values
                assert own.step(4.0 * gradient, 4)
            plain.step(gradient, epoch)
        own.flush()
    return own.values, plain.values


@pytest.mark.parametrize(
    "ascent",
    [
        Momentum(0.1),
        Momentum(0.1, momentum=0.9),
        Momentum(0.1, decay=0.3, momentum=0.9, from_epoch=2),
        Momentum(0.5, decay=1.0, momentum=0.5),
    ],
    ids=str,
)
def test_rows_that_wait_arrive_where_they_should(ascent):
    np.testing.assert_array_equal(*moved(ascent, sparse=False))
    np.testing.assert_allclose(*moved(ascent, sparse=True), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e6])
def test_numbers_that_run_away_are_noticed(bad):
    for rows in (None, np.array([1])):
        table = MomentumTable(Momentum(1.0), np.zeros((2, 2)), largest=1000.0)
        table.begin(0, 2)
        gradient = np.zeros((2, 2) if rows is None else (1, 2))
        assert table.step(gradient, 1, rows)
        gradient[0, 0] = bad
        assert not table.step(gradient, 1, rows)


def test_an_average_takes_vectors_in():
    vectors = np.random.default_rng(0).normal(size=(4, 5))
    average = vectors[0].copy()
    for count, own in enumerate(vectors[1:], start=2):
        update_average(average, own, count)
    np.testing.assert_allclose(average, vectors.mean(axis=0))


# With the features of batches --------------------------------------------------------------------

WORDS = [["Ada", "Lee", "went", "to", "York"], ["Bo", "slept"], ["In", "York", "or", "Rome"]] * 3
LABELS = [["P", "P", "O", "O", "L"], ["P", "O"], ["O", "L", "O", "L"]] * 3
CORPUS = Corpus.of(WORDS, LABELS, scheme="none")


def test_compact_rows_say_the_same():
    _, rows = Vocabulary.fit(CORPUS, Templates.parse("word\nshape\nprefix(2)\nword[-1] & word"))
    some = rows.take(np.array([5, 6, 0]))
    few, features = some.compact()
    assert len(rows.bundles.indptr) > 1
    assert few.n_features == len(features) < rows.n_features
    assert few.bundles.n_rows < rows.bundles.n_rows
    table = np.random.default_rng(0).normal(size=(rows.n_features, 2))
    residuals = np.random.default_rng(1).normal(size=(3, 2))
    whole, part = TableScorer(some), TableScorer(few)
    with Workers(1) as workers:
        np.testing.assert_array_equal(
            whole.scores(table, workers), part.scores(table[features], workers)
        )
        wanted = whole.gradient(residuals, workers)
        np.testing.assert_array_equal(wanted[features], part.gradient(residuals, workers))
    wanted[features] = 0.0
    assert not wanted.any()


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"groups": "2:-1..0|x; 1:0..2"},
        {"experts": HRF("word", states=2, restarts=1, em=2, encoding=None), "observation": "none"},
    ],
    ids=["lr", "conditioned", "expert"],
)
def test_batches_learn_the_same_with_their_own_features_only(own, monkeypatch):
    settings = {"groups": "2:0..1", "batch": 2, "epochs": 6, "momentum_from": 2, **own}

    def vector():
        model = RBMCRF("word\nshape\nprefix(2)", encoding=None, **settings).fit(CORPUS)
        return model.result_.vector

    lazy, batch = vector(), RBMTask._batch
    monkeypatch.setattr(
        RBMTask, "_batch", lambda *given, compact=False: batch(*given, compact=False)
    )
    np.testing.assert_allclose(lazy, vector(), rtol=1e-9, atol=1e-12)
