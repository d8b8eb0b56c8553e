"""What every estimator of chains shares: from input to a fitted model, and predictions from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Corpus
from skipchain.corpus.corpus import LABEL
from skipchain.dataset import Dataset
from skipchain.errors import CorpusError, NotFittedError, ParameterError, SkipchainError
from skipchain.features.dictionary import TagDictionary
from skipchain.features.histories import Histories
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.inference.scores import Ranked
from skipchain.learn.step import INTERRUPTED, Minimum
from skipchain.models.chain import BEAM, ChainModel
from skipchain.models.estimator import Estimator
from skipchain.models.fitting import HeldOut, Progress, Watch, carried, require_allowed
from skipchain.models.inputs import Known, as_input, encode, fit_features, known_labels
from skipchain.parallel import Workers
from skipchain.potentials import Constraints
from skipchain.schemes import check_scheme, convert, decode, rewritten, transitions
from skipchain.scorers.linear import Weights

CONSTRAINTS = ("decoding", "training", "none")
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
            self.held_out, self.patience, self.workers, self.progress,
        )  # fmt: skip


@dataclass(frozen=True)
class Learnt:
    """What a learner gives back."""

    weights: Weights
    minimum: Minimum
    parameters: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the summary of the model is to say."""


class SequenceEstimator(Estimator, ABC):
    """Fits a `ChainModel` and predicts with it; subclasses say how weights are learnt."""

    kind: ClassVar[str]
    local: ClassVar[bool] = False
    partial: ClassVar[bool] = False
    """Whether some labels may be unknown, or known to be one of several."""
    longest: ClassVar[int] = 2
    """The highest order that the model can have."""
    order: int = 1

    features: str | Path | Templates
    encoding: str | None
    min_count: int
    constraints: str
    dictionary: int | None = None
    patience: int | None
    seed: int = 0
    scheme: str | None
    functions: Mapping[str, UserView] | None
    threads: int | None
    model_: ChainModel
    minimum_: Minimum
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
        start: ChainModel | SequenceEstimator | None = None,
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
        data, blank = self._begin(as_input(X), y)
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

    def _raise_interrupt(self) -> None:
        """Where nobody watches, nobody would know; the model is kept."""
        if self.minimum_.reason == INTERRUPTED:
            raise KeyboardInterrupt

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
            self.kind, names, features, Weights.zeros(0, 0, len(names)), scheme, encoding,
            self.constraints != "none", self.local,
        )  # fmt: skip
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
        summary = {
            "tokens": data.n_tokens,
            "sequences": len(data.offsets) - 1,
            "loss": minimum.loss if np.isfinite(minimum.loss) else None,
            "iterations": minimum.iterations,
            "evaluations": minimum.evaluations,
            "stopped": minimum.reason,
            "parameters": learnt.parameters,
            "dev": score,
            "settings": _plain(self.get_params()),
            **learnt.facts,
        }
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

    def _templates(self, given: Corpus | Sequence[Any]) -> Templates | None:
        if not isinstance(given, Corpus):
            return None
        columns = tuple(name for name in given.columns if name != LABEL)
        return Templates.of(self.features, self.functions, columns)

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        self._check_numbers(whole=("min_count",), optional=("patience", "dictionary"))
        self._check_choices(constraints=CONSTRAINTS)
        if not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise ParameterError(f"seed must be a whole number of at least 0, got {self.seed!r}")
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

    def _check_numbers(
        self,
        *,
        whole: Sequence[str] = (),
        optional: Sequence[str] = (),
        real: Sequence[str] = (),
    ) -> None:
        """Whole numbers of at least 1 (optional ones may be None), reals of at least 0."""
        for name in (*whole, *optional):
            value = getattr(self, name)
            if name in optional and value is None:
                continue
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
        for name in real:
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not (np.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be a number of at least 0, got {value!r}")

    def _check_choices(self, **known: Sequence[str | None]) -> None:
        for name, choices in known.items():
            if getattr(self, name) not in choices:
                told = ", ".join(str(choice) for choice in choices)
                raise ParameterError(f"{name} must be one of {told}, got {getattr(self, name)!r}")

    def _labels(
        self, given: Corpus | Sequence[Any], y: Any
    ) -> tuple[Known, str | None, str | None]:
        """The labels to learn, the scheme they came in and the one they are learnt in."""
        known, scheme = self._known(given, y)
        wanted = None if self.encoding is None else check_scheme(self.encoding)
        if scheme is None:
            return known, None, None
        # what is not known cannot be written in another scheme
        encoding = scheme if known.partial else wanted or scheme
        return _written(known, scheme, encoding), scheme, encoding

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
        return _written(known, scheme, model.encoding)

    def _known(self, given: Corpus | Sequence[Any], y: Any) -> tuple[Known, str | None]:
        """The labels as they are given, and their scheme."""
        known = known_labels(given, y)
        if known.partial and not self.partial:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, and {type(self).__name__} "
                "learns from full labels only; CRF and MEMM take partial ones"
            )
        scheme = self.scheme
        if scheme is None and isinstance(given, Corpus) and y is None:
            scheme = given.scheme
        return known, None if scheme is None else check_scheme(scheme)

    # Predicting --------------------------------------------------------------------------------

    @property
    def classes_(self) -> list[str]:
        """The labels learnt, in the order of the marginals' columns."""
        return list(self.fitted.labels)

    @property
    def fitted(self) -> ChainModel:
        """What fitting has left; an error where the estimator is not fitted yet."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self.model_

    def predict(self, X: Any, *, decoder: str | None = None, beam: int = BEAM) -> list[list[str]]:
        """The labels of each sequence, in the scheme of the training data.

        ``decoder`` is ``viterbi``, ``posterior``, ``greedy`` or ``beam``, the last with the width
        ``beam``; None is ``viterbi``, but ``beam`` for a model of order 3 or more.
        """
        with Workers(self.threads) as workers:
            return self.fitted.label(as_input(X), workers, decoder, beam)

    def predict_single(self, x: Any) -> list[str]:
        """The labels of one sequence."""
        return self.predict([x])[0]

    def predict_marginals(self, X: Any) -> list[NDArray[np.float64]]:
        """The probability of each label of `classes_` at each token: [T, L] per sequence."""
        from skipchain.inference.chains import marginals

        with Workers(self.threads) as workers:
            scores = self.fitted.scores(as_input(X), workers)
            found = marginals(scores, workers)
        return [found[a:b] for a, b in pairwise(scores.data.offsets.tolist())]

    def predict_nbest(self, X: Any, k: int) -> list[Ranked]:
        """The k best label sequences of each sequence, as numbers of `classes_`."""
        with Workers(self.threads) as workers:
            model = self.fitted
            return model.nbest(model.scores(as_input(X), workers), k, workers)

    def score(self, X: Any, y: Any = None) -> float:
        """Entity F1 where the labels have a scheme, else token accuracy; from 0 to 1."""
        with Workers(self.threads) as workers:
            return HeldOut(self.fitted, X, y).score(self.fitted, workers) / 100.0


def _model(start: ChainModel | SequenceEstimator) -> ChainModel:
    if isinstance(start, SequenceEstimator):
        return start.fitted
    if isinstance(start, ChainModel):
        return start
    raise SkipchainError(f"start must be a fitted estimator or a model, got {type(start).__name__}")


def _written(known: Known, scheme: str, encoding: str) -> Known:
    """Labels of one scheme in another; those of another form are refused."""
    if known.partial:
        return known
    if encoding != scheme:
        return replace(known, column=convert(known.column, known.offsets, scheme, encoding))
    decode(known.column, known.offsets, scheme)
    return known


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they can be written into a file."""
    return {
        name: value
        if value is None or isinstance(value, (str, int, float))
        else getattr(value, "text", str(value))
        for name, value in settings.items()
        if name != "functions"
    }
