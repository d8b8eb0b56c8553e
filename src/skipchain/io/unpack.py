"""Files, pipes and stdin as bytes: unpacked block by block, and never more than a limit.

A packed file may unpack to a thousand times its size, and a pipe may never end. So the limit is
looked at as bytes come, and what is no text is found in the block in which it shows.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, Protocol

from skipchain.checks import check_integer
from skipchain.errors import ReadError
from skipchain.io.charsets import LONGEST_MARK, charset_of, describe_nul, is_wide

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")  # of a first block, or of no block at all
MAX_BYTES = 2 << 30
"""How many bytes of a file are read at most, unpacked, unless a caller says otherwise."""
MAX_DICTIONARY = 256 << 20  # bytes for unpacking xz; xz -9, its largest preset, needs 65 MiB
HEAD = 10  # bytes that tell how a file is packed
BLOCK = 1 << 20
# Of many small members in one chunk, each copies the rest of the chunk: large ones cost a square.
CHUNK = 1 << 14


class Unpacker(Protocol):
    """What unpacks one member of a file, as `lzma.LZMADecompressor` does."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether there is nothing more to give without further input."""

    @property
    def unused_data(self) -> bytes:
        """What stands behind the member."""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Some of what is unpacked, at most ``max_length`` bytes."""


class UnpackedFile(io.RawIOBase):
    """The bytes of an open file, unpacked where they are gzip, xz or bzip2.

    More than ``limit`` of them (None: no limit) give a `ReadError`, and so does a NUL byte in what
    is to be ``text``, ``charset`` and ``named`` being as for `decode_text`, unless its characters
    have such bytes. ``as_stored`` leaves packed bytes as they are.

    >>> import gzip
    >>> packed = gzip.compress(b"Ada ") + gzip.compress(b"slept")
    >>> UnpackedFile(io.BytesIO(packed), "a.gz").readall()
    b'Ada slept'
    >>> UnpackedFile(io.BytesIO(packed), "a.gz", limit=8).readall()
    Traceback (most recent call last):
    ...
    skipchain.io.unpack.TooLargeError: a.gz: unpacks to more than 8 bytes, the limit; if that is \
meant, raise it with max_bytes= (on the command line, --max-bytes)
    """

    def __init__(
        self,
        file: IO[bytes],
        path: object,
        *,
        limit: int | None = None,
        text: bool = False,
        charset: str | None = None,
        named: bool = False,
        as_stored: bool = False,
    ) -> None:
        self._file = file
        self._path = path
        self._limit = limit
        self._text = text
        self._charset = charset
        self._named = named
        self._start: bytes | None = b""  # too few bytes to tell the charset; None: it is known
        self._count = 0
        self._line = 1
        self._waiting = file.read(HEAD)
        self.kind = "plain" if as_stored else kind_of(self._waiting)
        """``gzip``, ``xz``, ``bzip2`` or ``plain``."""
        self._unpacker = None if self.kind == "plain" else UNPACKERS[self.kind]()

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer, or a part of it; 0 at the end."""
        view = memoryview(buffer)
        size = len(view) if self._limit is None else min(len(view), self._limit + 1 - self._count)
        try:
            block = self._plain(size) if self._unpacker is None else self._unpacked(size)
        # The libraries raise OSError, EOFError, ValueError, zlib.error and LZMAError.
        except Exception as error:
            if self._unpacker is None or isinstance(error, MemoryError):
                raise
            raise damaged(self.kind, error, self._path) from None
        self._check(block)
        view[: len(block)] = block
        return len(block)

    def _plain(self, size: int) -> bytes:
        block, self._waiting = self._waiting[:size], self._waiting[size:]
        return block or self._file.read(size)

    def _unpacked(self, size: int) -> bytes:
        """The next bytes of a member, or of the next one where it has ended."""
        assert self._unpacker is not None
        while True:
            if self._unpacker.eof and not self._next_member():
                return b""
            fresh = b""
            if self._unpacker.needs_input:
                fresh = self._waiting or self._file.read(CHUNK)
                self._waiting = b""
            block: bytes = self._unpacker.decompress(fresh, size)
            if block:
                return block
            if not fresh and self._unpacker.needs_input and not self._unpacker.eof:
                raise EOFError("the data end too early")

    def _next_member(self) -> bool:
        """Go on to the member behind the one that has ended; zeros may stand between them."""
        assert self._unpacker is not None
        rest = self._unpacker.unused_data
        while not (rest := rest.lstrip(b"\0")):
            rest = self._file.read(CHUNK)
            if not rest:
                return False
        rest += self._file.read(max(0, HEAD - len(rest)))
        if kind_of(rest) != self.kind:
            raise EOFError("there is something else behind it")
        self._unpacker, self._waiting = UNPACKERS[self.kind](), rest
        return True

    def _check(self, block: bytes) -> None:
        self._count += len(block)
        if self._text:
            self._check_text(block)
        if self._limit is not None and self._count > self._limit:
            raise too_large(self.kind, self._limit, self._path)

    def _check_text(self, block: bytes) -> None:
        """Refuse a NUL byte, unless the text begins as one that has such bytes."""
        if self._start is not None:
            start = self._start + block
            self._start = start if block and len(start) < LONGEST_MARK else None
            if self._start is not None:
                return
            charset, _ = charset_of(start[:LONGEST_MARK], self._charset)
            self._text, block = not is_wide(charset), start
        nul = block.find(b"\0") if self._text else -1
        if nul >= 0:
            line = self._line + block.count(b"\n", 0, nul)
            raise ReadError(describe_nul(block, self._named), path=self._path, line=line)
        self._line += block.count(b"\n")


