"""The kinds of models by name. Estimators are imported when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skipchain.errors import ParameterError

if TYPE_CHECKING:
    from skipchain.models.base.estimator import BaseEstimator

ESTIMATORS = {
    "crf": ("chain.crf", "CRF"),
    "memm": ("chain.memm", "MEMM"),
    "maxent": ("chain.maxent", "MaxEnt"),
    "perceptron": ("chain.perceptron", "Perceptron"),
    "hmm": ("chain.hmm", "HMM"),
    "mop-memm": ("graph.mop", "MoPMEMM"),
    "rbm-crf": ("rbm.estimator", "RBMCRF"),
    "skip-chain-crf": ("graph.skipchain", "SkipChainCRF"),
    "iohmm": ("latent.iohmm", "IOHMM"),
    "hrf": ("latent.hrf", "HRF"),
}
"""The file and the class of each kind of model."""


def check_kind(kind: str) -> None:
    """Refuse a kind of model that there is not."""
    if kind not in ESTIMATORS:
        raise ParameterError(f"there is no model {kind!r}; there are {', '.join(ESTIMATORS)}")


def estimator_class(kind: str) -> type[BaseEstimator]:
    """The class of the estimators of one kind."""
    check_kind(kind)
    file, name = ESTIMATORS[kind]
    found: type[BaseEstimator] = getattr(import_module(f"skipchain.models.{file}"), name)
    return found


def make_estimator(kind: str, features: Any, **settings: Any) -> BaseEstimator:
    """The estimator of one kind; settings that it does not have are refused.

    Without ``features`` it has those that its kind has unless told otherwise.

    >>> make_estimator("perceptron", "word", epochs=3)
    Perceptron(features='word', epochs=3)
    """
    found = estimator_class(kind)
    known = found._parameters()
    for name in settings:
        if name not in known:
            raise ParameterError(
                f"{name!r} is no setting of model {kind}; it has {', '.join(known)}"
            )
    own = {} if features is None else {"features": features}
    return found(**own, **settings)
