"""What a display of training is told: sizes, iterations, stages, the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from skipchain.chains.dataset import Dataset
from skipchain.learn.step import OptimisationResult, Step


@dataclass(frozen=True, slots=True)
class TrainingSize:
    """The size of a training problem, known before it begins.

    ``stage`` says what is learnt, where training has several stages. ``disk`` are the bytes of
    files that hold features and much of the rest, where they do; ``bytes`` are without these.
    """

    tokens: int
    sequences: int
    labels: int
    features: int
    active: int
    parameters: int
    bytes: int
    stage: str | None = None
    disk: int = 0

    @classmethod
    def of(
        cls, data: Dataset, n_labels: int, parameters: int, held: int, disk: int = 0
    ) -> TrainingSize:
        """The size of learning from data; ``held`` are its bytes beside the features."""
        rows = data.rows
        features = rows.tokens.nbytes + rows.bundles.nbytes + rows.edges.nbytes
        return cls(
            tokens=data.n_tokens,
            sequences=len(data.offsets) - 1,
            labels=n_labels,
            features=rows.n_features + rows.n_edge_features,
            active=rows.n_active,
            parameters=parameters,
            bytes=held if disk else features + held,
            disk=disk,
        )


class Progress(Protocol):
    """What a display of training is told. Any method may raise KeyboardInterrupt to stop.

    Training in several stages begins and ends each of them; where the last has ended already, one
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
    """A display that is told which stage of the training begins."""

    progress: Progress
    name: str

    @classmethod
    def of(cls, progress: Progress | None, name: str) -> StageProgress | None:
        """The stage of a display, where there is one."""
        return None if progress is None else cls(progress, name)

    def begin(self, problem: TrainingSize) -> None:
        """Before the first iteration."""
        self.progress.begin(replace(problem, stage=self.name))

    def step(self, step: Step, dev: float | None) -> None:
        """After each iteration."""
        self.progress.step(step, dev)

    def end(self, result: OptimisationResult) -> None:
        """After the last."""
        self.progress.end(result)
