"""Models with hidden units in model files; they may have other models inside."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from skipchain.arrays import Arrays
from skipchain.modelfile.contents import contents, read_model
from skipchain.modelfile.stored import MODEL_HEADER, StoredModel
from skipchain.modelfile.tables import dense, sparse
from skipchain.models.base.model import AnyModel
from skipchain.models.latent.model import StateModel
from skipchain.models.rbm.gibbs import MAX_STEPS, GibbsSettings
from skipchain.models.rbm.groups import format_unit_groups, parse_unit_groups, unit_groups
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.units import BORDERS, LabelFilters
from skipchain.schema.arrays import ArraySchema, check_table_size, sparse_schema
from skipchain.schema.fields import Field, Flag, Items, Nullable, Number, Record, Text, Whole

SAMPLING = Record(
    {
        "burn_in": Whole(0, MAX_STEPS),
        "samples": Whole(1, MAX_STEPS),
        "annealed": Flag(),
        "seed": Whole(),
    }
)
FIELDS: dict[str, Field] = {
    "groups": Text(most=10_000),
    "borders": Text(BORDERS),
    "observed": Flag(),
    "sampling": SAMPLING,
    "gamma": Number(0.0, 1000.0),
    "base": Nullable(MODEL_HEADER),
}
OPTIONAL_FIELDS: dict[str, Field] = {"experts": Items(MODEL_HEADER, most=20)}
"""What the header of a model with hidden units has beside what all models have."""
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


def array_schema(stored: StoredModel) -> dict[str, ArraySchema]:
    """What the arrays of a model with hidden units and such a header must be."""
    shape = (_count(stored), len(stored.header["labels"]))
    units = sparse_schema("units", (_blank_units(stored).size,))
    return sparse_schema("weights", shape) | units


def read(stored: StoredModel) -> RBMModel:
    """The inverse of `header_and_arrays`, of arrays that keep to `array_schema`."""
    header, arrays = stored.header, stored.arrays
    labels = tuple(header["labels"])
    blank = _blank_units(stored)
    units = blank.with_weights(dense("units", arrays, (blank.size,)))
    if units.vector[~units.used].any():
        raise ValueError("units have weights where they look at nothing")
    sampling = GibbsSettings(**header["sampling"])
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
        weights=dense("weights", arrays, (_count(stored), len(labels))),
        units=units,
        sampling=sampling,
        base=base,
        gamma=float(header["gamma"]),
        experts=tuple(experts),
    )


def _count(stored: StoredModel) -> int:
    """How many features have weights of their own."""
    n_features: int = stored.features.n_features
    return n_features if stored.header["observed"] else 0


def _blank_units(stored: StoredModel) -> LabelFilters:
    """The hidden units without their weights."""
    header = stored.header
    groups = unit_groups(parse_unit_groups(header["groups"]))
    n_features = stored.features.n_features
    n_inputs = n_features if any(group.inputs for group in groups) else 0
    columns = sum(group.columns for group in groups)
    size = len(header["labels"]) + 1
    rows = [size if own.below is None else groups[own.below - 1].units for own in groups]
    weights = sum(
        own.units * len(own.offsets) * count for own, count in zip(groups, rows, strict=True)
    )
    units = sum(group.units for group in groups)
    entries = weights + units + columns * n_inputs
    stored_entries = len(stored.arrays.get("units.at", ()))
    check_table_size("units", (entries,), stored_entries)
    return LabelFilters.zeros(groups, len(header["labels"]), n_features, header["borders"])


def _nested_contents(model: AnyModel, prefix: str) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model that is part of another one."""
    header, arrays = contents(model)
    return header, {f"{prefix}{name}": own for name, own in arrays.items()}
