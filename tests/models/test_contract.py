"""One list of promises, and every estimator in every setting keeps it."""

from __future__ import annotations

import pickle
from warnings import catch_warnings

import numpy as np
import pytest
from sklearn.base import clone

from skipchain import Corpus, SkipchainError, Tagger, load, save
from skipchain.corpus.schemes import validate
from skipchain.errors import CorpusError, NotFittedError, ParameterError, SkipchainWarning
from skipchain.models.graph.model import GraphModel
from skipchain.models.latent.model import StateModel
from skipchain.models.rbm.model import RBMModel
from skipchain.models.registry import make_estimator, model_kinds

SAMPLED = {"epochs": 10, "burn_in": 5, "samples": 10}
TRIGRAMS = "word\nshape\nlabel[-2] & shape\nlabel[-2] & label[-1] & word"
FAMILY = {
    "crf": {},
    "crf, lbfgs": {"solver": "lbfgs"},
    "crf, adagrad": {"solver": "adagrad"},
    "crf, cg": {"solver": "cg"},
    "crf, gd": {"solver": "gd"},
    "crf, order 2": {"order": 2},
    "crf, order 2, lbfgs": {"order": 2, "solver": "lbfgs"},
    "crf, dependent": {"dependent": True, "solver": "lbfgs"},
    "crf, marginal": {"objective": "marginal"},
    "crf, training": {"constraints": "training"},
    "crf, l1": {"l1": 0.1},
    "crf, dictionary": {"dictionary": 3},
    "crf, order 2, dictionary": {"order": 2, "dictionary": 3},
    "crf, order 3": {"order": 3},
    "crf, trigrams": {"order": 2, "features": TRIGRAMS},
    "memm": {},
    "memm, lbfgs": {"solver": "lbfgs"},
    "memm, newton": {"solver": "newton"},
    "memm, cg": {"solver": "cg"},
    "memm, gd": {"solver": "gd"},
    "memm, gis": {"solver": "gis", "l2": 0.0},
    "memm, order 2": {"order": 2},
    "memm, dependent": {"dependent": True},
    "memm, marginal": {"objective": "marginal"},
    "memm, order 4": {"order": 4},
    "memm, order 6": {"order": 6},
    "memm, order 3": {"order": 3},
    "memm, trigrams": {"order": 2, "features": TRIGRAMS},
    "memm, trigrams, order 3": {"order": 3, "features": TRIGRAMS},
    "memm, stop": {"stop": True},
    "memm, order 2, stop": {"order": 2, "stop": True},
    "memm, history": {"features": "word\nshape\nword[-1]\nhistory(lower)"},
    "maxent": {},
    "maxent, lbfgs": {"solver": "lbfgs"},
    "maxent, newton": {"solver": "newton"},
    "maxent, gis": {"solver": "gis", "l2": 0.0},
    "maxent, adagrad": {"solver": "adagrad"},
    "perceptron": {},
    "perceptron, pa": {"update": "pa"},
    "perceptron, arow": {"update": "arow"},
    "perceptron, order 2": {"order": 2},
    "perceptron, dictionary": {"dictionary": 3},
    "hmm": {},
    "hmm, dictionary": {"dictionary": 3},
    "hmm, features": {"emissions": "features", "features": "word\nshape"},
    "mop-memm": {},
    "mop-memm, lbfgs": {"solver": "lbfgs"},
    "mop-memm, cg": {"solver": "cg"},
    "mop-memm, marginal": {"objective": "marginal"},
    "mop-memm, mixture": {"objective": "mixture"},
    "mop-memm, learned": {"mixing": "learned", "folds": 2},
    "mop-memm, forward": {"edges": "previous", "orderings": "forward"},
    "skip-chain-crf": {},
    "skip-chain-crf, joint": {"objective": "joint"},
    "skip-chain-crf, no chain": {"edges": "same(lower)", "agreement": True, "objective": "joint"},
    "mop-memm, no chain": {"edges": "same(lower), alone", "orderings": "forward, random(2)"},
    "rbm-crf": {"groups": "2:0..1; 2:0..2", **SAMPLED},
    "rbm-crf, conditioned": {"groups": "2:-1..0|x", "restarts": 2, "batch": 9, **SAMPLED},
    "rbm-crf, beside": {"groups": "2:0..1", "observation": "memm", **SAMPLED},
    "rbm-crf, experts": {"groups": "2:0..1", "experts": "iohmm:2", **SAMPLED},
    "iohmm": {"restarts": 2, "em": 3},
    "iohmm, marginal": {"restarts": 1, "em": 3, "states": 2, "objective": "marginal", "bias": True},
    "hrf": {"restarts": 2, "em": 3},
    "hrf, random": {"restarts": 1, "em": 3, "m_steps": 3, "init": "random"},
}
LINKED = ("mop", "skip")
NAMES, PLACES = ["Ada", "Bo", "Cy", "Dee"], ["York", "Rome", "Oslo"]


