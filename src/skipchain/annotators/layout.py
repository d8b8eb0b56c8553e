"""How a document is laid out: its parts, its topic, and the rows of its tables."""

from __future__ import annotations

import numpy as np

from skipchain.annotators.casing import TokenCasing
from skipchain.corpus import Column
from skipchain.corpus.column import frozen
from skipchain.features.views import shortshape
from skipchain.kernels.intern import empty_slots, number_tuples

TABLE_ROW_LOWERCASE_SHARE = (
    0.25  # the share of words in lower case below which a sentence is a row of a table
)
ROW_PATTERN_WORDS = 6  # words of a row that make its pattern


def zones(words: TokenCasing) -> Column:
    """Where in its document a sentence stands, and what kind of sentence it is."""
    corpus = words.corpus
    lengths = np.diff(corpus.sentences)
    first = np.repeat(corpus.documents[:-1], np.diff(corpus.documents))
    number = np.arange(len(lengths)) - first
    place = np.select([number == 0, (number == 1) & (lengths <= 4), number < 4], [0, 1, 2], 3)
    kind = np.select(
        [
            words.sentence_is_upper,
            words.sentence_share(words.is_lowercase) < TABLE_ROW_LOWERCASE_SHARE,
        ],
        [0, 1],
        2,
    )
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
    corpus = words.corpus
    own = corpus.words
    shapes = Column.encode([str(shape) for shape in shortshape(own.values)])
    chosen = np.flatnonzero(
        (
            words.sentence_is_upper
            | (words.sentence_share(words.is_lowercase) < TABLE_ROW_LOWERCASE_SHARE)
        )
        & (np.diff(corpus.sentences) > 0)
    )
    first, lengths = corpus.sentences[chosen], np.diff(corpus.sentences)[chosen]
    places = np.minimum(
        first[:, None] + np.arange(ROW_PATTERN_WORDS), first[:, None] + lengths[:, None] - 1
    )
    keys = np.where(
        np.arange(ROW_PATTERN_WORDS) < lengths[:, None], shapes.codes[own.codes[places]] + 1, 0
    )
    keys = np.column_stack([keys, lengths > ROW_PATTERN_WORDS]).astype(np.int32)
    numbers, rows, _ = number_tuples(keys, empty_slots(len(keys)))
    tokens = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    place = np.minimum(tokens - np.repeat(first, lengths), ROW_PATTERN_WORDS)
    used, cells = np.unique(
        np.repeat(numbers, lengths).astype(np.int64) * (ROW_PATTERN_WORDS + 1) + place,
        return_inverse=True,
    )
    told = [
        "_".join(shapes.values[k - 1] for k in row[:ROW_PATTERN_WORDS] if k)
        for row in rows.tolist()
    ]
    more = ["+" if row[ROW_PATTERN_WORDS] else "" for row in rows.tolist()]
    codes = np.zeros(corpus.n_tokens, np.int32)
    codes[tokens] = cells + 1
    places = [divmod(k, ROW_PATTERN_WORDS + 1) for k in used.tolist()]
    texts = [f"{told[row]}{more[row]}@{place}" for row, place in places]
    return Column(frozen(codes), ("", *texts))


def topics(words: TokenCasing) -> Column:
    """The first word of a document's headline, where a dash follows within two words."""
    corpus = words.corpus
    own = corpus.words
    dash = np.array([value in ("-", "--", "–", "—", ":") for value in own.values], np.bool_)
    starts = corpus.sentences[np.minimum(corpus.documents[:-1], len(corpus))]
    after = corpus.sentences[np.minimum(corpus.documents[:-1] + 1, len(corpus))]
    codes = np.full(corpus.n_documents, len(own.values), np.int64)
    for ahead in (2, 1):
        at = np.flatnonzero(starts + ahead < after)
        named = at[dash[own.codes[starts[at] + ahead]]]
        codes[named] = own.codes[starts[named]]
    return Column(frozen(codes[words.document_ids].astype(np.int32)), (*own.values, "<none>"))
