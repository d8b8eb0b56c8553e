"""A published table and what was measured for it, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skipchain.report import markdown
from skipchain.report.pictures import Picture

HOLDS, FAILS, BETTER = "holds", "does not hold", "better"
HEADINGS = ("system", "metric", "published", "measured", "low", "high", "seconds", "verdict")
P_VALUE = "p: how often chance makes a difference as large, by randomisation over documents"


def judge(holds: bool, reason: str = "") -> str:
    """The verdict that a finding holds or does not, and why.

    >>> judge(True, "+0.3 on the CRF"), judge(False)
    ('holds: +0.3 on the CRF', 'does not hold')
    """
    return (HOLDS if holds else FAILS) + (reason and f": {reason}")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what was published (None: nothing), what was measured, and how sure that is.

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

    @classmethod
    def of_runs(
        cls,
        table: str,
        system: str,
        metric: str,
        published: float | None,
        values: Sequence[float],
        **fields: Any,
    ) -> Row:
        """A figure that was measured several times, say with several seeds: mean and range.

        >>> row = Row.of_runs("toy", "CRF", "F1", None, [80.0, 90.0], seconds=3.0)
        >>> row.measured, row.low, row.high, row.seconds
        (85.0, 80.0, 90.0, 3.0)
        """
        mean, low, high = float(np.mean(values)), min(values), max(values)
        return cls(table, system, metric, published, mean, low=low, high=high, **fields)

    @property
    def fails(self) -> bool:
        """Whether the published finding does not hold."""
        return self.verdict.startswith(FAILS)

    def as_dict(self) -> dict[str, Any]:
        """The row for programs."""
        return asdict(self)

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


def of_metric(rows: Iterable[Row], metric: str) -> list[Row]:
    """The rows of one metric."""
    return [row for row in rows if row.metric == metric]


def measured_by_system(rows: Iterable[Row], metric: str) -> dict[str, float]:
    """What was measured by one metric, by system."""
    return {row.system: row.measured for row in of_metric(rows, metric)}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the source of the published figures, notes on how they compare, and a verdict.

    >>> row = Row("toy", "a coin", "p(heads)", 0.5, 0.497, low=0.48, high=0.51, verdict="holds")
    >>> texts = {"notes": ("The coin differs.",), "verdict": "It is."}
    >>> table = Table("toy", "A coin", "nowhere", [row], seeds=(0, 1), **texts)
    >>> print(table.markdown())  # doctest: +ELLIPSIS
    # A coin
    <BLANKLINE>
    Published: nowhere. Seeds: 0, 1.
    <BLANKLINE>
    * The coin differs.
    <BLANKLINE>
    | system | metric | published | measured | low | high | seconds | verdict |
    |---|---|---|---|---|---|---|---|
    | a coin | p(heads) | 0.500 | 0.497 | 0.480 | 0.510 | 0.0 | holds |
    <BLANKLINE>
    **It is.**
    <BLANKLINE>
    """

    name: str
    title: str
    source: str
    rows: Sequence[Row]
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    verdict: str = ""
    pictures: tuple[Picture, ...] = ()
    sections: tuple[str, ...] = ()
    """Markdown that is shown below the rows."""

    def about(self) -> str:
        """Where the published figures come from, and the seeds of the measured ones."""
        seeds = f"Seeds: {', '.join(map(str, self.seeds))}" if self.seeds else "Nothing is random"
        return f"Published: {self.source}. {seeds}."

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
