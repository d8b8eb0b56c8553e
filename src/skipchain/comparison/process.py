"""A run in a new process, so that memory and loaded kernels are those of this run alone.

What is pickled goes through pipes between a process and its child; no file is ever unpickled. The
parent holds the pipe of the question open until it has the answer: when the pipe is closed, the
parent is gone, whatever ended it, and the child ends, too.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import NoReturn
from warnings import simplefilter

from skipchain.comparison.entry_run import Display, EntryRun
from skipchain.comparison.run_result import RunResult
from skipchain.errors import SkipchainError, SkipchainWarning
from skipchain.kernels.caching import CacheWarning
from skipchain.unfinished import Clearing, clear_up

# Ctrl-C and the end of a terminal reach parent and child; the parent decides, and ends the child by
# SIGTERM.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
from skipchain.comparison.process import serve
serve()
"""
Notice = Callable[[], AbstractContextManager[object]]
Question = tuple[EntryRun, Display | None, Notice | None, bool]  # and whether it is the last time
Answer = RunResult | str | None  # a result, an error message, or that it had to compile
COMPILED = None
PATIENCE = 2.0  # seconds that a terminated process has to clear up


def run_in_subprocess(
    entry_run: EntryRun, display: Display | None = None, notice: Notice | None = None
) -> RunResult:
    """The result of a run in a new process; ``display`` shows its training there.

    ``notice`` makes a context in which that process works, to tell of kernels that it compiles.

    A process that had to compile kernels holds more memory than one that finds them compiled; so
    the run is then repeated in another.
    """
    answer = _ask((entry_run, display, notice, False))
    if answer is COMPILED:
        answer = _ask((entry_run, display, notice, True))
    if isinstance(answer, RunResult):
        return answer
    raise SkipchainError(answer)


def _ask(question: Question) -> Answer:
    with _start() as child, Clearing(partial(_end, child)):
        answer = _exchange(child, pickle.dumps(question))
        child.wait()
    if answer:
        result: Answer = pickle.loads(answer)
        return result
    killed = hasattr(signal, "SIGKILL") and child.returncode == -signal.SIGKILL
    return f"the process that trained the model ended with code {child.returncode}" + (
        "; was there too little memory?" if killed else ""
    )


def _start() -> subprocess.Popen[bytes]:
    """The process that answers."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with _blocked():
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )


@contextmanager
def _blocked() -> Iterator[None]:
    """Block what the parent decides about: a process started inside is born with it blocked.

    Until its program ignores these signals, the interpreter would die of them with a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _exchange(child: subprocess.Popen[bytes], question: bytes) -> bytes:
    """Send the question, and wait for the answer with the pipe of the question open."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError):  # it has ended; its exit code will tell
        child.stdin.write(question)
        child.stdin.flush()
    answer = child.stdout.read()
    with suppress(BrokenPipeError):
        child.stdin.close()
    return answer


def serve() -> None:
    """Run what stands on stdin, pickled, and answer on stdout."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    signal.signal(signal.SIGTERM, _leave)
    simplefilter("ignore", SkipchainWarning)  # the data were looked at before
    simplefilter("ignore", CacheWarning)
    try:
        entry_run, display, notice, last = _question()
        threading.Thread(target=_end_with_parent, daemon=True).start()
        with nullcontext() if notice is None else notice():
            compiled = entry_run.warm_up()
            answer: Answer = COMPILED if compiled and not last else entry_run.run(display)
    except SkipchainError as error:
        answer = str(error)
    except MemoryError:
        answer = "out of memory; use less data, fewer features or a higher min_count"
    except KeyboardInterrupt:  # a stop that the display of training asks for
        sys.exit(1)
    with suppress(BrokenPipeError):  # nobody waits for it any more
        pickle.dump(answer, out)
        out.flush()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _question() -> Question:
    """What the parent asks; where it ended before it had asked, so does this process."""
    try:
        question: Question = pickle.load(sys.stdin.buffer)
    except (EOFError, pickle.UnpicklingError):
        sys.exit(1)
    return question


def _end_with_parent() -> None:
    """Wait until the pipe from the parent is closed; then clear up and end."""
    # Not by sys.stdin, whose lock this thread would hold when the interpreter ends.
    while os.read(0, 1024):
        pass
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:  # wakes it wherever it waits
        signal.pthread_kill(main, signal.SIGTERM)
        time.sleep(PATIENCE)
    _leave()


def _leave(*_: object) -> NoReturn:
    """Clear up and end, out of a handler: an exception may be lost in compiled code, or crash."""
    clear_up()
    os._exit(1)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child, unless it has ended."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(2 * PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
