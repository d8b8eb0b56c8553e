"""Peak memory of training, each in a new process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.peer import TOLERANCE
from benchmarks.setting import path

CODE = (
    "import resource, sys; from benchmarks import {0}; {0}.train(sys.argv[1], sys.argv[2]{1}); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
)


def measure(report, setting):
    peaks = []
    for name, more in (("ours", f", {TOLERANCE}"), ("peer", ", max_iterations=5")):
        arguments = path("conll2003", "train"), str(setting.folder / f"memory-{name}")
        done = subprocess.run(
            [sys.executable, "-c", CODE.format(name, more), *arguments],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        peaks.append(int(done.stdout.split()[-1]) / 1024)
    report.within("peak memory of training (MB)", *peaks, 0.65)
