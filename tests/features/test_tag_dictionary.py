"""Tag dictionaries: what they leave, and models that are distributions over that."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from skipchain import CRF, HMM, MEMM, Corpus, MaxEnt, Perceptron, Tagger, load, save
from skipchain.chains.allowed import relax_candidates
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood, MarginalLikelihood
from skipchain.chains.online import StochasticLikelihood
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer
from skipchain.corpus import Column
from skipchain.errors import ModelFileError, ParameterError
from skipchain.features.tag_dictionary import TagDictionary
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers
from tests.modelfile.round_trip import round_trip

TRAIN = Corpus.of(
    [["the", "dog", "runs"], ["the", "run", "ends"], ["dogs", "run"], ["a", "dog", "ends"]] * 3,
    [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]] * 3,
    scheme="none",
)
ESTIMATORS = [
    CRF("word\nsuffix(1)", dictionary=3, solver="lbfgs"),
    CRF("word\nsuffix(1)", dictionary=3, order=2),
    CRF("word\nsuffix(1)", dictionary=3, solver="adagrad"),
    MEMM("word\nsuffix(1)", dictionary=3, solver="lbfgs"),
    MEMM("word\nsuffix(1)", dictionary=3, order=2),
    MaxEnt("word\nsuffix(1)", dictionary=3),
    Perceptron("word\nsuffix(1)", dictionary=3),
    Perceptron("word\nsuffix(1)", dictionary=3, order=2, update="pa"),
    HMM("word", dictionary=3),
]


def eye(codes, size):
    return np.eye(size, dtype=bool)[list(codes)]


# What the dictionary leaves ----------------------------------------------------------------------


def test_only_words_that_are_frequent_and_tell_something_are_held():
    words = Column.encode(["a", "a", "b", "c", "c"])
    found = TagDictionary.fit(words, eye([0, 0, 0, 0, 1], 2), 2)
    assert found.words.tolist() == ["a"]  # b is rare, c has had every label
    assert found.labels.tolist() == [[True, False]]


def test_labels_that_are_not_known_leave_all_that_they_may_be():
    seen = np.array([[True, False, False], [False, True, True]])
    found = TagDictionary.fit(Column.encode(["a", "a"]), seen, 1)
    assert found.candidates(Column.encode(["a"])).all()


def test_an_empty_dictionary_leaves_everything():
    found = TagDictionary.fit(Column.encode(["a"]), eye([0], 2), 5)
    assert len(found.words) == 0
    assert found.candidates(Column.encode(["a", "b"])).all()


def test_a_dictionary_widens_without_new_words():
    found = TagDictionary.fit(Column.encode(["a", "a"]), eye([0, 0], 3), 2)
    wider = found.extended(Column.encode(["b", "a"]), eye([1, 2], 3))
    assert wider.candidates(Column.encode(["a", "b"])).tolist() == [[1, 0, 1], [1, 1, 1]]
    assert found.candidates(Column.encode(["a"])).tolist() == [[1, 0, 0]]


def test_a_dictionary_gives_way_in_chains_that_it_leaves_no_path():
    rules = Constraints(np.array([[True, False], [True, True]]), np.ones(2, bool), np.ones(2, bool))
    candidates = eye([0, 1, 1, 0], 2)  # 0 → 1 is forbidden
    found = relax_candidates(candidates, None, np.array([0, 2, 4]), rules)
    assert found.tolist() == [[1, 1], [1, 1], [0, 1], [1, 0]]


# Models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_predictions_keep_to_the_dictionary(estimator):
    model = estimator.replaced().fit(TRAIN)
    held = {"the", "a", "dog", "dogs", "run", "runs", "ends"}
    assert set(model.model_.dictionary.words.tolist()) == held
    words = [["dog", "the", "ends"], ["run", "run", "new", "a"], ["unseen"]]
    test = Corpus.of(words)
    candidates = model.model_.dictionary.candidates(test.words)
    numbers = {label: k for k, label in enumerate(model.classes_)}
    for decoder in model.model_.decoders:
        flat = [label for own in model.predict(test, decoder=decoder) for label in own]
        assert all(candidates[t, numbers[label]] for t, label in enumerate(flat)), decoder
    if "posterior" in model.model_.decoders:
        found = np.concatenate(model.predict_marginals(test))
        assert not found[~candidates].any()
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        for ranked in model.predict_nbest(test, 3):
            assert ranked.probabilities.sum() <= 1 + 1e-9


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_dictionaries_round_trip_through_files(estimator, tmp_path):
    model = estimator.replaced().fit(TRAIN)
    save(model, tmp_path / "m.skip")
    loaded = load(tmp_path / "m.skip")
    own, other = model.model_.dictionary, loaded.model.dictionary
    assert (own.words.tolist(), own.min_count) == (other.words.tolist(), other.min_count)
    np.testing.assert_array_equal(own.labels, other.labels)
    test = Corpus.of([["the", "runs", "dogs", "x"]])
    assert loaded.label(test) == model.predict(test)


def problem(seed, *, labels=3, partial=False, templates="word"):
    """Data with candidates around gold labels, and what is allowed where labels are partial."""
    rng = np.random.default_rng(seed)
    corpus = Corpus.of([[str(k) for k in rng.integers(0, 3, n)] for n in (4, 1, 3)])
    _, rows = Vocabulary.fit(corpus, Templates.parse(templates))
    gold = rng.integers(0, labels, 8).astype(np.int32)
    candidates = eye(gold, labels) | (rng.random((8, labels)) < 0.5)
    allowed = None
    if partial:
        allowed = eye(gold, labels) | (candidates & (rng.random((8, labels)) < 0.5))
        gold = np.where(allowed.sum(axis=1) > 1, -1, gold).astype(np.int32)
    return Dataset(rows, corpus.sentences, gold, allowed, candidates)


def enumerated_loss(data, weights, local):
    """−log p(what is known), over the labellings that the candidates leave, written out plainly."""
    state, transitions, start, end, _, second = weights.tables
    flat = data.rows.expanded()
    loss = 0.0
    for first, last in itertools.pairwise(data.offsets.tolist()):
        node = np.array(
            [state[flat.indices[slice(*flat.indptr[t : t + 2])]].sum(0) for t in range(first, last)]
        )
        node[0] += start
        node[-1] += end

        def row(t, before, node=node, first=first):
            found = node[t].copy()
            if before:
                found += transitions[before[-1]]
                if len(second):
                    found += second[before[-2] if len(before) > 1 else len(start), before[-1]]
            return np.where(data.candidates[first + t], found, -np.inf)

        free, known = [], []
        for path in itertools.product(range(len(start)), repeat=last - first):
            score = 0.0
            for t, y in enumerate(path):
                own = row(t, path[:t])
                score += own[y] - (np.logaddexp.reduce(own) if local else 0.0)
            free.append(score)
            fits = all(
                data.allowed[first + t, y] if data.allowed is not None
                else y == data.labels[first + t]
                for t, y in enumerate(path)
            )  # fmt: skip
            if fits:
                known.append(score)
        loss += np.logaddexp.reduce(free) - np.logaddexp.reduce(known)
    return loss


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("partial", [False, True])
def test_the_loss_is_over_what_the_dictionary_leaves(local, order, partial):
    if local and order == 2 and partial:
        pytest.skip("locally normalised chains of order 2 take no partial labels")
    for seed in range(6):
        data = problem(seed, partial=partial)
        with Workers(1) as workers:
            scorer = LinearScorer(
                data, 3, observed=False, boundaries=True, workers=workers, order=order
            )
            loss = ConditionalLikelihood(data, scorer, workers, local=local)
            vector = np.random.default_rng(seed).normal(size=scorer.size)
            value, gradient = loss(vector)
            wanted = enumerated_loss(data, scorer.weights(vector), local)
            assert value == pytest.approx(wanted, rel=1e-9)
            for k in range(0, scorer.size, 3):
                step = np.zeros(scorer.size)
                step[k] = 1e-5
                slope = (loss(vector + step)[0] - loss(vector - step)[0]) / 2e-5
                assert gradient[k] == pytest.approx(slope, abs=1e-5)
        stochastic = StochasticLikelihood(
            data, 3, order=order, local=local, initial_weights=scorer.weights(vector)
        )
        if not (local and partial):
            assert stochastic.epoch(0.0) == pytest.approx(wanted, rel=1e-5)


def test_marginal_likelihood_keeps_to_the_dictionary():
    data = problem(4)
    with Workers(1) as workers:
        scorer = LinearScorer(data, 3, observed=False, boundaries=True, workers=workers)
        loss = MarginalLikelihood(data, scorer, workers)
        vector = np.random.default_rng(0).normal(size=scorer.size)
        _, gradient = loss(vector)
        for k in range(scorer.size):
            step = np.zeros(scorer.size)
            step[k] = 1e-5
            slope = (loss(vector + step)[0] - loss(vector - step)[0]) / 2e-5
            assert gradient[k] == pytest.approx(slope, abs=1e-5)


def test_a_dictionary_goes_with_partial_labels():
    words = [["the", "dog"], ["the", "dog"], ["the", "x"]] * 4
    labels = [["D", None], ["D", {"N", "V"}], ["D", "V"]] * 4
    model = CRF("word", dictionary=2).fit(Corpus.of(words), labels)
    assert model.model_.dictionary.words.tolist() == ["the", "x"]  # the dog may be anything
    assert model.predict(Corpus.of([["x", "the"]])) == [["V", "D"]]


# Schemes and forced labels -----------------------------------------------------------------------

NAMES = Corpus.of(
    [["Ada", "Lee", "went"], ["Ada", "slept"], ["Lee", "went"]] * 3,
    [["B-PER", "I-PER", "O"], ["B-PER", "O"], ["O", "O"]] * 3,
    scheme="iob2",
)


@pytest.mark.parametrize(
    ("kind", "constraints"), [(CRF, "decoding"), (CRF, "training"), (MEMM, "decoding")]
)
@pytest.mark.parametrize("order", [1, 2])
def test_a_dictionary_gives_way_to_the_scheme(kind, order, constraints):
    model = kind(
        "word", encoding="iob2", dictionary=2, order=order, constraints=constraints
    ).fit(NAMES)  # fmt: skip
    lee = Corpus.of([["went", "Lee"]])
    assert model.predict(lee) == [["O", "O"]]
    tagger = Tagger(model.model_)
    forced = tagger.predict(lee, forced=["B-PER", None]).corpus.labels.tolist()
    assert forced[0] == "B-PER"
    only = Corpus.of([["Ada", "Ada"]])
    candidates = model.model_.dictionary.candidates(only.words)
    assert candidates.sum() == 2  # B-PER only
    assert model.predict(only) == [["B-PER", "B-PER"]]
    assert tagger.predict(only, forced=[None, "I-PER"]).corpus.labels.tolist() == ["B-PER", "I-PER"]
    assert tagger.predict(only, forced=["O", None]).corpus.labels.tolist()[0] == "O"
    found = tagger.predict(only, forced=["O", None], probabilities=True).marginals
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


# Mistakes ----------------------------------------------------------------------------------------


def test_features_given_directly_have_no_words():
    with pytest.raises(ParameterError, match="features given directly have none"):
        CRF(dictionary=2).fit([[{"w": "a"}]], [["X"]])


@pytest.mark.parametrize("value", [0, -1, 1.5, "2"])
def test_counts_below_one_are_refused(value):
    with pytest.raises(ParameterError, match="dictionary must be a whole number of at least 1"):
        CRF("word", dictionary=value).fit(TRAIN)


def test_partial_fit_widens_the_dictionary():
    model = CRF("word", dictionary=2, dropout=0.0, bundle_dropout=0.0)
    model.partial_fit(TRAIN)
    assert model.predict(Corpus.of([["dogs"]])) == [["N"]]
    more = Corpus.of([["dogs", "dogs"]], [["V", "V"]], scheme="none")
    model.partial_fit(more)
    assert model.model_.dictionary.candidates(more.words).tolist() == [[False, True, True]] * 2


def test_a_damaged_dictionary_is_named(tmp_path):
    model = CRF("word", dictionary=2).fit(TRAIN).model_
    broken = replace(model.dictionary, labels=np.zeros_like(model.dictionary.labels))
    with pytest.raises(ModelFileError, match="a word without labels"):
        round_trip(replace(model, dictionary=broken), tmp_path / "a.skip")
    broken = replace(model.dictionary, labels=model.dictionary.labels[1:])
    with pytest.raises(ModelFileError, match=r"dictionary\.labels has the shape"):
        round_trip(replace(model, dictionary=broken), tmp_path / "b.skip")


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("adaptive", [False, True])
def test_a_stochastic_step_of_order_2_is_one_down_the_gradient(local, adaptive):
    """Few candidates of many labels: only a part of the table of triples is visited."""
    rng = np.random.default_rng(1)
    corpus = Corpus.of([[str(k) for k in rng.integers(0, 3, 5)]])
    _, rows = Vocabulary.fit(corpus, Templates.parse("word"))
    gold = rng.integers(0, 6, 5).astype(np.int32)
    candidates = eye(gold, 6) | eye(rng.integers(0, 6, 5), 6)
    data = Dataset(rows, corpus.sentences, gold, None, candidates)
    with Workers(1) as workers:
        scorer = LinearScorer(data, 6, observed=False, boundaries=True, workers=workers, order=2)
        vector = rng.normal(size=scorer.size)
        _, slope = ConditionalLikelihood(data, scorer, workers, local=local)(vector)
        first = scorer.weights(vector)
    learner = StochasticLikelihood(
        data, 6, order=2, local=local, adaptive=adaptive, initial_weights=first
    )
    learner.epoch(0.1)
    step = slope / (np.abs(slope) + 1e-8) if adaptive else slope
    moved = np.abs(slope) > 1e-5
    assert 0 < np.count_nonzero(slope[-first.triples.size :]) < first.triples.size / 2
    if adaptive:  # a feature of two tokens moves twice, triples move once a chain
        moved[: -first.triples.size] = False
    np.testing.assert_allclose(learner.vector()[moved], (vector - 0.1 * step)[moved], atol=1e-4)
