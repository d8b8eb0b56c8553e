"""The forms in which batches of rows come: Arrow, pandas, dicts of arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, Protocol

import numpy as np

from skipchain.errors import ParameterError, SkipchainError
from skipchain.extras import install_command

Rows = list[list[Any] | None]
Added = Mapping[str, tuple[str, Rows]]
"""Columns to add by their names: ``entities``, ``tokens`` or ``labels``, and the rows."""


class RowBatch(Protocol):
    """Rows with named columns."""

    @property
    def names(self) -> list[Any]:
        """The names of the columns."""

    def values(self, name: str) -> Sequence[Any]:
        """A column as Python objects, None where it is null."""

    def extended(self, added: Added) -> Any:
        """The batch in the form in which it came, with more columns."""


def batch_of(given: Any) -> RowBatch:
    """The batch behind whatever a framework gives."""
    package = type(given).__module__.partition(".")[0]
    if package == "pyarrow" and hasattr(given, "schema") and hasattr(given, "append_column"):
        return ArrowBatch(given)
    if package == "pandas" and hasattr(given, "assign"):
        return FrameBatch(given)
    if isinstance(given, Mapping):
        return DictBatch(given)
    kind = type(given).__name__
    raise ParameterError(
        f"a batch is an Arrow table or record batch, a pandas frame or a dict of arrays, got {kind}"
    )


@dataclass(frozen=True, slots=True)
class ArrowBatch:
    """A table or a record batch of Arrow."""

    given: Any

    @property
    def names(self) -> list[Any]:
        """See `RowBatch`."""
        return list(self.given.schema.names)

    def values(self, name: str) -> Sequence[Any]:
        """See `RowBatch`."""
        found: list[Any] = self.given.column(name).to_pylist()
        return found

    def extended(self, added: Added) -> Any:
        """See `RowBatch`."""
        extended = self.given
        for name, (kind, rows) in added.items():
            extended = extended.append_column(name, arrow_array(kind, rows))
        return extended


@dataclass(frozen=True, slots=True)
class FrameBatch:
    """A frame of pandas, whose new columns have Arrow types: they are the same for no rows."""

    given: Any

    @property
    def names(self) -> list[Any]:
        """See `RowBatch`."""
        return list(self.given.columns)

    def values(self, name: str) -> Sequence[Any]:
        """See `RowBatch`."""
        column = self.given[name]
        return [
            None if null else value
            for value, null in zip(column.tolist(), column.isna().tolist(), strict=True)
        ]

    def extended(self, added: Added) -> Any:
        """See `RowBatch`."""
        pandas, index = sys.modules["pandas"], self.given.index
        columns = {}
        for name, (kind, rows) in added.items():
            array = arrow_array(kind, rows)
            columns[name] = pandas.Series(array, index, pandas.ArrowDtype(array.type), name)
        return self.given.assign(**columns)


@dataclass(frozen=True, slots=True)
class DictBatch:
    """Arrays, or lists, by their names."""

    given: Mapping[str, Any]

    @property
    def names(self) -> list[Any]:
        """See `RowBatch`."""
        return list(self.given)

    def values(self, name: str) -> Sequence[Any]:
        """See `RowBatch`."""
        found = self.given[name]
        values = found.tolist() if isinstance(found, np.ndarray) else list(found)
        return [None if isinstance(value, float) and isnan(value) else value for value in values]

    def extended(self, added: Added) -> Any:
        """See `RowBatch`."""
        return {**self.given, **{name: _objects(rows) for name, (_, rows) in added.items()}}


def arrow_array(kind: str, rows: Rows) -> Any:
    """Rows of ``entities``, ``tokens`` or ``labels`` as an array of Arrow."""
    try:
        import pyarrow
    except ImportError:
        raise SkipchainError(
            "batches of Arrow and pandas need pyarrow, which is not installed; install it with: "
            f"{install_command('arrow')}"
        ) from None
    item = pyarrow.string()
    if kind == "entities":
        number, sure = pyarrow.int32(), pyarrow.float64()
        fields = {"start": number, "end": number, "label": item, "text": item, "confidence": sure}
        item = pyarrow.struct(list(fields.items()))
    return pyarrow.array(rows, pyarrow.list_(item))


def _objects(rows: Rows) -> Any:
    """A row an element, where NumPy would make further dimensions of lists."""
    column = np.empty(len(rows), object)
    column[:] = rows
    return column
