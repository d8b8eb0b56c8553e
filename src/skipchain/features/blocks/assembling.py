"""The index of a corpus in files, row by row, as `FeatureMatrixBuilder` makes it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import PART, Floats, Ints
from skipchain.features.blocks.joining import joint_columns
from skipchain.features.matrix import CSRMatrix, from_entries, hstack, merge_values
from skipchain.features.reader import FEW, ViewReader, ViewTuples, ViewValues, expand_entries
from skipchain.features.template import Atom, Template, View
from skipchain.features.vocabulary import Vocabulary
from skipchain.scratch.folder import Scratch

if TYPE_CHECKING:
    from skipchain.features.blocks.fitting import CorpusBlocks

Numbers = NDArray[np.int32]
Entries = tuple[Ints, Numbers, Floats | None]  # the token of each, its feature, its weight
MakeColumn = Callable[[ViewReader], Numbers]
MakeEntries = Callable[[ViewReader], Entries]


class MatrixAssembler:
    """What each template of a family gives for a block of tokens, and the index of all blocks."""

    def __init__(self, blocks: CorpusBlocks, vocabulary: Vocabulary, family: str) -> None:
        self.unknown = 0
        self._blocks, self._vocabulary, self._family = blocks, vocabulary, family
        self._groups: dict[tuple[str, int], list[tuple[View, ViewValues]]] = {}
        self._columns: dict[frozenset[View], list[MakeColumn]] = {}
        self._entries: list[MakeEntries] = []
        self._bundles = RowFile(blocks.scratch)
        self._base = 0

    def build(self, *, grouped: bool) -> tuple[CSRMatrix, CSRMatrix]:
        """The index of tokens and, where templates are grouped, that of bundles."""
        for k, (template, rows, first) in enumerate(self._vocabulary.blocks()):
            if template.family == self._family:
                self._base = max(self._base, first + len(rows))
                self._add(k, template, rows, first)
        numbers = self._number_groups(grouped)
        for columns in self._columns.values():
            numbers += self._join(columns) if grouped and len(columns) > 1 else columns
        made = self._assemble(numbers), self._bundles.matrix()
        for held in (self._columns, self._entries, numbers):
            held.clear()
        return made

    def _add(self, k: int, template: Template, rows: Numbers, first: int) -> None:
        """Note how the features of template k are found."""
        views = frozenset(atom.view for atom in template.atoms)
        if len(template.atoms) > 1:
            find = partial(self._find_tuples, k, first)
            self._add_tuples(views, find, multiple=self._is_multiple(template.atoms))
            return
        [atom] = template.atoms
        values = self._blocks.reader.values[atom.view]
        numbers = np.full(values.size, -1, np.int32)
        numbers[rows[:, 0]] = np.arange(first, first + len(rows), dtype=np.int32)
        if not atom.bag:
            self._add_values(atom, values, numbers)
            return
        multiple = self._is_multiple((atom,))
        for place in range(1 if multiple else len(self._blocks.reader.bag_offsets(atom))):
            find = partial(self._find_in_bag, atom, place, numbers)
            self._add_tuples(views, find, multiple=multiple)

    def _is_multiple(self, atoms: tuple[Atom, ...]) -> bool:
        """Whether a template may have several features at a token, or none."""
        return any(self._gives_several(atom, alone=len(atoms) == 1) for atom in atoms)

    def _gives_several(self, atom: Atom, *, alone: bool) -> bool:
        several = self._blocks.reader.values[atom.view].indptr is not None
        if not atom.bag:
            return several
        return several or not alone or len(self._blocks.reader.bag_offsets(atom)) > FEW

    def _add_tuples(
        self,
        views: frozenset[View],
        find: Callable[[ViewReader], tuple[ViewTuples, Numbers]],
        *,
        multiple: bool,
    ) -> None:
        def column(reader: ViewReader) -> Numbers:
            return find(reader)[1]

        def entries(reader: ViewReader) -> Entries:
            tuples, numbers = find(reader)
            assert tuples.tokens is not None
            keep = numbers >= 0
            return tuples.tokens[keep], numbers[keep], None

        if multiple:
            self._entries.append(entries)
        else:
            self._columns.setdefault(views, []).append(column)

    def _find_tuples(self, k: int, first: int, reader: ViewReader) -> tuple[ViewTuples, Numbers]:
        """The conjunctions of template k in a block, and the numbers of their features."""
        tuples, numbers = self._vocabulary.look_up(reader, k)
        self._count_unknown(numbers, tuples)
        return tuples, np.where(numbers >= 0, numbers + np.int32(first), np.int32(-1))

    def _find_in_bag(
        self, atom: Atom, place: int, numbers: Numbers, reader: ViewReader
    ) -> tuple[ViewTuples, Numbers]:
        """The values of a bag in a block, those at one place of its window where they are apart."""
        tuples = reader.bag(atom)[place]
        codes = tuples.keys[:, 0]
        found = np.where(codes >= 0, numbers[codes], -1).astype(np.int32)
        self._count_unknown(found, tuples)
        return tuples, found

    def _count_unknown(self, numbers: Numbers, tuples: ViewTuples) -> None:
        self.unknown += int(((numbers < 0) & (tuples.keys.min(axis=1, initial=0) >= 0)).sum())

    def _add_values(self, atom: Atom, values: ViewValues, numbers: Numbers) -> None:
        mapped = values.mapped(numbers)
        key = (atom.view.column, atom.offsets[0])
        self._groups.setdefault(key, []).append((atom.view, mapped))
        lost = values.lost(mapped)
        if lost.any():
            self.unknown += int(lost @ self._blocks.token_counts(*key))

    def _number_groups(self, grouped: bool) -> list[MakeColumn]:
        """The bundles of values; what is in none is put with the other columns and entries."""
        made: list[MakeColumn] = []
        for (column, offset), group in self._groups.items():
            if grouped and (len(group) > 1 or group[0][1].indptr is not None):
                numbers = self._add_bundles(merge_values([values for _, values in group]))
                made.append(partial(_shifted, numbers, column, offset))
                continue
            for view, values in group:
                if values.indptr is None:
                    own = partial(_shifted, values.codes, column, offset)
                    self._columns.setdefault(frozenset([view]), []).append(own)
                else:
                    self._entries.append(partial(_expanded, values, column, offset))
        self._groups.clear()
        return made

    def _add_bundles(self, matrix: CSRMatrix) -> Numbers:
        """Take bundles in; returns the number of each, −1 where it is empty."""
        number = np.arange(self._base, self._base + matrix.n_rows, dtype=np.int32)
        number[np.diff(matrix.indptr) == 0] = -1
        self._bundles.add(matrix)
        self._base += matrix.n_rows
        return number

    def _join(self, makers: list[MakeColumn]) -> list[MakeColumn]:
        """The columns of templates over the same views, with bundles where they repeat together."""
        columns = []
        growing = [self._blocks.scratch.growing(np.int32) for _ in makers]
        unknown = self.unknown
        for reader in self._blocks:
            for make, column in zip(makers, growing, strict=True):
                column.add(make(reader))
        columns = [column.array() for column in growing]
        joint = joint_columns(columns, self._blocks.scratch, self._blocks.size)
        if joint is None:
            self.unknown = unknown  # they are made, and counted, again
            return makers
        alone, bundles, codes = joint
        numbers = self._add_bundles(bundles)
        made: list[MakeColumn] = [partial(_part, column) for column in alone]
        return [*made, lambda reader: numbers[_part(codes, reader)]]

    def _assemble(self, numbers: list[MakeColumn]) -> CSRMatrix:
        """The rows of all blocks, one after the other."""
        index = RowFile(self._blocks.scratch)
        for reader in self._blocks:
            parts = [make(reader) for make in self._entries]
            entries = from_entries(*_transposed(parts), reader.n_tokens)
            index.add(hstack([make(reader) for make in numbers], entries))
        return index.matrix()


class RowFile:
    """A sparse index to which rows are added."""

    def __init__(self, scratch: Scratch) -> None:
        self._ends, self._indices = scratch.growing(np.int64), scratch.growing(np.int32)
        self._values = scratch.growing(np.float64)
        self._ends.add(np.zeros(1, np.int64))

    def add(self, rows: CSRMatrix) -> None:
        """Put rows below those that there are; where some have weights, the others weigh one."""
        before = self._indices.size
        self._ends.add(rows.indptr[1:] + before)
        self._indices.add(rows.indices)
        if not (len(rows.values) or self._values.size):
            return
        while (left := before - self._values.size) > 0:
            self._values.add(np.ones(min(left, PART)))
        self._values.add(rows.values if len(rows.values) else np.ones(len(rows.indices)))

    def matrix(self) -> CSRMatrix:
        """All rows."""
        return CSRMatrix(self._ends.array(), self._indices.array(), self._values.array())


def _transposed(parts: Iterable[Entries]) -> tuple[list[Ints], list[Numbers], list[Floats | None]]:
    owners: list[Ints] = []
    ids: list[Numbers] = []
    weights: list[Floats | None] = []
    for own, found, weight in parts:
        owners.append(own)
        ids.append(found)
        weights.append(weight)
    return owners, ids, weights


def _shifted(numbers: Numbers, column: str, offset: int, reader: ViewReader) -> Numbers:
    """The number of the value that stands so many tokens away. [n]"""
    return numbers[reader.shifted(column, offset)]


def _expanded(values: ViewValues, column: str, offset: int, reader: ViewReader) -> Entries:
    """The numbers of the values that stand so many tokens away, and their weights."""
    assert values.indptr is not None
    owner, entries = expand_entries(values.indptr, reader.shifted(column, offset))
    weights = None if values.weights is None else values.weights[entries]
    return owner, values.codes[entries], weights


def _part(column: Numbers, reader: ViewReader) -> Numbers:
    """What a column in files has for a block."""
    return column[reader.tokens]
