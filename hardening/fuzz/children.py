"""Cases run in processes that may die: forked from a warm parent, watched, and replaced.

A child works through a batch of cases and tells of each as it is done. The parent thus knows which
case a child was at when it died of a signal or went on for too long. That case is run once more, by
itself: a hang that does not come again was a slow machine, and a crash that does not is one that
the cases before it have prepared.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

DONE, CRASH, HANG, UNCAUGHT = "done", "crashes", "hangs", "uncaught"
BATCH = 200  # cases a child; a fork takes as long as two or three of them
SECONDS = 5.0
MEMORY = 2 << 30  # bytes above what the parent has
ANSWER = 0.5  # seconds in which a process writes where it is
PATIENCE = 4  # times as long for a case that waits instead of working
Work = Callable[[int, Path], str]


@dataclass(frozen=True)
class Outcome:
    """What came of a case: ``said`` is what the case returned, or how it failed, and ``where``."""

    number: int
    kind: str
    said: str
    where: str = ""
    begun: int | None = None
    """The first case of the same process, where the case by itself does not fail."""


@dataclass(frozen=True)
class Job:
    """Cases for a child; ``failed`` is how the only one of them failed before."""

    numbers: tuple[int, ...]
    failed: Outcome | None = None


class Child:
    """A forked process, and what it has told so far."""

    def __init__(self, job: Job, work: Work, seconds: float, memory: int) -> None:
        self.job = job
        self.left = deque(job.numbers)
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast_folder())
        self.trace = Path(self.folder.name, "trace")
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reading)
            _be_child(job.numbers, work, Path(self.folder.name), writing, seconds, memory)
        os.close(writing)
        self.pipe = os.fdopen(reading, "rb", buffering=0)
        self.text = b""
        self.since = time.monotonic()

    def outcomes(self) -> tuple[list[Outcome], bool]:
        """What the pipe has to tell, and whether that was the end."""
        data = os.read(self.pipe.fileno(), 1 << 16)
        *lines, self.text = (self.text + data).split(b"\n")
        found = [Outcome(*json.loads(line)) for line in lines]
        for _ in found:
            self.left.popleft()
        if found:
            self.since = time.monotonic()
        return found, not data

    def is_late(self, seconds: float) -> bool:
        """Whether the case that the process is at has taken too long.

        The second time a busy machine is no excuse and no reason, either: what has used little of
        the processor meanwhile may take longer.
        """
        taken = time.monotonic() - self.since
        if taken <= seconds or self.job.failed is None:
            return taken > seconds
        return taken > PATIENCE * seconds or _processor_time(self.pid) > seconds / 2

    def end(self, *, kill: bool = False) -> int:
        """Wait for the process, which is killed if need be: the signal it died of, or 0."""
        if kill:
            self._ask_where()
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        self.pipe.close()
        self.where = _innermost(self.trace)
        self.folder.cleanup()
        if os.WIFSIGNALED(status):
            return os.WTERMSIG(status)
        return 0 if os.WEXITSTATUS(status) == 0 else -os.WEXITSTATUS(status)

    def _ask_where(self) -> None:
        """Let the process write where it is, if it has not: it was long in coming up, say."""
        if _innermost(self.trace):
            return
        os.kill(self.pid, signal.SIGALRM)
        end = time.monotonic() + ANSWER
        while time.monotonic() < end and not _innermost(self.trace):
            time.sleep(0.01)


def run_cases(
    numbers: Iterable[int],
    work: Work,
    *,
    workers: int = 2,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    batch: int = BATCH,
) -> Iterator[Outcome]:
    """The outcome of each case, as they are done."""
    jobs = _batches(numbers, batch)
    again: deque[Job] = deque()
    children: list[Child] = []
    try:
        while True:
            while len(children) < workers:
                job = again.popleft() if again else next(jobs, None)
                if job is None:
                    break
                children.append(Child(job, work, seconds, memory))
            if not children:
                return
            ready, _, _ = select.select([child.pipe for child in children], [], [], 0.1)
            for child in list(children):
                ended = late = False
                if child.pipe in ready:
                    found, ended = child.outcomes()
                    yield from (_confirmed(child, outcome) for outcome in found)
                late = not ended and child.is_late(seconds)
                if ended or late:
                    children.remove(child)
                    yield from _after(child, child.end(kill=late), late, seconds, again)
    finally:
        for child in children:
            child.end(kill=True)


def _batches(numbers: Iterable[int], size: int) -> Iterator[Job]:
    batch: list[int] = []
    for number in numbers:
        batch.append(number)
        if len(batch) == size:
            yield Job(tuple(batch))
            batch = []
    if batch:
        yield Job(tuple(batch))


def _after(
    child: Child, status: int, late: bool, seconds: float, again: deque[Job]
) -> Iterator[Outcome]:
    """What is to be done about a child that is gone, and cases that it has not done."""
    if not child.left:
        return
    number = child.left.popleft()
    if late:
        failure = Outcome(number, HANG, f"took more than {seconds:g} s", child.where)
    else:
        how = f"died of {signal.Signals(status).name}" if status > 0 else f"ended with {-status}"
        failure = Outcome(number, CRASH, how, child.where, child.job.numbers[0])
    if child.job.failed is not None:
        yield Outcome(number, failure.kind, failure.said, failure.where)  # by itself, too
    else:
        again.append(Job((number,), failure))
    if child.left:
        again.append(Job(tuple(child.left)))


def _confirmed(child: Child, outcome: Outcome) -> Outcome:
    """The outcome of a case, where it is the second time, in the light of the first."""
    before = child.job.failed
    return before if before is not None and before.kind == CRASH else outcome


# In the child ------------------------------------------------------------------------------------


def _be_child(
    numbers: tuple[int, ...], work: Work, folder: Path, pipe: int, seconds: float, memory: int
) -> None:
    """Work through cases and leave; nothing of the parent's is run on the way out."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory:
            limit = _address_space() + memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        with open(folder / "trace", "w") as trace:
            faulthandler.enable(trace)
            # by a signal to the thread itself: another would look at frames as they change, and
            # has crashed
            faulthandler.register(signal.SIGALRM, trace, all_threads=False)
            for number in numbers:
                signal.setitimer(signal.ITIMER_REAL, 0.9 * seconds)
                outcome = _outcome(number, work, folder)
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                os.write(pipe, json.dumps(outcome).encode() + b"\n")
        status = 0
    finally:
        os._exit(status)


