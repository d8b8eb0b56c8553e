"""Which columns a column file has: by its header row, by an index column, else by their number.

The rules are strict, since a word or a label must never be taken for anything else; they are
written down in ``docs/guide/formats.md``, and names that are given (``columns=``) turn them off.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.corpus import LABEL, WORD
from skipchain.errors import CorpusError

INDEX, SENTENCE, DOCUMENT = "id", "sent_id", "doc_id"
_WORDS = """
word words token tokens wordform wordforms tok toks form forms surface surfaceform surfaceforms
text tokentext wordtext
"""
WORDS = tuple(_WORDS.split())
_LABELS = """
label labels ner nertag nertags nerlabel nerlabels netag nelabel entity entities entitytag
entitylabel iob iob2 bio bioes bilou iobtag biotag ioblabel biolabel goldlabel goldner goldtag
gold tag tags
"""
LABELS = tuple(_LABELS.split())
"""Names of the column of labels, those first that say more."""


def _numbered(nouns: str) -> tuple[str, ...]:
    """The names of columns that number things of these names."""
    ends = ("id", "ids", "idx", "index", "no", "nr", "num", "number", "#")
    return tuple(noun + end for noun in nouns.split() for end in ends)


OTHERS = {
    INDEX: ("id", "index", "idx", "", "unnamed:0", "#", "no", "nr", *_numbered("token tok word")),
    SENTENCE: (
        *("sentence", "sent", "sid", "sidx"),
        *_numbered("sentence sent seq sequence text utt utterance example"),
    ),
    DOCUMENT: (
        *("document", "doc", "file", "filename", "docname", "documentname"),
        *_numbered("document doc file article"),
    ),
    "pos": ("pos", "postag", "postags", "upos", "xpos"),
    "chunk": ("chunk", "chunktag", "chunktags"),
    "lemma": ("lemma",),
}
"""Names of other columns, and what they may be called; all names are written as by `plain_name`."""
OURS = re.compile(r"c\d+|label\d+|probability")  # what columns are called that we write
SPANS = re.compile(r"O|[BIESLU]-\S+")
NUMBER = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)
NO_LABEL = re.compile(r"-?|\d*\.\d+")  # in a last column: nothing, or a number with a point
NUMBERS = ("id", "ids", "idx", "index", "no", "nr", "num", "number", "key")  # ends of names
FEW = 10  # rows that may be anything
DEFAULTS: dict[int, tuple[str, ...]] = {
    1: (WORD,),
    2: (WORD, LABEL),
    3: (WORD, "pos", LABEL),
    4: (WORD, "pos", "chunk", LABEL),
}


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The names of the columns, and whether the first row has them."""

    names: tuple[str, ...]
    header: bool = False


def default_names(width: int) -> tuple[str, ...]:
    """The names of so many columns by default.

    >>> default_names(3), default_names(5)
    (('word', 'pos', 'label'), ('word', 'c1', 'c2', 'c3', 'label'))
    """
    between = tuple(f"c{k}" for k in range(1, width - 1))
    return DEFAULTS.get(width, (WORD, *between, LABEL))


def recognise(columns: Sequence[Column], sentences: Ints, *, table: bool = False) -> ColumnLayout:
    """The layout of the columns of a file, whose first row may be a header.

    In a ``table`` the names of a header need not be known. Numbers are never the words where these
    may stand in another column, and in a table not at all; that is an error.

    >>> rows = [("token", "ner"), ("Ada", "B-PER"), ("slept", "O")]
    >>> recognise([Column.encode(own) for own in zip(*rows)], np.array([0, 3]))
    ColumnLayout(names=('word', 'label'), header=True)
    >>> rows = [("1", "Ada", "B-PER"), ("2", "slept", "O")]
    >>> recognise([Column.encode(own) for own in zip(*rows)], np.array([0, 2])).names
    ('id', 'word', 'label')
    """
    named = header_names(columns, table=table)
    if named is not None:
        return ColumnLayout(_with_sentences(named, columns, sentences), header=True)
    counted = is_index(columns, sentences)
    rest = columns[1:] if counted else columns
    names = _names(rest, counted)
    if not counted and _are_no_words(columns, table):
        raise CorpusError(_number_fault(columns))
    return ColumnLayout((INDEX, *names) if counted else names)


