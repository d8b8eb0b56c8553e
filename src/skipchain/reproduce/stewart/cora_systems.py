"""The systems that label references: their estimators, settings and base models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from skipchain import CRF, IOHMM, MEMM, RBMCRF, MaxEnt
from skipchain.features.views import UserView
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.chain.model import ChainModel
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart import references
from skipchain.reproduce.stewart.toys import SIGMA, l2_of

LR, PLAIN_CRF, ICRF = "LR", "CRF", "ICRF"
RBM_LR, RBM_CRF_ONE, RBM_CRF = "RBM-LR(2)", "RBM-CRF(1)", "RBM-CRF(2)"
OURS, OURS_RBM = "CRF, our features", "RBM-CRF(1), our features"
CROSSED = "cross-fitted"
ONE, THREE = "10:0..9", "10:0..4; 10:0..9; 10:0..19"
"""The groups of hidden units of Table 6.16, of the models (1) and (2)."""
THESIS_GAMMA = 0.6  # beside the CRF
EPOCHS = 50

Fitted = Mapping[str, BaseEstimator]
Models = dict[tuple[Any, ...], ChainModel]


class RememberedCRF(CRF):
    """A CRF that learns once from the same references, so that systems share what is cross-fitted.

    ``models`` are those that were learnt so far, by settings and references; None keeps none.
    """

    models: Models | None = None

    def replaced(self, **parameters: Any) -> Self:
        """A copy with other parameters, which looks into the same models."""
        copy = super().replaced(**parameters)
        copy.models = self.models
        return copy

    def fit(self, X: Any, y: Any = None, **others: Any) -> Self:
        """Learn from a corpus, or take what was learnt from the same words before."""
        if self.models is None:
            return super().fit(X, y, **others)
        key = (repr(self), *(tuple(sentence.words) for sentence in X))
        if key not in self.models:
            self.models[key] = super().fit(X, y, **others).model_
        self.model_ = self.models[key]
        return self


@dataclass(frozen=True, slots=True)
class CoraSystem:
    """An estimator with its settings.

    ``base_model`` names a system to which it adds hidden units: one that is fitted already, or with
    ``cross_fitted`` one that is fitted to folds of the data first.
    """

    estimator: Callable[..., BaseEstimator]
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: str = references.THESIS
    base_model: str | None = None
    cross_fitted: bool = False

    def make(
        self,
        fitted: Fitted,
        functions: Mapping[str, UserView],
        run: Run,
        models: Models | None = None,
    ) -> BaseEstimator:
        """The estimator, not fitted yet; ``models`` are CRFs that need not be learnt again."""
        settings = {"encoding": None, "threads": run.threads, **self.settings}
        if self.cross_fitted and self.base_model is not None:
            settings["observation"] = SYSTEMS[self.base_model].make({}, functions, run, models)
        elif self.base_model is not None:
            settings["observation"] = fitted[self.base_model]
        estimator = self.estimator(self.features, functions=functions, **settings)
        if isinstance(estimator, RememberedCRF):
            estimator.models = models
        return estimator


def hidden_units(
    groups: str, base: str, gamma: float = 1.0, epochs: int = EPOCHS, *, cross_fitted: bool = False
) -> CoraSystem:
    """Hidden units added to a base model."""
    settings = {"groups": groups, "gamma": gamma, "epochs": epochs, "steps": 1, **_SAMPLED}
    return CoraSystem(RBMCRF, settings, base_model=base, cross_fitted=cross_fitted)


_CHAIN_SETTINGS = {"solver": "lbfgs", "l2": l2_of(SIGMA), "pairs": "all"}
_SAMPLED = {
    "batch": 35, "rate": 0.1, "decay": 1 / SIGMA**2, "momentum_from": 3, "burn_in": 100,
    "samples": 200,
}  # fmt: skip
_ALONE = {"epochs": 100, "steps": "1, 50:3", **_SAMPLED}
_BASED = {"epochs": EPOCHS, "steps": 1, **_SAMPLED}

SYSTEMS = {
    LR: CoraSystem(MaxEnt, _CHAIN_SETTINGS),
    "MEMM": CoraSystem(MEMM, {**_CHAIN_SETTINGS, "dependent": True}),
    "IMEMM": CoraSystem(MEMM, _CHAIN_SETTINGS),
    PLAIN_CRF: CoraSystem(RememberedCRF, {**_CHAIN_SETTINGS, "dependent": True}),
    ICRF: CoraSystem(RememberedCRF, _CHAIN_SETTINGS),
    "IOHMM": CoraSystem(IOHMM, {"states": 6, "restarts": 1, "em": 20, "max_iterations": 100}),
    "RBM(1)": CoraSystem(RBMCRF, {"groups": "15:0..1", **_ALONE}),
    "RBM(2)": CoraSystem(RBMCRF, {"groups": "15:0..1; 20:0..2", **_ALONE}),
    "RBM(3)": CoraSystem(RBMCRF, {"groups": "15:0..1; 20:0..2; 5:0..9; 5:0..19", **_ALONE}),
    "RBM-LR(1)": hidden_units(ONE, LR, 0.75),
    RBM_LR: hidden_units(THREE, LR, 0.75),
    f"{RBM_LR}, {CROSSED}": hidden_units(THREE, LR, cross_fitted=True),
    RBM_CRF_ONE: hidden_units(ONE, PLAIN_CRF, THESIS_GAMMA),
    f"{RBM_CRF_ONE}, {CROSSED}": hidden_units(ONE, PLAIN_CRF, cross_fitted=True),
    RBM_CRF: hidden_units(THREE, PLAIN_CRF, THESIS_GAMMA),
    f"{RBM_CRF}, {CROSSED}": hidden_units(THREE, PLAIN_CRF, cross_fitted=True),
    f"RBM-ICRF(2), {CROSSED}": hidden_units(THREE, ICRF, cross_fitted=True),
    OURS: CoraSystem(CRF, {"solver": "sgd", "l2": 0.02, "dropout": 0.5}, references.OURS),
    OURS_RBM: CoraSystem(RBMCRF, {"groups": ONE, **_BASED}, base_model=OURS),
}
QUICK = {LR: {}, ICRF: {}, "RBM-LR(1)": {"epochs": 20}, OURS: {"epochs": 15}}
"""The systems of a quick run, with the settings that differ from those of a full run."""
