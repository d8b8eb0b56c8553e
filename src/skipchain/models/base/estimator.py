"""What every estimator that labels tokens shares: settings, labels to learn, predictions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.scores import NBestPaths
from skipchain.corpus import Corpus
from skipchain.corpus.corpus import LABEL
from skipchain.corpus.schemes import check_scheme, convert, decode
from skipchain.errors import CorpusError, NotFittedError, ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.step import INTERRUPTED, OptimisationResult
from skipchain.models.base.inputs import KnownLabels, as_input, known_labels
from skipchain.models.base.model import BEAM, Model
from skipchain.models.base.parameters import ParameterMixin
from skipchain.models.chain.fitting import HeldOut, Progress
from skipchain.parallel import Workers

CONSTRAINTS = ("decoding", "training", "none")


class BaseEstimator(ParameterMixin, ABC):
    """Learns labels in ``encoding``, and predicts with the ``model_`` that fitting leaves."""

    kind: ClassVar[str]
    partial: ClassVar[bool] = False
    """Whether some labels may be unknown, or known to be one of several."""
    supports_label_history: ClassVar[bool] = False
    """Whether a label can depend on those given earlier in the document."""

    features: str | Path | Templates
    encoding: str | None
    min_count: int
    constraints: str
    patience: int | None
    seed: int = 0
    scheme: str | None
    functions: Mapping[str, UserView] | None
    threads: int | None
    model_: Model
    result_: OptimisationResult

    @abstractmethod
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
        """Learn from a labelled corpus, or from sequences X with labels y."""

    @abstractmethod
    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""

    def fit_annotators(self, given: Any, progress: Progress | None = None) -> tuple[Self, Any]:
        """The estimator, and what it is to learn from with all that its sources of columns give.

        Sources are asked when fitting in any case; where an estimator is fitted to several parts of
        a corpus, it saves time to ask them once before.
        """
        corpus = as_input(given)
        templates = self._templates(corpus)
        if not isinstance(corpus, Corpus) or templates is None or not templates.annotators:
            return self, given
        features, corpus = templates.fit_annotators(corpus, progress)
        return type(self)(**{**self.get_params(), "features": features}), corpus

    # Settings ----------------------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        self._check_numbers(whole=("min_count",), optional=("patience",))
        self._check_choices(constraints=CONSTRAINTS)
        if not isinstance(self.seed, (int, np.integer)) or self.seed < 0:
            raise ParameterError(f"seed must be a whole number of at least 0, got {self.seed!r}")

    def _check_numbers(
        self, *, whole: Sequence[str] = (), optional: Sequence[str] = (), real: Sequence[str] = ()
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

    def _templates(self, given: Corpus | Sequence[Any]) -> Templates | None:
        if not isinstance(given, Corpus):
            return None
        columns = tuple(name for name in given.columns if name != LABEL)
        found = Templates.of(self.features, self.functions, columns)
        if found.label_history is not None and not self.supports_label_history:
            raise ParameterError(
                f"{found.label_history} looks at labels given earlier in the document, and "
                f"{type(self).__name__} looks for the best labels all at once; only models that "
                "label from left to right can use it: MEMM and MaxEnt"
            )
        return found

    def _labels(
        self, given: Corpus | Sequence[Any], y: Any
    ) -> tuple[KnownLabels, str | None, str | None]:
        """The labels to learn, the scheme they came in and the one they are learnt in."""
        known, scheme = self._known_labels(given, y)
        wanted = None if self.encoding is None else check_scheme(self.encoding)
        if scheme is None:
            return known, None, None
        # what is not known cannot be written in another scheme
        encoding = scheme if known.partial else wanted or scheme
        return convert_labels(known, scheme, encoding), scheme, encoding

    def _known_labels(
        self, given: Corpus | Sequence[Any], y: Any
    ) -> tuple[KnownLabels, str | None]:
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

    def _summary(
        self,
        result: OptimisationResult,
        *,
        tokens: int,
        sequences: int,
        parameters: int,
        dev: float | None,
        **facts: Any,
    ) -> dict[str, Any]:
        """What a fitted model tells of its training; ``facts`` are those of one kind of model."""
        return {
            "tokens": tokens,
            "sequences": sequences,
            "loss": result.loss if np.isfinite(result.loss) else None,
            "iterations": result.iterations,
            "evaluations": result.evaluations,
            "stopped": result.reason,
            "parameters": parameters,
            "dev": dev,
            "settings": plain_settings(self.get_params()),
            **facts,
        }

    def _raise_interrupt(self) -> None:
        """Where nobody watches, nobody would know; the model is kept."""
        if self.result_.reason == INTERRUPTED:
            raise KeyboardInterrupt

    # Predicting --------------------------------------------------------------------------------

    @property
    def classes_(self) -> list[str]:
        """The labels learnt, in the order of the marginals' columns."""
        return list(self.fitted.labels)

    @property
    def fitted(self) -> Model:
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

    def predict_marginals(self, X: Any) -> list[Floats]:
        """The probability of each label of `classes_` at each token: [T, L] per sequence."""
        with Workers(self.threads) as workers:
            scores = self.fitted.scores(as_input(X), workers)
            found = self.fitted.marginals(scores, workers)
        return [found[a:b] for a, b in pairwise(scores.offsets.tolist())]

    def predict_nbest(self, X: Any, k: int) -> list[NBestPaths]:
        """The k best label sequences of each sequence, as numbers of `classes_`."""
        with Workers(self.threads) as workers:
            model = self.fitted
            return model.nbest(model.scores(as_input(X), workers), k, workers)

    def score(self, X: Any, y: Any = None) -> float:
        """Entity F1 where the labels have a scheme, else token accuracy; from 0 to 1."""
        with Workers(self.threads) as workers:
            return HeldOut(self.fitted, X, y).score(self.fitted, workers) / 100.0


def convert_labels(known: KnownLabels, scheme: str, encoding: str) -> KnownLabels:
    """Labels of one scheme in another; those of another form are refused."""
    if known.partial:
        return known
    if encoding != scheme:
        return replace(known, column=convert(known.column, known.offsets, scheme, encoding))
    decode(known.column, known.offsets, scheme)
    return known


def plain_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they can be written into a file."""
    return {
        name: value
        if value is None or isinstance(value, (str, int, float))
        else getattr(value, "text", str(value))
        for name, value in settings.items()
        if name != "functions"
    }
