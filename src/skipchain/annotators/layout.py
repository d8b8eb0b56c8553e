"""The layout of a document: headline, date, body, its topic, and the rows of its tables."""

from __future__ import annotations

import numpy as np

from skipchain.annotators.casing import TokenCasing
from skipchain.arrays import Bools, members
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.features.views import shortshape
from skipchain.kernels.intern import empty_slots, number_tuples

MAX_ROW_LOWERCASE = 0.25  # a sentence with a smaller share of lower-case words is a table's row
ROW_PATTERN_WORDS = 6  # words of a row that make its pattern


def zones(words: TokenCasing) -> Column:
    """Where in its document a sentence stands, and what kind of sentence it is."""
    corpus = words.corpus
    lengths = np.diff(corpus.sentences)
    first = np.repeat(corpus.documents[:-1], np.diff(corpus.documents))
    number = np.arange(len(lengths)) - first
    place = np.select([number == 0, (number == 1) & (lengths <= 4), number < 4], [0, 1, 2], 3)
    kind = np.select([words.sentence_is_upper, _is_row(words)], [0, 1], 2)
    size = np.select([lengths == 1, lengths < 6], [0, 1], 2)
    digits = (words.sentence_share(words.has_digit) > 0.3).astype(np.int64)
    codes = ((place * 3 + kind) * 3 + size) * 2 + digits
    names = [
        f"{place}-{kind}{size}{digits}"
        for place in ("head", "date", "top", "body")
        for kind in ("capitals", "row", "text")
        for size in ("-one", "-few", "")
        for digits in ("", "-digits")
    ]
    return Column(frozen(codes[words.sentence_ids].astype(np.int32)), tuple(names))


def patterns(words: TokenCasing) -> Column:
    """The shapes of the first words of a sentence with few words in lower case, and a place in it.

    Rows of a table have one pattern, and each column of the table its place.
    """
    corpus, size = words.corpus, ROW_PATTERN_WORDS
    column = corpus.words
    shapes = Column.encode([str(shape) for shape in shortshape(column.values)])
    lengths = np.diff(corpus.sentences)
    chosen = np.flatnonzero((words.sentence_is_upper | _is_row(words)) & (lengths > 0))
    first, lengths = corpus.sentences[chosen], lengths[chosen]
    within = np.minimum(np.arange(size), lengths[:, None] - 1)
    keys = shapes.codes[column.codes[first[:, None] + within]] + 1
    keys[np.arange(size) >= lengths[:, None]] = 0
    keys = np.column_stack([keys, lengths > size]).astype(np.int32)
    numbers, rows, _ = number_tuples(keys, empty_slots(len(keys)))
    row_patterns = [
        "_".join(shapes.values[k - 1] for k in shape if k) + ("+" if longer else "")
        for *shape, longer in rows.tolist()
    ]
    tokens = members(corpus.sentences, chosen)
    place = np.minimum(tokens - np.repeat(first, lengths), size)
    cells = np.repeat(numbers, lengths).astype(np.int64) * (size + 1) + place
    distinct, inverse = np.unique(cells, return_inverse=True)
    codes = np.zeros(corpus.n_tokens, np.int32)
    codes[tokens] = inverse + 1
    pairs = (divmod(cell, size + 1) for cell in distinct.tolist())
    return Column(frozen(codes), ("", *(f"{row_patterns[row]}@{place}" for row, place in pairs)))


def _is_row(words: TokenCasing) -> Bools:
    """Whether so few words of a sentence are in lower case that it is a table's row. [M]"""
    rows: Bools = words.sentence_share(words.is_lowercase) < MAX_ROW_LOWERCASE
    return rows


def topics(words: TokenCasing) -> Column:
    """The first word of a document's headline, where a dash follows within two words."""
    corpus = words.corpus
    column = corpus.words
    dash = np.array([value in ("-", "--", "–", "—", ":") for value in column.values], np.bool_)
    starts = corpus.sentences[np.minimum(corpus.documents[:-1], len(corpus))]
    after = corpus.sentences[np.minimum(corpus.documents[:-1] + 1, len(corpus))]
    codes = np.full(corpus.n_documents, len(column.values), np.int64)
    for ahead in (2, 1):
        at = np.flatnonzero(starts + ahead < after)
        named = at[dash[column.codes[starts[at] + ahead]]]
        codes[named] = column.codes[starts[named]]
    return Column(frozen(codes[words.document_ids].astype(np.int32)), (*column.values, "<none>"))
