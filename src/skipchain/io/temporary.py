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
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from tempfile import gettempdir
from typing import Self

from skipchain.unfinished import Clearing

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ENDING = ".skipchain.tmp"
PLACES = 8  # names for writers at the same time; more of them take names by chance
LONGEST_NAME = 200  # bytes; file systems take about 255
ATTEMPTS, PAUSE = 5, 0.02  # to remove a folder; seconds between them
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
        self._claim = _Claim()
        self._clearing = Clearing(self._claim.drop).__enter__()
        try:
            _claim_file(self._claim, target, 0o666 if self._mode is None else 0o600)
        except BaseException:
            self.__exit__()
            raise

    @property
    def path(self) -> str:
        """Where it is until it has the target's name."""
        return self._claim.path

    @property
    def descriptor(self) -> int:
        """The open file, which holds the lock."""
        assert self._claim.descriptor is not None
        return self._claim.descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clearing.__exit__()
        self._claim.close()

    def publish(self) -> None:
        """Give the file the target's name, once its data are on the disk."""
        sync(self.descriptor)
        if self._mode is not None:
            with suppress(OSError):
                os.chmod(self.path, self._mode)
        if fcntl is None:  # Windows renames no open file
            self._claim.close()
        os.replace(self.path, self.target)
        with suppress(OSError):  # all is written; only a loss of power now could undo the name
            sync_path(os.path.dirname(self.target) or ".")


@contextmanager
def temporary_folder(target: str) -> Iterator[Path]:
    """A new folder beside the target, which is gone at the end with all that is in it."""
    claim = _Claim()
    try:
        with Clearing(claim.drop):
            _claim_folder(claim, target)
            yield Path(claim.path)
    finally:
        claim.close()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder of this user among the system's temporary ones, which is gone at the end.

    >>> with scratch_folder() as folder:
    ...     folder.is_dir()
    True
    >>> folder.exists()
    False
    """
    path = os.path.join(gettempdir(), f"skipchain-{os.urandom(8).hex()}")
    with Clearing(partial(remove, path)):
        os.mkdir(path, 0o700)
        yield Path(path)


class _Claim:
    """A name under which this process makes something; noted before it is made."""

    def __init__(self) -> None:
        self.path = ""
        self.descriptor: int | None = None

    def drop(self) -> None:
        """Remove what was made, unless it has its last name."""
        if not self.path:
            return
        if fcntl is None:  # Windows removes no open file, and opens no folder
            self.close()
            remove(self.path)
        elif self.descriptor is None:  # made, if at all, but not yet locked
            _remove_dead(self.path)
        elif same_file(self.path, self.descriptor):
            remove(self.path)

    def close(self) -> None:
        """Give up the lock."""
        descriptor, self.descriptor = self.descriptor, None
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
        yield _is_own(descriptor) and lock(descriptor) is True and same_file(path, descriptor)
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


def _claim_file(claim: _Claim, target: str, mode: int) -> None:
    """Make a new file with a lock on it; what is dead is removed."""
    for path in _free_names(target):
        claim.path = path
        try:
            claim.descriptor = os.open(path, NEW, mode)
        except FileExistsError:
            continue
        # Another process may take a file for dead in the moment between its birth and its lock.
        if lock(claim.descriptor) is not False and same_file(path, claim.descriptor):
            return
        claim.close()
    claim.path = ""
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)


def _claim_folder(claim: _Claim, target: str) -> None:
    """Make a new folder with a lock on it; what is dead is removed."""
    for path in _free_names(target):
        claim.path = path
        try:
            os.mkdir(path)
        except FileExistsError:
            continue
        if fcntl is None:
            return
        with suppress(FileNotFoundError):  # taken for dead before it had its lock
            claim.descriptor = _open_old(path)
            if lock(claim.descriptor) is not False and same_file(path, claim.descriptor):
                return
            claim.close()
    claim.path = ""
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
    if not os.path.isdir(path):
        with suppress(OSError):
            os.unlink(path)
        return
    for _ in range(ATTEMPTS):  # threads of a library may still be writing into it
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return
        time.sleep(PAUSE)


def _is_own(descriptor: int) -> bool:
    """Whether this user made it, as a plain file with one name or as a folder."""
    status = os.fstat(descriptor)
    plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return own and (plain or stat.S_ISDIR(status.st_mode))


def same_file(path: str | Path, descriptor: int) -> bool:
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
