"""Where one model is a special case of another, both give the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skipchain import CRF, HRF, IOHMM, MEMM, Corpus, MaxEnt, Perceptron
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood, MarginalLikelihood
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.latent.likelihood import StateLikelihood, StateMarginalLikelihood
from skipchain.models.latent.scorer import StateScorer, StateWeights
from skipchain.parallel import Workers

WORDS, LABELS = ["Ada", "Bo", "ran", "to"], ["A", "B", "C"]
EXACT = {"solver": "lbfgs", "tolerance": 1e-13, "max_iterations": 1000, "l2": 0.1}
FEATURES = "word[-1..0]\nvector(v, raw)"


def draw(seed, lengths):
    """Words, a vector and labels that follow from both and from the label before, with noise."""
    rng = np.random.default_rng(seed)
    words, vectors, labels = [], [], []
    taste = rng.normal(size=(len(WORDS), 3))
    for length in lengths:
        own = rng.integers(0, len(WORDS), length)
        v = rng.normal(size=(length, 2)).round(3)
        path = []
        for t in range(length):
            score = taste[own[t]] + v[t] @ np.array([[1, 0, -1], [0, 1, -1]])
            if path:
                score[path[-1]] += 1.0
            path.append(int((score + rng.gumbel(size=3)).argmax()))
        words.append([WORDS[k] for k in own])
        vectors.append([" ".join(map(str, row)) for row in v.tolist()])
        labels.append([LABELS[k] for k in path])
    return Corpus.of(words, labels, v=vectors, scheme="none")


def marginals(model, given):
    with Workers(1) as workers:
        return chains.marginals(model.scores(given, workers), workers)


# Classifiers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
@pytest.mark.parametrize("l2", [0.01, 1.0])
def test_maxent_is_logistic_regression(l2, solver):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    x[:, 0] = 1.0
    y = (x @ rng.normal(size=(5, 3)) + rng.gumbel(size=(300, 3))).argmax(axis=1)
    settings = {"tolerance": 0.0} if solver == "lbfgs" else {}
    found = MaxEnt(solver=solver, pairs="all", l2=l2, **settings).fit(
        [row[None] for row in x], [[f"L{k}"] for k in y]
    )
    peer = LogisticRegression(C=1 / (2 * l2), fit_intercept=False, tol=1e-12, max_iter=2000)
    limit = 1e-6 if solver == "newton" else 1e-5
    np.testing.assert_allclose(found.model_.weights.state, peer.fit(x, y).coef_.T, atol=limit)


def test_a_dependent_memm_is_one_logistic_regression_a_label_before():
    """Algorithm 4.1 of the literature: the data are split by the label before."""
    corpus = draw(3, [6] * 60)
    found = MEMM("vector(v, raw)", dependent=True, boundaries=False, pairs="all", **EXACT)
    model = found.fit(corpus).model_
    pairs = model.weights.edges.reshape(-1, 4, 3)
    x = np.array([[float(n) for n in cell.split()] for cell in corpus.column("v")])
    y = np.array([LABELS.index(label) for label in corpus.labels])
    before = np.append(3, y[:-1])
    before[corpus.sentences[:-1]] = 3
    for i in range(4):
        own = before == i
        inputs = np.column_stack([x[own], np.ones(own.sum())]) if i < 3 else x[own]
        peer = LogisticRegression(C=1 / 0.2, fit_intercept=False, tol=1e-12, max_iter=2000)
        wanted = peer.fit(inputs, y[own]).coef_.T
        names = model.features.names(transition=True)
        places = [names.index(f"label[-1] & vector(v, raw)={k}") for k in range(2)]
        np.testing.assert_allclose(pairs[places, i], wanted[:2], atol=1e-4)
        if i < 3:
            np.testing.assert_allclose(model.weights.transitions[i], wanted[2], atol=1e-4)


def test_chains_of_one_position_are_classifiers():
    corpus = draw(1, [1] * 80)
    kinds = [kind(FEATURES, boundaries=False, **EXACT) for kind in (MaxEnt, MEMM, CRF)]
    kinds.append(MaxEnt(FEATURES, solver="newton", l2=0.1))
    kinds.append(CRF(FEATURES, boundaries=False, objective="marginal", **EXACT))
    first, *others = (kind.fit(corpus).model_.weights.state for kind in kinds)
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-4)


@pytest.mark.parametrize("kind", [CRF, MEMM])
def test_without_scores_of_pairs_every_position_is_a_classifier_of_its_own(kind):
    corpus = draw(2, [5] * 30)
    model = kind(FEATURES, **EXACT).fit(corpus).model_
    blank = Weights.zeros(*model.weights.state.shape[:1], 0, 3)
    alone = replace(model, weights=replace(blank, state=model.weights.state))
    maxent = MaxEnt(FEATURES, **EXACT).fit(corpus).model_
    maxent = replace(maxent, features=model.features, weights=alone.weights)
    test = draw(3, [4, 1, 7])
    np.testing.assert_allclose(marginals(alone, test), marginals(maxent, test), atol=1e-12)
    with Workers(1) as workers:
        decoded = [alone.label(test, workers, decoder) for decoder in alone.decoders]
    assert all(labels == decoded[0] for labels in decoded)


def test_greedy_is_the_best_path_where_labels_do_not_depend_on_each_other():
    maxent = MaxEnt(FEATURES).fit(draw(4, [6] * 40))
    test = draw(5, [8] * 20)
    best = maxent.predict(test)
    for decoder in ("greedy", "beam", "posterior"):
        assert maxent.predict(test, decoder=decoder, beam=1) == best


# Chains ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [CRF, MEMM, Perceptron])
def test_order_2_without_scores_of_triples_is_order_1(kind):
    settings = {"l2": 0.1} if kind is not Perceptron else {}
    model = kind(FEATURES, **settings).fit(draw(6, [6] * 40)).model_
    second = replace(model, weights=replace(model.weights, triples=np.zeros((4, 3, 3))))
    test = draw(7, [1, 2, 9, 4])
    np.testing.assert_allclose(marginals(second, test), marginals(model, test), atol=1e-10)
    with Workers(1) as workers:
        for decoder in model.decoders:
            assert second.label(test, workers, decoder) == model.label(test, workers, decoder)


@pytest.mark.parametrize("kind", [CRF, MEMM])
def test_a_constant_that_depends_on_the_label_before_is_a_transition(kind):
    corpus = draw(8, [6] * 60)
    settings = {**EXACT, "l2": 0.0, "pairs": "all"}  # a penalty would count both ways twice
    plain = kind('match("")', **settings).fit(corpus)
    dependent = kind('match("")', dependent=True, **settings).fit(corpus)
    assert dependent.model_.weights.state.size == 0
    assert dependent.result_.loss == pytest.approx(plain.result_.loss, rel=1e-6)
    np.testing.assert_allclose(
        marginals(dependent.model_, corpus), marginals(plain.model_, corpus), atol=1e-3
    )


# Objectives --------------------------------------------------------------------------------------


def dataset(seed, lengths):
    corpus = draw(seed, lengths)
    _, rows = Vocabulary.fit(corpus, Templates.parse(f"{FEATURES}\nlabel[-1] & word"))
    gold = np.array([LABELS.index(label) for label in corpus.labels], np.int32)
    return Dataset(rows, corpus.sentences, gold)


def evaluated(kind, data, *, local):
    with Workers(1) as workers:
        scorer = LinearScorer(data, 3, observed=False, boundaries=True, workers=workers)
        vector = np.random.default_rng(0).normal(size=scorer.size)
        loss, gradient = kind(data, scorer, workers, l2=0.1, local=local)(vector)
        return np.append(loss, gradient)


@pytest.mark.parametrize("local", [True, False])
def test_marginal_and_conditional_likelihood_agree_on_single_positions(local):
    kinds = (ConditionalLikelihood, MarginalLikelihood)
    one, other = (evaluated(kind, dataset(9, [1] * 30), local=local) for kind in kinds)
    np.testing.assert_allclose(one, other, atol=1e-10)
    one, other = (evaluated(kind, dataset(9, [2] * 30), local=local) for kind in kinds)
    assert abs(one[0] - other[0]) > 0.1  # else the test shows nothing


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("kind", [ConditionalLikelihood, MarginalLikelihood])
def test_partial_labels_that_are_all_known_are_labels(kind, local):
    data = dataset(9, [4, 1, 6, 3])
    known = replace(data, allowed=data.labels[:, None] == np.arange(3))
    one, other = (evaluated(kind, own, local=local) for own in (data, known))
    np.testing.assert_allclose(one, other, atol=1e-10)


# Peers -------------------------------------------------------------------------------------------


def crfsuite(corpus, test, path, algorithm, **parameters):
    """A tagger of python-crfsuite, fitted to the same features, and its input."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    vocabulary, _ = Vocabulary.fit(corpus, Templates.parse("word[-1..0]"))
    names = vocabulary.names()

    def tokens(given):
        flat = vocabulary.encode(given).expanded()
        rows = [[names[k] for k in flat.indices[a:b]] for a, b in pairwise(flat.indptr.tolist())]
        return [rows[a:b] for a, b in pairwise(given.sentences.tolist())]

    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    for own, sentence in zip(tokens(corpus), corpus, strict=True):
        trainer.append(own, sentence.labels)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger, tokens(test)


