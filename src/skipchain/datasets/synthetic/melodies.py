"""A problem of two levels: bars of three notes, and lines in which all bars run the same way."""

from __future__ import annotations

import numpy as np

from skipchain.datasets.synthetic.problem import Problem, one_hot

NOTES = "ABC"
REST, UNKNOWN = "o", "?"
INPUTS = NOTES + REST + UNKNOWN
LINES, BARS = 3, 4
HIDDEN = 2  # bars of a line of which the input shows the first note only


def melodies(seed: int, *, train: int = 100, test: int = 100) -> Problem:
    """Sequences of three lines, each of four bars and a rest, o; a bar is three notes and a rest.

    All bars of a line run upwards (ABC, BCA or CAB), or all run downwards (ACB, BAC or CBA); lines
    run up as often as down, and bars begin with each note as often. The input is one-hot and shows
    the labels, but of two bars of a line, drawn at random, the first note only: the others are "?".
    Which way these run is told by the other bars of the line, each of which may be one of three. By
    itself, a note is as frequent at each place of the lines of both ways.

    >>> problem = melodies(0)
    >>> len(problem.train_x), len(problem.test_x), problem.train_x[0].shape
    (100, 100, (51, 5))
    >>> "".join(problem.train_y[0][:34])
    'BACoBACoACBoACBooCABoBCAoCABoBCAoo'
    """
    rng = np.random.default_rng(seed)
    drawn = [[_line(rng) for _ in range(LINES)] for _ in range(train + test)]
    labels = [[label for own, _ in lines for label in own] for lines in drawn]
    inputs = [one_hot([name for _, own in lines for name in own], INPUTS) for lines in drawn]
    return Problem.of(inputs, labels, train)


def _line(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """The labels of a line, and what the input shows of them."""
    step = int(rng.choice([1, 2]))  # up, or down
    labels: list[str] = []
    shown: list[str] = []
    for first, place in zip(rng.integers(3, size=BARS), rng.permutation(BARS), strict=True):
        bar = [NOTES[(first + k * step) % 3] for k in range(3)]
        labels += [*bar, REST]
        shown += [bar[0], *([UNKNOWN] * 2 if place < HIDDEN else bar[1:]), REST]
    return [*labels, REST], [*shown, REST]
