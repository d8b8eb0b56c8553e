"""How long numba takes to compile each kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class CompileTimes(event.Listener):
    """Seconds by kernel, without those of the kernels and parts of numba that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        """Of this package's kernels, and of numba's own functions under ``numba``."""
        self.forms: dict[str, int] = {}
        """For how many combinations of types each was compiled."""
        self._running: list[list[float]] = []  # when it began, seconds of what it calls

    def on_start(self, _: event.Event) -> None:
        """A function begins to be compiled."""
        self._running.append([time.perf_counter(), 0.0])

    def on_end(self, event: event.Event) -> None:
        """It has been compiled."""
        if not self._running:  # it began before anybody listened
            return
        began, inner = self._running.pop()
        whole = time.perf_counter() - began
        if self._running:
            self._running[-1][1] += whole
        function = event.data["dispatcher"].py_func
        module: str = function.__module__
        name = "numba"
        if module.startswith("skipchain."):
            name = f"{module.removeprefix('skipchain.')}.{function.__name__}"
        self.seconds[name] = self.seconds.get(name, 0.0) + whole - inner
        self.forms[name] = self.forms.get(name, 0) + 1


@contextmanager
def compile_times() -> Iterator[CompileTimes]:
    """Measure what is compiled inside the block.

    >>> with compile_times() as times:
    ...     pass
    >>> times.seconds
    {}
    """
    times = CompileTimes()
    listener: Any = event.install_listener("numba:compile", times)
    with listener:
        yield times
