"""A word to those who wait while kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skipchain.cli.options import say

COMPILING = "compiling for this machine, which is done once and takes a few seconds to a minute"


@contextmanager
def compile_notice(*, quiet: bool = False) -> Iterator[None]:
    """Say once, inside the block, that kernels are being compiled, if they are."""
    from numba.core import event

    class Notice(event.Listener):
        announced = quiet

        def on_start(self, _: object) -> None:
            if not self.announced:
                self.announced = True
                say(COMPILING)

        def on_end(self, _: object) -> None:
            pass

    with event.install_listener("numba:compile", Notice()):
        yield
