"""Arrays that lie in files of a folder, mapped into memory, of which little is resident.

The files have no names: the system removes them as soon as nobody uses them, also after the process
was killed. What is mapped counts as memory of the process while it is resident, so pages are handed
back whenever they are many; they stay in the system's cache as long as it has room.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Room, Shape
from skipchain.errors import SkipchainError
from skipchain.memory import LARGE, LARGEST, keep_freed, release_libraries

RESIDENT = 24 << 20  # bytes of mapped pages
TABLES = 128 << 20  # bytes of those of tables, or half of the tables where that is more
EVERY = 0.002  # seconds between two looks at how many there are
SMALL = 1 << 16  # bytes of an array that is not worth a file
CHUNK = 1 << 22  # bytes that are written at once
FULL = {getattr(errno, name, None) for name in ("ENOSPC", "EDQUOT", "EFBIG")}
STATUS = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Need:
    """About how many bytes a training takes of disk and of memory."""

    disk: int
    memory: int


class Scratch(Room):
    """Makes arrays in files of a folder, for the length of a ``with`` block.

    Arrays stay as they are when the block ends; their files are gone when the arrays are. Not more
    than about ``resident`` bytes of them are in memory at once, and of tables ``tables`` bytes (or
    half of them, where that is more), where the system can tell (Linux).

    >>> from tempfile import gettempdir
    >>> with Scratch(gettempdir()) as scratch:
    ...     array = scratch.zeros((1000, 1000), np.float32)
    >>> array[3, 4] = 2.0
    >>> float(array.sum())
    2.0
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        resident: int = RESIDENT,
        tables: int = TABLES,
        small: int = SMALL,
    ) -> None:
        self.folder = Path(folder)
        self.nbytes = 0
        """Bytes of all files that were made."""
        self._resident, self._most_of_tables, self._small = resident, tables, small
        self._maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._tables: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()
        self._pages = _FilePages()
        self._others = self._kept = 0  # bytes of libraries; of tables, when last looked at
        self._settling, self._listing = threading.Lock(), threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.check()
        keep_freed(LARGE)
        if self._pages.known and hasattr(mmap, "MADV_DONTNEED"):
            self._others = self._pages.size()
            watch = threading.Thread(target=self._watch, name="skipchain-scratch", daemon=True)
            self._thread = watch
            watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.drop()
        self._pages.close()
        keep_freed(LARGEST)

    def check(self) -> None:
        """Refuse a folder in which no file can be made."""
        if not self.folder.is_dir():
            kind = (
                "it is a file" if self.folder.exists() else "there is no such folder; make it first"
            )
            raise SkipchainError(f"the scratch folder {self.folder}: {kind}")
        self.open_file().close()

    @property
    def free(self) -> int:
        """The bytes that the disk has left."""
        with self._told():
            return shutil.disk_usage(self.folder).free

    def require(self, size: int, what: str) -> None:
        """Refuse what needs more bytes than the disk has."""
        free = self.free
        if size > free:
            raise SkipchainError(
                f"the scratch folder {self.folder}: {what} takes about {gigabytes(size)} of "
                f"disk, and {gigabytes(free)} are free; name a folder on a larger disk"
            )

    def open_file(self) -> IO[bytes]:
        """A new file without a name, to write to and read from."""
        with self._told():
            # no buffer: what a full disk refuses is told by the write, not by the end
            return cast(IO[bytes], _Told(TemporaryFile(dir=self.folder, buffering=0), self))

    def empty(self, shape: Shape, dtype: Any) -> NDArray[Any]:
        """An array of whatever numbers."""
        return self.zeros(shape, dtype)

    def zeros(self, shape: Shape, dtype: Any) -> NDArray[Any]:
        """An array of zeros; room for all of it is taken at once, so that none is missing later."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if size <= self._small:
            return np.zeros(shape, dtype)
        with self._told(), TemporaryFile(dir=self.folder, buffering=0) as file:
            _allocate(file, size)
            return self._mapped(file, size, dtype).reshape(shape)

    def growing(self, dtype: Any) -> GrowingFile:
        """An array that grows at its end, to be mapped when it is complete."""
        return GrowingFile(self, dtype)

    def map_file(self, file: IO[bytes], dtype: Any) -> NDArray[Any]:
        """All that a file holds, as an array."""
        with self._told():
            size = file.seek(0, os.SEEK_END)
            if size == 0:
                return np.zeros(0, dtype)
            return self._mapped(file, size, dtype)

    def has(self, array: NDArray[Any]) -> bool:
        """Whether an array lies in one of the files, or is too small for one."""
        return array.nbytes <= self._small or _map_of(array) in self._listed(self._maps)

    def table(self, shape: Shape, dtype: Any) -> NDArray[Any]:
        """An array of zeros of which more stays in memory."""
        made = self.zeros(shape, dtype)
        mapped = _map_of(made)
        if isinstance(mapped, mmap.mmap):
            with self._listing:
                self._tables.add(mapped)
        return made

    def drop(self, *, tables: bool = True) -> None:
        """Hand the resident pages of arrays back; what was written stays written."""
        for mapped in self._listed(self._maps):
            if tables or mapped not in self._tables:
                with suppress(ValueError, OSError):  # closed meanwhile
                    mapped.madvise(mmap.MADV_DONTNEED)

    def release(self) -> None:
        """Hand back all that can be, before work of another kind."""
        self.drop()
        release_libraries()
        if self._thread is not None:
            self._others, self._kept = self._pages.size(), 0

    def settle(self) -> None:
        """Drop pages where there are more of them than may be."""
        if self._thread is None or not self._settling.acquire(blocking=False):
            return
        try:
            if self._pages.size() - self._others - self._kept <= self._resident:
                return
            self.drop(tables=False)
            self._kept = self._pages.size() - self._others
            total = sum(map(len, self._listed(self._tables)))
            if self._kept > max(self._most_of_tables, total // 2):
                self.release()
        finally:
            self._settling.release()

    def _mapped(self, file: IO[bytes], size: int, dtype: Any) -> NDArray[Any]:
        mapped = mmap.mmap(file.fileno(), size)
        self.nbytes += size
        with self._listing:
            self._maps.add(mapped)
        return np.frombuffer(mapped, dtype)

    def _listed(self, maps: weakref.WeakSet[mmap.mmap]) -> list[mmap.mmap]:
        """The maps of a set to which another thread may add."""
        with self._listing:
            return list(maps)

    def _watch(self) -> None:
        """Settle for those who do not, such as a long walk in one kernel."""
        while not self._ended.wait(EVERY):
            self.settle()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the system refuses, as an error that says what to do."""
        try:
            yield
        except OSError as error:
            raise self.describe(error) from None

    def describe(self, error: OSError) -> SkipchainError:
        """The error for what the system refuses."""
        detail = error.strerror or str(error)
        advice = "name another folder"
        if error.errno in FULL:
            advice = f"{gigabytes(self.nbytes)} were in use; name a folder on a larger disk"
        return SkipchainError(f"the scratch folder {self.folder}: {detail}; {advice}")


