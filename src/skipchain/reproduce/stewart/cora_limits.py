"""What hidden units beside a CRF of references can gain, and what a single split can tell of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.reproduce.labelling import AVERAGE_F1, INSTANCE_ACCURACY

Labels = Sequence[Sequence[str]]
TAKEN, MERGED, SPLIT, BOUNDARY = ERRORS = (
    "a field taken for another",
    "fields merged",
    "a field split",
    "a boundary",
)
_INTERVAL = (2.5, 97.5)


def resampled(
    gold: Labels, predicted: Iterable[Labels], size: int, draws: int, seed: int = 0
) -> list[dict[str, Floats]]:
    """Average F1 and whole references right of systems on the same drawn references, in percent.

    References are drawn with replacement, ``size`` at a time; each metric has ``draws`` figures.

    >>> figures = resampled([["A", "B"]], [[["A", "A"]]], size=3, draws=2)
    >>> figures[0]["average F1"].round(1), figures[0]["instance accuracy"]
    (array([33.3, 33.3]), array([0., 0.]))
    """
    drawn = np.random.default_rng(seed).integers(len(gold), size=(draws, size))
    return [_scores(gold, labels, drawn) for labels in predicted]


def interval(values: Floats) -> tuple[float, float]:
    """The bounds that 95 % of the figures lie in."""
    low, high = np.percentile(values, _INTERVAL).tolist()
    return low, high


def kind_of_error(gold: Sequence[str], predicted: Sequence[str]) -> str:
    """What is wrong with a reference, by its sequence of fields.

    >>> kind_of_error(["title", "journal", "date"], ["title", "note", "date"])
    'a field taken for another'
    >>> kind_of_error(["title", "journal", "date"], ["title", "title", "date"])
    'fields merged'
    >>> kind_of_error(["title", "title", "date"], ["title", "date", "date"])
    'a boundary'
    """
    true, ours = ([label for label, _ in groupby(labels)] for labels in (gold, predicted))
    if true == ours:
        return BOUNDARY
    if len(true) == len(ours):
        return TAKEN
    return MERGED if len(ours) < len(true) else SPLIT


def count_errors(gold: Labels, predicted: Labels) -> dict[str, int]:
    """How many references have each kind of error.

    >>> count_errors([["A", "B"], ["B", "B"]], [["A", "A"], ["B", "B"]])
    {'a field taken for another': 0, 'fields merged': 1, 'a field split': 0, 'a boundary': 0}
    """
    pairs = zip(gold, predicted, strict=True)
    found = Counter(kind_of_error(y, z) for y, z in pairs if list(y) != list(z))
    return {kind: found[kind] for kind in ERRORS}


def _scores(gold: Labels, predicted: Labels, drawn: Ints) -> dict[str, Floats]:
    names = sorted({label for labels in (*gold, *predicted) for label in labels})
    number = {name: k for k, name in enumerate(names)}
    correct, known = (np.zeros((len(gold), len(names))) for _ in range(2))
    whole = np.zeros(len(gold))
    for row, (y, z) in enumerate(zip(gold, predicted, strict=True)):
        whole[row] = list(y) == list(z)
        for true, ours in zip(y, z, strict=True):
            known[row, number[true]] += 1
            known[row, number[ours]] += 1
            correct[row, number[true]] += true == ours
    hits, seen = (each[drawn].sum(axis=1) for each in (correct, known))  # [draws, L]
    f1 = np.divide(200.0 * hits, seen, out=np.full_like(hits, np.nan), where=seen > 0)
    return {
        AVERAGE_F1: np.nanmean(f1, axis=1),
        INSTANCE_ACCURACY: 100.0 * whole[drawn].mean(axis=1),
    }
