"""Models with hidden units in model files; they may have other models inside."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from skipchain.arrays import Arrays
from skipchain.modelfile.contents import contents, read_model
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import dense, sparse
from skipchain.models.base.model import AnyModel
from skipchain.models.latent.model import StateModel
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.units import BORDERS, LabelFilters, format_unit_groups, parse_unit_groups

BASE = "base."  # before the names of arrays of the model inside
EXPERT = "expert.{}."  # the same of the experts, by their numbers


def header_and_arrays(model: RBMModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model with hidden units holds beside labels and features."""
    arrays = {**sparse("weights", model.weights), **sparse("units", model.units.vector)}
    header: dict[str, Any] = {
        "groups": format_unit_groups(model.units.groups),
        "borders": model.units.borders,
        "observed": len(model.weights) > 0,
        "sampling": asdict(model.sampling),
        "gamma": model.gamma,
        "base": None,
        "experts": [],
    }
    if model.base is not None:
        header["base"], inside = _nested_contents(model.base, BASE)
        arrays |= inside
    for number, expert in enumerate(model.experts):
        own, inside = _nested_contents(expert, EXPERT.format(number))
        header["experts"].append(own)
        arrays |= inside
    return header, arrays


def read(stored: StoredModel) -> RBMModel:
    """The inverse of `header_and_arrays`, checked."""
    header, arrays, features = stored.header, stored.arrays, stored.features
    labels = tuple(header["labels"])
    borders = str(header["borders"])
    if borders not in BORDERS:
        raise ValueError(f"unknown borders {borders!r}")
    groups = parse_unit_groups(header["groups"])
    blank = LabelFilters.zeros(groups, len(labels), features.n_features, borders)
    units = blank.with_weights(dense("units", arrays, (blank.size,)))
    count = features.n_features if header["observed"] else 0
    weights = dense("weights", arrays, (count, len(labels)))
    if not (np.isfinite(weights).all() and np.isfinite(units.vector).all()):
        raise ValueError("the weights are not all finite")
    if units.vector[~units.learnable].any():
        raise ValueError("units have weights where they look at nothing")
    own = header["sampling"]
    sampling = GibbsSettings(
        int(own["burn_in"]), int(own["samples"]), bool(own["annealed"]), int(own["seed"])
    )
    if sampling.burn_in < 0 or sampling.samples < 1 or sampling.seed < 0:
        raise ValueError(f"{sampling} cannot be sampled")
    gamma = float(header["gamma"])
    if not (np.isfinite(gamma) and gamma >= 0.0):
        raise ValueError(f"gamma is {gamma}")
    base = None
    if header["base"] is not None:
        base = read_model(stored.inside(header["base"], BASE))
        if base.labels != labels:
            raise ValueError("the model beside has other labels")
    experts = []
    for number, inside in enumerate(header.get("experts", [])):
        expert = read_model(stored.inside(inside, EXPERT.format(number)))
        if not isinstance(expert, StateModel) or expert.labels != labels:
            raise ValueError(f"expert {number + 1} has no hidden states, or other labels")
        experts.append(expert)
    return RBMModel(
        **stored.common,
        weights=weights,
        units=units,
        sampling=sampling,
        base=base,
        gamma=gamma,
        experts=tuple(experts),
    )


def _nested_contents(model: AnyModel, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model that is part of another one."""
    header, arrays = contents(model)
    return header, {f"{prefix}{name}": own for name, own in arrays.items()}
