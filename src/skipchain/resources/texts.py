"""Texts that are counted: files of any size in blocks, or in parts that several workers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.errors import ParameterError
from skipchain.io.charsets import check_charset
from skipchain.io.files import STDIO, check_text
from skipchain.io.formats import check_readable, format_of_path, is_folder, read
from skipchain.io.scanning.blocks import BORDERS, Borders, Size, TextFile, open_text
from skipchain.io.scanning.scan import HEAD, BlockReader, format_of_head, parse_whole

BLOCK = 4 << 20  # bytes that are counted at once
PATIENCE = 16 << 20  # bytes without an end of a sentence, before a line will do
LINES = BORDERS["opennlp"]["sentence"]
PART = 8 << 20  # bytes that are worth a part of their own


@dataclass(frozen=True, slots=True)
class TextSource:
    """A file to count, how it is read, and which part of it: every ``of``-th block from ``part``.

    ``tokenised`` text has a sentence a line, with spaces between the words. The other options are
    those of `skipchain.read`; of ``max_bytes``, no more is held at once.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     _ = path.write_text("the cat slept\\na dog ran\\n")
    ...     [corpus] = TextSource(path, tokenised=True).corpora()
    >>> [sentence.words for sentence in corpus]
    [['the', 'cat', 'slept'], ['a', 'dog', 'ran']]
    """

    path: str | Path
    format: str | None = None
    columns: tuple[str, ...] | None = None
    charset: str | None = None
    max_bytes: int | None = None
    tokenised: bool = False
    labels: bool = True
    """whether anything but words and columns is wanted"""
    part: int = 0
    of: int = 1

    def corpora(self) -> Iterator[Corpus]:
        """The blocks of the part, each as a corpus; no more than a block is held."""
        if self.charset is not None:
            check_charset(self.charset)
        if self.tokenised:
            if self.format is not None or self.columns is not None:
                raise ParameterError("texts that are tokenised have neither a format nor columns")
            return self._lines()
        return self._blocks()

    def _lines(self) -> Iterator[Corpus]:
        empty = True
        with open_text(self.path, self.charset, self.max_bytes) as file:
            for block in file.blocks(LINES, Size(BLOCK)):
                empty = empty and not block.data.strip()
                if block.number % self.of == self.part and block.data.strip():
                    lines = map(str.split, block.text.split("\n"))
                    yield Corpus.of([line for line in lines if line])
            check_text("" if empty else "words", file.path)

    def _blocks(self) -> Iterator[Corpus]:
        format = self.format or format_of_path(self.path)
        options: dict[str, Any] = {} if self.columns is None else {"columns": self.columns}
        how: dict[str, Any] = {"charset": self.charset, "max_bytes": self.max_bytes}
        scheme = None if self.labels else NO_SCHEME
        if format is not None and is_folder(format):
            if self.part == 0:
                yield read(self.path, format, scheme=scheme, **how, **options)
            return
        check_readable(format, self.path)
        with open_text(self.path, **how) as file:
            file.fill(HEAD)
            yield from self._read(file, format or format_of_head(file), scheme, options)

    def _read(
        self, file: TextFile, format: str, scheme: str | None, options: dict[str, Any]
    ) -> Iterator[Corpus]:
        reader = BlockReader.of(file, format, options)
        borders: Borders | None = reader.borders
        if borders is None:
            if self.part == 0:
                yield parse_whole(file, format, scheme=scheme, **options)
            return
        if format == "text":
            borders = PatientBorders(borders)
        for block in file.blocks(borders, Size(BLOCK)):
            mine = block.number % self.of == self.part
            first = block.number == 0 and format != "text"  # which shows columns and scheme
            if block.data.strip() and (mine or first):
                corpus = reader.parse(block, scheme=scheme)
                if block.number == 0 and scheme is None and corpus.labelled:
                    scheme = corpus.scheme or NO_SCHEME
                if mine:
                    yield corpus
            elif block.number == 0:
                check_text(block.text, file.path)


@dataclass(frozen=True, slots=True)
class PatientBorders:
    """Borders that the text shows, and in what shows none for long the end of a line."""

    shown: Borders

    @property
    def unit(self) -> str:
        """What is not cut."""
        return self.shown.unit

    @property
    def in_lines(self) -> bool:
        """Whether a border may stand inside a line, too."""
        return self.shown.in_lines

    def find(self, data: bytearray, begin: int, least: int, end: int) -> int:
        """See `Borders`."""
        cut = self.shown.find(data, begin, least, end)
        if cut < 0 and end - begin >= PATIENCE:
            return data.find(b"\n", begin + PATIENCE - 1, end) + 1 or -1
        return cut


def in_parts(sources: Iterable[TextSource], workers: int) -> list[TextSource]:
    """The sources, large ones in parts, so that there is something for each of several workers.

    A file that cannot be asked for its size is one part.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as file:
    ...     _ = file.truncate(3 * PART)
    ...     [(own.part, own.of) for own in in_parts([TextSource(file.name)], 2)]
    [(0, 2), (1, 2)]
    """
    sizes = [(source, _size(source.path)) for source in sources]
    share = max(PART, sum(size for _, size in sizes) // max(1, workers))
    found = []
    for source, size in sizes:
        number = max(1, min(workers, -(-size // share)))
        found += [replace(source, part=part, of=number) for part in range(number)]
    return found


def _size(path: str | Path) -> int:
    try:
        return 0 if str(path) == STDIO else Path(path).stat().st_size
    except (OSError, ValueError):
        return 0
