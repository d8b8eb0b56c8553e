"""The structured perceptron and its relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from skipchain.chains.learn import ChainProblem, FittedWeights, Monitor, identity
from skipchain.chains.margins import UPDATES
from skipchain.checks import check_choice, check_integer, check_number
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.epochs import run_epochs
from skipchain.learn.resuming import STEPS, Stages
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.parallel import Workers


class Perceptron(ChainEstimator):
    """Learns from mistakes: where the best path is wrong, weights move towards the gold one.

    The weights are averaged over all steps. It gives no honest probabilities: its scores are not
    fitted to be any.

    Parameters
    ----------
    features, encoding, order, min_count, boundaries, constraints, dictionary, seed, scheme
        As for `CRF`.
    functions, threads
        As for `CRF`.
    update, limit
        How far weights move: ``perceptron`` by one, ``pa`` (passive-aggressive) as far as needed
        for a margin but at most ``limit``, ``arow`` by the confidence in each weight, with
        ``limit`` as its regulariser.
    epochs
        Passes over the data, in an order that ``seed`` decides.
    patience
        With a development set: training ends after this many epochs without a better score on it,
        and the best weights are kept. None: the score is only reported.

    Examples
    --------
    >>> from skipchain import Perceptron, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> Perceptron(features="word").fit(corpus).predict(Corpus.of([["Bo", "slept"]]))
    [['B-PER', 'O']]
    """

    kind = "perceptron"
    partial = False
    solvers = ()
    update: str
    limit: float
    epochs: int
    patience: int | None

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        encoding: str | None = "bioes",
        order: int = 1,
        update: str = "perceptron",
        limit: float = 1.0,
        epochs: int = 10,
        min_count: int = 1,
        boundaries: bool = True,
        constraints: str = "decoding",
        dictionary: int | None = None,
        seed: int = 0,
        patience: int | None = None,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    def partial_fit(self, X: Any, y: Any = None, *, classes: Sequence[str] | None = None) -> Self:
        """One pass over more data, going on from the averaged weights.

        The first call fixes the features and the labels (``classes`` names those that it does not
        show); features that come up later are left out.
        """
        return self._pass(self.replaced(epochs=1, patience=None), X, y, classes)

    def without_patience(self) -> Self:
        """The same estimator, not fitted, which watches no held-out data."""
        return self.replaced(patience=None)

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        return self.replaced(epochs=1, patience=None)

    def _check(self) -> None:
        super()._check()
        check_integer("epochs", self.epochs)
        check_number("limit", self.limit)
        check_choice("update", self.update, UPDATES)
        if self.patience is not None:
            check_integer("patience", self.patience)

    def _learn(self, problem: ChainProblem, workers: Workers, monitor: Monitor) -> FittedWeights:
        learner = problem.margins(update=self.update, limit=self.limit)
        if monitor.begin is not None:
            monitor.begin(learner.size, learner.nbytes)
        stopping = monitor.early_stopping(learner.weights, self.patience)
        stages = Stages.begin(monitor.keeping, lambda: identity(problem))
        trail = stages.trail(STEPS, learner.size, learner=learner, stopping=stopping)
        result = run_epochs(
            lambda _: learner.epoch(), learner.vector, self.epochs, callback=stopping, trail=trail
        )
        result = stopping.best_of(result)
        return FittedWeights(learner.weights(result.vector), result, learner.size)
