"""The labels that a history is learnt from: as they will be found, not as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skipchain.arrays import Bools, Ints, Labels, offsets_of
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import FittedWeights, Monitor
from skipchain.errors import ParameterError
from skipchain.learn.step import INTERRUPTED
from skipchain.models.base.crossfit import Fold, cross_fit, deal
from skipchain.models.base.progress import StageProgress
from skipchain.models.base.task import TrainingTask, display_monitor
from skipchain.models.chain.model import ChainModel

FOLDS = 3


def cross_fit_labels(
    task: TrainingTask,
    data: Dataset,
    untrained: ChainModel,
    learn: Callable[[Dataset, Monitor], FittedWeights],
    *,
    folds: int | None,
    seed: int,
) -> Labels:
    """The label that each token gets from a model that was not shown its document. [N]

    Earlier labels have errors when text is tagged. A model that has only seen gold ones trusts them
    too much, the more the weaker its other features are. So every fold of documents (`FOLDS` by
    default) is labelled, without a history, by what was learnt from the others. With one fold, and
    where there are too few documents, the labels are the gold ones.
    """
    assert data.labels is not None
    try:
        dealt = deal(task.given, FOLDS if folds is None else folds, seed, by_documents=True)
    except ParameterError:  # one fold; or too few documents, or copies of one
        return data.labels
    labels = data.labels.copy()

    def label(fold: Fold) -> None:
        stage = StageProgress.of(task.progress, fold.stage("the history"))
        held_out = np.zeros(len(data.offsets) - 1, np.bool_)
        held_out[fold.sequences] = True
        rest, _ = _take_chains(data, ~held_out)
        learnt = learn(rest, display_monitor(stage, rest, len(untrained.labels)))
        if stage is not None:
            stage.end(learnt.result)
        if learnt.result.reason == INTERRUPTED:
            raise KeyboardInterrupt
        held, tokens = _take_chains(data, held_out)
        model = untrained.with_weights(learnt.weights)
        scores = model.score_dataset(replace(held, labels=None), task.workers)
        labels[tokens] = chains.greedy(scores, task.workers)

    cross_fit(dealt, label)
    return labels


def _take_chains(data: Dataset, chosen: Bools) -> tuple[Dataset, Ints]:
    """The chosen chains, and which tokens they are."""
    lengths = np.diff(data.offsets)
    tokens = np.flatnonzero(np.repeat(chosen, lengths))
    return Dataset(
        data.rows.take(tokens),
        offsets_of(lengths[chosen]),
        None if data.labels is None else data.labels[tokens],
        candidates=None if data.candidates is None else data.candidates[tokens],
    ), tokens
