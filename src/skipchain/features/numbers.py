"""Columns of numbers: cells read as numbers, and brought to a common scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.errors import FeatureError

Floats = NDArray[np.float64]

MISSING = ("", "_")  # cells that hold no number


@dataclass(frozen=True, slots=True)
class Scale:
    """What is taken off each of W numbers, and what the rest is divided by."""

    mean: Floats  # [W]
    deviation: Floats  # [W]

    @classmethod
    def unit(cls, width: int) -> Scale:
        """Numbers as they are."""
        return cls(np.zeros(width), np.ones(width))

    @classmethod
    def standard(cls, numbers: Floats, counts: NDArray[np.int64]) -> Scale:
        """Mean 0 and variance 1 over ``numbers`` [V, W], row v occurring ``counts[v]`` times.

        A number that never changes tells nothing, and becomes 0.

        >>> Scale.standard(np.array([[1.0], [4.0]]), np.array([1, 2]))
        Scale(mean=array([3.]), deviation=array([1.41421356]))
        """
        total = counts.sum()
        if not total:
            return cls.unit(numbers.shape[1])
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
        return (numbers - self.mean) / self.deviation


class NotANumber(FeatureError):
    """A cell that cannot be read; ``place`` is its place in the list that was read."""

    def __init__(self, place: int, told: str) -> None:
        super().__init__(told)
        self.place = place


def read_numbers(
    cells: Sequence[str | None], *, several: bool, width: int | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers of each cell [V, W], and which cells hold any [V]; the others have zeros.

    ``several`` numbers in a cell stand between spaces or commas. All cells have as many as the
    first, or as ``width`` says.

    >>> read_numbers(["1.5", "_", "-2e3"], several=False)[0].tolist()
    [[1.5], [0.0], [-2000.0]]
    """
    wanted = width if several else 1
    rows: list[list[float]] = []
    present = np.ones(len(cells), np.bool_)
    for place, cell in enumerate(cells):
        if not isinstance(cell, str | None):
            kind = type(cell).__name__
            raise NotANumber(place, f"{cell!r} is a {kind}, but columns hold strings; give its str")
        if cell is None or cell.strip() in MISSING:
            present[place] = False
            continue
        parts = cell.replace(",", " ").split() if several else [cell]
        numbers = [_number(part, place) for part in parts]
        if wanted is None:
            wanted = len(numbers)
        if len(numbers) != wanted:
            raise NotANumber(place, f"{cell!r} holds {len(numbers)} numbers, wanted {wanted}")
        rows.append(numbers)
    table = np.zeros((len(cells), wanted or 0))
    if rows:
        table[present] = rows
    return table, present


def _number(text: str, place: int) -> float:
    try:
        number = math.nan if "_" in text else float(text)  # Python reads 1_0 as 10
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise NotANumber(
            place,
            f"{text!r} is no finite number; write it like 12.5, or leave the cell empty (or '_') "
            "where there is none",
        )
    return number
