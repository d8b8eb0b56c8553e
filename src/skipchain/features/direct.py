"""Features without templates: dicts, lists of strings, sparse matrices or arrays a sequence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Ints, offsets_of
from skipchain.errors import FeatureError
from skipchain.features.matrix import MAX_FEATURE_VALUE, CSRMatrix, FeatureMatrix, value_advice
from skipchain.features.strings import StringTable

Encoded = tuple[FeatureMatrix, Ints]  # the rows of all tokens, and the offsets of chains


@dataclass(slots=True)
class NamedFeatures:
    """A vocabulary of feature names, for sequences of dicts or of lists of strings.

    The conventions are python-crfsuite's: a number is a weight, True is 1 and False nothing,
    ``{"key": "text"}`` is the feature ``key:text``, and a nested dict or list puts ``key:`` before
    its own names. An array of numbers (a word vector, say) is a weight for each place, ``key:0``,
    ``key:1`` … A weight of zero is no feature.

    >>> features, rows, offsets = NamedFeatures.fit([[{"w": "Ada", "caps": True}, {"w": "slept"}]])
    >>> features.names()
    ['w:Ada', 'caps', 'w:slept']
    """

    strings: StringTable

    @classmethod
    def fit(cls, sequences: Sequence[Any], min_count: int = 1) -> tuple[NamedFeatures, *Encoded]:
        """Number the features that occur at least ``min_count`` times, and encode the sequences."""
        tokens = list(_tokens(sequences))
        counts = Counter(name for items in tokens for name, _ in items)
        names = [name for name, count in counts.items() if count >= min_count]
        features = cls(StringTable.of(names))
        return features, *features._encode(tokens, sequences)

    def encode(self, sequences: Sequence[Any]) -> Encoded:
        """Rows and chain offsets; unknown features are dropped and counted."""
        return self._encode(list(_tokens(sequences)), sequences)

    def _encode(self, tokens: list[list[tuple[str, float]]], sequences: Sequence[Any]) -> Encoded:
        names = [name for items in tokens for name, _ in items]
        numbers = np.array(self.strings.find(names), np.int32)
        weights = np.fromiter((weight for items in tokens for _, weight in items), np.float64)
        known = numbers >= 0
        indptr = offsets_of(known)[offsets_of(map(len, tokens))]
        index = CSRMatrix(indptr, numbers[known], weights[known])
        if (index.values == 1.0).all():
            index = index.unweighted()
        rows = _unbundled(index, len(self.strings), int((~known).sum()))
        return rows, offsets_of(map(len, sequences))

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.strings)

    @property
    def n_edge_features(self) -> int:
        """The number of label-pair features: none, only templates have them."""
        return 0

    def names(self, *, transition: bool = False) -> list[str]:
        """The features' names."""
        return [] if transition else self.strings.tolist()

    def keep(self, state: Bools, edge: Bools) -> NamedFeatures:
        """The vocabulary with only the chosen features."""
        return NamedFeatures(self.strings.keep(state))


def _tokens(sequences: Sequence[Any]) -> Iterator[list[tuple[str, float]]]:
    for number, sequence in enumerate(sequences):
        if isinstance(sequence, (str, bytes, Mapping)) or not isinstance(sequence, Collection):
            wanted = "a sequence is a list of words, or of one dict or list of features per token"
            raise FeatureError(f"sequence {number} is a {type(sequence).__name__}; {wanted}")
        for position, token in enumerate(sequence):
            where = f"sequence {number}, token {position}"
            try:
                yield list(_items(token, "", where))
            except RecursionError:
                fault = "dicts inside dicts are too deep, or one holds itself"
                raise FeatureError(f"{where}: {fault}") from None


def _items(token: Any, prefix: str, where: str) -> Iterator[tuple[str, float]]:
    if isinstance(token, Mapping):
        for key, value in token.items():
            if not isinstance(key, str):
                raise FeatureError(f"{where}: feature name {key!r} is not a string")
            if isinstance(value, str):
                yield f"{prefix}{key}:{value}", 1.0
            elif isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "buif":
                numbers = {str(place): number for place, number in enumerate(value.tolist())}
                yield from _items(numbers, f"{prefix}{key}:", where)
            elif isinstance(value, (Mapping, list, tuple, set, frozenset)):
                yield from _items(value, f"{prefix}{key}:", where)
            elif weight := _weight(prefix + key, value, where):
                yield prefix + key, weight
    elif isinstance(token, (list, tuple, set, frozenset)):
        for name in sorted(token, key=str) if isinstance(token, (set, frozenset)) else token:
            if not isinstance(name, str):
                raise FeatureError(f"{where}: feature {name!r} is not a string")
            yield prefix + name, 1.0
    else:
        kind = type(token).__name__
        raise FeatureError(f"{where}: a token is a dict or a list of features, got {kind}")


def _weight(name: str, value: Any, where: str) -> float:
    if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        fault = f"{where}: feature {name!r} has a value of type {type(value).__name__}"
        wanted = "a number, a bool, a string, a dict, a list or an array of numbers"
        raise FeatureError(f"{fault}; wanted {wanted}")
    try:
        weight = float(value)
    except OverflowError:
        weight = math.inf
    if not abs(weight) <= MAX_FEATURE_VALUE:  # NaN is not
        advice = value_advice(weight)
        raise FeatureError(f"{where}: feature {name!r} has the value {weight}; {advice}")
    return weight


