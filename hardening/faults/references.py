"""What undisturbed runs write, and how long they take: what disturbed ones are held against."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hardening.faults.child import LONGEST, Child
from hardening.faults.commands import BY_NAME, COMMANDS, RIVALS, Command, copy_inputs, write_inputs
from hardening.faults.snapshot import Snapshot, below, snapshot


@dataclass(frozen=True, slots=True)
class Reference:
    """A command, what lies at its target before and after, its seconds and its steps.

    ``rival`` is what the other command for the same target writes (see `RIVALS`).
    """

    command: Command
    old: Snapshot
    new: Snapshot
    seconds: float
    steps: int
    rival: Snapshot


@dataclass(frozen=True, slots=True)
class References:
    """The inputs, and a reference by the name of its command."""

    root: Path
    by_name: dict[str, Reference]

    @property
    def inputs(self) -> Path:
        """The folder of inputs; copy it, do not touch it."""
        return self.root / "inputs"

    @classmethod
    def measure(cls, root: Path, jobs: int) -> References:
        """Run every command once in peace."""
        inputs = root / "inputs"
        write_inputs(inputs)
        measured = References(root, {})
        measured.add(BY_NAME["train"])
        trained = measured.by_name["train"].new["names.skip"]
        assert trained is not None
        (inputs / "names.skip").write_bytes(trained)
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(measured.add, [c for c in COMMANDS if c.name != "train"]))
        return measured

    def add(self, command: Command) -> None:
        """Measure one command."""
        old: Snapshot = dict(command.old)
        if command.old_store:
            old, _, _ = self._run(command, command.old_store)
        new, seconds, steps = self._run(command, command.arguments)
        rival: Snapshot = {}
        if command.name in RIVALS:
            rival, _, _ = self._run(command, RIVALS[command.name])
        self.by_name[command.name] = Reference(command, old, new, seconds, steps, rival)

    def _run(self, command: Command, arguments: Sequence[str]) -> tuple[Snapshot, float, int]:
        number = len(list(self.root.iterdir()))
        folder = self.root / f"clean-{command.name}-{number}"
        (folder / "out").mkdir(parents=True)
        copy_inputs(self.inputs, folder / "in")
        child = Child(arguments, folder, command.options)
        try:
            child.wait_for_steps(0)
            began = time.monotonic()
            child.ended(LONGEST)
            seconds = time.monotonic() - began
            if child.code != 0:
                fault = f"{command.name} fails undisturbed, code {child.code}: {child.stderr}"
                raise RuntimeError(fault)
            found = below(snapshot(folder / "out"), command.target)
            return found, seconds, child.count_steps()
        finally:
            child.close()
