"""Newton's method, and the second derivatives that it goes by."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, MaxEnt
from skipchain.chains import learn
from skipchain.chains.curvature import LocalHessian
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood
from skipchain.chains.scorer import LinearScorer
from skipchain.errors import ParameterError
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.newton import minimize
from skipchain.parallel import Workers

WORDS = ["Ada", "Bo", "ran"]
EXACT = {"solver": "lbfgs", "tolerance": 0.0, "max_iterations": 500}


def draw(seed, lengths, labels=3):
    rng = np.random.default_rng(seed)
    words = [[WORDS[k] for k in rng.integers(0, len(WORDS), length)] for length in lengths]
    gold = [[f"L{k}" for k in rng.integers(0, labels, length)] for length in lengths]
    numbers = [[str(x) for x in rng.normal(size=length).round(2)] for length in lengths]
    return Corpus.of(words, gold, n=numbers, scheme="none")


def dataset(corpus, templates):
    _, rows = Vocabulary.fit(corpus, Templates.parse(templates))
    return Dataset(rows, corpus.sentences, corpus.labels.codes.astype(np.int32))


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.parametrize("boundaries", [True, False])
@pytest.mark.parametrize("templates", ["word", "word\nvalue(n)\nlabel[-1] & word"])
def test_second_derivatives_equal_differences_of_gradients(order, observed, boundaries, templates):
    data = dataset(draw(3, [4, 1, 0, 3, 2]), templates)
    with Workers(1) as workers:
        scorer = LinearScorer(
            data, 3, observed=observed, boundaries=boundaries, workers=workers, order=order
        )
        objective = ConditionalLikelihood(data, scorer, workers, local=True, l2=0.2)
        curvature = LocalHessian(data, scorer, workers, l2=0.2)
        vector = np.random.default_rng(0).normal(size=scorer.size)
        found = curvature(vector)
        step = 1e-5
        for k in range(scorer.size):
            moved = np.zeros(scorer.size)
            moved[k] = step
            change = objective(vector + moved)[1] - objective(vector - moved)[1]
            np.testing.assert_allclose(found[k], change / (2 * step), atol=1e-7)


SETTINGS = [
    (MaxEnt, {}),
    (MaxEnt, {"pairs": "all"}),
    (MEMM, {}),
    (MEMM, {"dependent": True}),
    (MEMM, {"order": 2, "pairs": "all", "boundaries": False}),
]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_equals_lbfgs(kind, settings):
    corpus = draw(5, [5] * 40)
    settings = {"features": "word\nvalue(n)", "l2": 0.1, **settings}
    newton = kind(solver="newton", **settings).fit(corpus)
    lbfgs = kind(**EXACT, **settings).fit(corpus)
    assert newton.result_.iterations < 15
    assert newton.result_.reason == "the gradient vanished"
    # L-BFGS ends where rounding hides what a further step would gain
    np.testing.assert_allclose(newton.model_.weights.vector, lbfgs.model_.weights.vector, atol=1e-5)
    assert newton.result_.loss == pytest.approx(lbfgs.result_.loss, rel=1e-12)
    again = kind(solver="newton", **settings).fit(corpus, start=newton)
    assert again.result_.iterations == 0


def test_label_ngrams_of_high_orders_are_learnt():
    corpus = draw(5, [5] * 40)
    settings = {"features": "word", "l2": 0.1, "order": 4}
    newton = MEMM(solver="newton", **settings).fit(corpus)
    lbfgs = MEMM(**EXACT, **settings).fit(corpus)
    assert newton.result_.loss == pytest.approx(lbfgs.result_.loss, rel=1e-12)


def test_a_flat_direction_is_no_obstacle():
    """Without a penalty, adding to all weights of a feature changes nothing."""
    corpus = draw(5, [5] * 40)
    newton, lbfgs = (
        MEMM("word\nvalue(n)", l2=0.0, pairs="all", **own).fit(corpus)
        for own in ({"solver": "newton"}, EXACT)
    )
    assert newton.result_.loss == pytest.approx(lbfgs.result_.loss, rel=1e-9)
    assert np.isfinite(newton.model_.weights.vector).all()


def test_the_search_shortens_steps_that_lead_too_far():
    """A full step of Newton's method diverges on √(1 + x²) from beyond 1."""

    def function(x):
        return float(np.sqrt(1 + x @ x)), x / np.sqrt(1 + x @ x)

    found = minimize(function, lambda x: np.eye(1) * (1 + x @ x) ** -1.5, np.array([3.0]))
    np.testing.assert_allclose(found.vector, 0.0, atol=1e-7)


def test_stops_for_each_of_its_reasons():
    def function(x):
        return float((x**4).sum()), 4 * x**3

    def curvature(x):
        return np.diag(12 * x**2)

    start = np.ones(2)
    assert minimize(function, curvature, start, max_iterations=2).reason == "2 iterations"
    assert minimize(function, curvature, start, callback=lambda s: s.iteration == 3).iterations == 3
    assert (start == 1.0).all()

    def interrupt(step):
        raise KeyboardInterrupt

    found = minimize(function, curvature, start, callback=interrupt)
    assert (found.reason, found.iterations) == ("interrupted", 1)
    wrong = minimize(lambda x: (float(np.abs(x).sum()), -np.ones(1)), curvature, np.zeros(1))
    assert wrong.reason == "no step lowers the loss further"
    nothing = minimize(lambda x: (np.nan, x * np.nan), lambda x: np.eye(1) * np.nan, np.ones(1))
    assert nothing.iterations == 0


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (lambda c: CRF("word", solver="newton").fit(c), "for MaxEnt and MEMM; use 'lbfgs' for"),
        (
            lambda c: MEMM("word", solver="newton", l1=1.0).fit(c),
            "l1 is for solver lbfgs, not for newton",
        ),
        (
            lambda c: MEMM("word", solver="newton", objective="marginal").fit(c),
            "needs solver='lbfgs'",
        ),
        (
            lambda c: MEMM(solver="newton").fit([[["a"], ["b"]]], [["A", None]]),
            "partial labels need solver='lbfgs'",
        ),
        (lambda c: MEMM("word", solver="newton").partial_fit(c), "takes stochastic steps"),
    ],
)
def test_what_it_is_not_for_is_said(attempt, told):
    with pytest.raises(ParameterError, match=told):
        attempt(draw(1, [3]))


def test_too_many_weights_are_refused(monkeypatch):
    monkeypatch.setattr(learn, "MAX_DENSE", 20)
    with pytest.raises(ParameterError, match=r"up to 20 weights, and there would be 24; use"):
        MEMM("word", solver="newton", pairs="all").fit(draw(1, [30]))
