"""Hidden random fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.restarts import Restarts
from skipchain.learn.step import INTERRUPTED
from skipchain.models.latent.estimator import (
    CONDITIONAL,
    LatentEstimator,
    StateTask,
    combine_stages,
)
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
    states, restarts, em, l2 and others
        As for `IOHMM`; with init ``iohmm`` the restarts and EM are those of the IOHMM.

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
        features: str | Path | Templates = "ner",
        *,
        states: int = 4,
        init: str = FROM_IOHMM,
        restarts: int = 5,
        bias: bool = False,
        encoding: str | None = "bioes",
        objective: str = CONDITIONAL,
        em: int = 40,
        m_steps: int = 10,
        annealing: float | None = None,
        l2: float = 0.005,
        min_count: int = 1,
        constraints: str = "decoding",
        seed: int = 0,
        tolerance: float | None = None,
        period: int | None = None,
        max_iterations: int | None = None,
        patience: int | None = None,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            features,
            states=states,
            restarts=restarts,
            bias=bias,
            encoding=encoding,
            objective=objective,
            em=em,
            m_steps=m_steps,
            annealing=annealing,
            l2=l2,
            min_count=min_count,
            constraints=constraints,
            seed=seed,
            tolerance=tolerance,
            period=period,
            max_iterations=max_iterations,
            patience=patience,
            scheme=scheme,
            functions=functions,
            threads=threads,
        )
        self.init = init

    def _check(self) -> None:
        super()._check()
        self._check_choices(init=INITS)

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
            return replace(
                begun, best=replace(begun.best, vector=vector, loss=likelihood(vector)[0])
            )
        return replace(
            begun,
            best=combine_stages(begun.best, self._maximise_directly(task, vector, StateLikelihood)),
        )
