"""Column files: one token a line, a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from skipchain.arrays import Bools
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.errors import CorpusError, ReadError
from skipchain.io.columns.lines import Cells, LineRoles, Lines, join_rows
from skipchain.io.files import check_text
from skipchain.io.schemes import resolve_scheme

Notes = Mapping[int, Sequence[str]]  # raw lines by the token they stand before

DOCSTART = "-DOCSTART-"
COMMENT = "# "
IGNORED = "_"  # the name of a column that is not read
MAX_COLUMNS = 10_000  # a line of prose read as columns may have a million
DOCUMENT = re.compile(r"# (?:newdoc(?: id = (.*))?|doc (\S+))")
LAYOUTS: dict[int, tuple[str, ...]] = {
    1: (WORD,),
    2: (WORD, LABEL),
    3: (WORD, "pos", LABEL),
    4: (WORD, "pos", "chunk", LABEL),
}


def parse_conll(
    text: str,
    path: object = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comments: bool = True,
    scheme: str | None = None,
) -> Corpus:
    """The corpus that a text in columns holds.

    ``columns`` names the columns from left to right, with ``_`` for one to ignore; without it they
    are word, pos, chunk, label, as far as there are so many. A file whose first token line has a
    tab is cut at tabs, so that cells may be empty or hold spaces; any other at runs of spaces.

    A ``-DOCSTART-`` line, ``# newdoc`` and ``# doc NAME`` begin a document. With ``comments``, a
    line that begins with ``# `` and does not have the columns of a token is a comment; it is kept
    in the notes.

    >>> parse_conll("Ada B-PER\\nslept O\\n\\nBo B-PER\\n")
    Corpus(1 document, 2 sentences, 3 tokens, columns word, label (iob2))
    """
    if columns is not None:
        check_columns(columns)
    lines = Lines.of(check_text(text, path))
    marks = docstarts(lines)
    remarks = lines.beginning(COMMENT.encode()) if comments else []
    head = first_token_line(lines, {*marks, *remarks})
    if not head and columns is None:
        raise ReadError("there is not one token in the file", path=path)
    if separator is None:
        separator = "\t" if "\t" in head else " "
    cells = Cells.of(lines, separator)
    width = len(columns) if columns is not None else len(split(head, separator))
    check_width(width, path)
    # A line that begins with "# " and has the columns of a token is the token "#".
    remarks = [line for line in remarks if cells.counts[line] != width]
    special = np.zeros(len(lines), bool)
    special[marks + remarks] = True
    ragged = (cells.counts != width) & (cells.counts != 0) & ~special
    if ragged.any():
        line = int(ragged.argmax())
        wanted = f"the first line has {width}" if columns is None else f"columns= names {width}"
        fault = describe_ragged(int(cells.counts[line]), width, wanted, separator)
        raise ReadError(fault, path=path, line=line + 1)
    roles = LineRoles(
        lines,
        token=(cells.counts == width) & ~special,
        blank=cells.counts == 0,
        markers=sorted([(line, None) for line in marks] + lines.documents(DOCUMENT, remarks)),
        kept_lines=marks + remarks,
    )
    names = columns if columns is not None else layout(width)
    pairs = zip(names, cells.columns(lines.data, roles.token, width), strict=True)
    corpus = roles.corpus({name: column for name, column in pairs if name != IGNORED})
    line_numbers = np.flatnonzero(roles.token) + 1
    return resolve_scheme(drop_standard_markers(corpus), scheme, path, line_numbers)


def format_conll(corpus: Corpus, *, separator: str | None = None) -> str:
    """The corpus in columns, which `parse_conll` reads back as it was.

    The separator is a space, or a tab where a value holds a space or is empty. Documents begin with
    a ``-DOCSTART-`` line, or with ``# newdoc id = NAME`` where they have names. What no column file
    can hold (a line end in a word, an empty sentence) is an error.

    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo"]], [["B-PER", "O"], ["B-PER"]])
    >>> print(format_conll(corpus), end="")
    Ada B-PER
    slept O
    <BLANKLINE>
    Bo B-PER
    <BLANKLINE>
    """
    check_sentences(corpus, "a column file")
    notes = notes_to_write(corpus)
    separator = choose_separator(corpus, notes, separator)
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
    if WORD not in used:
        raise CorpusError(f"columns must name {WORD!r}, got {', '.join(columns)}")
    if len(set(used)) < len(used):
        raise CorpusError(f"columns must differ, got {', '.join(columns)}")


def layout(width: int) -> tuple[str, ...]:
    """The default names of so many columns.

    >>> layout(3), layout(5)
    (('word', 'pos', 'label'), ('word', 'c1', 'c2', 'c3', 'label'))
    """
    between = tuple(f"c{k}" for k in range(1, width - 1))
    return LAYOUTS.get(width, (WORD, *between, LABEL))


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
    gap = "tab" if separator == "\t" else "space"
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


def check_sentences(corpus: Corpus, kind: str) -> None:
    """Refuse a corpus with nothing in it, and sentences with nothing in them."""
    if corpus.n_tokens == 0:
        raise CorpusError("the corpus has no tokens, so there is nothing to write")
    empty = np.diff(corpus.sentences) == 0
    if empty.any():
        raise CorpusError(f"sentence {empty.argmax()} is empty; {kind} cannot show it")


def choose_separator(corpus: Corpus, notes: Notes, separator: str | None) -> str:
    """The separator that was asked for, else a space if it serves, else a tab, if they serve."""
    if separator not in (None, " ", "\t"):
        raise CorpusError(f"separator must be a space or a tab, got {separator!r}")
    # A file of one column has no tab by which the reader could recognise the separator.
    choices = [separator] if separator else [" ", "\t"] if len(corpus.columns) > 1 else [" "]
    for choice in choices:
        if (fault := find_fault(corpus, notes, choice)) is None:
            return choice
    raise CorpusError(f"{fault}; write JSONL instead")


def find_fault(corpus: Corpus, notes: Notes, separator: str) -> str | None:
    """Why the corpus cannot be written with the separator and read back, if so."""
    kind = "a column file" if separator == "\t" else "a file with spaces between its columns"
    plain, spaced = r"[^\t\n\r\0]*[\t\n\r\0]", r"[^\t\n\r\0 ]*[\t\n\r\0 ]|\Z"
    barred = re.compile(plain if separator == "\t" else spaced)
    for name, column in corpus.columns.items():
        together = "".join(column.values)
        if all(column.values) and not any(sign in together for sign in "\t\n\r\0 "):
            continue  # the common case, without a look at each value
        token = find_value(column, barred)
        if token is not None:
            value = column[token : token + 1].tolist()[0]
            return f"{kind} cannot hold the {name} {value!r} of token {token}"
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
    return find_note_fault(notes, separator, len(corpus.columns))


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
