"""Corpora read in blocks of whole documents, however large their files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from skipchain.checks import check_integer
from skipchain.corpus.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME
from skipchain.errors import ParameterError, ReadError
from skipchain.io.charsets import UTF8, check_charset
from skipchain.io.columns.doubts import look_for_doubts
from skipchain.io.columns.layout import DOCUMENT, SENTENCE, ColumnLayout
from skipchain.io.columns.tidy import TidyColumns
from skipchain.io.conll import (
    ColumnTable,
    check_columns,
    drop_standard_markers,
    is_marker,
    read_table,
)
from skipchain.io.detect import SAMPLE
from skipchain.io.files import check_text
from skipchain.io.formats import (
    check_format,
    check_options,
    check_readable,
    format_of_path,
    format_of_text,
    is_folder,
    parse_text,
    read,
)
from skipchain.io.scanning.blocks import (
    BORDERS,
    Borders,
    Size,
    TextBlock,
    TextFile,
    open_text,
    table_documents,
)
from skipchain.io.schemes import PartName, resolve_scheme

HEAD = 1 << 20  # bytes of a file that is read as a whole, and looked at before blocks are read
BLOCK = 100_000  # tokens
A_TOKEN = 8  # bytes that a token is thought to have before one has been seen
SMALLEST = 1 << 10  # bytes
TABLES = ("conll", "tsv")


class NeedsWhole(ReadError):
    """What a file turns out to hold cannot be read in blocks."""


def scan(
    path: str | Path,
    format: str | None = None,
    *,
    block: int = BLOCK,
    columns: Sequence[str] | None = None,
    scheme: str | None = None,
    charset: str | None = None,
    repair: bool | None = None,
    max_bytes: int | None = None,
    **options: Any,
) -> Iterator[Corpus]:
    """Read a file as corpora of about ``block`` tokens each, in whole documents.

    The memory that this takes does not grow with the file. Everything else is as for `read`, with
    three differences. The columns are those that the first mebibyte shows. The scheme is that of
    the labels of the first block, unless ``scheme`` names it. And ``max_bytes`` limits what must be
    held at once: a document, or the whole file where its format cannot be cut (csv, brat, inline,
    columns that number sentences). A file that marks no documents is cut between sentences.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.conll").write_text("Ada B-PER\\nslept O\\n\\n" * 300)
    ...     parts = [corpus.n_tokens for corpus in scan(folder + "/a.conll", block=500)]
    >>> len(parts), sum(parts)
    (2, 600)
    """
    if not isinstance(path, (str, Path)):
        raise ParameterError(f"a path must be a string or a Path, got {type(path).__name__}")
    check_integer("block", block)
    if charset is not None:
        check_charset(charset)
    format = format or format_of_path(path)
    if columns is not None:
        options["columns"] = columns
    how: dict[str, Any] = {
        "scheme": scheme,
        "charset": charset,
        "repair": repair,
        "max_bytes": max_bytes,
    }
    if format is not None and is_folder(format):
        return iter([read(path, format, **how, **options)])
    check_readable(format, path)
    return _scanned(path, format, block, how, options)


@dataclass(slots=True)
class Scanned:
    """What is known of a file once its first block has been read.

    Where labels are ``open``, their scheme is that of all blocks together, see `resolve_scheme`.
    """

    format: str = ""
    charset: str = ""
    open: bool = False


def scan_open(
    path: str | Path, format: str | None, found: Scanned, *, block: int = BLOCK, **how: Any
) -> Iterator[Corpus]:
    """A file in blocks as `scan` gives them, but labels of columns stay as they stand there.

    So who has seen all of them can say what `read` would say of their scheme.
    """
    named = {name: how.pop(name, None) for name in ("scheme", "charset", "repair", "max_bytes")}
    options = {name: value for name, value in how.items() if value is not None}
    format = format or format_of_path(path)
    if format is not None and is_folder(format):
        found.format, found.charset = format, named["charset"] or UTF8
        yield read(path, format, **named, **options)
        return
    check_readable(format, path)
    yield from _scanned(path, format, block, named, options, found)


def _scanned(
    path: str | Path,
    format: str | None,
    block: int,
    how: dict[str, Any],
    options: dict[str, Any],
    found: Scanned | None = None,
) -> Iterator[Corpus]:
    scheme, repair = how["scheme"], how["repair"]
    with open_text(path, how["charset"], how["max_bytes"]) as file:
        file.fill(HEAD)
        format = format or format_of_head(file)
        reader = BlockReader.of(file, format, options)
        if found is not None:
            found.format, found.charset = format, file.charset
            found.open = format in TABLES and reader.borders is not None
            if found.open:
                scheme, repair = NO_SCHEME, None
        if reader.borders is None:
            yield parse_whole(file, format, scheme=scheme, repair=repair, **options)
            return
        size = Size(max(SMALLEST, block * A_TOKEN))
        for number, part in enumerate(file.blocks(reader.borders, size)):
            corpus = reader.parse(part, scheme=scheme, repair=repair)
            if number == 0 and scheme is None:
                scheme = corpus.scheme or NO_SCHEME if corpus.labelled else None
            size.bytes = max(SMALLEST, block * len(part.data) // max(1, corpus.n_tokens))
            yield corpus


def format_of_head(file: TextFile) -> str:
    """The format of a file by how it begins."""
    head = file.data[: 4 * SAMPLE].decode(errors="ignore")  # a character has four bytes at most
    return format_of_text(check_text(head, file.path), file.path)


def parse_whole(file: TextFile, format: str, **options: Any) -> Corpus:
    """The corpus of all of a file."""
    return parse_text(file.whole().decode(), file.path, format, **options)


@dataclass(slots=True)
class BlockReader:
    """Reads the blocks of a file; ``borders`` are None where it must be read as a whole.

    Where documents are ``marked``, each block but the first begins with one.
    """

    path: str | Path
    format: str
    options: dict[str, Any]
    borders: Borders | None = None
    reason: str = ""
    """why the file must be read as a whole"""
    marked: bool = False
    layout: ColumnLayout | None = None
    separator: str = " "
    columns: list[frozenset[str]] = field(default_factory=list)
    standard: bool = True
    """whether markers are such as are written, in a table without labels"""

    @classmethod
    def of(
        cls, file: TextFile, format: str, options: dict[str, Any], *, sentences: bool = True
    ) -> BlockReader:
        """How to read a file of which some has been read; ``sentences``: documents may be cut.

        They are where the file marks none.
        """
        entry = check_format(format)
        check_options(entry.function(str(entry.parse)), format, options)
        reader = cls(file.path, format, options)
        if format not in BORDERS:
            reader.reason = f"{format} cannot be cut into blocks; {PARTS}"
            return reader
        end = len(file.data) if file.ended else file.data.rfind(b"\n") + 1
        document = BORDERS[format].get("document")
        if format in TABLES:
            layout = reader._lay_out(file, bytes(file.data[:end]))
            if layout is None:
                return reader
            document = table_documents(reader.separator, len(layout.names))
        reader.marked = document is not None and document.find(file.data, 0, 0, end) >= 0
        if reader.marked:
            reader.borders = document
        elif sentences:
            reader.borders = BORDERS[format]["sentence"]
        else:
            how = MARKS.get(format, "")
            reader.reason = f"the model looks at documents, and the file marks none; {how}{PARTS}"
        return reader

    @classmethod
    def known(
        cls, path: str | Path, columns: TidyColumns, options: dict[str, Any], *, marked: bool
    ) -> BlockReader:
        """How to read a table of these columns, whose blocks begin with documents if ``marked``."""
        layout, separator = ColumnLayout(columns.names), columns.separator
        return cls(path, "conll", options, marked=marked, layout=layout, separator=separator)

    def _lay_out(self, file: TextFile, head: bytes) -> ColumnLayout | None:
        """The columns of a table, which its beginning shows; None where it cannot be cut."""
        names = self.options.get("columns")
        if names is not None:
            check_columns(names)
        if not head and not file.ended:
            self.reason = f"its first line is very long; {PARTS}"
            return None
        first = self._table(head.decode(), None)
        self.layout, self.separator = first.layout, first.separator
        if {SENTENCE, DOCUMENT} & set(first.layout.names):
            self.reason = (
                f"a column tells its sentences or documents; write blank lines, or {PARTS}"
            )
            return None
        return self.layout

    def _table(self, text: str, layout: ColumnLayout | None) -> ColumnTable:
        names, comments = self.options.get("columns"), self.options.get("comments", True)
        separator = self.options.get("separator") if layout is None else self.separator
        how: dict[str, Any] = {"columns": names, "separator": separator, "comments": comments}
        return read_table(text, self.path, **how, layout=layout, table=self.format == "tsv")

    def parse(
        self, block: TextBlock, *, scheme: str | None = None, repair: bool | None = None
    ) -> Corpus:
        """The corpus of a block; errors and warnings name lines of the file."""
        part = PartName.of(self.path, block.first)
        try:
            corpus = self._parsed(block, part, scheme, repair)
        except ReadError as error:
            error.path = self.path
            raise error.shifted(block.first - 1) from None
        self._check_columns(corpus, block)
        return corpus

    def _parsed(
        self, block: TextBlock, part: PartName, scheme: str | None, repair: bool | None
    ) -> Corpus:
        if self.format not in TABLES:
            given = {"scheme": scheme, "repair": repair, **self.options}
            return parse_text(block.text, part, self.format, **given)
        assert self.layout is not None
        header = self.layout.header and block.number == 0
        table = self._table(block.text, replace(self.layout, header=header))
        if block.number == 0:
            told = (table.corpus, table.layout.names, table.lines, self.path)
            look_for_doubts(*told, table=self.format == "tsv")
        corpus = drop_standard_markers(table.corpus)
        return resolve_scheme(corpus, scheme, part, table.lines, repair)

    def _check_columns(self, corpus: Corpus, block: TextBlock) -> None:
        """Refuse a block whose columns are not those of the first."""
        if self.format != "jsonl":
            return
        names = frozenset(corpus.columns)
        if not self.columns:
            self.columns.append(names)
        elif names != self.columns[0]:
            found, first = (", ".join(sorted(own)) for own in (names, self.columns[0]))
            fault = f"columns {found}, but the first line has {first}"
            raise ReadError(fault, path=self.path, line=block.first)

    def begins_document(self, corpus: Corpus, block: TextBlock) -> bool:
        """Whether the first token of a block is the first of a document."""
        if block.number == 0 or self.marked or _is_marked(corpus):
            return True
        return corpus.n_documents > 1 and not _marked_tokens(corpus)  # all markers are standard

    def with_markers(self, corpus: Corpus, block: TextBlock, *, raw: bool) -> Corpus:
        """The corpus of a block as a part of its file, whose documents are marked when written.

        Of a file of several documents, none is written as one that stands alone would be. Where
        columns stay as they are (``raw``), the markers of a table with labels do, too.
        """
        if self.format in TABLES:
            return self._with_table_markers(corpus, block, raw)
        if not self.marked:
            if corpus.n_documents > 1 or (block.number > 0 and _is_marked(corpus)):
                raise self.needs_whole(LATE, block)
            return corpus
        if corpus.n_documents > 1 or corpus.names is not None:
            return corpus
        bare = block.number == 0 and self.format == "conllu" and not _is_marked(corpus)
        return corpus if bare else replace(corpus, names=("",))

    def without_markers(self, corpus: Corpus, block: TextBlock) -> Corpus:
        """The corpus of a block as a part of its file, for formats that mark documents otherwise.

        Its documents are all of the file's, or parts of the one that the file is.
        """
        fresh = corpus.n_documents > 1 or (block.number > 0 and _is_marked(corpus))
        if fresh and not self.marked:
            raise self.needs_whole(LATE, block)
        if self.format not in TABLES or not self.marked:
            return corpus
        return replace(self._without_standard(corpus, block), names=corpus.names)

    def _with_table_markers(self, corpus: Corpus, block: TextBlock, raw: bool) -> Corpus:
        """Markers are written as they were read where they may stay ``raw``; else all get another
        cell, or none.
        """
        if (raw and corpus.labelled) or not (self.marked or _marked_tokens(corpus)):
            return corpus
        if not self.marked:
            if block.number == 0:
                return corpus
            raise self.needs_whole("a document begins, and few were marked before", block)
        corpus = self._without_standard(corpus, block)
        return corpus if self.standard else replace(corpus, names=None)

    def _without_standard(self, corpus: Corpus, block: TextBlock) -> Corpus:
        """The corpus without the markers that writing puts there, if those of the file are such."""
        if corpus.n_documents == 1 and corpus.names is None:
            corpus = drop_standard_markers(replace(corpus, names=("",)))
        standard = not _marked_tokens(corpus)
        if block.number == 0:
            self.standard = standard
        elif standard != self.standard:
            raise self.needs_whole("a document is marked in another way than those before", block)
        return corpus

    def needs_whole(self, fault: str, block: TextBlock) -> NeedsWhole:
        """The error for a block that cannot be written like those before it."""
        return NeedsWhole(f"{fault}{ADVICE}", path=self.path, line=block.first)


PARTS = "tag it in parts"
MARKS = {
    "conll": "begin each with a line -DOCSTART-, or ",
    "tsv": "begin each with a line -DOCSTART-, or ",
    "conllu": "begin each with a line # newdoc, or ",
    "jsonl": 'name them with the key "document", or ',
    "opennlp": "put blank lines between them, or ",
    "text": 'write them as JSON lines, {"text": …}, or ',
}
"""How a file says where its documents begin."""
LATE = "a document begins, and none was marked before"
ADVICE = "; the file must be looked at as a whole: save it, and name it and a file to write (-o)"


def _marked_tokens(corpus: Corpus) -> list[int]:
    """The tokens before which raw lines begin a document."""
    return [token for token, lines in corpus.notes.items() if any(map(is_marker, lines))]


def _is_marked(corpus: Corpus) -> bool:
    """Whether a raw line begins the first document."""
    return bool(corpus.names and corpus.names[0]) or 0 in _marked_tokens(corpus)
