"""A small model as another package would bring it: each word has the labels it was seen with.

It is what `docs/architecture.md` names for a new model: an estimator, a model, the form of its
files, and a `ModelKind` that an entry point names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skipchain.arrays import Arrays, Bools, Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_marginals import DECODERS, decode_marginals
from skipchain.chains.sums import table_scores
from skipchain.checks import check_number
from skipchain.corpus import Column, Corpus
from skipchain.learn.step import OptimisationResult
from skipchain.modelfile.forms import ModelForm
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import Features, encode
from skipchain.models.base.model import BEAM, Model
from skipchain.models.base.summary import label_features
from skipchain.models.base.task import Fitted, TrainingTask
from skipchain.models.registry import ModelKind
from skipchain.parallel import Workers
from skipchain.schema.arrays import ArraySchema
from skipchain.schema.fields import Number


@dataclass(frozen=True)
class WordShares:
    """The shares of labels at each token."""

    offsets: Ints
    marginals: Floats  # [N, L]
    unknown: int


@dataclass(frozen=True)
class WordCountModel(Model[Dataset, WordShares]):
    """How often each word had each label; unknown words have the labels of all words."""

    form = "word-counts"

    kind: str
    labels: tuple[str, ...]
    features: Features
    counts: Floats  # [F, L]
    smoothing: float
    scheme: str | None = None
    encoding: str | None = None
    constrained: bool = True
    summary: Mapping[str, Any] = field(default_factory=dict)

    def dataset(self, given: Corpus | Sequence[Any], workers: Workers | None = None) -> Dataset:
        return Dataset(*encode(self.features, given, workers))

    def score_dataset(
        self, data: Dataset, workers: Workers, allowed: Bools | None = None
    ) -> WordShares:
        shares = table_scores(data.rows, self.counts, workers)
        shares += self.smoothing * (self.counts.sum(axis=0) + 1.0)
        if allowed is not None:
            shares = np.where(allowed, shares, 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        return WordShares(data.offsets, shares, data.rows.unknown)

    def decode(
        self, scores: WordShares, workers: Workers, decoder: str | None = None, beam: int = BEAM
    ) -> Column:
        self.check_decoder(decoder, beam)
        codes = decode_marginals(
            scores.marginals, scores.offsets, self.constraints, decoder or DECODERS[0], workers
        )
        return Column(codes, self.labels)

    def marginals(self, scores: WordShares, workers: Workers) -> Floats:
        return scores.marginals

    @property
    def decoders(self) -> tuple[str, ...]:
        return DECODERS

    @property
    def exact(self) -> bool:
        return False

    @property
    def n_nonzero(self) -> int:
        return int(np.count_nonzero(self.counts))

    def pruned(self) -> WordCountModel:
        return self

    def _family_summary(self, top: int, labels: Sequence[str]) -> dict[str, Any]:
        names = self.features.names()
        return {"labels": label_features(self.counts, self.labels, labels, names, top)}


class WordCounts(BaseEstimator):
    """Counts the labels of each word.

    Parameters
    ----------
    smoothing
        What the labels of all words count beside those of the word.
    features, encoding, min_count, constraints, seed, scheme, functions, threads
        As for `CRF`.
    """

    kind = "word-counts"
    smoothing: float

    def __init__(
        self,
        features: Any = "word",
        *,
        smoothing: float = 1e-6,
        encoding: str | None = "bioes",
        min_count: int = 1,
        constraints: str = "decoding",
        seed: int = 0,
        scheme: str | None = None,
        functions: Any = None,
        threads: int | None = None,
    ) -> None:
        self._keep(locals())

    @property
    def decoders(self) -> tuple[str, ...]:
        return DECODERS

    def _check(self) -> None:
        super()._check()
        check_number("smoothing", self.smoothing)

    def _train(self, task: TrainingTask) -> Fitted:
        known, scheme, encoding = self._labels(task.given, task.labels)
        features, rows, offsets = task.features(self.min_count)
        labels, _ = known.to_codes(known.names)
        index = rows.expanded()
        counts = np.zeros((features.n_features, len(known.names)))
        np.add.at(counts, (index.indices, labels[index.row_ids]), 1.0)
        model = WordCountModel(
            self.kind, known.names, features, counts, self.smoothing, scheme, encoding,
            self.constraints != "none",
        )  # fmt: skip
        result = OptimisationResult(counts.ravel(), 0.0, 1, 1, "counted")
        return Fitted(model, result, counts.size, len(labels), len(offsets) - 1)


def write(model: WordCountModel) -> tuple[dict[str, Any], Arrays]:
    """What a model file holds of the model beside labels and features."""
    return {"smoothing": model.smoothing}, {"counts": model.counts}


def read(stored: StoredModel) -> WordCountModel:
    """The inverse of `write`; header and arrays have been checked by the schema."""
    smoothing = stored.header["smoothing"]
    return WordCountModel(**stored.common, counts=stored.arrays["counts"], smoothing=smoothing)


COUNTS = ArraySchema("float64", ("features", "labels"), least=0)
FORM = ModelForm({"counts": COUNTS}, write, read, fields={"smoothing": Number(0.0)})
KIND = ModelKind(
    "word-counts",
    f"{__name__}:WordCounts",
    "each word has the labels it was seen with",
    form=f"{__name__}:FORM",
)
