"""What `fit` hands to a family of models, and what it gets back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from skipchain.arrays import IN_MEMORY, Ints, Room
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import Monitor
from skipchain.errors import CorpusError
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.templates import Templates
from skipchain.learn.resuming import Keeping
from skipchain.learn.step import OptimisationResult
from skipchain.models.base.inputs import Features, Input, fit_features
from skipchain.models.base.model import AnyModel
from skipchain.models.base.progress import Progress, TrainingSize
from skipchain.parallel import Workers

if TYPE_CHECKING:
    from skipchain.models.base.held_out import HeldOut


@dataclass(frozen=True)
class TrainingTask:
    """Data to learn from, their templates with fitted annotators, and who follows the learning.

    ``labels`` are those given apart from the data (None: the corpus has them), ``dev`` the held-out
    data with theirs, ``start`` a model to begin from, ``keeping`` who keeps states of the learning,
    ``room`` where large arrays are made.
    """

    given: Input
    labels: Any
    templates: Templates | None
    workers: Workers
    dev: Any = None
    dev_labels: Any = None
    start: Any = None
    progress: Progress | None = None
    keeping: Keeping | None = None
    room: Room = IN_MEMORY

    def features(self, min_count: int) -> tuple[Features, FeatureMatrix, Ints]:
        """The features of the data, the data encoded by them, and where sequences begin."""
        features, rows, offsets = fit_features(self.given, self.templates, min_count, self.room)
        if rows.tokens.n_rows == 0:
            raise CorpusError("there is no token to learn from")
        return features, rows, offsets

    def held_out(self, model: AnyModel) -> HeldOut | None:
        """The held-out data as a model sees them, where there are any."""
        if self.dev is None:
            return None
        from skipchain.models.base.held_out import HeldOut

        return HeldOut(model, self.dev, self.dev_labels)

    def monitor(
        self,
        data: Dataset,
        n_labels: int,
        held_out: HeldOut | None,
        model: Callable[[Any], AnyModel],
    ) -> Monitor:
        """Who follows the learning of a chain; ``model`` makes a model of its weights."""
        score = None if held_out is None else (lambda w: held_out.score(model(w), self.workers))
        keeping = self.keeping
        if keeping is not None and held_out is not None:
            identity = {**keeping.identity, "held-out data": held_out.digest()}
            keeping = replace(keeping, identity=identity)
        monitor = display_monitor(self.progress, data, n_labels, self.room)
        return replace(monitor, score=score, keeping=keeping)


def display_monitor(
    progress: Progress | None, data: Dataset, n_labels: int, room: Room = IN_MEMORY
) -> Monitor:
    """Tells a display of the learning of a chain, where there is one."""
    if progress is None:
        return Monitor()
    return Monitor(
        begin=lambda size, held: progress.begin(
            TrainingSize.of(data, n_labels, size, held, room.nbytes)
        ),
        tell=progress.step,
    )


@dataclass(frozen=True)
class Fitted:
    """What a family gives back: a model, how learning ended, and what the summary tells of it."""

    model: AnyModel
    result: OptimisationResult
    parameters: int
    tokens: int
    sequences: int
    held_out: HeldOut | None = None
    """The held-out data as the model sees them, where they are encoded already."""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, data: Dataset, model: AnyModel, result: OptimisationResult, size: int, **rest: Any
    ) -> Fitted:
        """A model of so many parameters, with the tokens and sequences of data counted."""
        return cls(model, result, size, data.n_tokens, len(data.offsets) - 1, **rest)
