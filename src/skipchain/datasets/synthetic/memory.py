"""Toy problem 3: labels that need two bits of memory, held for any length of time."""

from __future__ import annotations

from skipchain.datasets.synthetic.problem import Problem, draw_symbols, one_hot

INPUTS = "ABRI"
INPUT_PROBABILITIES = (0.25, 0.25, 0.40, 0.10)
LENGTH = 50


def toy3(seed: int, *, train: int = 100, test: int = 100, length: int = LENGTH) -> Problem:
    """Sequences of 50 inputs A, B, R, I (one-hot, in this order), and labels 0 and 1.

    A is 0 and B is 1. R (resume) repeats the label of the last A or B, and is 0 before the first
    of them. I (interrupt) is the opposite of the last I, and the first I is 0.

    >>> problem = toy3(0)
    >>> len(problem.train_x), len(problem.test_x), problem.train_x[0].shape
    (100, 100, (50, 4))
    >>> memory_labels("IRBRIRAIR")
    ['0', '0', '1', '1', '1', '1', '0', '0', '0']
    """
    inputs = draw_symbols(seed, INPUTS, INPUT_PROBABILITIES, (train + test, length))
    x = [one_hot(symbols, INPUTS) for symbols in inputs]
    return Problem.of(x, list(map(memory_labels, inputs)), train)


def memory_labels(inputs: str | list[str]) -> list[str]:
    """The labels of a sequence of inputs."""
    last, interrupt, labels = "0", "1", []
    for symbol in inputs:
        if symbol == "I":
            interrupt = "1" if interrupt == "0" else "0"
            labels.append(interrupt)
        else:
            last = {"A": "0", "B": "1", "R": last}[symbol]
            labels.append(last)
    return labels
