"""Column files: one token a line, a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Ints
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.errors import CorpusError, ReadError
from skipchain.io.columns.doubts import look_for_doubts, warn_of_swaps
from skipchain.io.columns.layout import (
    INDEX,
    ColumnLayout,
    given_names,
    header_names,
    header_spelling,
    named_cells,
    recognise,
)
from skipchain.io.columns.lines import Cells, LineRoles, Lines, join_rows
from skipchain.io.files import check_text
from skipchain.io.schemes import resolve_scheme

Notes = Mapping[int, Sequence[str]]  # raw lines by the token they stand before

DOCSTART = "-DOCSTART-"
COMMENT = "# "
IGNORED = "_"  # the name of a column that is not read
GAPS = {"\t": "tab", " ": "space", ",": "comma", ";": "semicolon"}
MAX_COLUMNS = 10_000  # a line of prose read as columns may have a million
DOCUMENT = re.compile(r"# (?:newdoc(?: id = (.*))?|doc (\S+))")


def parse_conll(
    text: str,
    path: object = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comments: bool = True,
    scheme: str | None = None,
    repair: bool | None = None,
) -> Corpus:
    """The corpus that a text in columns holds.

    ``columns`` names the columns from left to right, with ``_`` for one to ignore; without it they
    are word, pos, chunk, label, as far as there are so many, where neither a header row nor an
    index column says otherwise (see `skipchain.io.columns.layout`). A file whose first token line
    has a tab is cut at tabs, so that cells may be empty or hold spaces; any other at runs of
    spaces.

    A ``-DOCSTART-`` line, ``# newdoc`` and ``# doc NAME`` begin a document. With ``comments``, a
    line that begins with ``# `` and does not have the columns of a token is a comment; it is kept
    in the notes.

    >>> parse_conll("Ada B-PER\\nslept O\\n\\nBo B-PER\\n")
    Corpus(1 document, 2 sentences, 3 tokens, columns word, label (iob2))
    """
    how: dict[str, Any] = {"columns": columns, "separator": separator, "comments": comments}
    return parse_rows(text, path, **how, scheme=scheme, repair=repair)


def parse_rows(
    text: str,
    path: object = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comments: bool = True,
    scheme: str | None = None,
    repair: bool | None = None,
    table: bool = False,
    block: bool = False,
) -> Corpus:
    """The corpus that a text in columns holds, see `parse_conll`.

    In a ``table`` the names of a header need not be known. A ``block`` is part of a file whose
    columns are named, and has no header.
    """
    if columns is not None:
        check_columns(columns)
    layout = ColumnLayout(tuple(columns)) if block and columns is not None else None
    how: dict[str, Any] = {"columns": columns, "separator": separator, "comments": comments}
    found = read_table(text, path, **how, layout=layout, table=table)
    if not block:
        look_for_doubts(found.corpus, found.layout.names, found.lines, path, table=table)
    corpus = drop_standard_markers(found.corpus)
    return resolve_scheme(corpus, scheme, path, found.lines, repair)


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """What a text in columns holds: how it is laid out, and its labels as they stand there.

    ``lines`` are the line numbers of the tokens, ``int64 [N]``.
    """

    corpus: Corpus
    layout: ColumnLayout
    separator: str
    lines: Ints


def read_table(
    text: str,
    path: object = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comments: bool = True,
    layout: ColumnLayout | None = None,
    table: bool = False,
) -> ColumnTable:
    """The table that a text in columns holds, as `parse_conll` reads it.

    ``layout`` is that of the text which this one goes on, where it is known; in a ``table`` the
    names of a header need not be known.
    """
    if columns is not None:
        columns = given_names(columns)
    lines = Lines.of(check_text(text, path))
    marks = docstarts(lines)
    remarks = lines.beginning(COMMENT.encode()) if comments else []
    known = columns if layout is None else layout.names
    head = first_token_line(lines, {*marks, *remarks})
    if not head and known is None:
        raise ReadError("there is not one token in the file", path=path)
    may_be_mixed = separator is None and "\t" in head and layout is None
    if separator is None:
        separator = "\t" if "\t" in head else " "
    elif separator not in ("\t", " "):
        fault = f"a column file has tabs or spaces between its columns, not {separator!r}"
        raise CorpusError(f"{fault}; one with commas or semicolons is csv (--from csv)")
    cells = Cells.of(lines, separator)
    width = len(known) if known is not None else len(split(head, separator))
    check_width(width, path)
    # A line that begins with "# " and has the columns of a token is the token "#".
    remarks = [line for line in remarks if cells.counts[line] != width]
    special = np.zeros(len(lines), bool)
    special[marks + remarks] = True
    ragged = (cells.counts != width) & (cells.counts != 0) & ~special
    if ragged.any():
        if may_be_mixed:  # tabs here, spaces there: cut at both, all lines may be alike
            how: dict[str, Any] = {"columns": columns, "comments": comments, "table": table}
            with suppress(ReadError):
                return read_table(text, path, separator=" ", **how)
        line = int(ragged.argmax())
        wanted = f"the first line has {width}" if columns is None else f"columns= names {width}"
        fault = describe_ragged(int(cells.counts[line]), width, wanted, separator)
        raise ReadError(fault, path=path, line=line + 1)
    token = (cells.counts == width) & ~special
    roles = LineRoles(
        lines,
        token=token,
        blank=cells.counts == 0,
        markers=sorted([(line, None) for line in marks] + lines.documents(DOCUMENT, remarks)),
        kept_lines=marks + remarks,
    )
    rows = cells.columns(lines.data, token, width)
    known_before = layout is not None
    if layout is None:
        layout = layout_of(rows, roles, path, columns, table=table)
    if layout.header:
        roles = roles.without_header()
        rows = [column[1:].compact() for column in rows]
    if layout.header or (not known_before and columns is not None):
        roles = roles.cut_by(dict(zip(layout.names, rows, strict=True)))
    pairs = zip(layout.names, rows, strict=True)
    corpus = roles.corpus({name: column for name, column in pairs if name != IGNORED})
    return ColumnTable(corpus, layout, separator, np.flatnonzero(roles.token) + 1)


def layout_of(
    rows: Sequence[Column],
    roles: LineRoles,
    path: object,
    columns: Sequence[str] | None,
    *,
    table: bool,
) -> ColumnLayout:
    """The names of the columns, those that are given before those that are recognised."""
    if columns is not None:
        try:
            header = header_names(rows, table=table)
        except CorpusError:  # a header, but which column has the words only the names say
            header = tuple(columns)
        if header is not None:
            warn_of_swaps(columns, header, path)
        return ColumnLayout(tuple(columns), header is not None)
    try:
        return recognise(rows, roles.sentences(np.flatnonzero(roles.token)), table=table)
    except CorpusError as error:
        line = int(roles.token.argmax()) + 1
        raise ReadError(str(error), path=path, line=line) from None


def format_conll(corpus: Corpus, *, separator: str | None = None) -> str:
    """The corpus in columns, which `parse_conll` reads back as it was.

    The separator is a space, or a tab where a value holds a space or is empty. A header row that
    was read (see `parse_conll`) is written, too. Documents begin with a ``-DOCSTART-`` line, or
    with ``# newdoc id = NAME`` where they have names. What no column file can hold (a line end in a
    word, an empty sentence) is an error.

    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo"]], [["B-PER", "O"], ["B-PER"]])
    >>> print(format_conll(corpus), end="")
    Ada B-PER
    slept O
    <BLANKLINE>
    Bo B-PER
    <BLANKLINE>
    """
    return format_rows(corpus, separator, header_of(corpus))


def format_rows(corpus: Corpus, separator: str | None, header: Sequence[str] | None) -> str:
    """The corpus in columns, behind a header row where there is one."""
    check_sentences(corpus, "a column file")
    notes = notes_to_write(corpus)
    separator = choose_separator(corpus, notes, separator, header)
    if header is not None:
        notes[0] = (*notes.get(0, ()), separator.join(header))
    return rows_of(corpus, separator, notes)


def rows_of(corpus: Corpus, separator: str, notes: dict[int, tuple[str, ...]]) -> str:
    """The rows of a corpus, a blank line behind each sentence, and the notes between them."""
    strings = [column.tolist() for column in corpus.columns.values()]
    rows = list(map(separator.join, zip(*strings, strict=True)))
    for end in corpus.sentences[1:].tolist():
        rows[end - 1] += "\n"
    return join_rows(rows, notes)


def check_width(width: int, path: object, line: int | None = None) -> None:
    """Refuse so many columns that hardly anybody meant them."""
    if width > MAX_COLUMNS:
        fault = f"{width:,} columns, and {MAX_COLUMNS:,} can be read; is this another format?"
        raise ReadError(fault, path=path, line=line)


def check_columns(columns: Sequence[str]) -> None:
    """Refuse names that do not make a corpus."""
    used = [name for name in columns if name != IGNORED]
    if isinstance(columns, str):
        raise CorpusError(f"columns must be a list of names, got the string {columns!r}")
    if WORD not in given_names(used):
        raise CorpusError(f"columns must name {WORD!r}, got {', '.join(columns)}")
    if len(set(used)) < len(used):
        raise CorpusError(f"columns must differ, got {', '.join(columns)}")


def docstarts(lines: Lines) -> list[int]:
    """The lines whose first cell is ``-DOCSTART-``."""
    behind = lines.starts + len(DOCSTART)
    return [k for k in lines.beginning(DOCSTART.encode()) if lines.data[behind[k]] in b" \t\n"]


def first_token_line(lines: Lines, special: set[int]) -> str:
    """The first line that is neither blank nor special; empty where there is none."""
    for line in range(len(lines)):
        if line not in special and (text := lines[line]).strip(" \t"):
            return text
    return ""


def split(line: str, separator: str) -> list[str]:
    """The cells of one line."""
    if separator == "\t":
        return line.split("\t")
    return [cell for cell in line.replace("\t", " ").split(" ") if cell]


def describe_ragged(count: int, width: int, wanted: str, separator: str) -> str:
    """The error text for a line that has more or fewer cells than the others."""
    cells = f"{count} column" if count == 1 else f"{count} columns"
    gap = GAPS[separator]
    advice = f"is a {gap} missing?" if count < width else f"is there a {gap} too many?"
    return f"{cells}, but {wanted}; {advice}"


def drop_standard_markers(corpus: Corpus) -> Corpus:
    """Take those markers out of the notes that writing puts there anyway, if all are such."""
    standard = standard_markers(corpus)
    if not standard or not corpus.notes:
        return corpus
    rest = dict(corpus.notes)
    for token, marker in standard.items():
        lines = rest.pop(token, ())
        if lines[: len(marker)] != marker:
            return corpus
        if lines[len(marker) :]:
            rest[token] = lines[len(marker) :]
    if any(is_marker(line) for lines in rest.values() for line in lines):
        return corpus
    return replace(corpus, notes=rest)


def standard_markers(corpus: Corpus) -> dict[int, tuple[str, ...]]:
    """The lines with which each document begins, by its first token; none for a lone document."""
    if corpus.n_documents < 2 and corpus.names is None:
        return {}
    fill = {"chunk": "O", LABEL: "O"}
    rest = [fill.get(name, "-X-") for name in list(corpus.columns)[1:]]
    plain = (" ".join([DOCSTART, *rest]), "")
    tokens = corpus.sentences[corpus.documents[:-1]].tolist()
    names = corpus.names or ("",) * len(tokens)
    markers = ((f"# newdoc id = {name}",) if name else plain for name in names)
    return dict(zip(tokens, markers, strict=True))


def is_marker(line: str) -> bool:
    """Whether a raw line begins a document."""
    if line.startswith(DOCSTART):
        return line[len(DOCSTART) : len(DOCSTART) + 1] in ("", " ", "\t")
    return line.startswith(COMMENT) and DOCUMENT.fullmatch(line) is not None


def notes_to_write(corpus: Corpus) -> dict[int, tuple[str, ...]]:
    """The comments and markers of the notes, and markers for the documents that have none.

    Other raw lines (the multi-word ranges of CoNLL-U) have no place in a column file. Where the
    first document has no marker but others do, they close documents, and it gets none either.
    """
    notes = {}
    for token, lines in corpus.notes.items():
        fit = tuple(k for k in lines if not k or k.startswith(COMMENT) or is_marker(k))
        if fit:
            notes[token] = fit
    marked = {token for token, lines in notes.items() if any(map(is_marker, lines))}
    for token, marker in standard_markers(corpus).items():
        if token not in marked and (token or not marked):
            notes[token] = (*marker, *notes.get(token, ()))
    return notes


def header_of(corpus: Corpus) -> list[str] | None:
    """The header row that was read with the corpus, for the columns that it has now."""
    for line in corpus.notes.get(0, ()):
        cells = header_cells(line)
        if cells is not None:
            return header_spelling(cells, list(corpus.columns))
    return None


def header_read(corpus: Corpus) -> list[str] | None:
    """The header row that was read with a corpus of columns, whether or not its names are known."""
    for line in corpus.notes.get(0, ()):
        if line and not line.startswith(COMMENT) and not is_marker(line):
            return split(line, "\t" if "\t" in line else " ")
    return None


def header_cells(line: str) -> list[str] | None:
    """The cells of a raw line that is a header row; None for any other."""
    if not line or line.startswith(COMMENT) or is_marker(line):
        return None
    cells = split(line, "\t" if "\t" in line else " ")
    return None if named_cells(cells) is None else cells


def check_sentences(corpus: Corpus, kind: str) -> None:
    """Refuse a corpus with nothing in it, and sentences with nothing in them."""
    if corpus.n_tokens == 0:
        raise CorpusError("the corpus has no tokens, so there is nothing to write")
    empty = np.diff(corpus.sentences) == 0
    if empty.any():
        raise CorpusError(f"sentence {empty.argmax()} is empty; {kind} cannot show it")


def choose_separator(
    corpus: Corpus, notes: Notes, separator: str | None, header: Sequence[str] | None = None
) -> str:
    """The separator that was asked for, else a space if it serves, else a tab, if they serve.

    A file that had tabs in its header keeps them.
    """
    if separator not in (None, " ", "\t"):
        raise CorpusError(f"separator must be a space or a tab, got {separator!r}")
    # A file of one column has no tab by which the reader could recognise the separator.
    choices = [separator] if separator else [" ", "\t"] if len(corpus.columns) > 1 else [" "]
    if header is not None and separator is None and len(corpus.columns) > 1:
        tabbed = any("\t" in line for line in corpus.notes.get(0, ()) if header_cells(line))
        choices = ["\t"] if tabbed else choices
    for choice in choices:
        if (fault := find_fault(corpus, notes, choice, header)) is None:
            return choice
    raise CorpusError(f"{fault}; write JSONL instead")


def find_fault(
    corpus: Corpus, notes: Notes, separator: str, header: Sequence[str] | None = None
) -> str | None:
    """Why the corpus cannot be written with the separator and read back, if so."""
    kind = column_kind(separator)
    barred = barred_values(separator)
    fault = find_value_fault(corpus, separator)
    if fault is not None:
        return fault
    first = next(iter(corpus.columns.values()))
    token = find_value(first, re.compile(re.escape(DOCSTART) + r"\Z"))
    if token is not None:
        return f"token {token} is {DOCSTART!r}, which would begin a document"
    if separator == "\t" and (blank := blank_rows(corpus)).any():
        return f"all columns of token {blank.argmax()} are blank, which would end a sentence"
    hash_sign = re.compile("# " if separator == "\t" else r"#\Z")
    marked = len(corpus.columns) > 1 and any(value[:1] == "#" for value in first.values)
    if marked and matches(first, hash_sign).all():
        return "every line would look like a comment"
    fault = find_layout_fault(corpus) if header is None else find_header_fault(header, barred, kind)
    return fault or find_note_fault(notes, separator, len(corpus.columns))


def column_kind(separator: str) -> str:
    """What errors call a file with this separator."""
    return "a column file" if separator == "\t" else "a file with spaces between its columns"


def barred_values(separator: str) -> re.Pattern[str]:
    """What matches a value that cannot stand between such separators."""
    plain, spaced = r"[^\t\n\r\0]*[\t\n\r\0]", r"[^\t\n\r\0 ]*[\t\n\r\0 ]|\Z"
    return re.compile(plain if separator == "\t" else spaced)


def find_value_fault(corpus: Corpus, separator: str) -> str | None:
    """Which value cannot be written between such separators, if one cannot."""
    barred = barred_values(separator)
    for name, column in corpus.columns.items():
        together = "".join(column.values)
        if all(column.values) and not any(sign in together for sign in "\t\n\r\0 "):
            continue  # the common case, without a look at each value
        token = find_value(column, barred)
        if token is not None:
            value = column[token : token + 1].tolist()[0]
            return f"{column_kind(separator)} cannot hold the {name} {value!r} of token {token}"
    return None


def find_header_fault(header: Sequence[str], barred: re.Pattern[str], kind: str) -> str | None:
    """Why a header row would not be read back, if so."""
    if any(barred.match(cell) for cell in header):
        return f"{kind} cannot hold the header {', '.join(map(repr, header))}"
    return None


def find_layout_fault(corpus: Corpus) -> str | None:
    """Why the first row or the first column would be taken for something else, if so."""
    columns = list(corpus.columns.values())
    if header_names(columns) is not None:
        row = ", ".join(repr(column.values[column.codes[0]]) for column in columns)
        return f"the first row ({row}) would be taken for a header"
    try:
        first = recognise(columns, corpus.sentences).names[0]
    except CorpusError:
        return "the words, which are all numbers, would not be taken for words"
    if next(iter(corpus.columns)) == WORD and first != WORD:
        what = "count up" if first == INDEX else "look like labels"
        return f"the words, which {what}, would be taken for something else"
    return None


def find_note_fault(notes: Notes, separator: str, width: int) -> str | None:
    """Why a note would not be read back as a note, if so."""
    for lines in notes.values():
        for line in lines:
            if any(sign in line for sign in "\n\r\0"):
                return f"the note {line!r} holds a line end"
            if line.startswith(COMMENT) and len(split(line, separator)) == width:
                return f"the comment {line!r} would look like a token"
    return None


def find_value(column: Column, pattern: re.Pattern[str]) -> int | None:
    """The first token whose value matches."""
    matching = matches(column, pattern)
    return int(matching.argmax()) if matching.any() else None


def matches(column: Column, pattern: re.Pattern[str]) -> Bools:
    """The tokens ``bool [N]`` whose value the pattern matches at its start."""
    fit = np.array([pattern.match(value) is not None for value in column.values], bool)
    return fit[column.codes]


def blank_rows(corpus: Corpus) -> Bools:
    """The tokens ``bool [N]`` with nothing but spaces in all columns."""
    blank = np.ones(corpus.n_tokens, bool)
    for column in corpus.columns.values():
        empty = np.array([not value.strip(" ") for value in column.values], bool)
        blank &= empty[column.codes]
    return blank
