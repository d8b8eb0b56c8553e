"""Sequences for training and for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats

Inputs = list[Floats]
Labels = list[list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Inputs, one array [T, D] a sequence, and labels, for training and for testing."""

    train_x: Inputs
    train_y: Labels
    test_x: Inputs
    test_y: Labels

    @classmethod
    def of(cls, x: Inputs, y: Labels, train: int) -> Problem:
        """The first ``train`` sequences are for training, the others for testing."""
        return cls(x[:train], y[:train], x[train:], y[train:])

    def with_bias(self) -> Problem:
        """The problem with a last column of ones, for models that have no bias.

        >>> problem = Problem.of([np.eye(2), np.eye(2)], [["A", "B"], ["A", "B"]], train=1)
        >>> problem.with_bias().train_x
        [array([[1., 0., 1.],
               [0., 1., 1.]])]
        """
        return replace(self, train_x=_with_ones(self.train_x), test_x=_with_ones(self.test_x))


def one_hot(names: Sequence[str], known: Sequence[str]) -> Floats:
    """A row for each name, with a one in the name's column. [T, D]

    >>> one_hot("BA", "AB")
    array([[0., 1.],
           [1., 0.]])
    """
    return np.eye(len(known))[[known.index(name) for name in names]]


def draw_symbols(
    seed: int, symbols: str, probabilities: Sequence[float], size: tuple[int, int]
) -> list[list[str]]:
    """Sequences of independent symbols: their number and length are ``size``."""
    rng = np.random.default_rng(seed)
    drawn: list[list[str]] = rng.choice(list(symbols), p=probabilities, size=size).tolist()
    return drawn


def _with_ones(inputs: Inputs) -> Inputs:
    return [np.hstack([array, np.ones((len(array), 1))]) for array in inputs]
