"""Run as a script: the command line in a new interpreter that tells how far it has come.

``python -P launch.py FD OPTIONS ARGUMENT...`` writes one byte to the file descriptor when the
interpreter is ready and the command begins, one when our code is there to handle signals, and one
before each step in which Python is about to change the output folder (open for writing, rename,
remove, make a folder). OPTIONS is JSON: ``folder`` to watch, ``limits`` of the process, and
``step`` with ``signal`` to be sent at it: so a process dies at the very moment of writing, which no
clock outside would meet.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from typing import Any

BEGUN, HANDLING, STEP = b"b", b"h", b"s"
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
MAKING, WRITING = os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_RDWR


def launch(descriptor: int, options: dict[str, Any], arguments: list[str]) -> None:
    """Set limits, begin to count steps, and become the command."""
    if options.get("limits"):
        import resource

        for name, value in options["limits"].items():
            kind = getattr(resource, name)
            resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))
    sys.addaudithook(_Steps(descriptor, options).hook)
    script = options.get("script")
    sys.argv = [script or "skipchain", *arguments]
    os.write(descriptor, BEGUN)
    if script:
        runpy.run_path(script, run_name="__main__")
        return
    from skipchain.cli import main

    os.write(descriptor, HANDLING)
    main()


class _Steps:
    """Counts the steps, and sends the signal when its step has come."""

    def __init__(self, descriptor: int, options: dict[str, Any]) -> None:
        self.descriptor = descriptor
        self.folder = options["folder"]
        self.last, self.signal = options.get("step", 0), options.get("signal", 0)
        self.count = 0

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not (event in CHANGES or (event == "open" and _writes(arguments))):
            return
        if not any(self._inside(argument) for argument in arguments[:2]):
            return
        self.count += 1
        os.write(self.descriptor, STEP)
        if self.count == self.last:
            os.kill(os.getpid(), self.signal)

    def _inside(self, path: Any) -> bool:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        return isinstance(path, str) and os.path.abspath(path).startswith(self.folder + os.sep)


def _writes(arguments: tuple[Any, ...]) -> bool:
    """Whether a file is made, or one that is there is opened; not that one is looked for."""
    path, _, flags = arguments
    if not isinstance(flags, int) or isinstance(path, int):
        return False
    return bool(flags & MAKING) or (bool(flags & WRITING) and os.path.lexists(path))


if __name__ == "__main__":
    launch(int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])
