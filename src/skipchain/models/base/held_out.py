"""Labelled data that training does not see, encoded once and scored again and again."""

from __future__ import annotations

from typing import Any

from skipchain.corpus import Corpus
from skipchain.corpus.schemes import decode
from skipchain.metrics import entity_scores, token_scores
from skipchain.metrics.token import require_known
from skipchain.models.base.inputs import as_input, label_column
from skipchain.models.base.model import AnyModel
from skipchain.parallel import Workers


class HeldOut:
    """Held-out data as a model sees them."""

    def __init__(self, model: AnyModel, given: Any, labels: Any) -> None:
        held = as_input(given)
        self._gold = label_column(held, labels)
        require_known(self._gold, "held-out")
        self._scheme = held.scheme if isinstance(held, Corpus) and labels is None else None
        self._data = model.dataset(held)

    def score(self, model: AnyModel, workers: Workers) -> float:
        """Entity F1 in percent, or token accuracy where the labels have no scheme."""
        offsets = self._data.offsets
        labels = model.decode(model.score_dataset(self._data, workers), workers)
        if model.encoding is None or model.scheme is None:
            return token_scores(self._gold, labels, offsets).accuracy
        gold = decode(self._gold, offsets, self._scheme or model.scheme)
        return entity_scores(gold, model.spans(labels, offsets)).micro.f1
