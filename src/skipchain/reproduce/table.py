"""A published table and what was measured for it, side by side."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from skipchain.report import markdown
from skipchain.report.pictures import Picture

HOLDS, FAILS, BETTER = "holds", "does not hold", "better"
HEADINGS = ("system", "metric", "published", "measured", "low", "high", "seconds", "verdict")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what was published (None: nothing was), what was measured, and how sure it is.

    ``low`` and ``high`` bound the measured figure over seeds or resamples; they are None where the
    figure is exact. ``seconds`` is the time that the system took, and ``verdict`` says in a few
    words whether the published finding holds.
    """

    table: str
    system: str
    metric: str
    published: float | None
    measured: float
    low: float | None = None
    high: float | None = None
    seconds: float = 0.0
    verdict: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The row for programs, without the verdict."""
        found = asdict(self)
        del found["verdict"]
        return found

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of `HEADINGS`."""
        figures = (self.published, self.measured, self.low, self.high)
        return (
            self.system,
            self.metric,
            *("" if figure is None else f"{figure:.3f}" for figure in figures),
            f"{self.seconds:.1f}",
            self.verdict,
        )


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with where their figures come from, what must be known about them, and the outcome.

    >>> row = Row("toy", "a coin", "p(heads)", 0.5, 0.497, 0.48, 0.51, 0.1, "holds")
    >>> table = Table("toy", "A coin", "nowhere", (row,), ("The coin differs.",), (0, 1), "It is.")
    >>> print(table.markdown())  # doctest: +ELLIPSIS
    # A coin
    <BLANKLINE>
    Published: nowhere. Seeds: 0, 1.
    <BLANKLINE>
    * The coin differs.
    <BLANKLINE>
    | system | metric | published | measured | low | high | seconds | verdict |
    |---|---|---|---|---|---|---|---|
    | a coin | p(heads) | 0.500 | 0.497 | 0.480 | 0.510 | 0.1 | holds |
    <BLANKLINE>
    **It is.**
    <BLANKLINE>
    """

    name: str
    title: str
    source: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    verdict: str = ""
    pictures: tuple[Picture, ...] = ()
    sections: tuple[str, ...] = ()
    """Markdown to stand below the rows."""

    def about(self) -> str:
        """Where the published figures come from, and the seeds of the measured ones."""
        seeds = (
            f" Seeds: {', '.join(map(str, self.seeds))}." if self.seeds else " No chance enters."
        )
        return f"Published: {self.source}.{seeds}"

    def markdown(self, pictures: tuple[tuple[str, str], ...] = ()) -> str:
        """The table as Markdown; ``pictures`` are files to show below it, with their captions."""
        parts = [f"# {self.title}", self.about()]
        if self.notes:
            parts.append("\n".join(f"* {note}" for note in self.notes))
        parts.append(markdown.table(HEADINGS, [row.cells() for row in self.rows]))
        if self.verdict:
            parts.append(f"**{self.verdict}**")
        parts.extend(self.sections)
        parts.extend(f"![{caption}]({file})" for file, caption in pictures)
        return "\n\n".join(parts) + "\n"
