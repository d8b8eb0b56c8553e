"""The maximum-entropy classifier of single positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skipchain.chains.learn import ChainProblem, FittedWeights, Monitor
from skipchain.errors import ParameterError
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.models.chain.estimator import ChainEstimator
from skipchain.parallel import Workers


class MaxEnt(ChainEstimator):
    """A classifier of each position on its own: p(y_t = j | x) ∝ exp Σ_f w[f, j].

    Multinomial logistic regression; the neighbours' labels play no part in learning. (Decoding
    still keeps to the label sequences that the encoding allows, unless ``constraints="none"``.) It
    is learnt as a CRF whose chains have one position each, and has no scores of label pairs.

    Parameters
    ----------
    folds
        As for `MEMM`.
    parameters
        As for `CRF`.

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

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        folds: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(features, **parameters)
        self.folds = folds

    def _check(self) -> None:
        super()._check()
        if self.order != 1 or self.dependent:
            raise ParameterError("MaxEnt looks at no other label: it has no order and no dependent")

    def _learn(self, problem: ChainProblem, workers: Workers, monitor: Monitor) -> FittedWeights:
        return super()._learn(problem.of_positions(), workers, monitor)
