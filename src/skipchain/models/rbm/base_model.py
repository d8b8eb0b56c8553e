"""Models that label features stand beside: learnt before them, and asked for their marginals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.corpus import Corpus
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.estimator import BaseEstimator, convert_labels
from skipchain.models.base.inputs import KnownLabels, chain_offsets, take_sequences
from skipchain.models.base.model import Model
from skipchain.parallel import Workers


def base_model_marginals(
    found: Model | BaseEstimator,
    given: Corpus | Sequence[Any],
    y: Any,
    folds: int,
    seed: int,
    workers: Workers,
) -> tuple[Model, Floats]:
    """The model beside, and the marginals that it gives the labels of the training data. [N, L]

    What is fitted is taken as it is, another estimator is fitted first.
    """
    if isinstance(found, BaseEstimator) and not hasattr(found, "model_"):
        return _cross_fit_marginals(found, given, y, folds, seed, workers)
    base = found.fitted if isinstance(found, BaseEstimator) else found
    return base, base.marginals(base.scores(given, workers), workers)


def encode_for_model(base: Model, known: KnownLabels, scheme: str | None) -> KnownLabels:
    """Labels written as a model beside has them; those that it does not know are refused."""
    if scheme is not None and base.encoding is not None:
        known = convert_labels(known, scheme, base.encoding)
    strange = sorted(set(known.names) - set(base.labels))
    if strange:
        raise SkipchainError(
            f"the model beside ({base.kind}) does not know the label {strange[0]!r}; it has "
            f"{', '.join(base.labels)}: train it on data with the same labels"
        )
    return known


def describe_base_model(observation: str | Model | BaseEstimator) -> str:
    """What a model file says of the model beside."""
    if isinstance(observation, str):
        return observation
    return observation.kind if isinstance(observation, Model) else repr(observation)


def _cross_fit_marginals(
    estimator: BaseEstimator,
    given: Corpus | Sequence[Any],
    y: Any,
    folds: int,
    seed: int,
    workers: Workers,
) -> tuple[Model, Floats]:
    """An estimator fitted to all data, and what it says of each part after seeing the others.

    Parts are whole documents where there are enough of them, so that linked labels stay so.
    """
    parts = _fold_sequences(given, folds, seed)
    base = _fit_clone(estimator, given, y, np.arange(int(max(map(max, parts))) + 1))
    starts = chain_offsets(given)
    number = {label: k for k, label in enumerate(base.fitted.labels)}
    found = np.zeros((int(starts[-1]), len(number)))
    everything = np.concatenate(parts)
    for part in parts:
        others = np.sort(np.setdiff1d(everything, part))
        model = _fit_clone(estimator, given, y, others).fitted
        scores = model.scores(take_sequences(given, None, part)[0], workers)
        tokens = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in part])
        columns = [(k, number[own]) for k, own in enumerate(model.labels) if own in number]
        source, target = (np.array(side) for side in zip(*columns, strict=True))
        found[np.ix_(tokens, target)] = model.marginals(scores, workers)[:, source]
    return base.fitted, found


def _fold_sequences(given: Corpus | Sequence[Any], folds: int, seed: int) -> list[Ints]:
    """Sequence numbers in parts of about the same size, by documents where there are enough."""
    count = len(given)
    starts = np.arange(count + 1)
    if isinstance(given, Corpus) and given.n_documents >= 2 * folds:
        starts = given.documents
    if len(starts) - 1 < folds:
        raise ParameterError(
            f"{folds} folds need as many sequences, but there are {len(starts) - 1}; give fewer "
            "folds, or a model that is fitted"
        )
    order = np.random.default_rng(seed).permutation(len(starts) - 1)
    return [
        np.concatenate([np.arange(starts[k], starts[k + 1]) for k in np.sort(order[part::folds])])
        for part in range(folds)
    ]


def _fit_clone(
    estimator: BaseEstimator, given: Corpus | Sequence[Any], y: Any, sequences: Ints
) -> BaseEstimator:
    """A copy of an estimator, fitted to some of the sequences."""
    return type(estimator)(**estimator.get_params()).fit(*take_sequences(given, y, sequences))
