"""The command line from a cold process, kernels cached."""

from __future__ import annotations

from benchmarks.setting import command, seconds

TEXT = "Mayor Aske flew to Oslo."


def measure(report, setting):
    report.add("skipchain --help (s)", seconds(lambda: command("--help"), 5), 0.3, at_most=True)
    command("demo", "-o", setting.folder / "demo")
    model = setting.folder / "demo" / "harbour.skip"
    command("tag", model, "--text", TEXT)
    took = seconds(lambda: command("tag", model, "--text", TEXT), 5)
    report.add("skipchain tag of one sentence (s)", took, 1.5, at_most=True)
