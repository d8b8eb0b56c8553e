"""Published lists of n-grams and their counts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from skipchain.errors import ReadError
from skipchain.io.streams import numbered_lines
from skipchain.resources.ngrams.counting import NgramCounter

HEADER = "ngram,freq"
CHUNK = 500_000  # n-grams
LONGEST = 9


def read_counts(
    path: str | Path, charset: str | None = None
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The n-grams of a file and their counts.

    A line holds the words with spaces between, a tab, and the count, as in Web 1T; or the file is
    CSV with a header that begins with ``ngram,freq``. ``charset`` is as for `skipchain.read`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "2gms").write_text("of the\\t17\\nin a\\t4\\n")
    ...     list(read_counts(folder + "/2gms"))
    [(('of', 'the'), 17), (('in', 'a'), 4)]
    """
    comma, empty = False, True
    for number, line in numbered_lines(path, charset=charset, named=True):
        if number == 1 and line.startswith(HEADER):
            comma = True
            continue
        if not line.strip():
            continue
        empty = False
        cells = cut_csv(line, path, number) if comma else line.split("\t")
        if len(cells) < 2 or (not comma and len(cells) != 2):
            wanted = f"an n-gram, a tab and its count, or CSV with the header {HEADER!r}"
            raise ReadError(f"expected {wanted}; got {line[:60]!r}", path=path, line=number)
        words = tuple(cells[0].split())
        if not 1 <= len(words) <= LONGEST:
            fault = f"expected an n-gram of 1 to {LONGEST} words, got {cells[0][:60]!r}"
            raise ReadError(fault, path=path, line=number)
        if not (cells[1].isascii() and cells[1].isdigit() and len(cells[1]) < 19):
            fault = f"expected a count, a whole number, got {cells[1][:60]!r}"
            raise ReadError(fault, path=path, line=number)
        yield words, int(cells[1])
    if empty:
        raise ReadError("there is not one n-gram in the file", path=path)


def cut_csv(line: str, path: object, number: int) -> list[str]:
    """The cells of a line of CSV."""
    try:
        return next(csv.reader([line]))
    except csv.Error as error:  # a carriage return within, a cell of more than 128 KiB
        raise ReadError(f"not CSV: {error}", path=path, line=number) from None


def add_counts(counter: NgramCounter, path: str | Path, charset: str | None = None) -> None:
    """Add the counts of a file."""
    waiting: dict[int, list[tuple[tuple[str, ...], int]]] = {}
    for words, count in read_counts(path, charset):
        rows = waiting.setdefault(len(words), [])
        rows.append((words, count))
        if len(rows) >= CHUNK:
            write_rows(counter, rows)
    for rows in waiting.values():
        write_rows(counter, rows)


def write_rows(counter: NgramCounter, rows: list[tuple[tuple[str, ...], int]]) -> None:
    """Write n-grams of one order, and forget them."""
    if not rows:
        return
    order = len(rows[0][0])
    columns = {f"w{k + 1}": np.array([words[k] for words, _ in rows], object) for k in range(order)}
    counter.write(order, {**columns, "count": np.array([count for _, count in rows], np.int64)})
    rows.clear()
