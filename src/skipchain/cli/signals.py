"""What SIGINT, SIGTERM and SIGHUP do to a command: an orderly end, whenever they come.

While the command runs they raise an exception, so that whatever it has begun is cleared up. Before
and after there is nothing to clear up, and the process ends at once: an exception would meet code
that cannot handle it, and be shown with a traceback.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without enumerations
import os
import sys
import time

TYPE_CHECKING = False  # all is quick to import: before the handlers, an interrupt is a traceback
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
INTERRUPTED = 128 + signal.SIGINT
# Inside these an exception of a signal is lost or turned into another (imports), or leaves a file
# behind (numba removes its temporary files only after an Exception): it waits until they are done.
UNSAFE = ("<frozen importlib._bootstrap>", os.path.join("numba", "core", "caching.py"))
PAUSE = 0.01  # seconds until a signal that has to wait is looked at again
TWICE = 1.0  # seconds; `timeout` sends its signal to the process, and then to its group


class Signals:
    """Handlers of the signals that end a process; see `run`."""

    def __init__(self) -> None:
        self._waiting: int | None = None
        self._number = 0
        self._raised: BaseException | None = None
        self._last = -TWICE
        self._before: dict[int, Any] = {}
        self._hook: Any = None
        self.ended = False
        """Whether the user has been told already."""

    def install(self) -> None:
        """Handle the signals, except those that are ignored (nohup) or that others handle."""
        known = (signal.SIG_DFL, signal.default_int_handler)
        for number in ENDING:
            current = signal.getsignal(number)
            if current in known:
                try:
                    self._before[number] = signal.signal(number, self.handle)
                except ValueError:  # not in the main thread, which alone may do so
                    return
        if self._hook is None:
            self._hook, sys.unraisablehook = sys.unraisablehook, self.unraisable

    def restore(self) -> None:
        """Leave the signals to those who had them before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._hook is not None:
            sys.unraisablehook, self._hook = self._hook, None

    def run(self, call: Callable[[], None]) -> None:
        """Call a function; a signal raises inside it, and ends the process elsewhere."""
        call()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise, wait, or end at once, by what the signal has come upon."""
        running, safe = _look(frame)
        if not running:
            self.leave(number)
        elif safe or not hasattr(signal, "setitimer"):
            self.throw(number)
        else:
            self.wait(number)

    def leave(self, number: int) -> None:
        """End the process at once."""
        if number == signal.SIGINT and not self.ended:
            try:
                os.write(2, b"skipchain: interrupted\n")
            except OSError:  # nobody listens
                os._exit(128 + number)
        os._exit(128 + number)

    def throw(self, number: int) -> None:
        """Raise the exception that belongs to the signal."""
        self._number = number
        if number == signal.SIGINT:
            self._raised = KeyboardInterrupt()
        elif time.monotonic() - self._last < TWICE:
            return  # it is clearing up
        else:
            self._last = time.monotonic()
            self._raised = SystemExit(128 + number)
        raise self._raised

    def wait(self, number: int) -> None:
        """Look at a signal again a moment later."""
        self._waiting = number
        signal.signal(signal.SIGALRM, self.again)
        signal.setitimer(signal.ITIMER_REAL, PAUSE)

    def again(self, _: int, frame: FrameType | None) -> None:
        """Handle the signal that had to wait."""
        number, self._waiting = self._waiting, None
        if number is not None:
            self.handle(number, frame)

    def unraisable(self, lost: Any) -> None:
        """Raise again what was raised where it cannot be, as in the callback of a library."""
        if lost.exc_value is None or lost.exc_value is not self._raised:
            (self._hook or sys.__unraisablehook__)(lost)
        elif hasattr(signal, "setitimer"):
            self._last = -TWICE
            self.wait(self._number)


def is_command() -> bool:
    """Whether this process is the command line, and not a program that imports it."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    folder = os.path.basename(os.path.dirname(sys.argv[0])) if sys.argv else ""
    return name in ("skipchain", "skipchain.exe") or (folder, name) == ("skipchain", "__main__.py")


def _look(frame: FrameType | None) -> tuple[bool, bool]:
    """Whether a command runs, and whether it is in a place where an exception may be raised."""
    safe = True
    while frame is not None:
        if frame.f_code is Signals.run.__code__:
            return True, safe
        safe = safe and not frame.f_code.co_filename.endswith(UNSAFE)
        frame = frame.f_back
    return False, safe


SIGNALS = Signals()
IS_COMMAND = is_command()
if IS_COMMAND:  # from the first moment on, and to the last
    SIGNALS.install()
