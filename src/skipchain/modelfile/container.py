"""The container of a model: a safetensors file with a sealed JSON header."""

from __future__ import annotations

import json
import os
import platform
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain import __version__
from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError, SkipchainError
from skipchain.io.files import COMPRESSED_ENDINGS, STDIO, atomic_write, check_target

FORMAT = 3
HEADER = "skipchain"


def write_arrays(
    header: Mapping[str, Any], arrays: Arrays, path: str | Path, *, overwrite: bool
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
        file.write(to_bytes(plain, {HEADER: json.dumps(sealed, ensure_ascii=False)}))


def check_model_target(path: str | Path, *, overwrite: bool) -> None:
    """Refuse a path to which no model can be written, before any work is done."""
    if str(path) == STDIO:
        raise SkipchainError("a model file needs a name; it cannot be written to stdout")
    if str(path).endswith(COMPRESSED_ENDINGS):
        raise SkipchainError(f"{path}: model files are not packed; leave out the last ending")
    check_target(path, overwrite)


def read_arrays(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a model file, after all checks of the container."""
    from safetensors import SafetensorError, safe_open

    arrays: Arrays = {}
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if HEADER not in metadata:
                raise ModelFileError(f"{path}: a safetensors file, but not a skipchain model")
            for name in file.keys():  # noqa: SIM118  (no iterator of its own)
                arrays[name] = file.get_tensor(name)
        header = json.loads(metadata[HEADER])
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path}: is a folder, not a model file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error}") from None
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(
            f"{path}: not a skipchain model, or cut short ({error}); train it again or copy it anew"
        ) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise ModelFileError(
            f"{path}: model format {found}, but this version reads {FORMAT}; "
            "load it with the version that wrote it, or train it again"
        )
    sealed = header.pop("checksum", None)
    if sealed != checksum(header, arrays):
        raise ModelFileError(
            f"{path}: the checksum does not match; the file was altered or damaged"
        )
    return header, arrays


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
