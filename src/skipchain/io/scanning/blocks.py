"""A text file in blocks of whole sentences or documents, read as they are wanted.

No more of it is held than a block and what has been read behind it, however long the file is.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from skipchain.errors import ReadError
from skipchain.io.charsets import Utf8File, describe_nul
from skipchain.io.conll import is_marker
from skipchain.io.conllu import DOCUMENT as CONLLU_DOCUMENT
from skipchain.io.files import check_packed, display_path, open_binary, refuse_model
from skipchain.io.tokenizer import tokenize
from skipchain.io.unpack import UnpackedFile, describe_size, limit_of, too_large
from skipchain.memory import release_memory

CHUNK = 1 << 20  # bytes that are read at once
WINDOW = 1 << 14  # bytes in which the end of a sentence is looked for, or more if there is none
NEAR = 1 << 16  # bytes before the end of what was looked at, which more text may make a border
RELEASE = 8 << 20  # bytes of blocks after which freed memory is handed back
FAR = 3  # sentences that stand behind an end that nothing further can change


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A part of a file in UTF-8: the how manyth from 0, and the line that it begins with from 1."""

    data: bytes
    number: int
    first: int

    @property
    def text(self) -> str:
        """The block as a string."""
        return self.data.decode()

    @property
    def place(self) -> TextBlock:
        """Where it stands, without its data."""
        return TextBlock(b"", self.number, self.first)


class Borders(Protocol):
    """Where a text can be cut."""

    @property
    def unit(self) -> str:
        """What is never cut: ``sentence`` or ``document``."""

    @property
    def in_lines(self) -> bool:
        """Whether a border may stand inside a line, too."""

    def find(self, data: bytearray, begin: int, least: int, end: int) -> int:
        """The first place from ``least`` on at which what began at ``begin`` ends; −1: none yet.

        Only what stands before ``end`` is looked at.
        """


@dataclass(frozen=True, slots=True)
class PatternBorders:
    """Borders that a pattern shows, with a ``token`` on either side of each."""

    unit: str
    border: re.Pattern[bytes]
    token: re.Pattern[bytes]
    in_lines: bool = False

    def find(self, data: bytearray, begin: int, least: int, end: int) -> int:
        """See `Borders`."""
        first = _place(self.token, data, begin, end)
        if first < 0:
            return -1
        match = self.border.search(data, max(first, least), end)
        cut = -1 if match is None else match.end()
        del match  # which holds the buffer
        return cut if cut >= 0 and _place(self.token, data, cut, end) >= 0 else -1


@dataclass(frozen=True, slots=True)
class MarkerBorders:
    """Borders before lines that begin documents, and before the notes on top of them.

    A document ends at the first blank line behind its last token. ``marker`` finds lines that may
    be such; ``begins`` says of one whether it is. Notes are comments where they can be no tokens,
    and blank lines.
    """

    marker: re.Pattern[bytes]
    begins: Callable[[str], bool]
    token: re.Pattern[bytes]
    comments: bool
    unit: str = "document"
    in_lines: bool = False

    def find(self, data: bytearray, begin: int, least: int, end: int) -> int:
        """See `Borders`."""
        first = _place(self.token, data, begin, end)
        if first < 0:
            return -1
        at = start = max(first, least)
        while (marker := _place(self.marker, data, at, end)) >= 0:
            at = data.find(b"\n", marker, end) + 1
            if at == 0:
                return -1
            if self.begins(data[marker:at].decode().rstrip("\r\n")):
                cut = self._behind_blank(data, start, marker)
                if cut >= 0:
                    return cut if _place(self.token, data, cut, end) >= 0 else -1
                start = at - 1  # no line is looked at twice, however many stand between tokens
        return -1

    def _behind_blank(self, data: bytearray, start: int, marker: int) -> int:
        """Behind the first blank line of the notes that stand right before a marker, or −1."""
        cut, after = -1, marker
        while after - 1 > start:  # at the end of a line that begins behind `start`
            before = data.rfind(b"\n", start, after - 1)
            if before < 0:
                break
            line = data[before + 1 : after - 1]
            if not line.strip(b" \t\r"):
                cut = after
            elif not (self.comments and line.startswith(b"#")):
                break
            after = before + 1
        return cut