def read_unpacked(
    file: IO[bytes], path: object, max_bytes: int | None = None, **how: Any
) -> tuple[bytearray, str]:
    """All bytes of an open file, and how it was packed; ``max_bytes`` None is `MAX_BYTES`.

    ``how`` is ``text``, ``charset`` and ``named``, or ``as_stored`` (see `UnpackedFile`).
    """
    unpacked = UnpackedFile(file, path, limit=limit_of(max_bytes), **how)
    data = bytearray()
    while block := unpacked.read(BLOCK):
        data += block
    return data, unpacked.kind


def limit_of(max_bytes: int | None) -> int:
    """The limit that a caller gave, or the one by default."""
    if max_bytes is None:
        return MAX_BYTES
    check_integer("max_bytes", max_bytes)
    return int(max_bytes)


class TooLargeError(ReadError):
    """A file has more bytes than are to be held at once."""


def too_large(kind: str, limit: int, path: object) -> TooLargeError:
    """The error for a file of that kind that has more bytes than the limit."""
    verb = "holds" if kind == "plain" else "unpacks to"
    fault = f"{verb} more than {describe_size(limit)}, the limit; if that is meant, "
    advice = "raise it with max_bytes= (on the command line, --max-bytes)"
    return TooLargeError(fault + advice, path=path)


def kind_of(head: bytes) -> str:
    """How a file is packed, by its first bytes.

    >>> kind_of(GZIP), kind_of(b"Ada")
    ('gzip', 'plain')
    """
    if head.startswith(GZIP):
        return "gzip"
    if head.startswith(XZ):
        return "xz"
    return "bzip2" if BZIP2.match(head) else "plain"


def damaged(kind: str, error: Exception, path: object) -> ReadError:
    """The error for packed data that cannot be unpacked."""
    if "Memory usage limit" in str(error):
        fault = f"takes more than {describe_size(MAX_DICTIONARY)} of memory to unpack"
        return ReadError(f"{fault}; pack it with a smaller dictionary, as xz -9 does", path=path)
    return ReadError(f"damaged or cut-off {kind} data ({error}); fetch the file again", path=path)


def describe_size(size: int) -> str:
    """A number of bytes; whole gibibytes and mebibytes are named as such.

    >>> describe_size(2 << 30), describe_size(1000)
    ('2 GiB', '1,000 bytes')
    """
    for name, unit in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= unit and size % unit == 0:
            return f"{size // unit:,} {name}"
    return f"{size:,} bytes"


class GzipMember:
    """One member of a gzip file, unpacked by zlib, which also looks at header and checksum."""

    def __init__(self) -> None:
        import zlib

        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        """Whether all input has been used; what zlib still holds comes with the next call."""
        return not self._inner.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        """What stands behind the member."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Some of what is unpacked, at most ``max_length`` bytes."""
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


def _xz() -> Unpacker:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY)


def _bzip2() -> Unpacker:
    import bz2

    return bz2.BZ2Decompressor()


UNPACKERS: dict[str, Callable[[], Any]] = {"gzip": GzipMember, "xz": _xz, "bzip2": _bzip2}
