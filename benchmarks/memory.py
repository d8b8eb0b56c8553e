"""Peak memory of training, each in a new process.

What the operating system says of a process counts what it was forked from, too, so the figure is
that of `skipchain.memory`, which begins with the program itself. Compiled kernels are
kept from a short run before: compiling takes memory of its own.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.peer import TOLERANCE
from benchmarks.setting import path

CODE = (
    "import sys; from benchmarks import {0}; {0}.train(sys.argv[1], sys.argv[2]{1}); "
    "from skipchain.memory import peak_memory; print(peak_memory())"
)


def measure(report, setting):
    peak(setting, "ours", ", 1.0")
    ours, theirs = (
        peak(setting, "ours", f", {TOLERANCE}"),
        peak(setting, "peer", ", max_iterations=5"),
    )
    report.within("peak memory of training (MB)", ours, theirs, 0.45)


def peak(setting, name, more):
    """MB at most, of training with some further arguments."""
    arguments = path("conll2003", "train"), str(setting.folder / f"memory-{name}")
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(name, more), *arguments],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(done.stdout.split()[-1]) / 2**20
