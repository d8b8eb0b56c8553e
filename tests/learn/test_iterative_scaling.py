"""Iterative scaling against its plain version, step by step, and what it is not for."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain import CRF, MEMM, Corpus, MaxEnt, SkipChainCRF
from skipchain.chains.curvature import classifier_inputs
from skipchain.chains.feature_counts import FeatureCounts
from skipchain.chains.learn import ChainProblem, batch_objective
from skipchain.errors import FeatureError, ParameterError
from skipchain.learn import iterative_scaling, lbfgs
from skipchain.learn.solvers import GIS, LBFGS
from skipchain.parallel import Workers
from tests.learn.test_newton import dataset, draw
from tests.oracles.iterative_scaling import scaling_steps

TEMPLATES = ["word", "word\nvalue(n)\nlabel[-1] & word"]


def positive(data):
    """The data with the sizes of all values: templates centre them."""
    rows = data.rows
    tokens, bundles, edges = (
        replace(own, values=np.abs(own.values)) for own in (rows.tokens, rows.bundles, rows.edges)
    )
    return replace(data, rows=replace(rows, tokens=tokens, bundles=bundles, edges=edges))


def events_of(data, features, labels, order):
    """The events of the plain version, whose features are (input, label) pairs that occur."""
    inputs = classifier_inputs(data, labels, order).toarray()
    events = []
    for x, gold in zip(inputs, data.labels.tolist(), strict=True):
        outcomes = [[x[d] if j == label else 0.0 for d, j in features] for label in range(labels)]
        events.append((outcomes, gold))
    return events


def scaled(data, order, boundaries, iterations):
    """The vectors and losses after each iteration, and the layout of the vector as pairs."""
    problem = ChainProblem(data, 3, order=order, local=True, l2=0.0, boundaries=boundaries)
    steps = []
    with Workers(1) as workers:
        objective = batch_objective(problem, workers, observed=True)
        scorer = objective.scorer
        found = FeatureCounts.of(data, scorer)
        iterative_scaling.minimize(
            objective, np.zeros(scorer.size), counts=found.counts, largest_sum=found.largest_sum,
            events=found.events, max_iterations=iterations, tolerance=0.0,
            callback=lambda step: steps.append((step.vector, step.loss)),
        )  # fmt: skip
        places = np.arange(1.0, 1.0 + scorer.size)
        table = scorer.weights(places).vector.reshape(-1, 3)
    where = {int(place): (d, j) for (d, j), place in np.ndenumerate(table) if place}
    return steps, [where[place] for place in range(1, 1 + scorer.size)], found


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("templates", TEMPLATES)
def test_every_step_is_that_of_the_plain_version(order, boundaries, templates):
    data = positive(dataset(draw(3, [4, 1, 0, 3, 2, 5]), templates))
    steps, places, found = scaled(data, order, boundaries, 12)
    kept = [place for place, count in zip(places, found.counts, strict=True) if count > 0]
    plain = list(scaling_steps(events_of(data, kept, 3, order), 12))
    assert len(steps) == 12
    for (vector, loss), (weights, plain_loss) in zip(steps, plain, strict=True):
        # the correction feature's weight is taken off all others, which is the same distribution
        np.testing.assert_allclose(
            vector[found.counts > 0], np.array(weights[:-1]) - weights[-1], atol=1e-10
        )
        assert loss == pytest.approx(plain_loss, rel=1e-10)
        assert (vector[found.counts == 0] == 0.0).all()
    assert any(weights[-1] != 0.0 for weights, _ in plain)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(TEMPLATES), st.integers(1, 2))
def test_the_likelihood_never_falls(seed, templates, order):
    data = positive(dataset(draw(seed, [3, 1, 4, 2]), templates))
    steps, _, _ = scaled(data, order, True, 30)
    losses = [data.n_tokens * np.log(3), *(loss for _, loss in steps)]
    # a step that does not help ends it, so all of them must have been taken, or the minimum reached
    assert len(steps) == 30 or np.ptp(losses[-2:]) < 1e-9
    assert all(after < before for before, after in itertools.pairwise(losses))


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (MaxEnt, {}),
        (MEMM, {}),
        (MEMM, {"order": 2}),
        (MEMM, {"order": 3}),
        (MEMM, {"boundaries": False}),
    ],
)
def test_reaches_the_minimum_of_lbfgs(kind, settings):
    rng = np.random.default_rng(5)
    x = [rng.uniform(size=(5, 3)) * [1.0, 1.0, 3.0] for _ in range(60)]
    y = [[f"L{k}" for k in rng.integers(0, 3, 5)] for _ in x]
    exact = LBFGS(tolerance=0.0, max_iterations=500)
    gis, lbfgs = (
        kind(solver=solver, l2=0.0, **settings).fit(x, y)
        for solver in (GIS(tolerance=1e-8, max_iterations=20_000), exact)
    )
    assert gis.result_.loss == pytest.approx(lbfgs.result_.loss, rel=1e-4)


def test_where_all_sums_are_equal_there_is_nothing_to_correct():
    data = dataset(draw(3, [4, 3]), "word")
    steps, _, found = scaled(data, 1, False, 3)
    assert found.largest_sum == 2.0  # word and label before; the first tokens lack the latter
    assert len(steps) == 3
    words, gold = [["a"]] * 3 + [["b"]] * 3, [["L0"], ["L0"], ["L1"], ["L1"], ["L1"], ["L0"]]
    single = Corpus.of(words, gold, scheme="none")
    fitted = MaxEnt("word", solver="gis", l2=0, tolerance=1e-8).fit(single)
    assert fitted.result_.loss == pytest.approx(4 * np.log(1.5) + 2 * np.log(3), rel=1e-5)


def test_a_start_far_off_is_scaled_back():
    """Where the model expects next to nothing of what was observed, steps stay finite."""

    def function(x):
        p = 1 / (1 + np.exp(-x[0]))
        return float(-2 * np.log(p) - np.log1p(-p)), np.array([3 * p - 2])

    start = np.array([-60.0])
    counts = {"counts": np.array([2.0]), "largest_sum": 1.0, "events": 3}
    fitted = iterative_scaling.minimize(function, start, **counts)
    np.testing.assert_allclose(np.exp(fitted.vector), 2.0, rtol=1e-3)


def test_ends_where_no_step_lowers_the_loss():
    counts = {"counts": np.array([2.0]), "largest_sum": 1.0, "events": 3}
    found = iterative_scaling.minimize(lambda x: (1.0, np.ones(1)), np.zeros(1), **counts)
    assert (found.iterations, found.reason) == (0, "no step lowers the loss further")


@pytest.mark.parametrize(
    ("attempt", "error", "told"),
    [
        (
            lambda c: CRF("word", solver="gis", l2=0.0).fit(c),
            ParameterError,
            "'gis' is for MaxEnt and MEMM; use 'lbfgs' for CRF",
        ),
        (
            lambda c: SkipChainCRF("word", solver="gis", l2=0.0).fit(c),
            ParameterError,
            "'gis' is for MaxEnt and MEMM; use 'lbfgs' for SkipChainCRF",
        ),
        (
            lambda c: MEMM("word", solver="gis").fit(c),
            ParameterError,
            r"without a penalty, and l2 is 0.2; use l2=0, or solver='lbfgs'",
        ),
        (
            lambda c: MEMM("word", solver="gis", l2=0.0, objective="marginal").fit(c),
            ParameterError,
            "needs solver='lbfgs', not 'gis'",
        ),
        (
            lambda c: MEMM(solver="gis", l2=0.0).fit([[["a"], ["b"]]], [["A", None]]),
            ParameterError,
            "partial labels need solver='lbfgs', not 'gis'",
        ),
        (
            lambda c: MEMM("word", solver="gis", l2=0.0, pairs="all").fit(c),
            ParameterError,
            "pairs is for solver sgd",
        ),
        (
            lambda c: MEMM("word", solver="gis", l2=0.0).partial_fit(c),
            ParameterError,
            "takes stochastic steps",
        ),
        (
            lambda c: MaxEnt("word\nvalue(n)", solver="gis", l2=0.0).fit(
                Corpus.of([["a", "b"]], [["A", "B"]], n=[["1", "-1"]], scheme="none")
            ),
            FeatureError,
            r"token 1: feature value -1 is below 0, .* give others, or use solver='lbfgs'",
        ),
    ],
)
def test_what_it_is_not_for_is_said(attempt, error, told):
    with pytest.raises(error, match=told):
        attempt(draw(1, [3]))


def test_lbfgs_on_the_same_features_is_no_better():
    """The reference of the reproduction: L-BFGS that moves only what occurs."""
    data = dataset(draw(7, [4] * 5), "word")
    problem = ChainProblem(data, 3, local=True, l2=0.0)
    with Workers(1) as workers:
        objective = batch_objective(problem, workers, observed=True)
        found = FeatureCounts.of(data, objective.scorer)
        kept = found.counts > 0

        def function(x):
            loss, gradient = objective(x)
            return loss, np.where(kept, gradient, 0.0)

        start = np.zeros(objective.scorer.size)
        facts = {"counts": found.counts, "largest_sum": found.largest_sum, "events": found.events}
        gis = iterative_scaling.minimize(
            objective, start, **facts, tolerance=1e-10, max_iterations=30_000
        )
        best = lbfgs.minimize(function, start, tolerance=0.0)
    assert best.loss <= gis.loss * (1 + 1e-9)
