"""Scores of tokens by look-up: for tagging, where the weights stay and the same words come again.

`LinearScorer` goes from features to scores by a sparse index of the whole corpus, as training
needs it. Here nothing is built for a corpus: the sums of a distinct value are found in a
`ValueTable`, and a conjunction in a hash table of its template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skipchain.arrays import Floats, Ints
from skipchain.corpus import Column, Corpus
from skipchain.features.reader import FEW, RESERVED
from skipchain.features.strings import StringTable
from skipchain.features.template import STATE, Atom, Template, View
from skipchain.features.views import NGRAMS
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels.best_paths import LANES
from skipchain.kernels.lookup import score_tokens
from skipchain.lookup.byte_index import ByteIndex, Bytes
from skipchain.lookup.conjunction_table import ConjunctionTable, lay_out_tables
from skipchain.lookup.value_table import (
    Codes,
    ColumnPlan,
    TableArrays,
    Trie,
    ValueTable,
    has_several,
)
from skipchain.parallel import Workers, blocks

TABLE_BYTES = 24 << 20
"""How large a table of values may become before those are forgotten that came last.

The half that came first is kept: frequent values are among those that are met early.
"""
LARGEST_KEY = 1 << 62
PART_TOKENS = 16_384
LARGEST_PART = 65_536  # in each part, distinct values are numbered anew


def can_look_up(vocabulary: Vocabulary) -> bool:
    """Whether scores under these templates can be looked up.

    Features of label pairs, numbers, the user's own views, wide bags, bags and n-grams that are
    joined to other views are left to the general way.
    """
    return not vocabulary.templates.functions and all(
        _can_look_up(template, vocabulary) for template in vocabulary.templates.templates
    )


def _can_look_up(template: Template, vocabulary: Vocabulary) -> bool:
    if template.family != STATE:
        return False
    for atom in template.atoms:
        several, joined = has_several(atom.view), len(template.atoms) > 1
        if atom.view.numeric or (joined and (atom.bag or atom.view.function == NGRAMS)):
            return False
        if atom.bag and (several or len(atom.offsets) > FEW):
            return False
    return prod(len(vocabulary.views[a.view]) + RESERVED for a in template.atoms) < LARGEST_KEY


class LookupScorer:
    """The scores of tokens under fixed weights ``state`` [F, L] of the features of a vocabulary.

    The values met are kept for the life of the scorer, as far as there is room; threads share them.
    Scores are sums in the precision ``dtype``.
    """

    def __init__(
        self, vocabulary: Vocabulary, state: Floats, dtype: DTypeLike = np.float64
    ) -> None:
        self.n_labels = state.shape[1]
        self.width = -(-(self.n_labels + 1) // LANES) * LANES
        self._vocabulary = vocabulary
        self._state = np.ascontiguousarray(state)
        self._lock = Lock()
        layout = _Layout(vocabulary.views)
        for template, rows, first in vocabulary.blocks():
            layout.add(template, rows, first)
        self.columns = tuple(layout.plans)
        self._plans = list(layout.plans.values())
        self._numbers = np.concatenate([*layout.numbers, np.zeros(0, np.int32)])
        self._arrays = layout.arrays()
        features = np.concatenate([np.zeros(0, np.int64), *(t.features for t in layout.tables)])
        self._fixed = np.zeros((1 + len(features), self.width), dtype)
        self._fixed[1:, : self.n_labels] = state[features]
        ngrams = {view for plan in self._plans for view, _, _ in plan.ngrams}
        self._tries = {view: Trie.of(vocabulary.views[view]) for view in ngrams}
        self._table, self._index = self._empty_table()
        self._half: tuple[tuple[int, ...], tuple[int, int]] | None = None  # sizes of the two

    def _empty_table(self) -> tuple[ValueTable, ByteIndex]:
        views = self._vocabulary.views
        table = ValueTable(self._plans, views, self._numbers, self._state, self._tries, self._fixed)
        return table, ByteIndex()

    @property
    def annotated(self) -> bool:
        """Whether annotators add columns, for which they look at whole documents."""
        return bool(self._vocabulary.templates.annotators)

    def score(self, corpus: Corpus, workers: Workers) -> tuple[Floats, int]:
        """The sums of weights at each token [N, L], and how many features were not known."""
        node = self.sums(corpus, workers)
        unknown = float(node[:, self.n_labels].sum(dtype=np.float64))
        return node[:, : self.n_labels], round(unknown)

    def sums(self, corpus: Corpus, workers: Workers) -> NDArray[Any]:
        """The sums of weights at each token [N, W], as `score_values` writes them."""
        corpus = self._vocabulary.annotated(corpus, workers)
        columns = [corpus.column(name) for name in self.columns]
        node = np.empty((corpus.n_tokens, self.width), self._fixed.dtype)

        def run(block: tuple[int, int]) -> None:
            offsets = corpus.sentences[block[0] : block[1] + 1]
            tokens = slice(int(offsets[0]), int(offsets[-1]))
            distinct = [_distinct(column, tokens) for column in columns]
            numbers, table = self.number([own for own, _ in distinct])
            values = np.empty((len(columns), tokens.stop - tokens.start), np.int32)
            for row, own, (_, codes) in zip(values, numbers, distinct, strict=True):
                row[:] = own[codes]
            self.score_values(values, offsets - offsets[0], table, node[tokens])

        size = PART_TOKENS if workers.threads > 1 else LARGEST_PART
        workers.map(run, blocks(corpus.sentences, size))
        return node

    def number(self, strings: Sequence[Sequence[str]]) -> tuple[list[Codes], TableArrays]:
        """The values of distinct strings of each column, and the arrays in which they stand."""
        with self._lock:
            table = self._table_with_room()
            numbers = [np.array(table.number(c, own), np.int32) for c, own in enumerate(strings)]
            return numbers, table.arrays

    def number_slices(self, text: Bytes, starts: Codes, ends: Codes) -> tuple[Codes, TableArrays]:
        """The values of slices of a text [C, N], a row for each column, and their arrays."""
        with self._lock:
            table, index = self._table_with_room(), self._index
        values = index.find(text, starts, ends)
        if (values >= 0).all():
            return values, table.arrays
        with self._lock:
            for c in range(len(values)):
                new = np.flatnonzero(values[c] < 0)
                slices = zip(starts[c, new].tolist(), ends[c, new].tolist(), strict=True)
                strings = [text[start:end].tobytes() for start, end in slices]
                distinct = list(dict.fromkeys(strings))
                numbers = table.number(c, [string.decode() for string in distinct])
                found = dict(zip(distinct, numbers, strict=True))
                values[c, new] = [found[string] for string in strings]
                index.add(c, distinct, numbers)
            return values, table.arrays

    def _table_with_room(self) -> ValueTable:
        """The table, without the values that came last if it has become too large."""
        table, index, size = self._table, self._index, self._table.nbytes
        if self._half is None and TABLE_BYTES / 2 < size < 0.75 * TABLE_BYTES:
            self._half = table.size, index.size
        if size > TABLE_BYTES and self._half is None:
            self._table, self._index = self._empty_table()
        elif size > TABLE_BYTES and self._half is not None:  # others may look into the old ones
            self._table = table.beginning(self._half[0])
            self._index = index.beginning(self._half[1])
        return self._table

    def score_values(
        self, values: Codes, offsets: Ints, table: TableArrays, node: NDArray[np.floating]
    ) -> None:
        """Write the sums of tokens that have these values [C, N] into ``node`` [N, W].

        The first L places of a row are the labels', the next counts features that are not known.
        """
        outside = np.arange(2 * len(self.columns)).reshape(-1, 2)
        score_tokens(values, offsets, outside, *table, *self._arrays, self.n_labels, node)


@dataclass(slots=True)
class _Layout:
    """What each template looks at, as the kernels take it; see `score_tokens`."""

    views: Mapping[View, StringTable]
    plans: dict[str, ColumnPlan] = field(default_factory=dict)
    numbers: list[Codes] = field(default_factory=list)  # of the features of one view
    size: int = 0  # of all these
    slots: dict[tuple[int, int], int] = field(default_factory=dict)  # by column and offset
    bags: list[tuple[int, ...]] = field(default_factory=list)
    cells: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    joins: list[tuple[int, bool]] = field(default_factory=list)
    atoms: list[tuple[int, ...]] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    tables: list[ConjunctionTable] = field(default_factory=list)

    def add(self, template: Template, rows: Codes, first: int) -> None:
        """A template with its features: view numbers [K, atoms], feature numbers from ``first``."""
        for atom in template.atoms:
            self.plans.setdefault(atom.view.column, ColumnPlan(atom.view.column))
        if len(template.atoms) > 1:
            self._add_join(template.atoms, rows, first)
        else:
            self._add_single(template.atoms[0], rows, first)

    def _add_single(self, atom: Atom, rows: Codes, first: int) -> None:
        plan, column = self._plan(atom.view)
        if atom.bag:
            slot = plan.new_slot()
            self.bags.append((atom.offsets[0], atom.offsets[-1], self._cell(atom.view), slot))
            plan.bags.add(atom.view)
        else:
            key = column, atom.offsets[0]
            if key not in self.slots:
                self.slots[key] = plan.new_slot()
            slot = self.slots[key]
        plan.add_term(atom.view, slot, self.size)
        by_number = np.full(len(self.views[atom.view]) + RESERVED, -1, np.int32)
        by_number[rows[:, 0]] = np.arange(first, first + len(rows))
        self.numbers.append(by_number)
        self.size += len(by_number)

    def _add_join(self, atoms: Sequence[Atom], rows: Codes, first: int) -> None:
        begin, several = len(self.atoms), any(has_several(atom.view) for atom in atoms)
        size, keys = 1, np.zeros(len(rows), np.int64)
        for m, atom in enumerate(atoms):
            self.atoms.append((self._cell(atom.view), atom.offsets[0]))
            self.strides.append(size)
            keys += rows[:, m].astype(np.int64) * size
            size *= len(self.views[atom.view]) + RESERVED
        self.joins.append((begin, several))
        self.tables.append(ConjunctionTable(keys, np.arange(first, first + len(rows)), size))

    def _plan(self, view: View) -> tuple[ColumnPlan, int]:
        """The plan of a view's column, and the column's place."""
        return self.plans[view.column], list(self.plans).index(view.column)

    def _cell(self, view: View) -> int:
        """The place of a view in the list of those that are looked at by number."""
        plan, column = self._plan(view)
        cell = column, plan.cell(view), has_several(view)
        return self.cells.setdefault(cell, len(self.cells))

    def arrays(self) -> tuple[Ints | Codes, ...]:
        """Slots, bags, cells, joins, atoms, strides, keys and what is found, for `score_tokens`."""
        begins, keys, found = lay_out_tables(self.tables)
        slots = [(*at, slot) for at, slot in self.slots.items()]
        placed = zip(self.joins, begins.tolist(), self.tables, strict=True)
        joins = [(first, begin, table.mask, several) for (first, several), begin, table in placed]
        joins.append((len(self.atoms), len(found), 0, False))
        tables_of_rows = (slots, 3), (self.bags, 4), (list(self.cells), 3), (joins, 4)
        return (
            *(_table(own, width) for own, width in (*tables_of_rows, (self.atoms, 2))),
            np.array(self.strides, np.int64),
            keys,
            found,
        )


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Ints:
    return np.array(rows, np.int64).reshape(-1, width)


def _distinct(column: Column, tokens: slice) -> tuple[Sequence[str], NDArray[np.integer]]:
    """The distinct strings of some tokens of a column, and the place of each token's."""
    codes = column.codes[tokens]
    if len(column.values) > 4 * len(codes):
        distinct, places = np.unique(codes, return_inverse=True)
        return [column.values[code] for code in distinct.tolist()], places
    used = np.flatnonzero(np.bincount(codes, minlength=len(column.values)))
    if len(used) == len(column.values):
        return column.values, codes
    place = np.zeros(len(column.values), np.int32)
    place[used] = np.arange(len(used))
    return [column.values[code] for code in used.tolist()], place[codes]
