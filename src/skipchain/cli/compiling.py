"""A word to those who wait while kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skipchain.cli.options import say
from skipchain.cli.waiting import COMPILED, duration

TOLD = 1.0  # seconds of compiling about which there is a word at the end
COMPILING = "compiling for this machine, which is done once and takes some seconds"


@contextmanager
def compile_notice(*, quiet: bool = False) -> Iterator[None]:
    """Say once, inside the block, that kernels are being compiled, if they are; then for how long.

    It can be imported, so that processes of their own can say it, too.
    """
    from skipchain.kernels.kernel import told_of_compiling

    before: float | None = None

    def announce(_: object) -> None:
        nonlocal before
        if before is None:
            COMPILED.listen()
            before = COMPILED.seconds
            if not quiet:
                say(COMPILING)

    with told_of_compiling(announce):
        yield
    if before is not None and not quiet and (spent := COMPILED.seconds - before) >= TOLD:
        say(f"compiling took {duration(spent)} of this")
