"""Files labelled in blocks, in memory that does not grow with them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISREG
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from skipchain.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.errors import ReadError, SkipchainError, SkipchainWarning
from skipchain.io.columns.reading import Reading
from skipchain.io.columns.tidy import BLOCK, LARGEST_BLOCK, closed
from skipchain.io.conll import is_marker
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
from skipchain.io.unpack import TooLargeError, describe_size
from skipchain.label_columns import LOOK, options_that_keep
from skipchain.parallel import Workers
from skipchain.tagged import Prediction, Question, in_their_place
from skipchain.tagged_output import (
    BlockWriter,
    ColumnWriter,
    Place,
    UnlikeFirstError,
    block_writer,
    write_tagged,
)
from skipchain.watching import unwatched

if TYPE_CHECKING:
    from skipchain.lookup.column_file import LineTagger
    from skipchain.models.base.model import AnyModel

LARGE = 64 << 20  # bytes of a file of which it is told that it is held as a whole


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


class BlockLabeller(Protocol):
    """What labels the blocks behind the first in the place of threads of this process."""

    def labelled(self, stream: BlockTagger, blocks: Iterator[TextBlock]) -> Iterator[LabelledBlock]:
        """The blocks with labels, in order: for each what `BlockTagger.label` gives.

        Of the ``block`` of each its data are not needed.
        """


class CorpusTagger(Protocol):
    """What labels files needs of a tagger."""

    @property
    def model(self) -> AnyModel:
        """What labels."""

    @property
    def threads(self) -> int | None:
        """How many threads it uses; None: all cores."""

    def answer(
        self, corpus: Corpus, question: Question, forced: Sequence[str | None] | None = None
    ) -> Prediction:
        """The corpus with labels, and whatever else is asked."""

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
    """Labels one text file: how it is read, what is asked, where it goes, and who is told of it.

    ``alone`` is the tagger with one thread, for each of several threads; a ``labeller`` labels
    blocks elsewhere.
    """

    tagger: CorpusTagger
    alone: CorpusTagger
    source: str | Path
    target: str | Path
    question: Question
    format: str | None
    options: dict[str, Any]
    charset: str | None
    max_bytes: int | None
    overwrite: bool
    watch: Watcher | None
    told: Callable[[Reading], None] | None
    labeller: BlockLabeller | None = None

    def run(self) -> Reading:
        """Label it, in blocks where that can be done."""
        try:
            return self._run(in_blocks=True)
        except NeedsWhole as error:
            if not (is_stored(self.source) and is_stored(self.target, new=True)):
                raise  # what was read or written is gone
            try:
                return self._run(in_blocks=False)
            except TooLargeError as too_large:
                raise ReadError(f"{error.fault}; {too_large.fault}", path=error.path) from None

    def _run(self, *, in_blocks: bool) -> Reading:
        with open_text(self.source, self.charset, self.max_bytes) as file:
            small = file.fill(HEAD)
            own = self._keeping(file)
            if in_blocks and not small:
                format = self.format or format_of_head(file)
                stream = own._stream(file, format)
                if stream is not None:
                    stream.labeller = self.labeller
                    return own._write(file, stream)
            if self.labeller is not None and not small:
                told = f"{file.path}: it is labelled as a whole, and so by this process alone"
                warnings.warn(told, SkipchainWarning, stacklevel=2)
            return own._run_whole(file)

    def _keeping(self, file: TextFile) -> TextFileTagger:
        """The same where no column stays; else it reads the file so that the column does."""
        if self.options:
            return self
        try:
            format = self.format or format_of_head(file)
        except ReadError:  # which is told when all is read
            return self
        kept = options_that_keep(bytes(file.data[:LOOK]), file.path, format, self.tagger.model)
        return self if kept is None else replace(self, options=kept)

    @property
    def _columns(self) -> Sequence[str] | None:
        return self.options.get("columns")

    def _stream(self, file: TextFile, format: str) -> BlockTagger | None:
        """What labels the blocks of the file; None where it must be labelled as a whole."""
        model, writer = self.tagger.model, block_writer(self.question.to)
        if writer is None:
            self._tell_whole(file, f"{self.question.to} is written at once; write jsonl")
            return None
        head = bytes(file.data[: file.data.rfind(b"\n") + 1])
        lines = None
        if self.question.only_labels(model):
            lines = self.tagger.line_tagger(head, file.path, format, self._columns)
        if lines is not None and lines.layout.scan(head, ()) is None:
            lines = None
        apart = model.labels_sentences_apart
        ends: dict[str, Any] = {"question": self.question, "writer": writer, "told": self._told}
        size = BLOCK if apart else LARGEST_BLOCK
        if lines is not None:
            reader = BlockReader.known(file.path, lines.layout, self.options, marked=not apart)
            documents = table_documents(lines.layout.separator, len(lines.layout.names))
            borders = BORDERS["conll"]["sentence"] if apart else documents
            return BlockTagger(self.tagger, self.alone, reader, borders, size, lines=lines, **ends)
        if not model.labels_documents_apart:
            self._tell_whole(file, f"a {model.kind} may look at all of it; tag it in parts")
            return None
        reader = BlockReader.of(file, format, self.options, sentences=apart)
        if reader.borders is None:
            self._tell_whole(file, reader.reason)
            return None
        return BlockTagger(self.tagger, self.alone, reader, reader.borders, size, **ends)

    def _tell_whole(self, file: TextFile, reason: str) -> None:
        """Say that a large file is held as a whole, and what would help."""
        if file.fill(LARGE):
            return
        warnings.warn(
            f"{file.path}: more than {describe_size(LARGE)}, and all of it is held in memory, up "
            f"to --max-bytes: {reason}",
            SkipchainWarning,
            stacklevel=2,
        )

    def _run_whole(self, file: TextFile) -> Reading:
        """Label all of the file at once."""
        began, data, tagger = time.perf_counter(), file.whole(), self.tagger
        tagged = None
        if self.question.only_labels(tagger.model):
            tagged = tagger.tag_lines(data, file.path, self.format, self._columns)
        if tagged is not None:
            lines, reading = tagged
            reading = replace(reading, charset=file.charset)
            self._told(reading)
            with atomic_write(self.target, overwrite=self.overwrite, binary=True) as out:
                out.writelines(lines)
        else:
            text = data.decode()
            format = self.format or format_of_text(check_text(text, file.path), file.path)
            corpus = parse_text(text, file.path, format, scheme=NO_SCHEME, **self.options)
            reading = Reading.of(corpus, format, file.charset)
            self._told(reading)
            found = answered(tagger, corpus, self.question)
            write_tagged(found, self.target, self.question.to, overwrite=self.overwrite)
        self._tell(file, reading.tokens or 0, began)
        return reading

    def _told(self, reading: Reading) -> None:
        if self.told is not None:
            self.told(reading)

    def _write(self, file: TextFile, stream: BlockTagger) -> Reading:
        """Write the blocks as they are labelled."""
        began, direct = time.perf_counter(), not is_stored(self.target, new=True)
        blocks = file.blocks(stream.borders, Size(stream.size))
        stream.charset = file.charset
        target = atomic_write(self.target, overwrite=self.overwrite, binary=True)
        with target as out, unwatched():  # what is told is how much of the file is done
            for piece in stream.pieces(blocks):
                out.write(piece)
                if direct:
                    out.flush()
                self._tell(file, stream.tokens, began)
        return stream.reading

    def _tell(self, file: TextFile, tokens: int, began: float) -> None:
        if self.watch is not None:
            spent = time.perf_counter() - began
            self.watch(FileProgress(tokens, file.position, file.size, spent))


def is_stored(path: str | Path, *, new: bool = False) -> bool:
    """Whether a path names a file on a disk, which can be read again, or would be a ``new`` one."""
    if str(path) == STDIO:
        return False
    try:
        return S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return new


def answered(
    tagger: CorpusTagger,
    corpus: Corpus,
    question: Question,
    forced: Sequence[str | None] | None = None,
) -> Prediction:
    """The corpus with predicted labels in place of those that it has, and what else is asked.

    Labels that are ``forced`` stay as they are.
    """
    bare = corpus.without_labels() if corpus.labelled else corpus
    found = tagger.answer(bare, question, forced)
    return replace(found, corpus=in_their_place(found.corpus, corpus))


@dataclass(frozen=True, slots=True)
class LabelledBlock:
    """A block with labels: as lines, where these are ready, or as a prediction to be written.

    ``block`` says where it stands, without its data. ``documents`` begin behind its first token;
    ``begins`` says that one begins with that token, ``ends`` that one begins behind the last.
    """

    block: TextBlock
    sentences: int
    tokens: int
    documents: int
    begins: bool
    ends: bool
    found: Prediction | None = None
    lines: bytes = b""


@dataclass(slots=True)
class BlockTagger:
    """Labels the blocks of a file, those of tidy columns as the bytes that they are.

    What has been labelled is counted: ``documents`` that have begun, ``sentences``, ``tokens``. How
    the first block is written shows how the others are. Tidy blocks are labelled beside it, in the
    hope that it is one of them.
    """

    tagger: CorpusTagger
    alone: CorpusTagger
    reader: BlockReader
    borders: Borders
    size: int
    question: Question
    writer: BlockWriter
    told: Callable[[Reading], None]
    lines: LineTagger | None = None
    labeller: BlockLabeller | None = None
    charset: str = ""
    documents: int = 0
    sentences: int = 0
    tokens: int = 0
    _characters: int = 0
    _begun: bool = True  # a document, which the next token is in
    _shown: Event = field(default_factory=Event)  # how blocks are written
    _first: Reading = field(default_factory=lambda: Reading("conll", "", (), None, None, None))

    @property
    def reading(self) -> Reading:
        """How the file was read so far."""
        return replace(
            self._first,
            charset=self.charset,
            documents=self.documents,
            sentences=self.sentences,
            tokens=self.tokens,
        )

    def pieces(self, blocks: Iterator[TextBlock]) -> Iterator[bytes]:
        """The blocks with labels, written one behind the other.

        How the first was read is told before it is labelled.
        """
        if self.lines is None or self.labeller is not None:
            yield self._written_first(self._label_first(next(blocks)))
        if self.labeller is not None:
            yield from map(self._written, self.labeller.labelled(self, blocks))
            return
        with Workers(self.tagger.threads) as workers:
            try:
                for part in workers.stream(self._label_in_turn, blocks):
                    first = part.block.number == 0
                    yield self._written_first(part) if first else self._written(part)
            finally:  # nobody is to wait for what does not come
                self._shown.set()

    def _written_first(self, part: LabelledBlock) -> bytes:
        written = self._written(part)
        if isinstance(self.writer, ColumnWriter) and self.writer.separator != " ":
            self.lines = None  # which writes others
        self._shown.set()
        return written

    def _label_in_turn(self, block: TextBlock) -> LabelledBlock:
        """A block with labels, once the first has been written."""
        if block.number == 0:
            return self._label_first(block)
        lines = self.lines
        quick = None if lines is None else _tidy(lines, block)
        self._shown.wait()
        if quick is not None and self.lines is not None:
            return quick
        return self._labelled(self.reader.parse(block, scheme=NO_SCHEME), block, self.alone)

    def _label_first(self, block: TextBlock) -> LabelledBlock:
        if self.lines is not None and (quick := _tidy(self.lines, block)) is not None:
            self._tell_first(Reading("conll", "", self.lines.layout.names, None, None, None))
            self.writer = ColumnWriter(" ")
            return quick
        corpus = self.reader.parse(block, scheme=NO_SCHEME)
        read = Reading.of(corpus, self.reader.format, "")
        self._tell_first(replace(read, documents=None, sentences=None, tokens=None))
        return self._labelled(corpus, block, self.tagger)

    def _tell_first(self, reading: Reading) -> None:
        self._first = replace(reading, charset=self.charset)
        self.told(self._first)

    def label(self, block: TextBlock) -> LabelledBlock:
        """A block behind the first with labels."""
        if self.lines is not None and (quick := _tidy(self.lines, block)) is not None:
            return quick
        return self._labelled(self.reader.parse(block, scheme=NO_SCHEME), block, self.alone)

    def _labelled(self, corpus: Corpus, block: TextBlock, tagger: CorpusTagger) -> LabelledBlock:
        if self.writer.keeps_markers:
            raw = not (self.question.marginals or self.question.nbest)
            corpus = self.reader.with_markers(corpus, block, raw=raw)
        else:
            corpus = self.reader.without_markers(corpus, block)
        begins = self.reader.begins_document(corpus, block)
        ends = any(map(is_marker, corpus.notes.get(corpus.n_tokens, ())))
        sizes = len(corpus), corpus.n_tokens, corpus.n_documents - 1
        with self._naming(block):
            found = answered(tagger, corpus, self.question)
        return LabelledBlock(block.place, *sizes, begins, ends, found)

    def _written(self, part: LabelledBlock) -> bytes:
        """A block as it is written; it is counted."""
        block, begins = part.block, self._begun or part.begins
        written = part.lines
        if part.found is not None:
            document, marked = self.documents - (not begins), self.reader.marked
            place = Place(block.number, document, begins, marked, self._characters)
            try:
                with self._naming(block):
                    written = self.writer.write(part.found, place).encode()
            except UnlikeFirstError as error:
                raise self.reader.needs_whole(str(error), block) from None
            if not marked:
                self._characters += sum(map(len, part.found.corpus.texts or ()))
        self.documents += part.documents + begins
        self.sentences += part.sentences
        self.tokens += part.tokens
        self._begun = part.ends
        return written

    @contextmanager
    def _naming(self, block: TextBlock) -> Iterator[None]:
        """Say of what is wrong with a further block where it begins: errors count from there."""
        try:
            yield
        except (ReadError, UnlikeFirstError):
            raise
        except SkipchainError as error:
            if block.number == 0:
                raise
            fault = f"in the part that begins with this line, counted from it: {error}"
            raise ReadError(fault, path=self.reader.path, line=block.first) from None


def _tidy(lines: LineTagger, block: TextBlock) -> LabelledBlock | None:
    """A block of tidy columns with labels; None where it is none."""
    found = lines.tag(closed(block.data))
    if found is None:
        return None
    places, tokens = found.documents, found.tokens
    marks = len(places - {0, tokens}), 0 in places, tokens in places
    return LabelledBlock(block.place, found.sentences, tokens, *marks, lines=found.lines)
