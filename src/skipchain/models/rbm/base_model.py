"""The base model of an RBM-CRF: learnt before the hidden units, and asked for its marginals."""

from __future__ import annotations

from typing import Any

from skipchain.arrays import Floats
from skipchain.errors import SkipchainError
from skipchain.models.base.crossfit import Fold, cross_predict, deal
from skipchain.models.base.estimator import BaseEstimator, convert_labels
from skipchain.models.base.inputs import Input, KnownLabels
from skipchain.models.base.model import AnyModel, Model
from skipchain.parallel import Workers


def base_model_marginals(
    base: AnyModel | BaseEstimator, given: Input, y: Any, folds: int, seed: int, workers: Workers
) -> tuple[AnyModel, Floats]:
    """The base model, and the marginals that it gives the labels of the training data. [N, L]

    What is fitted is taken as it is. Another estimator is fitted first; its marginals of each fold
    are those of a model that has learnt from the others.
    """
    if isinstance(base, Model) or hasattr(base, "model_"):
        model = base if isinstance(base, Model) else base.fitted
        return model, model.marginals(model.scores(given, workers), workers)
    estimator = base

    def fit(fold: Fold) -> AnyModel:
        return estimator.replaced().fit(*fold.training()).fitted

    dealt = deal(given, folds, seed, labels=y)
    model = estimator.replaced().fit(given, y).fitted
    return model, cross_predict(dealt, fit, model.labels, workers=workers)[0]


def encode_for_model(base: AnyModel, known: KnownLabels, scheme: str | None) -> KnownLabels:
    """Labels written as a base model has them; those that it does not know are refused."""
    if scheme is not None and base.encoding is not None:
        known = convert_labels(known, scheme, base.encoding)
    strange = sorted(set(known.names) - set(base.labels))
    if strange:
        raise SkipchainError(
            f"the base model ({base.kind}) does not know the label {strange[0]!r}; it has "
            f"{', '.join(base.labels)}: train it on data with the same labels"
        )
    return known


def describe_base_model(observation: str | AnyModel | BaseEstimator) -> str:
    """What a model file says of the base model."""
    if isinstance(observation, str):
        return observation
    return observation.kind if isinstance(observation, Model) else repr(observation)
