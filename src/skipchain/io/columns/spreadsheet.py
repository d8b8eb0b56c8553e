"""Tables as spreadsheets and data frames have them: columns behind a header row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.errors import CorpusError, ReadError
from skipchain.io.columns.layout import DOCUMENT, header_names, is_name, named_cells, recognise
from skipchain.io.columns.lines import unix_lines
from skipchain.io.conll import check_sentences, describe_ragged, format_rows, header_of, parse_rows
from skipchain.watching import counted

DELIMITERS = (",", ";", "\t")
NAMED_SEPARATOR = re.compile(r"sep=([,;\t])(?=[\r\n])", re.IGNORECASE)


def parse_tsv(
    text: str,
    path: object = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    comments: bool = True,
    scheme: str | None = None,
    repair: bool | None = None,
) -> Corpus:
    """The corpus that a text holds whose columns have tabs between them; see `parse_conll`.

    >>> parse_tsv("token\\tner\\nAda\\tB-PER\\nslept\\tO\\n")
    Corpus(1 document, 1 sentence, 2 tokens, columns word, label (iob2))
    """
    how: dict[str, Any] = {"columns": columns, "scheme": scheme, "repair": repair}
    return parse_rows(text, path, **how, separator=separator, comments=comments, table=True)


def parse_csv(
    text: str,
    path: object = None,
    *,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
    scheme: str | None = None,
    repair: bool | None = None,
) -> Corpus:
    """The corpus that a text holds whose columns have commas between them, or semicolons.

    ``separator`` says which, or the first line. Cells may be in quotation marks. Sentences end with
    a line without values, or where the column changes that the header names for them.

    >>> rows = ["Sentence #,Word,Tag", "Sentence: 1,Ada,B-PER", ',",",O', "Sentence: 2,No,O"]
    >>> corpus = parse_csv("\\n".join(rows))
    >>> corpus
    Corpus(1 document, 2 sentences, 3 tokens, columns sent_id, word, label (iob2))
    >>> corpus[0].words
    ['Ada', ',']
    """
    named = NAMED_SEPARATOR.match(text)
    if named is not None:  # for a spreadsheet; its line is left empty, so that lines count on
        separator, text = separator or named[1], text[named.end() :]
    if separator is None:
        head = next((line for line in text.splitlines() if line.strip()), "")
        separator = max(DELIMITERS, key=head.count)
    elif separator not in DELIMITERS:
        raise CorpusError(f"separator must be a comma, a semicolon or a tab, got {separator!r}")
    lines: list[str] = []
    width = 0
    rows = csv.reader(io.StringIO(unix_lines(text), newline=""), delimiter=separator, strict=True)
    try:
        for row in counted(rows, text.count("\n") + 1):
            if rows.line_num > len(lines) + 1 or any(
                sign in cell for cell in row for sign in "\n\r"
            ):
                raise ReadError("a cell holds a line end", path=path, line=len(lines) + 1)
            if any("\t" in cell for cell in row):
                raise ReadError("a cell holds a tab", path=path, line=rows.line_num)
            filled = any(map(str.strip, row))
            width = width or len(row) * filled
            if filled and len(row) != width and columns is None:
                wanted = f"the first line has {width}"
                fault = describe_ragged(len(row), width, wanted, separator)
                raise ReadError(fault, path=path, line=rows.line_num)
            lines.append("\t".join(row) if filled else "")
    except csv.Error as error:
        fault = f"no table with {separator!r} between cells: {error}"
        raise ReadError(fault, path=path, line=rows.line_num) from None
    tabbed = "".join(f"{line}\n" for line in lines)
    how: dict[str, Any] = {"columns": columns, "scheme": scheme, "repair": repair}
    return parse_rows(tabbed, path, **how, separator="\t", comments=False, table=True)


def format_tsv(corpus: Corpus) -> str:
    """The corpus in columns with tabs between them, behind a header row.

    >>> print(format_tsv(Corpus.of([["Ada", "slept"]], [["B-PER", "O"]])).replace("\\t", " | "))
    word | label
    Ada | B-PER
    slept | O
    <BLANKLINE>
    <BLANKLINE>
    """
    separator = "\t" if len(corpus.columns) > 1 else None
    return format_rows(corpus, separator, header_of(corpus) or own_header(corpus))


def format_csv(corpus: Corpus, *, separator: str = ",") -> str:
    """The corpus in columns with commas between them, behind a header row.

    A blank line ends a sentence, and where there are several documents a column names them. Other
    notes of the corpus are left out.

    >>> print(format_csv(Corpus.of([["Ada", ","]], [["B-PER", "O"]])), end="")
    word,label
    Ada,B-PER
    ",",O
    <BLANKLINE>
    """
    if separator not in DELIMITERS:
        raise CorpusError(f"separator must be a comma, a semicolon or a tab, got {separator!r}")
    if DOCUMENT not in corpus.columns and (corpus.n_documents > 1 or corpus.names is not None):
        corpus = with_documents(corpus)
    return csv_rows(corpus, separator)


def csv_rows(corpus: Corpus, separator: str = ",", *, header: bool = True) -> str:
    """The rows of a table, behind those that name the columns where a ``header`` is wanted."""
    check_sentences(corpus, "a table")
    for name, column in corpus.columns.items():
        for value in column.values:
            if any(sign in value for sign in "\t\n\r\0"):
                raise CorpusError(f"a table cannot hold the {name} {value!r}; write JSONL instead")
    names = (header_of(corpus) or own_header(corpus)) if header else None
    out = io.StringIO()
    rows = csv.writer(out, delimiter=separator, lineterminator="\n")
    if names is not None:
        rows.writerow(names)
    strings = [column.tolist() for column in corpus.columns.values()]
    ends = set(corpus.sentences[1:].tolist())
    for token, row in enumerate(zip(*strings, strict=True), 1):
        rows.writerow(row)
        if token in ends:
            out.write("\n")
    return out.getvalue()


def own_header(corpus: Corpus) -> list[str] | None:
    """The names of the columns, where reading would know them for a header."""
    names = list(corpus.columns)
    known = named_cells(names) == tuple(names) and (LABEL in names or all(map(is_name, names)))
    if not known:
        check_headless(corpus)
    return names if known else None


def check_headless(corpus: Corpus) -> None:
    """Refuse a table without header whose first row or words reading would take for others."""
    columns = list(corpus.columns.values())
    try:
        header = header_names(columns, table=True) is not None
        first = recognise(columns, corpus.sentences, table=True).names[0]
        header = header or (first == LABEL and next(iter(corpus.columns)) == WORD)
    except CorpusError:
        header = True
    if header:
        fault = "the first row would be taken for a header, or numbers not for words"
        raise CorpusError(f"a table cannot show this corpus: {fault}; write JSONL instead")


def with_documents(corpus: Corpus, before: int = 0) -> Corpus:
    """The corpus with a first column that names the document of each token, or numbers it.

    So many documents of the same file stand ``before`` it.
    """
    names = corpus.names or tuple(str(before + k + 1) for k in range(corpus.n_documents))
    sizes = (
        corpus.sentences[corpus.documents[1:]] - corpus.sentences[corpus.documents[:-1]]
    ).tolist()
    values = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    columns = {DOCUMENT: Column.encode(values), **corpus.columns}
    return replace(corpus, columns=columns)
