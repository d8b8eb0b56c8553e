"""A dictionary-encoded column of strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.errors import CorpusError

SHOWN = 6  # values
CHUNK = 1 << 20  # tokens that are counted at once


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Column:
    """One string per token: ``values[codes[i]]``.

    ``codes`` is ``int32 [N]``; ``values`` holds each distinct string once. A slice shares both.

    >>> column = Column.encode(["the", "cat", "the"])
    >>> column.codes.tolist(), column.values
    ([0, 1, 0], ('the', 'cat'))
    >>> list(column[1:])
    ['cat', 'the']
    >>> column
    Column(3 tokens, 2 values: 'the', 'cat')
    """

    codes: NDArray[np.int32]  # [N]
    values: tuple[str, ...]

    @classmethod
    def encode(cls, strings: Sequence[str]) -> Column:
        """Number the distinct strings in the order in which they first appear."""
        numbers = {value: code for code, value in enumerate(dict.fromkeys(strings))}
        codes = np.fromiter(map(numbers.__getitem__, strings), np.int32, len(strings))
        return cls(frozen(codes), tuple(numbers))

    @classmethod
    def constant(cls, value: str, length: int) -> Column:
        """A column with one string for every token."""
        return cls(frozen(np.zeros(length, np.int32)), (value,))

    def __post_init__(self) -> None:
        if self.codes.ndim != 1 or self.codes.dtype != np.int32:
            got = f"{self.codes.dtype} with {self.codes.ndim} dimensions"
            raise CorpusError(f"column codes must be one-dimensional int32, got {got}")

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, where: slice) -> Column:
        return Column(self.codes[where], self.values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        from skipchain.corpus.corpus import plural

        first = ", ".join(map(repr, self.values[:SHOWN]))
        shown = first + (" …" if len(self.values) > SHOWN else "")
        values = plural(len(self.values), "value") + (f": {shown}" if shown else "")
        return f"Column({plural(len(self), 'token')}, {values})"

    def __eq__(self, other: object) -> bool:
        """Equal strings at every token, however they are numbered."""
        if not isinstance(other, Column):
            return NotImplemented
        if len(self) != len(other):
            return False
        if self.values == other.values:
            return bool(np.array_equal(self.codes, other.codes))
        return self.tolist() == other.tolist()

    __hash__ = None  # type: ignore[assignment]

    def tolist(self) -> list[str]:
        """The strings, one per token."""
        strings: list[str] = np.array([*self.values, ""], object)[self.codes].tolist()
        return strings

    def take(self, tokens: Ints | slice) -> Column:
        """The column of the chosen tokens, in their order."""
        return Column(frozen(self.codes[tokens]), self.values)

    def used(self) -> Ints:
        """The codes of the values that some token has; a slice keeps others. [at most V]"""
        used = np.zeros(len(self.values), np.bool_)
        for first in range(0, len(self), CHUNK):  # NumPy takes eight bytes for each code
            used |= np.bincount(self.codes[first : first + CHUNK], minlength=len(used)) > 0
        return np.flatnonzero(used)

    def compact(self) -> Column:
        """The column without values that no token has, numbered by first appearance."""
        return Column.encode(self.tolist())

    def renamed(self, values: Sequence[str]) -> Column:
        """The column with another string for each of its values; some may become the same.

        >>> column = Column.encode(["a", "b", "a"]).renamed(["x", "x"])
        >>> column.codes.tolist(), column.values
        ([0, 0, 0], ('x',))
        """
        distinct = tuple(dict.fromkeys(values))
        number = {value: code for code, value in enumerate(distinct)}
        codes = np.array([number[value] for value in values], np.int32)[self.codes]
        return Column(frozen(codes), distinct)

    @classmethod
    def concatenate(cls, columns: Sequence[Column]) -> Column:
        """One column after the other, with one set of values."""
        numbers: dict[str, int] = {}
        codes = [np.zeros(0, np.int32)]
        for column in columns:
            renumber = [numbers.setdefault(value, len(numbers)) for value in column.values]
            codes.append(np.array(renumber, np.int32)[column.codes])
        return cls(frozen(np.concatenate(codes)), tuple(numbers))


def frozen(array: NDArray) -> NDArray:  # type: ignore[type-arg]
    """The array, closed to writing."""
    array.flags.writeable = False
    return array
