"""The structured perceptron and its relatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from skipchain.chains.online import UPDATES, MarginUpdates
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.epochs import run_epochs
from skipchain.models.chain.estimator import ChainEstimator, ChainTask, FittedWeights
from skipchain.models.chain.fitting import training_size


class Perceptron(ChainEstimator):
    """Learns from mistakes: where the best path is wrong, weights move towards the gold one.

    ``update`` chooses how far: ``perceptron`` by one, ``pa`` (passive-aggressive) as far as needed
    for a margin but at most ``limit``, ``arow`` by the confidence in each weight, with ``limit`` as
    its regulariser. The weights are averaged over all steps. It gives no honest probabilities: its
    scores are not fitted to be any.

    ``epochs`` passes are made in an order that ``seed`` decides. The other parameters are those of
    `CRF`.

    Examples
    --------
    >>> from skipchain import Perceptron, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> Perceptron(features="word").fit(corpus).predict(Corpus.of([["Bo", "slept"]]))
    [['B-PER', 'O']]
    """

    kind = "perceptron"

    def __init__(
        self,
        features: str | Path | Templates = "ner",
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
    ) -> None:
        self.features = features
        self.encoding = encoding
        self.order = order
        self.update = update
        self.limit = limit
        self.epochs = epochs
        self.min_count = min_count
        self.boundaries = boundaries
        self.constraints = constraints
        self.dictionary = dictionary
        self.seed = seed
        self.patience = patience
        self.scheme = scheme
        self.functions = functions
        self.threads = threads

    def partial_fit(self, X: Any, y: Any = None, *, classes: Sequence[str] | None = None) -> Self:
        """One pass over more data, going on from the averaged weights.

        The first call fixes the features and the labels (``classes`` names those that it does not
        show); features that come up later are left out.
        """
        return self._partial_fit(X, y, classes)

    def _check(self) -> None:
        super()._check()
        self._check_numbers(whole=("epochs",), real=("limit",))
        self._check_choices(update=tuple(UPDATES))

    def _learn(self, task: ChainTask) -> FittedWeights:
        learner = MarginUpdates(
            task.data,
            len(task.untrained.labels),
            update=self.update,
            limit=self.limit,
            boundaries=self.boundaries,
            constraints=task.constraints,
            order=self.order,
            seed=self.seed,
            initial_weights=task.initial_weights,
        )
        if task.progress is not None:
            task.progress.begin(
                training_size(task.data, len(task.untrained.labels), learner.size, learner.nbytes)
            )
        early_stopping = task.early_stopping(learner.weights)
        result = run_epochs(
            lambda _: learner.epoch(), learner.vector, self.epochs, callback=early_stopping
        )
        if early_stopping.best is not None:
            result = replace(
                result, vector=early_stopping.best.vector, loss=early_stopping.best.loss
            )
        return FittedWeights(learner.weights(result.vector), result, learner.size)
