"""Files that may be larger than memory: lines of text, unpacked as they are read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from skipchain.errors import ReadError
from skipchain.io.charsets import Utf8File, decode_text
from skipchain.io.files import open_binary, refuse_model
from skipchain.io.unpack import UnpackedFile, describe_size

LONGEST_LINE = 64 << 20  # bytes; a file may be larger than memory, but none of its lines


def numbered_lines(
    path: str | Path, *, charset: str | None = None, named: bool = False
) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1, without line ends.

    ``charset`` and ``named`` are as for `decode_text`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("Ada\\nslept\\n")
    ...     list(numbered_lines(folder + "/a.txt"))
    [(1, 'Ada'), (2, 'slept')]
    """
    with open_stream(path, charset, named=named) as file:
        for number, line in enumerate(lines_of(file, path), 1):
            yield number, decode_text(line, path, number).rstrip("\r\n")


def lines_of(file: IO[bytes], path: object) -> Iterator[bytes]:
    """The lines of an open file with their ends; one that does not fit memory is an error."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            fault = f"a line of more than {describe_size(LONGEST_LINE)}; is this a text file?"
            raise ReadError(fault, path=path, line=number)
        yield line


@contextmanager
def open_stream(
    path: str | Path, charset: str | None = None, *, named: bool = False
) -> Iterator[IO[bytes]]:
    """The bytes of a text in UTF-8, whatever its charset, unpacked where they are gzip or xz.

    ``charset`` and ``named`` are as for `decode_text`.
    """
    with open_binary(path) as file:
        refuse_model(file, path)
        stored = UnpackedFile(file, path, text=True, charset=charset, named=named)
        buffered = io.BufferedReader(stored, 1 << 20)
        recoded = Utf8File(buffered, path, charset=charset, named=named)
        yield io.BufferedReader(recoded, 1 << 20)
