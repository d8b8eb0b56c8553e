"""The folder of one case, and what may lie in it after something went wrong."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Collection
from pathlib import Path

from hardening.faults.child import Child
from hardening.faults.commands import copy_inputs
from hardening.faults.references import Reference, References
from hardening.faults.snapshot import (
    Snapshot,
    below,
    foreign,
    like,
    moved_aside,
    restore,
    same,
    snapshot,
)

Findings = list[tuple[str, str]]
"""Kinds of finding (see `hardening.report`) with what was seen."""
NUMPYS = "OpenBLAS"  # a library that speaks for itself where it may not start threads
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
INTERRUPTED = 128 + signal.SIGINT
SIGNS = ("Traceback", "Exception ignored", "Fatal Python error", "terminate called")


class Place:
    """Inputs in ``in``; in ``out`` files of others and, where wanted, the old output."""

    def __init__(
        self, references: References, reference: Reference, name: str, *, old: bool
    ) -> None:
        self.folder = references.root / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        copy_inputs(references.inputs, self.folder / "in")
        self.out = self.folder / "out"
        self.reference = reference
        self.foreign = foreign(reference.command)
        self.old: Snapshot = dict(reference.old) if old else {}
        self.fill()

    def fill(self) -> None:
        """Put into ``out`` what lies there before the command."""
        restore({**self.foreign, **self.old}, self.out)

    def judge(self, *, code: int | None = None, killed: bool = False) -> Findings:
        """What is wrong with the output folder.

        A process that ended with 0 has written the new output. One that was killed may leave
        files of its own, and an old folder whole under another name.
        """
        found = snapshot(self.out)
        faults = [*self._foreign_faults(found), *self._output_faults(found, killed)]
        if code == 0 and not same(below(found, self.reference.command.target), self.reference.new):
            faults.append("it ended with 0, but the output is not the new one")
        if not killed:
            faults += [f"left {name}" for name in self.litter(found)]
        return [("uncaught", fault) for fault in faults]

    def litter(self, found: Snapshot) -> list[str]:
        """What is neither of others nor of the old or new output."""
        known = {*self.foreign, *self.old, *self.reference.new, *self.reference.rival}
        known |= {str(parent) for name in known for parent in Path(name).parents}
        strange = [name for name in found if name not in known]
        return [n for n in strange if not any(str(p) in strange for p in Path(n).parents)]

    def _foreign_faults(self, found: Snapshot) -> list[str]:
        changed = [n for n, data in self.foreign.items() if found.get(n, b"") != data]
        return [f"a file of others is gone or changed: {name}" for name in changed]

    def _output_faults(self, found: Snapshot, killed: bool) -> list[str]:
        target, new = self.reference.command.target, self.reference.new
        here = below(found, target)
        if self.reference.command.whole:
            if same(here, self.old) or same(here, new):
                return []
            if killed and not here and moved_aside(found, target, self.old):
                return []
            return [f"{target} is neither the old nor the new one: it has {sorted(here) or 'gone'}"]
        faults = [f"lost {name}" for name in self.old if name not in here]
        for name, data in here.items():
            known = (name in self.old and data == self.old[name]) or (
                name in new and like(data, new[name])
            )
            if data is not None and name in {*self.old, *new} and not known:
                faults.append(f"{name} is neither the old nor the new one ({len(data)} bytes)")
        return faults


def judge_end(child: Child, codes: Collection[int], sent: Collection[int] = ()) -> Findings:
    """What is wrong with the way a process ended: code, signal, words on stderr."""
    said = child.stderr.strip()
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(NUMPYS)]
    last = lines[-1][:200] if lines else "nothing"
    if child.code is None:
        return [("hangs", "it did not end")]
    if child.code < 0 and -child.code not in sent:
        return [("crashes", f"it died of signal {-child.code}; stderr: {last}")]
    faults = []
    if child.code >= 0 and child.code not in codes:
        faults.append(f"exit code {child.code}; stderr: {last}")
    if any(sign in said for sign in SIGNS):
        faults.append(f"a traceback: {lines[0][:100]} … {last}")
    elif len(lines) > 1:
        faults.append(f"{len(lines)} lines on stderr: {' / '.join(lines)[:300]}")
    elif child.code == 2 and not lines:
        faults.append("exit code 2 without a word")
    if child.code == INTERRUPTED and not last.startswith("skipchain: interrupted"):
        faults.append(f"interrupted without saying so; stderr: {last}")
    if child.code < 0 and -child.code in HANDLED and child.began_handling:
        faults.append(f"it died of signal {-child.code}, which it should have handled")
    running = child.left_running()
    if running:
        faults.append(f"{len(running)} processes left running")
    return [("uncaught", fault) for fault in faults]
