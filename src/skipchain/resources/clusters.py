"""Word clusters as paths in a binary tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.column import Column, frozen
from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError, ReadError
from skipchain.features.strings import StringTable, TextSlices
from skipchain.features.template import MISSING
from skipchain.io.files import atomic_write, display_path, read_content

UNKNOWN = MISSING[-1]  # the cell of a word that is not known
BINARY_DIGITS = frozenset("01")
FORBIDDEN_CHARACTERS = frozenset("\t\n")


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The cluster of each of V words: a string of bits, the way to it from the root of a tree.

    Clusters whose paths begin alike are alike, so the first few bits are coarser clusters. All is
    kept in arrays: word v belongs to ``paths[path[v]]`` and was seen ``counts[v]`` times.

    >>> clusters = Clusters.of({"the": "00", "a": "00", "cat": "01"})
    >>> clusters["the"], clusters["dog"], len(clusters), len(clusters.paths)
    ('00', None, 3, 2)
    >>> clusters.column(Corpus.of([["a", "cat", "slept"]])).tolist()
    ['00', '01', '_']
    """

    words: StringTable
    paths: StringTable
    path: NDArray[np.int32]  # [V]
    counts: Ints  # [V]

    @classmethod
    def of(cls, paths: dict[str, str], counts: dict[str, int] | None = None) -> Clusters:
        """The clusters of words; words without a count have 0."""
        column = Column.encode(list(paths.values()))
        known = counts or {}
        return cls(
            StringTable.of(list(paths)),
            StringTable.of(column.values),
            column.codes,
            np.fromiter((known.get(word, 0) for word in paths), np.int64, len(paths)),
        )

    @classmethod
    def read(cls, path: str | Path) -> Clusters:
        """Read the usual form: a word a line, as bits, word and count with tabs between them.

        ``.gz`` and ``.xz`` are unpacked. A line that is not of this form, and a word that comes
        again, give a `ReadError` with the line.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Clusters.of({"the": "00", "cat": "01"}, {"the": 7}).write(folder + "/paths.txt")
        ...     Clusters.read(folder + "/paths.txt")["cat"]
        '01'
        """
        shown = display_path(path)
        lines = read_content(path).removesuffix("\n").split("\n")
        paths: dict[str, str] = {}
        counts: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            fields = line.removesuffix("\r").split("\t")
            fault = _describe_fault(fields, paths)
            if fault:
                raise ReadError(fault, path=shown, line=number)
            bits, word, count = fields
            paths[word] = bits
            counts[word] = int(count)
        return cls.of(paths, counts)

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the usual form, sorted by path and then by count; packed for ``.gz``, ``.xz``."""
        words, paths = self.words.tolist(), self.paths.tolist()
        wrong = next((w for w in words if not w or not FORBIDDEN_CHARACTERS.isdisjoint(w)), None)
        if wrong is not None:
            raise CorpusError(f"the word {wrong!r} cannot be written: it is empty or holds a tab")
        rows = zip(self.path.tolist(), words, self.counts.tolist(), strict=True)
        ordered = sorted(rows, key=lambda row: (paths[row[0]], -row[2], row[1]))
        with atomic_write(path, overwrite=overwrite) as file:
            file.writelines(f"{paths[k]}\t{word}\t{count}\n" for k, word, count in ordered)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> str | None:
        """The path of a word; None where it is not known."""
        number = self.words.find([word])[0]
        return None if number < 0 else self.paths[int(self.path[number])]

    def column(self, corpus: Corpus, *, lower: bool = False) -> Column:
        """The paths of a corpus' words as a column; ``_`` where a word is not known.

        With ``lower`` a word that is not known is looked up in lower case.
        """
        number = look_up(self.words, corpus.words.values, lower=lower)
        known = np.append(self.path, np.int32(len(self.paths)))[number]
        return Column(frozen(known[corpus.words.codes]), (*self.paths.tolist(), UNKNOWN))


def look_up(words: StringTable, values: tuple[str, ...], *, lower: bool) -> Ints:
    """The number of each value among the words; −1 where it is not there."""
    number, _ = words.number(TextSlices.of(values))
    number = np.where(number < len(words), number, -1)
    if lower:
        left = np.flatnonzero(number < 0)
        lowered = tuple(values[k].lower() for k in left.tolist())
        number[left] = look_up(words, lowered, lower=False) if lowered else number[left]
    return number.astype(np.int64)


def _describe_fault(fields: list[str], seen: dict[str, str]) -> str:
    """What is wrong with a line; empty where it is right."""
    fault = ""
    if fields == [""]:
        fault = "an empty line"
    elif len(fields) != 3:
        fault = f"{len(fields)} {'field' if len(fields) == 1 else 'fields'}"
    elif not fields[0] or not BINARY_DIGITS.issuperset(fields[0]):
        fault = f"{fields[0]!r} is no string of the bits 0 and 1"
    elif not fields[1]:
        fault = "there is no word"
    elif fields[1] in seen:
        return f"the word {fields[1]!r} comes again; each word has one line"
    elif not (fields[2].isascii() and fields[2].isdigit() and len(fields[2]) < 19):
        fault = f"{fields[2]!r} is no count"
    return fault and f"{fault}; wanted bits, word and count with tabs between them"
