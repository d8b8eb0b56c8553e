"""The chain likelihood: against enumeration, finite differences, and python-crfsuite."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain import Corpus
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood, MarginalLikelihood
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.parallel import Workers

WORDS = ["Ada", "Bo", "ran", "to", "York", "."]
TEMPLATES = Templates.parse(
    "word\nshape\nsuffix(2)\nngrams(1, 2)\nword[-1]\nword[1] & shape\nbag(word, -2..-1)\n"
    "label[-1] & word\nlabel[-1] & shape & word[-1]"
)
PLAIN = Templates.parse("word\nshape\nword[-1]")


def draw(seed, lengths, labels, templates=TEMPLATES):
    rng = np.random.default_rng(seed)
    sentences = [[WORDS[k] for k in rng.integers(0, len(WORDS), length)] for length in lengths]
    corpus = Corpus.of(sentences)
    _, rows = Vocabulary.fit(corpus, templates)
    gold = rng.integers(0, labels, corpus.n_tokens).astype(np.int32)
    return Dataset(rows, corpus.sentences, gold)


def paths_of(data, weights, first, last, *, local=False):
    """Every label sequence of one chain with its log probability, from the flat index alone."""
    flat, edges = data.rows.expanded(), data.rows.edges
    labels = weights.n_labels

    def scores(t, before, earlier=None):
        """The score of every label at t, given the label before (None: the chain begins)."""
        own = flat.indices[flat.indptr[t] : flat.indptr[t + 1]]
        pair = edges.indices[edges.indptr[t] : edges.indptr[t + 1]]
        total = weights.state[own].sum(axis=0)
        tables = weights.edges[pair].sum(axis=0).reshape(labels + 1, labels)
        if before is None:
            total = total + weights.start + tables[labels]
        else:
            total = total + weights.transitions[before] + tables[before]
            if weights.order == 2:
                total = total + weights.triples[labels if earlier is None else earlier, before]
        if t == last - 1:
            total = total + weights.end
        return total - np.logaddexp.reduce(total) if local else total

    paths = list(itertools.product(range(labels), repeat=last - first))
    found = np.array([
        sum(
            scores(first + k, path[k - 1] if k else None, path[k - 2] if k > 1 else None)[y]
            for k, y in enumerate(path)
        )
        for path in paths
    ])  # fmt: skip
    return np.array(paths), found - np.logaddexp.reduce(found)


def enumerated_loss(data, weights, *, local=False, marginal=False):
    """−Σ log p(what is known), summing over every label sequence."""
    loss = 0.0
    for first, last in itertools.pairwise(data.offsets.tolist()):
        if first == last:
            continue
        paths, logs = paths_of(data, weights, first, last, local=local)
        if data.allowed is None:
            agrees = paths == data.labels[first:last]
        else:
            agrees = data.allowed[first:last][np.arange(last - first), paths]
        if marginal:
            loss -= sum(np.logaddexp.reduce(logs[own]) for own in agrees.T)
        else:
            loss -= np.logaddexp.reduce(logs[agrees.all(axis=1)])
    return loss


def partly(data, labels, seed):
    """The same data with some labels unknown, and some known to be one of several."""
    rng = np.random.default_rng(seed)
    allowed = rng.random((data.n_tokens, labels)) < 0.4
    known = rng.random(data.n_tokens) < 0.5
    allowed[known] = False
    allowed[np.arange(data.n_tokens), data.labels] = True
    single = np.where(allowed.sum(axis=1) == 1, data.labels, -1).astype(np.int32)
    return replace(data, labels=single, allowed=allowed)


KINDS = {"conditional": ConditionalLikelihood, "marginal": MarginalLikelihood}


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(list(KINDS)),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_loss_equals_enumeration(seed, lengths, labels, observed, boundaries, local, kind, some):
    data = draw(seed, [*lengths, 2], labels)
    if some:
        data = partly(data, labels, seed)
    with Workers(1) as workers:
        scorer = LinearScorer(
            data, labels, observed=observed, boundaries=boundaries, workers=workers
        )
        vector = np.random.default_rng(seed).normal(size=scorer.size)
        objective = KINDS[kind](data, scorer, workers, l2=0.3, local=local)
        loss, _ = objective(vector)
        weights = scorer.unpack(vector)
        wanted = enumerated_loss(data, weights, local=local, marginal=kind == "marginal")
    np.testing.assert_allclose(loss, wanted + 0.3 * vector @ vector, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("templates", [TEMPLATES, PLAIN], ids=["edges", "plain"])
@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("some", [True, False], ids=["partial", "full"])
def test_gradient_equals_finite_differences(observed, templates, local, kind, some):
    data = draw(11, [4, 1, 3], 3, templates)
    if some:
        data = partly(data, 3, 5)
    with Workers(1) as workers:
        scorer = LinearScorer(data, 3, observed=observed, boundaries=True, workers=workers)
        objective = KINDS[kind](data, scorer, workers, l2=0.1, local=local)
        vector = np.random.default_rng(0).normal(size=scorer.size)
        _, gradient = objective(vector)
        gradient = gradient.copy()
        step = 1e-5
        for k in np.random.default_rng(1).choice(scorer.size, min(60, scorer.size), False):
            moved = vector.copy()
            moved[k] += step
            above, _ = objective(moved)
            moved[k] -= 2 * step
            below, _ = objective(moved)
            np.testing.assert_allclose(gradient[k], (above - below) / (2 * step), atol=1e-5)


@pytest.mark.parametrize("local", [True, False], ids=["local", "global"])
@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_close(local, kind):
    data = draw(11, [4, 1, 3, 60], 3)
    found = []
    with Workers(1) as workers:
        for single in (True, False):
            scorer = LinearScorer(
                data, 3, observed=True, boundaries=True, workers=workers, single_precision=single
            )
            objective = KINDS[kind](data, scorer, workers, l2=0.1, local=local)
            found.append(objective(np.random.default_rng(0).normal(size=scorer.size)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-4)
    assert (found[0][1] != found[1][1]).any()


def test_threads_do_not_change_a_bit():
    data = draw(5, [60] * 400, 4)
    results = []
    for threads in (1, 2, 3):
        with Workers(threads) as workers:
            scorer = LinearScorer(data, 4, observed=True, boundaries=True, workers=workers)
            objective = ConditionalLikelihood(data, scorer, workers)
            results.append(objective(np.linspace(-1, 1, scorer.size)))
    for loss, gradient in results[1:]:
        assert loss == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


def test_constraints_take_forbidden_paths_out_of_the_sum():
    data = draw(2, [3], 2, PLAIN)
    data.labels[:] = [0, 1, 1]
    pairs = np.array([[True, True], [False, True]])  # 1 → 0 never
    allowed = Constraints(pairs, np.array([True, False]), np.array([True, True]))
    with Workers(1) as workers:
        scorer = LinearScorer(data, 2, observed=False, boundaries=False, workers=workers)
        objective = ConditionalLikelihood(data, scorer, workers, constraints=allowed)
        loss, _ = objective(np.zeros(scorer.size))
    assert loss == pytest.approx(np.log(3))  # 000, 001, 011


def test_gold_labels_outside_the_constraints_are_named():
    data = draw(2, [3], 2, PLAIN)
    data.labels[:] = [1, 0, 0]
    nothing = Constraints(np.zeros((2, 2), bool), np.ones(2, bool), np.ones(2, bool))
    with Workers(1) as workers:
        scorer = LinearScorer(data, 2, observed=False, boundaries=False, workers=workers)
        objective = ConditionalLikelihood(data, scorer, workers, constraints=nothing)
        with pytest.raises(ValueError, match="sequence at token 0 break the scheme"):
            objective(np.zeros(scorer.size))


def test_pack_and_unpack_are_inverse():
    data = draw(3, [5, 2], 3)
    with Workers(1) as workers:
        for observed in (True, False):
            scorer = LinearScorer(data, 3, observed=observed, boundaries=True, workers=workers)
            vector = np.random.default_rng(0).normal(size=scorer.size)
            np.testing.assert_array_equal(scorer.pack(scorer.unpack(vector)), vector)


def test_loss_equals_crfsuite_at_its_weights(tmp_path):
    """Train python-crfsuite, carry its weights over, and compare the losses."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    rng = np.random.default_rng(9)
    names = np.array(["A", "B", "C"])
    sentences = [[WORDS[k] for k in rng.integers(0, len(WORDS), 6)] for _ in range(30)]
    corpus = Corpus.of(sentences)
    vocabulary, rows = Vocabulary.fit(corpus, PLAIN)
    gold = rng.integers(0, 3, corpus.n_tokens).astype(np.int32)
    data = Dataset(rows, corpus.sentences, gold)
    feature_names = vocabulary.names()
    flat = rows.expanded()
    tokens = [
        [feature_names[k] for k in flat.indices[a:b]]
        for a, b in itertools.pairwise(flat.indptr.tolist())
    ]
    trainer = pycrfsuite.Trainer(verbose=False)
    for first, last in itertools.pairwise(data.offsets.tolist()):
        trainer.append(tokens[first:last], names[gold[first:last]].tolist())
    trainer.set_params({"c1": 0.0, "c2": 0.1, "feature.possible_transitions": True})
    trainer.train(str(tmp_path / "peer.model"))
    theirs = trainer.logparser.last_iteration["loss"]
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "peer.model"))
    dump = tagger.info()
    with Workers(1) as workers:
        scorer = LinearScorer(data, 3, observed=True, boundaries=False, workers=workers)
        weights = scorer.unpack(np.zeros(scorer.size))
        number = {name: k for k, name in enumerate(names)}
        for (attribute, label), weight in dump.state_features.items():
            weights.state[feature_names.index(attribute), number[label]] = weight
        for (source, target), weight in dump.transitions.items():
            weights.transitions[number[source], number[target]] = weight
        vector = scorer.pack(weights)
        loss, _ = ConditionalLikelihood(data, scorer, workers, l2=0.1)(vector)
    assert loss == pytest.approx(theirs, rel=1e-5)


