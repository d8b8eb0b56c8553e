"""Which format a text is in, by its content; never by a guess."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from skipchain.errors import ReadError
from skipchain.io.columns.layout import named_cells
from skipchain.io.columns.lines import unix_lines
from skipchain.io.conll import split

SAMPLE = 50_000  # characters
ROWS = 500
SPANS = re.compile(r"(?:O|[BIESLU]-\S+)")
SENTENCE_END = re.compile(r".*\w[.?!,;:]")
TAGGED = re.compile(r"<([^\W\d][\w.:-]*)>[^<\n]*</\1>")  # in a line
ADVICE = "say which with format= (on the command line, --from or --to)"


def detect_format(text: str, path: str | Path) -> str | None:
    """The format of a text by its content; None for prose, an error for what is ambiguous.

    >>> detect_format("<START:person> Ada <END> slept .", "x.train")
    'opennlp'
    >>> detect_format("Ada B-PER\\nslept O\\n", "eng.train")
    'conll'
    """
    sample = text[:SAMPLE]
    if sample.lstrip().startswith('{"'):
        return "jsonl"
    if re.match(r"\s*\[\s*[\[{]\s*\"", sample):
        wanted = 'one object a line is wanted, with "text" and "spans", or "tokens" and "labels"'
        raise ReadError(f"this is one list in JSON; {wanted}", path=path, line=1)
    if re.search(r"<START(?::[^\s>]{1,200})?> ", sample) and "<END>" in sample:
        return "opennlp"
    lines = token_lines(sample, whole=len(text) <= SAMPLE)
    if is_table(lines):
        return "csv"
    cells = rows(lines)
    if cells and TAGGED.search(sample) and not all(SPANS.fullmatch(row[-1]) for row in cells):
        return "inline"
    if cells and (table := column_format(cells, path)):
        return table
    return "inline" if re.search(r"<([^\W\d][\w.:-]*)>[^<]*</\1>", sample) else None


def token_lines(sample: str, *, whole: bool) -> list[str]:
    """The first lines that may be tokens."""
    lines = unix_lines(sample).split("\n")
    if not whole:
        lines.pop()  # the sample may end within a line
    shown = (line.rstrip("\r") for line in lines if not line.startswith(("#", "-DOCSTART-")))
    return list(islice(filter(str.strip, shown), ROWS))


def is_table(lines: Sequence[str]) -> bool:
    """Whether lines have cells between semicolons or commas, those of a column being span labels.

    >>> is_table(["Ada;B-PER", "slept;O"]), is_table(["First, he slept", "then, he ran"])
    (True, False)
    """
    for separator in ";,":
        try:
            cells = list(csv.reader(lines, delimiter=separator, strict=True))
        except csv.Error:
            continue
        if not cells or len(cells[0]) < 2 or any(len(row) != len(cells[0]) for row in cells):
            continue
        columns = (set(column) for part in (cells, cells[1:]) for column in zip(*part, strict=True))
        if any(labels - {"O"} and all(map(SPANS.fullmatch, labels)) for labels in columns):
            return True
    return False


def rows(tokens: Sequence[str]) -> list[list[str]]:
    """The cells of lines that may be tokens, a row aside that may be a header."""
    separator = "\t" if tokens and "\t" in tokens[0] else " "
    cells = [split(line, separator) for line in tokens]
    if any(len(row) != len(cells[0]) for row in cells):
        cells = [split(line, " ") for line in tokens]  # tabs here, spaces there
    return cells[1:] if len(cells) > 1 and named_cells(cells[0]) else cells


def column_format(cells: list[list[str]], path: str | Path) -> str | None:
    """The column format of lines that all have as many cells, or None if they differ."""
    width = len(cells[0])
    if width < 2 or any(len(row) != width for row in cells):
        return None
    if width == 10 and all(re.fullmatch(r"\d+([-.]\d+)?", row[0]) for row in cells):
        return "conllu"
    labels = [row[-1] for row in cells]
    if all(map(SPANS.fullmatch, labels)):
        return "conll"
    if len(cells) == 1 or any(map(SENTENCE_END.fullmatch, labels)):
        return None
    # Labels come again and again; the last words of lines that happen to be equally long do not.
    if len(set(labels)) <= len(labels) // 3:
        return "conll"
    fault = f"every line has {width} words: are these columns (conll) or prose (text)? {ADVICE}"
    raise ReadError(fault, path=path)
