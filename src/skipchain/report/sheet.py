"""A report of lines and tables, which a terminal, a prompt and a notebook show alike."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from skipchain.report import notebook
from skipchain.report.terminal import Terminal, styled

Piece = str | tuple[str, str]
"""Text, or a text with its style, ``bold`` or ``dim``."""
WIDTH = 100  # characters of a line at a prompt
TOP = 20  # lines of a table


@dataclass(frozen=True, slots=True)
class SheetTable:
    """Rows under headings; columns of ``numbers`` are aligned to the right."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Piece, ...], ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Lines, each of several pieces, and tables, in their order.

    >>> print(Sheet((("token 1, ", ("Ada", "bold")), SheetTable(("", "A"), (("x", "+1"),), (1,)))))
    token 1, Ada
        A
    x  +1
    """

    parts: tuple[tuple[Piece, ...] | SheetTable, ...]

    def print(self, console: Terminal) -> None:
        """Show the sheet on a terminal."""
        from rich.table import Table

        for part in self.parts:
            if not isinstance(part, SheetTable):
                console.print(styled(*part))
                continue
            table = Table(box=None, pad_edge=False, show_header=any(part.headings))
            for k, heading in enumerate(part.headings):
                side = "right" if k in part.numbers else "left"
                table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
            for row in part.rows:
                table.add_row(*map(styled, row))
            console.print(table)

    def __str__(self) -> str:
        console = Terminal(file=io.StringIO(), width=WIDTH)
        with console.capture() as captured:
            self.print(console)
        return "\n".join(line.rstrip() for line in captured.get().splitlines())

    @property
    def html(self) -> str:
        """The sheet as a fragment of HTML, for notebooks."""
        return "\n".join(_fragment(part) for part in self.parts if part)


class OnSheet(ABC):
    """What prints as a sheet: at a prompt by ``print``, in a notebook by itself."""

    __slots__ = ()

    @abstractmethod
    def sheet(self, top: int = TOP) -> Sheet:
        """The report, with at most ``top`` rows of what is ranked in each table."""

    def __str__(self) -> str:
        return str(self.sheet())

    def _repr_html_(self) -> str:
        return self.sheet().html


def _fragment(part: Sequence[Piece] | SheetTable) -> str:
    if not isinstance(part, SheetTable):
        faint = all(isinstance(piece, tuple) and piece[1] == "dim" for piece in part)
        return notebook.paragraph("".join(map(_text, part)), faint=faint)
    rows = [tuple(map(_text, row)) for row in part.rows]
    return notebook.table(part.headings, rows, numbers=part.numbers)


def _text(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece[0]
