"""Many strings as slices of one text: compact in memory and on disk, numbered, searchable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Arrays, Bools, Ints, offsets_of
from skipchain.kernels.intern import empty_slots, find_slices, index_ngrams
from skipchain.schema.arrays import ArrayError, ArraySchema, Length

LONGER_THAN_ANY = 1 << 40  # characters; no array has more
MAX_CHARACTERS = 1 << 28  # of strings that share letters, as n-grams do


class TextSlices(NamedTuple):
    """Pieces ``points[starts[k] : starts[k] + lengths[k]]`` of a text; absent at length −1."""

    points: NDArray[np.uint32]
    starts: Ints  # [K]
    lengths: Ints  # [K]

    @classmethod
    def of(cls, strings: Sequence[str | None]) -> TextSlices:
        """The strings one after the other; None is an absent slice."""
        absent = np.zeros(0, np.int64)
        if None in strings:
            absent = np.flatnonzero([string is None for string in strings])
            strings = [string or "" for string in strings]
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))  # type: ignore[arg-type]
        starts = np.cumsum(lengths) - lengths
        lengths[absent] = -1
        return cls(code_points("".join(strings)), starts, lengths)  # type: ignore[arg-type]

    def prefixes(self, length: int) -> TextSlices:
        """The first characters of each slice that is long enough."""
        length = min(length, LONGER_THAN_ANY)
        return self._replace(lengths=np.where(self.lengths >= length, length, -1))

    def suffixes(self, length: int) -> TextSlices:
        """The last characters of each slice that is long enough."""
        length = min(length, LONGER_THAN_ANY)
        starts = self.starts + self.lengths - length
        return TextSlices(self.points, starts, np.where(self.lengths >= length, length, -1))


def code_points(text: str) -> NDArray[np.uint32]:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


class StringTable:
    """String k is ``text[starts[k] : starts[k] + lengths[k]]``; slices may overlap.

    >>> strings = StringTable.of(["on", "London"])
    >>> strings[1], len(strings), strings.find(["London", "Paris", None])
    ('London', 2, [1, -2, -1])
    """

    __slots__ = ("_numbers", "_points", "_slots", "lengths", "starts", "text")

    UNKNOWN = -2
    ABSENT = -1

    def __init__(self, text: str, starts: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        self.text = text
        self.starts = starts
        self.lengths = lengths
        self._numbers: dict[str | None, int] | None = None
        self._points: NDArray[np.uint32] | None = None
        self._slots: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, strings: Sequence[str]) -> StringTable:
        """The strings one after the other."""
        lengths = np.fromiter(map(len, strings), np.int32, len(strings))
        starts = (np.cumsum(lengths) - lengths).astype(np.int32)
        return cls("".join(strings), starts, lengths)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, number: int) -> str:
        start = int(self.starts[number])
        return self.text[start : start + int(self.lengths[number])]

    def tolist(self) -> list[str]:
        """All strings."""
        ends = (self.starts + self.lengths).tolist()
        text = self.text
        return [text[a:b] for a, b in zip(self.starts.tolist(), ends, strict=True)]

    def find(self, values: Sequence[str | None]) -> list[int]:
        """The number of each string: −2 where it is unknown, −1 for None."""
        if self._numbers is None:
            self._numbers = dict(zip(self.tolist(), range(len(self)), strict=True))
            self._numbers[None] = self.ABSENT
        return list(map(self._numbers.get, values, repeat(self.UNKNOWN)))

    @property
    def points(self) -> NDArray[np.uint32]:
        """The text as numbers."""
        if self._points is None:
            self._points = code_points(self.text)
        return self._points

    @property
    def slots(self) -> NDArray[np.int32]:
        """A hash table of the strings for compiled look-up."""
        if self._slots is None:
            slots = empty_slots(len(self))
            index_ngrams(self.points, self.starts, self.lengths, slots)
            self._slots = slots
        return self._slots

    @property
    def index(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The table as kernels take it: code points, starts, lengths and hash table."""
        return self.points, self.starts, self.lengths, self.slots

    def number(self, slices: TextSlices) -> tuple[NDArray[np.int32], int]:
        """The number of each slice [K], and how many numbers are in use.

        Strings that are not here get the numbers after those that are; absent slices get −1.
        """
        slots = empty_slots(len(slices.starts))
        return find_slices(*slices, *self.index, slots)  # type: ignore[no-any-return]

    def keep(self, kept: Bools) -> StringTable:
        """The table with only the chosen strings, and a text that holds no more than they need."""
        if kept.all():
            return self
        spans = np.zeros(len(self.text) + 1, np.int32)
        np.add.at(spans, self.starts[kept], 1)
        np.add.at(spans, self.starts[kept] + self.lengths[kept], -1)
        used = np.cumsum(spans)[:-1] > 0
        place = offsets_of(used)  # where a used character moves to
        text = self.points[used].tobytes().decode("utf-32-le", "surrogatepass")
        return StringTable(text, place[self.starts[kept]].astype(np.int32), self.lengths[kept])


def strings_to_arrays(name: str, strings: StringTable) -> Arrays:
    """The table as arrays for a model file: one text, and where each string stands in it."""
    return {
        f"{name}.text": np.frombuffer(strings.text.encode("utf-8", "surrogatepass"), np.uint8),
        f"{name}.starts": strings.starts,
        f"{name}.lengths": strings.lengths,
    }


def strings_schema(name: str, length: Length | None = None) -> dict[str, ArraySchema]:
    """What the arrays of a table must be; ``length`` is how many strings it has, where known."""
    count = f"{name} strings" if length is None else length
    return {
        f"{name}.text": ArraySchema("uint8", (f"{name} bytes",)),
        f"{name}.starts": ArraySchema("int32", (count,), least=0),
        f"{name}.lengths": ArraySchema("int32", (count,), least=0),
    }


def strings_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> StringTable:
    """The table that `strings_to_arrays` wrote, from arrays that keep to `strings_schema`.

    An `ArrayError` tells of strings outside their text, and of so many long ones over the same
    letters that a small file would become a large text.
    """
    text = arrays[f"{name}.text"].tobytes().decode("utf-8", "surrogatepass")
    starts, lengths = arrays[f"{name}.starts"], arrays[f"{name}.lengths"]
    ends = starts.astype(np.int64) + lengths  # in 32 bits a sum could wrap around
    if len(ends) and ends.max() > len(text):
        raise ArrayError(f"strings of {name} reach beyond their text")
    if lengths.sum(dtype=np.int64) > max(len(text), MAX_CHARACTERS):
        raise ArrayError(f"strings of {name} share letters, and would be too long written out")
    return StringTable(text, starts, lengths)
