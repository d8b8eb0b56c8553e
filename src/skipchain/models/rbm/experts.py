"""Experts: models of hidden states that are learnt together with the hidden units."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skipchain.arrays import Bools
from skipchain.chains.dataset import Dataset
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import Input
from skipchain.models.base.model import AnyModel, Model
from skipchain.models.latent.estimator import LatentEstimator
from skipchain.models.latent.likelihood import expected_counts
from skipchain.models.latent.model import StateModel
from skipchain.models.latent.scorer import StateScorer, StateWeights
from skipchain.parallel import Workers

ExpertSpec = LatentEstimator | StateModel

_EXPERT = re.compile(r"(iohmm|hrf)\s*:\s*(\d+)")
_FORM = "write 'hrf:4' for an HRF with 4 hidden states, 'hrf:4; iohmm:2' for an IOHMM beside it"


def parse_experts(given: Any, make: Callable[[str, int], BaseEstimator]) -> tuple[ExpertSpec, ...]:
    """Experts from text with ``;`` or ``+`` between them, or from models of hidden states.

    ``make`` gives the estimator of a kind with a number of states.

    >>> from skipchain.models.registry import make_estimator
    >>> make = lambda kind, states: make_estimator(kind, None, states=states)
    >>> parse_experts("hrf:3; iohmm:2", make)
    (HRF(states=3), IOHMM(states=2))
    """
    if isinstance(given, str):
        given = [part for part in re.split("[;+]", given) if part.strip()]
    elif isinstance(given, ExpertSpec):
        given = [given]
    elif not isinstance(given, Sequence):
        raise ParameterError(f"experts are a list of models of hidden states, or text: {_FORM}")
    return tuple(_as_expert(own, make) for own in given)


def format_experts(experts: Sequence[ExpertSpec]) -> str:
    """What a model file says of the experts that were given."""
    return "; ".join(
        f"{own.kind}:{own.n_states if isinstance(own, StateModel) else own.states}"
        for own in experts
    )


def fit_experts(experts: Sequence[ExpertSpec], given: Input, y: Any) -> tuple[StateModel, ...]:
    """The models to begin with: those that are fitted as they are, the others learnt alone."""
    return tuple(_fitted_expert(own, given, y) for own in experts)


def check_same_labels(models: Sequence[AnyModel]) -> None:
    """Refuse models whose labels are not the same."""
    for own in models[1:]:
        first = models[0]
        if (own.labels, own.encoding) != (first.labels, first.encoding):
            raise SkipchainError(
                f"the expert {own.kind} has the labels {', '.join(own.labels)}, and the "
                f"{first.kind} beside it {', '.join(first.labels)}: train both on the same data, "
                "with the same encoding"
            )


def expert_dataset(expert: StateModel, given: Input, labels: Any, workers: Workers) -> Dataset:
    """The data as an expert sees them; refused if it knows none of their features."""
    data = expert.dataset(given, workers)
    if not len(data.rows.tokens.indices):
        raise SkipchainError(
            f"the expert {expert.kind} knows no feature of the data: train it on features of the "
            "same kind"
        )
    return replace(data, labels=labels)


def learnable_mask(weights: StateWeights) -> Bools:
    """Which weights of an expert are learnt: those that go with every token if it has them. [P]"""
    every = weights.transitions[-1].any() or weights.emissions[-1].any()
    found = weights.from_vector(np.ones(weights.size))
    found.transitions[-1], found.emissions[-1] = every, every
    return found.vector.astype(np.bool_)


def with_state_counts(expert: StateModel, data: Dataset, workers: Workers) -> StateModel:
    """With the states' counts in the training data, as the weights that it has now expect them."""
    scorer = StateScorer(data.rows, expert.n_states, len(expert.labels), bias=True)
    followed, emitted = expected_counts(
        data, scorer, expert.weights.vector, workers, local=expert.local
    )
    own = {"followed": followed.tolist(), "emitted": emitted.tolist()}
    return replace(expert, summary={**expert.summary, **own})


def _as_expert(given: Any, make: Callable[[str, int], BaseEstimator]) -> ExpertSpec:
    if isinstance(given, str):
        found = _EXPERT.fullmatch(given.strip())
        if found is None:
            raise ParameterError(f"the expert {given.strip()!r} cannot be read; {_FORM}")
        if int(found[2]) < 1:
            raise ParameterError(f"the expert {given.strip()!r} needs at least one hidden state")
        given = make(found[1], int(found[2]))
    if not isinstance(given, ExpertSpec):
        kind = given.kind if isinstance(given, (Model, BaseEstimator)) else type(given).__name__
        raise ParameterError(
            f"experts are models of hidden states (HRF, IOHMM), or text: {_FORM}; got {kind}"
        )
    return given


def _fitted_expert(own: ExpertSpec, given: Input, y: Any) -> StateModel:
    if isinstance(own, StateModel):
        return own
    if hasattr(own, "model_"):
        return own.model_
    return own.replaced().fit(given, y).model_
