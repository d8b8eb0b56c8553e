"""A model file being changed: header, arrays, and later edits of the text and bytes it becomes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hardening.fuzz.declared import declared_fields
from skipchain.modelfile import HEADER, checksum, read_arrays
from skipchain.schema.fields import Field

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32",
    "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
    "bool": "BOOL",
}  # fmt: skip
NAMES = {theirs: ours for ours, theirs in DTYPES.items()}
Entries = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Sample:
    """A model file as it should be, with the field of each entry of its header."""

    name: str
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]
    fields: list[tuple[tuple[Any, ...], Field | None]]

    @classmethod
    def read(cls, path: Path) -> Sample:
        """The sample of a file; arrays are in order of their names, whatever the file has."""
        header, arrays = read_arrays(path)
        arrays = {name: arrays[name] for name in sorted(arrays)}
        return cls(path.stem, header, arrays, list(declared_fields(header)))

    def mutant(self) -> Mutant:
        """A copy to be changed."""
        return Mutant(self, copy.deepcopy(self.header), dict(self.arrays))


@dataclass
class Mutant:
    """Header and arrays that mutations change, and what is done to the text and bytes afterwards.

    Arrays are shared with the sample: a mutation puts another array in the place of one.
    """

    sample: Sample
    header: Any
    arrays: dict[str, np.ndarray]
    recipe: list[str] = field(default_factory=list)
    text_edits: list[Callable[[str], str]] = field(default_factory=list)
    entry_edits: list[Callable[[Entries], None]] = field(default_factory=list)
    byte_edits: list[Callable[[bytes], bytes]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """The file, with the right checksum unless bytes are edited or it cannot have one.

        The file is put together here, since safetensors itself would refuse to write many of them.
        """
        entries, data = _layout(self.arrays)
        for entry_edit in self.entry_edits:
            entry_edit(entries)
        text = json.dumps(self.header)
        for text_edit in self.text_edits:
            text = text_edit(text)
        outer = json.dumps({"__metadata__": {HEADER: _sealed(text, entries, data)}, **entries})
        start = outer.encode()
        start += b" " * (-len(start) % 8)
        file = len(start).to_bytes(8, "little") + start + data
        for byte_edit in self.byte_edits:
            file = byte_edit(file)
        return file


def _layout(arrays: dict[str, np.ndarray]) -> tuple[Entries, bytes]:
    """The table of arrays, widest first as safetensors has them, and their bytes."""
    entries: Entries = {}
    parts: list[bytes] = []
    end = 0
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = arrays[name]
        start, end = end, end + array.nbytes
        entries[name] = {
            "dtype": DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
        parts.append(array.tobytes())
    return entries, b"".join(parts)


def _sealed(text: str, entries: Entries, data: bytes) -> str:
    """The header's text with the checksum of what a reader will find, where it finds anything."""
    try:
        header = json.loads(text)
        arrays = {name: _array(entry, data) for name, entry in entries.items()}
        total = checksum(header, arrays)
    except (ValueError, TypeError, KeyError, RecursionError):
        return text  # a reader gets no further than we do
    if not isinstance(header, dict) or "checksum" in header:
        return text
    return f'{{"checksum": "{total}", ' + text.lstrip()[1:]


def _array(entry: dict[str, Any], data: bytes) -> np.ndarray:
    start, end = entry["data_offsets"]
    return np.frombuffer(data[start:end], NAMES[entry["dtype"]]).reshape(entry["shape"])
