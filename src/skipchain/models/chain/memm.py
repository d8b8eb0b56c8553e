"""The maximum-entropy Markov model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.models.chain.estimator import MAX_ORDER, ChainEstimator


class MEMM(ChainEstimator):
    """A chain of classifiers: p(y | x) = Π_t p(y_t | y_{t−1}, x), each a maximum-entropy model.

    p(y_t = j | y_{t−1} = i, x) ∝ exp(Σ_f w[f, j] + T[i, j]): features independent of the label
    before (the IMEMM of the literature). With ``dependent=True`` every feature has weights for each
    label before, the start of the chain among them, which is one classifier per previous label;
    templates marked ``label[-1] &`` do so one by one.

    The scores of the last label are those of the last position's classifier. The ``order`` may be
    up to 8: training looks at the gold labels before a position only, however many. Where L labels
    have more than 4,096 runs of that length the model is searched with a beam, and has no
    marginals.

    Parameters
    ----------
    folds
        With a ``history(…)`` among the templates: every fold of documents is labelled by what was
        learnt from the others, so that earlier labels have the errors that they will have in
        tagging. None is 3; 1: gold labels.
    stop
        Whether the model says where a chain ends, too: after every label it stops, or goes on, with
        a probability given the last label (order 1) or the last two.
    parameters
        As for `CRF`.

    Examples
    --------
    >>> from skipchain import MEMM, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> memm = MEMM(features="word").fit(corpus)
    >>> memm.predict(Corpus.of([["Bo", "slept"]]))
    [['B-PER', 'O']]
    """

    kind = "memm"
    max_order = MAX_ORDER
    supports_label_history = True
    supports_label_trigrams = True
    local = True

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        folds: int | None = None,
        stop: bool = False,
        **parameters: Any,
    ) -> None:
        super().__init__(features, **parameters)
        self.folds = folds
        self.stop = stop
