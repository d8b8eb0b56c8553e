"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are text.

    >>> print(table(("a", "b"), [("x|y", "1")]))
    | a | b |
    |---|---|
    | x\\|y | 1 |
    """
    lines = [_line(headings), "|" + "---|" * len(headings), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
