"""A command in a process of its own, in a session of its own, that can be signalled and waited for.

Everything that it starts is found again by the session, or by a mark in the environment.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

HANDLING = b"h"  # of `hardening.faults.launch`
LAUNCH = Path(__file__).with_name("launch.py")
MARK = "SKIPCHAIN_FAULT"
PATIENCE = 30.0  # seconds after the fault until a process counts as hanging
LONGEST = 300.0  # seconds until the fault; the first run on a machine compiles kernels
GRACE = 5.0  # seconds that processes of ours may outlive the command
CLOSED = {0: "<&-", 1: ">&-", 2: "2>&-"}


class Child:
    """A started command; ``options`` are those of `hardening.faults.launch`.

    ``folder`` is where it runs, ``out`` the folder in it whose changes are counted as steps.
    ``closed`` are descriptors of 0, 1, 2 that it does not have, ``prefix`` a
    program that starts it with fewer rights.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        options: dict[str, Any],
        *,
        stdin: int | IO[Any] = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        closed: Sequence[int] = (),
        prefix: Sequence[str] = (),
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.errors = folder / f"stderr-{self.mark}"
        self.code: int | None = None
        self.steps = 0
        self._handling = False
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        given = {"folder": str(folder / "out"), **options}
        command = [sys.executable, "-P", str(LAUNCH), str(writing), json.dumps(given), *arguments]
        if closed:
            redirections = " ".join(CLOSED[descriptor] for descriptor in closed)
            command = ["/bin/sh", "-c", f'exec "$0" "$@" {redirections}', *command]
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*prefix, *command],
                cwd=folder,
                stdin=stdin,
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=errors,
                pass_fds=(writing,),
                start_new_session=True,
                env={**os.environ, MARK: self.mark},
            )
        os.close(writing)
        self._reports = reading

    def wait_for_steps(self, steps: int) -> bool:
        """Wait until the command has begun and taken so many steps; false where it ended first."""
        while self.steps <= steps:  # the first byte says that it has begun
            ready, _, _ = select.select([self._reports], [], [], LONGEST)
            got = os.read(self._reports, 1) if ready else b""
            if not got:
                return False
            self._note(got)
        return True

    def send(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the command, or to all of its group as a terminal does."""
        with suppress(ProcessLookupError):
            if group:
                os.killpg(self.process.pid, number)
            elif self.process.poll() is None:
                self.process.send_signal(number)

    def ended(self, timeout: float = PATIENCE) -> bool:
        """Wait for the end; a command that hangs is killed with all that it started."""
        try:
            self.code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def kill(self) -> None:
        """End it, and all that it started."""
        for pid in {*self.others(), self.process.pid}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.left_running()  # a killed process takes a moment to go

    def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self.process.poll() is None or self.others():
            self.kill()
        os.close(self._reports)

    def count_steps(self) -> int:
        """How many steps the command took that has ended."""
        with suppress(BlockingIOError):  # what it started may hold the pipe open
            while got := os.read(self._reports, 4096):
                self._note(got)
        return max(0, self.steps - 1)

    @property
    def began_handling(self) -> bool:
        """Whether a command that has ended had come to the code that handles signals."""
        self.count_steps()
        return self._handling

    def _note(self, reports: bytes) -> None:
        self._handling = self._handling or HANDLING in reports
        self.steps += len(reports) - reports.count(HANDLING)

    def left_running(self) -> list[int]:
        """Processes that the command started and that still run after some grace."""
        end = time.monotonic() + GRACE
        while (running := self.others()) and time.monotonic() < end:
            time.sleep(0.05)
        return running

    def others(self) -> list[int]:
        """Processes of this session or with our mark, other than the command itself."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit() or int(entry.name) == self.process.pid:
                continue
            with suppress(OSError, ValueError, IndexError):
                state, _, _, session = _status(entry.path)[:4]
                if state == "Z":
                    continue
                if int(session) == self.process.pid or mark in _environment(entry.path):
                    found.append(int(entry.name))
        return found

    @property
    def stderr(self) -> str:
        """What the command said on stderr."""
        return self.errors.read_text(errors="replace") if self.errors.exists() else ""


def _status(path: str) -> list[str]:
    """State, parent, group and session of a process: what follows the name in brackets."""
    return Path(path, "stat").read_text().rpartition(")")[2].split()


def _environment(path: str) -> list[bytes]:
    return Path(path, "environ").read_bytes().split(b"\0")
