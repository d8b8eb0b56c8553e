"""The predictions of a base model as columns, for stacking: also those elsewhere in a document."""

from __future__ import annotations

import numpy as np

from skipchain.annotators.casing import TokenCasing
from skipchain.arrays import Floats, Ints
from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.corpus.schemes import Spans
from skipchain.corpus.schemes.labels import split
from skipchain.kernels.occurrences import likeliest_elsewhere

COLUMN_NAMES = ("first_label", "first_word", "first_entity", "first_longer")
LABEL, WORD, ENTITY, LONGER = COLUMN_NAMES
PROBABILITY_BINS = 5
MAX_COUNT = 3  # of names of a type; larger counts are the same value
MAX_NAME_WORDS = 5  # of a name that may be part of a longer one
NONE = ""


def prediction_columns(
    corpus: Corpus, names: tuple[str, ...], probabilities: Floats, labels: Ints, spans: Spans
) -> dict[str, Column]:
    """Columns from the label probabilities [N, L] of a base model, its labels [N] and their spans.

    * ``first_label``: the predicted label of the token.
    * ``first_word``: the likeliest type of the word's other occurrences in the document, and how
      likely it is on average.
    * ``first_entity``: the commonest type of other names with the same words.
    * ``first_longer``: the commonest type of longer names that have these words in them.
    """
    words = TokenCasing(corpus)
    entity, longer = _entity_columns(words, spans)
    return {
        LABEL: Column(frozen(labels.astype(np.int32)), names),
        WORD: _other_occurrences(words, names, probabilities),
        ENTITY: entity,
        LONGER: longer,
    }


def _other_occurrences(words: TokenCasing, names: tuple[str, ...], probabilities: Floats) -> Column:
    """The likeliest type of a word's other occurrences."""
    kinds = ["O" if name == "O" else split(name)[1] for name in names]
    types = list(dict.fromkeys(kinds))
    member = np.array([[kind == type_name for type_name in types] for kind in kinds], np.float64)
    by_type = probabilities @ member  # [N, K]
    codes = likeliest_elsewhere(words.document_words, by_type, PROBABILITY_BINS)
    texts = [f"{type_name}-{step}" for type_name in types for step in range(PROBABILITY_BINS)]
    return Column(frozen(codes), (*texts, NONE))


def _entity_columns(words: TokenCasing, spans: Spans) -> tuple[Column, Column]:
    """The commonest types of other names with the same words, and of longer ones."""
    fold = words.lowercase_ids.tolist()
    starts, stops = spans.starts.tolist(), spans.stops.tolist()
    documents = words.document_ids[spans.starts].tolist() if len(spans) else []
    numbers: dict[tuple[int, ...], int] = {}
    places = zip(documents, starts, stops, strict=True)
    entities = [numbers.setdefault((d, *fold[a:b]), len(numbers)) for d, a, b in places]
    inner: list[int] = []
    outer: list[int] = []
    for k in np.flatnonzero(spans.stops - spans.starts > 1).tolist():
        start, stop = starts[k], stops[k]
        for a in range(start, stop):
            for b in range(a + 1, min(stop, a + MAX_NAME_WORDS) + 1):
                if b - a < stop - start:
                    number = numbers.get((documents[k], *fold[a:b]))
                    if number is not None:
                        inner.append(number)
                        outer.append(k)
    order = np.argsort(spans.names)  # of equally common types the first by name
    kinds = np.argsort(order)[spans.types] if len(spans) else np.zeros(0, np.int64)
    names = [spans.names[k] for k in order.tolist()]
    same = np.zeros((len(numbers), len(names)), np.int64)
    entity = np.array(entities, np.int64)
    np.add.at(same, (entity, kinds), 1)
    around = np.zeros_like(same)
    np.add.at(around, (np.array(inner, np.int64), kinds[np.array(outer, np.int64)]), 1)
    others = same[entity]
    others[np.arange(len(entity)), kinds] -= 1
    longer = _span_column(words, spans, names, around[entity])
    return _span_column(words, spans, names, others), longer


def _span_column(words: TokenCasing, spans: Spans, names: list[str], counts: Ints) -> Column:
    """The commonest type of each span's others and how many, at the tokens of the span."""
    codes = np.zeros(words.corpus.n_tokens, np.int32)
    if len(spans):
        best = counts.argmax(axis=1)
        number = np.minimum(counts.max(axis=1), MAX_COUNT)
        values = np.where(number > 0, best * MAX_COUNT + number, 0).astype(np.int32)
        codes[spans.tokens()] = np.repeat(values, spans.lengths)
    texts = [f"{name}-{number}" for name in names for number in range(1, MAX_COUNT + 1)]
    return Column(frozen(codes), (NONE, *texts))
