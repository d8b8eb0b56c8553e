"""Where a group of measurements finds its files, and how often it repeats."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skipchain.datasets.registry import data_folder, data_set


@dataclass(frozen=True)
class Setting:
    """A folder for temporary files, the number of runs of each short measurement, and pictures.

    Pictures are drawn only if there is a folder for them. With ``full``, measurements of minutes
    are made, too.
    """

    folder: Path
    repeat: int = 7
    pictures: Path | None = None
    full: bool = False


def path(name, part):
    """The file of a part of a data set."""
    return str(data_folder() / data_set(name).files[part].path)


def seconds(function, repeat):
    """The median of several runs."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


@contextmanager
def local_ray(processors):
    """A Ray cluster of this machine for a block, whatever others run on it."""
    import ray

    ray.init("local", num_cpus=processors, include_dashboard=False, log_to_driver=False)
    try:
        yield ray
    finally:
        ray.shutdown()


def in_turn(functions, repeat):
    """The medians of functions that are run in turn, so that a busy machine slows all alike."""
    rounds = [[seconds(function, 1) for function in functions] for _ in range(repeat)]
    return [statistics.median(times) for times in zip(*rounds, strict=True)]


def command(*arguments):
    """Run ``skipchain`` in a new process; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "skipchain", *map(str, arguments)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return done.stdout
