"""The run of one entry: train, tag, and measure both."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from skipchain.comparison.run_result import RunResult
from skipchain.corpus import Column, Corpus
from skipchain.errors import SkipchainError
from skipchain.kernels.kernel import Kernel, told_of_compiling
from skipchain.learn.step import INTERRUPTED
from skipchain.memory import peak_memory
from skipchain.modelfile import save
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.model import BEAM, AnyModel
from skipchain.models.base.progress import Progress
from skipchain.parallel import Workers
from skipchain.tagger import Tagger

Display = Callable[[BaseEstimator], AbstractContextManager[Progress]]
"""Makes a display of an estimator's training."""

REPEATS = 3  # of which the quickest counts
WARMUP_SENTENCES = 8  # sentences that are enough to have every kernel compiled and loaded

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EntryRun:
    """An estimator, the data, decoders to try besides the default one, and where to save."""

    estimator: BaseEstimator
    train: Corpus
    test: Corpus
    dev: Corpus | None = None
    decoders: tuple[str, ...] = ()
    beam: int = BEAM
    model_file: Path | None = None

    def run(self, display: Display | None = None) -> RunResult:
        """Train and tag in this process; a keyboard interrupt leaves nothing."""
        estimator, words = self.estimator, self.test.without_labels()
        began = time.perf_counter()
        with nullcontext() if display is None else display(estimator) as shown:
            estimator.fit(self.train, dev=self.dev, progress=shown)
        training_seconds = time.perf_counter() - began
        if estimator.result_.reason == INTERRUPTED:
            raise KeyboardInterrupt
        model = estimator.fitted
        tagger = Tagger(model, estimator.threads)
        tagging_seconds, tagged = best_of(lambda: tagger.predict(words).corpus.labels)
        memory = peak_memory()
        decoded = self._decoded(model, words)
        if self.model_file is not None:
            save(model, self.model_file, overwrite=True)
        labels = {name: column for name, (_, column) in decoded.items()}
        return RunResult(
            labels={model.decoders[0]: tagged, **labels},
            scheme=model.scheme,
            decoding_seconds={name: seconds for name, (seconds, _) in decoded.items()},
            training_seconds=training_seconds,
            tagging_seconds=tagging_seconds,
            memory=memory,
            features=model.features.n_features + model.features.n_edge_features,
            parameters=model.summary["parameters"],
            weights=model.n_nonzero,
            iterations=model.summary["iterations"],
            stopped=model.summary["stopped"],
            dev=model.summary["dev"],
        )

    def _decoded(self, model: AnyModel, words: Corpus) -> dict[str, tuple[float, Column]]:
        """Seconds and labels of each decoder that was asked for and that the model has."""
        names = self._available_decoders(model)
        if not names:
            return {}
        with Workers(self.estimator.threads) as workers:
            scores = model.scores(words, workers)
            calls = {k: partial(model.decode, scores, workers, k, self.beam) for k in names}
            decoded = {name: best_of(call) for name, call in calls.items()}
        return {
            name: (seconds, model.to_scheme(labels, words.sentences))
            for name, (seconds, labels) in decoded.items()
        }

    def _available_decoders(self, model: AnyModel) -> tuple[str, ...]:
        return tuple(name for name in self.decoders if name in model.decoders)

    def warm_up(self) -> bool:
        """Load the kernels, so that no entry is charged for it; whether any had to be compiled."""
        small, few = self.estimator.for_warmup(), self.train[:WARMUP_SENTENCES]
        compiled: list[Kernel] = []
        with told_of_compiling(compiled.append), suppress(SkipchainError):
            small.fit(few)  # that they are too few is no mistake; fit will name any other
            for decoder in (None, *self._available_decoders(small.fitted)):
                small.predict(few.without_labels(), decoder=decoder, beam=self.beam)
        return bool(compiled)


def best_of(call: Callable[[], Result]) -> tuple[float, Result]:
    """The seconds of the quickest of a few calls, and the result of the last."""
    spent = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        result = call()
        spent.append(time.perf_counter() - began)
    return min(spent), result
