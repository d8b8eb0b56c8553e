"""A word to those who wait while kernels are compiled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skipchain.cli.options import say

COMPILING = "compiling for this machine, which is done once and takes some seconds"


@contextmanager
def compile_notice(*, quiet: bool = False) -> Iterator[None]:
    """Say once, inside the block, that kernels are being compiled, if they are."""
    from skipchain.kernels.kernel import told_of_compiling

    announced = quiet

    def announce(_: object) -> None:
        nonlocal announced
        if not announced:
            announced = True
            say(COMPILING)

    with told_of_compiling(announce):
        yield
