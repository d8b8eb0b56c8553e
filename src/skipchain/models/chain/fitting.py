"""What fitting any chain model shares: size, display, held-out scores, warm starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import decode
from skipchain.errors import SchemeError, SkipchainError
from skipchain.learn.step import OptimisationResult, Step
from skipchain.metrics import entity_scores, token_scores
from skipchain.metrics.token import require_known
from skipchain.models.base.inputs import as_input, label_column
from skipchain.models.base.model import Model
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers

DEV_PERIOD = 10  # iterations between two scores on held-out data that is only watched


@dataclass(frozen=True, slots=True)
class TrainingSize:
    """The size of a training problem, known before it begins.

    ``stage`` says what is learnt, where training has several parts.
    """

    tokens: int
    sequences: int
    labels: int
    features: int
    active: int
    parameters: int
    bytes: int
    stage: str | None = None


class Progress(Protocol):
    """What a display of training is told. Any method may raise KeyboardInterrupt to stop.

    Training in several parts begins and ends each of them; where the last has ended already, one
    more end tells of all of them together.
    """

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration."""

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration; ``dev`` is the latest score on held-out data, in percent."""

    def end(self, result: OptimisationResult) -> None:
        """After the last."""


@dataclass(frozen=True, slots=True)
class StageProgress:
    """A display that is told which part of the training begins."""

    progress: Progress
    name: str

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration."""
        self.progress.begin(replace(problem, stage=self.name))

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration."""
        self.progress.step(step, dev)

    def end(self, result: OptimisationResult) -> None:
        """After the last."""
        self.progress.end(result)


class HeldOut:
    """Labelled data that training does not see, encoded once, to be scored again and again."""

    def __init__(self, model: Model, given: Any, labels: Any) -> None:
        held = as_input(given)
        self._gold = label_column(held, labels)
        require_known(self._gold, "held-out")
        self._scheme = held.scheme if isinstance(held, Corpus) and labels is None else None
        self._given = held
        self._data = model.dataset(held)

    def encoded_by(self, model: Model) -> HeldOut:
        """The same data as another model sees them."""
        found = copy(self)
        found._data = model.dataset(self._given)
        return found

    def score(self, model: Model, workers: Workers) -> float:
        """Entity F1 in percent, or token accuracy where the labels have no scheme."""
        offsets = self._data.offsets
        found = model.decode(model.score_dataset(self._data, workers), workers)
        if model.encoding is None or model.scheme is None:
            return token_scores(self._gold, found, offsets).accuracy
        gold = decode(self._gold, offsets, self._scheme or model.scheme)
        return entity_scores(gold, model.spans(found, offsets)).micro.f1


class EarlyStopping:
    """Called after each iteration: scores held-out data, keeps the best, tells the display."""

    def __init__(
        self,
        model: Callable[[Floats], Model],
        held_out: HeldOut | None,
        patience: int | None,
        workers: Workers,
        progress: Progress | None,
    ) -> None:
        self.best: Step | None = None
        self._model = model
        self._held_out = held_out
        self._patience = patience
        self._workers = workers
        self._progress = progress
        self._latest: float | None = None
        self._top = -1.0

    def __call__(self, step: Step) -> bool:
        """Whether to stop."""
        stop = False
        if self._held_out is not None and self._due(step):
            self._latest = self._held_out.score(self._model(step.vector), self._workers)
            if self._patience is not None:
                if self._latest > self._top:
                    self._top = self._latest
                    self.best = replace(step, vector=step.vector.copy())
                since = step.iteration - (self.best.iteration if self.best else 0)
                stop = self._top > 0.0 and since >= self._patience  # before, nothing is learnt yet
        if self._progress is not None:
            self._progress.step(step, self._latest)
        return stop

    def _due(self, step: Step) -> bool:
        often = self._patience is not None or step.planned is not None
        return often or step.iteration % DEV_PERIOD == 0


def require_allowed(data: Dataset, allowed: Constraints, names: Sequence[str]) -> None:
    """Refuse known labels that decoding could never give back, naming the first."""
    assert data.labels is not None
    known = data.labels[:, None] == np.arange(len(names)) if data.allowed is None else data.allowed
    token = allowed.dead_end(known, data.offsets)
    if token is None:
        return
    own = [names[k] for k in np.flatnonzero(known[token]).tolist()]
    told = f"label {own[0]!r} breaks" if len(own) == 1 else f"all of {', '.join(own)} break"
    raise SchemeError(
        f"token {token}: {told} the scheme where it stands; "
        "repair the labels first (skipchain convert --repair), or use constraints='none'"
    )


def training_size(data: Dataset, n_labels: int, parameters: int, held: int) -> TrainingSize:
    """The size of the problem; ``held`` are the bytes that learning takes beside the features."""
    rows = data.rows
    return TrainingSize(
        data.n_tokens,
        len(data.offsets) - 1,
        n_labels,
        rows.n_features + rows.n_edge_features,
        rows.n_active,
        parameters,
        rows.tokens.nbytes + rows.bundles.nbytes + rows.edges.nbytes + held,
    )


def warm_start_weights(start: ChainModel, untrained: ChainModel, order: int = 1) -> Weights:
    """An earlier model's weights for the features and labels that it shares with the new one.

    Those of histories, and of what is recalled, begin at zero.
    """
    features, names = untrained.features, untrained.labels
    labels = len(names)
    size = features.n_features
    if untrained.label_ngrams is not None:
        size += len(untrained.label_ngrams.ngrams)
    if untrained.history_weights is not None:
        size += labels
    weights = Weights.zeros(size, features.n_edge_features, labels, order)
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
    size = len(start.labels)
    before, now = np.append(source, size), np.append(target, labels)
    if weights.order == start.weights.order == 2:
        second = start.weights.triples[np.ix_(before, source, source)]
        weights.triples[np.ix_(now, target, target)] = second
    known = {name: k for k, name in enumerate(start.features.names(transition=True))}
    rows = [(known[n], k) for k, n in enumerate(features.names(transition=True)) if n in known]
    if rows:
        a, b = (np.array(side) for side in zip(*rows, strict=True))
        pairs = start.weights.edges.reshape(-1, size + 1, size)
        fresh = weights.edges.reshape(-1, labels + 1, labels)
        fresh[np.ix_(b, now, target)] = pairs[np.ix_(a, before, source)]
    return weights
