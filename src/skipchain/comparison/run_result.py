"""The result of training and tagging with one entry: predicted labels, times and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.corpus import Column
from skipchain.corpus.column import frozen


@dataclass(frozen=True, slots=True)
class RunResult:
    """The measurements of one run, from which scores and tables are computed.

    ``labels`` are the predicted labels of the test data by decoder, first the model's default
    (Viterbi, but a beam where the order is above 2), written in ``scheme``; ``decoding_seconds`` is
    the time each decoder took for scores and search, with the features at hand. ``tagging_seconds``
    is the time from words to labels. ``memory`` is the most that the process held, in bytes (None
    where the system does not tell).
    """

    labels: Mapping[str, Column]
    scheme: str | None
    decoding_seconds: Mapping[str, float]
    training_seconds: float
    tagging_seconds: float
    memory: int | None
    features: int
    parameters: int
    weights: int
    iterations: int
    stopped: str
    dev: float | None = None

    @property
    def decoder(self) -> str:
        """The model's default decoder."""
        return next(iter(self.labels))

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON can hold it."""
        content = {name: getattr(self, name) for name in self.__slots__}
        content["labels"] = {
            decoder: {"values": list(labels.values), "codes": labels.codes.tolist()}
            for decoder, labels in self.labels.items()
        }
        return content

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> RunResult:
        """The result that `as_dict` has written."""
        labels = {
            decoder: Column(frozen(np.array(column["codes"], np.int32)), tuple(column["values"]))
            for decoder, column in written["labels"].items()
        }
        return cls(**{**written, "labels": labels})
