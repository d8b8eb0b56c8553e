"""The encoded features of a corpus: a sparse index in two levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, PART, Floats, Ints, Room, members, offsets_of
from skipchain.errors import FeatureError
from skipchain.features.reader import ViewReader, ViewTuples, ViewValues, expand_entries
from skipchain.features.template import Atom, View
from skipchain.kernels.gather import compress_columns, expand_bundles
from skipchain.kernels.intern import empty_slots, number_tuples
from skipchain.parallel import blocks

NO_VALUES = np.zeros(0, np.float64)
MAX_FEATURE_VALUE = 1e20
"""The largest feature value: products of such values stay far from the largest number, even in
single precision."""


@dataclass(frozen=True, slots=True)
class CSRMatrix:
    """Row r has entries ``indices[indptr[r] : indptr[r + 1]]``, weighted by ``values`` or one."""

    indptr: Ints  # [R + 1]
    indices: NDArray[np.int32]  # [K]
    values: Floats = field(default_factory=lambda: NO_VALUES)  # [K] or [0]

    @classmethod
    def empty(cls, rows: int) -> CSRMatrix:
        """No entry in any row."""
        return cls(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32))

    def unweighted(self) -> CSRMatrix:
        """The matrix with the weight one for each entry."""
        return CSRMatrix(self.indptr, self.indices)

    def squared(self) -> CSRMatrix:
        """The matrix with the square of each weight."""
        return CSRMatrix(self.indptr, self.indices, self.values**2)

    def take(self, rows: Ints) -> CSRMatrix:
        """The chosen rows, in their order."""
        entries = members(self.indptr, rows)
        values = self.values[entries] if len(self.values) else NO_VALUES
        return CSRMatrix(offsets_of(np.diff(self.indptr)[rows]), self.indices[entries], values)

    def distinct_rows(self) -> tuple[Ints, NDArray[np.int32]]:
        """The first of all rows with the same entries [U], and which of them each row is like [R].

        >>> matrix = CSRMatrix(np.array([0, 1, 2, 2]), np.array([7, 7], np.int32))
        >>> rows, like = matrix.distinct_rows()
        >>> rows.tolist(), like.tolist()
        ([0, 2], [0, 0, 1])
        """
        numbers: dict[bytes, int] = {}
        like = np.empty(self.n_rows, np.int32)
        first: list[int] = []
        for row, (a, b) in enumerate(pairwise(self.indptr.tolist())):
            key = self.indices[a:b].tobytes() + self.values[a:b].tobytes()
            number = numbers.setdefault(key, len(first))
            if number == len(first):
                first.append(row)
            like[row] = number
        return np.array(first, np.int64), like

    def vstack(self, other: CSRMatrix) -> CSRMatrix:
        """The matrix with the rows of another below its own."""
        return vstack([self, other])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.int32], Floats]:
        """``indptr``, ``indices`` and ``values``, as kernels take them."""
        return self.indptr, self.indices, self.values

    @property
    def row_ids(self) -> Ints:
        """The row of each entry. [K]"""
        return np.repeat(np.arange(self.n_rows), np.diff(self.indptr))

    def entries(self) -> Iterator[tuple[NDArray[np.int32], Ints]]:
        """The entries and the row of each, in parts."""
        for first, last in blocks(self.indptr, PART):
            indptr = self.indptr[first : last + 1]
            rows = np.repeat(np.arange(first, last), np.diff(indptr))
            yield self.indices[indptr[0] : indptr[-1]], rows

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self.arrays)


@dataclass(frozen=True, slots=True)
class FeatureMatrix:
    """The features of N tokens.

    ``tokens`` is an index of N rows; an entry below F is a feature, an entry F + b is bundle b,
    which stands for all the features in row b of ``bundles``. A bundle holds what follows from one
    distinct value of a column at one offset (the word itself, its shape, its affixes …), or from
    one combination of neighbouring values that occurs often (parts of speech around a token): its
    scores are summed once for all tokens that share it. ``edges`` is the index of the features of
    label pairs, without bundles, and ``trigrams`` that of the features that go with the label two
    tokens back, where there are any. ``unknown`` counts the (token, feature) pairs that were
    dropped because the vocabulary does not have the feature.
    """

    tokens: CSRMatrix
    bundles: CSRMatrix
    edges: CSRMatrix
    n_features: int
    n_edge_features: int = 0
    unknown: int = 0
    trigrams: CSRMatrix | None = None

    @classmethod
    def of(
        cls,
        state: FeatureMatrixBuilder,
        edge: FeatureMatrixBuilder,
        trigram: FeatureMatrixBuilder,
        *,
        joined: bool,
    ) -> FeatureMatrix:
        """The matrix of a corpus from its features of labels, of label pairs and of trigrams."""
        tokens, bundles = state.build(grouped=True, joined=joined)
        edges, _ = edge.build(grouped=False)
        unknown = state.unknown + edge.unknown + trigram.unknown
        sizes = state.n_features, edge.n_features, unknown
        trigrams = trigram.build(grouped=False)[0] if trigram.n_features else None
        return cls(tokens, bundles, edges, *sizes, trigrams)

    def __post_init__(self) -> None:
        parts = (self.tokens, self.bundles, self.edges, self.trigrams)
        for part in (part for part in parts if part is not None and len(part.values)):
            fit = np.abs(part.values) <= MAX_FEATURE_VALUE  # NaN is not
            if not fit.all():
                where = int(np.flatnonzero(~fit)[0])
                row = int(np.searchsorted(part.indptr, where, side="right")) - 1
                if part is self.bundles:
                    place = int(np.argmax(self.tokens.indices == self.n_features + row))
                    row = int(np.searchsorted(self.tokens.indptr, place, side="right")) - 1
                value = part.values[where]
                kind = "too large" if np.isfinite(value) else "not finite"
                advice = value_advice(value)
                raise FeatureError(f"token {row}: feature value {value} is {kind}; {advice}")

    @classmethod
    def without_features(cls, n_tokens: int, unknown: int) -> FeatureMatrix:
        """The matrix of tokens whose features are not kept; so many were ``unknown``."""
        empty = CSRMatrix.empty(n_tokens)
        return cls(empty, CSRMatrix.empty(0), empty, 0, unknown=unknown)

    @property
    def n_active(self) -> int:
        """The number of (token, feature) pairs, with bundles written out."""
        sizes = np.diff(self.bundles.indptr)
        total = 0
        for first in range(0, len(self.tokens.indices), PART):
            entries = self.tokens.indices[first : first + PART]
            bundled = entries[entries >= self.n_features] - self.n_features
            total += len(entries) - len(bundled) + int(sizes[bundled].sum())
        return total

    def active_counts(self, first: int, last: int) -> Ints:
        """The number of features of the tokens from ``first`` to ``last``, bundles written out."""
        indptr = self.tokens.indptr[first : last + 1]
        entries = self.tokens.indices[indptr[0] : indptr[-1]]
        sizes = np.ones(len(entries), np.int64)
        bundled = entries >= self.n_features
        chosen = entries[bundled] - self.n_features
        sizes[bundled] = self.bundles.indptr[chosen + 1] - self.bundles.indptr[chosen]
        counts: Ints = np.diff(offsets_of(sizes)[indptr - indptr[0]])
        return counts

    def take(self, tokens: Ints) -> FeatureMatrix:
        """The chosen tokens, in their order."""
        trigrams = None if self.trigrams is None else self.trigrams.take(tokens)
        edges = self.edges.take(tokens)
        return replace(self, tokens=self.tokens.take(tokens), edges=edges, trigrams=trigrams)

    def compact(self) -> tuple[FeatureMatrix, Ints]:
        """The matrix with only the features and bundles that occur, and the features' old numbers.

        >>> tokens = CSRMatrix(np.array([0, 2, 3]), np.array([7, 2, 7], np.int32))
        >>> matrix = FeatureMatrix(tokens, CSRMatrix.empty(0), CSRMatrix.empty(2), 9)
        >>> rows, features = matrix.compact()
        >>> rows.tokens.indices, features
        (array([1, 0, 1], dtype=int32), array([2, 7]))
        """
        count = self.n_features
        used = np.zeros(count + self.bundles.n_rows, np.bool_)
        used[self.tokens.indices] = True
        bundles = self.bundles.take(np.flatnonzero(used[count:]))
        used[bundles.indices] = True
        number = (np.cumsum(used) - 1).astype(np.int32)
        features = np.flatnonzero(used[:count])
        return replace(
            self,
            tokens=replace(self.tokens, indices=number[self.tokens.indices]),
            bundles=replace(bundles, indices=number[bundles.indices]),
            n_features=len(features),
        ), features

    def with_features(
        self, numbers: NDArray[np.integer], count: int, weights: Floats | None = None
    ) -> FeatureMatrix:
        """The matrix with ``count`` further features, the last ones.

        Token n has those of ``numbers[n]`` [N, W]; −1 stands for none. They have the values
        ``weights`` [N, W], or one.
        """
        old, first = self.tokens, self.n_features
        indices = old.indices + np.where(old.indices >= first, count, 0).astype(np.int32)
        tokens, places = np.nonzero(numbers >= 0)
        owners = np.concatenate([old.row_ids, tokens])
        entries = np.concatenate([indices, first + numbers[tokens, places]]).astype(np.int32)
        order = np.argsort(owners, kind="stable")
        values = old.values
        if len(values) or weights is not None:
            before = values if len(values) else np.ones(len(old.indices))
            after = np.ones(len(tokens)) if weights is None else weights[tokens, places]
            values = np.concatenate([before, after])[order]
        sizes = np.bincount(owners, minlength=old.n_rows)
        index = CSRMatrix(offsets_of(sizes), entries[order], values)
        return replace(self, tokens=index, n_features=first + count)

    def expanded(self, room: Room = IN_MEMORY) -> CSRMatrix:
        """The index of all N tokens with the bundles written out, as other tools hold it.

        Elsewhere than in memory it is written in parts.
        """
        tokens, bundles = self.tokens, self.bundles.arrays
        if room is IN_MEMORY:
            return CSRMatrix(*expand_bundles(*tokens.arrays, self.n_features, *bundles))
        size, weighted = self.n_active, len(tokens.values) > 0 or len(self.bundles.values) > 0
        indptr = room.zeros(tokens.indptr.shape, np.int64)
        indices = room.empty((size,), np.int32)
        values = room.empty((size if weighted else 0,), np.float64)
        end = 0
        for first, last in blocks(tokens.indptr, PART):
            own, ids, weights = expand_bundles(
                tokens.indptr[first : last + 1], *tokens.arrays[1:], self.n_features, *bundles
            )
            begin, end = end, end + len(ids)
            indptr[first + 1 : last + 1] = own[1:] + begin
            indices[begin:end] = ids
            values[begin : end if weighted else 0] = weights
        return CSRMatrix(indptr, indices, values)


class FeatureMatrixBuilder:
    """Collects the features of each template and makes one index of them."""

    def __init__(self, reader: ViewReader, n_features: int) -> None:
        self.reader = reader
        self.n_features = n_features
        self.unknown = 0
        self._groups: dict[tuple[str, int], list[tuple[View, ViewValues]]] = {}
        self._columns: dict[frozenset[View], list[NDArray[np.int32]]] = {}
        self._tokens: list[Ints] = []
        self._ids: list[NDArray[np.int32]] = []
        self._weights: list[Floats | None] = []

    def add_values(self, atom: Atom, values: ViewValues, numbers: NDArray[np.int32]) -> None:
        """Add a template of one view at one offset; ``numbers`` maps its codes to features."""
        mapped = values.mapped(numbers)
        key = (atom.view.column, atom.offsets[0])
        self._groups.setdefault(key, []).append((atom.view, mapped))
        lost = values.lost(mapped)
        if lost.any():
            self.unknown += int(lost @ np.bincount(self.reader.shifted(*key), minlength=len(lost)))

    def add_tuples(
        self, atoms: tuple[Atom, ...], tuples: ViewTuples, numbers: NDArray[np.int32], first: int
    ) -> None:
        """Add a conjunction or a bag; ``numbers`` [K] are its features from ``first`` on, or −1."""
        self.unknown += int(((numbers < 0) & (tuples.keys.min(axis=1, initial=0) >= 0)).sum())
        if tuples.tokens is None:
            views = frozenset(atom.view for atom in atoms)
            column = np.where(numbers >= 0, numbers + np.int32(first), np.int32(-1))
            self._columns.setdefault(views, []).append(column)
        else:
            keep = numbers >= 0
            self._tokens.append(tuples.tokens[keep])
            self._ids.append(numbers[keep] + np.int32(first))
            self._weights.append(None)

    def _add_multi_valued(self, values: ViewValues, codes: NDArray[np.int32]) -> None:
        assert values.indptr is not None
        owner, entries = expand_entries(values.indptr, codes)
        self._tokens.append(owner)
        self._ids.append(values.codes[entries])
        self._weights.append(None if values.weights is None else values.weights[entries])

    def build(self, *, grouped: bool, joined: bool = False) -> tuple[CSRMatrix, CSRMatrix]:
        """The index of tokens and, where templates are grouped, that of bundles.

        With ``joined`` bundles are also sought for columns together, which takes time but saves
        more where the rows are summed again and again.
        """
        bundles: list[CSRMatrix] = []
        numbers: list[NDArray[np.int32]] = []
        base = self.n_features

        def add_bundles(matrix: CSRMatrix, codes: NDArray[np.int32]) -> None:
            nonlocal base
            number = np.arange(base, base + matrix.n_rows, dtype=np.int32)
            number[np.diff(matrix.indptr) == 0] = -1
            numbers.append(number[codes])
            bundles.append(matrix)
            base += matrix.n_rows

        for (column, offset), group in self._groups.items():
            codes = self.reader.shifted(column, offset)
            if grouped and (len(group) > 1 or group[0][1].indptr is not None):
                add_bundles(merge_values([values for _, values in group]), codes)
                continue
            for view, values in group:
                if values.indptr is None:
                    self._columns.setdefault(frozenset([view]), []).append(values.codes[codes])
                else:
                    self._add_multi_valued(values, codes)
        for columns in self._columns.values():
            joint = _joint_bundles(columns) if joined and len(columns) > 1 else None
            if joint is None:
                numbers.extend(columns)
            else:
                numbers.extend(joint[0])
                add_bundles(*joint[1:])
        entries = from_entries(self._tokens, self._ids, self._weights, self.reader.n_tokens)
        return hstack(numbers, entries), vstack(bundles)


def from_entries(
    owners: list[Ints], ids: list[NDArray[np.int32]], weights: list[Floats | None], rows: int
) -> CSRMatrix:
    """An index of entries that come in several lists, each with the row of each entry."""
    if not owners:
        return CSRMatrix.empty(rows)
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    indptr = offsets_of(np.bincount(owner, minlength=rows))
    values = NO_VALUES
    if any(w is not None for w in weights):
        pairs = zip(ids, weights, strict=True)
        values = np.concatenate([np.ones(len(k)) if w is None else w for k, w in pairs])[order]
    return CSRMatrix(indptr, np.concatenate(ids)[order].astype(np.int32), values)


def hstack(columns: list[NDArray[np.int32]], extra: CSRMatrix) -> CSRMatrix:
    """One index from columns [R] of numbers (−1: none), and a further index at the rows' ends."""
    if not columns:
        return extra
    index = CSRMatrix(*compress_columns(np.stack(columns), extra.indptr, extra.indices))
    if not len(extra.values):
        return index
    values = np.ones(len(index.indices))
    last = np.repeat(index.indptr[1:] - extra.indptr[1:], np.diff(extra.indptr))
    values[last + np.arange(len(extra.values))] = extra.values
    return CSRMatrix(index.indptr, index.indices, values)


