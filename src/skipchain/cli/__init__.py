"""The command line. Heavy imports wait until a command runs: start-up time is a feature."""

from __future__ import annotations

import io
import os
import sys
import warnings

from skipchain.errors import SkipchainError

USER_ERROR = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    from skipchain.cli.app import app

    warnings.showwarning = _warn
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr: an encoding may lack "→"
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except SkipchainError as error:
        fail(str(error), USER_ERROR)
    except KeyboardInterrupt:
        fail("interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has gone: nothing to say, nowhere to say it
        _drop_stdout()
        sys.exit(1)
    except OSError as error:
        _drop_stdout()
        fail(f"cannot write {error.filename or 'stdout'}: {error.strerror or error}", USER_ERROR)
    except MemoryError:
        fail("out of memory; use less data, fewer features or --set min_count=2", USER_ERROR)


def _drop_stdout() -> None:
    """Send what is left in the buffer nowhere, or leaving would try to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as one line, without the place in our code that gave it."""
    print(f"skipchain: warning: {' '.join(str(message).split())}", file=sys.stderr)


def fail(message: str, code: int) -> None:
    """Say what is wrong in one line and leave."""
    print(f"skipchain: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
