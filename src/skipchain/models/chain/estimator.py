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
from skipchain.corpus.schemes import rewritten, transitions
from skipchain.errors import CorpusError, ParameterError, SkipchainError
from skipchain.features.label_ngrams import Histories
from skipchain.features.tag_dictionary import TagDictionary
from skipchain.learn.step import Minimum
from skipchain.models.base.estimator import Labeller, written
from skipchain.models.base.inputs import Known, as_input, encode, fit_features
from skipchain.models.chain.crossfit_history import held_out_labels
from skipchain.models.chain.fitting import HeldOut, Progress, Watch, carried, require_allowed
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers

LONGEST = 8  # the highest order of any model


@dataclass(frozen=True)
class Task:
    """Everything that a learner is given."""

    data: Dataset
    blank: ChainModel
    constraints: Constraints | None
    held_out: HeldOut | None
    first: Weights | None
    workers: Workers
    progress: Progress | None
    patience: int | None

    def watch(self, weights: Any) -> Watch:
        """A callback for optimisers; ``weights`` turns a vector into tables."""
        return Watch(
            lambda vector: self.blank.filled(weights(vector)),
            self.held_out,
            self.patience,
            self.workers,
            self.progress,
        )


@dataclass(frozen=True)
class Learnt:
    """What a learner gives back."""

    weights: Weights
    minimum: Minimum
    parameters: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the summary of the model is to say."""


class SequenceEstimator(Labeller, ABC):
    """Fits a `ChainModel` and predicts with it; subclasses say how weights are learnt."""

    local: ClassVar[bool] = False
    longest: ClassVar[int] = 2
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
        own, given = self.prepared(as_input(X), progress)
        data, blank = own._begin(given, y)
        if blank.recall is not None:
            assert isinstance(given, Corpus)
            self._check_recall(blank, data)
            labels = held_out_labels(self, data, blank, given, progress)
            blank, data = self._with_recall(blank, data, given, labels)
        first = None
        if start is not None:
            first = carried(_model(start), blank, self.order)
        held_out = None if dev is None else HeldOut(blank, dev, dev_y)
        self._fit(data, blank, held_out, first, progress)
        self.model_ = self.model_.pruned()
        self.passes_ = 0
        if progress is None:
            self._raise_interrupt()
        return self

    def shortened(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        settings = self.get_params()
        short = {"epochs": 1, "patience": None}
        return type(self)(**{k: short.get(k, value) for k, value in settings.items()})

    def _begin(
        self, given: Corpus | Sequence[Any], y: Any, classes: Sequence[str] = ()
    ) -> tuple[Dataset, ChainModel]:
        """The data to learn from, and a model of its features and labels without weights."""
        known, scheme, encoding = self._labels(given, y)
        features, rows, offsets = fit_features(given, self._templates(given), self.min_count)
        if rows.tokens.n_rows == 0:
            raise CorpusError("there is no token to learn from")
        if scheme is not None and encoding is not None and scheme != encoding:
            classes = rewritten(classes, encoding)
        names = tuple(sorted({*known.names, *classes}))
        if not names:
            raise CorpusError("no token has a label to learn from")
        blank = ChainModel(
            self.kind,
            names,
            features,
            Weights.zeros(0, 0, len(names)),
            scheme,
            encoding,
            self.constraints != "none",
            self.local,
        )
        data = Dataset(rows, offsets, *known.numbers(names))
        blank, data = self._with_dictionary(blank, data, given)
        blank, data = self._with_histories(blank, data)
        return data, blank

    def _fit(
        self,
        data: Dataset,
        blank: ChainModel,
        held_out: HeldOut | None,
        first: Weights | None,
        progress: Progress | None,
    ) -> None:
        """Learn weights for encoded data, and keep the model."""
        allowed = None
        if blank.encoding is not None and self.constraints != "none":
            allowed = Constraints(*transitions(blank.labels, blank.encoding))
            require_allowed(data, allowed, blank.labels)
        training = allowed if self.constraints == "training" else None
        with Workers(self.threads) as workers:
            task = Task(data, blank, training, held_out, first, workers, progress, self.patience)
            learnt = self._learn(task)
            model = blank.filled(learnt.weights)
            score = None if held_out is None else held_out.score(model, workers)
        minimum = learnt.minimum
        if progress is not None:
            progress.end(minimum)
        summary = self._summary(
            minimum,
            tokens=data.n_tokens,
            sequences=len(data.offsets) - 1,
            parameters=learnt.parameters,
            dev=score,
            **learnt.facts,
        )
        self.model_ = replace(model, summary=summary)
        self.minimum_ = minimum

    @abstractmethod
    def _learn(self, task: Task) -> Learnt:
        """The weights, and how the learning ended."""

    def _pass(self, X: Any, y: Any, classes: Sequence[str] | None, **settings: Any) -> Self:
        """One pass over more data by other settings, going on from the model so far.

        The first pass fixes features and labels. No feature is left out afterwards, whatever it
        weighs: it may be needed in the next.
        """
        once = type(self)(**{**self.get_params(), "epochs": 1, **settings})
        once._check()
        once.seed = self.seed + self.passes_
        given = as_input(X)
        if not hasattr(self, "model_"):
            data, blank = once._begin(given, y, classes or ())
            blank, data = once._with_recall(blank, data, given)
            once._fit(data, blank, None, None, None)
        else:
            blank = self.model_
            known = once._labels_of(blank, given, y)
            strange = sorted(set(known.names) - set(blank.labels))
            if strange:
                raise CorpusError(
                    f"label {strange[0]!r} is new to the model; name all labels in the first call: "
                    "partial_fit(X, y, classes=[…])"
                )
            rows, offsets = encode(blank.features, given)
            data = Dataset(rows, offsets, *known.numbers(blank.labels))
            blank, data = once._with_dictionary(blank, data, given)
            blank, data = once._with_histories(blank, data)
            blank, data = once._with_recall(blank, data, given)
            once._fit(data, blank, None, blank.joined, None)
        self.model_, self.minimum_ = once.model_, once.minimum_
        self.passes_ += 1
        self._raise_interrupt()
        return self

    def _with_dictionary(
        self, blank: ChainModel, data: Dataset, given: Corpus | Sequence[Any]
    ) -> tuple[ChainModel, Dataset]:
        """The model with its tag dictionary, and the data with the labels that it leaves."""
        if self.dictionary is None:
            return blank, data
        if not isinstance(given, Corpus):
            raise ParameterError(
                "a dictionary is one of words, and features given directly have none; give a "
                "Corpus, or dictionary=None"
            )
        assert data.labels is not None
        seen = data.allowed
        if seen is None:
            seen = data.labels[:, None] == np.arange(len(blank.labels))
        if blank.dictionary is None:
            found = TagDictionary.fit(given.words, seen, self.dictionary)
        else:
            found = blank.dictionary.widened(given.words, seen)
        blank = replace(blank, dictionary=found)
        return blank, replace(data, candidates=blank.candidates(given))

    def _with_histories(self, blank: ChainModel, data: Dataset) -> tuple[ChainModel, Dataset]:
        """For orders above 2: what the labels before say, as features of the training data."""
        if self.order <= 2:
            return blank, data
        assert data.labels is not None
        if data.allowed is not None:
            raise ParameterError("partial labels need order=1, or a CRF")
        if blank.histories is None:
            found = Histories.fit(data.labels, data.offsets, len(blank.labels), self.order)
            blank = replace(blank, histories=found)
        assert blank.histories is not None
        rows = blank.histories.attached(data.rows, data.labels, data.offsets)
        return blank, replace(data, rows=rows)

    def _with_recall(
        self,
        blank: ChainModel,
        data: Dataset,
        given: Corpus | Sequence[Any],
        labels: NDArray[np.int32] | None = None,
    ) -> tuple[ChainModel, Dataset]:
        """Where templates ask for history: the labels of earlier tokens that are alike.

        ``labels`` [N] are those that are recalled; the gold ones unless told.
        """
        recall, earlier = blank.recall, blank.earlier(given)
        if recall is None:
            return blank, data
        self._check_recall(blank, data)
        recalled = data.labels if labels is None else labels
        assert recalled is not None
        assert earlier is not None
        size = len(blank.labels)
        if blank.recalled is None:
            blank = replace(blank, recalled=np.zeros((size, size)))
        return blank, replace(data, rows=recall.attached(data.rows, recalled, earlier, size))

    def _check_recall(self, blank: ChainModel, data: Dataset) -> None:
        """Refuse what does not go with a history."""
        if data.allowed is not None:
            raise ParameterError(f"{blank.recall} needs full labels; leave it out for partial ones")
        if self.order > 2:
            raise ParameterError(f"{blank.recall} goes with order 1 or 2, got order {self.order}")

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        super()._check()
        self._check_numbers(optional=("dictionary",))
        whole = isinstance(self.order, (int, np.integer)) and not isinstance(self.order, bool)
        if not whole or not 1 <= self.order <= self.longest:
            orders = "1 or 2" if self.longest == 2 else f"a whole number from 1 to {self.longest}"
            hint = ""
            if whole and self.longest < self.order <= LONGEST:
                hint = (
                    "; longer histories need a model that is normalised at each position, so that "
                    "it can be searched with a beam: use MEMM"
                )
            raise ParameterError(f"order must be {orders}, got {self.order!r}{hint}")

    def _labels_of(self, model: ChainModel, given: Corpus | Sequence[Any], y: Any) -> Known:
        """The labels to learn, written as the model has learnt others."""
        known, scheme = self._known(given, y)
        if model.encoding is None or model.scheme is None:
            return known
        scheme = scheme or model.scheme
        if known.partial and scheme != model.encoding:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, so the labels cannot be "
                f"written in {model.encoding}, as the model learns them; give them so, or use "
                "encoding=None from the first call on"
            )
        return written(known, scheme, model.encoding)


def _model(start: object) -> ChainModel:
    found = start.fitted if isinstance(start, SequenceEstimator) else start
    if isinstance(found, ChainModel):
        return found
    raise SkipchainError(f"start must be a fitted estimator or a model, got {type(start).__name__}")
