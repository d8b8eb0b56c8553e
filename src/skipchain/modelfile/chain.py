"""Chain models in model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import Arrays
from skipchain.chains.scores import has_trigram_tables
from skipchain.features.label_ngrams import HIGHEST_ORDER, ngram_limit
from skipchain.features.label_trigrams import ANY, row_limit
from skipchain.features.strings import strings_from_arrays, strings_schema, strings_to_arrays
from skipchain.features.vocabulary import Vocabulary
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import dense, read_weights, sparse, weight_arrays, weight_schema
from skipchain.models.base.inputs import Features
from skipchain.models.chain.model import ChainModel
from skipchain.schema.arrays import INCREASING, ArraySchema, sparse_schema
from skipchain.schema.fields import Field, Flag, Nullable, Whole

if TYPE_CHECKING:
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.label_trigrams import LabelTrigrams
    from skipchain.features.tag_dictionary import TagDictionary

FIELDS: dict[str, Field] = {
    "local": Flag(),
    "order": Whole(1, HIGHEST_ORDER),
    "dictionary": Nullable(Whole(1)),
}
"""What the header of a chain model has beside what all models have."""
OPTIONAL_FIELDS: dict[str, Field] = {"stop": Flag()}
"""What it may have; files of earlier versions have none of it."""


def header_and_arrays(model: ChainModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a chain model holds beside labels and features."""
    arrays = weight_arrays("weights", model.weights)
    if model.dictionary is not None:
        arrays |= strings_to_arrays("dictionary", model.dictionary.words)
        arrays["dictionary.labels"] = np.packbits(model.dictionary.labels, axis=1)
    if model.label_ngrams is not None:
        arrays["histories.contexts"] = model.label_ngrams.ngrams
        arrays |= sparse("histories.weights", model.label_ngrams.weights)
    if model.history_weights is not None:
        arrays["recalled"] = model.history_weights
    if model.label_trigrams is not None:
        arrays["trigrams.rows"] = model.label_trigrams.rows
        arrays |= sparse("trigrams.weights", model.label_trigrams.weights)
    if model.stop is not None:
        arrays["stop"] = model.stop
    header = {
        "local": model.local,
        "order": model.order,
        "dictionary": None if model.dictionary is None else model.dictionary.min_count,
    }
    return header if model.stop is None else {**header, "stop": True}, arrays


def array_schema(stored: StoredModel) -> dict[str, ArraySchema]:
    """What the arrays of a chain model with such a header and such features must be."""
    n_labels, order = len(stored.header["labels"]), stored.header["order"]
    schema = weight_schema("weights", *_sizes(stored))
    if stored.header["dictionary"] is not None:
        schema |= strings_schema("dictionary", "words")
        schema["dictionary.labels"] = ArraySchema("uint8", ("words", (n_labels + 7) // 8))
    if order > 2:
        limit = ngram_limit(n_labels, order)
        contexts = ArraySchema("int64", ("contexts",), least=0, below=limit, order=INCREASING)
        schema["histories.contexts"] = contexts
        size = len(stored.arrays.get("histories.contexts", ()))
        schema |= sparse_schema("histories.weights", (size, n_labels))
    if _has_history(stored.features):
        schema["recalled"] = ArraySchema("float64", (n_labels, n_labels))
    if _has_trigrams(stored.features):
        row_limit(stored.features.n_trigram_features, n_labels)
        below = (stored.features.n_trigram_features, n_labels + 1, n_labels + 1)
        shape = ("label trigrams", 3)
        schema["trigrams.rows"] = ArraySchema("int64", shape, least=ANY, below=below)
        size = len(stored.arrays.get("trigrams.rows", ()))
        schema |= sparse_schema("trigrams.weights", (size, n_labels))
    if stored.header.get("stop", False):
        before = () if order == 1 else (n_labels + 1,)
        schema["stop"] = ArraySchema("float64", (*before, n_labels))
    return schema


def read(stored: StoredModel) -> ChainModel:
    """The inverse of `header_and_arrays`, of arrays that keep to `array_schema`."""
    header, arrays = stored.header, stored.arrays
    n_labels, order = len(header["labels"]), header["order"]
    history = _has_history(stored.features)
    if len(header["summary"].get("unknown", header["labels"])) != n_labels:
        raise ValueError(f"summary.unknown has not one number for each of {n_labels} labels")
    if history and order > 2:
        raise ValueError(f"a model with a label history has order 1 or 2, not {order}")
    if _has_trigrams(stored.features) and (order < 2 or history):
        raise ValueError("a model that looks two labels back has order 2 or more, and no history")
    if _has_trigrams(stored.features) and not has_trigram_tables(n_labels):
        raise ValueError(f"{n_labels:,} labels are too many for a model that looks two labels back")
    return ChainModel(
        **stored.common,
        weights=read_weights("weights", arrays, *_sizes(stored)),
        local=header["local"],
        dictionary=_dictionary(header["dictionary"], arrays, n_labels),
        label_ngrams=_label_ngrams(order, arrays, n_labels),
        history_weights=arrays["recalled"] if history else None,
        label_trigrams=_label_trigrams(stored, n_labels),
        stop=arrays["stop"] if header.get("stop", False) else None,
    )


def _sizes(stored: StoredModel) -> tuple[int, int, int, int]:
    """The sizes of the tables of weights: features, features of label pairs, labels, order."""
    features = stored.features
    n_labels, order = len(stored.header["labels"]), stored.header["order"]
    return features.n_features, features.n_edge_features, n_labels, order


def _has_history(features: Features) -> bool:
    return isinstance(features, Vocabulary) and features.templates.label_history is not None


def _has_trigrams(features: Features) -> bool:
    return isinstance(features, Vocabulary) and features.templates.trigram is not None


def _label_trigrams(stored: StoredModel, n_labels: int) -> LabelTrigrams | None:
    features, arrays = stored.features, stored.arrays
    if not _has_trigrams(features):
        return None
    from skipchain.features.label_trigrams import LabelTrigrams

    weights = dense("trigrams.weights", arrays, (len(arrays["trigrams.rows"]), n_labels))
    trigrams = LabelTrigrams(arrays["trigrams.rows"], features.trigram_has_previous, weights)
    if not trigrams.well_formed:
        raise ValueError("trigrams.rows are not sorted, or do not fit their templates")
    return trigrams


def _dictionary(min_count: int | None, arrays: Arrays, n_labels: int) -> TagDictionary | None:
    if min_count is None:
        return None
    words = strings_from_arrays("dictionary", arrays)
    packed = arrays["dictionary.labels"]
    labels = np.unpackbits(packed, axis=1, count=n_labels).astype(np.bool_)
    if not labels.any(axis=1).all():
        raise ValueError("the dictionary has a word without labels")
    from skipchain.features.tag_dictionary import TagDictionary

    return TagDictionary(words, labels, min_count)


def _label_ngrams(order: int, arrays: Arrays, n_labels: int) -> LabelNgrams | None:
    if order <= 2:
        return None
    contexts = arrays["histories.contexts"]
    from skipchain.features.label_ngrams import LabelNgrams

    return LabelNgrams(
        order, contexts, dense("histories.weights", arrays, (len(contexts), n_labels))
    )
