"""Models of hidden states in model files."""

from __future__ import annotations

from typing import Any

import numpy as np

from skipchain.arrays import Arrays
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import dense, sparse
from skipchain.models.latent.model import StateModel
from skipchain.models.latent.scorer import StateWeights, state_shapes


def header_and_arrays(model: StateModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model of hidden states holds beside labels and features."""
    arrays = {
        **sparse("weights.transitions", model.weights.transitions),
        **sparse("weights.emissions", model.weights.emissions),
    }
    return {"local": model.local, "states": model.n_states}, arrays


def read(stored: StoredModel) -> StateModel:
    """The inverse of `header_and_arrays`, checked."""
    header, features = stored.header, stored.features
    states = int(header["states"])
    if states < 1:
        raise ValueError(f"{states} hidden states")
    names = ("weights.transitions", "weights.emissions")
    shapes = state_shapes(features.n_features, states, len(header["labels"]))
    tables = [dense(name, stored.arrays, shape) for name, shape in zip(names, shapes, strict=True)]
    for name, table in zip(names, tables, strict=True):
        if not np.isfinite(table).all():
            raise ValueError(f"{name} are not all finite")
    weights = StateWeights(*tables)
    return StateModel(**stored.common, weights=weights, local=bool(header["local"]))
