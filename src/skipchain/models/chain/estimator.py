"""What every estimator of chains shares: from input to a fitted model, and predictions from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import labels_in_scheme, transitions
from skipchain.errors import CorpusError, ParameterError, SkipchainError
from skipchain.features.label_ngrams import LabelNgrams
from skipchain.features.tag_dictionary import TagDictionary
from skipchain.learn.step import OptimisationResult
from skipchain.models.base.estimator import BaseEstimator, convert_labels
from skipchain.models.base.inputs import KnownLabels, as_input, encode, fit_features
from skipchain.models.chain.crossfit_history import cross_fit_labels
from skipchain.models.chain.fitting import (
    EarlyStopping,
    HeldOut,
    Progress,
    require_allowed,
    warm_start_weights,
)
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers

MAX_ORDER = 8  # the highest order of any model


@dataclass(frozen=True)
class ChainTask:
    """Everything that a learner is given."""

    data: Dataset
    untrained: ChainModel
    constraints: Constraints | None
    held_out: HeldOut | None
    initial_weights: Weights | None
    workers: Workers
    progress: Progress | None
    patience: int | None

    def early_stopping(self, weights: Any) -> EarlyStopping:
        """A callback for optimisers; ``weights`` turns a vector into tables."""
        return EarlyStopping(
            lambda vector: self.untrained.with_weights(weights(vector)),
            self.held_out,
            self.patience,
            self.workers,
            self.progress,
        )


@dataclass(frozen=True)
class FittedWeights:
    """What a learner gives back."""

    weights: Weights
    result: OptimisationResult
    parameters: int
    summary_extras: Mapping[str, Any] = field(default_factory=dict)
    """What else the summary of the model is to say."""


class ChainEstimator(BaseEstimator, ABC):
    """Fits a `ChainModel` and predicts with it; subclasses say how weights are learnt."""

    local: ClassVar[bool] = False
    max_order: ClassVar[int] = 2
    """The highest order that the model can have."""
    order: int = 1

    dictionary: int | None = None
    folds: int | None = None
    model_: ChainModel
    passes_: int = 0
    """How many passes ``partial_fit`` has made."""

    # Fitting -----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        dev_y: Any = None,
        start: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a labelled corpus, or from sequences X with labels y.

        ``dev`` (with ``dev_y``) is scored as training goes on; ``start`` is a model to begin from.
        A keyboard interrupt ends training and keeps what has been learnt in ``model_``; it is
        raised again unless a ``progress`` display has been told.
        """
        self._check()
        if self.patience is not None and dev is None:
            raise ParameterError("patience needs dev, the data whose score it watches")
        own, given = self.fit_annotators(as_input(X), progress)
        data, untrained = own._encode_training_data(given, y)
        if untrained.label_history is not None:
            assert isinstance(given, Corpus)
            self._check_label_history(untrained, data)
            labels = cross_fit_labels(self, data, untrained, given, progress)
            untrained, data = self._with_label_history(untrained, data, given, labels)
        initial_weights = None
        if start is not None:
            initial_weights = warm_start_weights(_model(start), untrained, self.order)
        held_out = None if dev is None else HeldOut(untrained, dev, dev_y)
        self._fit(data, untrained, held_out, initial_weights, progress)
        self.model_ = self.model_.pruned()
        self.passes_ = 0
        if progress is None:
            self._raise_interrupt()
        return self

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        settings = self.get_params()
        short = {"epochs": 1, "patience": None}
        return type(self)(**{k: short.get(k, value) for k, value in settings.items()})

    def _encode_training_data(
        self, given: Corpus | Sequence[Any], y: Any, classes: Sequence[str] = ()
    ) -> tuple[Dataset, ChainModel]:
        """The data to learn from, and a model of its features and labels without weights."""
        known, scheme, encoding = self._labels(given, y)
        features, rows, offsets = fit_features(given, self._templates(given), self.min_count)
        if rows.tokens.n_rows == 0:
            raise CorpusError("there is no token to learn from")
        if scheme is not None and encoding is not None and scheme != encoding:
            classes = labels_in_scheme(classes, encoding)
        names = tuple(sorted({*known.names, *classes}))
        if not names:
            raise CorpusError("no token has a label to learn from")
        untrained = ChainModel(
            self.kind,
            names,
            features,
            Weights.zeros(0, 0, len(names)),
            scheme,
            encoding,
            self.constraints != "none",
            self.local,
        )
        data = Dataset(rows, offsets, *known.to_codes(names))
        untrained, data = self._with_dictionary(untrained, data, given)
        untrained, data = self._with_label_ngrams(untrained, data)
        return data, untrained

    def _fit(
        self,
        data: Dataset,
        untrained: ChainModel,
        held_out: HeldOut | None,
        initial_weights: Weights | None,
        progress: Progress | None,
    ) -> None:
        """Learn weights for encoded data, and keep the model."""
        allowed = None
        if untrained.encoding is not None and self.constraints != "none":
            allowed = Constraints(*transitions(untrained.labels, untrained.encoding))
            require_allowed(data, allowed, untrained.labels)
        training = allowed if self.constraints == "training" else None
        with Workers(self.threads) as workers:
            task = ChainTask(
                data,
                untrained,
                training,
                held_out,
                initial_weights,
                workers,
                progress,
                self.patience,
            )
            learnt = self._learn(task)
            model = untrained.with_weights(learnt.weights)
            score = None if held_out is None else held_out.score(model, workers)
        result = learnt.result
        if progress is not None:
            progress.end(result)
        summary = self._summary(
            result,
            tokens=data.n_tokens,
            sequences=len(data.offsets) - 1,
            parameters=learnt.parameters,
            dev=score,
            **learnt.summary_extras,
        )
        self.model_ = replace(model, summary=summary)
        self.result_ = result

    @abstractmethod
    def _learn(self, task: ChainTask) -> FittedWeights:
        """The weights, and how the learning ended."""

    def _partial_fit(self, X: Any, y: Any, classes: Sequence[str] | None, **settings: Any) -> Self:
        """One pass over more data by other settings, going on from the model so far.

        The first pass fixes features and labels. No feature is left out afterwards, whatever it
        weighs: it may be needed in the next.
        """
        once = type(self)(**{**self.get_params(), "epochs": 1, **settings})
        once._check()
        once.seed = self.seed + self.passes_
        given = as_input(X)
        if not hasattr(self, "model_"):
            data, untrained = once._encode_training_data(given, y, classes or ())
            untrained, data = once._with_label_history(untrained, data, given)
            once._fit(data, untrained, None, None, None)
        else:
            untrained = self.model_
            known = once._labels_for(untrained, given, y)
            strange = sorted(set(known.names) - set(untrained.labels))
            if strange:
                raise CorpusError(
                    f"label {strange[0]!r} is new to the model; name all labels in the first call: "
                    "partial_fit(X, y, classes=[…])"
                )
            rows, offsets = encode(untrained.features, given)
            data = Dataset(rows, offsets, *known.to_codes(untrained.labels))
            untrained, data = once._with_dictionary(untrained, data, given)
            untrained, data = once._with_label_ngrams(untrained, data)
            untrained, data = once._with_label_history(untrained, data, given)
            once._fit(data, untrained, None, untrained.all_weights, None)
        self.model_, self.result_ = once.model_, once.result_
        self.passes_ += 1
        self._raise_interrupt()
        return self

    def _with_dictionary(
        self, untrained: ChainModel, data: Dataset, given: Corpus | Sequence[Any]
    ) -> tuple[ChainModel, Dataset]:
        """The model with its tag dictionary, and the data with the labels that it leaves."""
        if self.dictionary is None:
            return untrained, data
        if not isinstance(given, Corpus):
            raise ParameterError(
                "a dictionary is one of words, and features given directly have none; give a "
                "Corpus, or dictionary=None"
            )
        assert data.labels is not None
        seen = data.allowed
        if seen is None:
            seen = data.labels[:, None] == np.arange(len(untrained.labels))
        if untrained.dictionary is None:
            found = TagDictionary.fit(given.words, seen, self.dictionary)
        else:
            found = untrained.dictionary.extended(given.words, seen)
        untrained = replace(untrained, dictionary=found)
        return untrained, replace(data, candidates=untrained.candidates(given))

    def _with_label_ngrams(
        self, untrained: ChainModel, data: Dataset
    ) -> tuple[ChainModel, Dataset]:
        """For orders above 2: what the labels before say, as features of the training data."""
        if self.order <= 2:
            return untrained, data
        assert data.labels is not None
        if data.allowed is not None:
            raise ParameterError("partial labels need order=1, or a CRF")
        if untrained.label_ngrams is None:
            found = LabelNgrams.fit(data.labels, data.offsets, len(untrained.labels), self.order)
            untrained = replace(untrained, label_ngrams=found)
        assert untrained.label_ngrams is not None
        rows = untrained.label_ngrams.append_features(data.rows, data.labels, data.offsets)
        return untrained, replace(data, rows=rows)

    def _with_label_history(
        self,
        untrained: ChainModel,
        data: Dataset,
        given: Corpus | Sequence[Any],
        labels: NDArray[np.int32] | None = None,
    ) -> tuple[ChainModel, Dataset]:
        """Where templates ask for history: the labels of earlier tokens that are alike.

        ``labels`` [N] are those that are recalled; the gold ones unless told.
        """
        label_history, earlier = untrained.label_history, untrained.previous_occurrences(given)
        if label_history is None:
            return untrained, data
        self._check_label_history(untrained, data)
        recalled = data.labels if labels is None else labels
        assert recalled is not None
        assert earlier is not None
        size = len(untrained.labels)
        if untrained.history_weights is None:
            untrained = replace(untrained, history_weights=np.zeros((size, size)))
        return untrained, replace(
            data, rows=label_history.append_features(data.rows, recalled, earlier, size)
        )

    def _check_label_history(self, untrained: ChainModel, data: Dataset) -> None:
        """Refuse what does not go with a history."""
        if data.allowed is not None:
            raise ParameterError(
                f"{untrained.label_history} needs full labels; leave it out for partial ones"
            )
        if self.order > 2:
            raise ParameterError(
                f"{untrained.label_history} goes with order 1 or 2, got order {self.order}"
            )

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        super()._check()
        self._check_numbers(optional=("dictionary",))
        whole = isinstance(self.order, (int, np.integer)) and not isinstance(self.order, bool)
        if not whole or not 1 <= self.order <= self.max_order:
            orders = (
                "1 or 2" if self.max_order == 2 else f"a whole number from 1 to {self.max_order}"
            )
            hint = ""
            if whole and self.max_order < self.order <= MAX_ORDER:
                hint = (
                    "; longer histories need a model that is normalised at each position, so that "
                    "it can be searched with a beam: use MEMM"
                )
            raise ParameterError(f"order must be {orders}, got {self.order!r}{hint}")

    def _labels_for(self, model: ChainModel, given: Corpus | Sequence[Any], y: Any) -> KnownLabels:
        """The labels to learn, written as the model has learnt others."""
        known, scheme = self._known_labels(given, y)
        if model.encoding is None or model.scheme is None:
            return known
        scheme = scheme or model.scheme
        if known.partial and scheme != model.encoding:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, so the labels cannot be "
                f"written in {model.encoding}, as the model learns them; give them so, or use "
                "encoding=None from the first call on"
            )
        return convert_labels(known, scheme, model.encoding)


def _model(start: object) -> ChainModel:
    found = start.fitted if isinstance(start, ChainEstimator) else start
    if isinstance(found, ChainModel):
        return found
    raise SkipchainError(f"start must be a fitted estimator or a model, got {type(start).__name__}")
