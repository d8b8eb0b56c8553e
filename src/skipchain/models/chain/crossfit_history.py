"""What a label is learnt to make of earlier ones: labels as they will be found, not as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Ints, offsets_of
from skipchain.chains import decode as chains
from skipchain.chains.dataset import Dataset
from skipchain.corpus import Corpus
from skipchain.corpus.folds import document_folds
from skipchain.errors import ParameterError
from skipchain.learn.step import INTERRUPTED
from skipchain.models.chain.fitting import Progress, StageProgress
from skipchain.parallel import Workers

if TYPE_CHECKING:
    from skipchain.models.chain.estimator import ChainEstimator
    from skipchain.models.chain.model import ChainModel

FOLDS = 3


def cross_fit_labels(
    estimator: ChainEstimator,
    data: Dataset,
    untrained: ChainModel,
    corpus: Corpus,
    progress: Progress | None,
) -> NDArray[np.int32]:
    """The label that each token gets from a model that was not shown its document. [N]

    Labels that are recalled in tagging have errors. A model that has only seen gold ones trusts
    them too much, the more the weaker its other features are. So the documents are dealt into
    ``estimator.folds`` parts (`FOLDS` unless told), each of which is labelled, without recall, by
    what was learnt from the others. With one part, and where documents cannot be dealt, the labels
    are the gold ones.
    """
    from skipchain.models.chain.estimator import ChainTask

    assert data.labels is not None
    folds = FOLDS if estimator.folds is None else estimator.folds
    try:
        fold = document_folds(corpus, folds, seed=estimator.seed)
    except ParameterError:  # one part; or too few documents, or copies of one
        return data.labels
    chain = np.repeat(fold, np.diff(corpus.documents))  # the part of each chain
    found = data.labels.copy()
    with Workers(estimator.threads) as workers:
        for number in range(folds):
            note = f"without part {number + 1} of {folds}, for the history"
            told = None if progress is None else StageProgress(progress, note)
            rest, _ = _take_chains(data, chain != number)
            learnt = estimator._learn(
                ChainTask(rest, untrained, None, None, None, workers, told, None)
            )
            if told is not None:
                told.end(learnt.result)
            if learnt.result.reason == INTERRUPTED:
                raise KeyboardInterrupt
            held, tokens = _take_chains(data, chain == number)
            scores = untrained.with_weights(learnt.weights).score_dataset(
                replace(held, labels=None), workers
            )
            found[tokens] = chains.greedy(scores, workers)
    return found


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
