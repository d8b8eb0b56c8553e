"""partial_fit: passes one after the other, over data that come bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, HMM, MEMM, Corpus, MaxEnt, Perceptron
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import Monitor
from skipchain.errors import CorpusError, ParameterError
from skipchain.parallel import Workers

NAMES, PLACES = ["Ada", "Bo", "Cy"], ["York", "Rome"]


def corpus(size, seed=0):
    rng = np.random.default_rng(seed)
    words = [[rng.choice(NAMES), "saw", rng.choice(PLACES), "."] for _ in range(size)]
    return Corpus.of(words, [["B-PER", "O", "B-LOC", "O"]] * size, scheme="iob2")


KINDS = [
    (CRF, {}),
    (CRF, {"solver": "adagrad"}),
    (CRF, {"order": 2}),
    (MEMM, {"dependent": True}),
    (MaxEnt, {}),
    (Perceptron, {}),
    (Perceptron, {"update": "arow"}),
]


@pytest.mark.parametrize(("kind", "settings"), KINDS)
def test_calls_are_epochs_over_the_parts(kind, settings):
    """Each call is one epoch that begins where the last ended, with random numbers of its own."""
    found = kind("word\nshape", seed=5, **settings)
    weights = None
    for number, part in enumerate([corpus(12), corpus(8, 1), corpus(8, 1)]):
        model = found.partial_fit(part).model_
        epoch = kind("word\nshape", seed=5 + number, epochs=1, **settings)
        if kind is not Perceptron:
            epoch.set_params(prune=0.0)
        gold = [model.labels.index(label.replace("B-", "S-")) for label in part.labels]
        data = Dataset(model.features.encode(part), part.sentences, np.array(gold, np.int32))
        with Workers(1) as workers:
            problem = epoch._problem(data, model, None, weights)
            weights = epoch._learn(problem, workers, Monitor()).weights
        np.testing.assert_array_equal(model.weights.vector, weights.vector)
    assert found.passes_ == 3
    assert found.score(corpus(10, 2)) > 0.9


@pytest.mark.parametrize("kind", [CRF, Perceptron])
def test_the_first_call_fixes_labels_and_features(kind):
    small = Corpus.of([["Ada", "ran"]] * 9, [["B-PER", "O"]] * 9, scheme="iob2")
    with pytest.raises(CorpusError, match=r"'S-LOC' is new to the model; name all labels in the"):
        kind("word").partial_fit(small).partial_fit(corpus(3))
    classes = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]  # in the scheme of the data
    found = kind("word", seed=1).partial_fit(small, classes=classes)
    assert "S-LOC" in found.model_.labels
    assert "B-LOC" in found.model_.labels  # of bioes
    known = found.model_.features.names()
    for _ in range(10):
        found.partial_fit(corpus(10))
    assert found.model_.features.names() == known
    assert found.predict(Corpus.of([["Ada", "saw"]])) == [["B-PER", "O"]]
    plain = kind("word", encoding=None).partial_fit(small, classes=["B-X"])
    assert plain.classes_ == ["B-PER", "B-X", "O"]


@pytest.mark.parametrize("kind", [CRF, Perceptron])
def test_features_without_weight_wait_for_theirs(kind):
    """In the first part everything is O, so there is nothing to learn of the words."""
    first = Corpus.of([["Ada", "saw", "York", "."]] * 5, [["O"] * 4] * 5, scheme="iob2")
    found = kind("word").partial_fit(first, classes=["B-PER", "I-PER", "B-LOC", "I-LOC"])
    for _ in range(20):
        found.partial_fit(corpus(20))
    known = Corpus.of([["Ada", "saw", "York", "."]])
    assert found.predict(known) == [["B-PER", "O", "B-LOC", "O"]]


def test_goes_on_from_fit_and_fit_begins_afresh():
    data = corpus(30)
    found = CRF("word").fit(data[:20])
    before = found.model_
    found.partial_fit(data[20:])
    assert found.model_.features.names() == before.features.names()
    difference = np.abs(found.model_.weights.vector - before.weights.vector).max()
    assert 0 < difference < 1
    again = CRF("word").fit(data[:20])
    np.testing.assert_array_equal(
        found.fit(data[:20]).model_.weights.vector, again.model_.weights.vector
    )
    assert found.passes_ == 0


def test_later_parts_may_be_written_in_another_scheme():
    found = CRF("word").partial_fit(corpus(20))
    other = corpus(20, 1)
    words = [sentence.words for sentence in other]
    inside = Corpus.of(words, [["I-PER", "O", "I-LOC", "O"]] * 20, scheme="iob1")
    a, b = (CRF("word").partial_fit(corpus(20)).partial_fit(part) for part in (other, inside))
    np.testing.assert_array_equal(a.model_.weights.vector, b.model_.weights.vector)
    given = [["B-PER", "O", "B-LOC", "O"]] * 20  # lists have the scheme of the first call
    found.partial_fit(other.without_labels(), given)
    np.testing.assert_array_equal(a.model_.weights.vector, found.model_.weights.vector)


def test_partial_labels_go_on_in_the_encoding_of_the_model():
    data = corpus(10)
    some = [["B-PER", None, None, "O"]] * 10
    with pytest.raises(CorpusError, match=r"token 1 has no label of its own.* written in bioes"):
        CRF("word").partial_fit(data).partial_fit(data, some)
    found = CRF("word", encoding=None)
    for _ in range(10):
        found.partial_fit(data)
    found.partial_fit(data, some)
    assert found.score(data) == 1.0


def test_the_same_seed_gives_the_same_model():
    def run(seed):
        found = CRF("word\nshape", seed=seed)
        for number in range(3):
            found.partial_fit(corpus(10, number))
        return found.model_.weights.vector

    np.testing.assert_array_equal(run(3), run(3))
    assert (run(3) != run(4)).any()


def test_an_interrupt_is_passed_on_and_the_model_kept(monkeypatch):
    from skipchain.chains.online import StochasticLikelihood

    def interrupted(self, rate):
        raise KeyboardInterrupt

    monkeypatch.setattr(StochasticLikelihood, "epoch", interrupted)
    found = CRF("word")
    with pytest.raises(KeyboardInterrupt):
        found.partial_fit(corpus(10))
    assert found.predict(corpus(1))


@pytest.mark.parametrize("solver", [None, "sgd", "lbfgs"])
@pytest.mark.parametrize(
    ("features", "order", "told"),
    [("word", 3, "order 3"), ("word\nlabel[-2] & word", 2, r"template 'label\[-2\] & word'")],
)
def test_longer_runs_of_labels_are_learnt_at_once(features, order, told, solver):
    with pytest.raises(ParameterError, match=f"CRF with {told} has no partial_fit.*use fit, or"):
        CRF(features, order=order, solver=solver).partial_fit(corpus(8))
    if solver != "lbfgs":
        assert MEMM(features, order=order, solver=solver).partial_fit(corpus(8)).passes_ == 1


def test_mistakes_are_named():
    for solver in ("lbfgs", "newton", "cg", "gd"):
        with pytest.raises(ParameterError, match="takes stochastic steps; use solver='sgd'"):
            MEMM("word", solver=solver).partial_fit(corpus(3))
    with pytest.raises(CorpusError, match="no token to learn from"):
        CRF("word").partial_fit(Corpus.of([[]], [[]], scheme="none"))
    with pytest.raises(ParameterError, match="rate must be"):
        CRF("word", rate=-1.0).partial_fit(corpus(3))
    assert not hasattr(HMM(), "partial_fit")  # it counts all at once
