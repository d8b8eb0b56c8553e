"""Gates: mixing weights that sum to one, their gradient, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import Corpus, MoPMEMM
from skipchain.errors import ParameterError, SkipchainWarning
from skipchain.models.graph import mixture
from skipchain.models.graph.gate import FEATURES, Gate, GateInputs
from skipchain.models.graph.gate_likelihood import GateLikelihood
from skipchain.parallel import Workers

DOCUMENT = [["Ms", "Lee", "of", "York"], ["Lee", "met", "York"], ["York", "and", "Lee", "won"]]
LABELS = [["O", "PER", "O", "LOC"], ["PER", "O", "LOC"], ["LOC", "O", "PER", "O"]]


@pytest.fixture(scope="module")
def corpus():
    words, labels = DOCUMENT * 4, LABELS * 4
    return Corpus.of(words, labels, documents=[3] * 4, scheme="none")


@pytest.fixture(scope="module")
def model(corpus):
    settings = {"edges": "previous, same_word", "solver": "lbfgs", "max_iterations": 4}
    return MoPMEMM("word\nword[-1]", **settings).fit(corpus).model_


def random_gate(model, seed=0):
    rng = np.random.default_rng(seed)
    return Gate({kind: rng.normal(size=len(FEATURES)) for kind in model.edge_models})


def test_weights_sum_to_one_at_every_token(model, corpus):
    with Workers(1) as workers:
        linked = model.dataset(corpus, workers)
        scores, dags = model.edge_scores(linked, workers), linked.dags(model.orderings)
        for sweep in mixture.sweeps(scores, dags, workers, random_gate(model)):
            sweep.dag.check_weights(sweep.mixing)
            assert not np.allclose(sweep.mixing, sweep.dag.uniform_weights())
            np.testing.assert_allclose(sweep.marginals.sum(axis=1), 1.0)


def test_a_gate_of_zeros_counts_parents_alike(model, corpus):
    with Workers(1) as workers:
        linked = model.dataset(corpus, workers)
        scores, dags = model.edge_scores(linked, workers), linked.dags(model.orderings)
        plain = mixture.marginals(scores, dags, workers)
        gated = mixture.marginals(scores, dags, workers, Gate.zeros(model.edge_models))
    np.testing.assert_allclose(plain, gated, atol=1e-12)


def test_facts_of_edges(model, corpus):
    with Workers(1) as workers:
        linked = model.dataset(corpus, workers)
    dag = linked.dags(model.orderings)[0]
    facts = dict(zip(FEATURES, GateInputs.of(dag, corpus).values.T, strict=True))
    edge = next(
        e for e in range(dag.n_edges)
        if (dag.children[e], dag.parents[e]) == (4, 1) and dag.edge_types[e] == 2
    )  # fmt: skip
    assert facts["parents"][edge] == pytest.approx(np.log(2))
    assert facts["distance"][edge] == pytest.approx(np.log(3))
    assert facts["preceding"][edge] == 0.0  # Ms, and the start of a sentence


def test_gradient(model, corpus):
    labels = np.array([model.labels.index(name) for name in corpus.labels.tolist()], np.int32)
    with Workers(1) as workers:
        scores = model.edge_scores(model.dataset(corpus, workers), workers)
        objective = GateLikelihood(
            [(scores, labels)], model.orderings, list(model.edge_models), workers, l2=0.1
        )
        vector = np.random.default_rng(1).normal(size=objective.size)
        _, gradient = objective(vector)
        for k in range(objective.size):
            step = np.zeros(objective.size)
            step[k] = 1e-5
            slope = (objective(vector + step)[0] - objective(vector - step)[0]) / 2e-5
            assert gradient[k] == pytest.approx(slope, abs=1e-6)


def misleading(size, seed):
    """A name is said once as a person and once as a place; only the word before tells which."""
    rng = np.random.default_rng(seed)
    words, labels = [], []
    for _ in range(size):
        name = f"Name{rng.integers(1000)}"
        cues = [("Ms", "PER"), ("in", "LOC")]
        for cue, label in (cues[k] for k in rng.permutation(2)):
            words.append([cue, name, "."])
            labels.append(["O", label, "O"])
    return Corpus.of(words, labels, documents=[2] * size, scheme="none")


def test_a_gate_learns_not_to_trust_edges_that_mislead():
    train, test = misleading(60, 0), misleading(40, 1)
    settings = {
        "features": "word[-1]", "edges": "previous, same_word", "orderings": "forward",
        "solver": "lbfgs", "l2": 1.0,
    }  # fmt: skip
    with_gate = MoPMEMM(**settings, mixing="learned").fit(train)
    dag_kinds = with_gate.model_.gate.weights
    assert set(dag_kinds) == set(with_gate.model_.edge_models)
    assert with_gate.score(test) >= MoPMEMM(**settings).fit(train).score(test)
    assert with_gate.score(test) == 1.0


def test_a_gate_needs_documents_to_hold_out(corpus):
    with pytest.raises(ParameterError, match="2 folds and 2 documents"):
        MoPMEMM("word", mixing="learned").fit(corpus.document(0))
    with pytest.raises(ParameterError, match="mixing must be one of uniform, learned"):
        MoPMEMM("word", mixing="best").fit(corpus)


def test_parts_without_a_token_are_not_learnt_from():
    words, labels = [["A", "b"], ["A", "c"]], [["X", "Y"], ["X", "X"]]
    corpus = Corpus.of(words, labels, documents=[1, 0, 1], scheme="none")
    fitted = MoPMEMM("word", mixing="learned", folds=2, solver="lbfgs", threads=1)
    with pytest.warns(SkipchainWarning, match="every document is one sentence"):
        fitted.fit(corpus)
    assert fitted.model_.gate is not None
    with pytest.raises(ParameterError, match="and 1 documents"):
        fitted.fit(Corpus.of(words, labels, documents=[2, 0], scheme="none"))
