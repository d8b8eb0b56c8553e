"""Toy problem 1: an input whose label depends on the label three steps earlier."""

from __future__ import annotations

import numpy as np

from skipchain.datasets.synthetic.machine import StateMachine
from skipchain.datasets.synthetic.problem import Problem, one_hot

INPUTS = "12345"
LENGTH = 50

# Runs of Q, and between them ABCD or BCE, as often the one as the other.
MACHINE = StateMachine(
    {
        "Q": {"Q": 0.93, "A": 0.035, "B2": 0.035},
        "A": {"B1": 1.0},
        "B1": {"C1": 1.0},
        "C1": {"D": 1.0},
        "D": {"Q": 1.0},
        "B2": {"C2": 1.0},
        "C2": {"E": 1.0},
        "E": {"Q": 1.0},
    }
)
INPUT = {"A": "1", "B": "2", "C": "3", "Q": "4", "D": "5", "E": "5"}


def toy1(seed: int, *, train: int = 100, test: int = 100) -> Problem:
    """Sequences of 50 labels: runs of Q, and in between ABCD or BCE.

    The input is one of five, one-hot. Each label has its input, but D and E share the fifth: which
    of them it is depends on whether A came before BC. Every sequence begins with Q, and is cut off
    after 50 labels.

    >>> problem = toy1(0)
    >>> len(problem.train_x), len(problem.test_x), problem.train_x[0].shape
    (100, 100, (50, 5))
    >>> "".join(problem.train_y[0])
    'QQQQQQQQQQABCDQQQQQQQQQQQQQBCEQQQQQQQQQABCDQQQQQQQ'
    """
    rng = np.random.default_rng(seed)
    labels = [_labels(rng) for _ in range(train + test)]
    inputs = [one_hot([INPUT[label] for label in sequence], INPUTS) for sequence in labels]
    return Problem.of(inputs, labels, train)


def _labels(rng: np.random.Generator) -> list[str]:
    state, labels = "Q", ["Q"]
    while len(labels) < LENGTH:
        state = MACHINE.next(state, rng)
        labels.append(state[0])
    return labels
