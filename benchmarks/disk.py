"""Training from disk beside training in memory: time and peak memory, each in a new process.

The peak is that of the process (VmHWM, which counts mapped pages of files too), less that of one
that has imported the package and is idle. Training is cut short, after so many epochs or
iterations; what comes before them is the same as in a whole one, and weighs more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.repeated import write_repeated
from benchmarks.setting import path
from skipchain import read

TOKENS, MANY = 2_000_000, 10_000_000
SETTINGS = {"sgd": {"epochs": 4}, "lbfgs": {"max_iterations": 10, "passes": 2}}
MIN_COUNT = 2
TIME_BAR, PEAK_BAR, PEAK_MB = 1.5, 0.35, 1500.0
IDLE = "import skipchain; from skipchain.memory import peak_memory; print(peak_memory())"
CODE = "import sys; from benchmarks.disk import train; train(*sys.argv[1:])"


def measure(report, setting):
    source = read(path("conll2003", "train"))
    idle = int(run(IDLE)) / 2**20
    for tokens in (TOKENS, MANY):
        file = setting.folder / f"{tokens}.conll"
        write_repeated(source, tokens, file)
        for solver in SETTINGS:
            what = f"{tokens:.0e} tokens, {solver}"
            disk = trained(file, solver, setting.folder)
            report.console.print(f"{what}, from disk: {told(disk)}")
            if tokens == MANY:
                report.add(f"{what}, from disk: peak (MB)", disk["peak"], PEAK_MB, at_most=True)
                continue
            memory = trained(file, solver, "-")
            report.console.print(f"{what}, in memory: {told(memory)}")
            times = disk["seconds"], memory["seconds"]
            report.within(f"{what}: seconds from disk", *times, TIME_BAR)
            peaks = disk["peak"] - idle, memory["peak"] - idle
            report.within(f"{what}: peak from disk (MB)", *peaks, PEAK_BAR)
            report.add(f"{what}: same loss", disk["loss"] == memory["loss"], 1)
        file.unlink()


def told(figures):
    """Figures of a run in words."""
    peaks = ", ".join(f"{name} {figures[name]:,.0f} MB" for name in ("peak", "own", "mapped"))
    return f"{figures['seconds']:.1f} s; {peaks}"


def trained(file, solver, folder):
    """What `train` prints in a process of its own."""
    return json.loads(run(CODE, str(file), solver, str(folder)))


def run(code, *arguments):
    """What a new Python process prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def train(file, solver, folder):
    """File to model file; prints seconds, loss and peaks. Without a folder (-) in memory."""
    import threading
    import time

    from skipchain import CRF, scan
    from skipchain.memory import peak_memory
    from skipchain.modelfile import save

    peaks, ended = {"RssAnon:": 0, "RssFile:": 0}, threading.Event()

    def watch():
        while not ended.wait(0.01):
            for line in Path("/proc/self/status").read_text().splitlines():
                name, *rest = line.split()
                if name in peaks:
                    peaks[name] = max(peaks[name], int(rest[0]) / 1024)

    if Path("/proc/self/status").exists():
        threading.Thread(target=watch, daemon=True).start()
    began = time.perf_counter()
    crf = CRF(solver=solver, min_count=MIN_COUNT, **SETTINGS[solver])
    if folder == "-":
        crf.fit(read(file))
    else:
        crf.fit(scan(file), scratch=folder)
    save(crf.model_, f"{file}.skip", overwrite=True)
    seconds = time.perf_counter() - began
    ended.set()
    figures = {"seconds": seconds, "loss": crf.result_.loss, "peak": peak_memory() / 2**20}
    print(json.dumps(figures | {"own": peaks["RssAnon:"], "mapped": peaks["RssFile:"]}))
