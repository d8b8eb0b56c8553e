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


LARGE, LARGEST = 4 << 20, 32 << 20  # bytes; the latter is what it learns to keep at most
MMAP_THRESHOLD = -3  # of mallopt, see malloc.h


def keep_freed(largest: int) -> None:
    """Have the C library keep what is freed up to this size, and give back what is larger at once.

    By itself it learns to keep what is freed, up to `LARGEST` each: quicker, and more memory.
    """
    with suppress(AttributeError, OSError, TypeError):  # of other C libraries than GNU's
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, largest)


MAPS = Path("/proc/self/maps")
CODE = 1 << 20  # bytes of code that are worth the trouble
DONT_NEED = 4  # of madvise, see mman.h


def release_libraries() -> None:
    """Hand back the code of libraries, of which what is needed comes again by itself.

    After kernels are loaded, most of what is resident is a compiler that nobody calls.
    """
    with suppress(AttributeError, OSError, TypeError):
        advise = ctypes.CDLL(None).madvise
        for line in MAPS.read_text().splitlines():
            place, rights, *rest = line.split(maxsplit=5)
            if rights == "r-xp" and len(rest) == 4 and ".so" in rest[3]:
                first, last = (int(end, 16) for end in place.split("-"))
                if last - first >= CODE:
                    advise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), DONT_NEED)


def release_memory() -> None:
    """Hand what has been freed back to the system, where its C library can.

    The library keeps what it believes to be wanted again; between two phases that differ, such as
    building features and learning from them, it is wrong.
    """
    with suppress(AttributeError, OSError, TypeError):  # of other C libraries than GNU's
        ctypes.CDLL(None).malloc_trim(0)
