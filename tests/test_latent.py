"""Hidden states against enumeration of all their paths, and gradients against differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from skipchain.dataset import Dataset
from skipchain.features.direct import NumberedFeatures
from skipchain.kernels import latent
from skipchain.objectives.latent import ExpectedLikelihood, StateLikelihood, StateMarginals
from skipchain.parallel import Workers
from skipchain.scorers.states import StateScorer, state_potentials, state_units

LENGTHS, STATES, LABELS, COLUMNS = (3, 0, 1, 2), 3, 2, 2


def problem(seed=0, known="all", bias=True, scale=1.0):
    """Random inputs, labels and weights: data, scorer, vector."""
    rng = np.random.default_rng(seed)
    _, rows, offsets = NumberedFeatures.fit(
        [rng.normal(size=(length, COLUMNS)) for length in LENGTHS]
    )
    size = sum(LENGTHS)
    labels = rng.integers(LABELS, size=size).astype(np.int32)
    allowed = None
    if known != "all":
        allowed = labels[:, None] == np.arange(LABELS)
        free = [1, 3] if known == "some" else range(size)
        allowed[free] = True
        labels[free] = -1
    data = Dataset(rows, offsets, labels, allowed)
    scorer = StateScorer(rows, STATES, LABELS, bias=bias)
    return data, scorer, rng.normal(scale=scale, size=scorer.size)


def potentials(data, scorer, vector, local):
    weights = scorer.weights(vector)
    units = state_units(data.rows, weights, Workers(1))
    block = (0, len(data.offsets) - 1)
    return state_potentials(data.rows, weights, units, data.offsets, block, local=local)


def softmax_logs(row):
    return row - np.logaddexp.reduce(row)


class Enumeration:
    """Every path of states and labels of every chain, with its probability."""

    def __init__(self, data, scorer, vector, local):
        weights = scorer.weights(vector)
        x = np.zeros((data.n_tokens, COLUMNS + 1))
        tokens = data.rows.tokens
        for t in range(data.n_tokens):
            for k in range(tokens.indptr[t], tokens.indptr[t + 1]):
                x[t, tokens.indices[k]] = tokens.values[k]
        x[:, -1] = 1.0
        moves = np.einsum("tf,fij->tij", x, weights.transitions)
        emits = np.einsum("tf,fsy->tsy", x, weights.emissions)
        if local:
            moves = np.apply_along_axis(softmax_logs, 2, moves)
            emits = np.apply_along_axis(softmax_logs, 2, emits)
        self.chains = []
        for a, b in itertools.pairwise(data.offsets.tolist()):
            paths = []
            for states in itertools.product(range(STATES), repeat=b - a):
                for labels in itertools.product(range(LABELS), repeat=b - a):
                    total, before = 0.0, STATES
                    for t in range(b - a):
                        total += (
                            moves[a + t, before, states[t]] + emits[a + t, states[t], labels[t]]
                        )
                        before = states[t]
                    paths.append((states, labels, np.exp(total)))
            z = sum(p for *_, p in paths)
            self.chains.append((a, [(s, y, p / z) for s, y, p in paths]))

    def agreeing(self, data):
        """The chains with the paths that agree with what is known."""
        for a, paths in self.chains:
            yield (
                a,
                [
                    (s, y, p)
                    for s, y, p in paths
                    if all(
                        data.labels[a + t] == y[t]
                        if data.allowed is None
                        else data.allowed[a + t, y[t]]
                        for t in range(len(y))
                    )
                ],
            )

    def conditional_loss(self, data):
        return -sum(np.log(sum(p for *_, p in paths)) for _, paths in self.agreeing(data))

    def marginals(self, data):
        found = np.zeros((data.n_tokens, LABELS))
        for a, paths in self.chains:
            for _, labels, p in paths:
                for t, label in enumerate(labels):
                    found[a + t, label] += p
        return found


CASES = [
    pytest.param(local, known, id=f"{'iohmm' if local else 'hrf'}, {known} labels known")
    for local in (True, False)
    for known in ("all", "some", "no")
]


@pytest.mark.parametrize(("local", "known"), CASES)
def test_losses_equal_enumeration(local, known):
    data, scorer, vector = problem(1, known)
    oracle = Enumeration(data, scorer, vector, local)
    loss, _ = StateLikelihood(data, scorer, Workers(1), local=local)(vector)
    assert loss == pytest.approx(oracle.conditional_loss(data))
    marginals = oracle.marginals(data)
    allowed = data.allowed
    if allowed is None:
        allowed = data.labels[:, None] == np.arange(LABELS)
    loss, _ = StateMarginals(data, scorer, Workers(1), local=local)(vector)
    assert loss == pytest.approx(-np.log((marginals * allowed).sum(axis=1)).sum(), abs=1e-12)


@pytest.mark.parametrize(("local", "known"), CASES)
@pytest.mark.parametrize("objective", [StateLikelihood, StateMarginals, ExpectedLikelihood])
@pytest.mark.parametrize("bias", [True, False])
def test_gradients_equal_differences(objective, local, known, bias):
    data, scorer, vector = problem(2, known, bias)
    function = objective(data, scorer, Workers(1), l2=0.3, local=local)
    if objective is ExpectedLikelihood:
        function.expect(np.random.default_rng(0).normal(size=scorer.size), 0.5)
    _, gradient = function(vector)
    step = 1e-6
    differences = [
        (function(vector + step * unit)[0] - function(vector - step * unit)[0]) / (2 * step)
        for unit in np.eye(scorer.size)
    ]
    np.testing.assert_allclose(gradient, differences, atol=1e-7)


@pytest.mark.parametrize("local", [True, False])
def test_an_m_step_raises_the_likelihood(local):
    """E[log p(states, labels)] bounds the likelihood, and touches it where it was found."""
    data, scorer, vector = problem(3, "some")
    likelihood = StateLikelihood(data, scorer, Workers(1), local=local)
    bound = ExpectedLikelihood(data, scorer, Workers(1), local=local)
    bound.expect(vector)
    loss, gradient = likelihood(vector)
    expected, own = bound(vector)
    np.testing.assert_allclose(own, gradient, atol=1e-12)
    for seed in range(5):
        other = np.random.default_rng(seed).normal(size=scorer.size)
        assert likelihood(other)[0] - loss <= bound(other)[0] - expected + 1e-9


@pytest.mark.parametrize("local", [True, False])
def test_expected_counts_equal_enumeration(local):
    data, scorer, vector = problem(4, "some")
    bound = ExpectedLikelihood(data, scorer, Workers(1), local=local)
    bound.expect(vector)
    pairs, emitted = np.zeros((STATES + 1, STATES)), np.zeros((STATES, LABELS))
    for _, paths in Enumeration(data, scorer, vector, local).agreeing(data):
        total = sum(p for *_, p in paths)
        for states, labels, p in paths:
            for before, state, label in zip((STATES, *states), states, labels, strict=False):
                pairs[before, state] += p / total
                emitted[state, label] += p / total
    found = bound.counts()
    np.testing.assert_allclose(found[0], pairs)
    np.testing.assert_allclose(found[1], emitted)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("objective", [StateLikelihood, StateMarginals])
def test_huge_weights_do_not_break_the_sums(objective, local):
    """Where plain products of probabilities would vanish."""
    data, scorer, vector = problem(5, scale=400.0)
    loss, gradient = objective(data, scorer, Workers(1), local=local)(vector)
    assert np.isfinite(loss)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("constrained", [True, False])
def test_best_paths_equal_enumeration(local, constrained):
    data, scorer, vector = problem(6)
    p = potentials(data, scorer, vector, local)
    pairs = np.ones((LABELS, LABELS), bool)
    start, end = np.ones(LABELS, bool), np.ones(LABELS, bool)
    if constrained:
        pairs[0, 1] = start[1] = False
    labels, score = np.empty(data.n_tokens, np.int32), np.empty(len(data.offsets) - 1)
    latent.best_paths(
        p.transitions,
        p.emissions + p.norms[:, :, None],
        pairs,
        start,
        end,
        p.offsets,
        labels,
        score,
    )
    for a, paths in Enumeration(data, scorer, vector, local).chains:
        legal = [
            (prob, y)
            for _, y, prob in paths
            if not constrained
            or ((not y or start[y[0]]) and all(pairs[i, j] for i, j in itertools.pairwise(y)))
        ]
        best = max(legal)[1]
        assert labels[a : a + len(best)].tolist() == list(best)
