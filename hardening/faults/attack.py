"""The attack: cases drawn from a seed, run two at a time."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from random import Random

from hardening.faults import disks, streams
from hardening.faults.kills import draw_kill, run_kill
from hardening.faults.references import References
from hardening.faults.trial import Case, Fault
from hardening.report import Report

FAULTS = disks.FAULTS + streams.FAULTS
JOBS = 2
FIRST = 40  # cases among which every fault of the machine occurs
SHARE = 0.15  # of later cases; the others are kills


def attack(cases: int, seed: int, case: int | None = None) -> Report:
    """Run the cases from 1 to ``cases``, or ``case`` alone, and report."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        _tell("undisturbed runs first\n")
        references = References.measure(Path(folder), JOBS)
        return attack_with(references, range(1, cases + 1) if case is None else (case,), seed)


def attack_with(references: References, numbers: Iterable[int], seed: int) -> Report:
    """Run the cases of these numbers against commands that were measured."""
    report = Report()
    with ThreadPoolExecutor(JOBS) as pool:
        tasks = {pool.submit(run_case, references, number, seed): number for number in numbers}
        try:
            for task in as_completed(tasks):
                number, (what, findings) = tasks[task], task.result()
                report.cases += 1
                for kind in dict.fromkeys(kind for kind, _ in findings):  # one a kind and case
                    faults = "; ".join(fault for found, fault in findings if found == kind)
                    report.add(kind, f"case {number}, seed {seed}: {what}: {faults}")
                _tell(f"\r{report.closing_line} of {len(tasks)} ")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    _tell("\n")
    return report


def run_case(references: References, number: int, seed: int) -> Case:
    """One case: what was done, and what was found."""
    name = f"case-{number}"
    random = Random(f"{seed} {number}")
    try:
        return choose(number, random)(references, random, name)
    finally:
        shutil.rmtree(references.root / name, ignore_errors=True)


def choose(number: int, random: Random) -> Fault:
    """Mostly kills; each fault of the machine once in the first 40 cases, and now and then later.

    >>> len({choose(number, Random(0)) for number in range(1, 41)}) == len(FAULTS) + 1
    True
    """
    place, between = divmod(number - 1, FIRST // len(FAULTS))
    if place < len(FAULTS):
        return FAULTS[place] if not between else kill
    return random.choice(FAULTS) if random.random() < SHARE else kill


def kill(references: References, random: Random, name: str) -> Case:
    """A command that is killed at some moment."""
    drawn = draw_kill(references, random)
    return str(drawn), run_kill(references, drawn, name)


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)
