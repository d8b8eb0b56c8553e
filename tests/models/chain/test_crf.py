"""The CRF estimator: what it promises, alone and inside scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from skipchain import CRF, MEMM, Corpus, SkipchainError
from skipchain.errors import (
    CorpusError,
    FeatureError,
    NotFittedError,
    ParameterError,
    TemplateError,
)
from skipchain.learn.lbfgs import minimize
from skipchain.learn.step import INTERRUPTED
from skipchain.models.chain.warm_start import warm_start_weights

NAMES = ["Ada", "Bo", "Cy", "Dee"]
PLACES = ["York", "Rome", "Oslo"]


def corpus(size=40, seed=0, scheme="iob2"):
    """Sentences whose labels follow from the words, with two-word names."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(size):
        name, place = rng.choice(NAMES), rng.choice(PLACES)
        if rng.random() < 0.5:
            words.append([name, "Lee", "went", "to", place, "."])
            labels.append(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])
        else:
            words.append(["In", place, "slept", name])
            labels.append(["O", "B-LOC", "O", "B-PER"])
    return Corpus.of(words, labels, scheme=scheme, documents=[size // 2, size - size // 2])


def dicts(data):
    return [[{"w": w, "caps": w[0].isupper()} for w in sentence.words] for sentence in data]


def labels(data):
    return [sentence.labels for sentence in data]


class Told:
    """A display that writes down what it is told."""

    def __init__(self):
        self.problem, self.steps, self.minimum = None, [], None

    def begin(self, problem):
        self.problem = problem

    def step(self, step, dev):
        self.steps.append((step.iteration, dev))

    def end(self, minimum):
        self.minimum = minimum


FORMS = {
    "corpus": (lambda data: data, lambda data: None),
    "dicts": (dicts, labels),
    "strings": (lambda data: [[[w, w.lower()] for w in s.words] for s in data], labels),
    "dense": (lambda data: [np.eye(30)[[hash_of(w) for w in s.words]] for s in data], labels),
    "sparse": (
        lambda data: [csr_matrix(np.eye(30)[[hash_of(w) for w in s.words]]) for s in data],
        labels,
    ),
}


def hash_of(word):
    return sum(map(ord, word)) % 30


@pytest.mark.parametrize("form", FORMS)
def test_learns_from_every_form_of_input(form):
    x_of, y_of = FORMS[form]
    train, test = corpus(60), corpus(20, seed=1)
    crf = CRF("word\nshape", l2=0.01).fit(x_of(train), y_of(train))
    predicted = crf.predict(x_of(test))
    assert [len(p) for p in predicted] == [len(s) for s in test]
    assert predicted == labels(test)
    assert crf.score(x_of(test), y_of(test)) == 1.0
    assert crf.predict_single(x_of(test)[0]) == predicted[0]
    marginals = crf.predict_marginals(x_of(test))
    assert marginals[0].shape == (len(test[0]), len(crf.classes_))
    np.testing.assert_allclose(np.concatenate(marginals).sum(axis=1), 1.0)


@pytest.mark.parametrize("encoding", [None, "io", "iob1", "iob2", "ioe1", "ioe2", "bioes", "bilou"])
def test_predictions_come_back_in_the_scheme_of_the_data(encoding):
    crf = CRF("word", l2=0.01, encoding=encoding).fit(corpus(60))
    assert crf.predict(corpus(20, seed=1)) == labels(corpus(20, seed=1))


@pytest.mark.parametrize("constraints", ["decoding", "training"])
def test_constrained_predictions_are_valid(constraints):
    from skipchain.corpus.schemes import validate

    crf = CRF("shape", l2=10.0, encoding="bioes", constraints=constraints).fit(corpus(30))
    found = crf.predict(corpus(50, seed=3))
    tagged = Corpus.of([s.words for s in corpus(50, seed=3)], found, scheme="iob2")
    assert validate(tagged.labels, tagged.sentences, "iob2") == []


def test_edge_templates_learn_what_depends_on_the_previous_label():
    # after A the word "x" is B, after B it is A: no state feature and no transition can say so
    # for "x" alone while "y" keeps the label of its neighbour
    rng = np.random.default_rng(0)
    words, gold = [], []
    for _ in range(80):
        first = rng.choice(["a", "b"])
        sentence, path = [first], [first.upper()]
        for word in rng.choice(["x", "y"], 5):
            before = path[-1]
            sentence.append(word)
            path.append(before if word == "y" else {"A": "B", "B": "A"}[before])
        words.append(sentence)
        gold.append(path)
    data = Corpus.of(words, gold, scheme="none")
    plain = CRF("word", l2=0.01).fit(data)
    paired = CRF("word\nlabel[-1] & word", l2=0.01).fit(data)
    assert paired.score(data) == 1.0
    assert plain.score(data) < 0.9


def test_l1_leaves_few_weights_and_l2_keeps_them_small():
    data = corpus(60)
    free = CRF("word\nngrams", l2=0.01, solver="lbfgs").fit(data)
    sparse = CRF("word\nngrams", l1=1.0, l2=0.0).fit(data)
    small = CRF("word\nngrams", l2=10.0, solver="lbfgs").fit(data)
    assert sparse.model_.weights.n_nonzero < free.model_.weights.n_nonzero / 5
    assert sparse.model_.features.n_features < free.model_.features.n_features / 2
    assert np.abs(small.model_.weights.state).max() < np.abs(free.model_.weights.state).max()
    assert sparse.score(data) == 1.0


def test_all_pairs_have_weights_where_asked():
    data = corpus(30)
    for solver in ("lbfgs", "sgd", "adagrad"):
        observed, every = (
            CRF("word", solver=solver, pairs=pairs).fit(data).model_.weights.state
            for pairs in ("observed", "all")
        )
        assert np.count_nonzero(observed) < np.count_nonzero(every)


def test_works_inside_scikit_learn():
    data = corpus(40)
    crf = CRF("word", l2=0.3, scheme="iob2")
    assert clone(crf).get_params() == crf.get_params()
    assert cross_val_score(crf, dicts(data), labels(data), cv=3).min() > 0.9
    assert cross_val_score(CRF("word", l2=0.1), data, cv=3).min() > 0.9
    search = GridSearchCV(CRF("word", epochs=20), {"l2": [0.1, 100.0]}, cv=2).fit(data)
    assert search.best_params_ == {"l2": 0.1}
    assert search.best_estimator_.predict(data[:1]) == labels(data[:1])


def test_repr_shows_what_was_changed():
    assert repr(CRF()) == "CRF()"
    assert repr(CRF("word", l2=0.5)) == "CRF(features='word', l2=0.5)"


def test_warm_start_begins_where_the_other_model_ended():
    data = corpus(60)
    first = CRF("word\nshape\nlabel[-1] & shape", l2=0.1, tolerance=1e-8, solver="lbfgs").fit(data)
    again = CRF("word\nshape\nlabel[-1] & shape", l2=0.1, tolerance=1e-8, solver="lbfgs")
    again.fit(data, start=first.model_)
    assert again.result_.iterations < first.result_.iterations
    assert again.result_.loss == pytest.approx(first.result_.loss, rel=1e-4)


def test_warm_start_carries_over_to_more_labels_and_other_features():
    data = corpus(60)
    start = CRF("word", l2=0.1).fit(data[:1]).model_
    assert CRF("word\nshape", l2=0.1).fit(data, start=start).score(data) == 1.0
    other = CRF("word").fit(Corpus.of([["x"]], [["X"]], scheme="none")).model_
    with pytest.raises(SkipchainError, match="shares no label"):
        CRF("word").fit(data, start=other)


@pytest.mark.parametrize(
    "settings", [{}, {"dependent": True}, {"order": 2}, {"features": "word\nlabel[-1] & shape"}]
)
def test_a_memm_is_a_good_place_to_begin(settings):
    """All of its weights are carried over, and the loss begins lower than from zero."""
    settings = {"features": "word\nshape", "solver": "lbfgs", "l2": 0.1, **settings}
    data = corpus(60)
    memm = MEMM(**settings).fit(data)
    model = memm.model_
    taken = warm_start_weights(model, model, model.weights.order)
    np.testing.assert_array_equal(taken.vector, model.weights.vector)
    assert all(part.any() for part in taken.tables if part.size)
    first, warm = (
        CRF(max_iterations=1, **settings).fit(data, start=start).result_.loss
        for start in (None, memm)
    )
    assert warm < first
    end = [CRF(tolerance=1e-8, **settings).fit(data, start=s).result_.loss for s in (None, memm)]
    assert end[0] == pytest.approx(end[1], rel=1e-5)


def test_the_display_is_told_size_steps_and_end():
    told = Told()
    CRF("word", epochs=25).fit(corpus(30), dev=corpus(10, seed=2), progress=told)
    assert told.problem.tokens == corpus(30).n_tokens
    assert told.problem.labels == 5  # O, B-PER, E-PER, S-PER, S-LOC
    assert told.problem.parameters > 0
    assert told.problem.bytes > 0
    assert [iteration for iteration, _ in told.steps] == list(range(1, len(told.steps) + 1))
    assert told.minimum.iterations == len(told.steps)
    assert told.steps[-1][1] is None or 0 <= told.steps[-1][1] <= 100


def test_patience_stops_and_keeps_the_best():
    told = Told()
    crf = CRF("word", l2=0.0001, patience=3, tolerance=0.0, solver="lbfgs")
    crf.fit(corpus(40), dev=corpus(20, seed=5), progress=told)
    assert told.minimum.reason == "stopped early"
    scores = [dev for _, dev in told.steps]
    assert scores.index(max(scores)) == len(scores) - 1 - 3
    assert 100 * crf.score(corpus(20, seed=5)) == pytest.approx(max(scores))


def test_values_that_cancel_are_observed_all_the_same():
    """A feature that is +1 and −1 equally often under a label still occurs with it."""
    x = [[{"f": 1.0}], [{"f": -1.0}], [{"f": 1.0}]] * 20
    y = [["A"], ["A"], ["B"]] * 20
    observed, every = (
        CRF(pairs=pairs, l2=0.01, solver="lbfgs").fit(x, y) for pairs in ("observed", "all")
    )
    assert observed.model_.summary["parameters"] == every.model_.summary["parameters"]


def test_an_interrupt_without_a_display_is_passed_on(monkeypatch):
    from skipchain.learn import lbfgs as module

    def interrupted(*arguments, **options):
        minimum = minimize(*arguments, **{**options, "max_iterations": 3})
        return replace(minimum, reason=INTERRUPTED)

    monkeypatch.setattr(module, "minimize", interrupted)
    crf = CRF("word", solver="lbfgs")
    with pytest.raises(KeyboardInterrupt):
        crf.fit(corpus(20))
    assert crf.predict(corpus(2))


def test_a_corpus_can_be_pickled():
    import pickle

    data = corpus(5)
    assert pickle.loads(pickle.dumps(data)) == data


def test_an_interrupt_leaves_a_model():
    class Interrupting(Told):
        def step(self, step, dev):
            super().step(step, dev)
            if step.iteration == 5:
                raise KeyboardInterrupt

    told = Interrupting()
    crf = CRF("word").fit(corpus(30), progress=told)
    assert told.minimum.reason == "interrupted"
    assert crf.predict(corpus(2))


def test_posterior_decoding_takes_the_largest_marginals():
    crf = CRF("word", l2=0.5, encoding=None).fit(corpus(40))
    test = corpus(5, seed=2)
    marginals = crf.predict_marginals(test)
    found = crf.predict(test, decoder="posterior")
    assert found == [[crf.classes_[k] for k in m.argmax(axis=1)] for m in marginals]


def test_extreme_sequences():
    data = corpus(30)
    crf = CRF("word\nword[-1..1]", l2=0.01, encoding=None).fit(data)
    long = Corpus.of([["Ada", "Lee", "went"] * 3334, ["York"]])
    assert [len(p) for p in crf.predict(long)] == [10002, 1]
    assert crf.predict(Corpus.of([[], ["Ada"], []])) == [[], ["B-PER"], []]


@pytest.mark.parametrize("kind", [CRF, MEMM])
def test_few_very_long_sequences_are_learnt_as_well_as_many_short_ones(kind):
    """A feature of every token takes a step of thousands at once unless it is held back."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8000, 6))
    y = (3 * x @ rng.normal(size=(6, 3)) + rng.gumbel(size=(8000, 3))).argmax(axis=1)
    names = np.array(["A", "B", "C"])[y].tolist()
    scores = []
    for length in (20, 4000):
        cuts = range(0, 8000, length)
        X, Y = [x[k : k + length] for k in cuts], [names[k : k + length] for k in cuts]
        found = kind(solver="sgd", epochs=60, dropout=0.1).fit(X, Y)
        scores.append(found.score(X, Y))
    assert scores[1] > scores[0] - 0.02


def test_unseen_words_are_dropped_and_counted():
    crf = CRF("word").fit(corpus(30))
    rows = crf.model_.features.encode(Corpus.of([["Zebedee", "York"]]))
    assert rows.unknown == 1
    assert len(crf.predict(Corpus.of([["Zebedee", "Quux"]]))[0]) == 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CRF().predict(corpus(1)), NotFittedError, "call fit first"),
        (lambda: CRF(l2=-1).fit(corpus(1)), SkipchainError, "l2 must be"),
        (lambda: CRF(l1=float("nan")).fit(corpus(1)), ValueError, "l1 must be"),
        (lambda: CRF(l2="x").fit(corpus(1)), ValueError, "l2 must be"),
        (lambda: CRF(patience=0).fit(corpus(1), dev=corpus(1)), ValueError, "patience must be"),
        (lambda: CRF(patience=3).fit(corpus(1)), ValueError, "patience needs dev"),
        (lambda: CRF(["word"]).fit(corpus(1)), TemplateError, "features must be text"),
        (lambda: CRF("nerr").fit(corpus(1)), TemplateError, "standard sets: ner"),
        (lambda: CRF().fit([[{"a": 1e308}]] * 3, [["A"], ["B"], ["A"]]), FeatureError, "scale"),
        (lambda: CRF(min_count=0).fit(corpus(1)), SkipchainError, "min_count must be"),
        (lambda: CRF(pairs="some").fit(corpus(1)), SkipchainError, "all, observed"),
        (lambda: CRF(constraints="x").fit(corpus(1)), SkipchainError, "decoding, training, none"),
        (lambda: CRF(threads=0).fit(corpus(1)), SkipchainError, "threads must be"),
        (lambda: CRF(encoding="xyz").fit(corpus(1)), SkipchainError, "xyz"),
        (lambda: CRF().set_params(nothing=1), SkipchainError, "no parameter 'nothing'"),
        (lambda: CRF("word").fit(Corpus.of([])), CorpusError, "label"),
        (lambda: CRF("word").fit(Corpus.of([[]], [[]], scheme="none")), CorpusError, "no token"),
        (lambda: CRF("word").fit(Corpus.of([["a"]])), CorpusError, "no column 'label'"),
        (lambda: CRF("lemma").fit(corpus(1)), TemplateError, "lemma"),
        (lambda: CRF().fit([], []), CorpusError, "no sequence"),
        (lambda: CRF().fit([[{"a": 1}]]), CorpusError, "give y"),
        (lambda: CRF().fit([[{"a": 1}]], [["A"], ["B"]]), CorpusError, "labels for 2"),
        (lambda: CRF().fit([[{"a": 1}]], [["A", "B"]]), CorpusError, "1 tokens, but 2 labels"),
        (lambda: CRF().fit([[{"a": 1}]], [[3]]), CorpusError, "label 3 is not a string"),
        (lambda: CRF().fit([[{"a": float("nan")}]], [["A"]]), FeatureError, "nan"),
        (lambda: CRF(scheme="iob2").fit([[{"a": 1}]], [["A"]]), CorpusError, "'A'"),
        (
            lambda: CRF(encoding=None, scheme="iob2").fit([[{"a": 1}]], [["I-A"]]),
            CorpusError,
            "token 0: label 'I-A' breaks the scheme",
        ),
        (lambda: CRF("word").fit(corpus(3)).predict([[{"a": 1}]]), FeatureError, "Corpus"),
        (lambda: CRF().fit([[{"a": 1}]], [["A"]]).predict(corpus(1)), FeatureError, "directly"),
        (
            lambda: CRF().fit([[{"a": 1}]], [["A"]]).predict([np.eye(2)]),
            FeatureError,
            "feature dicts",
        ),
        (
            lambda: CRF("word").fit(corpus(3)).predict_nbest(corpus(1), 0),
            SkipchainError,
            "at least 1",
        ),
        (
            lambda: CRF("word").fit(corpus(3)).predict(corpus(1), decoder="best"),
            SkipchainError,
            "viterbi, posterior",
        ),
        (lambda: CRF("word").fit([*corpus(1), *corpus(1)]), CorpusError, "one corpus"),
    ],
)
def test_mistakes_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_patience_waits_for_a_first_hit():
    data = corpus(30)
    slow = CRF("word", patience=2, epochs=40, rate=0.001)
    # the first hit comes in the first epoch or the second, and two more are waited for
    assert slow.fit(data, dev=corpus(10, seed=2)).result_.iterations >= 3
    strange = Corpus.of([["Ada", "slept"]], [["B-ELSE", "O"]], scheme="iob2")
    assert slow.set_params(epochs=4).fit(data, dev=strange).result_.reason == "4 epochs"


def test_held_out_labels_must_be_known():
    data, held = corpus(5), Corpus.of([["Ada", "slept"]], [["B-PER", "_"]], scheme="iob2")
    told = Told()
    with pytest.raises(CorpusError, match="token 1 has no held-out label"):
        CRF("word").fit(data, dev=held, progress=told)
    assert told.steps == []
    with pytest.raises(CorpusError, match="token 1 has no held-out label"):
        CRF("word", epochs=1).fit(data).score(held)


def test_parameters_choose_the_optimiser_that_they_are_for():
    data = corpus(10)
    for settings in ({"tolerance": 0.01}, {"max_iterations": 2}, {"period": 3}, {"l1": 0.1}):
        assert CRF("word", **settings).fit(data).result_.evaluations > 1, settings
        assert "epoch" not in CRF("word", **settings).fit(data).result_.reason
    for settings in ({"epochs": 2}, {"epochs": 2, "rate": 0.1}):
        assert CRF("word", **settings).fit(data).result_.reason == "2 epochs"
    numbers = [np.eye(2)] * 3, [["A", "B"]] * 3
    assert CRF(epochs=2).fit(*numbers).result_.reason == "2 epochs"
    assert "epoch" not in CRF().fit(*numbers).result_.reason


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "sgd", "tolerance": 0.1}, "tolerance is for solver lbfgs, cg, gd and gis, not"),
        ({"solver": "lbfgs", "rate": 0.1}, "rate is for solver sgd and adagrad, not for"),
        ({"max_iterations": 9, "epochs": 9}, "no solver has all of"),
        ({"l1": 0.1, "epochs": 9}, "no solver has all of l1, epochs"),
        ({"rate": 0.0}, "rate must be above 0"),
        ({"tolerance": -1.0}, "tolerance must be"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": None}, "seed must be"),
    ],
)
def test_parameters_for_another_optimiser_are_refused(settings, message):
    with pytest.raises(ParameterError, match=message):
        CRF("word", **settings).fit(corpus(3))


def test_a_shortened_estimator_learns_as_the_whole_one_does():
    data = corpus(5)
    batch, steps = ({"solver": "lbfgs"}, {"tolerance": 0.1}), ({}, {"epochs": 7})
    for settings in (*batch, *steps):
        short = CRF("word", **settings).for_warmup().fit(data).result_
        assert short.iterations == 1
        assert ("epoch" in short.reason) == (settings in steps)
