"""The number of hidden states, by cross-validation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.learn.step import OptimisationResult, Step
from skipchain.models.base.crossfit import Fold, deal
from skipchain.models.base.inputs import Input, label_column
from skipchain.models.base.labelled import labelled
from skipchain.models.base.progress import TrainingSize
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
    watch: Callable[[int, int], None] | None = None,
) -> list[StateCountScore]:
    """Measure an estimator with several numbers of states by cross-validation, the best first.

    Sequences are dealt to ``folds`` at random (by the estimator's seed); each fold is labelled by
    models that have learnt from the others. All of them are trained side by side, one
    thread each. Of equally good numbers the smaller comes first. ``watch`` is called after each
    model with how much is done, and of how much, counted in states, which is what training costs.

    >>> from skipchain import IOHMM
    >>> bits = np.random.default_rng(0).integers(2, size=(30, 8))
    >>> X, y = [np.eye(2)[row] for row in bits], (bits.cumsum(axis=1) % 2).astype(str).tolist()
    >>> found = choose_states(IOHMM(restarts=3, em=10), X, y, states=[1, 2], folds=2)
    >>> [(choice.states, round(choice.score)) for choice in found]
    [(2, 100), (1, 60)]
    """
    given, y = labelled(X, y, scheme=estimator.scheme)
    size = len(given)
    if not states:
        raise ParameterError("name at least one number of states")
    if not 2 <= folds <= size:
        raise ParameterError(f"{size} sequences can be cut into 2 to {size} folds, got {folds}")
    label_column(given, y)  # held-out labels have to be known
    dealt = deal(given, folds, estimator.seed, labels=y, by_documents=False)
    stop = _StopSignal()
    numbers = sorted(set(states))
    done, whole, lock = 0, folds * sum(numbers), threading.Lock()

    def run(task: tuple[int, Fold]) -> tuple[float, float, float, float]:
        number, fold = task
        began = time.perf_counter()
        model = estimator.replaced(states=number, threads=1)
        training, held = fold.training(), fold.held()
        model.fit(*training, progress=stop)
        stop.check()
        right = np.mean(
            [a == b for a, b in zip(model.predict(held[0]), _sequences(*held), strict=True)]
        )
        result = (
            100.0 * model.held_out_score(*held),
            100.0 * float(right),
            100.0 * model.held_out_score(*training),
            time.perf_counter() - began,
        )
        if watch is not None:
            nonlocal done
            with lock:
                done += number
                watch(done, whole)
        return result

    with Workers(threads) as workers:
        try:
            results = workers.map(run, [(number, fold) for number in numbers for fold in dealt])
        except KeyboardInterrupt:
            stop.set()
            raise
    found = np.array(results).reshape(len(numbers), folds, 4)
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


def _sequences(given: Input, labels: Any) -> list[list[str]]:
    """The labels of each sequence."""
    if labels is not None:
        return [list(own) for own in labels]
    if isinstance(given, Corpus):
        return [list(sentence.labels) for sentence in given]
    raise CorpusError("labels are missing: give y, one list of labels per sequence")
