"""A name beside a file or folder, under which its successor is made until it is whole.

What a killed process left there is removed by the next that writes to the same target. A living
process holds a lock (flock) on what it makes, so what nobody holds is dead; a process number would
not tell, for numbers are used again and other machines have their own. The name holds the target's
name, a fixed ending, and a sign of this machine, because some network file systems keep locks to
one machine. Where a file system has no locks, nothing is removed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Self

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ENDING = ".skipchain.tmp"
PLACES = 8  # names for writers at the same time; more of them take names by chance
LONGEST_NAME = 200  # bytes; file systems take about 255
NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EROFS)
CAREFUL = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | CAREFUL


class TemporaryFile:
    """A new file beside a target, which takes the target's name or is gone at the end.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with TemporaryFile(folder + "/a.txt") as temporary:
    ...         _ = os.write(temporary.descriptor, b"Ada")
    ...         temporary.publish()
    ...     os.listdir(folder)
    ['a.txt']
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._mode = _mode_of(target)  # the new file has the permissions of the one it replaces
        self.path, self.descriptor = _claim_file(target, 0o666 if self._mode is None else 0o600)
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._closed and not _same(self.path, self.descriptor):
            self._close()  # it has its last name
            return
        if fcntl is None:  # Windows removes no open file
            self._close()
        with suppress(OSError):
            os.unlink(self.path)
        self._close()

    def publish(self) -> None:
        """Give the file the target's name, once its data are on the disk."""
        sync(self.descriptor)
        if self._mode is not None:
            with suppress(OSError):
                os.chmod(self.path, self._mode)
        if fcntl is None:  # Windows renames no open file
            self._close()
        os.replace(self.path, self.target)
        with suppress(OSError):  # all is written; only a loss of power now could undo the name
            sync_path(os.path.dirname(self.target) or ".")

    def _close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self.descriptor)


@contextmanager
def temporary_folder(target: str) -> Iterator[Path]:
    """A new folder beside the target, which is gone at the end with all that is in it."""
    path, descriptor = _claim_folder(target)
    try:
        yield Path(path)
    finally:
        if descriptor is None or _same(path, descriptor):
            shutil.rmtree(path, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def temporary_names(target: str, ending: str = ENDING) -> list[str]:
    """The names beside a target under which this machine makes its successor.

    >>> [name] = {name.replace(machine_sign(), "MACHINE") for name in temporary_names("a")[:1]}
    >>> name
    'a.MACHINE-0.skipchain.tmp'
    """
    folder, name = os.path.split(target)
    if len(os.fsencode(name)) > LONGEST_NAME:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    stem = os.path.join(folder, f"{name}.{machine_sign()}-")
    return [f"{stem}{place}{ending}" for place in range(PLACES)]


@cache
def machine_sign() -> str:
    """Eight digits that tell this machine from others that may share a file system."""
    identity = b""
    with suppress(OSError), open("/etc/machine-id", "rb") as file:
        identity = file.read(64)
    host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return hashlib.sha256(identity + os.fsencode(host)).hexdigest()[:8]


@contextmanager
def lock_if_dead(path: str) -> Iterator[bool]:
    """Whether a file or folder of ours is there that no living process makes; locked inside.

    Where there are no locks, the answer is no.
    """
    try:
        descriptor = _open_old(path)
    except OSError:
        yield False
        return
    try:
        yield _is_own(descriptor) and lock(descriptor) is True and _same(path, descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool | None:
    """Whether the lock was free and is ours now; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def sync(descriptor: int) -> None:
    """Have the data on the disk, where the file system can be asked to."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def sync_path(path: str | Path) -> None:
    """Have a file, or the names in a folder, on the disk; Windows does so by itself."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def _claim_file(target: str, mode: int) -> tuple[str, int]:
    """A new file with a lock on it; what is dead is removed."""
    for path in _free_names(target):
        try:
            descriptor = os.open(path, NEW, mode)
        except FileExistsError:
            continue
        # Another process may take a file for dead in the moment between its birth and its lock.
        if lock(descriptor) is not False and _same(path, descriptor):
            return path, descriptor
        os.close(descriptor)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def _claim_folder(target: str) -> tuple[str, int | None]:
    """A new folder with a lock on it, and the descriptor that holds it; what is dead is removed."""
    for path in _free_names(target):
        try:
            os.mkdir(path)
        except FileExistsError:
            continue
        if fcntl is None:
            return path, None
        with suppress(FileNotFoundError):  # taken for dead before it had its lock
            descriptor = _open_old(path)
            if lock(descriptor) is not False and _same(path, descriptor):
                return path, descriptor
            os.close(descriptor)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def _free_names(target: str) -> Iterator[str]:
    """The fixed names, where whatever is dead is removed; then names by chance."""
    names = temporary_names(target)
    for name in names:
        _remove_dead(name)
    yield from names
    for _ in range(PLACES):
        yield names[0].removesuffix(ENDING) + os.urandom(4).hex() + ENDING


def _open_old(path: str) -> int:
    """The descriptor of a file or folder; NFS locks only files that are open for writing."""
    try:
        return os.open(path, os.O_RDWR | CAREFUL)
    except IsADirectoryError:
        return os.open(path, os.O_RDONLY | CAREFUL)


def _remove_dead(path: str) -> None:
    with lock_if_dead(path) as dead:
        if dead:
            remove(path)


def remove(path: str | Path) -> None:
    """Remove a temporary file or folder as far as that is possible."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


def _is_own(descriptor: int) -> bool:
    """Whether this user made it, as a plain file with one name or as a folder."""
    status = os.fstat(descriptor)
    plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return own and (plain or stat.S_ISDIR(status.st_mode))


def _same(path: str, descriptor: int) -> bool:
    """Whether the path still names what the descriptor has open."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


def _mode_of(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None