def _outcome(number: int, work: Work, folder: Path) -> tuple[int, str, str, str]:
    try:
        return number, DONE, work(number, folder), ""
    except BaseException as error:
        with contextlib.suppress(BaseException):  # an error may be unable to say what it is
            said = f"{type(error).__name__}: {str(error)[:200]}"
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if "skipchain" in frame.filename] or frames
            where = f"{_short(own[-1].filename)}:{own[-1].lineno} in {own[-1].name}"
            return number, UNCAUGHT, said.encode("utf-8", "replace").decode(), where
        return number, UNCAUGHT, type(error).__name__, ""


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _processor_time(pid: int) -> float:
    """Seconds that a process has used, by itself and in the system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _innermost(trace: Path) -> str:
    """Where in the package a process was, by what it wrote when it died or took too long."""
    text = trace.read_text(errors="replace") if trace.exists() else ""
    found = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', text)
    own = [hit for hit in found if "/skipchain/" in hit[0]] or found
    return "{}:{} in {}".format(_short(own[0][0]), *own[0][1:]) if own else ""


def _short(path: str) -> str:
    return path.rpartition("/skipchain/")[2]


def _fast_folder() -> str | None:
    """A folder in memory, where there is one."""
    return "/dev/shm" if sys.platform == "linux" and os.access("/dev/shm", os.W_OK) else None
