"""A problem that needs both unbounded memory and a pattern of labels far apart."""

from __future__ import annotations

from skipchain.datasets.synthetic.problem import Problem, draw_symbols, one_hot

INPUTS = "01SR"
INPUT_PROBABILITIES = (0.3, 0.3, 0.1, 0.3)
LENGTH = 50
LAG = 5


def long_memory(seed: int, *, train: int = 100, test: int = 100, length: int = LENGTH) -> Problem:
    """Sequences of 50 inputs 0, 1, S, R (one-hot, in this order), and labels 0 and 1.

    0 and 1 are their own labels. S (store) has the label of the place five steps before it, and 0
    where there is none. R (retrieve) has that of the last S, however long ago it was, and 0 before
    the first. What S stores is known from the labels of five steps only: a model of hidden states
    needs 32 times as many states to remember it. What R retrieves is in no window of fixed length.

    >>> problem = long_memory(0)
    >>> len(problem.train_x), len(problem.test_x), problem.train_x[0].shape
    (100, 100, (50, 4))
    >>> "".join(long_memory_labels("R1001RSRR0SR"))
    '010010111000'
    """
    inputs = draw_symbols(seed, INPUTS, INPUT_PROBABILITIES, (train + test, length))
    x = [one_hot(symbols, INPUTS) for symbols in inputs]
    return Problem.of(x, list(map(long_memory_labels, inputs)), train)


def long_memory_labels(inputs: str | list[str]) -> list[str]:
    """The labels of a sequence of inputs."""
    held = "0"
    labels: list[str] = []
    for place, symbol in enumerate(inputs):
        if symbol == "S":
            held = labels[place - LAG] if place >= LAG else "0"
        labels.append(symbol if symbol in "01" else held)
    return labels
