"""The maximum-entropy classifier of single positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skipchain.errors import ParameterError
from skipchain.models.chain.estimator import ChainTask, FittedWeights
from skipchain.models.chain.loglinear import LogLinearChain


class MaxEnt(LogLinearChain):
    """A classifier of each position on its own: p(y_t = j | x) ∝ exp Σ_f w[f, j].

    Multinomial logistic regression; the neighbours' labels play no part in learning. (Decoding
    still keeps to the label sequences that the encoding allows, unless ``constraints="none"``.) It
    is learnt as a CRF whose chains have one position each, and has no scores of label pairs.

    The parameters are those of `CRF`.

    Examples
    --------
    >>> from skipchain import MaxEnt, Corpus
    >>> corpus = Corpus.of([["Ada", "slept"], ["Bo", "ran"]] * 5,
    ...                    [["B-PER", "O"], ["B-PER", "O"]] * 5, scheme="iob2")
    >>> MaxEnt(features="word").fit(corpus).predict(Corpus.of([["Bo", "slept"]]))
    [['B-PER', 'O']]
    """

    kind = "maxent"
    supports_label_history = True
    local = True  # for one position the same, and quicker

    @property
    def _has_boundaries(self) -> bool:
        return False  # every position is the first and the last of its chain

    def _check(self) -> None:
        super()._check()
        if self.order != 1 or self.dependent:
            raise ParameterError("MaxEnt looks at no other label: it has no order and no dependent")

    def _learn(self, task: ChainTask) -> FittedWeights:
        single = np.arange(task.data.n_tokens + 1, dtype=np.int64)
        return super()._learn(replace(task, data=replace(task.data, offsets=single)))
