"""Chain models in model files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import Arrays, Floats
from skipchain.features.strings import strings_from_arrays, strings_to_arrays
from skipchain.features.vocabulary import Vocabulary
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import dense, read_weights, sparse, weight_arrays
from skipchain.models.base.inputs import Features
from skipchain.models.chain.model import ChainModel

if TYPE_CHECKING:
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.tag_dictionary import TagDictionary


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
    header = {
        "local": model.local,
        "order": model.order,
        "dictionary": None if model.dictionary is None else model.dictionary.min_count,
    }
    return header, arrays


def read(stored: StoredModel) -> ChainModel:
    """The inverse of `header_and_arrays`, checked."""
    header, arrays, features = stored.header, stored.arrays, stored.features
    n_labels, order = len(header["labels"]), int(header["order"])
    sizes = (features.n_features, features.n_edge_features, n_labels, order)
    return ChainModel(
        **stored.common,
        weights=read_weights("weights", arrays, *sizes),
        local=bool(header["local"]),
        dictionary=_dictionary(header["dictionary"], arrays, n_labels),
        label_ngrams=_label_ngrams(order, arrays, n_labels),
        history_weights=_history_weights(features, arrays, n_labels),
    )


def _dictionary(min_count: int | None, arrays: Arrays, n_labels: int) -> TagDictionary | None:
    if min_count is None:
        return None
    words = strings_from_arrays("dictionary", arrays)
    packed = arrays["dictionary.labels"]
    if packed.dtype != np.uint8 or packed.shape != (len(words), (n_labels + 7) // 8):
        raise ValueError(f"the dictionary has {packed.shape} labels for {len(words)} words")
    labels = np.unpackbits(packed, axis=1, count=n_labels).astype(np.bool_)
    if not labels.any(axis=1).all():
        raise ValueError("the dictionary has a word without labels")
    from skipchain.features.tag_dictionary import TagDictionary

    return TagDictionary(words, labels, int(min_count))


def _history_weights(features: Features, arrays: Arrays, n_labels: int) -> Floats | None:
    if not isinstance(features, Vocabulary) or features.templates.label_history is None:
        return None
    weights = arrays["recalled"]
    if weights.dtype != np.float64 or weights.shape != (n_labels, n_labels):
        raise ValueError(f"the weights of the history are {weights.shape} for {n_labels} labels")
    if not np.isfinite(weights).all():
        raise ValueError("the weights of the history are not all finite")
    return weights


def _label_ngrams(order: int, arrays: Arrays, n_labels: int) -> LabelNgrams | None:
    if order <= 2:
        return None
    contexts = arrays["histories.contexts"]
    if contexts.dtype != np.int64 or contexts.ndim != 1 or (np.diff(contexts) <= 0).any():
        raise ValueError("the histories are not sorted")
    weights = dense("histories.weights", arrays, (len(contexts), n_labels))
    if not np.isfinite(weights).all():
        raise ValueError("the histories' weights are not all finite")
    from skipchain.features.label_ngrams import LabelNgrams

    return LabelNgrams(order, contexts, weights)
