"""What cases have in common in which the machine fails: a place, a process, and its end.

A process may end with 0 and the new output, or with 2 and one line.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from hardening.faults.child import PATIENCE, Child
from hardening.faults.commands import COMMANDS
from hardening.faults.place import Findings, Place, judge_end
from hardening.faults.references import References
from hardening.faults.snapshot import snapshot

ENDS = (0, 2)
Case = tuple[str, Findings]
"""What was done, and what was found."""
Fault = Callable[[References, Random, str], Case]
"""A case that draws a command and moments, and runs in a folder of this name."""


def draw_place(
    references: References, random: Random, name: str, names: Sequence[str] = ()
) -> Place:
    """A place for one of the commands, with or without an old output."""
    chosen = random.choice(list(names) or [command.name for command in COMMANDS])
    reference = references.by_name[chosen]
    old = bool(reference.old) and (bool(reference.command.old_store) or random.random() < 0.5)
    return Place(references, reference, name, old=old)


def named(place: Place) -> str:
    """The command, as findings name it."""
    where = "over an old output" if place.old else "into a new place"
    return f"{place.reference.command.name} {where}"


def start(place: Place, arguments: Sequence[str], **how: Any) -> Child:
    """Start a command line in the place; ``how`` are limits, and what `Child` takes."""
    options = {**place.reference.command.options, "limits": how.pop("limits", {})}
    return Child(arguments, place.folder, options, **how)


def finish(
    child: Child,
    codes: Sequence[int],
    moment: float = 0.0,
    action: Callable[[], object] | None = None,
    sent: Collection[int] = (),
) -> Findings:
    """Let the process run, do to it what is to be done at its moment, and judge its end."""
    try:
        if action is not None and child.wait_for_steps(0):
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(moment)
            action()
        if not child.ended(PATIENCE):
            return [("hangs", f"still there after {PATIENCE:.0f} s")]
        return judge_end(child, codes, sent)
    finally:
        child.close()


def run(
    place: Place,
    *,
    codes: Sequence[int] = ENDS,
    moment: float = 0.0,
    action: Callable[[], object] | None = None,
    **how: Any,
) -> Findings:
    """Run the place's own command to its end, and judge the end and the output."""
    child = start(place, place.reference.command.arguments, **how)
    findings = finish(child, codes, moment, action)
    if 2 in how.get("closed", ()):  # nothing can be said
        findings = [finding for finding in findings if "without a word" not in finding[1]]
    return [*findings, *place.judge(code=child.code)]


def run_line(
    references: References, random: Random, name: str, line: str, codes: Sequence[int], **how: Any
) -> Findings:
    """Run another command line in a place where nothing of it should be left."""
    place = draw_place(references, random, name, ["convert"])
    child = start(place, line.split(), **how)
    findings = finish(child, codes)
    return findings + [("uncaught", f"left {n}") for n in _strange(place, line)]


def _strange(place: Place, line: str) -> list[str]:
    return [name for name in place.litter(snapshot(place.out)) if f"out/{name}" not in line]
