"""Conjugate gradients and gradient descent: known minima, every model, and the reasons to end."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, MEMM, MaxEnt, MoPMEMM
from skipchain.learn import conjugate_gradient, gradient_descent
from skipchain.learn.line_search import Point, backtracking, strong_wolfe_search, wolfe_search
from skipchain.learn.solvers import LBFGS, ConjugateGradient, GradientDescent
from tests.learn.test_lbfgs import logistic
from tests.learn.test_newton import draw

OPTIMISERS = [conjugate_gradient.minimize, gradient_descent.minimize]
SOLVERS = [ConjugateGradient, GradientDescent]


@pytest.mark.parametrize("minimize", OPTIMISERS)
@pytest.mark.parametrize("seed", range(3))
def test_reaches_the_minimum(minimize, seed):
    from skipchain.learn.lbfgs import minimize as by_lbfgs

    function, size = logistic(seed)
    found = minimize(function, np.zeros(size), tolerance=0.0, max_iterations=2000)
    best = by_lbfgs(function, np.zeros(size), tolerance=0.0)
    np.testing.assert_allclose(found.vector, best.vector, atol=1e-5)


def test_conjugate_gradients_cross_a_narrow_bowl():
    scales = np.logspace(0.0, 3.0, 6)

    def bowl(x):
        return float((scales * (x - 1.0) ** 2).sum()), 2.0 * scales * (x - 1.0)

    settings = {"tolerance": 0.0, "max_iterations": 400}
    conjugate = conjugate_gradient.minimize(bowl, np.zeros(6), **settings)
    steepest = gradient_descent.minimize(bowl, np.zeros(6), **settings)
    assert conjugate.loss < 1e-12
    assert conjugate.iterations < 100
    assert steepest.loss > 1e3 * conjugate.loss


def test_minimises_a_curved_valley():
    def rosenbrock(x):
        a, b = x
        value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
        return value, np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])

    start = np.array([-1.2, 1.0])
    found = conjugate_gradient.minimize(rosenbrock, start, tolerance=0.0, max_iterations=300)
    np.testing.assert_allclose(found.vector, [1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("search", [wolfe_search, strong_wolfe_search, backtracking])
@pytest.mark.parametrize("size", [1e-4, 1e-2, 1.0, 50.0])
def test_line_searches_find_a_lower_point(search, size):
    def function(x):
        return float(np.logaddexp(0.0, -x).sum() + 0.05 * x @ x), -1 / (1 + np.exp(x)) + 0.1 * x

    start = np.zeros(3)
    at = Point(start, *function(start))
    found = search(function, at, -at.gradient, size)
    fall = -float(at.gradient @ at.gradient)
    assert found.accepted
    assert found.loss <= at.loss + 1e-4 * found.size * fall
    np.testing.assert_allclose(found.vector, -found.size * at.gradient)
    slope = float(-found.gradient @ at.gradient)
    if search is strong_wolfe_search:
        assert abs(slope) <= -0.1 * fall
    elif search is wolfe_search:
        assert slope >= 0.9 * fall


@pytest.mark.parametrize("search", [wolfe_search, strong_wolfe_search, backtracking])
def test_line_searches_give_up(search):
    at = Point(np.zeros(1), 0.0, -np.ones(1))
    found = search(lambda x: (float(np.abs(x).sum()), -np.ones(1)), at, np.ones(1), 1.0)
    assert (found.accepted, found.trials) == (False, 30)


@pytest.mark.parametrize("minimize", OPTIMISERS)
def test_stops_for_each_of_its_reasons(minimize):
    def function(x):
        return float((x**4).sum()), 4 * x**3

    start = np.ones(2) * 3.0
    assert minimize(function, start, max_iterations=2).reason == "2 iterations"
    assert minimize(function, start, callback=lambda s: s.iteration == 2).reason == "stopped early"
    assert (start == 3.0).all()
    assert minimize(function, np.zeros(2)).reason == "the gradient vanished"
    slow = minimize(function, start, tolerance=0.5, period=1)
    assert slow.reason == "the loss fell by less than 0.5 in 1 iterations"

    def interrupt(step):
        raise KeyboardInterrupt

    found = minimize(function, start, callback=interrupt)
    assert (found.reason, found.iterations) == ("interrupted", 1)
    wrong = minimize(lambda x: (float(np.abs(x).sum()), -np.ones(1)), np.zeros(1))
    assert wrong.reason == "no step lowers the loss further"


@pytest.mark.parametrize("minimize", OPTIMISERS)
def test_passes_are_counted(minimize):
    calls, told = [], []

    def function(x):
        calls.append(1)
        return float((x**4).sum()), 4 * x**3

    found = minimize(function, np.ones(2), callback=lambda s: told.append(s.evaluations))
    assert found.evaluations == told[-1] == len(calls)


def test_a_search_that_fails_begins_afresh():
    """A jump of the gradient misleads the conjugate direction; the steepest leads down."""

    def function(x):
        return float(abs(x[0]) + 10 * abs(x[1])), np.array([1.0, 10.0]) * np.sign(x)

    found = conjugate_gradient.minimize(function, np.array([3.0, 1.3]), max_iterations=50)
    assert found.loss < 16.0
    assert np.isfinite(found.vector).all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (MaxEnt, {}),
        (MEMM, {"dependent": True}),
        (MEMM, {"objective": "marginal"}),
        (CRF, {}),
        (CRF, {"order": 2, "pairs": "all"}),
        (CRF, {"order": 3}),
        (CRF, {"objective": "marginal"}),
    ],
)
def test_equals_lbfgs(solver, kind, settings):
    corpus = draw(5, [5] * 20)
    own = {name: settings.pop(name) for name in ("pairs",) if name in settings}
    settings = {"features": "word\nvalue(n)", "l2": 0.3, **settings}
    how = {"tolerance": 1e-9, "max_iterations": 5000, **own}
    found, lbfgs = (kind(solver=own(**how), **settings).fit(corpus) for own in (solver, LBFGS))
    assert found.result_.loss == pytest.approx(lbfgs.result_.loss, rel=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_partial_labels(solver):
    x = [[["a"], ["b"]], [["b"], ["a"]]] * 4
    y = [["A", None], ["B", "A"]] * 4
    settings = {"tolerance": 1e-8, "max_iterations": 3000}
    found, lbfgs = (CRF(solver=own(**settings)).fit(x, y) for own in (solver, LBFGS))
    assert found.result_.loss == pytest.approx(lbfgs.result_.loss, rel=1e-4)


def test_joint_training_of_linked_labels_keeps_the_tolerance():
    mop = MoPMEMM(solver=ConjugateGradient(tolerance=1e-7), objective="marginal")
    assert mop._joint_solver == LBFGS(tolerance=1e-7)
