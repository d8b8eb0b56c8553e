"""Trainings on a local Ray of which a random worker is killed at a random moment: the same bits."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from hardening.report import Report
from skipchain import CRF, Perceptron
from skipchain.cluster import Cluster, Files
from skipchain.cluster.connection import import_ray, start_local
from skipchain.cluster.team import Team
from skipchain.datasets.harbour import harbour
from skipchain.errors import SkipchainError

WORKERS = 2
MOSTLY = 0.8  # of the time of a training, so that few are done before a worker is killed
FEATURES = "word\nsuffix(3)\nword[-1] & word\nlabel[-1] & shape"
SETTINGS = (
    CRF(FEATURES, solver="lbfgs", tolerance=0.0, max_iterations=150, threads=1),
    CRF(FEATURES, epochs=40, threads=1),
    Perceptron(FEATURES, epochs=40, threads=1),
)


def attack(cases: int, seed: int, case: int | None = None) -> Report:
    """Run the cases from 1 to ``cases``, or ``case`` alone, and report."""
    ray = import_ray()
    report = Report()
    start_local(ray, WORKERS)
    try:
        with tempfile.TemporaryDirectory(prefix="cluster-") as name:
            path = Path(name, "train.conll")
            harbour()[:300].write(path)
            wholes = [_undisturbed(make, path) for make in SETTINGS]
            same = replaced = 0
            for number in range(1, cases + 1) if case is None else (case,):
                report.cases += 1
                whole, seconds = wholes[number % len(SETTINGS)]
                make, random = SETTINGS[number % len(SETTINGS)], Random(f"{seed} {number}")
                try:
                    found, lost = _disturbed(
                        make, path, random.uniform(0.0, MOSTLY * seconds), random
                    )
                except SkipchainError as error:
                    report.add("uncaught", f"case {number}, seed {seed}: {make}: {error}")
                    continue
                same, replaced = same + (found == whole), replaced + lost
                if found != whole:
                    report.add("uncaught", f"case {number}, seed {seed}: {make}: another model")
    finally:
        ray.shutdown()
    told = f"{same} of {report.cases} ended with the same bits, {replaced} workers replaced"
    report.notes.append(told)
    return report


def _fitted(make: Any, path: Path) -> tuple[bytes, int]:
    """The weights that are learnt, and how many workers were replaced on the way."""
    found = make.replaced().fit(Files.of(path), cluster=Cluster(workers=WORKERS))
    return found.model_.weights.vector.tobytes(), found.model_.summary["replaced"]


def _undisturbed(make: Any, path: Path) -> tuple[bytes, float]:
    """The weights of a training in peace, and how many seconds the second of two took."""
    for _ in range(2):  # the first may compile
        began = time.monotonic()
        found, _ = _fitted(make, path)
    return found, time.monotonic() - began


def _disturbed(make: Any, path: Path, delay: float, random: Random) -> tuple[bytes, int]:
    with _killing(delay, random.randrange(WORKERS)):
        return _fitted(make, path)


@contextmanager
def _killing(delay: float, worker: int) -> Iterator[None]:
    """Kill a worker of the team that a block makes, so long after its beginning."""
    processes: list[Any] = []
    start, ended = Team.__init__, threading.Event()

    def noted(team: Team, cluster: Cluster) -> None:
        start(team, cluster)
        # asked before all else, since a worker answers one thing after the other
        processes.append(team.members[worker].process.remote())

    def kill() -> None:
        ray = import_ray()
        if ended.wait(delay) or not processes:
            return
        with suppress(ProcessLookupError, ray.exceptions.RayError):
            os.kill(ray.get(processes[0]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    Team.__init__ = noted  # type: ignore[method-assign]
    killer.start()
    try:
        yield
    finally:
        Team.__init__ = start  # type: ignore[method-assign]
        ended.set()
        killer.join()
