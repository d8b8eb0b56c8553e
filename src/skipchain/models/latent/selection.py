"""The number of hidden states, by cross-validation."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.learn.step import OptimisationResult, Step
from skipchain.models.base.inputs import as_input, label_column, take_sequences
from skipchain.models.chain.fitting import TrainingSize
from skipchain.models.latent.estimator import LatentEstimator
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class StateCountScore:
    """What a number of states achieves on sequences that were not learnt from, in percent."""

    states: int
    scores: tuple[float, ...]
    """Entity F1 where labels have a scheme, else token accuracy; one number a fold."""
    sequence_accuracies: tuple[float, ...]
    """Sequences with all their labels right."""
    training_scores: tuple[float, ...]
    """The score on what was learnt from: far above the others means too many states."""
    seconds: float

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def std(self) -> float:
        """The standard deviation over the folds."""
        return float(np.std(self.scores, ddof=1))


def choose_states(
    estimator: LatentEstimator,
    X: Any,
    y: Any = None,
    *,
    states: Sequence[int],
    folds: int = 5,
    threads: int | None = None,
) -> list[StateCountScore]:
    """Measure an estimator with several numbers of states by cross-validation, the best first.

    Sequences are dealt to ``folds`` parts at random (by the estimator's seed); each part is
    labelled by models that have learnt from the others. All of them are trained side by side, one
    thread each. Of equally good numbers the smaller comes first.

    >>> from skipchain import IOHMM
    >>> bits = np.random.default_rng(0).integers(2, size=(30, 8))
    >>> X, y = [np.eye(2)[row] for row in bits], (bits.cumsum(axis=1) % 2).astype(str).tolist()
    >>> found = choose_states(IOHMM(restarts=3, em=10), X, y, states=[1, 2], folds=2)
    >>> [(choice.states, round(choice.score)) for choice in found]
    [(2, 100), (1, 60)]
    """
    given = as_input(X)
    size = len(given)
    if not states:
        raise ParameterError("name at least one number of states")
    if not 2 <= folds <= size:
        raise ParameterError(f"{size} sequences can be cut into 2 to {size} folds, got {folds}")
    label_column(given, y)  # held-out labels have to be known
    fold = np.random.default_rng(estimator.seed).permutation(size) % folds
    stop = _StopSignal()

    def run(task: tuple[int, int]) -> tuple[float, float, float, float]:
        number, held = task
        began = time.perf_counter()
        own = type(estimator)(**{**estimator.get_params(), "states": number, "threads": 1})
        learnt, rest = (
            take_sequences(given, y, np.flatnonzero(own)) for own in (fold != held, fold == held)
        )
        own.fit(*learnt, progress=stop)
        stop.check()
        found = own.predict(rest[0])
        gold = _sequences(*rest)
        whole = np.mean([a == b for a, b in zip(found, gold, strict=True)])
        return (
            100.0 * own.score(*rest),
            100.0 * float(whole),
            100.0 * own.score(*learnt),
            time.perf_counter() - began,
        )

    numbers = sorted(set(states))
    tasks = [(number, held) for number in numbers for held in range(folds)]
    with Workers(threads) as workers:
        try:
            found = np.array(workers.map(run, tasks)).reshape(len(numbers), folds, 4)
        except KeyboardInterrupt:
            stop.set()
            raise
    choices = []
    for number, own in zip(numbers, found, strict=True):
        scores, sequence_accuracies, training, seconds = (
            tuple(column) for column in own.T.tolist()
        )
        choices.append(StateCountScore(number, scores, sequence_accuracies, training, sum(seconds)))
    return sorted(choices, key=lambda choice: -choice.score)


class _StopSignal:
    """Ends trainings in other threads; as a display it shows nothing."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.set = self._event.set

    def check(self) -> None:
        """Raise where the end was called for."""
        if self._event.is_set():
            raise KeyboardInterrupt

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration."""
        self.check()

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration."""
        self.check()

    def end(self, result: OptimisationResult) -> None:
        """After the last."""


def _sequences(given: Corpus | Sequence[Any], labels: Any) -> list[list[str]]:
    """The labels of each sequence."""
    if labels is not None:
        return [list(own) for own in labels]
    if isinstance(given, Corpus):
        return [list(sentence.labels) for sentence in given]
    raise CorpusError("labels are missing: give y, one list of labels per sequence")
