"""The most memory that this process has held, and memory that it can do without."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_memory() -> int | None:
    """The peak memory in bytes; None where the system does not tell.

    Linux counts in ``ru_maxrss`` what the process was forked from, too; ``VmHWM`` begins with the
    program itself.

    >>> (peak_memory() or 0) >= 0
    True
    """
    try:
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


LARGE = 4 << 20  # bytes
MMAP_THRESHOLD = -3  # of mallopt, see malloc.h


def keep_large_apart() -> None:
    """Have the C library give what is large back as soon as it is freed, where that can be asked.

    By itself it learns to keep what is freed, up to 32 MiB each: quicker, and more memory.
    """
    with suppress(AttributeError, OSError, TypeError):  # of other C libraries than GNU's
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, LARGE)


def release_memory() -> None:
    """Hand what has been freed back to the system, where its C library can.

    The library keeps what it believes to be wanted again; between two phases that differ, such as
    building features and learning from them, it is wrong.
    """
    with suppress(AttributeError, OSError, TypeError):  # of other C libraries than GNU's
        ctypes.CDLL(None).malloc_trim(0)
