"""Figures with the bars that they must reach, printed as soon as they are measured."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One measurement. Where there is a peer, the bar is on the ratio; else on our value."""

    name: str
    ours: float
    peer: float | None
    ratio: float | None
    bar: str
    holds: bool


class Report:
    """Collects figures, and prints each."""

    def __init__(self):
        self.figures = []
        self.console = Console(stderr=True, highlight=False)

    def add(self, name, value, bar, *, against=None, ratio=None, at_most=False):
        compared = value if ratio is None else ratio
        holds = compared <= bar if at_most else compared >= bar
        sign = "≤" if at_most else "≥"
        unit = "" if ratio is None else " ×"
        figure = Figure(name, value, against, ratio, f"{sign} {bar:g}{unit}", bool(holds))
        self.figures.append(figure)
        self.console.print(
            f"{name}: {value:.4g}"
            + ("" if against is None else f", peer {against:.4g}")
            + ("" if ratio is None else f", ratio {ratio:.2f}")
            + f"  (bar {figure.bar}: {'holds' if holds else 'MISSED'})"
        )

    def faster(self, name, ours, peer, bar):
        """A time, at least so many times shorter than the peer's."""
        self.add(name, ours, bar, against=peer, ratio=peer / ours)

    def within(self, name, cost, base, bar):
        """A cost, at most so many times the one it is compared with."""
        self.add(name, cost, bar, against=base, ratio=cost / base, at_most=True)

    def table(self):
        table = Table(box=None, pad_edge=False)
        for heading in ("figure", "skipchain", "peer", "ratio", "bar", ""):
            table.add_column(heading, justify="left" if heading in ("figure", "") else "right")
        for f in self.figures:
            table.add_row(
                f.name,
                f"{f.ours:,.4g}",
                "" if f.peer is None else f"{f.peer:,.4g}",
                "" if f.ratio is None else f"{f.ratio:.2f}",
                f.bar,
                "holds" if f.holds else "MISSED",
            )
        return table
