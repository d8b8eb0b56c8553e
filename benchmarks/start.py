"""The command line from a new process: with compiled kernels, and with none."""

from __future__ import annotations

import os
import resource

from benchmarks.setting import command, seconds
from skipchain.datasets.harbour import harbour

TEXT = "Mayor Aske flew to Oslo."


def measure(report, setting):
    report.add("skipchain --help (s)", seconds(lambda: command("--help"), 5), 0.15, at_most=True)
    command("demo", "-o", setting.folder / "demo")
    model = setting.folder / "demo" / "harbour.skip"
    command("tag", model, "--text", TEXT)
    took = seconds(lambda: command("tag", model, "--text", TEXT), 5)
    report.add("skipchain tag of one sentence (s)", took, 0.5, at_most=True)
    train = setting.folder / "train.conll"
    harbour().write(train)
    before = os.environ.get("NUMBA_CACHE_DIR")
    try:
        for name, bar, arguments in (
            ("tag of one sentence", 2.0, ("tag", "--text", TEXT)),
            (
                "train of the built-in corpus",
                15.0,
                ("train", train, "-o", setting.folder / "n.skip"),
            ),
        ):
            os.environ["NUMBA_CACHE_DIR"] = str(setting.folder / name.split()[0])
            spent = processor_seconds(lambda arguments=arguments: command(*arguments))
            report.add(f"first skipchain {name}, processor (s)", spent, bar, at_most=True)
    finally:
        del os.environ["NUMBA_CACHE_DIR"]
        if before is not None:
            os.environ["NUMBA_CACHE_DIR"] = before


def processor_seconds(function):
    """The processor time of the processes that a function starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
