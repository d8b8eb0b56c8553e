"""Machines that fail: commands that are killed, disks that are full, files that vanish.

`attack` runs the real command line in real processes, two at a time, and looks at what is left.
"""

from hardening.faults.attack import attack

__all__ = ["attack"]
