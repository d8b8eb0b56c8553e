"""Processes that are ended at any moment, and what the next run makes of what they leave."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from hardening.faults.child import LONGEST, PATIENCE, Child
from hardening.faults.commands import COMMANDS
from hardening.faults.place import Findings, Place, judge_end
from hardening.faults.references import Reference, References

SIGNALS = {"SIGKILL": 60, "SIGTERM": 15, "SIGINT": 15, "SIGHUP": 10}  # per cent
LATE = 0.7  # of the time of a run; what is written is written after it
DELAY = 0.004  # seconds after a step, on average


@dataclass(frozen=True, slots=True)
class Kill:
    """A command and the moment of its end.

    The signal is sent ``seconds`` after the command has begun; or, where ``step`` is set, at the
    very step by the process itself, or ``seconds`` after it from outside (``outside``).
    """

    reference: Reference
    old: bool
    signal: signal.Signals
    group: bool
    seconds: float
    step: int = 0
    outside: bool = True

    def __str__(self) -> str:
        place = f"{self.seconds:.3f} s after the beginning"
        if self.step:
            place = f"step {self.step} of {self.reference.steps}"
            place = f"{self.seconds:.4f} s after {place}" if self.outside else f"at {place}"
        before = "over an old output" if self.old else "into a new place"
        whom = " to its group" if self.group else ""
        return f"{self.reference.command.name} {before}, {self.signal.name}{whom} {place}"


def draw_kill(references: References, random: Random) -> Kill:
    """A command, a signal and a moment; many moments are where files are written."""
    reference = references.by_name[random.choice(COMMANDS).name]
    old = bool(reference.old) and (bool(reference.command.old_store) or random.random() < 0.5)
    number = signal.Signals[random.choices([*SIGNALS], [*SIGNALS.values()])[0]]
    group = random.random() < 0.5
    aim = random.random()
    if aim < 0.4 or not reference.steps:
        first = LATE if random.random() < 0.3 else 0.0
        return Kill(reference, old, number, group, reference.seconds * random.uniform(first, 1.05))
    step = random.randint(1, reference.steps)
    if aim < 0.75:
        return Kill(reference, old, number, False, 0.0, step, outside=False)
    return Kill(reference, old, number, group, random.expovariate(1 / DELAY), step)


def run_kill(references: References, kill: Kill, name: str) -> Findings:
    """Start the command, end it, look at what is left, and after SIGKILL run it again."""
    place = Place(references, kill.reference, name, old=kill.old)
    command = kill.reference.command
    options = dict(command.options)
    if not kill.outside:
        options |= {"step": kill.step, "signal": int(kill.signal)}
    child = Child(command.arguments, place.folder, options)
    try:
        _disturb(child, kill)
        if not child.ended(PATIENCE):
            return [("hangs", f"still there {PATIENCE:.0f} s later")]
        findings = judge_end(child, {0, 128 + kill.signal}, {kill.signal})
    finally:
        child.close()
    if child.code == -signal.SIGKILL:
        return [*findings, *place.judge(killed=True), *run_again(place)]
    if kill.signal == signal.SIGINT:
        return [*findings, *judge_interrupted(place, child.code)]
    return [*findings, *place.judge(code=child.code)]


def run_again(place: Place) -> Findings:
    """Run the command once more: all must be as after a clean run."""
    command = place.reference.command
    arguments = command.arguments
    if command.whole and (place.out / command.target).exists() and "--overwrite" not in arguments:
        arguments = (*arguments, "--overwrite")
    child = Child(arguments, place.folder, command.options)
    try:
        if not child.ended(LONGEST):
            return [("hangs", "the next run did not end")]
        findings = [*judge_end(child, {0}), *place.judge(code=child.code)]
    finally:
        child.close()
    return [(kind, f"the next run: {fault}") for kind, fault in findings]


def judge_interrupted(place: Place, code: int | None) -> Findings:
    """What is wrong with the output after Ctrl-C.

    Some commands keep what they have learnt so far: another model than the known ones, but whole.
    """
    if not place.reference.command.partial:
        return place.judge(code=code)
    findings = place.judge()
    target = place.reference.command.target
    other = [finding for finding in findings if finding[1].startswith(f"{target} is neither")]
    if not other:
        return findings
    child = Child(["inspect", f"out/{target}"], place.folder, {})
    try:
        loads = child.ended() and child.code == 0
    finally:
        child.close()
    return [finding for finding in findings if not loads or finding not in other]


def _disturb(child: Child, kill: Kill) -> None:
    """Wait for the moment, and send the signal unless the process does so itself."""
    if not child.wait_for_steps(kill.step) or not kill.outside:
        return
    if kill.step:
        time.sleep(kill.seconds)
    else:
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(kill.seconds)
    child.send(kill.signal, group=kill.group)
