"""The most memory that this process has held."""

from __future__ import annotations

import sys
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
