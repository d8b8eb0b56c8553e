"""Distinct values of columns, each with all that templates of one view say of it summed up.

A word that comes a thousand times has the same shape, affixes and n-grams every time. So these
are looked up when a value is first met, the weights of its features are added up once for each
offset from which templates look at it, and the sums are kept as long as there is room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints, offsets_of
from skipchain.features.reader import (
    AFTER,
    BEFORE,
    RESERVED,
    marked_words,
    ngram_limits,
    view_values,
)
from skipchain.features.strings import StringTable, code_points
from skipchain.features.template import View
from skipchain.features.views import LISTS, NGRAMS, Values
from skipchain.growing import Growing
from skipchain.kernels import intern
from skipchain.kernels.lookup import merge_values
from skipchain.kernels.trie import add_ngrams, insert_strings, move_slots

LONG = 64  # characters of a word, above which its n-grams are found by another way
Codes = NDArray[np.int32]
TableArrays = tuple[NDArray[np.floating], Codes, Codes, Codes, Codes]


@dataclass(slots=True)
class Trie:
    """The strings of a view as a trie; see `skipchain.kernels.trie`."""

    keys: Ints
    children: Codes
    ends: Codes

    @classmethod
    def of(cls, strings: StringTable) -> Trie:
        """The trie of all strings of a table."""
        size = 1 << max(10, (4 * len(strings)).bit_length())
        keys, children = np.full(size, -1, np.int64), np.zeros(size, np.int32)
        ends = np.full(size // 2 + 1, -1, np.int32)
        done, nodes = 0, 1
        while True:
            done, nodes = insert_strings(
                strings.points, strings.starts, strings.lengths, done, keys, children, ends, nodes
            )
            if done == len(strings):
                return cls(keys, children, ends[:nodes].copy())
            old = keys, children
            size *= 2
            keys, children = np.full(size, -1, np.int64), np.zeros(size, np.int32)
            move_slots(*old, keys, children)
            ends = np.concatenate([ends, np.full(size // 2 + 1 - len(ends), -1, np.int32)])


@dataclass(slots=True)
class ColumnPlan:
    """What is kept of each value of one column.

    ``cells`` says where the number of a view stands, ``terms`` are templates as `merge_values`
    takes them, ``ngrams`` those of n-grams: view, slot and place of the features' numbers.
    """

    name: str
    slots: int = 0
    n_cells: int = 0
    cells: dict[View, int] = field(default_factory=dict)
    terms: list[tuple[int, int, bool, int]] = field(default_factory=list)
    ngrams: list[tuple[View, int, int]] = field(default_factory=list)
    bags: set[View] = field(default_factory=set)

    def cell(self, view: View) -> int:
        """The place of a view among the cells of a value; one of several strings takes two."""
        if view not in self.cells:
            self.cells[view] = self.n_cells
            self.n_cells += 1 + has_several(view)
        return self.cells[view]

    def new_slot(self) -> int:
        """A further row for each value."""
        self.slots += 1
        return self.slots - 1

    def add_term(self, view: View, slot: int, start: int) -> None:
        """A template of one view, whose sums go into a slot."""
        self.terms.append((slot, self.cell(view), has_several(view), start))
        if view.function == NGRAMS:
            self.ngrams.append((view, slot, start))


def has_several(view: View) -> bool:
    """Whether a view of one string has several strings."""
    return view.function == NGRAMS or view.function in LISTS


class ValueTable:
    """The values met so far, of all columns that the templates of a model read.

    ``numbers`` has the features of all templates of one view by view number, one after the other;
    ``state`` [F, L] the weights. The first values are the places before and after a sentence, two
    for each column, and the first rows those that are ``fixed`` [·, W].
    """

    def __init__(
        self,
        plans: Sequence[ColumnPlan],
        views: Mapping[View, StringTable],
        numbers: Codes,
        state: Floats,
        tries: Mapping[View, Trie],
        fixed: NDArray[np.floating],
    ) -> None:
        self.plans = plans
        self.tries = tries
        self._views = views
        self._numbers = numbers
        self._state = state
        self._terms = [np.array(plan.terms, np.int64).reshape(-1, 4) for plan in plans]
        self._known: list[dict[str, int]] = [{} for _ in plans]
        self._strangers: dict[View, dict[str, int]] = {}
        self._row_at, self._code_at = Growing((), np.int32), Growing((), np.int32)
        self._codes, self._lists = Growing((), np.int32), Growing((), np.int32)
        self._rows = Growing(fixed.shape[1:], fixed.dtype)
        self._rows.add(fixed)
        self._fixed_bytes = fixed.nbytes
        for c, plan in enumerate(plans):
            cells = np.zeros((2, plan.n_cells), np.int32)
            for view, cell in plan.cells.items():
                cells[:, cell] = (BEFORE, AFTER)
                if has_several(view):
                    cells[:, cell] = self._lists.add(np.array([BEFORE, AFTER])) + np.arange(2)
                    cells[:, cell + 1] = 1
            self._add(c, cells)

    @property
    def arrays(self) -> TableArrays:
        """Rows and codes by value, as `score_tokens` takes them."""
        return tuple(part.array for part in self._arrays)  # type: ignore[return-value]

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays for the values."""
        return sum(array.nbytes for array in self.arrays) - self._fixed_bytes

    def __len__(self) -> int:
        return len(self._row_at)

    @property
    def size(self) -> tuple[int, ...]:
        """How much of everything there is; see `beginning`."""
        parts: list[Any] = [*self._arrays, *self._known, *self._strangers.values()]
        return tuple(len(part) for part in parts)

    def beginning(self, size: tuple[int, ...]) -> ValueTable:
        """A table of the values that were there when it had this size."""
        other, sizes = copy(self), iter(size)
        other._rows, other._row_at, other._codes, other._code_at, other._lists = (
            own.beginning(count) for own, count in zip(self._arrays, sizes, strict=False)
        )
        other._known = [_first(own, next(sizes)) for own in self._known]
        strangers = self._strangers.items()
        other._strangers = {view: _first(own, next(sizes, 0)) for view, own in strangers}
        return other

    @property
    def _arrays(self) -> tuple[Growing, ...]:
        return self._rows, self._row_at, self._codes, self._code_at, self._lists

    def number(self, column: int, strings: Sequence[str]) -> list[int]:
        """The values of distinct strings; those that are new are looked up."""
        known = self._known[column]
        numbers = list(map(known.get, strings))
        if None in numbers:
            new = [string for string in strings if string not in known]
            first = len(self)
            self._look_up(column, new)
            known.update(zip(new, range(first, first + len(new)), strict=True))
            numbers = list(map(known.get, strings))
        return cast(list[int], numbers)

    def _look_up(self, column: int, strings: list[str]) -> None:
        """Add values: their views as numbers, and the sums of weights."""
        plan = self.plans[column]
        cells = np.zeros((len(strings), plan.n_cells), np.int32)
        words: dict[View, list[str]] = {}
        for view, cell in plan.cells.items():
            if view.function == NGRAMS:
                words[view] = marked_words(view, strings, {})
                self._find_long_ngrams(view, words[view], cells[:, cell : cell + 2])
            elif view.function in LISTS:
                self._find_lists(view, strings, cells[:, cell : cell + 2])
            else:
                values = view_values(view, strings, {})
                cells[:, cell] = self._find(view, values, told_apart=view in plan.bags)
        first = len(self._rows)
        self._add(column, cells)
        for view, slot, start in plan.ngrams:
            short = [word if len(word) <= LONG else "" for word in words[view]]
            shortest, longest = ngram_limits(view, short)
            trie = self.tries[view]
            add_ngrams(
                code_points("".join(short)),
                offsets_of(map(len, short)),
                shortest,
                longest,
                trie.keys,
                trie.children,
                trie.ends,
                self._numbers[start + RESERVED :],
                self._state,
                self._rows.array,
                first + slot,
                plan.slots,
            )

    def _add(self, column: int, cells: Codes) -> None:
        """Values with these cells [K, ·], and their rows."""
        plan, count = self.plans[column], len(cells)
        row = self._rows.add_zeros(count * plan.slots)
        code = self._codes.add(cells.ravel())
        first = self._row_at.add(row + plan.slots * np.arange(count))
        self._code_at.add(code + plan.n_cells * np.arange(count))
        merge_values(
            self._codes.array,
            self._code_at.array,
            self._lists.array,
            self._terms[column],
            self._numbers,
            self._state,
            self._rows.array,
            self._row_at.array,
            first,
        )

    def _find(self, view: View, values: Values, *, told_apart: bool = False) -> list[int]:
        """The numbers of a view's strings: −1 for none, and below for those that are unknown.

        A bag takes each string once, so those that are unknown are ``told_apart`` there.
        """
        strings: Any = values
        codes = self._views[view].find(strings)
        if told_apart and StringTable.UNKNOWN in codes:
            own = self._strangers.setdefault(view, {})
            for k, code in enumerate(codes):
                if code == StringTable.UNKNOWN and strings[k] is not None:
                    codes[k] = -2 - own.setdefault(strings[k], len(own))
        return [code + RESERVED if code >= 0 else code for code in codes]

    def _find_lists(self, view: View, strings: list[str], cells: Codes) -> None:
        lists = [value or [] for value in view_values(view, strings, {})]
        codes = self._find(view, [string for value in lists for string in value])
        self._add_lists(offsets_of(map(len, lists)), np.array(codes, np.int32), cells)

    def _find_long_ngrams(self, view: View, words: list[str], cells: Codes) -> None:
        """The n-grams of words that are too long for the walk through the trie."""
        if all(len(word) <= LONG for word in words):
            return
        words = [word if len(word) > LONG else "" for word in words]
        offsets = offsets_of(map(len, words))
        shortest, longest = ngram_limits(view, words)
        total = intern.count_ngrams(offsets, shortest, longest)
        limits, table = (shortest, longest, total), self._views[view]
        slots = intern.empty_slots(total)
        indptr, numbers, _ = intern.find_ngrams(
            code_points("".join(words)), offsets, *limits, *table.index, slots
        )
        unknown = numbers >= len(table)
        codes = np.where(unknown, StringTable.UNKNOWN, numbers + RESERVED).astype(np.int32)
        self._add_lists(indptr, codes, cells)

    def _add_lists(self, indptr: Ints, codes: Codes, cells: Codes) -> None:
        cells[:, 0] = self._lists.add(codes) + indptr[:-1]
        cells[:, 1] = np.diff(indptr)


def _first(numbers: dict[str, int], count: int) -> dict[str, int]:
    """The strings that were added first."""
    return dict(islice(numbers.items(), count))
