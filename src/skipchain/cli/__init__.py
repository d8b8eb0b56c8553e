"""The command line. Heavy imports wait until a command runs: start-up time is a feature."""

from __future__ import annotations

from skipchain.cli.signals import INTERRUPTED, IS_COMMAND, SIGNALS  # isort: skip (first of all)

import atexit
import errno
import io
import os
import sys
import warnings
from typing import NoReturn

from skipchain.cli.waiting import LINE
from skipchain.errors import SkipchainError, shortened
from skipchain.report.printable import one_line
from skipchain.unfinished import clear_up

USER_ERROR = 2
LONGEST = 4000  # characters of an error or a warning
ADVICE = {
    "train": "use less data, fewer features or --set min_count=2",
    "compare": "use less data, fewer features or --set min_count=2",
    "induce": "use less data, a lower --longest or --set min_count=2",
    "states": "use less data, fewer features or fewer states",
    "tag": "tag the file in parts",
    "eval": "score the file in parts",
    "explain": "explain a smaller file",
    "convert": "convert the file in parts",
    "brown": "use less text, fewer clusters or a higher --min-count",
    "ngrams": "use a smaller --memory, or count the texts in parts",
    "reproduce": "use --quick",
}
"""What helps each command where memory does not suffice."""
ADDRESS_SPACE = 800  # megabytes that libraries reserve to compile, before there is any work
ADDRESS_SPACES = {"convert": 300, "data": 300, "ngrams": 1000}
"""What commands need that compile nothing, or use DuckDB."""
NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
NO_MEMORY = ("cannot allocate memory", "failed to map segment", "can't start new thread")
NO_FILES = ("too many open files",)


class Failure(SystemExit):
    """The end of a command about which a line has been printed."""


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    try:
        _run_to_the_end()
    except SystemExit as end:
        if IS_COMMAND:
            _leave(end)
        raise


def _run_to_the_end() -> None:
    """Run the command; an interrupt is one line on stderr."""
    try:
        _run()
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    except SystemExit as end:
        if not isinstance(end, Failure) and _is_interrupt(end):  # as typer passes it on
            fail("interrupted", INTERRUPTED)
        raise


def _leave(end: SystemExit) -> NoReturn:
    """End the process without taking the interpreter apart, in which no signal is handled."""
    clear_up()  # what an interrupt came upon just as it was begun
    atexit._run_exitfuncs()
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)


def _run() -> None:
    """Run the command that the arguments name."""
    try:
        _fill_descriptors()
        _check_memory()
        from skipchain.cli.app import app

        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: it may lack "→"
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                app()
        finally:
            if sys.stdout is not None:  # closed by the caller
                sys.stdout.flush()
    except SkipchainError as error:
        fail(str(error), USER_ERROR)
    except BrokenPipeError:  # the reader of our output has gone: nothing to say, nowhere to say it
        _drop_stdout()
        sys.exit(1)
    except (OSError, MemoryError, ImportError, RuntimeError) as error:
        message = _describe(error)
        if message is None:
            raise
        _drop_stdout()
        fail(message, USER_ERROR)


def _fill_descriptors() -> None:
    """Open what is closed of stdin, stdout and stderr, or files that we write get their numbers.

    A library that prints would write into them.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # has the lowest number that is free


def _check_memory() -> None:
    """Refuse a limit of memory under which compiled libraries abort or hang without a word."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each of its threads reserves megabytes
    needed = ADDRESS_SPACES.get(_command(), ADDRESS_SPACE)
    if limit >> 20 < needed and not {"-h", "--help", "--version"} & set(sys.argv):
        size = f"the limit of memory is {limit >> 20} MB"
        wanted = f"skipchain {_command()}".rstrip() + f" needs {needed} MB or more"
        raise SkipchainError(f"{size}, but {wanted}; raise it (ulimit -v)")


def _describe(error: BaseException) -> str | None:
    """What the system lacked, in one line; None for an error of our own making."""
    text = str(error).lower()
    if isinstance(error, MemoryError) or any(sign in text for sign in NO_MEMORY):
        return f"out of memory; {_advice()}"
    if any(sign in text for sign in NO_FILES):
        return "too many open files; allow more of them (ulimit -n 256)"
    if not isinstance(error, OSError):
        return None
    detail = error.strerror or error
    if error.filename is not None:
        return f"{error.filename}: {detail}"
    return f"cannot write stdout: {detail}" if error.errno in NO_ROOM else f"{detail}"


def _advice() -> str:
    """What may help the command that ran."""
    return ADVICE.get(_command(), "end other programs, or use a machine with more memory")


def _command() -> str:
    """The command that the arguments name."""
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an exception was raised because of an interrupt."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _drop_stdout() -> None:
    """Send what is left in the buffer nowhere, or leaving would try to write it again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line, without the place in our code that gave it."""
    LINE.above(f"skipchain: warning: {one_line(shortened(str(message), LONGEST))}")


def fail(message: str, code: int) -> NoReturn:
    """Say what is wrong in one line and leave."""
    SIGNALS.ended = True
    print(f"skipchain: {one_line(shortened(message, LONGEST))}", file=sys.stderr)
    raise Failure(code)
