"""Files labelled in blocks, in memory that does not grow with them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from skipchain.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.errors import SkipchainWarning
from skipchain.io.columns.reading import Reading
from skipchain.io.columns.tidy import BLOCK, LARGEST_BLOCK, closed
from skipchain.io.conll import (
    choose_separator,
    find_note_fault,
    find_value_fault,
    format_conll,
    header_of,
    is_marker,
    notes_to_write,
    rows_of,
)
from skipchain.io.files import STDIO, atomic_write, check_text
from skipchain.io.formats import format_of_text, parse_text
from skipchain.io.scanning.blocks import (
    BORDERS,
    Borders,
    Size,
    TextBlock,
    TextFile,
    open_text,
    table_documents,
)
from skipchain.io.scanning.scan import HEAD, BlockReader, NeedsWhole, format_of_head
from skipchain.io.unpack import describe_size
from skipchain.parallel import Workers
from skipchain.tagged import in_their_place

if TYPE_CHECKING:
    from skipchain.lookup.column_file import LineTagger
    from skipchain.models.base.model import AnyModel
    from skipchain.tagged import Prediction

LARGE = 256 << 20  # bytes of a file of which it is told that it is held as a whole


@dataclass(frozen=True, slots=True)
class FileProgress:
    """How much of a file has been labelled: tokens, bytes of the ``size`` that it has on the disk.

    ``size`` is None where nobody can tell, as of a pipe.
    """

    tokens: int
    done: int
    size: int | None
    seconds: float


Watcher = Callable[[FileProgress], None]


class CorpusTagger(Protocol):
    """What labels files needs of a tagger."""

    @property
    def model(self) -> AnyModel:
        """What labels."""

    @property
    def threads(self) -> int | None:
        """How many threads it uses; None: all cores."""

    def predict(self, corpus: Corpus) -> Prediction:
        """The corpus with labels."""

    def tag_lines(
        self, data: bytes, path: str | Path, format: str | None, columns: Sequence[str] | None
    ) -> tuple[list[bytes], Reading] | None:
        """The lines of a simple column file with labels."""

    def line_tagger(
        self, head: bytes, path: str | Path, format: str | None, columns: Sequence[str] | None
    ) -> LineTagger | None:
        """What labels blocks of a simple column file."""


@dataclass(frozen=True, slots=True)
class TextFileTagger:
    """Labels one text file: how it is read, where its labels go, and who is told of it.

    ``alone`` is the tagger with one thread, for each of several threads.
    """

    tagger: CorpusTagger
    alone: CorpusTagger
    source: str | Path
    target: str | Path
    format: str | None
    columns: Sequence[str] | None
    charset: str | None
    max_bytes: int | None
    overwrite: bool
    watch: Watcher | None
    told: Callable[[Reading], None] | None

    def run(self) -> Reading:
        """Label it, in blocks where that can be done."""
        try:
            return self._run(in_blocks=True)
        except NeedsWhole:
            if STDIO in (str(self.source), str(self.target)):
                raise  # what was read or written is gone
        return self._run(in_blocks=False)

    def _run(self, *, in_blocks: bool) -> Reading:
        with open_text(self.source, self.charset, self.max_bytes) as file:
            if not file.fill(HEAD) and in_blocks:
                format = self.format or format_of_head(file)
                stream = self._stream(file, format)
                if stream is not None:
                    return self._write(file, stream)
            return self._run_whole(file)

    def _options(self) -> dict[str, Any]:
        return {} if self.columns is None else {"columns": self.columns}

    def _stream(self, file: TextFile, format: str) -> BlockTagger | None:
        """What labels the blocks of the file; None where it must be labelled as a whole."""
        model = self.tagger.model
        head = bytes(file.data[: file.data.rfind(b"\n") + 1])
        lines = self.tagger.line_tagger(head, file.path, format, self.columns)
        if lines is not None and lines.layout.scan(head, ()) is None:
            lines = None
        apart = model.labels_sentences_apart
        if lines is not None:
            reader = BlockReader.known(file.path, lines.layout, self._options(), marked=not apart)
            documents = table_documents(lines.layout.separator, len(lines.layout.names))
            borders = BORDERS["conll"]["sentence"] if apart else documents
            size = BLOCK if apart else LARGEST_BLOCK
            return BlockTagger(self.tagger, self.alone, reader, borders, size, lines)
        if not model.labels_documents_apart:
            self._tell_whole(file, f"a {model.kind} may look at all of it")
            return None
        reader = BlockReader.of(file, format, self._options(), sentences=apart)
        if reader.borders is None:
            self._tell_whole(file, reader.reason)
            return None
        size = BLOCK if apart else LARGEST_BLOCK
        return BlockTagger(self.tagger, self.alone, reader, reader.borders, size)

    def _tell_whole(self, file: TextFile, reason: str) -> None:
        """Say that a large file is held as a whole, and what would help."""
        if file.fill(LARGE):
            return
        warnings.warn(
            f"{file.path}: more than {describe_size(LARGE)}, and it is read as a whole, up to "
            f"--max-bytes: {reason}; mark its documents (-DOCSTART-), or cut the file in parts",
            SkipchainWarning,
            stacklevel=2,
        )

    def _run_whole(self, file: TextFile) -> Reading:
        """Label all of the file at once."""
        began, data, tagger = time.perf_counter(), file.whole(), self.tagger
        tagged = tagger.tag_lines(data, file.path, self.format, self.columns)
        if tagged is not None:
            lines, reading = tagged
            reading = self._tell_reading(reading, file)
            with atomic_write(self.target, overwrite=self.overwrite, binary=True) as out:
                out.writelines(lines)
        else:
            text = data.decode()
            format = self.format or format_of_text(check_text(text, file.path), file.path)
            corpus = parse_text(text, file.path, format, scheme=NO_SCHEME, **self._options())
            reading = self._tell_reading(Reading.of(corpus, format, file.charset), file)
            labelled(tagger, corpus).write(self.target, "conll", overwrite=self.overwrite)
        self._tell(file, reading.tokens, began)
        return reading

    def _tell_reading(self, reading: Reading, file: TextFile) -> Reading:
        """Tell how the file was read, and in which character set."""
        reading = replace(reading, charset=file.charset)
        if self.told is not None:
            self.told(reading)
        return reading

    def _write(self, file: TextFile, stream: BlockTagger) -> Reading:
        """Write the blocks as they are labelled."""
        began, direct = time.perf_counter(), str(self.target) == STDIO
        documents = sentences = tokens = 0
        begun = True  # a document, which the first token that comes is in
        blocks = file.blocks(stream.borders, Size(stream.size))
        with atomic_write(self.target, overwrite=self.overwrite, binary=True) as out:
            for part in stream.labelled(blocks):
                out.write(part.lines)
                if direct:
                    out.flush()
                documents += part.documents + (begun or part.begins)
                begun = part.ends
                sentences += part.sentences
                tokens += part.tokens
                self._tell(file, tokens, began)
        first = stream.first
        sizes = documents, sentences, tokens
        reading = Reading(first.format, file.charset, first.columns, *sizes, first.header)
        return self._tell_reading(reading, file)

    def _tell(self, file: TextFile, tokens: int, began: float) -> None:
        if self.watch is not None:
            spent = time.perf_counter() - began
            self.watch(FileProgress(tokens, file.position, file.size, spent))


def labelled(tagger: CorpusTagger, corpus: Corpus) -> Corpus:
    """The corpus with predicted labels, in the place of those that it has."""
    found = tagger.predict(corpus.without_labels() if corpus.labelled else corpus).corpus
    return in_their_place(found, corpus)


@dataclass(frozen=True, slots=True)
class LabelledBlock:
    """The lines of a block, and its numbers of sentences and tokens.

    ``documents`` begin behind its first token; ``begins`` says that one begins with that token,
    ``ends`` that one begins behind the last.
    """

    lines: bytes
    sentences: int
    tokens: int
    documents: int
    begins: bool
    ends: bool


@dataclass(slots=True)
class BlockTagger:
    """Labels the blocks of a file, those of tidy columns as the bytes that they are.

    How the first block is written shows how the others are. Blocks of tidy columns are labelled
    beside it, in the hope that it is one of them.
    """

    tagger: CorpusTagger
    alone: CorpusTagger
    reader: BlockReader
    borders: Borders
    size: int
    lines: LineTagger | None = None
    separator: str | None = None
    first: Reading = field(default_factory=lambda: Reading("conll", "", (), 0, 0, 0))
    """how the first block was read"""
    begun: Event = field(default_factory=Event)
    """set when the first block is labelled"""

    def labelled(self, blocks: Iterator[TextBlock]) -> Iterator[LabelledBlock]:
        """The blocks with labels, in order."""
        if self.lines is None:
            yield self._label(next(blocks))
        with Workers(self.tagger.threads) as workers:
            yield from workers.stream(self._label, blocks)

    def _label(self, block: TextBlock) -> LabelledBlock:
        lines = self.lines
        quick = None if lines is None else _tidy(lines, block)
        if block.number > 0:
            self.begun.wait()
            # where the first was not tidy, the others may have to be written in another way
            return self._other(block) if quick is None or self.lines is None else quick
        try:
            if lines is None or quick is None:
                return self._first(block)
            self.separator = " "
            self.first = Reading("conll", "", lines.layout.names, 0, 0, 0)
            return quick
        finally:
            self.begun.set()

    def _first(self, block: TextBlock) -> LabelledBlock:
        reader = self.reader
        corpus = reader.with_markers(reader.parse(block, scheme=NO_SCHEME), block)
        self.first = Reading.of(corpus, reader.format, "")
        found = labelled(self.tagger, corpus)
        self.separator = choose_separator(found, notes_to_write(found), None, header_of(found))
        if self.separator != " ":  # with which tidy lines are written
            self.lines = None
        return self._counted(corpus, block, format_conll(found, separator=self.separator))

    def _other(self, block: TextBlock) -> LabelledBlock:
        reader = self.reader
        corpus = reader.parse(block, scheme=NO_SCHEME)
        corpus = reader.with_markers(corpus, block)
        found = labelled(self.alone, corpus)
        notes, separator = notes_to_write(found), str(self.separator)
        fault = find_value_fault(found, separator)
        fault = fault or find_note_fault(notes, separator, len(found.columns))
        if fault is not None:
            raise reader.needs_whole(fault, block)
        return self._counted(corpus, block, rows_of(found, separator, notes))

    def _counted(self, corpus: Corpus, block: TextBlock, written: str) -> LabelledBlock:
        begins = self.reader.begins_document(corpus, block)
        ends = any(map(is_marker, corpus.notes.get(corpus.n_tokens, ())))
        sizes = len(corpus), corpus.n_tokens, corpus.n_documents - 1
        return LabelledBlock(written.encode(), *sizes, begins, ends)


def _tidy(lines: LineTagger, block: TextBlock) -> LabelledBlock | None:
    """A block of tidy columns with labels; None where it is none."""
    found = lines.tag(closed(block.data))
    if found is None:
        return None
    places, tokens = found.documents, found.tokens
    marks = len(places - {0, tokens}), 0 in places, tokens in places
    return LabelledBlock(found.lines, found.sentences, tokens, *marks)
