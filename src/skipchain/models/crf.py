"""The linear-chain conditional random field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Column, Corpus
from skipchain.corpus.corpus import LABEL
from skipchain.dataset import Dataset
from skipchain.errors import CorpusError, FeatureError, NotFittedError, ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.inference.chains import Ranked
from skipchain.learn.lbfgs import INTERRUPTED, STUCK, Minimum, minimize
from skipchain.models.chain import ChainModel
from skipchain.models.estimator import Estimator
from skipchain.models.fitting import (
    HeldOut,
    Progress,
    Watch,
    carried,
    problem_of,
    require_allowed,
)
from skipchain.models.inputs import as_input, chain_offsets, fit_features, label_column
from skipchain.objectives.likelihood import ConditionalLikelihood
from skipchain.parallel import Workers
from skipchain.potentials import Constraints
from skipchain.schemes import check_scheme, convert, decode, transitions
from skipchain.scorers.linear import LinearScorer, Weights

PAIRS = ("observed", "all")
CONSTRAINTS = ("decoding", "training", "none")
MEMORY = 6  # pairs of steps and gradient changes that L-BFGS keeps


class CRF(Estimator):
    """A conditional random field: p(y | x) ∝ exp Σ_t (Σ_f w[f, y_t] + T[y_{t−1}, y_t]).

    Parameters
    ----------
    features
        A standard set's name (``ner``, ``chunk``, ``pos``, ``citation``), template text, a template
        file, or `Templates`. Used for a corpus; features given directly need none.
    encoding
        The scheme in which spans are learnt (``bioes``, ``iob2`` …); None learns the labels as they
        are, and so does any where the labels have no scheme. Predictions come back in the scheme of
        the training data.
    l1, l2
        The penalty ``l1 · Σ|w| + l2 · Σw²``, as CRFsuite's c1 and c2.
    min_count
        Features that occur less often are left out.
    pairs
        ``observed``: weights only for the (feature, label) pairs that occur; ``all``: for all
        pairs.
    boundaries
        Whether the first and the last label have scores of their own.
    constraints
        Whether label sequences that the encoding forbids are excluded from ``decoding``, from
        ``training`` too, or not at all (``none``).
    tolerance, period, max_iterations
        Training ends when the loss falls by less than ``tolerance`` (relative) in ``period``
        iterations.
    patience
        With a development set: training ends after this many iterations without a better score on
        it, and the best weights are kept. None: the development score is only reported.
    scheme
        The scheme of labels given as lists; a corpus knows its own.
    functions
        Views of your own, by name: functions from a string to a string, None, or a list.
    threads
        None uses all cores. The result does not depend on it.

    Examples
    --------
    >>> from skipchain import CRF, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> crf = CRF(features="word", l2=0.01).fit(corpus)
    >>> crf.predict(Corpus.of([["Bo", "slept"]]))
    [['B-PER', 'O']]
    """

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        encoding: str | None = "bioes",
        l1: float = 0.0,
        l2: float = 0.3,
        min_count: int = 1,
        pairs: str = "observed",
        boundaries: bool = True,
        constraints: str = "decoding",
        tolerance: float = 1e-4,
        period: int = 10,
        max_iterations: int = 1000,
        patience: int | None = None,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
    ) -> None:
        self.features = features
        self.encoding = encoding
        self.l1 = l1
        self.l2 = l2
        self.min_count = min_count
        self.pairs = pairs
        self.boundaries = boundaries
        self.constraints = constraints
        self.tolerance = tolerance
        self.period = period
        self.max_iterations = max_iterations
        self.patience = patience
        self.scheme = scheme
        self.functions = functions
        self.threads = threads

    # Fitting -----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        dev_y: Any = None,
        start: ChainModel | None = None,
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
        given = as_input(X)
        labels, scheme, encoding = self._labels(given, y)
        features, rows, offsets = fit_features(given, self._templates(given), self.min_count)
        if rows.tokens.n_rows == 0:
            raise CorpusError("there is no token to learn from")
        names = tuple(sorted(set(labels.tolist())))
        number = {name: k for k, name in enumerate(names)}
        codes = np.array([number.get(value, -1) for value in labels.values], np.int32)
        data = Dataset(rows, offsets, codes[labels.codes])
        allowed = None
        if encoding is not None and self.constraints != "none":
            allowed = Constraints(*transitions(names, encoding))
            require_allowed(data, allowed, names)
        blank = ChainModel(
            "crf", names, features, Weights.zeros(0, 0, len(names)), scheme, encoding,
            self.constraints != "none",
        )  # fmt: skip
        held_out = None if dev is None else HeldOut(features, dev, dev_y)
        first = None if start is None else carried(start, features, names)
        with Workers(self.threads) as workers:
            minimum, weights, size = self._minimise(
                data, allowed, blank, held_out, first, workers, progress
            )
            model = replace(blank, weights=weights)
            dev_score = None if held_out is None else held_out.score(model, workers)
        summary = {
            "tokens": data.n_tokens,
            "sequences": len(offsets) - 1,
            "loss": minimum.loss,
            "iterations": minimum.iterations,
            "evaluations": minimum.evaluations,
            "stopped": minimum.reason,
            "parameters": size,
            "dev": dev_score,
            "settings": _plain(self.get_params()),
        }
        self.model_ = replace(model, summary=summary).pruned()
        self.minimum_ = minimum
        if minimum.reason == INTERRUPTED and progress is None:
            raise KeyboardInterrupt  # nobody watches, so nobody would know; the model is kept
        return self

    def _minimise(
        self,
        data: Dataset,
        allowed: Constraints | None,
        blank: ChainModel,
        held_out: HeldOut | None,
        first: Weights | None,
        workers: Workers,
        progress: Progress | None,
    ) -> tuple[Minimum, Weights, int]:
        """Where minimisation ended (at the best held-out score, with patience), and its weights."""
        scorer = LinearScorer(
            data, len(blank.labels), observed=self.pairs == "observed",
            boundaries=self.boundaries, workers=workers,
        )  # fmt: skip
        objective = ConditionalLikelihood(
            data, scorer, workers, l2=self.l2,
            constraints=allowed if self.constraints == "training" else None,
        )  # fmt: skip
        if progress is not None:
            progress.begin(problem_of(data, scorer, objective, MEMORY))
        watch = Watch(
            lambda vector: replace(blank, weights=scorer.unpack(vector)),
            held_out, self.patience, workers, progress,
        )  # fmt: skip
        minimum = minimize(
            objective, np.zeros(scorer.size) if first is None else scorer.pack(first),
            l1=self.l1, memory=MEMORY, max_iterations=self.max_iterations,
            tolerance=self.tolerance, period=self.period, callback=watch,
        )  # fmt: skip
        if not np.isfinite(minimum.loss) or (minimum.reason == STUCK and not minimum.iterations):
            raise FeatureError("no step lowers the loss; scale the features' values down")
        if watch.best is not None:
            minimum = replace(minimum, vector=watch.best.vector, loss=watch.best.loss)
        if progress is not None:
            progress.end(minimum)
        return minimum, scorer.unpack(minimum.vector).copy(), scorer.size

    def _templates(self, given: Corpus | Sequence[Any]) -> Templates | None:
        if not isinstance(given, Corpus):
            return None
        columns = tuple(name for name in given.columns if name != LABEL)
        return Templates.of(self.features, self.functions, columns)

    def _check(self) -> None:
        for name in ("l1", "l2", "tolerance"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not (np.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be a number of at least 0, got {value!r}")
        for name in ("min_count", "period", "max_iterations", "patience"):
            value = getattr(self, name)
            if name == "patience" and value is None:
                continue
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
        for name, known in (("pairs", PAIRS), ("constraints", CONSTRAINTS)):
            if getattr(self, name) not in known:
                raise ParameterError(
                    f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}"
                )

    def _labels(
        self, given: Corpus | Sequence[Any], y: Any
    ) -> tuple[Column, str | None, str | None]:
        """The labels to learn, the scheme they came in and the one they are learnt in."""
        labels = label_column(given, y)
        scheme = self.scheme
        if scheme is None and isinstance(given, Corpus) and y is None:
            scheme = given.scheme
        scheme = None if scheme is None else check_scheme(scheme)
        wanted = None if self.encoding is None else check_scheme(self.encoding)
        if scheme is None:
            return labels, None, None
        encoding = wanted or scheme
        if encoding != scheme:
            return convert(labels, chain_offsets(given), scheme, encoding), scheme, encoding
        decode(labels, chain_offsets(given), scheme)  # refuses labels of another form
        return labels, scheme, encoding

    # Predicting --------------------------------------------------------------------------------

    @property
    def classes_(self) -> list[str]:
        """The labels learnt, in the order of the marginals' columns."""
        return list(self.fitted.labels)

    @property
    def fitted(self) -> ChainModel:
        """What fitting has left; an error where the estimator is not fitted yet."""
        if not hasattr(self, "model_"):
            raise NotFittedError("this CRF is not fitted yet; call fit first")
        return self.model_

    def predict(self, X: Any, *, decoder: str = "viterbi") -> list[list[str]]:
        """The labels of each sequence, in the scheme of the training data."""
        with Workers(self.threads) as workers:
            return self.fitted.label(as_input(X), workers, decoder)

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
            return HeldOut(self.fitted.features, X, y).score(self.fitted, workers) / 100.0


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they can be written into a file."""
    return {
        name: value
        if value is None or isinstance(value, (str, int, float))
        else getattr(value, "text", str(value))
        for name, value in settings.items()
        if name != "functions"
    }