def _unbundled(index: CSRMatrix, n_features: int, unknown: int) -> FeatureMatrix:
    """The matrix of an index of tokens, without bundles and features of label pairs."""
    nothing = CSRMatrix.empty(0), CSRMatrix.empty(index.n_rows)
    return FeatureMatrix(index, *nothing, n_features, unknown=unknown)


@dataclass(slots=True)
class NumberedFeatures:
    """Features that are the columns of matrices, one sparse or dense matrix [T, F] per sequence.

    >>> features, rows, offsets = NumberedFeatures.fit([np.eye(3), np.ones((2, 3))])
    >>> features.n_features, rows.n_active, offsets.tolist()
    (3, 9, [0, 3, 5])
    """

    columns: Ints
    width: int

    @classmethod
    def fit(cls, matrices: Sequence[Any], min_count: int = 1) -> tuple[NumberedFeatures, *Encoded]:
        """Take the number of columns from the matrices, and encode them."""
        if not len(matrices):
            raise FeatureError("there is no matrix to take the number of features from")
        _, width = _to_csr(matrices[0], 0)
        features = cls(np.arange(width), width)
        if min_count > 1:
            index, _ = features._vstack(matrices)
            counts = np.bincount(index.indices, minlength=width)
            features = cls(np.flatnonzero(counts >= min_count), width)
        return features, *features.encode(matrices)

    def encode(self, matrices: Sequence[Any]) -> Encoded:
        """Rows and chain offsets; zeros are left out."""
        index, offsets = self._vstack(matrices)
        unknown = 0
        if len(self.columns) < self.width:
            number = np.full(self.width, -1, np.int32)
            number[self.columns] = np.arange(len(self.columns), dtype=np.int32)
            numbers = number[index.indices]
            known = numbers >= 0
            unknown = int((~known).sum())
            indptr = offsets_of(known)[index.indptr]
            index = CSRMatrix(indptr, numbers[known], index.values[known])
        return _unbundled(index, len(self.columns), unknown), offsets

    def _vstack(self, matrices: Sequence[Any]) -> tuple[CSRMatrix, Ints]:
        empty = CSRMatrix.empty(0)
        indptr, indices, values = [empty.indptr], [empty.indices], [empty.values]
        n_entries = 0
        lengths = []
        for number, matrix in enumerate(matrices):
            rows, width = _to_csr(matrix, number)
            if width != self.width:
                fault = f"sequence {number} has {width} columns, but {self.width} are wanted"
                raise FeatureError(fault)
            indptr.append(rows.indptr[1:] + n_entries)
            indices.append(rows.indices)
            values.append(rows.values)
            n_entries += len(rows.indices)
            lengths.append(rows.n_rows)
        index = np.concatenate(indptr), np.concatenate(indices), np.concatenate(values)
        return CSRMatrix(*index), offsets_of(lengths)

    @property
    def n_features(self) -> int:
        """The number of columns in use."""
        return len(self.columns)

    @property
    def n_edge_features(self) -> int:
        """The number of label-pair features: none, only templates have them."""
        return 0

    def names(self, *, transition: bool = False) -> list[str]:
        """``column 0``, ``column 1`` …"""
        return [] if transition else [f"column {number}" for number in self.columns]

    def keep(self, state: Bools, edge: Bools) -> NumberedFeatures:
        """The vocabulary with only the chosen columns."""
        return NumberedFeatures(self.columns[state], self.width)


def _to_csr(matrix: Any, number: int) -> tuple[CSRMatrix, int]:
    """A matrix as an index, each (row, column) once, no zeros; and its number of columns."""
    matrix = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix)
    if len(matrix.shape) != 2 or matrix.dtype.kind not in "buif":
        fault = f"sequence {number} has shape {matrix.shape} and type {matrix.dtype}"
        wanted = "numbers, one row per token, one column per feature"
        raise FeatureError(f"{fault}; wanted {wanted}")
    rows, width = matrix.shape
    if isinstance(matrix, np.ndarray):
        owner, columns = np.nonzero(matrix)
        indptr = offsets_of(np.bincount(owner, minlength=rows))
        values = matrix[owner, columns]
    else:
        if not matrix.has_canonical_format or not matrix.data.all():
            matrix = matrix.copy()
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        indptr, columns, values = matrix.indptr, matrix.indices, matrix.data
    index = CSRMatrix(indptr.astype(np.int64), columns.astype(np.int32), values.astype(np.float64))
    return index, width


def is_matrix(sequence: Any) -> bool:
    """Whether a sequence is a matrix: one row a token, one column a feature."""
    return hasattr(sequence, "tocsr") or (isinstance(sequence, np.ndarray) and sequence.ndim == 2)


def lengths_of(sequences: Iterable[Any]) -> list[int]:
    """The number of tokens of each sequence, whatever its form."""
    return [s.shape[0] if is_matrix(s) else len(s) for s in sequences]
