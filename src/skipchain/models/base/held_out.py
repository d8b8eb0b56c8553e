"""Labelled data that training does not see, encoded once and scored again and again."""

from __future__ import annotations

from typing import Any

from skipchain.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME, decode
from skipchain.corpus.schemes.labels import split
from skipchain.metrics import entity_scores, token_scores
from skipchain.metrics.token import require_known
from skipchain.models.base.inputs import label_column
from skipchain.models.base.labelled import labelled
from skipchain.models.base.model import AnyModel
from skipchain.parallel import Workers


class HeldOut:
    """Held-out data as a model sees them."""

    def __init__(self, model: AnyModel, given: Any, labels: Any) -> None:
        held, labels = labelled(given, labels, otherwise=model.scheme or NO_SCHEME)
        self._gold = label_column(held, labels)
        require_known(self._gold, "held-out")
        self._scheme = held.scheme if isinstance(held, Corpus) else None
        self._data = model.dataset(held)

    def digest(self) -> str:
        """What tells these data from others."""
        from skipchain.learn.resuming import digest

        return digest(self._data) + digest(self._gold.codes)

    def score(self, model: AnyModel, workers: Workers) -> float:
        """Entity F1 in percent, or token accuracy where the labels have no scheme."""
        offsets = self._data.offsets
        labels = model.decode(model.score_dataset(self._data, workers), workers)
        if not counts_spans(model):
            return token_scores(self._gold, labels, offsets).accuracy
        scheme = self._scheme or model.scheme
        assert scheme is not None
        gold = decode(self._gold, offsets, scheme)
        return entity_scores(gold, model.spans(labels, offsets)).micro.f1


def accuracy_reason(model: AnyModel) -> str | None:
    """Why a model's score is the accuracy of tokens; None where it is the F1 of spans."""
    if counts_spans(model):
        return None
    like = next((label for label in model.labels if split(label)[0]), None)
    if like is None:
        return "the labels that the model learnt mark no spans"
    return (
        f"the model was fitted to labels such as {like!r} without their scheme; for the F1 of "
        "spans name it (scheme='iob2'), or fit to a Corpus"
    )


def counts_spans(model: AnyModel) -> bool:
    """Whether a model's score is the F1 of spans."""
    return model.encoding is not None and model.scheme is not None
