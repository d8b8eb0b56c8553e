"""The schema of arrays: types, shapes, ranges and order, checked before anything is built of them.

An array of a model file is a stranger's: a number in it that says where something stands would lead
a compiled loop anywhere. So every array of every form has a schema, and every check is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import LARGEST_WEIGHT

Length = int | str
"""A length, or the name of one, such as ``"labels"``, ``"nodes"`` or ``"nodes + 1"``."""
RISING, INCREASING = "rising", "increasing"
LARGEST_INDEX = (1 << 62) - 1

# A table of which the file has only what is not zero must not be a gigabyte made of nothing.
TABLE_ENTRIES = 1 << 26
ENTRIES_PER_WEIGHT = 4096


class ArrayError(ValueError):
    """An array of a model file is not what the schema says."""


@dataclass(frozen=True, slots=True)
class ArraySchema:
    """The type, the shape and the range of the entries of an array.

    The first array that has a named length fixes it for the others. Entries are at least ``least``
    and below ``below``, a number or a length, or one for each column. ``order`` says whether they
    never fall (``rising``) or always grow (``increasing``), ``last`` what the last one is. Floats
    are finite and at most 10¹⁵ in size.

    >>> schema = {"first": ArraySchema("int32", ("nodes + 1",), least=0, order="rising")}
    >>> check_arrays(schema, {"first": np.array([0, 2, 1], np.int32)}, {})
    Traceback (most recent call last):
    ...
    skipchain.schema.arrays.ArrayError: first falls at entry 2, wanted rising numbers
    """

    dtype: str
    shape: tuple[Length, ...]
    least: float | None = None
    below: Length | tuple[Length, ...] | None = None
    order: str | None = None
    last: Length | None = None


def check_arrays(
    schema: Mapping[str, ArraySchema],
    arrays: Mapping[str, NDArray[Any]],
    lengths: Mapping[str, int] | None = None,
    prefix: str = "",
) -> None:
    """Refuse arrays that are missing or not what the schema says.

    ``lengths`` are known before; errors put ``prefix`` before the names of arrays.
    """
    lengths = dict(lengths or {})
    for name, wanted in schema.items():
        if name not in arrays:
            raise ArrayError(f"there is no array {prefix}{name}")
        _check_type(prefix + name, arrays[name], wanted)
        _check_shape(prefix + name, arrays[name], wanted.shape, lengths)
    for name, wanted in schema.items():  # all lengths are known now
        _check_size(prefix + name, arrays[name])
        _check_range(prefix + name, arrays[name], wanted, lengths)
        _check_order(prefix + name, arrays[name], wanted, lengths)


def sparse_schema(name: str, shape: tuple[int, ...]) -> dict[str, ArraySchema]:
    """The schema of a table of which the entries that are not zero are stored."""
    size = int(np.prod(shape, dtype=object))
    if size > LARGEST_INDEX:
        raise ArrayError(f"{name} would have {size:,} entries")
    stored = f"{name} stored"
    return {
        f"{name}.at": ArraySchema("int64", (stored,), least=0, below=size, order=INCREASING),
        f"{name}.values": ArraySchema("float64", (stored,)),
    }


def check_table_size(name: str, shape: tuple[int, ...], stored: int) -> None:
    """Refuse a table that is far larger than what the file has of it."""
    size = int(np.prod(shape, dtype=object))
    if size > max(TABLE_ENTRIES, ENTRIES_PER_WEIGHT * stored):
        raise ArrayError(
            f"{name} is a table of {' × '.join(map(str, shape))} numbers with only {stored:,} that "
            "are not zero, which no training gives"
        )


def _length(length: Length, lengths: Mapping[str, int]) -> int:
    """The number that a length is; named ones must be known."""
    if isinstance(length, int):
        return length
    name, _, more = length.partition(" + ")
    return lengths[name] + int(more or 0)


def _check_type(name: str, array: NDArray[Any], wanted: ArraySchema) -> None:
    if array.dtype != np.dtype(wanted.dtype) or array.ndim != len(wanted.shape):
        raise ArrayError(
            f"{name} is {array.dtype} with {array.ndim} dimensions, wanted {wanted.dtype} with "
            f"{len(wanted.shape)}"
        )


def _check_shape(
    name: str, array: NDArray[Any], shape: tuple[Length, ...], lengths: dict[str, int]
) -> None:
    for axis, length in enumerate(shape):
        size = array.shape[axis]
        if isinstance(length, str):
            base, _, more = length.partition(" + ")
            lengths.setdefault(base, max(size - int(more or 0), 0))
        wanted = _length(length, lengths)
        if size != wanted:
            what = "" if isinstance(length, int) else f" ({length})"
            raise ArrayError(f"{name} has the shape {array.shape}, wanted {wanted}{what} at {axis}")


def _check_size(name: str, array: NDArray[Any]) -> None:
    """Refuse floats that are not finite, or so large that sums of them would not be."""
    if array.dtype.kind != "f" or not array.size:
        return
    low, high = float(array.min()), float(array.max())  # NaN where there is one
    if not (low >= -LARGEST_WEIGHT and high <= LARGEST_WEIGHT):
        kind = "not all finite" if not np.isfinite(array).all() else "too large"
        raise ArrayError(f"{name}: numbers are {kind}, wanted at most {LARGEST_WEIGHT:g} in size")


def _check_range(
    name: str, array: NDArray[Any], wanted: ArraySchema, lengths: Mapping[str, int]
) -> None:
    if not array.size:
        return
    if wanted.least is not None and array.min() < wanted.least:
        raise ArrayError(f"{name} has {array.min()}, wanted at least {wanted.least}")
    if isinstance(wanted.below, tuple):
        limits = [_length(length, lengths) for length in wanted.below]
        if (array.max(axis=0) >= limits).any():
            raise ArrayError(f"{name} names what is not there: wanted numbers below {limits}")
    elif wanted.below is not None:
        limit = _length(wanted.below, lengths)
        if array.max() >= limit:
            raise ArrayError(f"{name} has {array.max()}, wanted numbers below {limit}")


def _check_order(
    name: str, array: NDArray[Any], wanted: ArraySchema, lengths: Mapping[str, int]
) -> None:
    if wanted.order is not None and array.size:
        later, before = array[1:], array[:-1]  # a difference could wrap around
        wrong = np.flatnonzero(later < before if wanted.order == RISING else later <= before)
        if len(wrong):
            how = "falls" if wanted.order == RISING else "does not grow"
            raise ArrayError(f"{name} {how} at entry {wrong[0] + 1}, wanted {wanted.order} numbers")
    if wanted.last is not None:
        end = _length(wanted.last, lengths)
        if not array.size or array[-1] != end:
            raise ArrayError(f"{name} does not end with {end}")
