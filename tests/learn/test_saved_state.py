"""An optimiser that goes on from any iteration ends as if it had never stopped."""

from __future__ import annotations

import re

import numpy as np
import pytest

from skipchain.errors import ModelFileError
from skipchain.learn import lbfgs
from skipchain.learn.epochs import run_epochs
from skipchain.learn.saved_state import SavedState, Trail


class Cut(Exception):
    """The end of a process, as far as an optimiser is concerned."""


def cut_at(number, states):
    """What keeps the state after so many iterations, and ends there."""
    calls = iter(range(1, number + 1))

    def keep(state):
        if next(calls) == number:
            states.append(state())
            raise Cut

    return keep


def ended_and_resumed(minimise, most=1000):
    """The result from each iteration on, and the one without an end."""
    whole = minimise(None)
    for number in range(1, most):
        states = []
        try:
            minimise(Trail(cut_at(number, states)))
        except Cut:
            yield whole, minimise(Trail(lambda state: None, states[0]))
        else:
            assert number > 3  # else it hardly began
            return


def rosenbrock(x):
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    return float(value), np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])


@pytest.mark.parametrize("l1", [0.0, 0.1])
@pytest.mark.parametrize("scaled", [False, True])
def test_lbfgs_goes_on_from_every_iteration_with_the_same_bits(l1, scaled):
    last = []

    def noting(x):
        last[:] = [x]
        return rosenbrock(x)

    def curvature():  # as of a loss, where it was computed last
        return np.abs(last[0]) + 1.0

    def minimise(trail):
        return lbfgs.minimize(
            noting,
            np.array([-1.2, 1.0]),
            l1=l1,
            tolerance=1e-12,
            max_iterations=45,
            curvature=curvature if scaled else None,
            trail=trail,
        )

    for whole, resumed in ended_and_resumed(minimise):
        assert resumed.vector.tobytes() == whole.vector.tobytes()
        assert (resumed.loss, resumed.iterations, resumed.evaluations, resumed.reason) == (
            whole.loss, whole.iterations, whole.evaluations, whole.reason
        )  # fmt: skip


class Walk:
    """A learner whose steps are random."""

    def __init__(self):
        self.x = np.zeros(3)

    def step(self, done):
        self.x += np.sin(self.x + done + 1.0)
        return float(self.x.sum())

    def state(self):
        return SavedState({}, {"x": self.x.copy()})

    def restore(self, saved):
        self.x[:] = saved.array("x", np.float64, 3)


@pytest.mark.parametrize("average_from", [0.0, 0.5, 1.0])
def test_epochs_go_on_with_the_same_average(average_from):
    def minimise(trail):
        walk = Walk()
        if trail is not None:
            trail = trail.having(walk=walk)
        return run_epochs(walk.step, lambda: walk.x, 8, average_from=average_from, trail=trail)

    for whole, resumed in ended_and_resumed(minimise):
        assert resumed.vector.tobytes() == whole.vector.tobytes()
        assert (resumed.loss, resumed.iterations) == (whole.loss, whole.iterations)


STATE = SavedState({"n": -1, "t": 3, "x": "y"}, {"a": np.zeros(3), "b": np.zeros(2, np.int32)}, "f")


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda s: s.whole("n"), "n is not a whole number"),
        (lambda s: s.whole("none"), "none is not a whole number"),
        (lambda s: s.whole("t", 2), "t is not a whole number"),
        (lambda s: s.number("x"), "x is not a number"),
        (lambda s: s.text("t"), "t is not a text"),
        (lambda s: s.array("c", np.float64, 3), "c is not float64 with 1 dimensions"),
        (lambda s: s.array("b", np.float64, 2), "b is not float64 with 1 dimensions"),
        (lambda s: s.array("a", np.float64, 3, 1), "a is not float64 with 2 dimensions"),
        (lambda s: s.array("a", np.float64, 4), "a is not of the shape (4,), but (3,)"),
    ],
)
def test_a_state_of_another_form_is_refused(ask, told):
    with pytest.raises(ModelFileError, match=re.escape(f"f: the checkpoint is damaged: {told}")):
        ask(STATE)
