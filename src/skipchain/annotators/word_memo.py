"""Facts about distinct words, found once and kept while there is room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.growing import Growing

KEPT = 1 << 17  # words, above which a memo begins anew
Facts = tuple[NDArray[Any], ...]


class WordMemo:
    """Arrays of facts about words by a function of distinct words, which is asked once for each.

    What the function says of a word must depend on that word alone. Threads share a memo.

    >>> memo = WordMemo(lambda words: (np.array([len(word) for word in words], np.int64),))
    >>> memo(["Oslo", "is"]), memo(["is", "far"])
    ((array([4, 2]),), (array([2, 3]),))
    """

    __slots__ = ("_find", "_known", "_lock")

    def __init__(self, find: Callable[[list[str]], Facts]) -> None:
        self._find = find
        self._lock = Lock()
        self._known = _Known(find([]))

    def __call__(self, words: Sequence[str]) -> Facts:
        """The facts of words, each an array with an entry for each of them."""
        known = self._known
        numbers = list(map(known.numbers.get, words))
        if None in numbers:
            known = self._learn(words)
            numbers = list(map(known.numbers.get, words))
        places = np.array(numbers, np.int64)
        return tuple(column.array[places] for column in known.columns)

    def _learn(self, words: Sequence[str]) -> _Known:
        """What is known once the facts of these words have been added."""
        with self._lock:
            new = [word for word in dict.fromkeys(words) if word not in self._known.numbers]
            if len(self._known.numbers) + len(new) > KEPT:
                new, self._known = list(dict.fromkeys(words)), _Known(self._find([]))
            self._known.add(new, self._find(new))
            return self._known


class _Known:
    """Words by number, and their facts; a word has its number when its facts are there."""

    __slots__ = ("columns", "numbers")

    def __init__(self, none: Facts) -> None:
        self.numbers: dict[str, int] = {}
        self.columns = [Growing((), column.dtype) for column in none]

    def add(self, words: list[str], facts: Facts) -> None:
        first = len(self.numbers)
        for column, own in zip(self.columns, facts, strict=True):
            column.add(own)
        self.numbers.update(zip(words, range(first, first + len(words)), strict=True))
