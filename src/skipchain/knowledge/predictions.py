"""What a first model's labels say of a word through its document, as columns."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Column, Corpus
from skipchain.corpus.column import frozen
from skipchain.knowledge.words import Words
from skipchain.schemes import Spans
from skipchain.schemes.labels import split

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LABEL, WORD, ENTITY, LONGER = GIVEN = ("first_label", "first_word", "first_entity", "first_longer")
STEPS = 5  # how finely shares are told apart
LENGTH = 5  # words of a name that may be part of a longer one
NONE = ""


def prediction_columns(
    corpus: Corpus, names: tuple[str, ...], chances: Floats, labels: Ints, spans: Spans
) -> dict[str, Column]:
    """Columns from the probabilities [N, L] of labels, the labels decoded [N], and their spans.

    * ``first_label``: the token's own label.
    * ``first_word``: the likeliest type of the word's other occurrences in the document, and how
      likely it is on average.
    * ``first_entity``: the commonest type of other names with the same words.
    * ``first_longer``: the commonest type of longer names that have these words in them.
    """
    own = Column(frozen(labels.astype(np.int32)), names)
    words = Words(corpus)
    entity, longer = _entities(words, spans)
    return {
        LABEL: own,
        WORD: _elsewhere(words, names, chances),
        ENTITY: entity,
        LONGER: longer,
    }


def _elsewhere(words: Words, names: tuple[str, ...], chances: Floats) -> Column:
    """The likeliest type of a word's other occurrences."""
    kinds = ["O" if name == "O" else split(name)[1] for name in names]
    types = list(dict.fromkeys(kinds))
    member = np.array([[kind == one for one in types] for kind in kinds], np.float64)
    own = chances @ member  # [N, K]
    key = words.document * len(words.folds) + words.fold
    _, group, counts = np.unique(key, return_inverse=True, return_counts=True)
    sums = np.stack([np.bincount(group, own[:, k]) for k in range(len(types))], axis=1)
    others = sums[group] - own
    number = counts[group] - 1
    best = others.argmax(axis=1)
    share = others[np.arange(len(own)), best] / np.maximum(number, 1)
    step = np.minimum((share * STEPS + 1e-6).astype(np.int64), STEPS - 1)
    codes = np.where(number > 0, best * STEPS + step, len(types) * STEPS)
    texts = [f"{one}-{step}" for one in types for step in range(STEPS)]
    return Column(frozen(codes.astype(np.int32)), (*texts, NONE))


def _entities(words: Words, spans: Spans) -> tuple[Column, Column]:
    """The commonest types of other names with the same words, and of longer ones."""
    corpus = words.corpus
    fold = words.fold.tolist()
    same: dict[tuple[int, ...], Counter[str]] = defaultdict(Counter)
    around: dict[tuple[int, ...], Counter[str]] = defaultdict(Counter)
    documents = words.document[spans.starts].tolist() if len(spans) else []
    keys = []
    for document, (start, stop, kind) in zip(documents, spans, strict=True):
        key = (document, *fold[start:stop])
        keys.append(key)
        same[key][kind] += 1
        for a in range(start, stop):
            for b in range(a + 1, min(stop, a + LENGTH) + 1):
                if b - a < stop - start:
                    around[(document, *fold[a:b])][kind] += 1
    entity, longer = [NONE] * corpus.n_tokens, [NONE] * corpus.n_tokens
    for key, (start, stop, kind) in zip(keys, spans, strict=True):
        others = same[key] - Counter([kind])
        wider = around.get(key)
        for found, into in ((others, entity), (wider, longer)):
            if found:
                best = min(found, key=lambda one: (-found[one], one))
                into[start:stop] = [f"{best}-{min(found[best], 3)}"] * (stop - start)
    return Column.encode(entity), Column.encode(longer)
