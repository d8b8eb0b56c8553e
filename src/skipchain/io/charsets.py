"""The character sets of texts: the one that is named, the one that a mark shows, else UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO, TYPE_CHECKING

from skipchain.errors import ParameterError, ReadError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

UTF8 = "utf-8"
# A text cannot begin with NUL, so what looks like the mark of UTF-32 is not that of UTF-16.
MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
LONGEST_MARK = 4
WIDE = ("utf-16", "utf-32")  # in these, characters have bytes that are NUL
# Codecs of Python that make strings of bytes, but are no character sets of files.
NO_CHARSETS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
BLOCK = 1 << 16
SHOWN = 4096  # bytes that are looked at for advice
NAME_IT = "name the right one with charset= (on the command line, such as --charset latin-1)"


def check_charset(name: str) -> str:
    """The canonical name of a character set; what is none of Python's text encodings is an error.

    >>> check_charset("Latin1"), check_charset("UTF8"), check_charset("windows-1252")
    ('iso8859-1', 'utf-8', 'cp1252')
    >>> check_charset("rot13")
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: 'rot13' is no character set; name one that Python knows, such \
as utf-8, latin-1, cp1252, utf-16, shift-jis or gb18030
    """
    try:
        found = codecs.lookup(name)
        known = found._is_text_encoding  # what bytes.decode asks, too
    except (LookupError, ValueError, TypeError):  # ValueError: a NUL, half a character
        known = False
    if not known or found.name.replace("_", "-") in NO_CHARSETS:
        there = "utf-8, latin-1, cp1252, utf-16, shift-jis or gb18030"
        fault = f"{name!r} is no character set; name one that Python knows, such as {there}"
        raise ParameterError(fault)
    return UTF8 if found.name == "utf-8-sig" else found.name


def charset_of(head: bytes | bytearray, charset: str | None = None) -> tuple[str, int]:
    """The character set of a text that begins so, and how many bytes of it are a byte-order mark.

    A mark counts more than the ``charset`` that is named; without either it is UTF-8.

    >>> charset_of("Ada".encode("utf-16")), charset_of(b"Ada", "latin-1"), charset_of(b"")
    (('utf-16-le', 2), ('iso8859-1', 0), ('utf-8', 0))
    """
    named = UTF8 if charset is None else check_charset(charset)
    for mark, marked in MARKS:
        if head.startswith(mark):
            return marked, len(mark)
    return named, 0


def is_wide(charset: str) -> bool:
    """Whether the characters of a text have bytes that are NUL."""
    return charset.startswith(WIDE)


def decode_text(
    data: bytes | bytearray,
    path: object,
    first: int = 1,
    *,
    charset: str | None = None,
    named: bool = False,
) -> str:
    """The text that bytes spell; the first byte that spells nothing gives a `ReadError`.

    The charset is that of `charset_of`; ``named`` tells that whoever reads may name it, which the
    advice then says. ``first`` is the number of the line that the bytes begin with.

    >>> decode_text("Zoë".encode("utf-16"), "a.txt")
    'Zoë'
    """
    name, size = charset_of(data[:LONGEST_MARK], charset)
    if size:
        data = data[size:]
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(name, "replace").count("\n") + first
        raise ReadError(describe_bytes(error, name, named), path=path, line=line) from None
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + first
        raise ReadError(describe_nul(data, named), path=path, line=line)
    return text


def describe_bytes(error: UnicodeDecodeError, charset: str, named: bool) -> str:
    """The error text for bytes that are no text in a character set, with what may help."""
    rest = error.object[error.start :][:SHOWN]
    fault = f"invalid {charset.upper()} byte 0x{rest[0]:02x}"
    other = "cp1252" if any(0x80 <= byte < 0xA0 for byte in rest) else "latin-1"
    if charset != UTF8:
        return f"{fault}; {NAME_IT}"
    if named:
        return f"{fault}; is the file {other}? say so with charset= (--charset {other})"
    for_iconv = {"latin-1": "iso-8859-1"}.get(other, other)
    return f"{fault}; is the file {other}? convert it: iconv -f {for_iconv} -t utf-8"


def describe_nul(data: bytes | bytearray, named: bool) -> str:
    """The error text for NUL in a text, with the advice for a text in UTF-16 without its mark."""
    fault = "a NUL byte; is this a text file?"
    even, odd = data[0:SHOWN:2].count(0), data[1:SHOWN:2].count(0)
    if named and min(even, odd) == 0 and max(even, odd) >= 2:
        other = "utf-16-le" if odd else "utf-16-be"
        fault += f" if it is UTF-16, say so with charset= (--charset {other})"
    return fault


class Utf8File(io.RawIOBase):
    """A file in any character set as one in UTF-8: its bytes, without a mark.

    ``named`` is as for `decode_text`.

    >>> file = Utf8File(io.BytesIO("Zoë".encode("utf-16")), "a.txt")
    >>> file.readall()
    b'Zo\\xc3\\xab'
    """

    def __init__(
        self, file: IO[bytes], path: object, *, charset: str | None = None, named: bool = False
    ) -> None:
        self._file = file
        self._path = path
        self._named = named
        head = file.read(LONGEST_MARK)
        self.charset, size = charset_of(head, charset)
        self._decoder = codecs.getincrementaldecoder(self.charset)()
        self._read = head[size:]
        self._waiting = b""
        self._line = 1
        self._end = False

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer, or a part of it; 0 at the end."""
        while not self._waiting and not self._end:
            block = self._read or self._file.read(BLOCK)
            self._read, self._end = b"", not block
            self._waiting = self._recode(block)
        view = memoryview(buffer)
        block, self._waiting = self._waiting[: len(view)], self._waiting[len(view) :]
        view[: len(block)] = block
        return len(block)

    def _recode(self, block: bytes) -> bytes:
        """A block in UTF-8; a character may be cut by its end."""
        try:
            text = self._decoder.decode(block, final=self._end)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(self.charset, "replace")
            line = self._line + before.count("\n")
            fault = describe_bytes(error, self.charset, self._named)
            raise ReadError(fault, path=self._path, line=line) from None
        self._line += text.count("\n")
        return text.encode()
