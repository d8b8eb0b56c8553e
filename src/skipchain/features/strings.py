"""Many strings as slices of one text: compact in memory and on disk, numbered, searchable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from skipchain.kernels.intern import empty_slots, index_ngrams


class Strings:
    """String k is ``text[starts[k] : starts[k] + lengths[k]]``; slices may overlap.

    >>> strings = Strings.of(["on", "London"])
    >>> strings[1], len(strings), strings.find(["London", "Paris", None])
    ('London', 2, [1, -2, -1])
    """

    __slots__ = ("_numbers", "_slots", "lengths", "starts", "text")

    UNKNOWN = -2
    ABSENT = -1

    def __init__(self, text: str, starts: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        self.text = text
        self.starts = starts
        self.lengths = lengths
        self._numbers: dict[str | None, int] | None = None
        self._slots: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, strings: Sequence[str]) -> Strings:
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

    def slots(self, points: NDArray[np.uint32]) -> NDArray[np.int32]:
        """A hash table of the strings for compiled look-up; ``points`` is the text as numbers."""
        if self._slots is None:
            slots = empty_slots(len(self))
            index_ngrams(points, self.starts, self.lengths, slots)
            self._slots = slots
        return self._slots

    def keep(self, kept: NDArray[np.bool_]) -> Strings:
        """Only the chosen strings, with a text that holds no more than they need."""
        if kept.all():
            return self
        spans = np.zeros(len(self.text) + 1, np.int32)
        np.add.at(spans, self.starts[kept], 1)
        np.add.at(spans, self.starts[kept] + self.lengths[kept], -1)
        used = np.cumsum(spans)[:-1] > 0
        place = np.append(0, np.cumsum(used))  # where a used character moves to
        letters = np.frombuffer(self.text.encode("utf-32-le", "surrogatepass"), np.uint32)[used]
        return Strings(
            letters.tobytes().decode("utf-32-le", "surrogatepass"),
            place[self.starts[kept]].astype(np.int32),
            self.lengths[kept],
        )
