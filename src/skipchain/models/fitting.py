"""What fitting any chain model shares: size, display, held-out scores, warm starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Column, Corpus
from skipchain.dataset import Dataset
from skipchain.errors import SkipchainError
from skipchain.learn.lbfgs import Minimum, Step
from skipchain.metrics import entity_scores, token_scores
from skipchain.models.chain import ChainModel
from skipchain.models.inputs import Features, label_column
from skipchain.objectives.likelihood import ConditionalLikelihood
from skipchain.parallel import Workers
from skipchain.schemes import decode
from skipchain.scorers.linear import LinearScorer, Weights


@dataclass(frozen=True, slots=True)
class Problem:
    """The size of a training problem, known before it begins."""

    tokens: int
    sequences: int
    labels: int
    features: int
    active: int
    parameters: int
    bytes: int


class Progress(Protocol):
    """What a display of training is told. Any method may raise KeyboardInterrupt to stop."""

    def begin(self, problem: Problem) -> None:
        """Before the first iteration."""

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration; ``dev`` is the latest score on held-out data, in percent."""

    def end(self, minimum: Minimum) -> None:
        """After the last."""


class Watch:
    """Called after each iteration: scores held-out data, keeps the best, tells the display."""

    def __init__(
        self,
        model: Callable[[NDArray[np.float64]], ChainModel],
        dev: Corpus | Sequence[Any] | None,
        dev_labels: Any,
        patience: int | None,
        workers: Workers,
        progress: Progress | None,
    ) -> None:
        self.best: NDArray[np.float64] | None = None
        self.latest: float | None = None
        self._model = model
        self._dev = dev
        self._gold = None if dev is None else label_column(dev, dev_labels)
        self._patience = patience
        self._workers = workers
        self._progress = progress
        self._top = -1.0
        self._since = 0

    def __call__(self, step: Step) -> bool:
        """Whether to stop."""
        stop = False
        if self._dev is not None and self._gold is not None and self._due(step):
            model = self._model(step.vector)
            self.latest = quality(model, self._dev, self._gold, self._workers)
            if self._patience is not None:
                if self.latest > self._top:
                    self._top, self._since = self.latest, step.iteration
                    self.best = step.vector.copy()
                stop = step.iteration - self._since >= self._patience
        if self._progress is not None:
            self._progress.step(step, self.latest)
        return stop

    def _due(self, step: Step) -> bool:
        return self._patience is not None or step.iteration % 10 == 0


def quality(
    model: ChainModel, given: Corpus | Sequence[Any], gold: Column, workers: Workers
) -> float:
    """Entity F1 in percent, or token accuracy where labels have no scheme."""
    scores = model.scores(given, workers)
    found = model.decode(scores, workers)
    offsets = scores.data.offsets
    if model.encoding is None or model.scheme is None:
        return token_scores(gold, found, offsets).accuracy
    scheme = given.scheme if isinstance(given, Corpus) and given.scheme else model.scheme
    return entity_scores(decode(gold, offsets, scheme), model.spans(found, offsets)).micro.f1


def problem_of(
    data: Dataset, scorer: LinearScorer, objective: ConditionalLikelihood, memory: int
) -> Problem:
    """The size of the problem, and the memory that fitting will take."""
    rows = data.rows
    held = rows.tokens.nbytes + rows.units.nbytes + rows.edges.nbytes
    vectors = (2 * memory + 8) * scorer.size * 8
    return Problem(
        data.n_tokens,
        len(data.offsets) - 1,
        scorer.n_labels,
        rows.n_features + rows.n_edge_features,
        rows.n_active,
        scorer.size,
        held + scorer.nbytes + objective.nbytes + vectors,
    )


def carried(start: ChainModel, features: Features, names: tuple[str, ...]) -> Weights:
    """An earlier model's weights for the features and labels that it shares with the new one."""
    labels = len(names)
    weights = Weights.zeros(features.n_features, features.n_edge_features, labels)
    old = {name: k for k, name in enumerate(start.labels)}
    shared = [(old[name], k) for k, name in enumerate(names) if name in old]
    if not shared:
        raise SkipchainError("the model to start from shares no label with the training data")
    source, target = (np.array(side) for side in zip(*shared, strict=True))
    known = {name: k for k, name in enumerate(start.features.names())}
    rows = [(known[n], k) for k, n in enumerate(features.names()) if n in known]
    if rows:
        a, b = (np.array(side) for side in zip(*rows, strict=True))
        weights.state[np.ix_(b, target)] = start.weights.state[np.ix_(a, source)]
    weights.transitions[np.ix_(target, target)] = start.weights.transitions[np.ix_(source, source)]
    weights.start[target] = start.weights.start[source]
    weights.end[target] = start.weights.end[source]
    known = {name: k for k, name in enumerate(start.features.names(transition=True))}
    rows = [(known[n], k) for k, n in enumerate(features.names(transition=True)) if n in known]
    if rows:
        a, b = (np.array(side) for side in zip(*rows, strict=True))
        size = len(start.labels)
        pairs = start.weights.edges.reshape(-1, size, size)
        fresh = weights.edges.reshape(-1, labels, labels)
        fresh[np.ix_(b, target, target)] = pairs[np.ix_(a, source, source)]
    return weights
