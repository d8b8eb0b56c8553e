"""Columns of numbers: cells read as numbers, and brought to a common scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.errors import FeatureError
from skipchain.features.template import MISSING
from skipchain.kernels.parse_numbers import parse_cells


@dataclass(frozen=True, slots=True)
class Scale:
    """Standardisation: the mean that is taken off each of W numbers, and the deviation."""

    mean: Floats  # [W]
    deviation: Floats  # [W]

    @classmethod
    def identity(cls, width: int) -> Scale:
        """The scale that leaves numbers as they are."""
        return cls(np.zeros(width), np.ones(width))

    @classmethod
    def fit(cls, numbers: Floats, counts: Ints) -> Scale:
        """Mean 0 and variance 1 over ``numbers`` [V, W], row v occurring ``counts[v]`` times.

        A number that never changes tells nothing, and becomes 0.

        >>> Scale.fit(np.array([[1.0], [4.0]]), np.array([1, 2]))
        Scale(mean=array([3.]), deviation=array([1.41421356]))
        """
        total = counts.sum()
        if not total:
            return cls.identity(numbers.shape[1])
        # as shares of the largest, whose squares cannot overflow
        largest = np.abs(numbers).max(axis=0)
        largest[largest == 0.0] = 1.0
        shares = numbers / largest
        mean = counts @ shares / total
        deviation = np.sqrt(counts @ (shares - mean) ** 2 / total)
        # what remains of equal numbers after rounding is not a deviation
        flat = deviation <= 1e-12
        return cls(mean * largest, np.where(flat, 1.0, deviation * largest))

    def apply(self, numbers: Floats) -> Floats:
        """The numbers on this scale. [V, W]"""
        with np.errstate(over="ignore"):  # what is not finite is refused with its token
            return (numbers - self.mean) / self.deviation


class NotANumber(FeatureError):
    """A cell that cannot be read; ``place`` is its place in the list that was read."""

    def __init__(self, place: int, message: str) -> None:
        super().__init__(message)
        self.place = place


def parse_numbers(
    cells: Sequence[str | None], *, several: bool, width: int | None = None
) -> tuple[Floats, Bools]:
    """The numbers of each cell [V, W], and which cells hold any [V]; the others have zeros.

    ``several`` numbers in a cell stand between spaces or commas. All cells have as many as the
    first, or as ``width`` says.

    >>> parse_numbers(["1.5", "_", "-2e3"], several=False)[0].tolist()
    [[1.5], [0.0], [-2000.0]]
    """
    for place, cell in enumerate(cells):
        if not isinstance(cell, str | None):
            kind = type(cell).__name__
            raise NotANumber(place, f"{cell!r} is a {kind}, but columns hold strings; give its str")
    texts = [cell or "" for cell in cells]
    if not several:
        width = 1
    elif width is None:
        width = next((len(_fields(text)) for text in texts if not _missing(text)), 0)
    table = np.zeros((len(texts), width))
    done = np.empty(len(texts), np.bool_)
    present = np.ones(len(texts), np.bool_)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    points = np.frombuffer("".join(texts).encode("ascii", "replace"), np.uint8)
    parse_cells(points, np.cumsum(lengths) - lengths, lengths, several, table, done)
    for place in np.flatnonzero(~done).tolist():
        text = texts[place]
        if _missing(text):
            present[place] = False
            continue
        numbers = _numbers(_fields(text) if several else [text], place)
        if len(numbers) != width:
            raise NotANumber(place, f"{text!r} holds {len(numbers)} numbers, wanted {width}")
        table[place] = numbers
    return table, present


def _missing(text: str) -> bool:
    return text.strip() in MISSING


def _fields(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _numbers(fields: Sequence[str], place: int) -> list[float]:
    for field in fields:
        if not _is_decimal(field):
            advice = "write it like 12.5, or leave the cell empty (or '_') where there is none"
            raise NotANumber(place, f"{field!r} is no finite number; {advice}")
    return list(map(float, fields))


def _is_decimal(text: str) -> bool:
    try:
        return "_" not in text and math.isfinite(float(text))  # Python reads 1_0 as 10
    except ValueError:
        return False
