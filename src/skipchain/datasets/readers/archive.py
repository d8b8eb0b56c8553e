"""Tar archives: the files that are wanted, as bytes by their names."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from skipchain.errors import ReadError
from skipchain.io.charsets import decode_text
from skipchain.io.files import open_binary
from skipchain.io.unpack import MAX_BYTES, UnpackedFile, describe_size


def read_archive(path: str | Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """The files whose names are wanted, in the archive's order; it may be packed in any way.

    An archive of more than 2 GiB, unpacked, is refused.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with tarfile.open(folder + "/a.tar.xz", "w:xz") as archive:
    ...         info = tarfile.TarInfo("a.txt")
    ...         info.size = 3
    ...         archive.addfile(info, io.BytesIO(b"Ada"))
    ...     read_archive(folder + "/a.tar.xz", str.islower)
    {'a.txt': b'Ada'}
    """
    files: dict[str, bytes] = {}
    total = 0
    try:
        with open_binary(path) as file:
            unpacked = io.BufferedReader(UnpackedFile(file, path, limit=MAX_BYTES), 1 << 20)
            with tarfile.open(fileobj=unpacked, mode="r|") as archive:
                for member in archive:
                    data = archive.extractfile(member) if wanted(member.name) else None
                    if data is None:
                        continue
                    total += member.size  # of a sparse file, much more than the archive holds
                    if total > MAX_BYTES:
                        fault = f"its files have more than {describe_size(MAX_BYTES)}"
                        raise ReadError(fault, path=path)
                    files[member.name] = data.read()
    except ReadError:
        raise
    # Besides tarfile's own, the libraries that unpack raise errors of several kinds.
    except (tarfile.TarError, EOFError, OSError, ValueError, KeyError) as error:
        fault = f"damaged or no tar archive ({error}); fetch the file again"
        raise ReadError(fault, path=path) from None
    return files


def read_texts(path: str | Path) -> dict[str, str]:
    """The ``.txt`` files of an archive, of which there must be one, in the order of their names."""
    files = read_archive(path, lambda name: name.endswith(".txt"))
    if not files:
        raise ReadError("the archive holds no .txt file", path=path)
    return {name: decode_text(data, f"{path}({name})") for name, data in sorted(files.items())}
