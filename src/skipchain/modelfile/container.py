"""The container of a model: a safetensors file with a sealed JSON header."""

from __future__ import annotations

import json
import os
import platform
import re
import stat
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from skipchain import __version__
from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError, SkipchainError
from skipchain.io.files import COMPRESSED_ENDINGS, STDIO, atomic_write, check_target

FORMAT = 3
HEADER = "skipchain"
MAX_FILE_BYTES = 4 << 30
MAX_HEADER_BYTES = 16 << 20
MAX_DEPTH = 64  # brackets inside brackets
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U32": "<u4", "U8": "|u1"}
"""The types of arrays in model files, as safetensors and NumPy name them."""
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Contained:
    """What a container holds: its key in the file, its name in errors, and what helps."""

    key: str
    noun: str
    remedy: str


MODEL = Contained(HEADER, "model", "train it again")


def write_arrays(
    header: Mapping[str, Any],
    arrays: Arrays,
    path: str | Path,
    *,
    overwrite: bool,
    what: Contained = MODEL,
) -> None:
    """Write header and arrays, with versions and a checksum."""
    from safetensors.numpy import save as to_bytes

    sealed = {
        **header,
        "format": FORMAT,
        "versions": {
            "skipchain": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    plain = {name: np.ascontiguousarray(own) for name, own in arrays.items()}
    sealed["checksum"] = checksum(sealed, plain)
    with atomic_write(path, binary=True, overwrite=overwrite) as file:
        file.write(to_bytes(plain, {what.key: json.dumps(sealed, ensure_ascii=False)}))


def check_model_target(path: str | Path, *, overwrite: bool) -> None:
    """Refuse a path to which no model can be written, before any work is done."""
    if str(path) == STDIO:
        raise SkipchainError("a model file needs a name; it cannot be written to stdout")
    if str(path).endswith(COMPRESSED_ENDINGS):
        raise SkipchainError(f"{path}: model files are not packed; leave out the last ending")
    check_target(path, overwrite)


def read_arrays(path: str | Path, what: Contained = MODEL) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a model file, after all checks of the container.

    The file is read, not mapped: one that is cut short meanwhile cannot end the process.
    """
    from safetensors import SafetensorError, deserialize

    try:
        with open(path, "rb", opener=_open_at_once) as file:
            data = _read_sized(file, path, what)
            tensors = deserialize(data)  # type: ignore[no-untyped-call]
        header = _parse_header(data, path, what)
        arrays = {name: _array(name, tensor) for name, tensor in tensors}
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path}: is a folder, not a {what.noun} file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except MemoryError:
        raise ModelFileError(f"{path}: there is not enough memory to read the file") from None
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(
            f"{path}: not a skipchain {what.noun}, or cut short ({error}); {what.remedy} or copy "
            "it anew"
        ) from None
    sealed = header.pop("checksum", None)
    if sealed != checksum(header, arrays):
        raise ModelFileError(
            f"{path}: the checksum does not match; the file was altered or damaged"
        )
    return header, arrays


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting: a pipe would wait for somebody to write to it, perhaps for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read_sized(file: BinaryIO, path: str | Path, what: Contained) -> bytes:
    """All bytes of a file whose header has a length that can be; a pipe or device has none."""
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path}: is no regular file; copy the {what.noun} to one")
    if status.st_size > MAX_FILE_BYTES:
        raise ModelFileError(
            f"{path}: has {status.st_size:,} bytes, and {what.noun} files have "
            f"{MAX_FILE_BYTES:,} at most"
        )
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or length > status.st_size:
        raise ValueError("the header is longer than the file")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"a header of {length:,} bytes, wanted {MAX_HEADER_BYTES:,} at most")
    file.seek(0)
    return file.read()


def _parse_header(data: bytes, path: str | Path, what: Contained) -> dict[str, Any]:
    """Our part of the header, in a format that this version reads."""
    length = int.from_bytes(data[:8], "little")
    entries = parse_json(data[8 : 8 + length].decode())
    metadata = entries.get("__metadata__", {}) if isinstance(entries, dict) else {}
    text = metadata.get(what.key) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError(f"{path}: a safetensors file, but not a skipchain {what.noun}")
    header = parse_json(text)
    found = header.get("format") if isinstance(header, dict) else None
    if not isinstance(header, dict) or found != FORMAT or isinstance(found, bool):
        advice = f"load it with the version that wrote it, or {what.remedy}"
        if isinstance(found, int) and found > FORMAT:
            advice = "install a newer skipchain"
        raise ModelFileError(
            f"{path}: {what.noun} format {str(found)[:20]}, but this version reads {FORMAT}; "
            f"{advice}"
        )
    return header


def parse_json(text: str) -> Any:
    """A JSON value whose objects have no key twice, with brackets in brackets up to a limit.

    The depth is looked at first: a parser goes as deep as the text does.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: 'a' stands twice in the header
    """
    depth = 0
    for sign in _BRACKETS.findall(text):
        depth += (sign in "[{") - (sign in "]}")  # a string is neither
        if depth > MAX_DEPTH:
            raise ValueError(f"the header has brackets more than {MAX_DEPTH} deep")
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"{counts.most_common(1)[0][0][:60]!r} stands twice in the header")
    return entries


def _array(name: str, tensor: Mapping[str, Any]) -> NDArray[Any]:
    """An array of one of the types that model files have."""
    dtype = DTYPES.get(tensor["dtype"])
    if dtype is None:
        raise ValueError(f"{name[:60]} has the type {tensor['dtype']}, which no model file has")
    array = np.frombuffer(tensor["data"], dtype).reshape(tensor["shape"])
    return array if array.flags.writeable else array.copy()


def is_model_file(path: str | Path) -> bool:
    """Whether a file begins as a model file does: a header's length, then the header."""
    if not os.path.isfile(path):  # a pipe cannot be read twice
        return False
    try:
        with open(path, "rb") as file:
            start = file.read(9)
    except OSError:
        return False
    return str(path).endswith(".skip") or (start[8:] == b"{" and start[5:8] == b"\0\0\0")


def checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A checksum over the header and the arrays' names, types, shapes and contents."""
    total = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name}{array.dtype.str}{array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return f"{total:08x}"
