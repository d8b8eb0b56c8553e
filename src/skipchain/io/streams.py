"""Files that may be larger than memory: lines and blocks of text, unpacked as they are read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from skipchain.errors import ReadError
from skipchain.io.files import decode_text, open_binary
from skipchain.io.unpack import UnpackedFile, describe_size

BLOCK = 8 << 20  # bytes
LONGEST_LINE = 64 << 20  # bytes; a file may be larger than memory, but none of its lines


def numbered_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers from 1, without line ends.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("Ada\\nslept\\n")
    ...     list(numbered_lines(folder + "/a.txt"))
    [(1, 'Ada'), (2, 'slept')]
    """
    with open_stream(path) as file:
        for number, line in enumerate(lines_of(file, path), 1):
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
        first, length = 1, 0
        for line in lines_of(file, path):
            lines.append(line)
            length += len(line)
            if length < size:
                continue
            stop = len(lines)
            if sum(map(len, lines)) < 2 * size:  # else the paragraph is cut wherever it stands
                blank = (k + 1 for k in reversed(range(len(lines))) if not lines[k].strip())
                stop = next(blank, stop)
            yield decode_text(b"".join(lines[:stop]), path, first)
            first += stop
            lines, length = lines[stop:], 0
        if lines:
            yield decode_text(b"".join(lines), path, first)


def lines_of(file: IO[bytes], path: object) -> Iterator[bytes]:
    """The lines of an open file with their ends; one that does not fit memory is an error."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
        if len(line) > LONGEST_LINE:
            fault = f"a line of more than {describe_size(LONGEST_LINE)}; is this a text file?"
            raise ReadError(fault, path=path, line=number)
        yield line


@contextmanager
def open_stream(path: str | Path) -> Iterator[IO[bytes]]:
    """The bytes of a text, unpacked where they are gzip or xz."""
    with open_binary(path) as file:
        yield io.BufferedReader(UnpackedFile(file, path, text=True), 1 << 20)
