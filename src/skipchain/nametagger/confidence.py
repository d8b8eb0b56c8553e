"""Measures of confidence in the commonest of several properties."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from skipchain.errors import ParameterError

Measure = Callable[[Sequence[int]], float]


def percentage(counts: Sequence[int]) -> float:
    """The share of the commonest, $f_1 / \\sum_i f_i$.

    >>> percentage([32, 0, 8, 0])
    0.8
    """
    total = sum(counts)
    return max(counts) / total if total else 0.0


def margin(counts: Sequence[int]) -> float:
    """How far the commonest is before the second, $(f_1 - f_2) / f_2$; an $f_2$ of 0 counts as 1.

    >>> margin([32, 0, 8, 0]), margin([32, 0, 0, 0])
    (3.0, 32.0)
    """
    first, second = two_largest(counts)
    return (first - second) / max(second, 1)


def margin_frequency(counts: Sequence[int]) -> float:
    """Margin and frequency, $f_1 / f_2 \\cdot \\log f_1$; an $f_2$ of 0 counts as 1.

    >>> round(margin_frequency([32, 0, 8, 0]), 3)
    13.863
    """
    first, second = two_largest(counts)
    return first / max(second, 1) * math.log(first) if first else 0.0


MEASURES: dict[str, Measure] = {
    "percentage": percentage,
    "margin": margin,
    "margin-frequency": margin_frequency,
}


def check_measure(name: str) -> Measure:
    """The measure of confidence with that name."""
    if name not in MEASURES:
        raise ParameterError(f"no confidence {name!r}; there are {', '.join(MEASURES)}")
    return MEASURES[name]


def two_largest(counts: Sequence[int]) -> tuple[int, int]:
    """The two largest counts."""
    first, second = sorted(counts, reverse=True)[:2]
    return first, second
