"""Models of hidden states in model files."""

from __future__ import annotations

from typing import Any

from skipchain.arrays import Arrays
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import dense, sparse
from skipchain.models.latent.model import StateModel
from skipchain.models.latent.scorer import MAX_STATES, StateWeights, state_shapes
from skipchain.schema.arrays import ArraySchema, sparse_schema
from skipchain.schema.fields import Field, Flag, Whole

MAX_STATE_PAIRS = 1_000_000  # a token costs states times states or labels
FIELDS: dict[str, Field] = {"local": Flag(), "states": Whole(1, MAX_STATES)}
"""What the header of a model of hidden states has beside what all models have."""
NAMES = ("weights.transitions", "weights.emissions")


def header_and_arrays(model: StateModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model of hidden states holds beside labels and features."""
    arrays = {
        **sparse("weights.transitions", model.weights.transitions),
        **sparse("weights.emissions", model.weights.emissions),
    }
    return {"local": model.local, "states": model.n_states}, arrays


def array_schema(stored: StoredModel) -> dict[str, ArraySchema]:
    """What the arrays of a model of hidden states with such a header must be."""
    schema: dict[str, ArraySchema] = {}
    for name, shape in zip(NAMES, _shapes(stored), strict=True):
        schema |= sparse_schema(name, shape)
    return schema


def read(stored: StoredModel) -> StateModel:
    """The inverse of `header_and_arrays`, of arrays that keep to `array_schema`."""
    states, n_labels = stored.header["states"], len(stored.header["labels"])
    if states * max(states, n_labels) > MAX_STATE_PAIRS:
        raise ValueError(f"{states:,} states of {n_labels:,} labels are too many")
    summary = stored.header["summary"]
    for name, shape in (("followed", (states + 1, states)), ("emitted", (states, n_labels))):
        table = summary.get(name)
        if table is None or [len(row) for row in table] != [shape[1]] * shape[0]:
            raise ValueError(f"summary.{name} is no table of {shape[0]} by {shape[1]}")
    tables = zip(NAMES, _shapes(stored), strict=True)
    weights = StateWeights(*(dense(name, stored.arrays, shape) for name, shape in tables))
    return StateModel(**stored.common, weights=weights, local=stored.header["local"])


def _shapes(stored: StoredModel) -> tuple[tuple[int, ...], ...]:
    header = stored.header
    return state_shapes(stored.features.n_features, header["states"], len(header["labels"]))
