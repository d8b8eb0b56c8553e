"""Hidden random fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from skipchain.checks import check_choice
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.learn.restarts import Restarts
from skipchain.learn.step import INTERRUPTED
from skipchain.models.latent.estimator import LatentEstimator, StateTask
from skipchain.models.latent.likelihood import StateLikelihood
from skipchain.models.latent.model import StateModel
from skipchain.models.latent.scorer import StateWeights

FROM_IOHMM, RANDOM = INITS = "iohmm", "random"
MIN_LOG_PROB = -15.0  # log-probabilities of an IOHMM are clipped here


class HRF(LatentEstimator):
    """Hidden states and labels as an undirected chain, normalised as a whole.

    p(y | x) = Σ_h Π_t exp(λ(h_{t−1}, h_t) · x_t + θ(h_t, y_t) · x_t) / Z(x): what the CRF is to the
    MEMM, the HRF is to the `IOHMM`. From random weights it seldom finds more than a poor local
    optimum, so it begins with the best of several IOHMMs.

    Parameters
    ----------
    init
        ``iohmm`` trains an IOHMM first and begins with its log-probabilities; ``random`` begins
        ``restarts`` times from random weights, each with EM whose M-steps fit a CRF of the states.
    parameters
        As for `IOHMM`; with init ``iohmm`` the restarts and EM of the solver are those of the
        IOHMM.

    Examples
    --------
    >>> import numpy as np
    >>> from skipchain import HRF
    >>> bits = np.random.default_rng(0).integers(2, size=(20, 8))
    >>> X, y = [np.eye(2)[row] for row in bits], (bits.cumsum(axis=1) % 2).astype(str).tolist()
    >>> parity = HRF(states=2, restarts=3, em=10).fit(X, y)
    >>> parity.predict([np.eye(2)[[1, 0, 1, 1, 1]]])
    [['1', '1', '0', '1', '0']]
    """

    kind = "hrf"
    local = False

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        init: str = FROM_IOHMM,
        **parameters: Any,
    ) -> None:
        super().__init__(features, **parameters)
        self.init = init

    def _check(self) -> None:
        super()._check()
        check_choice("init", self.init, INITS)

    def _initial_weights(self, start: StateModel, untrained: StateModel) -> StateWeights:
        weights = super()._initial_weights(start, untrained)
        return weights.to_log_probs(MIN_LOG_PROB) if start.local else weights

    def _search(self, task: StateTask) -> Restarts:
        if self.init == RANDOM:
            return super()._search(task)
        begun = self._from_restarts(task, local=True)
        vector = task.scorer.pack(task.scorer.weights(begun.best.vector).to_log_probs(MIN_LOG_PROB))
        if begun.best.reason == INTERRUPTED:
            likelihood = StateLikelihood(task.data, task.scorer, task.workers, l2=self.l2)
            best = replace(begun.best, vector=vector, loss=likelihood(vector)[0])
        else:
            best = self._maximise_directly(task, vector, StateLikelihood).after(begun.best)
        return replace(begun, best=best)