@dataclass(frozen=True, slots=True)
class SentenceBorders:
    """Borders between the sentences of running text, as the tokeniser finds them."""

    unit: str = "sentence"
    in_lines: bool = True

    def find(self, data: bytearray, begin: int, least: int, end: int) -> int:
        """See `Borders`; behind an end of a sentence some more sentences must be there to see."""
        start = _place(GAP, data, least, end)
        if start < 0:
            return -1
        size = WINDOW
        while True:
            stop = min(start + size, end)
            with memoryview(data) as view:
                text = bytes(view[start:stop]).decode(errors="ignore")
            tokens = tokenize(text)
            if len(tokens.sentences) > FAR + 2:  # the first of them began before the window
                place = int(tokens.starts[tokens.sentences[1]])
                cut = start + len(text[:place].encode())
                return cut if data[begin:cut].strip() else -1
            if stop == end:
                return -1
            size *= 2


@dataclass(frozen=True, slots=True)
class RecordBorders:
    """Borders between JSON lines: between documents, or lines of which none names a document."""

    unit: str
    in_lines: bool = False

    def find(self, data: bytearray, begin: int, least: int, end: int) -> int:
        """See `Borders`."""
        first = _place(RECORD, data, begin, end)
        if first < 0:
            return -1
        at = max(first, least)
        while (at := data.find(b"\n", at, end) + 1) > 0:
            then = _place(RECORD, data, at, end)
            stop = -1 if then < 0 else data.find(b"\n", then, end)
            if stop < 0:
                return -1
            before = data.rfind(b"\n", 0, _last_record(data, at)) + 1
            left, right = record_document(data[before:at]), record_document(data[then:stop])
            if self.unit == "sentence":
                cut = left is None and right is None
            else:
                cut = left != right or left == ALONE
            if cut:
                return at
        return -1


ALONE = "alone"
RECORD = re.compile(rb"[^\s]")
GAP = re.compile(rb"[ \n]")


def record_document(line: bytes | bytearray) -> object:
    """What document a JSON line belongs to: its id, None, or `ALONE` where it is one by itself."""
    try:
        record = json.loads(line)
        tokens = record.get("tokens")
        nested = isinstance(tokens, list) and bool(tokens) and isinstance(tokens[0], list)
        running = "text" in record and tokens is None
        linked = record.get("links") is not None
    except (ValueError, RecursionError, AttributeError):  # which reading it will tell
        return ALONE
    name = record.get("document")
    return ALONE if nested or running else None if name is None and not linked else [name]


def _last_record(data: bytearray, at: int) -> int:
    """Where the last line with something in it ends, before a place."""
    while at > 0 and data[at - 1] in b" \t\r\n":
        at -= 1
    return at


def _place(pattern: re.Pattern[bytes], data: bytearray, begin: int, end: int) -> int:
    """Where the pattern first matches, −1 where it does not."""
    match = pattern.search(data, begin, end)
    return -1 if match is None else match.start()


_TOKEN = re.compile(rb"^(?!# |-DOCSTART-)[ \t\r]*[^ \t\r\n]", re.MULTILINE)
_CONLLU_TOKEN = re.compile(rb"^(?!#)[ \t\r]*[^ \t\r\n]", re.MULTILINE)
_WORD = re.compile(rb"^[ \t\r]*[^ \t\r\n]", re.MULTILINE)
_BLANK = re.compile(rb"\n[ \t\r]*\n")
_MARKERS = {0: rb"-DOCSTART-", 2: rb"# newdoc\r?$", 3: rb"# doc ", 5: rb"# newdoc id = "}
"""Lines that begin documents, by the least number of cells that they have, if they are tokens."""
_CONLLU_MARKER = re.compile(rb"^#\s*newdoc", re.MULTILINE)


def table_documents(separator: str, width: int) -> Borders:
    """Borders between the documents of a table of so many columns.

    A comment that has as many cells is a token.
    """
    tokens = {min(width, 5)} if separator == " " else ()
    markers = b"|".join(own for cells, own in _MARKERS.items() if cells not in tokens)
    marker = re.compile(rb"^(?:" + markers + rb")", re.MULTILINE)
    return MarkerBorders(marker, is_marker, _TOKEN, comments=separator == "\t")


def _begins_conllu(line: str) -> bool:
    return CONLLU_DOCUMENT.fullmatch(line) is not None


