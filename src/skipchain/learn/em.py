"""Expectation–maximisation: a distribution over what is hidden, then the best vector for it."""

from __future__ import annotations

from collections.abc import Callable

from skipchain.arrays import Floats
from skipchain.learn.lbfgs import minimize
from skipchain.learn.line_search import Objective
from skipchain.learn.step import INTERRUPTED


def expectation_maximisation(
    expect: Callable[[Floats, float], Objective],
    start: Floats,
    *,
    iterations: int,
    steps: int,
    initial_inverse_temperature: float = 1.0,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Floats, int]:
    """The vector after some iterations, and how often a function was called.

    ``expect(x, power)`` finds the distribution of what is hidden at x and gives the function to be
    minimised under it; L-BFGS then takes up to ``steps`` steps. With a
    ``initial_inverse_temperature`` below one the distributions are flatter at first (deterministic
    annealing): the power rises to one in the first half of the iterations. ``stop`` is asked before
    each iteration.

    >>> import numpy as np
    >>> def expect(x, power):  # the mean of a number and of what the last x makes of it
    ...     goal = (x + 3.0) / 2.0
    ...     return lambda x: (float((x - goal) @ (x - goal)), 2 * (x - goal))
    >>> vector, _ = expectation_maximisation(expect, np.zeros(1), iterations=20, steps=5)
    >>> float(vector.round(3)[0])
    3.0
    """
    vector, evaluations = start, 0
    for number in range(iterations):
        if stop():
            break
        risen = min(1.0, number / max(1.0, iterations / 2.0))
        function = expect(vector, initial_inverse_temperature ** (1.0 - risen))
        result = minimize(function, vector, max_iterations=steps, tolerance=1e-6, period=5)
        if result.reason == INTERRUPTED:
            raise KeyboardInterrupt
        vector = result.vector
        evaluations += result.evaluations + 1
    return vector, evaluations