def test_a_crf_is_that_of_crfsuite(tmp_path):
    corpus, test = draw(10, [6] * 40), draw(11, [7] * 10)
    tagger, given = crfsuite(
        corpus, test, tmp_path / "m", "lbfgs",
        **{"c1": 0.0, "c2": 0.1, "epsilon": 1e-9, "delta": 1e-12, "max_iterations": 1000,
           "feature.possible_transitions": True},
    )  # fmt: skip
    found = CRF("word[-1..0]", boundaries=False, **EXACT).fit(corpus)
    for own, table in zip(given, found.predict_marginals(test), strict=True):
        tagger.set(own)
        wanted = [[tagger.marginal(label, t) for label in LABELS] for t in range(len(own))]
        np.testing.assert_allclose(table, wanted, atol=1e-4)
    assert found.predict(test) == [tagger.tag(own) for own in given]


@pytest.mark.parametrize(
    ("update", "algorithm"), [("perceptron", "ap"), ("pa", "pa"), ("arow", "arow")]
)
def test_margin_updates_decide_as_those_of_crfsuite(update, algorithm, tmp_path):
    """Labels that follow from the word and the one before: both learn them without a mistake."""
    rng = np.random.default_rng(0)
    words = [[WORDS[k] for k in rng.integers(0, 4, 8)] for _ in range(50)]
    labels = [
        ["A" if w in ("Ada", "Bo") else "B" if b == "to" else "C" for b, w in pairwise(["", *own])]
        for own in words
    ]
    corpus, test = (
        Corpus.of(words[:40], labels[:40], scheme="none"),
        Corpus.of(words[40:], labels[40:], scheme="none"),
    )
    tagger, given = crfsuite(
        corpus, test, tmp_path / "m", algorithm, **{"feature.possible_transitions": True}
    )
    theirs = [tagger.tag(own) for own in given]
    assert theirs == labels[40:]
    assert Perceptron("word[-1..0]", update=update).fit(corpus).predict(test) == theirs


