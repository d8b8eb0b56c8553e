"""Stacking: what a base model predicts becomes columns that the features of the next one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.annotators.predictions import COLUMN_NAMES, prediction_columns
from skipchain.arrays import Arrays, Floats, Ints
from skipchain.corpus import Column, Corpus
from skipchain.corpus.schemes import decode
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.annotator import Columns
from skipchain.learn.step import INTERRUPTED
from skipchain.models.base.crossfit import Fold, cross_predict, deal, predictions
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.model import AnyModel, Model
from skipchain.models.base.progress import Progress, StageProgress
from skipchain.parallel import Workers
from skipchain.schema.fields import Field, Whole

NO_SPANS_MESSAGE = (
    "a base model tells of names, and its labels mark no spans; give the scheme of the labels, "
    "such as iob2, or do without stacking (the recipe ner-knowledge has none)"
)


@dataclass(frozen=True, slots=True, eq=False)
class StackedPredictions:
    """An annotator: the predictions of a base model through a document, as columns.

    In training, every fold of documents is labelled by a model that has learnt from the others, so
    that the next model sees predictions as good and as bad as it will see later. The base model
    that is kept has learnt from all.

    The base model reads the columns of the annotators before this one; it needs none of its own.
    """

    kind: ClassVar[str] = "first_stage"
    config_fields: ClassVar[Mapping[str, Field]] = {"folds": Whole(2), "seed": Whole()}

    base: BaseEstimator | AnyModel
    folds: int = 5
    seed: int = 0

    @property
    def provides(self) -> tuple[str, ...]:
        """The names of the columns."""
        return COLUMN_NAMES

    @property
    def description(self) -> str:
        """What the annotator knows, in a few words."""
        return f"what a base model says ({self.base.kind})"

    def fit(self, corpus: Corpus, progress: Progress | None = None) -> tuple[Self, Columns]:
        """With a fitted base model, and what models that have not seen a document say of it."""
        if isinstance(self.base, Model):
            return self, self.columns(corpus, Workers(1))
        if not corpus.labelled:
            raise CorpusError("stacking needs the labels in the corpus itself")
        if corpus.scheme is None:
            raise CorpusError(NO_SPANS_MESSAGE)
        if corpus.n_documents < self.folds:
            raise ParameterError(
                f"{self.folds} folds for stacking need as many documents, and the corpus has "
                f"{corpus.n_documents}; mark where documents begin, or use fewer folds, at least 2"
            )
        folds = deal(corpus, self.folds, self.seed, by_documents=True)
        base = self._fit_base(corpus, progress, "the base model")

        def fit(fold: Fold) -> AnyModel:
            return self._fit_base(fold.training()[0], progress, fold.stage("stacking"))

        # a display shows one training after the other
        with Workers(1 if progress is not None else self.base.threads) as workers:
            marginals, labels = cross_predict(folds, fit, base.labels, side_by_side=workers)
        return replace(self, base=base), _columns(base, corpus, marginals, labels)

    def _fit_base(self, corpus: Corpus, progress: Progress | None, stage: str) -> AnyModel:
        """The base model of a corpus; an interrupt ends all of it."""
        assert isinstance(self.base, BaseEstimator)
        fitted = self.base.replaced().fit(corpus, progress=StageProgress.of(progress, stage))
        if fitted.result_.reason == INTERRUPTED:
            raise KeyboardInterrupt
        return fitted.fitted

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """What the base model says."""
        if not isinstance(self.base, Model):
            raise CorpusError("the base model of stacking is not fitted yet")
        found = predictions(self.base, corpus.without_labels(), self.base.labels, workers)
        return _columns(self.base, corpus, *found)

    def config(self) -> dict[str, Any]:
        """Settings, as JSON can hold them."""
        return {"folds": self.folds, "seed": self.seed}

    def arrays(self) -> Arrays:
        """The model is kept by the model file itself."""
        return {}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], model: AnyModel) -> StackedPredictions:
        """The inverse of `config`, with the model that the file has kept."""
        return cls(model, config["folds"], config["seed"])


def _columns(model: AnyModel, corpus: Corpus, marginals: Floats, labels: Ints) -> Columns:
    column = Column(labels.astype(np.int32), model.labels)
    if model.encoding is None:
        raise CorpusError(NO_SPANS_MESSAGE)
    spans = decode(column, corpus.sentences, model.encoding)
    return prediction_columns(corpus, model.labels, marginals, labels, spans)
