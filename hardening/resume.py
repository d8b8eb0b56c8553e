"""Trainings that are killed at random moments, and go on from their checkpoint: the same bits.

Each case trains in a process of its own, kills it once or several times with SIGKILL, lets it go on
to the end, and compares the model file with that of a training that nobody disturbed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from hardening.report import Report
from skipchain.datasets.harbour import harbour

SOLVERS = ("sgd:epochs=80", "lbfgs:passes=40,tolerance=0,max_iterations=80", "adagrad:epochs=80")
EVERY = ("1", "3", "0.05s")
MOST_KILLS = 3
LONGEST = 300.0  # seconds until a process counts as hanging


def attack(cases: int, seed: int, case: int | None = None) -> Report:
    """Run the cases from 1 to ``cases``, or ``case`` alone, and report."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="resume-") as name:
        folder = Path(name)
        harbour()[:200].write(folder / "train.conll")
        wholes = [_undisturbed(folder, solver) for solver in SOLVERS]
        same, killed = 0, 0
        for number in range(1, cases + 1) if case is None else (case,):
            report.cases += 1
            random = Random(f"{seed} {number}")
            place = number % len(SOLVERS)
            whole, seconds = wholes[place]
            try:
                found, kills = _disturbed(folder, SOLVERS[place], seconds, random)
            except subprocess.TimeoutExpired:
                report.add("hangs", f"case {number}, seed {seed}: {SOLVERS[place]}")
                continue
            killed += kills
            same += found == whole
            if found != whole:
                fault = "no model" if found is None else "another model"
                report.add("uncaught", f"case {number}, seed {seed}: {SOLVERS[place]}: {fault}")
    report.notes.append(f"{same} of {report.cases} ended with the same bits after {killed} kills")
    return report


def _command(solver: str, *others: str) -> list[str]:
    line = ("train", "train.conll", "-q", "--features", "word", "--solver", solver)
    return [sys.executable, "-m", "skipchain", *line, "-o", "m.skip", "--threads", "1", *others]


def _undisturbed(folder: Path, solver: str) -> tuple[bytes, float]:
    """The model file of a training in peace, and how many seconds the second of two took."""
    for _ in range(2):  # the first may compile
        began = time.monotonic()
        subprocess.run(_command(solver), cwd=folder, check=True, timeout=LONGEST)
        seconds = time.monotonic() - began
        whole = (folder / "m.skip").read_bytes()
        (folder / "m.skip").unlink()
    return whole, seconds


def _disturbed(
    folder: Path, solver: str, seconds: float, random: Random
) -> tuple[bytes | None, int]:
    """The model file of a training that was killed, and how often it was."""
    command = _command(solver, "--checkpoint", "c", "--checkpoint-every", random.choice(EVERY))
    kills = 0
    for _ in range(random.randint(1, MOST_KILLS)):
        if _killed(folder, command, random.uniform(0.0, seconds)):
            kills += 1
        command = _going_on(folder, solver)
        if (folder / "m.skip").exists():
            break
    if not (folder / "m.skip").exists():
        subprocess.run(command, cwd=folder, check=False, timeout=LONGEST)
    elif (folder / "c").exists():  # killed between writing the model and removing the checkpoint
        subprocess.run([*command, "--overwrite"], cwd=folder, check=False, timeout=LONGEST)
    found = (folder / "m.skip").read_bytes() if (folder / "m.skip").exists() else None
    for path in folder.iterdir():
        if path.name != "train.conll":
            path.unlink()
    return found, kills


def _going_on(folder: Path, solver: str) -> list[str]:
    """The command that goes on; by the file alone where it is there already."""
    if os.path.exists(folder / "c"):
        return [sys.executable, "-m", "skipchain", "train", "--resume", "c"]
    return _command(solver, "--resume", "c", "--checkpoint-every", "1")


def _killed(folder: Path, command: Sequence[str], moment: float) -> bool:
    """Whether a process was there still to be killed."""
    child = subprocess.Popen(command, cwd=folder)
    try:
        child.wait(moment)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True
    return False
