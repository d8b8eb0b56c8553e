"""The attack with hostile files: samples, cases, processes, and what was found."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hardening.fuzz.children import DONE, Outcome, run_cases
from hardening.report import Report

WORKERS = 2
COMMAND = "python -m hardening fuzz"


def attack(cases: int, seed: int, case: int | None = None) -> Report:
    """Run so many cases, or one ``case`` alone; every twentieth is also run with bounds checks."""
    from hardening.fuzz.bounds import BoundsCheck

    os.environ["SKIPCHAIN_CACHE"] = ""  # lexicons of cases are not worth keeping
    numbers = range(1, cases + 1) if case is None else range(case, case + 1)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        from hardening.fuzz.samples import train_samples

        train_samples(Path(folder))
        with BoundsCheck(Path(folder), seed, numbers) as checked:
            campaign = run_campaign(Path(folder), seed, numbers, workers=WORKERS)
            campaign.findings += checked.findings()
    report = campaign.report()
    report.notes.append(checked.note)
    return report


class Finding(NamedTuple):
    """What failed: a kind of the report, the place in the source, and the line of the report."""

    kind: str
    place: str
    line: str


@dataclass
class Campaign:
    """Outcomes as they come in: how many were taken or refused, and each finding with its place."""

    seed: int
    cases: int = 0
    said: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def add(self, outcome: Outcome, family: str, recipe: str) -> None:
        """Count a case, and keep it where it failed."""
        self.cases += 1
        if outcome.kind == DONE:
            self.said[f"{family} {outcome.said}"] += 1
            return
        number, begun = outcome.number, outcome.begun
        how = f"{COMMAND} 1 --seed {self.seed} --case {number}"
        if begun is not None:
            how = f"case {number}, not alone but after {begun}…: "
            how += f"{COMMAND} {number} --seed {self.seed}"
        line = f"{outcome.said} [{outcome.where}] {how} | {recipe}"
        self.findings.append(Finding(outcome.kind, _place(outcome), line))

    def report(self) -> Report:
        """The report: places that no finding had before come first, since not all are printed."""
        report = Report(self.cases)
        seen: set[str] = set()
        later = []
        for kind, place, line in self.findings:
            if place in seen:
                later.append((kind, line))
            else:
                report.add(kind, line)
            seen.add(place)
        for kind, line in later:
            report.add(kind, line)
        report.notes += self._notes(len(seen))
        return report

    def _notes(self, places: int) -> list[str]:
        notes = []
        for family in ("model", "reader"):
            loaded, refused = self.said[f"{family} loaded"], self.said[f"{family} refused"]
            if loaded + refused:
                share = 100 * loaded / (loaded + refused)
                notes.append(f"{family} files: {share:.0f} % of {loaded + refused:,} were taken")
        return notes + ([f"findings are in {places} places"] if places else [])


def run_campaign(folder: Path, seed: int, numbers: Iterable[int], *, workers: int) -> Campaign:
    """Run cases on the samples of a folder."""
    from hardening.fuzz.cases import Cases

    warnings.simplefilter("ignore")
    cases = Cases.of(seed, folder)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as own:
        cases.warm_up(Path(own))
    campaign = Campaign(seed)
    numbers = list(numbers)
    progress = Progress(len(numbers))
    for outcome in run_cases(numbers, cases.run, workers=workers):
        family = "reader" if cases.is_reader(outcome.number) else "model"
        recipe = "" if outcome.kind == DONE else _recipe(cases, outcome.number)
        campaign.add(outcome, family, recipe)
        progress.show(campaign)
    progress.clear()
    return campaign


def _place(outcome: Outcome) -> str:
    """What findings of one cause have in common, most often."""
    return re.sub(r"[\d.e+-]+", "0", outcome.said[:40]) + outcome.where


def _recipe(cases, number: int) -> str:  # type: ignore[no-untyped-def]
    text = repr(cases.recipe(number))[1:-1]  # a line, whatever signs are in it
    return text if len(text) <= 600 else f"{text[:600]}…"


class Progress:
    """A line on a terminal: how far it is, and what has been found."""

    def __init__(self, cases: int) -> None:
        self.cases = cases
        self.shown = 0.0
        self.begun = time.monotonic()

    def show(self, campaign: Campaign) -> None:
        """Show the line again, not too often."""
        now = time.monotonic()
        if sys.stderr.isatty() and now - self.shown > 0.2:
            self.shown = now
            rate = campaign.cases / max(now - self.begun, 1e-9)
            print(
                f"\r{campaign.cases:,} of {self.cases:,} cases, {rate:.0f} a second, "
                f"{len(campaign.findings)} findings\x1b[K",
                end="",
                file=sys.stderr,
                flush=True,
            )

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