# Order 2 -----------------------------------------------------------------------------------------


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 4), min_size=1, max_size=3),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_loss_of_order_2_equals_enumeration(seed, lengths, labels, local, some):
    data = draw(seed, [*lengths, 3], labels)
    if some and not local:
        data = partly(data, labels, seed)
    with Workers(1) as workers:
        scorer = LinearScorer(
            data, labels, observed=False, boundaries=True, workers=workers, order=2
        )
        vector = np.random.default_rng(seed).normal(size=scorer.size)
        loss, _ = ConditionalLikelihood(data, scorer, workers, local=local)(vector)
        wanted = enumerated_loss(data, scorer.unpack(vector), local=local)
    np.testing.assert_allclose(loss, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("templates", [TEMPLATES, PLAIN], ids=["edges", "plain"])
@pytest.mark.parametrize("case", ["local", "full", "partial"])
def test_gradient_of_order_2_equals_finite_differences(templates, case):
    data = draw(11, [4, 1, 3, 2], 3, templates)
    if case == "partial":
        data = partly(data, 3, 5)
    with Workers(1) as workers:
        scorer = LinearScorer(data, 3, observed=True, boundaries=True, workers=workers, order=2)
        objective = ConditionalLikelihood(data, scorer, workers, l2=0.1, local=case == "local")
        vector = np.random.default_rng(0).normal(size=scorer.size)
        _, gradient = objective(vector)
        gradient = gradient.copy()
        step = 1e-5
        chosen = np.random.default_rng(1).choice(scorer.size - 36, 40, False)
        for k in np.concatenate([chosen, np.arange(scorer.size - 36, scorer.size)]):
            moved = vector.copy()
            moved[k] += step
            above, _ = objective(moved)
            moved[k] -= 2 * step
            below, _ = objective(moved)
            np.testing.assert_allclose(gradient[k], (above - below) / (2 * step), atol=1e-5)


def test_the_curvature_of_single_tokens_is_the_diagonal_of_the_hessian():
    data = draw(5, [1] * 8, 3, PLAIN)
    with Workers(1) as workers:
        scorer = LinearScorer(data, 3, observed=False, boundaries=False, workers=workers)
        objective = ConditionalLikelihood(data, scorer, workers, l2=0.3)
        vector = np.random.default_rng(1).normal(size=scorer.size)
        objective(vector)
        found, size, step = objective.curvature(), scorer.sizes[0], 1e-2
        for k in range(size):
            moved = np.where(np.arange(scorer.size) == k, step, 0.0)
            rise = (objective(vector + moved)[1] - objective(vector - moved)[1])[k] / (2 * step)
            assert found[k] == pytest.approx(rise, abs=2e-3)
