"""Gains of templates against a plain second version that searches for every weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.induction import posteriors as module
from skipchain.induction.posteriors import FLOOR, Posteriors
from skipchain.kernels.gains import fit_feature, group_tokens
from tests.oracles import gains as oracle


def problem(seed, tokens=40, labels=3, features=4, folds=2, sharp=1.0):
    rng = np.random.default_rng(seed)
    scores = sharp * rng.normal(size=(tokens, labels))
    marginals = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    gold = rng.integers(labels, size=tokens)
    numbers = rng.integers(-1, features, size=tokens).astype(np.int32)
    return marginals, gold, rng.integers(folds, size=tokens), numbers


@pytest.fixture
def exact(monkeypatch):
    """Nothing is left out, and weights are fitted to the end."""
    monkeypatch.setattr(module, "LEAST", 0.0)
    monkeypatch.setattr(module, "TOLERANCE", 1e-7)


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("l2", [0.1, 1.0, 10.0])
def test_gains_are_those_of_a_plain_search(exact, labels, l2):
    for seed in range(5):
        marginals, gold, folds, numbers = problem(seed, labels=labels)
        held = Posteriors.of(marginals, gold, folds)
        wanted = oracle.cross_gain(numbers, folds, marginals, gold, l2)
        assert held.gain(numbers, 4, l2) == pytest.approx(wanted, abs=2e-3)


def fitted(marginals, gold, l2):
    """The weights of a feature that all tokens have, by the kernel."""
    held = Posteriors.of(marginals, gold, np.zeros(len(gold), np.int64))
    index = held.indptr, held.labels, held.probabilities, held.gold
    weights, scratch = np.zeros(marginals.shape[1]), np.zeros((4, marginals.shape[1]))
    members = np.arange(len(held.tokens))
    fit_feature(members, held.folds, -1, index, l2, 1e-9, weights, scratch)
    return weights


def test_of_two_labels_one_weight_says_all(exact):
    """p(1) depends on δ_1 − δ_0 alone: δ_1 = −δ_0 is half of one weight with half the penalty."""
    for seed in range(10):
        marginals, gold, _, _ = problem(seed, labels=2)
        weight = oracle.best_weight(marginals, gold, 1, 0.25)
        assert fitted(marginals, gold, 0.5) == pytest.approx([-weight / 2, weight / 2], abs=1e-4)


@pytest.mark.parametrize("power", [0.3, 0.7, 1.0, 2.0])
def test_calibration_finds_the_power(exact, power):
    """Labels drawn from probabilities, which are then raised to a power: it is found, inverted."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 3))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gold = (true.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    shown = true**power / (true**power).sum(axis=1, keepdims=True)
    held = Posteriors.of(shown, gold, np.arange(20_000) % 2)
    mended = held.calibrated()
    np.testing.assert_allclose(mended.probabilities.reshape(-1, 3), true, atol=0.02)
    assert mended.log_likelihood >= held.log_likelihood
    assert mended.calibrated().probabilities == pytest.approx(mended.probabilities, abs=1e-4)


def test_what_says_nothing_gains_nothing_from_models_that_are_too_sure():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(4000, 2))
    logits[:, 0] += 1.0
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gold = (true[:, 0] < rng.random(4000)).astype(np.int64)
    sure = true**4 / (true**4).sum(axis=1, keepdims=True)
    held = Posteriors.of(sure, gold, np.arange(4000) % 2)
    nothing = rng.integers(3, size=4000).astype(np.int32)
    assert held.gain(nothing, 3, 10.0) > 10.0
    assert held.calibrated().gain(nothing, 3, 10.0) < 3.0


def test_nothing_uncertain_needs_no_calibration():
    held = Posteriors.of(np.eye(2), np.arange(2), np.zeros(2, np.int64))
    assert held.calibrated() is held


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.5, 5.0]), st.sampled_from([1.0, 4.0, 12.0]))
def test_no_weights_are_better_than_those_fitted(seed, l2, sharp):
    """Also where probabilities are near 0 and 1, and steps would be too long."""
    marginals, gold, _, _ = problem(seed, tokens=8, sharp=sharp)
    marginals = np.maximum(marginals, FLOOR)
    marginals /= marginals.sum(axis=1, keepdims=True)
    kept = module.LEAST
    module.LEAST = 0.0
    try:
        found = fitted(marginals, gold, l2)
    finally:
        module.LEAST = kept

    def objective(weights):
        return oracle.log_likelihood(marginals, gold, weights) - l2 * np.sum(weights**2)

    best = oracle.best_weights(marginals, gold, l2)
    assert objective(found) >= objective(best) - 1e-3


def test_a_template_that_is_added_brings_its_gain(exact):
    marginals, gold, folds, numbers = problem(3)
    held = Posteriors.of(marginals, gold, folds)
    after = held.with_template(numbers, 4, 0.5)
    gain = held.gain(numbers, 4, 0.5)
    assert after.log_likelihood - held.log_likelihood == pytest.approx(gain)
    assert np.add.reduceat(after.probabilities, after.indptr[:-1]) == pytest.approx(1.0)


def test_features_of_one_fold_teach_nothing():
    marginals, gold, folds, _ = problem(0)
    held = Posteriors.of(marginals, gold, folds)
    assert held.gain(folds.astype(np.int32), 2, 0.1) == 0.0


def test_certain_tokens_are_left_out_and_new_labels_have_a_floor():
    marginals = np.array([[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [1.0, 0.0, 0.0]])
    held = Posteriors.of(marginals, np.array([0, 1, 2]), np.array([0, 0, 1]))
    assert held.tokens.tolist() == [1, 2]
    assert held.labels[held.gold].tolist() == [1, 2]
    assert held.probabilities[held.gold[1]] == pytest.approx(FLOOR, rel=1e-3)


def test_no_uncertain_token_has_no_gain():
    held = Posteriors.of(np.eye(2), np.array([0, 1]), np.array([0, 1]))
    numbers = np.zeros(2, np.int32)
    assert held.gain(numbers, 1, 1.0) == 0.0
    assert len(held.with_template(numbers, 1, 1.0).probabilities) == 0


def test_tokens_are_grouped_by_number():
    order, bounds = group_tokens(np.array([2, -1, 0, 2], np.int32), 3)
    assert order.tolist() == [2, 0, 3]
    assert bounds.tolist() == [0, 1, 1, 3]