# Hidden states -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [IOHMM, HRF])
def test_one_hidden_state_is_maximum_entropy(model):
    corpus, test = draw(1, [5, 1, 8] * 10), draw(2, [4, 6])
    exact = {"l2": 0.1, "tolerance": 1e-13, "max_iterations": 1000}
    plain = MaxEnt(FEATURES, boundaries=False, pairs="all", **EXACT).fit(corpus)
    hidden = model(FEATURES, states=1, restarts=1, em=0, **exact).fit(corpus)
    for own, wanted in zip(
        hidden.predict_marginals(test), plain.predict_marginals(test), strict=True
    ):
        np.testing.assert_allclose(own, wanted, atol=1e-4)
    assert hidden.result_.loss == pytest.approx(plain.result_.loss, rel=1e-6)


@pytest.mark.parametrize("local", [True, False])
def test_one_hidden_state_for_each_label_is_a_chain(local):
    """States that emit nothing but their own label: an IOHMM is a MEMM, an HRF a CRF."""
    corpus = draw(3, [5, 1, 8])
    _, rows = Vocabulary.fit(corpus, Templates.of(FEATURES))
    labels = np.array([LABELS.index(label) for label in corpus.labels.tolist()], np.int32)
    size, features = len(LABELS), rows.n_features
    rng = np.random.default_rng(0)
    weights = StateWeights(
        rng.normal(size=(features + 1, size + 1, size)), np.zeros((features + 1, size, size))
    )
    weights.emissions[-1] = np.where(np.eye(size), 0.0, -800.0)
    hidden = StateScorer(rows, size, size, bias=True)
    flat = rows.expanded()
    edges = FeatureMatrix(CSRMatrix.empty(flat.n_rows), CSRMatrix.empty(0), flat, 0, features)
    data = Dataset(rows, corpus.sentences, labels)
    linked = Dataset(edges, corpus.sentences, labels)
    chain = Weights.zeros(0, features, size)
    chain.edges[:] = weights.transitions[:-1].reshape(features, -1)
    chain.transitions[:], chain.start[:] = weights.transitions[-1, :-1], weights.transitions[-1, -1]
    scorer = LinearScorer(linked, size, observed=False, boundaries=True, workers=Workers(1))
    for own, plain in (
        (StateLikelihood, ConditionalLikelihood),
        (StateMarginalLikelihood, MarginalLikelihood),
    ):
        loss, gradient = own(data, hidden, Workers(1), local=local)(hidden.pack(weights))
        wanted, known = plain(linked, scorer, Workers(1), local=local)(scorer.pack(chain))
        assert loss == pytest.approx(wanted)
        np.testing.assert_allclose(
            hidden.weights(gradient).transitions[:-1].ravel(),
            scorer.weights(known).edges.ravel(),
            atol=1e-9,
        )
