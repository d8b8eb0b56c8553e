"""Labels of which some are missing, or one of several, from what is given to what is learnt."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, MaxEnt
from skipchain.errors import CorpusError, ParameterError, SchemeError

WORDS = [["a", "b", "a"], ["b"], ["b", "a"], ["a", "a", "b"]]
FULL = [["X", "Y", "X"], ["Y"], ["Z", "X"], ["X", "Z", "Y"]]
SOME = [["X", None, {"X", "Z"}], ["_"], [frozenset({"Z"}), "X"], [{"X", "Y", "Z"}, "Z", "Y"]]
EXACT = {"solver": "lbfgs", "tolerance": 1e-9, "l2": 0.3}


def agrees(path, known):
    return all(
        own in (None, "_") or label == own or (not isinstance(own, str) and label in own)
        for label, own in zip(path, known, strict=True)
    )


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(CRF, {}), (CRF, {"order": 2}), (MEMM, {}), (MEMM, {"dependent": True}), (MaxEnt, {})],
)
def test_the_loss_is_that_of_all_labellings_that_agree(kind, settings):
    """Every labelling with its probability, from the fitted model itself."""
    data = Corpus.of(WORDS)
    found = kind("word", **EXACT, **settings).fit(data, SOME)
    loss = 0.3 * float((found.model_.weights.vector**2).sum())
    for ranked, known in zip(found.predict_nbest(data, 27), SOME, strict=True):
        paths = ranked.labels
        assert ranked.probabilities.sum() == pytest.approx(1.0)
        kept = [agrees(path, known) for path in paths]
        loss -= np.log(ranked.probabilities[kept].sum())
    assert found.result_.loss == pytest.approx(loss, rel=1e-8)


@pytest.mark.parametrize("kind", [CRF, MEMM])
def test_what_is_not_known_is_written_in_several_ways(kind):
    given = [[None, "Y", "X"], [None], ["Z", None], ["X", "Z", "Y"]]
    marked = [["_" if label is None else label for label in own] for own in given]
    every = [[{"X", "Y", "Z"} if label is None else label for label in own] for own in given]
    models = [
        kind("word", **EXACT).fit(Corpus.of(WORDS), given),
        kind("word", **EXACT).fit(Corpus.of(WORDS), marked),
        kind("word", **EXACT).fit(Corpus.of(WORDS), every),
        kind("word", **EXACT).fit(Corpus.of(WORDS, marked, scheme="none")),
        kind("word", **EXACT).fit(Corpus.of(WORDS, given, scheme="none")),
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.model_.weights.vector, models[0].model_.weights.vector)


@pytest.mark.parametrize("solver", ["lbfgs", "sgd", "adagrad"])
@pytest.mark.parametrize("order", [1, 2])
def test_half_of_the_labels_are_enough(solver, order):
    rng = np.random.default_rng(0)
    words = [[str(k) for k in rng.integers(0, 6, 8)] for _ in range(60)]
    full = [["odd" if int(w) % 2 else "even" for w in own] for own in words]
    some = [[y if rng.random() < 0.5 else None for y in own] for own in full]
    found = CRF("word", solver=solver, order=order).fit(Corpus.of(words), some)
    assert found.score(Corpus.of(words, full, scheme="none")) == 1.0


@pytest.mark.parametrize("constraints", ["training", "decoding"])
@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([["O", "I-X", None]], r"token 1: label 'I-X' breaks the scheme where it stands"),
        ([["B-X", None, {"B-X", "O"}], ["I-X", None]], r"token 3: label 'I-X' breaks"),
        ([["O", {"I-X", "I-Y"}, "B-Y"]], r"token 1: all of I-X, I-Y break the scheme"),
    ],
)
def test_labels_that_leave_no_path_are_named(constraints, labels, told):
    X = [[{"w": "a"}] * len(own) for own in labels]
    crf = CRF(scheme="iob2", constraints=constraints)
    with pytest.raises(SchemeError, match=told):
        crf.fit(X, labels)
    assert CRF(scheme="iob2", constraints="none").fit(X, labels).predict(X)


def test_constraints_hold_in_the_clamped_sum():
    """What follows O is free, but not I-X; what precedes I-X is free, but not O."""
    X = [[{"w": "a"}, {"w": "b"}], [{"w": "c"}, {"w": "b"}]] * 5
    labels = [["O", None], [None, "I-X"]] * 5
    labels[0] = ["B-X", "I-X"]
    found = CRF(scheme="iob2", constraints="training", **EXACT).fit(X, labels)
    ranked = found.predict_nbest(X[1:2], 9)[0]
    assert all(found.classes_[path[0]] != "O" or found.classes_[path[1]] != "I-X"
               for path in ranked.paths)  # fmt: skip
    assert found.predict(X[1:2]) == [["B-X", "I-X"]]


@pytest.mark.parametrize(
    ("fit", "error", "told"),
    [
        (lambda: CRF().fit([[["a"]]], [[None]]), CorpusError, "no token has a label"),
        (lambda: CRF().fit([[["a"]] * 2], [["A", set()]]), CorpusError, r"token 1: set.. leav"),
        (lambda: CRF().fit([[["a"]] * 2], [["A", {1}]]), CorpusError, r"token 1: \{1\} leaves no"),
        (
            lambda: Corpus.of([["a"]], [[{"A", "B"}]], scheme="none"),
            CorpusError,
            "sets of labels go to fit",
        ),
        (lambda: Corpus.of([["a", 1]]), CorpusError, "word: sentence 0 has 1, which is no string"),
        (
            lambda: MEMM(order=2).fit([[["a"]] * 2], [["A", None]]),
            ParameterError,
            "partial labels need order=1, or a CRF",
        ),
        (
            lambda: MEMM(solver="sgd").fit([[["a"]] * 2], [["A", None]]),
            ParameterError,
            "partial labels of a local model need solver='lbfgs'",
        ),
    ],
)
def test_mistakes_are_named(fit, error, told):
    with pytest.raises(error, match=told):
        fit()
