"""What those who wait are told: what is being done, how much of it is done, how long it will take.

On a terminal it is one line on stderr, which comes after two seconds and goes when the work is
done; elsewhere it is a line now and then, of work whose parts are counted. Time spent on compiling
is left out of what time left is reckoned from, for it is spent once.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from skipchain.report.printable import printable
from skipchain.watching import watched

if TYPE_CHECKING:
    from threading import Event

AFTER = 2.0  # seconds that nobody minds
EVERY = 0.25  # seconds between looks at the clock
PLAIN_EVERY = 5.0  # seconds between lines where there is no terminal
SOON = 1.0  # seconds of a part from which on its end is reckoned
FEW = 0.01  # a share that is too small to reckon from
WIDTH = 80  # of a terminal that does not tell
CLEAR = "\r\x1b[K"


class Activity:
    """Something that may take long: its name, and how much of it is done."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._began_part = clock()  # the first part begins with the whole
        self._compiled_part = COMPILED.seconds
        self._what, self._extra = what, ""
        self._done = self._total = 0.0
        self._end: float | None = None

    def update(self, what: str, left: float | None = None) -> None:
        """Say something else, and how many seconds are left where that is known."""
        self._what, self._total = what, 0.0
        self._end = None if left is None else self._clock() + left

    def count(self, what: str) -> None:
        """Say how much is done of something whose size is not known."""
        self.update(what)

    def progress(self, done: float, total: float, extra: str = "") -> None:
        """So much of a whole is done; ``extra`` is shown beside it.

        Where ``done`` falls, or the whole is another one, another part of the work has begun.
        """
        now, compiled = self._clock(), COMPILED.seconds
        if self._total and (total != self._total or done < self._done):
            self._began_part, self._compiled_part = now, compiled
        self._done, self._total, self._extra, self._end = done, total, extra, None
        if total and done >= FEW * total and now - self._began_part >= SOON:
            spent = now - self._began_part - (compiled - self._compiled_part)
            self._end = now + max(0.0, spent) / done * (total - done)

    def left_at(self, now: float) -> float | None:
        """Seconds until all is done, if it goes on as it did; None where that is not known.

        It is reckoned anew whenever something is done; where that is overdue, nobody knows.
        """
        return None if self._end is None or self._end < now else self._end - now

    @property
    def line(self) -> str:
        """What is shown.

        >>> seconds = iter([0.0, 10.0, 10.0])
        >>> activity = Activity("reading", lambda: next(seconds))
        >>> activity.progress(1, 4, "1 of 4 files")
        >>> activity.line
        'reading: 25 %  1 of 4 files  10 s  about 30 s left'
        """
        counted = f"{self._what}: {100 * self._done / (self._total or 1):.0f} %"
        parts = [counted, self._extra] if self._total else [self._what]
        now = self._clock()
        left = self.left_at(now)
        parts.append(duration(now - self._began))
        parts.append("" if left is None else f"about {duration(left)} left")
        return "  ".join(filter(None, parts))


class LiveLine:
    """The line at the bottom of the terminal, with what is said going above it."""

    def __init__(self) -> None:
        self._activities: list[Activity] = []
        self._began = 0.0
        self._stop: Event | None = None
        self._lock = allocate_lock()
        self.shown = False
        """Whether there is something on the line."""

    @contextmanager
    def showing(self, activity: Activity) -> Iterator[None]:
        """Show an activity inside the block, above those that it is a part of."""
        if not self._activities:
            self._began = time.monotonic()
            self._start()
        self._activities.append(activity)
        try:
            yield
        finally:
            self._activities.remove(activity)
            self.clear()
            if not self._activities and self._stop is not None:
                self._stop.set()
                self._stop = None

    def above(self, text: str) -> None:
        """A line of text on stderr, for good."""
        with self._lock:
            print(f"{self._cleared()}{text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take away what is on the line."""
        with self._lock:
            if self.shown:
                print(self._cleared(), end="", file=sys.stderr, flush=True)

    def _cleared(self) -> str:
        start = CLEAR if self.shown else ""
        self.shown = False
        return start

    def _start(self) -> None:
        """Begin to look at the clock, where somebody looks at the terminal."""
        if not is_terminal():
            return
        from threading import Event, Thread

        self._stop = stop = Event()

        def tick() -> None:
            while not stop.wait(EVERY):
                self._show()

        Thread(target=tick, daemon=True).start()

    def _show(self) -> None:
        """Write the line anew."""
        try:
            width = os.get_terminal_size(2).columns or WIDTH
        except OSError:
            width = WIDTH
        with self._lock:
            activities = self._activities[-1:]
            if activities and time.monotonic() - self._began >= AFTER:
                self.shown = True
                line = printable(activities[0].line)[: max(1, width - 1)]
                print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)


class Compiled:
    """How long this process has compiled kernels so far."""

    def __init__(self) -> None:
        self._times: list[dict[str, float]] = []

    def listen(self) -> None:
        """Count from now on; numba is imported."""
        if self._times:
            return
        from numba.core import event

        from skipchain.kernels.compile_times import CompileTimes

        times = CompileTimes()
        event.register("numba:compile", times)  # type: ignore[no-untyped-call]
        self._times.append(times.seconds)

    @property
    def seconds(self) -> float:
        """Seconds of all kernels."""
        return sum(sum(times.values()) for times in self._times)


LINE = LiveLine()
COMPILED = Compiled()


@contextmanager
def waiting(what: str, *, quiet: bool = False, plain: bool = True) -> Iterator[Activity]:
    """Tell what is being done inside the block; ``plain``: where there is no terminal, too."""
    activity = Activity(what) if quiet or not plain or is_terminal() else PlainActivity(what)
    if quiet:
        yield activity
    else:
        with LINE.showing(activity):
            yield activity


def each_file(files: Sequence[str], activity: Activity) -> Iterator[str]:
    """The files one after the other; the activity is told how many of their bytes are done."""
    sizes = [file_size(file) for file in files]
    for number, file in enumerate(files):
        if len(files) > 1:
            activity.progress(sum(sizes[:number]), sum(sizes), f"{number} of {len(files)} files")
        yield file


def watched_alone(activity: Activity, files: Sequence[str]) -> AbstractContextManager[None]:
    """Tell how much of one file is done; of several files their sizes are told."""
    return watched(activity.progress) if len(files) == 1 else nullcontext()


def file_size(path: str) -> int:
    """The bytes of a file; 1 where nobody can tell."""
    try:
        return max(1, os.stat(path).st_size)
    except (OSError, ValueError):
        return 1


class PlainActivity(Activity):
    """Says how much is done in a line every few seconds."""

    _last = 0.0

    def progress(self, done: float, total: float, extra: str = "") -> None:
        """So much of a whole is done."""
        super().progress(done, total, extra)
        self._say()

    def count(self, what: str) -> None:
        """Say how much is done of something whose size is not known."""
        super().count(what)
        self._say()

    def _say(self) -> None:
        now = self._clock()
        if now - max(self._last, self._began) >= PLAIN_EVERY:
            self._last = now
            LINE.above(printable(self.line))


def is_terminal() -> bool:
    """Whether somebody looks at stderr, on a terminal that can go back in a line."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(42.4), duration(125), duration(2 * 3600 + 61)
    ('42 s', '2 min 5 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
