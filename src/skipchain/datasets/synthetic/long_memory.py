"""A problem that needs both memory without an end and a pattern of labels far apart."""

from __future__ import annotations

import numpy as np

from skipchain.datasets.synthetic.problem import Problem, one_hot

INPUTS = "01SR"
INPUT_PROBABILITIES = (0.3, 0.3, 0.1, 0.3)
LENGTH = 50
LAG = 5


def long_memory(seed: int, *, train: int = 100, test: int = 100, length: int = LENGTH) -> Problem:
    """Sequences of 50 inputs 0, 1, S, R (one-hot, in this order), and labels 0 and 1.

    0 and 1 are their own labels. S (store) has the label of the place five steps before it, and 0
    where there is none. R (recall) has that of the last S, however long ago it was, and 0 before
    the first. What S stores only the labels tell, and they hold it for five steps only: hidden
    states need 32 times as many of them to know it. What R recalls no window is long enough for.

    >>> problem = long_memory(0)
    >>> len(problem.train_x), len(problem.test_x), problem.train_x[0].shape
    (100, 100, (50, 4))
    >>> "".join(long_memory_labels("R1001RSRR0SR"))
    '010010111000'
    """
    rng = np.random.default_rng(seed)
    drawn = rng.choice(list(INPUTS), p=INPUT_PROBABILITIES, size=(train + test, length)).tolist()
    return Problem.of(
        [one_hot(own, INPUTS) for own in drawn], list(map(long_memory_labels, drawn)), train
    )


def long_memory_labels(inputs: str | list[str]) -> list[str]:
    """The labels of a sequence of inputs."""
    held = "0"
    found: list[str] = []
    for place, one in enumerate(inputs):
        if one == "S":
            held = found[place - LAG] if place >= LAG else "0"
        found.append(one if one in "01" else held)
    return found