def _joint_bundles(
    columns: list[NDArray[np.int32]],
) -> tuple[list[NDArray[np.int32]], CSRMatrix, NDArray[np.int32]] | None:
    """Bundles of the features that several columns have together.

    Returns the columns that stay alone, the bundles, and which one each token has; None where
    tokens seldom agree in two columns, so that nothing would be saved. The columns come from
    templates over the same views: parts of speech around a token, say, often repeat together, words
    do not. N tokens with K columns cost N · K entries alone; together they cost N, and K for each
    of the D bundles. A column is taken in as long as that falls.
    """
    alone: list[NDArray[np.int32]] = []
    joined = columns[:1]
    codes, rows, _ = number_tuples(columns[0][:, None] + np.int32(1), empty_slots(len(columns[0])))
    tokens, n_bundles = len(codes), len(rows)
    for column in columns[1:]:
        pairs = np.stack([codes, column + np.int32(1)], axis=1)
        wider, rows, _ = number_tuples(pairs, empty_slots(tokens))
        if len(rows) * (len(joined) + 1) - n_bundles * len(joined) < tokens:
            codes, n_bundles = wider, len(rows)
            joined = [*joined, column]
        else:
            alone.append(column)
    if len(joined) == 1:
        return None
    first = np.zeros(n_bundles, np.int64)
    first[codes[::-1]] = np.arange(tokens - 1, -1, -1)
    nothing = CSRMatrix.empty(n_bundles)
    table = np.stack([column[first] for column in joined])
    bundles = compress_columns(table, nothing.indptr, nothing.indices)
    return alone, CSRMatrix(*bundles), codes


