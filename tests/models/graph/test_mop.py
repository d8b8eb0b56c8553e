"""The mixture of parents: what it becomes in special cases, its losses, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import MEMM, Corpus, MaxEnt, MoPMEMM
from skipchain.edges import parse_orderings
from skipchain.errors import CorpusError, ParameterError
from skipchain.learn.step import INTERRUPTED
from skipchain.models.graph.mixture import sweeps
from skipchain.models.graph.mixture_likelihood import (
    CONDITIONAL,
    MARGINAL,
    MIXTURE,
    MixtureLikelihood,
)
from skipchain.parallel import Workers

TEMPLATES = "word[-1..1]\nsuffix(2)"


def corpus(documents=6, seed=0):
    """Names that are clear in one sentence and not in another."""
    rng = np.random.default_rng(seed)
    words, labels, sizes = [], [], []
    for _ in range(documents):
        name, place = rng.choice(["Lee", "York", "Grace"], 2, replace=False)
        own = [
            (["Ms", name, "spoke"], ["O", "PER", "O"]),
            ([name, "slept"], ["PER", "O"]),
            (["at", place, "Road"], ["O", "LOC", "LOC"]),
            ([], []),
            ([place, "slept"], ["LOC", "O"]),
        ]
        chosen = sorted(rng.choice(5, int(rng.integers(2, 6)), replace=False).tolist())
        words += [own[k][0] for k in chosen]
        labels += [own[k][1] for k in chosen]
        sizes.append(len(chosen))
    return Corpus.of(words, labels, documents=sizes, scheme="none")


TRAIN, TEST = corpus(), corpus(3, seed=1)


def exactly(model, **further):
    settings = {"solver": "lbfgs", "tolerance": 1e-12, "l2": 0.1, **further}
    return model(TEMPLATES, **settings)


# Reductions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"solver": "lbfgs"}, {"solver": "lbfgs", "pairs": "all"}])
def test_one_parent_is_a_memm(settings):
    """Posterior marginals of a chain, and the same weights, whatever the optimiser."""
    memm = MEMM(TEMPLATES, **settings).fit(TRAIN)
    mop = MoPMEMM(TEMPLATES, edges="previous", orderings="forward", **settings).fit(TRAIN)
    (own,) = mop.model_.edge_models.values()
    np.testing.assert_array_equal(own.weights.vector, memm.model_.weights.vector)
    for found, wanted in zip(
        mop.predict_marginals(TEST), memm.predict_marginals(TEST), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-9, rtol=0)
    assert mop.predict(TEST, decoder="posterior") == memm.predict(TEST, decoder="posterior")


def test_backwards_one_parent_is_a_memm_of_the_reversed_sentences():
    turned = Corpus.of(
        [s.words[::-1] for s in TRAIN], [s.labels[::-1] for s in TRAIN], scheme="none"
    )
    memm = MEMM("word\nsuffix(2)", solver="lbfgs").fit(turned)
    mop = MoPMEMM("word\nsuffix(2)", edges="previous", orderings="backward", solver="lbfgs")
    mop.fit(TRAIN)
    given = Corpus.of([s.words[::-1] for s in TEST])
    for found, wanted in zip(
        mop.predict_marginals(TEST), memm.predict_marginals(given), strict=True
    ):
        np.testing.assert_allclose(found[::-1], wanted, atol=1e-6)


def test_kinds_of_edges_do_not_change_each_other_when_trained_apart():
    memm = exactly(MEMM).fit(TRAIN)
    mop = exactly(MoPMEMM, edges="previous, same_word", orderings="forward").fit(TRAIN)
    shown = mop.model_.edge_models["previous"].weights
    np.testing.assert_allclose(shown.transitions, memm.model_.weights.transitions, atol=1e-6)
    assert set(mop.model_.edge_models) == {"previous", "same_word"}


def test_tokens_alone_are_a_classifier():
    maxent = exactly(MaxEnt).fit(TRAIN)
    mop = exactly(MoPMEMM, edges="alone", orderings="forward").fit(TRAIN)
    for found, wanted in zip(
        mop.predict_marginals(TEST), maxent.predict_marginals(TEST), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_orderings_are_averaged():
    both = exactly(MoPMEMM).fit(TRAIN).model_
    with Workers(1) as workers:
        beliefs = both.scores(TEST, workers)
        scores = both.edge_scores(beliefs.dataset, workers)
        each = sweeps(scores, beliefs.dataset.dags(both.orderings), workers)
        found = both.marginals(beliefs, workers)
    np.testing.assert_allclose(found, np.mean([own.marginals for own in each], axis=0), atol=1e-15)
    assert np.abs(each[0].marginals - each[1].marginals).max() > 1e-3


# Losses ------------------------------------------------------------------------------------------


def linked(fitted, given):
    """The training data as the objective takes them: the features of the fitted model."""
    model = fitted.model_
    return model.dataset(given), np.array([model.labels.index(y) for y in given.labels.tolist()],
                                          np.int32)  # fmt: skip


def objective(fitted, given, workers, orderings, **settings):
    data, labels = linked(fitted, given)
    dags = data.dags(parse_orderings(orderings))
    return MixtureLikelihood(data, labels, len(fitted.model_.labels), dags, workers, **settings)


@pytest.mark.parametrize("loss", [MARGINAL, MIXTURE, CONDITIONAL])
@pytest.mark.parametrize("orderings", ["forward", "forward, backward, random(2)"])
def test_gradients(loss, orderings):
    fitted = MoPMEMM(
        "word\nword[-1]", edges="previous, same_word, alone", orderings=orderings,
        solver="lbfgs", l2=1.0,
    ).fit(TRAIN)  # fmt: skip
    rng = np.random.default_rng(3)
    with Workers(1) as workers:
        shares = [0.5 + 0.25 * k for k, _ in enumerate(parse_orderings(orderings))]
        own = objective(fitted, TEST, workers, orderings, loss=loss, l2=0.3, shares=shares)
        vector = rng.normal(size=own.size)
        _, gradient = own(vector)
        for place in rng.choice(own.size, 40, replace=False).tolist():
            step = np.zeros(own.size)
            step[place] = 1e-5
            slope = (own(vector + step)[0] - own(vector - step)[0]) / 2e-5
            assert gradient[place] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("orderings", ["forward", "forward, backward"])
def test_training_apart_ends_where_the_sum_of_all_edges_is_smallest(orderings):
    """With weights for all pairs of features and labels, as the tables of label pairs have them."""
    fitted = exactly(
        MoPMEMM, edges="previous, same_word, same(suffix(2), recent=1)", orderings=orderings,
        pairs="all",
    ).fit(TRAIN)  # fmt: skip
    with Workers(1) as workers:
        own = objective(fitted, TRAIN, workers, orderings, loss=CONDITIONAL, l2=0.1, observed=False)
        weights = {kind: c.weights for kind, c in fitted.model_.edge_models.items()}
        loss, gradient = own(own.pack(weights))
        assert np.abs(gradient).max() < 1e-3
        assert loss == pytest.approx(fitted.result_.loss, rel=1e-6)
        assert np.abs(own(1.1 * own.pack(weights))[1]).max() > 1e-2


def test_the_marginal_loss_is_that_of_the_predictions():
    fitted = exactly(MoPMEMM, orderings="forward").fit(TRAIN)
    _, labels = linked(fitted, TEST)
    found = np.concatenate(fitted.predict_marginals(TEST))
    wanted = -np.log(found[np.arange(len(labels)), labels]).sum()
    with Workers(1) as workers:
        own = objective(fitted, TEST, workers, "forward")
        weights = {kind: c.weights for kind, c in fitted.model_.edge_models.items()}
        assert own(own.pack(weights))[0] == pytest.approx(wanted)


@pytest.mark.parametrize("loss", [MARGINAL, MIXTURE])
def test_joint_training_lowers_its_loss(loss):
    apart = exactly(MoPMEMM, orderings="forward").fit(TRAIN)
    joint = exactly(MoPMEMM, orderings="forward", objective=loss).fit(TRAIN)
    with Workers(1) as workers:
        own = objective(apart, TRAIN, workers, "forward", loss=loss, l2=0.1)
        before, after = (
            own(own.pack({kind: c.weights for kind, c in fitted.model_.edge_models.items()}))[0]
            for fitted in (apart, joint)
        )
    assert after < before - 0.01
    assert after == pytest.approx(joint.result_.loss, rel=1e-6)


@pytest.mark.parametrize("loss", [MARGINAL, MIXTURE, CONDITIONAL])
def test_threads_change_no_bits(loss):
    many = corpus(400, seed=2)
    fitted = MoPMEMM(TEMPLATES, max_iterations=2, solver="lbfgs").fit(many)
    found = []
    for threads in (1, 2):
        with Workers(threads) as workers:
            own = objective(fitted, many, workers, "forward, backward", loss=loss, l2=0.1)
            vector = np.random.default_rng(0).normal(size=own.size)
            value, gradient = own(vector)
            found.append((value, gradient.tobytes()))
    assert found[0] == found[1]


def test_weights_are_packed_and_unpacked():
    fitted = exactly(MoPMEMM).fit(TRAIN)
    with Workers(1) as workers:
        own = objective(fitted, TRAIN, workers, "forward, backward")
        vector = np.random.default_rng(1).normal(size=own.size)
        np.testing.assert_array_equal(own.pack(own.weights(vector)), vector)
        assert own.nbytes > 0


# Promises ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("orderings", ["forward, backward", "random(3)"])
@pytest.mark.parametrize("mixing", ["uniform", "learned"])
def test_documents_do_not_influence_each_other(orderings, mixing):
    fitted = MoPMEMM(TEMPLATES, orderings=orderings, mixing=mixing, solver="lbfgs").fit(TRAIN)
    whole = np.concatenate(fitted.predict_marginals(TEST))
    alone = [
        np.concatenate(fitted.predict_marginals(TEST.document(k))) for k in range(TEST.n_documents)
    ]
    np.testing.assert_allclose(whole, np.concatenate(alone), atol=1e-15)


def test_a_far_mention_tells_what_the_near_words_do_not():
    """MaliVai Washington is a person where his first name stands, and so he is afterwards."""
    clear = ([["Mr", "Nash", "won"]], [["O", "PER", "O"]])
    place = ([["in", "Bonn", "today"]], [["O", "LOC", "O"]])
    words, labels, sizes = [], [], []
    for (first, told), name in [(clear, "PER"), (place, "LOC")] * 8:
        own = first[0][1]
        words += [*first, ["then", own, "rose"]]
        labels += [*told, ["O", name, "O"]]
        sizes.append(2)
    train = Corpus.of(words, labels, documents=sizes, scheme="none")
    test = Corpus.of([["Mr", "York", "won"], ["then", "York", "rose"]])
    mop = MoPMEMM("word[-1]\nword[1]", solver="lbfgs", orderings="forward").fit(train)
    memm = MEMM("word[-1]\nword[1]", solver="lbfgs").fit(train)
    person = mop.classes_.index("PER")
    assert mop.predict_marginals(test)[1][1, person] > 0.6
    assert memm.predict_marginals(test)[1][1, person] < 0.55


def test_held_out_data_are_watched_while_edges_are_trained_together():
    class Display:
        def __init__(self):
            self.parts, self.scores, self.ends = [], [], 0

        def begin(self, problem):
            self.parts.append(problem.stage)

        def step(self, step, dev):
            self.scores.append(dev)

        def end(self, minimum):
            self.ends += 1

    shown = Display()
    fitted = MoPMEMM(TEMPLATES, objective="marginal", orderings="forward", patience=3)
    fitted.fit(TRAIN, dev=TEST, progress=shown)
    assert shown.parts == [
        "edges of type previous", "edges of type same_word", "all edges together",
    ]  # fmt: skip
    assert shown.ends == 3
    assert shown.scores[-1] is not None
    assert fitted.model_.summary["dev"] == pytest.approx(100 * fitted.score(TEST))


class Impatient:
    """A display that stops a part of the training, and whatever would come after it."""

    def __init__(self, part):
        self.stage, self.begun = part, 0

    def begin(self, problem):
        self.begun += 1

    def step(self, step, dev):
        if self.begun >= self.stage:
            raise KeyboardInterrupt

    def end(self, minimum):
        pass


def test_an_interrupt_while_the_gate_is_learnt_keeps_the_edges():
    shown = Impatient(5)  # after four kinds of edges
    fitted = MoPMEMM(TEMPLATES, solver="lbfgs", mixing="learned").fit(TRAIN, progress=shown)
    assert shown.begun == 5
    assert fitted.result_.reason == INTERRUPTED
    assert fitted.model_.gate is None
    assert len(fitted.model_.edge_models) == 4


@pytest.mark.parametrize("after", [1, 2])
def test_an_interrupt_keeps_the_kinds_that_are_learnt(after):
    fitted = MoPMEMM(TEMPLATES, solver="lbfgs").fit(TRAIN, progress=Impatient(after))
    assert fitted.result_.reason == INTERRUPTED
    kinds = ["previous", "next"][:after]
    assert list(fitted.model_.edge_models) == kinds
    np.testing.assert_allclose(np.concatenate(fitted.predict_marginals(TEST)).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edges": "sideways"}, "no edge rule 'sideways'"),
        ({"orderings": "sideways"}, "no ordering 'sideways'"),
        ({"objective": "joint"}, "objective must be one of conditional, mixture, marginal"),
        ({"constraints": "training"}, "give 'decoding' or 'none'"),
        ({"patience": 3}, "patience is for training all edge types together"),
        ({"features": "word\nlabel[-2] & word"}, "looks two labels back"),
        ({"mixing": "guessed"}, "mixing must be one of"),
        ({"folds": 0}, "folds must be"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ParameterError, match=message):
        MoPMEMM(**{"features": TEMPLATES, **settings}).fit(TRAIN)


def test_more_mistakes():
    with pytest.raises(ParameterError, match="learns from a Corpus"):
        MoPMEMM().fit([[["a"]]], [["x"]])
    with pytest.raises(CorpusError, match="no token to learn from"):
        MoPMEMM("word").fit(Corpus.of([[]], [[]], scheme="none"))
    with pytest.raises(ParameterError, match="at least 2 folds and 2 documents"):
        MoPMEMM("word", mixing="learned").fit(TRAIN.document(0))
    with pytest.raises(CorpusError, match="learns from full labels only"):
        MoPMEMM("word").fit(Corpus.of([["a", "b"]], [["x", None]], scheme="none"))


def test_rows_of_edges_are_shared_with_the_chain():
    """An edge of a chain is described by its child: no second copy of the features."""
    fitted = MoPMEMM(TEMPLATES, max_iterations=1, solver="lbfgs").fit(TRAIN)
    data = fitted.model_.dataset(TRAIN)
    assert data.edges["previous"] is data.tokens is data.edges["next"]
