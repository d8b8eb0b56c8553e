"""What SIGINT, SIGTERM and SIGHUP do to a command: an orderly end, whenever they come.

The process clears up what it has begun (see `skipchain.unfinished`) and ends at once, out of the
handler: an exception would have to travel through libraries that lose it, turn it into another,
or crash. Only where a command catches interrupts on purpose, to keep what it has learnt so far,
does SIGINT raise KeyboardInterrupt, and only in places that bear it.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` without enumerations
import os
import sys
import time

from skipchain.unfinished import clear_up

TYPE_CHECKING = False  # all is quick to import: before the handlers, an interrupt is a traceback
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, NoReturn, TypeVar

    Result = TypeVar("Result")

ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
INTERRUPTED = 128 + signal.SIGINT
# Inside these an exception is lost, turned into another, or not looked for at all by compiled code
# that called them, which then crashes.
FRAGILE = (
    "<frozen importlib",
    *(f"{os.sep}{package}{os.sep}" for package in ("numba", "llvmlite", "ray")),
)
CACHING = os.path.join("kernels", "caching.py")  # which removes its temporary files itself
PAUSE = 0.01  # seconds until a signal that has to wait is looked at again
LONGEST = 5.0  # seconds that one waits for a kernel to be written
TWICE = 0.2  # seconds; `timeout` sends its signal to the process, and then to its group


class Signals:
    """Handlers of the signals that end a process; see `catch`."""

    def __init__(self) -> None:
        self._waiting: int | None = None
        self._first, self._since = 0, 0.0
        self._raised: BaseException | None = None
        self._hook: Any = None
        self.ended = False
        """Whether the user has been told already why the command ends."""

    def install(self) -> None:
        """Handle the signals, except those that are ignored (nohup) or that others handle."""
        known = (signal.SIG_DFL, signal.default_int_handler)
        for number in ENDING:
            if signal.getsignal(number) in known:
                try:
                    signal.signal(number, self.handle)
                except ValueError:  # not in the main thread, which alone may do so
                    return
        if self._hook is None:
            self._hook, sys.unraisablehook = sys.unraisablehook, self.unraisable

    def catch(self, call: Callable[[], Result]) -> Result:
        """Call a function inside which an interrupt raises KeyboardInterrupt."""
        return call()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise, wait, or end at once, by what the signal has come upon."""
        now = time.monotonic()
        again = self._raised is not None or self._waiting is not None
        if again and number == self._first and now - self._since < TWICE:
            return
        if not again:
            self._first, self._since = number, now
        self.decide(number, frame, again)

    def decide(self, number: int, frame: FrameType | None, again: bool) -> None:
        """What is to be done about a signal, which may have come ``again``."""
        catching, fragile, caching = _look(frame)
        if number == signal.SIGINT and catching and not again:
            if not fragile:
                self._raised = KeyboardInterrupt()
                raise self._raised
            self.wait(number)
        elif caching and time.monotonic() - self._since < LONGEST:
            self.wait(number)
        else:
            self.leave(number)

    def leave(self, number: int) -> NoReturn:
        """Clear up, and end the process."""
        clear_up()
        waiting = sys.modules.get("skipchain.cli.waiting")
        line = getattr(waiting, "LINE", None)  # which it lacks while it is imported
        if waiting is not None and line is not None and line.shown:
            _tell(waiting.CLEAR.encode())
        if number == signal.SIGINT and not self.ended:
            _tell(b"skipchain: interrupted\n")
        os._exit(128 + number)

    def wait(self, number: int) -> None:
        """Look at a signal again a moment later."""
        if not hasattr(signal, "setitimer"):
            self.leave(number)
        self._waiting = number
        signal.signal(signal.SIGALRM, self.look_again)
        signal.setitimer(signal.ITIMER_REAL, PAUSE)

    def look_again(self, _: int, frame: FrameType | None) -> None:
        """Decide about the signal that had to wait."""
        number, self._waiting = self._waiting, None
        if number is not None:
            self.decide(number, frame, again=False)

    def unraisable(self, lost: Any) -> None:
        """Raise again what was raised where it cannot be, as in the callback of a library."""
        if lost.exc_value is None or lost.exc_value is not self._raised:
            (self._hook or sys.__unraisablehook__)(lost)
        else:
            self._raised = None
            self.wait(signal.SIGINT)


def is_command() -> bool:
    """Whether this process is the command line, and not a program that imports it."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    folder = os.path.basename(os.path.dirname(sys.argv[0])) if sys.argv else ""
    return name in ("skipchain", "skipchain.exe") or (folder, name) == ("skipchain", "__main__.py")


def _look(frame: FrameType | None) -> tuple[bool, bool, bool]:
    """Whether interrupts are caught, whether not here, and whether kernels are being written."""
    fragile = caching = False
    while frame is not None:
        if frame.f_code is Signals.catch.__code__:
            return True, fragile, caching
        file = frame.f_code.co_filename
        fragile = fragile or any(part in file for part in FRAGILE)
        caching = caching or file.endswith(CACHING)
        frame = frame.f_back
    return False, fragile, caching


def _tell(line: bytes) -> None:
    try:
        os.write(2, line)
    except OSError:  # nobody listens
        return


SIGNALS = Signals()
IS_COMMAND = is_command()
if IS_COMMAND:  # from the first moment on, and to the last
    SIGNALS.install()