def corpus(size=40, seed=0):
    """Sentences whose labels follow from the words, with two-word names, and empty ones."""
    rng = np.random.default_rng(seed)
    words, labels = [[]], [[]]
    for _ in range(size):
        name, place = rng.choice(NAMES), rng.choice(PLACES)
        if rng.random() < 0.5:
            words.append([name, "Lee", "went", "to", place, "."])
            labels.append(["B-PER", "I-PER", "O", "O", "B-LOC", "O"])
        else:
            words.append(["In", place, "slept", name])
            labels.append(["O", "B-LOC", "O", "B-PER"])
    sizes = [6] * (size // 6)
    return Corpus.of(
        [*words, ["Rome"]], [*labels, ["B-LOC"]], scheme="iob2",
        documents=[*sizes, size + 2 - sum(sizes)],
    )  # fmt: skip


TRAIN, TEST = corpus(), corpus(8, seed=1)
GOLD = [sentence.labels for sentence in TEST]


def make(name, **further):
    settings = {"features": "word", **FAMILY[name], **further}
    return make_estimator(name.partition(",")[0], settings.pop("features"), **settings)


@pytest.fixture(scope="module", params=FAMILY)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(name):
    return make(name).fit(TRAIN)


@pytest.fixture
def exact(fitted):
    """Models of which all labellings can be gone through."""
    if not fitted.model_.exact:
        pytest.skip("what it does not have is tested below")
    return fitted


def vector(estimator):
    return weights(estimator.model_)


def weights(model):
    """All weights of a model as one vector."""
    if isinstance(model, GraphModel):
        return np.concatenate([own.weights.vector for own in model.edge_models.values()])
    if isinstance(model, RBMModel):
        experts = [own.weights.vector for own in model.experts]
        return np.concatenate([model.weights.ravel(), model.units.vector, *experts])
    return model.weights.vector


def has_marginals(model):
    return model.exact or isinstance(model, (GraphModel, RBMModel, StateModel))


def test_every_estimator_is_in_the_table():
    assert {name.partition(",")[0] for name in FAMILY} == set(model_kinds())


# Fitting -----------------------------------------------------------------------------------------


def test_fit_learns_and_returns_itself(fitted):
    assert fitted.score(TEST) > 0.8  # of 17 spans, up to one is wrong; each is 0.06
    assert fitted.fitted.kind in model_kinds()
    again = clone(fitted)
    assert again.fit(TRAIN, dev=TEST) is again
    assert again.model_.summary["dev"] == pytest.approx(100 * fitted.score(TEST))


def test_parameters_are_kept_and_cloned(name, fitted):
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params() == make(name).get_params()
    assert repr(fresh) == repr(fitted)
    assert fresh.set_params(min_count=2).get_params()["min_count"] == 2
    with pytest.raises(NotFittedError, match="call fit first"):
        fresh.predict(TEST)
    with pytest.raises(ParameterError, match="no parameter 'depth'; there are"):
        fresh.set_params(depth=3)


def test_the_same_seed_gives_the_same_file(name, tmp_path):
    for path in ("a.skip", "b.skip"):
        save(make(name).for_warmup().fit(TRAIN), tmp_path / path)
    assert (tmp_path / "a.skip").read_bytes() == (tmp_path / "b.skip").read_bytes()


@pytest.fixture(scope="module")
def large():
    """More than one block of work."""
    return corpus(3500, seed=2)


def test_threads_change_nothing(name, fitted, large):
    one, two = (make(name, threads=k).for_warmup().fit(large) for k in (1, 2))
    np.testing.assert_array_equal(vector(one), vector(two))
    alone = pickle.loads(pickle.dumps(fitted)).set_params(threads=1)
    assert alone.predict(large) == fitted.set_params(threads=2).predict(large)
    if has_marginals(fitted.model_):
        found = (np.concatenate(one.predict_marginals(large)) for one in (alone, fitted))
        np.testing.assert_array_equal(*found)


def test_a_second_fit_begins_afresh(name):
    estimator = make(name).for_warmup().fit(corpus(10, seed=3))
    np.testing.assert_array_equal(
        vector(estimator.fit(TRAIN)), vector(make(name).for_warmup().fit(TRAIN))
    )


def test_single_tokens_and_one_label_are_enough(name):
    given = Corpus.of([["x"], [], ["y"]], [["A"], [], ["A"]], documents=[2, 1], scheme="none")
    with catch_warnings(category=SkipchainWarning, action="ignore"):  # that windows are too large
        single = make(name).for_warmup().fit(given)
    assert single.predict(Corpus.of([["y", "z"], []])) == [["A", "A"], []]
    if has_marginals(single.model_):
        np.testing.assert_allclose(single.predict_marginals(Corpus.of([["z"]]))[0], [[1.0]])


def test_features_may_be_given_directly(name):
    estimator = make(name, scheme="iob2")
    X, y = ([[[word] for word in s.words] for s in TRAIN], [s.labels for s in TRAIN])
    refusals = {"dependent": "needs templates", "dictionary": "one of words"}
    for needed, told in refusals.items() | {(own, "learns from a Corpus") for own in LINKED}:
        if FAMILY[name].get(needed) or name.startswith(needed):
            with pytest.raises(ParameterError, match=told):
                estimator.fit(X, y)
            return
    given = [[[word] for word in s.words] for s in TEST]
    assert estimator.fit(X, y).predict(given) == make(name, features="word").fit(TRAIN).predict(
        TEST
    )


# Predicting --------------------------------------------------------------------------------------


def test_predictions_have_the_form_and_scheme_of_the_data(fitted):
    found = fitted.predict(TEST)
    assert [len(labels) for labels in found] == [len(sentence) for sentence in TEST]
    assert found[0] == []
    assert fitted.predict_single(TEST[3]) == found[3]
    tagged = Corpus.of([s.words for s in TEST], found, scheme="iob2")
    assert validate(tagged.labels, tagged.sentences, "iob2") == []


def test_empty_and_unknown_input(fitted):
    assert fitted.predict(Corpus.of([])) == []
    assert fitted.predict(Corpus.of([[], [], []])) == [[], [], []]
    if fitted.model_.exact:
        assert fitted.predict_nbest(Corpus.of([[]]), 2)[0].probabilities.tolist() == [1.0]
    found = fitted.predict(Corpus.of([["Zebedee"], [], ["quux", "."]]))
    assert [len(labels) for labels in found] == [1, 0, 2]
    assert {label for labels in found for label in labels} <= {"O", "B-PER", "I-PER", "B-LOC"}


def test_marginals_are_probabilities(fitted):
    if not has_marginals(fitted.model_):
        pytest.skip("what it does not have is tested below")
    found = fitted.predict_marginals(TEST)
    assert [m.shape for m in found] == [(len(s), len(fitted.classes_)) for s in TEST]
    np.testing.assert_allclose(np.concatenate(found).sum(axis=1), 1.0)
    assert np.concatenate(found).min() >= 0.0


def test_nbest_begins_with_the_best_and_falls(exact):
    for ranked, best in zip(exact.predict_nbest(TEST, 4), exact.predict(TEST), strict=True):
        assert ranked.labels[0] == best
        assert ranked.names == tuple(exact.classes_)
        assert [[ranked.names[k] for k in path] for path in ranked.paths] == ranked.labels
        assert len({tuple(path) for path in ranked.labels}) == len(ranked)
        assert (np.diff(ranked.probabilities) <= 1e-12).all()
        assert ranked.probabilities.sum() <= 1 + 1e-9


def test_what_a_long_history_does_not_have_is_said():
    fitted = make("memm, order 6").fit(TRAIN)
    for ask in (fitted.predict_marginals, lambda given: fitted.predict_nbest(given, 2)):
        with pytest.raises(SkipchainError, match="order 6"):
            ask(TEST)


@pytest.mark.parametrize("kind", ["mop-memm", "rbm-crf"])
def test_what_models_of_single_labels_do_not_have_is_said(kind):
    tagger = Tagger(make(kind).fit(TRAIN).model_)
    for asked, told in (
        ({"nbest": 2}, "no n-best sequences"),
        ({"confidences": True}, "single labels are, not whole spans"),
    ):
        with pytest.raises(SkipchainError, match=told):
            tagger.predict(TEST, **asked)
    assert tagger.tag("Ada slept").entities[0].confidence is None


def test_linked_labels_cannot_be_given():
    tagger = Tagger(make("mop-memm").fit(TRAIN).model_)
    with pytest.raises(SkipchainError, match="cannot keep labels that are given"):
        tagger.predict(TEST, forced=[None] * TEST.n_tokens)


@pytest.fixture
def keeper(fitted):
    """Models that can keep labels which are given."""
    if isinstance(fitted.model_, GraphModel):
        pytest.skip("what it does not have is tested above")
    return fitted


def test_forced_labels_are_kept(keeper):
    fitted = keeper
    forced = [None] * TEST.n_tokens
    at = int(TEST.sentences[2])
    forced[at], forced[at + 1] = "B-PER", "I-PER"
    exact = fitted.model_.exact
    found = Tagger(fitted.model_).predict(TEST, forced=forced, probabilities=exact)
    labels = found.corpus.labels.tolist()
    assert labels[at : at + 2] == ["B-PER", "I-PER"]
    free = [label for labels in fitted.predict(TEST) for label in labels]
    assert labels[:at] == free[:at]  # other sentences do not see it
    if not exact:
        return
    np.testing.assert_allclose(found.marginals.sum(axis=1), 1.0)
    inside = [k for k, label in enumerate(fitted.classes_) if label.endswith("PER")]
    np.testing.assert_allclose(found.marginals[at : at + 2, inside].sum(axis=1), 1.0)


def test_forced_labels_that_contradict_each_other_are_named(keeper):
    forced = ["B-LOC", "I-PER", *[None] * (TEST.n_tokens - 2)]
    with pytest.raises(CorpusError, match="'I-PER' given for token 1 contradict"):
        Tagger(keeper.model_).predict(TEST, forced=forced)


@pytest.mark.parametrize("decoder", ["viterbi", "posterior", "greedy", "beam", "legal"])
def test_decoders(fitted, decoder):
    model, tagger = fitted.model_, Tagger(fitted.model_)
    if decoder not in model.decoders:
        told = rf"has no decoder '{decoder}'; it has {', '.join(model.decoders)}$"
        with pytest.raises(SkipchainError, match=told):
            fitted.predict(TEST, decoder=decoder)
        return
    found = fitted.predict(TEST, decoder=decoder, beam=2)
    assert [len(labels) for labels in found] == [len(sentence) for sentence in TEST]
    assert tagger.label(TEST, decoder=decoder, beam=2) == found
    flat = [label for labels in found for label in labels]
    assert tagger.predict(TEST, decoder=decoder, beam=2).corpus.labels.tolist() == flat
    assert len(tagger.tag("Ada went", decoder=decoder, beam=2).labels) == 2
    if decoder == "posterior":
        return
    tagged = Corpus.of([s.words for s in TEST], found, scheme="iob2")
    assert validate(tagged.labels, tagged.sentences, "iob2") == []


def test_a_beam_lies_between_greedy_and_viterbi(fitted):
    if "beam" not in fitted.model_.decoders:
        pytest.skip("there is no search")
    if fitted.model_.exact:
        whole = (len(fitted.model_.labels) + 1) ** fitted.model_.order
        assert fitted.predict(TEST, decoder="beam", beam=whole) == fitted.predict(TEST)
    narrow = fitted.predict(TEST, decoder="beam", beam=1)
    assert narrow == fitted.predict(TEST, decoder="greedy")


# Keeping -----------------------------------------------------------------------------------------


def test_a_model_file_keeps_everything(fitted, tmp_path):
    save(fitted, tmp_path / "m.skip")
    tagger = load(tmp_path / "m.skip")
    np.testing.assert_array_equal(weights(tagger.model), vector(fitted))
    assert tagger.model.labels == fitted.model_.labels
    assert tagger.model.output.names == tuple(fitted.classes_)
    assert tagger.label(TEST) == fitted.predict(TEST)
    if not has_marginals(fitted.model_):
        return
    found = tagger.predict(TEST, probabilities=True).marginals
    np.testing.assert_array_equal(found, np.concatenate(fitted.predict_marginals(TEST)))


def test_a_pickle_keeps_everything(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(TEST) == fitted.predict(TEST)
    assert again.get_params() == fitted.get_params()
    assert again.result_.reason == fitted.result_.reason


def test_another_model_may_begin_from_it(name, fitted):
    warm = make(name).for_warmup()
    refusals = {"hmm": "counted afresh"}
    refusals |= dict.fromkeys((*LINKED, "rbm"), "cannot start from another model")
    for kind, told in refusals.items():
        if name.startswith(kind):
            with pytest.raises(ParameterError, match=told):
                warm.fit(TRAIN, start=fitted)
            return
    assert warm.fit(TRAIN, start=fitted).score(TEST) > 0.8