def merge_values(group: list[ViewValues]) -> CSRMatrix:
    """All features of each value as one matrix: several views of a column side by side."""
    matrices = [
        CSRMatrix(v.indptr, v.codes, NO_VALUES if v.weights is None else v.weights)
        for v in group
        if v.indptr is not None
    ]
    rows = max(len(v.codes) if v.indptr is None else len(v.indptr) - 1 for v in group)
    extra = matrices[0] if matrices else CSRMatrix.empty(rows)
    if len(matrices) > 1:
        weights = [m.values if len(m.values) else None for m in matrices]
        owners, ids = [m.row_ids for m in matrices], [m.indices for m in matrices]
        extra = from_entries(owners, ids, weights, rows)
    return hstack([v.codes for v in group if v.indptr is None], extra)


def vstack(matrices: list[CSRMatrix]) -> CSRMatrix:
    """One matrix below the other."""
    if not matrices:
        return CSRMatrix.empty(0)
    shifts = np.cumsum([0] + [len(m.indices) for m in matrices])
    indptr = [m.indptr[:-1] + shift for m, shift in zip(matrices, shifts, strict=False)]
    indices, values = np.concatenate([m.indices for m in matrices]), NO_VALUES
    if any(len(m.values) for m in matrices):
        weights = (m.values if len(m.values) else np.ones(len(m.indices)) for m in matrices)
        values = np.concatenate(list(weights))
    return CSRMatrix(np.concatenate([*indptr, shifts[-1:]]), indices, values)


def value_advice(value: float) -> str:
    """Advice on a feature value that is not finite, or too large."""
    if np.isfinite(value):
        return f"scale it down to {MAX_FEATURE_VALUE:g} at most"
    return "remove it or put a number in its place"
