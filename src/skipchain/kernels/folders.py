"""The folders in which compiled kernels are kept."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
SUFFIX = ".kernel"


@cache
def kernel_folders() -> tuple[Path, ...]:
    """Where compiled kernels are looked for; they are kept in the first that can be written to."""
    given = os.environ.get(VARIABLE)
    if given:
        return (Path(given),)
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    usual = Path(__file__).parent / "__pycache__", home / "skipchain" / "kernels"
    temporary = temporary_folder()
    return usual if temporary is None else (*usual, temporary)


@cache
def temporary_folder() -> Path | None:
    """The folder of this user for compiled code, where there is no other; None if none can be had.

    What lies in it is run, so it must be a folder of this user that nobody else can write to.
    """
    try:
        folder = tempfile.gettempdir()
        if folder == os.getcwd() != os.environ.get("TMPDIR"):
            return None  # the last resort of gettempdir, where nobody looks for compiled code
        path = Path(folder, f"skipchain-kernels-{os.getuid()}")
        with suppress(FileNotFoundError):
            return path if is_private(path) else None
        return path
    except (OSError, AttributeError):  # AttributeError: Windows has no getuid
        return None


def is_private(path: Path) -> bool:
    """Whether a path is a folder of this user that nobody else can look into."""
    status = os.lstat(path)
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not stat.S_IMODE(status.st_mode) & 0o077
    )


def make_folder(folder: Path) -> None:
    """Make a folder of `kernel_folders` if it is not there."""
    if folder != temporary_folder():
        folder.mkdir(parents=True, exist_ok=True)
        return
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if not is_private(folder):  # somebody was quicker
        raise PermissionError(folder)