def _with_sentences(
    names: tuple[str, ...], columns: Sequence[Column], sentences: Ints
) -> tuple[str, ...]:
    """The names of a header, one of which may number sentences by another name of its own.

    Where nothing else ends a sentence, it is the first unknown name whose values come in runs of
    two tokens or more, each once, and that ends like that of a number (``address_id``) or whose
    values count up by one.
    """
    if SENTENCE in names or len(sentences) > 2:
        return names
    for place, name in enumerate(names):
        own = plain_name(name)
        if is_name(name) or not comes_in_runs(columns[place][1:]):
            continue
        if own.endswith(NUMBERS) or _counts_up(columns[place][1:]):
            return (*names[:place], SENTENCE, *names[place + 1 :])
    return names


def _counts_up(column: Column) -> bool:
    """Whether values, which come in runs, are whole numbers, each by one more than the last."""
    if not all(NUMBER.fullmatch(column.values[code]) for code in column.used().tolist()):
        return False
    numbers = np.array([int(v) if NUMBER.fullmatch(v) else 0 for v in column.values], np.int64)
    steps = np.diff(numbers[column.codes])
    return bool(((steps == 0) | (steps == 1)).all())


def comes_in_runs(column: Column) -> bool:
    """Whether each value comes in one run alone, of two tokens or more on average.

    >>> comes_in_runs(Column.encode("aabbb")), comes_in_runs(Column.encode("aabba"))
    (True, False)
    """
    runs = 1 + int((np.diff(column.codes) != 0).sum())
    filled = sum(bool(column.values[code].strip()) for code in column.used().tolist())
    return 1 < runs == filled and 2 * runs <= len(column)


