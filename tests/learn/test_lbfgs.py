"""L-BFGS and OWL-QN against problems with known answers and against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

from skipchain.learn.lbfgs import minimize


def logistic(seed, rows=60, columns=8):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    y = np.sign(x @ rng.normal(size=columns) + 0.5 * rng.normal(size=rows))

    def function(w):
        margin = y * (x @ w)
        loss = np.logaddexp(0.0, -margin).sum() + 0.1 * w @ w
        gradient = -x.T @ (y / (1.0 + np.exp(margin))) + 0.2 * w
        return float(loss), gradient

    return function, columns


@pytest.mark.parametrize("seed", range(4))
def test_reaches_the_minimum_that_scipy_finds(seed):
    function, size = logistic(seed)
    ours = minimize(function, np.zeros(size), tolerance=0.0, max_iterations=300)
    theirs = scipy_minimize(function, np.zeros(size), jac=True, method="L-BFGS-B", tol=1e-14)
    np.testing.assert_allclose(ours.vector, theirs.x, atol=1e-5)
    np.testing.assert_allclose(ours.loss, theirs.fun, rtol=1e-10)


def test_a_known_diagonal_saves_iterations_where_scales_differ():
    scales = np.logspace(-1.5, 1.5, 200)

    def bowl(x):
        return float((scales * (x - 1.0) ** 2).sum()), 2.0 * scales * (x - 1.0)

    plain = minimize(bowl, np.zeros(200), tolerance=1e-9)
    found = minimize(bowl, np.zeros(200), tolerance=1e-9, curvature=lambda: 2.0 * scales)
    assert found.loss < 1e-6
    assert found.iterations < plain.iterations / 2


def test_minimises_a_curved_valley():
    def rosenbrock(x):
        a, b = x
        value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
        return value, np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])

    found = minimize(rosenbrock, np.array([-1.2, 1.0]), tolerance=0.0, max_iterations=200)
    np.testing.assert_allclose(found.vector, [1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("l1", [0.5, 2.0, 8.0])
def test_owlqn_meets_the_conditions_of_optimality(l1):
    function, size = logistic(7)
    found = minimize(function, np.zeros(size), l1=l1, tolerance=0.0, max_iterations=500)
    _, gradient = function(found.vector)
    zero = found.vector == 0.0
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(found.vector[~zero]), atol=1e-3)
    assert (np.abs(gradient[zero]) <= l1 + 1e-3).all()


def test_owlqn_of_a_separable_problem_is_soft_thresholding():
    goal = np.array([3.0, -0.2, 0.0, -5.0, 1.0])

    def function(x):
        return float(0.5 * (x - goal) @ (x - goal)), x - goal

    found = minimize(function, np.zeros(5), l1=1.0, tolerance=0.0)
    np.testing.assert_allclose(found.vector, [2.0, 0.0, 0.0, -4.0, 0.0], atol=1e-6)


def test_a_large_penalty_leaves_nothing():
    function, size = logistic(1)
    found = minimize(function, np.zeros(size), l1=1e4)
    assert not found.vector.any()
    assert found.iterations == 0


def test_stops_for_each_of_its_reasons():
    function, size = logistic(2)
    start = np.zeros(size)
    assert minimize(function, start, max_iterations=2).reason == "2 iterations"
    assert "less than 0.01" in minimize(function, start, tolerance=0.01, period=2).reason
    assert minimize(function, start, callback=lambda step: step.iteration == 3).iterations == 3
    assert "vanished" in minimize(lambda x: (0.0, np.zeros(2)), np.zeros(2)).reason


def test_an_interrupt_keeps_what_was_reached():
    function, size = logistic(3)

    def interrupt(step):
        if step.iteration == 4:
            raise KeyboardInterrupt

    found = minimize(function, np.zeros(size), callback=interrupt)
    assert found.reason == "interrupted"
    assert found.loss == pytest.approx(function(found.vector)[0])
    assert found.loss < function(np.zeros(size))[0]


def test_the_callback_sees_falling_losses_and_the_start_is_left_alone():
    function, size = logistic(4)
    start = np.ones(size)
    losses = []
    minimize(function, start, callback=lambda step: losses.append(step.loss))
    assert losses == sorted(losses, reverse=True)
    assert (start == 1.0).all()


def test_gives_up_where_no_step_helps():
    found = minimize(lambda x: (float(np.abs(x).sum()), -np.ones(1)), np.zeros(1))
    assert found.reason == "no step lowers the loss further"
