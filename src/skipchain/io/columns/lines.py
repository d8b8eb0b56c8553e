"""The lines of a column file as byte positions, and the corpus that they lay out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Ints
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import Corpus
from skipchain.io.columns.layout import DOCUMENT, SENTENCE
from skipchain.io.columns.slices import PADDING, encode_slices
from skipchain.watching import counted

SPACE, TAB, NEWLINE = 32, 9, 10
Marker = tuple[int, str | None]  # a line that begins a document, and its name


def unix_lines(text: str) -> str:
    """A text whose lines end in LF; those of old Macs end in CR, and in nothing else.

    >>> unix_lines("a\\r\\nb\\rc\\n"), unix_lines("a\\rb\\r")
    ('a\\nb\\rc\\n', 'a\\nb\\n')
    """
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """The bytes of a text, and where each of its L lines starts and ends, ``int64 [L]``.

    >>> lines = Lines.of("a b\\r\\n\\nc")
    >>> lines[0], lines[1], lines[2], len(lines)
    ('a b', '', 'c', 3)
    """

    data: bytes  # with padding
    array: NDArray[np.uint8]  # without
    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, text: str) -> Lines:
        """The lines of a text that end in LF or CRLF, or all in CR."""
        text = unix_lines(text)
        data = (text if text.endswith("\n") else text + "\n").encode() + PADDING
        array = np.frombuffer(data, np.uint8)[: -len(PADDING)]
        ends = np.flatnonzero(array == NEWLINE)
        return cls(data, array, np.append(0, ends[:-1] + 1), ends)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, line: int) -> str:
        return self.data[self.starts[line] : self.ends[line]].decode()

    def beginning(self, prefix: bytes) -> list[int]:
        """The lines that begin with the prefix."""
        places = [0] if self.data.startswith(prefix) else []
        at = -1
        while (at := self.data.find(b"\n" + prefix, at + 1)) >= 0:
            places.append(at + 1)
        lines: list[int] = np.searchsorted(self.starts, places).tolist()
        return lines

    def documents(self, pattern: re.Pattern[str], among: Sequence[int]) -> list[Marker]:
        """The lines that match a comment which begins a document, with its name."""
        matches = ((line, pattern.fullmatch(self[line])) for line in among)
        return [(line, next(filter(None, m.groups()), None)) for line, m in matches if m]


@dataclass(frozen=True, slots=True)
class Cells:
    """Where the cells of all lines start and end, and how many each line has, ``int64 [L]``.

    A line without anything but spaces and tabs is blank and has none.
    """

    starts: Ints
    ends: Ints
    counts: Ints

    @classmethod
    def of(cls, lines: Lines, separator: str) -> Cells:
        """Cut at each tab, or at runs of spaces and tabs."""
        return cut_at_tabs(lines) if separator == "\t" else cut_at_spaces(lines)

    def columns(self, data: bytes, token: Bools, width: int) -> list[Column]:
        """The columns of the lines that are tokens; each of these has ``width`` cells."""
        starts, ends = self.starts, self.ends
        if not token[self.counts > 0].all():
            keep = np.repeat(token, self.counts)
            starts, ends = starts[keep], ends[keep]
        places = counted(range(width), width)
        return [encode_slices(data, starts[k::width], ends[k::width]) for k in places]


def cut_at_spaces(lines: Lines) -> Cells:
    """Cells between runs of spaces and tabs."""
    gap = gaps(lines.array)
    edges = np.flatnonzero(gap[1:] != gap[:-1]) + 1
    if not gap[0]:
        edges = np.append(0, edges)
    starts, ends = edges[0::2], edges[1::2]
    counts = np.diff(np.searchsorted(starts, lines.ends), prepend=0)
    return Cells(starts, ends, counts)


def cut_at_tabs(lines: Lines) -> Cells:
    """Cells between single tabs; they may be empty and may hold spaces."""
    ends = np.flatnonzero((lines.array == TAB) | (lines.array == NEWLINE))
    starts = np.append(0, ends[:-1] + 1)
    counts = np.diff(np.flatnonzero(lines.array[ends] == NEWLINE), prepend=-1)
    blank = ~np.logical_or.reduceat(~gaps(lines.array), lines.starts)
    keep = np.repeat(~blank, counts)
    return Cells(starts[keep], ends[keep], np.where(blank, 0, counts))


def gaps(array: NDArray[np.uint8]) -> Bools:
    """Which bytes are spaces, tabs and line ends."""
    gap: Bools = (array == SPACE) | (array == TAB) | (array == NEWLINE)
    return gap


@dataclass(frozen=True, slots=True)
class LineRoles:
    """The role of each line of a column file: ``token`` and ``blank`` are ``bool [L]``.

    ``markers`` are the lines that begin a document, with its name or None; ``kept_lines`` are the
    lines that go to the notes; a blank line behind one of ``tail_lines`` is no plain end of a
    sentence. A sentence begins at each of ``first_lines``, too.
    """

    lines: Lines
    token: Bools
    blank: Bools
    markers: Sequence[Marker]
    kept_lines: Sequence[int]
    tail_lines: Sequence[int] = ()
    first_lines: Sequence[int] = ()

    def without_header(self) -> LineRoles:
        """The first token line is the header, and goes to the notes."""
        token = self.token.copy()
        header = int(token.argmax())
        token[header] = False
        return replace(self, token=token, kept_lines=[*self.kept_lines, header])

    def cut_by(self, columns: Mapping[str, Column]) -> LineRoles:
        """Cut into sentences and documents by the columns that number or name them.

        A value that is empty is that of the token before.
        """
        roles, tokens = self, np.flatnonzero(self.token)
        if SENTENCE in columns:
            places = changes(columns[SENTENCE])
            roles = replace(roles, first_lines=tokens[places].tolist())
        if DOCUMENT in columns:
            column = columns[DOCUMENT]
            places = changes(column)
            names = column.take(places).tolist()
            markers = zip(tokens[places].tolist(), (name or None for name in names), strict=True)
            roles = replace(roles, markers=sorted([*roles.markers, *markers], key=itemgetter(0)))
        return roles

    def corpus(self, columns: dict[str, Column]) -> Corpus:
        """The corpus with these columns over the token lines."""
        tokens = np.flatnonzero(self.token)
        sentences = self.sentences(tokens)
        documents, names = self.documents(tokens, sentences)
        return Corpus(columns, sentences, documents, names=names, notes=self.notes(tokens))

    def sentences(self, tokens: Ints) -> Ints:
        """Sentence offsets: blank lines and markers stand between sentences."""
        breaks = self.blank.copy()
        breaks[list(self.first_lines)] = True
        breaks[[line for line, _ in self.markers]] = True
        passed = np.cumsum(breaks)[tokens]
        firsts = np.flatnonzero(np.diff(passed, prepend=-1))
        return np.append(firsts, len(tokens))

    def documents(self, tokens: Ints, sentences: Ints) -> tuple[Ints, tuple[str, ...] | None]:
        """Document offsets and names; markers without a token behind them make no document."""
        places = np.searchsorted(tokens, [line for line, _ in self.markers]).tolist()
        names: dict[int, str] = {0: ""}
        for place, (_, name) in zip(places, self.markers, strict=True):
            names[place] = name or names.get(place, "")
        names.pop(len(tokens), None)
        offsets = np.append(np.searchsorted(sentences, list(names)), len(sentences) - 1)
        return offsets, tuple(names.values()) if any(names.values()) else None

    def notes(self, tokens: Ints) -> dict[int, tuple[str, ...]]:
        """The raw lines to keep, by the token they stand before."""
        lines = np.union1d(np.array(self.kept_lines, np.int64), self.extra_blank_lines())
        before = np.searchsorted(tokens, lines).tolist()
        notes: dict[int, list[str]] = {}
        for line, token in zip(lines.tolist(), before, strict=True):
            notes.setdefault(token, []).append("" if self.blank[line] else self.lines[line])
        return {token: tuple(texts) for token, texts in notes.items()}

    def extra_blank_lines(self) -> Ints:
        """The blank lines that do not come first behind a token."""
        ends = self.token | self.blank
        ends[list(self.tail_lines)] = True
        places = np.flatnonzero(ends)
        after_token = np.append(False, self.token[places[:-1]])
        extra: Ints = places[self.blank[places] & ~after_token]
        return extra


def changes(column: Column) -> Ints:
    """The tokens whose value is another than that of the token before; no value is no other.

    >>> changes(Column.encode(["a", "", "a", "b", ""])).tolist()
    [0, 3]
    """
    empty = np.array([not value.strip() for value in column.values], bool)[column.codes]
    filled = np.maximum.accumulate(np.where(empty, 0, np.arange(len(column))))
    found: Ints = np.flatnonzero(np.diff(column.codes[filled], prepend=-1))
    return found


def join_rows(rows: list[str], notes: dict[int, tuple[str, ...]]) -> str:
    """The lines of a file: the row of each token, behind the notes that stand before it."""
    last = notes.pop(len(rows), ())
    for token, remarks in notes.items():
        rows[token] = "\n".join((*remarks, rows[token]))
    return "\n".join([*rows, *last, ""])