class GrowingFile:
    """Numbers that are written one after the other, and then mapped."""

    def __init__(self, scratch: Scratch, dtype: Any) -> None:
        self._scratch, self._dtype = scratch, np.dtype(dtype)
        self._file = scratch.open_file()
        self.size = 0

    def add(self, numbers: NDArray[Any]) -> None:
        """Write numbers behind those that there are."""
        data = np.ascontiguousarray(numbers, self._dtype).ravel().view(np.uint8)
        for first in range(0, len(data), CHUNK):
            self._file.write(data[first : first + CHUNK].data)
        self.size += np.size(numbers)

    def array(self) -> NDArray[Any]:
        """All numbers; none can be added then."""
        with self._file:
            return self._scratch.map_file(self._file, self._dtype)


class _Told:
    """A file whose errors say what to do."""

    def __init__(self, file: IO[bytes], scratch: Scratch) -> None:
        self._file, self._scratch = file, scratch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        """Write all of the data."""
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while len(left):
                left = left[self._file.write(left) :]
        except OSError as error:
            raise self._scratch.describe(error) from None
        return size


def _allocate(file: IO[bytes], size: int) -> None:
    """Take the room for a file: a mapped page that finds none would end the process."""
    allocate: Callable[[int, int, int], None] | None = getattr(os, "posix_fallocate", None)
    if allocate is not None:
        allocate(file.fileno(), 0, size)
        return
    zeros = bytes(min(size, CHUNK))
    for first in range(0, size, CHUNK):
        file.write(zeros[: size - first])


class _FilePages:
    """The resident pages of this process that are those of files."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        with suppress(OSError):
            self._descriptor = os.open(STATUS, os.O_RDONLY)

    @property
    def known(self) -> bool:
        """Whether the system tells."""
        return self._descriptor is not None

    def size(self) -> int:
        """Their bytes."""
        assert self._descriptor is not None
        return int(os.pread(self._descriptor, 256, 0).split()[2]) * mmap.PAGESIZE

    def close(self) -> None:
        """Ask no more."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _map_of(array: NDArray[Any]) -> Any:
    """The map that an array is a view of, where there is one."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return getattr(base, "obj", base)  # of a memoryview


def gigabytes(count: int) -> str:
    """``1.2 GB``, ``35 MB``.

    >>> gigabytes(1_234_000_000), gigabytes(34_600_000), gigabytes(10)
    ('1.2 GB', '35 MB', '1 MB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{max(1, round(count / 1e6)):,} MB"
