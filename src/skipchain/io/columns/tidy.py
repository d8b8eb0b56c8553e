"""Column files without anything unusual in them, tagged as the bytes that they are.

What is written is what reading the file as a corpus, labelling it and writing it gives. A text that
is not tidy (see `skipchain.kernels.column_text`) is left to that way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.io.columns.doubts import LONGEST
from skipchain.io.columns.layout import DOCUMENT as DOCUMENT_COLUMN
from skipchain.io.columns.layout import (
    SENTENCE,
    default_names,
    given_names,
    may_differ,
    named_cells,
)
from skipchain.io.conll import COMMENT, DOCSTART, IGNORED, MAX_COLUMNS, parse_rows
from skipchain.kernels.column_text import HASH, UNTIDY, scan_lines, write_lines

BLOCK = 1 << 18  # bytes
DOCUMENT_BLOCKS = 8  # into which a file of documents is cut, or into more that are not too large
LARGEST_BLOCK = 1 << 20
DOCUMENT = b"\n" + DOCSTART.encode()  # how a document begins that is not the first
MARKER = np.frombuffer(DOCSTART.encode(), np.uint8)
Bytes = NDArray[np.uint8]
Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TidyColumns:
    """How the lines of a file are cut: at ``separator``, into the columns of these names."""

    separator: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, data: bytes, columns: Sequence[str] | None = None) -> TidyColumns | None:
        """The columns of a file, named or by default; None where it is not tidy.

        >>> TidyColumns.of(b"Ada B-PER\\nslept O\\n")
        TidyColumns(separator=' ', names=('word', 'label'))
        >>> TidyColumns.of(b"# newdoc\\nAda B-PER\\n") is None
        True
        """
        if has_other_ends(data):
            return None
        head = _head(data)
        separator = "\t" if b"\t" in head else " "
        cells = head.decode(errors="replace").split(separator)
        width = len(cells)
        # One long sentence, a header, an index, a comment: what these mean is for the reader.
        single = len(data) > 2 * LONGEST and data.find(b"\n\n", 0, len(data) - 2) < 0
        doubtful = may_differ(cells) if columns is None else named_cells(cells) is not None
        if single or doubtful or head.startswith(COMMENT.encode()):
            return None
        names = default_names(width) if columns is None else given_names(columns)
        if not head or len(names) != width or width > MAX_COLUMNS:
            return None
        if (
            WORD not in names
            or {IGNORED, SENTENCE, DOCUMENT_COLUMN} & {*names}
            or len(set(names)) < width
        ):
            return None
        if LABEL in names[:-1] or (LABEL not in names and DOCSTART.encode() in data):
            return None  # columns, or the cells of markers, would change
        return cls(separator, names)

    @property
    def labelled(self) -> bool:
        """Whether the last column has labels."""
        return self.names[-1] == LABEL

    def fits(self, data: bytes) -> bool:
        """Whether a further block may be tidy, too: `scan` looks at its lines.

        A line that looks like a comment has the cells of a token, or is none and makes it untidy.
        """
        marked = not self.labelled and DOCSTART.encode() in data
        return not (marked or has_other_ends(data))

    def corpus(self, data: bytes, path: object = None) -> Corpus:
        """The corpus of a block of whole lines, without labels."""
        names = [IGNORED if name == LABEL else name for name in self.names]
        return parse_rows(data.decode(), path, columns=names, separator=self.separator, block=True)

    def scan(self, data: bytes, wanted: Sequence[str]) -> TidyBlock | None:
        """The tokens of a block of whole lines, with the cells of some columns; None if untidy."""
        if not data.endswith(b"\n"):
            return None
        try:
            data.isascii() or data.decode()
        except UnicodeDecodeError:
            return None
        text = np.frombuffer(data, np.uint8)
        room = data.count(b"\n")
        places = np.array([self.names.index(name) for name in wanted], np.int64)
        order = np.argsort(places)
        starts = np.empty((len(wanted), room), np.int32)
        ends, lines = np.empty_like(starts), np.empty((room, 3), np.int32)
        sentences = np.empty(room + 1, np.int64)
        tokens, count = scan_lines(
            text,
            ord(self.separator),
            len(self.names),
            MARKER,
            places[order],
            starts,
            ends,
            lines,
            sentences,
        )
        if tokens == UNTIDY:
            return None
        lines = lines[:tokens]
        if tokens and (text[lines[:, 0]] == HASH).all():  # lines may look like comments
            return None
        rank = np.argsort(order)
        return TidyBlock(
            text,
            lines,
            sentences[: count + 1],
            starts[rank, :tokens],
            ends[rank, :tokens],
            self.labelled,
        )


@dataclass(frozen=True, slots=True)
class TidyBlock:
    """Some lines of a file: where tokens [N], sentences [M + 1] and cells [C, N] lie."""

    text: Bytes
    lines: Codes
    sentences: Ints
    starts: Codes
    ends: Codes
    labelled: bool

    @property
    def documents(self) -> set[int]:
        """The tokens before which markers stand; N for markers that no token follows."""
        data, places, at = b"\n" + self.text.tobytes(), [], -1
        while (at := data.find(DOCUMENT, at + 1)) >= 0:
            if data[at + len(DOCUMENT) : at + len(DOCUMENT) + 1] in (b" ", b"\t", b"\n"):
                places.append(at)
        return set(np.searchsorted(self.lines[:, 0], places).tolist())

    def with_labels(self, codes: Codes, labels: Sequence[str]) -> bytes:
        """The lines with a label for each token, in place of those that they have."""
        names = [label.encode() for label in labels]
        size = len(self.text) + len(codes) * (1 + max(map(len, names), default=0))
        out = np.empty(size, np.uint8)
        written = write_lines(
            self.text,
            self.lines,
            not self.labelled,
            codes,
            np.frombuffer(b"".join(names), np.uint8),
            offsets_of(map(len, names)),
            out,
        )
        return out[:written].tobytes()


def closed(data: bytes) -> bytes:
    """A file whose last line ends, with a blank line behind its last sentence, as it is written.

    >>> closed(b"Ada O"), closed(b"Ada O\\n\\n\\n")
    (b'Ada O\\n\\n', b'Ada O\\n\\n\\n')
    """
    if not data.endswith(b"\n"):
        data += b"\n"
    last = data.rfind(b"\n", 0, -1) + 1
    cells = data[last:].split(maxsplit=1)
    return data if not cells or cells[0] == DOCSTART.encode() else data + b"\n"


def cut(data: bytes, size: int | None = None) -> Iterator[bytes]:
    """Blocks of about ``size`` bytes, by default `BLOCK`, that end behind a blank line.

    >>> list(cut(b"a\\nb\\n\\nc\\n\\nd\\n\\n", 3))
    [b'a\\nb\\n\\n', b'c\\n\\nd\\n\\n']
    """
    return _cut_behind(data, b"\n\n", size or BLOCK)


def cut_documents(data: bytes, size: int | None = None) -> Iterator[bytes]:
    """Blocks of about ``size`` bytes that end before the marker of a document.

    By default they are few: what is known of words and names is gathered anew in each.

    >>> list(cut_documents(b"a\\n\\n-DOCSTART-\\n\\nb\\n\\n", 1))
    [b'a\\n\\n', b'-DOCSTART-\\n\\nb\\n\\n']
    """
    few = min(max(BLOCK, len(data) // DOCUMENT_BLOCKS), LARGEST_BLOCK)
    return _cut_behind(data, DOCUMENT, size or few, kept=1)


def has_other_ends(data: bytes) -> bool:
    """Whether there are bytes that end lines, or text, in another way than a tidy file's do."""
    return b"\r" in data or b"\0" in data


def has_documents(data: bytes) -> bool:
    """Whether markers cut a file into documents."""
    return DOCUMENT in data


def _cut_behind(data: bytes, border: bytes, size: int, kept: int = 2) -> Iterator[bytes]:
    """Blocks of at least ``size`` bytes, each with the first ``kept`` bytes of the border."""
    begin = 0
    while begin < len(data):
        found = data.find(border, begin + size)
        end = len(data) if found < 0 else found + kept
        yield data[begin:end]
        begin = end


def _head(data: bytes) -> bytes:
    """The first line of a token."""
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin)
        line = data[begin : end if end >= 0 else len(data)]
        if line.strip(b" \t") and not line.startswith(DOCSTART.encode()):
            return line
        begin += len(line) + 1
    return b""
