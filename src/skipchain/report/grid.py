"""Tables of text that are too wide for the place they are shown in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skipchain.report.printable import printable

Grid = tuple[tuple[str, ...], list[tuple[str, ...]]]  # headings, rows

GAP = 2  # spaces between columns


def split_to_width(grid: Grid, width: int) -> Iterator[Grid]:
    """The grid cut into as many as it takes to fit a width, each with the first column.

    Control characters in its cells are written out, which makes them wider.

    >>> for part in split_to_width((("model", "F1", "p"), [("crf", "90.00", "0.5")]), 14):
    ...     print(part)
    (('model', 'F1'), [('crf', '90.00')])
    (('model', 'p'), [('crf', '0.5')])
    """
    headings, rows = grid = _printable_cells(grid)
    widths = [max(map(len, column)) + GAP for column in zip(headings, *rows, strict=True)]
    chosen, taken = [0], widths[0]
    for number in range(1, len(headings)):
        if taken + widths[number] - GAP > width and len(chosen) > 1:
            yield _select_columns(grid, chosen)
            chosen, taken = [0], widths[0]
        chosen.append(number)
        taken += widths[number]
    yield _select_columns(grid, chosen)


def _printable_cells(grid: Grid) -> Grid:
    headings, rows = grid
    return tuple(map(printable, headings)), [tuple(map(printable, row)) for row in rows]


def _select_columns(grid: Grid, chosen: Sequence[int]) -> Grid:
    headings, rows = grid
    return tuple(headings[k] for k in chosen), [tuple(row[k] for k in chosen) for row in rows]
