"""Word vectors, as word2vec and GloVe write them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus.column import Column, frozen
from skipchain.corpus.corpus import Corpus
from skipchain.errors import ReadError
from skipchain.features.strings import StringTable
from skipchain.features.template import MISSING
from skipchain.io.files import display_path, read_content
from skipchain.resources.clusters import UNKNOWN, look_up

BATCH = 20_000  # lines that are read at once
MAX_BYTES = 32 << 30  # vectors are often larger than any corpus


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """W numbers for each of V words.

    >>> vectors = Vectors.of({"cat": [0.5, -1.0], "dog": [0.25, -2.0]})
    >>> vectors["dog"].tolist(), vectors["bird"], vectors.width
    ([0.25, -2.0], None, 2)
    >>> vectors.column(Corpus.of([["the", "cat"]])).tolist()
    ['_', '0.5 -1.0']
    """

    words: StringTable
    table: NDArray[np.float32]  # [V, W]

    @classmethod
    def of(cls, vectors: dict[str, list[float]]) -> Vectors:
        """The vectors of words, all of one width."""
        return cls(StringTable.of(list(vectors)), np.array(list(vectors.values()), np.float32))

    @classmethod
    def read(cls, path: str | Path) -> Vectors:
        """Read a text file: a word a line, then its numbers, with spaces between them.

        A first line ``count width``, as word2vec writes it, is checked against what follows. Of a
        line with more fields than numbers the first ones are the word. ``.gz`` and ``.xz`` are
        unpacked. Lines of another width, what is no finite number, and a word that comes again give
        a `ReadError` with the line.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "a.txt").write_text("2 3\\ncat 1 0.5 -2\\ndog 0 1e-3 4\\n")
        ...     Vectors.read(folder + "/a.txt")["dog"].tolist()
        [0.0, 0.0010000000474974513, 4.0]
        """
        from skipchain.features.numbers import NotANumber, parse_numbers

        shown = display_path(path)
        lines = read_content(path, MAX_BYTES).removesuffix("\n").split("\n")
        header = _header(lines)
        begin = 0 if header is None else 1
        count = len(lines) - begin
        if header is not None and header[0] != count:
            fault = f"the first line promises {header[0]:,} vectors, but {count:,} follow"
            raise ReadError(f"{fault}; is the file cut off?", path=shown)
        width = len(lines[0].split()) - 1 if header is None else header[1]
        if width < 1:
            raise ReadError("no numbers behind the word", path=shown, line=begin + 1)
        if 2 * count * width > sum(map(len, lines)):  # a number takes two characters at least
            for number, line in enumerate(lines[begin:], begin + 1):
                _cut(line, width, shown, number)  # some line is too short, and no table is made
        table = np.empty((count, width), np.float32)
        seen: dict[str, int] = {}
        for first in range(begin, len(lines), BATCH):
            cells = []
            for number, line in enumerate(lines[first : first + BATCH], first + 1):
                word, cell = _cut(line, width, shown, number)
                if seen.setdefault(word, number) != number:
                    fault = f"the word {word!r} comes again, after line {seen[word]}"
                    raise ReadError(fault, path=shown, line=number)
                cells.append(cell)
            try:
                numbers, present = parse_numbers(cells, several=True, width=width)
            except NotANumber as error:
                raise ReadError(str(error), path=shown, line=first + 1 + error.place) from None
            if not present.all():
                k = int(np.argmin(present))
                raise ReadError(f"{cells[k]!r} is no number", path=shown, line=first + 1 + k)
            with np.errstate(over="ignore"):
                table[first - begin : first - begin + len(cells)] = numbers
        large = np.flatnonzero(~np.isfinite(table).all(axis=1))
        if len(large):
            place = int(large[0]) + begin + 1
            raise ReadError("a number too large for single precision", path=shown, line=place)
        return cls(StringTable.of(list(seen)), table)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def width(self) -> int:
        """The number of dimensions of a vector."""
        return int(self.table.shape[1])

    def __getitem__(self, word: str) -> NDArray[np.float32] | None:
        """The vector of a word; None where it is not known."""
        number = self.words.find([word])[0]
        return None if number < 0 else self.table[number]

    def column(self, corpus: Corpus, *, lower: bool = False) -> Column:
        """The vectors of a corpus' words as the view ``vector`` reads them; ``_`` where unknown.

        With ``lower`` a word that is not known is looked up in lower case. Only the words that the
        corpus has become text, each number with as many digits as make it unique.
        """
        number = look_up(self.words, corpus.words.values, lower=lower)
        used, place = np.unique(number[number >= 0], return_inverse=True)
        cell = np.full(len(number), len(used), np.int32)
        cell[number >= 0] = place
        texts = (" ".join(map(str, self.table[row])) for row in used.tolist())
        return Column(frozen(cell[corpus.words.codes]), (*texts, UNKNOWN))


def _header(lines: list[str]) -> tuple[int, int] | None:
    """The count and the width that the first line promises, where it is no vector itself."""
    fields = lines[0].split()
    numbers = (field.isascii() and field.isdigit() and len(field) < 19 for field in fields)
    if len(fields) != 2 or not all(numbers):
        return None
    if len(lines) > 1 and len(lines[1].split()) == 2 != int(fields[1]) + 1:
        return None  # vectors of one number, and the first word is a number, too
    return int(fields[0]), int(fields[1])


def _cut(line: str, width: int, path: object, number: int) -> tuple[str, str]:
    """The word of a line and its numbers."""
    fields = line.strip(" \t\r").replace("\t", " ").rsplit(" ", width)
    if len(fields) != width + 1 or not fields[0].strip() or MISSING[0] in fields:
        count = len(line.split()) - 1
        got = "an empty line" if count < 0 else f"{count} numbers"
        raise ReadError(f"{got}, wanted a word and {width} numbers", path=path, line=number)
    return fields[0], " ".join(fields[1:])
