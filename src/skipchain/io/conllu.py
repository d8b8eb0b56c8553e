"""CoNLL-U: the ten columns of Universal Dependencies."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from skipchain.arrays import Bools, Ints
from skipchain.corpus.column import Column, frozen
from skipchain.corpus.corpus import LABEL, WORD, Corpus
from skipchain.corpus.schemes.labels import split
from skipchain.errors import CorpusError, ReadError
from skipchain.io.columns.lines import Cells, LineRoles, Lines, join_rows
from skipchain.io.conll import check_sentences, find_value
from skipchain.io.files import check_text
from skipchain.io.schemes import resolve_scheme

COLUMNS = ("id", WORD, "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
EMPTY = "_"
NOTHING = "O"  # the label of a token that has none
MAY_BE_NOTHING = ("feats", "deps", "misc")
"""Columns whose `_` says that there is nothing: the label ``O``. In others it is unknown."""
DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(.*))?")
EXTRA = re.compile(r"\d+(?:-\d+|(\.\d+))")  # a multi-word range, or an empty node


def parse_conllu(
    text: str,
    path: object = None,
    *,
    label: str | None = "upos",
    scheme: str | None = None,
    repair: bool | None = None,
) -> Corpus:
    """The corpus that a text in CoNLL-U holds; the labels are its column ``label``.

    With None there are none. ``_`` is a label that is not known; but of ``feats``, ``deps`` and
    ``misc`` it says that there is nothing, and is the label ``O``.

    Comments, multi-word ranges and empty nodes are kept in the notes; ``# newdoc`` begins a
    document.

    >>> corpus = parse_conllu("1\\tAda\\tAda\\tPROPN\\tNNP\\t_\\t0\\troot\\t_\\t_\\n")
    >>> corpus.words.tolist(), corpus.labels.tolist()
    (['Ada'], ['PROPN'])
    """
    if label is not None and label not in COLUMNS[2:]:
        raise CorpusError(f"label must be one of {', '.join(COLUMNS[2:])}, got {label!r}")
    lines = Lines.of(check_text(text, path))
    cells = Cells.of(lines, "\t")
    remarks = lines.beginning(b"#")
    rows = cells.counts > 0
    rows[remarks] = False
    check_width(cells.counts, rows, path)
    columns = cells.columns(lines.data, rows, len(COLUMNS))
    ranges, nodes = extra_rows(columns[0], np.flatnonzero(rows), path)
    extra = np.isin(np.flatnonzero(rows), ranges + nodes)
    token = rows.copy()
    token[ranges + nodes] = False
    roles = LineRoles(
        lines,
        token=token,
        blank=cells.counts == 0,
        markers=lines.documents(DOCUMENT, remarks),
        kept_lines=remarks + ranges + nodes,
        tail_lines=ranges + nodes,
    )
    if extra.any():
        columns = [column.take(np.flatnonzero(~extra)).compact() for column in columns]
    if label in MAY_BE_NOTHING and NOTHING not in columns[COLUMNS.index(label)].values:
        place = COLUMNS.index(label)
        columns[place] = spelt(columns[place], EMPTY, NOTHING)
    names = (LABEL if name == label else name for name in COLUMNS)
    corpus = roles.corpus(dict(zip(names, columns, strict=True)))
    line_numbers = np.flatnonzero(token) + 1
    # What Universal Dependencies say of words are never fields.
    return resolve_scheme(corpus, scheme, path, line_numbers, repair, may_be_bare=False)


def format_conllu(corpus: Corpus, *, label: str | None = None) -> str:
    """The corpus in CoNLL-U; the labels go to the column ``label``, else to the first one missing,
    or to ``misc`` where it has nothing in it.

    Columns that the corpus does not have are ``_``, and tokens without an id are numbered.

    >>> corpus = Corpus.of([["Ada"]], [["PROPN"]])
    >>> format_conllu(corpus)
    '1\\tAda\\t_\\tPROPN\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n'
    """
    check_sentences(corpus, "a CoNLL-U file")
    columns = arrange(corpus, label)
    check_values(columns)
    rows = list(map("\t".join, zip(*(column.tolist() for column in columns.values()), strict=True)))
    notes = notes_to_write(corpus)
    for end in corpus.sentences[1:].tolist():
        if not closes_sentence(notes.get(end, ())):
            rows[end - 1] += "\n"
    return join_rows(rows, notes)


def check_width(counts: Ints, rows: Bools, path: object) -> None:
    """Refuse lines that do not have ten columns."""
    wrong = rows & (counts != len(COLUMNS))
    if wrong.any():
        line = int(wrong.argmax())
        fault = f"CoNLL-U has 10 columns with tabs between them, got {counts[line]}"
        raise ReadError(fault, path=path, line=line + 1)


def extra_rows(ids: Column, lines: Ints, path: object) -> tuple[list[int], list[int]]:
    """The lines of multi-word ranges and of empty nodes, which their ids show."""
    kinds = np.array([kind_of(value) for value in ids.values], np.int8)[ids.codes]
    if (kinds < 0).any():
        row = int((kinds < 0).argmax())
        fault = f"the id {ids.values[ids.codes[row]]!r} is not like 1, 1-2 or 1.1"
        raise ReadError(fault, path=path, line=int(lines[row]) + 1)
    return lines[kinds == 1].tolist(), lines[kinds == 2].tolist()


def kind_of(value: str) -> int:
    """0 for the id of a token, 1 for a range, 2 for an empty node, -1 for anything else.

    >>> [kind_of(value) for value in ("1", "1-2", "1.1", "x")]
    [0, 1, 2, -1]
    """
    if value.isdecimal():
        return 0
    match = EXTRA.fullmatch(value)
    return -1 if match is None else 2 if match[1] else 1


def arrange(corpus: Corpus, label: str | None) -> dict[str, Column]:
    """The ten columns in order."""
    strange = [name for name in corpus.columns if name not in (*COLUMNS, LABEL)]
    if strange:
        names = ", ".join(strange)
        raise CorpusError(f"CoNLL-U has no column for {names}; write conll or jsonl instead")
    columns = {name: column for name, column in corpus.columns.items() if name != LABEL}
    if corpus.labelled:
        target = label or next((name for name in COLUMNS[3:] if name not in columns), None)
        if target is None:  # all are there; the last one may have nothing in it
            target = COLUMNS[-1]
            if [columns[target].values[code] for code in columns[target].used()] == [EMPTY]:
                del columns[target]
        if target not in COLUMNS[2:] or target in columns:
            raise CorpusError(f"the labels cannot be the column {target!r}; say label= for another")
        labels = corpus.labels
        plain = target in MAY_BE_NOTHING and not any(split(own)[0] for own in labels.values)
        columns[target] = spelt(labels, NOTHING, EMPTY) if plain else labels
    columns.setdefault("id", number_tokens(corpus))
    empty = Column.constant(EMPTY, corpus.n_tokens)
    return {name: columns.get(name, empty) for name in COLUMNS}


def spelt(column: Column, own: str, wanted: str) -> Column:
    """The column with one value in another spelling."""
    return column.renamed([wanted if value == own else value for value in column.values])


def number_tokens(corpus: Corpus) -> Column:
    """1, 2, 3 and so on in each sentence."""
    lengths = np.diff(corpus.sentences)
    places = np.arange(corpus.n_tokens) - np.repeat(corpus.sentences[:-1], lengths)
    names = tuple(str(k + 1) for k in range(int(lengths.max())))
    return Column(frozen(places.astype(np.int32)), names)


def check_values(columns: Mapping[str, Column]) -> None:
    """Refuse what would not be read back as it is."""
    barred = re.compile(r"[^\t\n\r\0]*[\t\n\r\0]")
    for name, column in columns.items():
        place = find_value(column, barred)
        if place is not None:
            value = column[place : place + 1].tolist()[0]
            raise CorpusError(f"CoNLL-U cannot hold the {name} {value!r} of token {place}")
    place = find_value(columns["id"], re.compile(r"(?!\d+\Z)"))
    if place is not None:
        raise CorpusError(f"the id of token {place} is not a number")


def notes_to_write(corpus: Corpus) -> dict[int, tuple[str, ...]]:
    """The comments, ranges and empty nodes of the notes, and a comment where a document begins."""
    notes = {}
    for place, lines in corpus.notes.items():
        fit = tuple(line for line in lines if not line or line[0] == "#" or is_extra(line))
        # At the start of a slice, what closed the sentence before it is left over.
        while place == 0 and closes_sentence(fit):
            fit = fit[fit.index("") + 1 :]
        if fit:
            notes[place] = fit
    if corpus.n_documents > 1 or corpus.names is not None:
        add_markers(corpus, notes)
    return notes


def add_markers(corpus: Corpus, notes: dict[int, tuple[str, ...]]) -> None:
    """Begin each document with ``# newdoc`` unless its notes do."""
    names = corpus.names or ("",) * corpus.n_documents
    starts = corpus.sentences[corpus.documents[:-1]].tolist()
    for place, name in zip(starts, names, strict=True):
        lines = notes.get(place, ())
        if any(DOCUMENT.fullmatch(line) for line in lines):
            continue
        if re.search(r"[\n\r\0]", name):
            raise CorpusError(f"CoNLL-U cannot hold the document name {name!r}")
        marker = f"# newdoc id = {name}" if name else "# newdoc"
        cut = lines.index("") + 1 if closes_sentence(lines) else 0
        notes[place] = (*lines[:cut], marker, *lines[cut:])


def is_extra(line: str) -> bool:
    """Whether a raw line is a multi-word range or an empty node."""
    cells = line.split("\t")
    return len(cells) == len(COLUMNS) and EXTRA.fullmatch(cells[0]) is not None


def closes_sentence(lines: tuple[str, ...]) -> bool:
    """Whether notes begin with empty nodes of the sentence before, and hold its blank line."""
    return bool(lines) and is_extra(lines[0]) and "" in lines
