"""Models with label features in model files; they may have another model inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from skipchain.groups import BORDERS, LabelFeatures, groups_text, parse_groups
from skipchain.inference.gibbs import Sampling
from skipchain.modelfile.contents import contents, model_of
from skipchain.modelfile.tables import Arrays, dense, sparse
from skipchain.models.inputs import Features
from skipchain.models.rbmmodel import RBMModel

BASE = "base."  # before the names of arrays of the model inside


def parts(model: RBMModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model with label features holds beside labels and features."""
    arrays = {**sparse("weights", model.weights), **sparse("units", model.units.vector)}
    header = {
        "groups": groups_text(model.units.groups),
        "borders": model.units.borders,
        "observed": len(model.weights) > 0,
        "sampling": asdict(model.sampling),
        "gamma": model.gamma,
        "base": None,
    }
    if model.base is not None:
        header["base"], inside = contents(model.base)
        arrays |= {f"{BASE}{name}": own for name, own in inside.items()}
    return header, arrays


def read(
    header: Mapping[str, Any],
    arrays: Arrays,
    features: Features,
    functions: Mapping[str, Any],
    path: object,
) -> RBMModel:
    """The inverse of `parts`, checked."""
    labels = tuple(header["labels"])
    borders = str(header["borders"])
    if borders not in BORDERS:
        raise ValueError(f"unknown borders {borders!r}")
    groups = parse_groups(header["groups"])
    blank = LabelFeatures.zeros(groups, len(labels), features.n_features, borders)
    units = blank.filled(dense("units", arrays, (blank.size,)))
    count = features.n_features if header["observed"] else 0
    weights = dense("weights", arrays, (count, len(labels)))
    if not (np.isfinite(weights).all() and np.isfinite(units.vector).all()):
        raise ValueError("the weights are not all finite")
    if units.vector[~units.free].any():
        raise ValueError("units have weights where they look at nothing")
    own = header["sampling"]
    sampling = Sampling(
        int(own["burn_in"]), int(own["samples"]), bool(own["annealed"]), int(own["seed"])
    )
    if sampling.burn_in < 0 or sampling.samples < 1 or sampling.seed < 0:
        raise ValueError(f"{sampling} cannot be sampled")
    gamma = float(header["gamma"])
    if not (np.isfinite(gamma) and gamma >= 0.0):
        raise ValueError(f"gamma is {gamma}")
    base = None
    if header["base"] is not None:
        inside = {
            name.removeprefix(BASE): own for name, own in arrays.items() if name.startswith(BASE)
        }
        base = model_of(header["base"], inside, functions, path)
        if base.labels != labels:
            raise ValueError("the model beside has other labels")
    return RBMModel(
        str(header["kind"]), labels, features, weights, units, sampling, base, gamma,
        header["scheme"], header["encoding"], bool(header["constrained"]), header["summary"],
    )  # fmt: skip
