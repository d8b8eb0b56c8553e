"""Models in stages: what a first model predicts becomes features of the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.annotators.predictions import COLUMN_NAMES, prediction_columns
from skipchain.arrays import Arrays, Floats, Ints
from skipchain.corpus import Column, Corpus
from skipchain.corpus.folds import document_folds
from skipchain.corpus.schemes import decode
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.annotator import Columns
from skipchain.learn.step import INTERRUPTED
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.model import Model
from skipchain.models.chain.fitting import Progress, StageProgress
from skipchain.parallel import Workers

NO_SPANS_MESSAGE = (
    "a first model tells of names, and its labels mark no spans; give the scheme of the labels, "
    "such as iob2, or do without a first model (the recipe ner-knowledge has none)"
)


@dataclass(frozen=True, slots=True, eq=False)
class StackedPredictions:
    """The predictions of a first model through a document, as a source of columns.

    In training, each part of the documents is labelled by a model that has learnt from the others
    (``folds`` parts), so that the next model sees predictions as good and as bad as it will see
    later. The model that is kept has learnt from all.

    The first model reads the columns of the sources before this one; it needs none of its own.
    """

    kind: ClassVar[str] = "first_stage"

    base: BaseEstimator | Model
    folds: int = 5
    seed: int = 0

    @property
    def provides(self) -> tuple[str, ...]:
        """The names of the columns."""
        return COLUMN_NAMES

    @property
    def description(self) -> str:
        """What the source knows, in a few words."""
        return f"what a first model says ({self.base.kind})"

    def fit(self, corpus: Corpus, progress: Progress | None = None) -> tuple[Self, Columns]:
        """The first model, and what models that have not seen a document say of it."""
        if isinstance(self.base, Model):
            return self, self.columns(corpus, Workers(1))
        if not corpus.labelled:
            raise CorpusError("a first model needs the labels in the corpus itself")
        if corpus.scheme is None:
            raise CorpusError(NO_SPANS_MESSAGE)
        if corpus.n_documents < self.folds:
            raise ParameterError(
                f"{self.folds} folds for a first model need as many documents, and the corpus has "
                f"{corpus.n_documents}; mark where documents begin, or use fewer folds, at least 2"
            )
        deal = document_folds(corpus, self.folds, seed=self.seed)
        held = [np.flatnonzero(deal == number) for number in range(self.folds)]
        lessons = [("the first model", corpus)]
        for number in range(self.folds):
            rest = corpus.take_documents(np.flatnonzero(deal != number))
            lessons.append((f"the first model without part {number + 1} of {self.folds}", rest))

        def fitted(lesson: tuple[str, Corpus]) -> Model:
            return self._fit_base(lesson[1], progress, lesson[0])

        # a display shows one training after the other
        with Workers(1 if progress is not None else self.base.threads) as workers:
            whole, *others = workers.map(fitted, lessons)
        parts = [
            _predicted(own, corpus.take_documents(documents), whole.labels)
            for own, documents in zip(others, held, strict=True)
        ]
        places = [_tokens(corpus, documents) for documents in held]
        order = np.argsort(np.concatenate(places), kind="stable")
        probabilities = np.concatenate([probabilities for probabilities, _ in parts])[order]
        labels = np.concatenate([labels for _, labels in parts])[order]
        return replace(self, base=whole), _columns(whole, corpus, probabilities, labels)

    def _fit_base(self, corpus: Corpus, progress: Progress | None, name: str) -> Model:
        """The first model of a corpus; an interrupt ends all of it."""
        assert isinstance(self.base, BaseEstimator)
        shown = None if progress is None else StageProgress(progress, name)
        found = type(self.base)(**self.base.get_params()).fit(corpus, progress=shown)
        if found.result_.reason == INTERRUPTED:
            raise KeyboardInterrupt
        return found.fitted.pruned()

    def columns(self, corpus: Corpus, workers: Workers) -> Columns:
        """What the first model says."""
        if not isinstance(self.base, Model):
            raise CorpusError("the first model has not learnt yet")
        found = _predicted(self.base, corpus, self.base.labels, workers)
        return _columns(self.base, corpus, *found)

    def config(self) -> dict[str, Any]:
        """Settings, as JSON can hold them."""
        return {"folds": self.folds, "seed": self.seed}

    def arrays(self) -> Arrays:
        """The model is kept by the model file itself."""
        return {}

    @classmethod
    def from_config(cls, config: Mapping[str, Any], model: Model) -> StackedPredictions:
        """The inverse of `config`, with the model that the file has kept."""
        return cls(model, int(config["folds"]), int(config["seed"]))


def _predicted(
    model: Model, corpus: Corpus, names: tuple[str, ...], workers: Workers | None = None
) -> tuple[Floats, Ints]:
    """Probabilities [N, L] and decoded labels [N], as numbers of ``names``."""
    workers = workers or Workers(1)
    scores = model.scores(corpus.without_labels(), workers)
    column = model.decode(scores, workers)
    number = {name: k for k, name in enumerate(names)}
    own = np.array([number[name] for name in model.labels], np.int64)
    probabilities = np.zeros((corpus.n_tokens, len(names)))
    probabilities[:, own] = model.marginals(scores, workers)
    return probabilities, np.array([number[name] for name in column.values], np.int64)[column.codes]


def _columns(model: Model, corpus: Corpus, probabilities: Floats, labels: Ints) -> Columns:
    written = Column(labels.astype(np.int32), model.labels)
    if model.encoding is None:
        raise CorpusError(NO_SPANS_MESSAGE)
    spans = decode(written, corpus.sentences, model.encoding)
    return prediction_columns(corpus, model.labels, probabilities, labels, spans)


def _tokens(corpus: Corpus, documents: Ints) -> Ints:
    """The tokens of some documents, in their order."""
    bounds = corpus.sentences[corpus.documents]
    return np.concatenate([np.arange(bounds[d], bounds[d + 1]) for d in documents.tolist()])
