"""Files that may be larger than memory: lines and blocks of text, unpacked as they are read."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from skipchain.io.files import GZIP, XZ, damaged, decode_text, describe_os_error

BLOCK = 8 << 20  # bytes
OPENERS: dict[str, Any] = {"gzip": gzip.open, "xz": lzma.open, "plain": open}


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("Ada\\nslept\\n")
    ...     list(numbered_lines(folder + "/a.txt"))
    [(1, 'Ada'), (2, 'slept')]
    """
    with open_stream(path) as file:
        for number, line in enumerate(file, 1):
            yield number, decode_text(line, path, number).rstrip("\r\n")


def text_blocks(path: str | Path, size: int = BLOCK) -> Iterator[str]:
    """The text in blocks of about ``size`` bytes that end behind a blank line, else behind a line.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("One.\\n\\nTwo\\nthree.\\n\\n")
    ...     list(text_blocks(folder + "/a.txt", 8))
    ['One.\\n\\n', 'Two\\nthree.\\n\\n']
    """
    with open_stream(path) as file:
        lines: list[bytes] = []
        first = 1
        while more := file.readlines(size):
            lines += more
            stop = len(lines)
            if sum(map(len, lines)) < 2 * size:  # else the paragraph is cut wherever it stands
                blank = (k + 1 for k in reversed(range(len(lines))) if not lines[k].strip())
                stop = next(blank, stop)
            yield decode_text(b"".join(lines[:stop]), path, first)
            first += stop
            lines = lines[stop:]
        if lines:
            yield decode_text(b"".join(lines), path, first)


@contextmanager
def open_stream(path: str | Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked where they are gzip or xz."""
    try:
        with open(path, "rb") as probe:
            head = probe.read(len(XZ))
        kind = "gzip" if head.startswith(GZIP) else "xz" if head.startswith(XZ) else "plain"
        opened = OPENERS[kind](path, "rb")
    except (OSError, ValueError) as error:
        raise describe_os_error(path, error) from None
    try:
        with opened as file:
            yield file
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        if kind == "plain":
            raise describe_os_error(path, error) from None
        raise damaged(kind, error, path) from None
