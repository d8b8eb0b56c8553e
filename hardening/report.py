"""What an attack found: how many cases there were, and which of them went wrong in what way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

KINDS = ("crashes", "hangs", "uncaught")
SHOWN = 20  # findings of each kind that are printed


@dataclass(slots=True)
class Report:
    """Counts of cases, and a line for each finding: the case, and what it takes to see it again.

    A *crash* is a process that died of a signal, a *hang* one that had to be ended, *uncaught* an
    exception that no user should meet, or an output that is neither the old nor the new one.

    >>> report = Report()
    >>> report.cases = 2
    >>> report.add("hangs", "case 2, seed 0: tag took more than 5 s")
    >>> report.closing_line, report.clean
    ('2 cases, 0 crashes, 1 hangs, 0 uncaught', False)
    """

    cases: int = 0
    findings: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    notes: list[str] = field(default_factory=list)
    """What else there is to say of the attack, such as how many files were taken."""

    def add(self, kind: str, finding: str) -> None:
        """Note a finding."""
        self.findings[kind].append(finding)

    def merge(self, other: Report) -> None:
        """Take over the cases and findings of another part of the same attack."""
        self.cases += other.cases
        for kind in KINDS:
            self.findings[kind] += other.findings[kind]
        self.notes += other.notes

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(self.findings.values())

    @property
    def closing_line(self) -> str:
        """The line that scripts read."""
        counts = (f"{len(self.findings[kind])} {kind}" for kind in KINDS)
        return ", ".join([f"{self.cases} cases", *counts])

    def lines(self) -> Iterator[str]:
        """The first findings of each kind, then notes and the closing line."""
        for kind in KINDS:
            found = self.findings[kind]
            yield from (f"{kind}: {finding}" for finding in found[:SHOWN])
            if len(found) > SHOWN:
                yield f"{kind}: and {len(found) - SHOWN} more"
        yield from self.notes
        yield self.closing_line