BORDERS: dict[str, dict[str, Borders]] = {
    "conll": {"sentence": PatternBorders("sentence", _BLANK, _TOKEN)},
    "conllu": {
        "sentence": PatternBorders("sentence", _BLANK, _CONLLU_TOKEN),
        "document": MarkerBorders(_CONLLU_MARKER, _begins_conllu, _CONLLU_TOKEN, comments=True),
    },
    "jsonl": {"sentence": RecordBorders("sentence"), "document": RecordBorders("document")},
    "opennlp": {
        "sentence": PatternBorders("sentence", re.compile(rb"\n"), _WORD),
        "document": PatternBorders("document", _BLANK, _WORD),
    },
    "text": {"sentence": SentenceBorders()},
}
BORDERS["tsv"] = BORDERS["conll"]


class TextFile:
    """An open text file, of which as much is read as is wanted."""

    def __init__(
        self,
        file: IO[bytes],
        stored: UnpackedFile,
        below: IO[bytes],
        path: str | Path,
        charset: str,
        limit: int,
    ) -> None:
        self._file, self._stored, self._below = file, stored, below
        self.path = path
        self.charset = charset
        self.limit = limit
        self.data = bytearray()
        self.ended = False
        self._line = 1  # with which what has not been read begins

    def fill(self, size: int) -> bool:
        """Read until so many bytes are there; whether the file has ended before."""
        while not self.ended and len(self.data) < size:
            self._more()
        return self.ended

    def whole(self) -> bytes:
        """All that is left of the file, which must be within the limit."""
        while not self.ended and len(self.data) <= self.limit:
            self._more()
        if len(self.data) > self.limit:
            raise too_large(self._stored.kind, self.limit, self.path)
        return bytes(self.data)

    def blocks(self, borders: Borders, size: Size) -> Iterator[TextBlock]:
        """The blocks of the file, of about so many bytes as ``size`` then says.

        Memory that those before took is handed back now and then: what one thread frees is else
        kept for that thread, and of a long file all have had their turn.
        """
        begin, looked, number, first = 0, 0, 0, 1
        given = 0
        while True:
            whole = self.ended or borders.in_lines
            end = len(self.data) if whole else self.data.rfind(b"\n") + 1
            cut = borders.find(self.data, begin, max(begin + size.bytes, looked), end)
            if cut < 0 and not self.ended:
                looked = max(0, end - NEAR - begin)
                del self.data[:begin]
                begin = 0
                if len(self.data) > max(self.limit, size.bytes + CHUNK):
                    raise ReadError(self._describe_long(borders.unit), path=self.path, line=first)
                self._more()
                continue
            with memoryview(self.data) as view:
                block = bytes(view[begin : cut if cut >= 0 else None])
            yield TextBlock(block, number, first)
            given += len(block)
            if given >= RELEASE:
                release_memory()
                given = 0
            if cut < 0:
                return
            first += block.count(b"\n")
            begin, looked, number = cut, 0, number + 1

    @property
    def position(self) -> int:
        """How many bytes of the stored file have been read; 0 where nobody can tell."""
        with suppress(OSError, ValueError):
            return self._below.tell()
        return 0

    @property
    def size(self) -> int | None:
        """The bytes of the stored file, where it is one."""
        with suppress(OSError, ValueError):
            status = os.fstat(self._below.fileno())
            return status.st_size or None
        return None

    def _describe_long(self, unit: str) -> str:
        fault = f"a {unit} of more than {describe_size(self.limit)}, the limit for what is held"
        return f"{fault} at once; raise it with max_bytes= (on the command line, --max-bytes)"

    def _more(self) -> None:
        chunk = self._file.read(CHUNK)
        self.ended = not chunk
        nul = chunk.find(b"\0")
        if nul >= 0:
            line = self._line + chunk.count(b"\n", 0, nul)
            raise ReadError(describe_nul(chunk, named=True), path=self.path, line=line)
        self._line += chunk.count(b"\n")
        self.data += chunk


@dataclass(slots=True)
class Size:
    """How many bytes a block has at least, which may change as blocks are read."""

    bytes: int


@contextmanager
def open_text(
    path: str | Path, charset: str | None = None, max_bytes: int | None = None
) -> Iterator[TextFile]:
    """A text file, or stdin, unpacked and in UTF-8 without a mark, whatever it was."""
    limit, shown = limit_of(max_bytes), display_path(path)
    with open_binary(path) as below:
        refuse_model(below, path)
        stored = UnpackedFile(below, shown, text=True, charset=charset, named=True)
        recoded = Utf8File(io.BufferedReader(stored, CHUNK), shown, charset=charset, named=True)
        buffered = io.BufferedReader(recoded, CHUNK)
        file = TextFile(buffered, stored, below, shown, recoded.charset, limit)
        file.fill(1)
        if file.data:
            check_packed(stored.kind, path)
        yield file