def given_names(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that names stand for which are given.

    Those of sentences and documents may be spelt as in a header, and where none is ``word`` those
    of words and labels, too.

    >>> given_names(["SentenceID", "token", "ner"]), given_names(["word", "ner"])
    (('sent_id', 'word', 'label'), ('word', 'ner'))
    """
    found = list(names)
    spelt = {name: OTHERS[name] for name in (SENTENCE, DOCUMENT)}
    if WORD not in names:
        spelt |= {WORD: WORDS, LABEL: LABELS}
    plain = [plain_name(name) for name in names]
    for name, spellings in spelt.items():
        places = [plain.index(spelling) for spelling in spellings if spelling in plain]
        if name not in names and places:
            found[places[0]] = name
    return tuple(found)


def header_names(columns: Sequence[Column], *, table: bool = False) -> tuple[str, ...] | None:
    """The names that the first row gives the columns; None where it is no header.

    One cell must name the words, and another the labels, or all of them must be names of columns,
    or all labels but the one in the first row must be those of spans. No two cells are alike, and
    no name comes again in its column, that of a part of speech aside (``POS`` is one). In a
    ``table`` the names need not be known, see `_table_names`, and one column alone may be named as
    those of words are.
    """
    if table and len(columns) == 1 and len(columns[0]) > 1 and not _comes_again(columns[0]):
        return (WORD,) if plain_name(_first_row(columns)[0]) in WORDS else None
    if len(columns) < 2 or len(columns[0]) < 2:
        return None
    names = _known_names(columns)
    return _table_names(columns) if names is None and table else names


def _known_names(columns: Sequence[Column]) -> tuple[str, ...] | None:
    """The names of a header that is one by the names in it."""
    cells = _first_row(columns)
    names = named_cells(cells)
    if names is None:
        return None
    if LABEL not in names and not all(map(is_name, cells)):
        if is_name(cells[-1]) or SPANS.fullmatch(cells[-1]) or not _are_spans(columns[-1][1:]):
            return None
        names = (*names[:-1], LABEL)
    for name, column in zip(names, columns, strict=True):
        if name != WORD and _comes_again(column) and not (name == "pos" and LABEL in names):
            return None
    return names


def _table_names(columns: Sequence[Column]) -> tuple[str, ...] | None:
    """The names of the header of a table whose words have an unknown name; None where it has none.

    Its cells could not be data: each comes once, none is a number or a label of a span, and two are
    names of columns, or below one are nothing but labels of spans or numbers, or all labels again
    and again. The words are then the first column that is nothing else.
    """
    cells, below = _first_row(columns), [column[1:] for column in columns]
    plain = [plain_name(cell) for cell in cells]
    looks_like_data = (cell.isdecimal() or SPANS.fullmatch(cell) for cell in cells)
    if any(looks_like_data) or len(set(plain)) < len(plain) or any(map(_comes_again, columns)):
        return None
    known = sum(bool(cell) and is_name(cell) for cell in cells) >= 2
    if not known and not any(map(_are_spans, below)) and not any(map(_are_numbers, below)):
        labels = np.bincount(below[-1].codes)
        if len(below[-1]) < FEW or (labels == 1).any():
            return None
    names = [
        next((name for name, spelt in OTHERS.items() if cell in spelt), cells[place])
        for place, cell in enumerate(plain)
    ]
    labels_at = [plain.index(name) for name in LABELS if name in plain]
    labels_at += [k for k, column in enumerate(below) if _are_spans(column)]
    free = [
        k
        for k, name in enumerate(names)
        if name not in OTHERS and k not in labels_at and not _are_numbers(below[k])
    ]
    words = next((plain.index(name) for name in WORDS if name in plain), free[0] if free else None)
    if words is None:
        raise CorpusError(_number_fault(below))
    if not labels_at and words < len(names) - 1 and names[-1] not in OTHERS:
        labels_at = [len(names) - 1]
    names[words] = WORD
    if labels_at and labels_at[0] != words:
        names[labels_at[0]] = LABEL
    taken = (WORD, LABEL, "_")
    for place, name in enumerate(names):
        if names.index(name) < place or (name in taken and place not in (words, *labels_at[:1])):
            names[place] = f"c{place}"
    return tuple(names)


def named_cells(cells: Sequence[str]) -> tuple[str, ...] | None:
    """The columns that cells name; None where they do not name words, or are alike.

    >>> named_cells(["Sentence #", "Word", "POS", "Tag"])
    ('sent_id', 'word', 'pos', 'label')
    """
    plain = [plain_name(cell) for cell in cells]
    if len(plain) < 2 or len(set(plain)) < len(plain) or any(map(str.isdecimal, plain)):
        return None
    words, labels = (
        next((plain.index(name) for name in names if name in plain), None)
        for names in (WORDS, LABELS)
    )
    if words is None:
        return None
    names: list[str] = []
    for place, cell in enumerate(plain):
        known = next((name for name, spelt in OTHERS.items() if cell in spelt), None)
        name = WORD if place == words else LABEL if place == labels else known
        fresh = name is not None and name not in names
        names.append(name if fresh and name is not None else cells[place].strip() or f"c{place}")
    taken = {WORD, LABEL, "_"}
    for place, name in enumerate(names):  # "label" may be the name of another column
        if (name in taken and place not in (words, labels)) or names.index(name) < place:
            names[place] = f"c{place}"
    return tuple(names)


def header_spelling(cells: Sequence[str], columns: Sequence[str]) -> list[str]:
    """What the cells of a header that names words call the columns of the corpus read with it.

    >>> header_spelling(["address_id", "token", "field"], ["sent_id", "word", "label"])
    ['address_id', 'token', 'field']
    """
    names = dict(zip(named_cells(cells) or (), cells, strict=True))
    last = next(reversed(names))
    if LABEL not in names and last not in columns:
        names[LABEL] = names[last]
    if SENTENCE in columns and SENTENCE not in names:
        unread = (own for own in names if own not in columns)
        names[SENTENCE] = names.get(next(unread, SENTENCE), SENTENCE)
    return [names.get(name, name) for name in columns]


def is_name(cell: str) -> bool:
    """Whether a cell is what columns are called."""
    plain = plain_name(cell)
    known = (WORDS, LABELS, *OTHERS.values())
    return any(plain in names for names in known) or OURS.fullmatch(plain) is not None


def is_index(columns: Sequence[Column], sentences: Ints) -> bool:
    """Whether the first column counts the tokens, of each sentence or of the file, and is no word.

    It counts from 0 or 1. Where there are two columns, what comes behind must look like words: no
    labels of spans, and more than a third of them different.
    """
    if len(columns) < 2 or len(columns[0]) < 2:
        return False
    first, words = columns[0], columns[1]
    if first.values[first.codes[0]] not in ("0", "1") or _are_spans(words):
        return False
    if len(columns) == 2 and 3 * len(words.used()) <= max(len(words), 9):
        return False
    if not all(map(NUMBER.fullmatch, first.values)):
        return False
    numbers = np.array(first.values, np.int64)[first.codes]
    steps = np.diff(numbers) == 1
    starts = sentences[:-1][np.diff(sentences) > 0]
    inside = np.ones(len(steps), bool)
    inside[starts[1:] - 1] = False
    anew = inside.any() and steps[inside].all() and (numbers[starts] == numbers[0]).all()
    return bool(steps.all() or anew)


def may_differ(cells: Sequence[str]) -> bool:
    """Whether a file that begins with such a row may have other columns than by their number.

    >>> may_differ(["Ada", "NNP", "B-PER"]), may_differ(["1", "Ada", "B-PER"])
    (False, True)
    """
    if len(cells) < 2:
        return False
    named = any(plain_name(cell) in WORDS for cell in cells)
    ends = SPANS.fullmatch(cells[0]) or NO_LABEL.fullmatch(cells[-1])
    return named or cells[0].isdecimal() or ends is not None


def _names(columns: Sequence[Column], counted: bool) -> tuple[str, ...]:
    """The names of columns from the words on; the labels are the last, or those of spans.

    They are those of spans where it is one column alone, and the last can be no labels: nothing or
    numbers with a point, or anything where an index shows that the file is of a kind of its own.
    """
    names = default_names(len(columns))
    if len(columns) == 2 and _are_labels_first(columns):
        return (LABEL, WORD)
    if len(columns) < 3 or len(columns[0]) < 2 or _are_spans(columns[-1]):
        return names
    values = [columns[-1].values[code] for code in columns[-1].used().tolist()]
    if set(values) <= {"_", "?"} or not (counted or all(map(NO_LABEL.fullmatch, values))):
        return names
    spans = [k for k, column in enumerate(columns) if k and _are_spans(column)]
    if len(spans) != 1:
        return names
    others = iter(range(1, len(columns)))
    return tuple(
        WORD if k == 0 else LABEL if k == spans[0] else f"c{next(others)}"
        for k in range(len(columns))
    )


def _are_labels_first(columns: Sequence[Column]) -> bool:
    """Whether the first of two columns has labels of spans, and the second has none."""
    labels = {columns[0].values[code] for code in columns[0].used().tolist()}
    few = 2 * len(labels) <= len(columns[0]) and len(columns[0]) >= FEW
    return few and bool(labels - {"O"}) and _are_spans(columns[0]) and not _are_spans(columns[1])


def _first_row(columns: Sequence[Column]) -> list[str]:
    """The cells of the first row."""
    return [column.values[column.codes[0]] for column in columns]


def _comes_again(column: Column) -> bool:
    """Whether the first value of a column is one further down, too."""
    return bool((column.codes[1:] == column.codes[0]).any())


def _are_numbers(column: Column) -> bool:
    """Whether all values are whole numbers."""
    return all(column.values[code].isdecimal() for code in column.used().tolist())


def _are_no_words(columns: Sequence[Column], table: bool) -> bool:
    """Whether the first column has numbers alone and is not likely to have words.

    In a file that is no table, numbers may be the words of a few lines or of two columns.
    """
    if len(columns) < 2 or not _are_numbers(columns[0]):
        return False
    others = any(not _are_numbers(own) and not _are_spans(own) for own in columns[1:-1])
    return table or (others and len(columns[0]) >= FEW)


def _number_fault(columns: Sequence[Column]) -> str:
    """That the words would be numbers, and the option that says which column has the words."""
    such = (
        "word,label"
        if len(columns) == 2
        else f"{SENTENCE},{','.join(default_names(len(columns) - 1))}"
    )
    return (
        "which column has the words? the first holds only whole numbers, such as "
        f"{_first_row(columns)[0]}; name them all with --columns (columns=), such as {such}"
    )


def _are_spans(column: Column) -> bool:
    """Whether all values are labels of spans, with a prefix or ``O``."""
    used = (column.values[code] for code in column.used().tolist())
    return all(map(SPANS.fullmatch, used))


def plain_name(cell: str) -> str:
    """A cell in lower case, without spaces, hyphens and underscores, if there is more to it."""
    cell = cell.strip().lower()
    return re.sub(r"[ _-]+", "", cell) or cell
