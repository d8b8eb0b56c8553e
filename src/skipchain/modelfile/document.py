"""Chain models with factors in model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError
from skipchain.modelfile import chain as chains
from skipchain.modelfile.stored import SUMMARY, StoredModel
from skipchain.models.document.annealing import MAX_CHAINS, MAX_SAMPLES, MOVES, SEGMENT, Annealing
from skipchain.models.document.candidates import MAX_LABELLINGS, CandidateLimits
from skipchain.models.document.factors import (
    KEY_FUNCTIONS,
    Agreement,
    Consistency,
    Forbidden,
    LastWord,
)
from skipchain.models.document.factors.agreement import BY_PAIR, COUNTING, KeyFunction
from skipchain.models.document.factors.base import SpanFactor
from skipchain.models.document.model import FactoredModel
from skipchain.schema.arrays import ArraySchema
from skipchain.schema.fields import (
    Anything,
    Either,
    Entries,
    Field,
    Flag,
    Items,
    Number,
    Record,
    Text,
    Whole,
)

TABLES = ("same", "inside")
MAX_FACTOR_WORK = 100_000  # samples, chains and factors multiplied
_TYPE, _PENALTY = Text(most=1000), Number()
FACTOR_FIELDS = {
    "consistency": Record(
        {
            "factor": Text(),
            "types": Items(_TYPE, most=1000, distinct=True),
            "strength": Number(0.0),
            "by_length": Flag(),
            "shared": Flag(),
        }
    ),
    "agreement": Record(
        {"factor": Text(), "type": _TYPE, "key": Text(most=1000), "penalty": _PENALTY},
        optional={"by": Text(COUNTING)},
    ),
    "last_word": Record({"factor": Text(), "type": _TYPE, "penalty": _PENALTY}),
    "forbidden": Record({"factor": Text(), "one": _TYPE, "other": _TYPE}),
}
FACTOR_KIND = Record({"factor": Text(tuple(FACTOR_FIELDS))}, others=Anything())
FIELDS: dict[str, Field] = {
    **chains.FIELDS,
    "factors": Items(Entries(Anything()), most=100),
    "further": Items(_TYPE, most=1000, distinct=True),
    "base": Record({"kind": Text(most=1000), "summary": SUMMARY}),
    "doubts": Record({"tolerance": Number(0.0, 1.0), "most": Whole(1, MAX_LABELLINGS)}),
    "annealing": Record(
        {
            "samples": Whole(1, MAX_SAMPLES),
            "cooling": Either(Text(("linear",)), Items(Number(0.0), most=MAX_SAMPLES)),
            "chains": Whole(1, MAX_CHAINS),
            "seed": Whole(),
            "scattered": Flag(),
        },
        optional={"moves": Text(MOVES)},
    ),
}
"""What the header of a chain model with factors has beside what all models have."""
OPTIONAL_FIELDS = chains.OPTIONAL_FIELDS
_PYTHON_FACTOR_MESSAGE = (
    "{} is a factor of your own, which a model file cannot hold; save the model without it, and "
    "add it to the loaded one again: FactoredModel.from_chain(model.base, factors)"
)


def header_and_arrays(model: FactoredModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a chain model with factors holds beside labels and features."""
    if model.python_factors:
        raise ModelFileError(_PYTHON_FACTOR_MESSAGE.format(type(model.python_factors[0]).__name__))
    header, arrays = chains.header_and_arrays(model.base)
    described = []
    for number, factor in enumerate(model.factors):
        described.append(_factor_config(factor))
        if isinstance(factor, Consistency):
            for name in TABLES:
                arrays[f"factors.{number}.{name}"] = np.ascontiguousarray(getattr(factor, name))
    annealing = model.annealing
    schedule = annealing.schedule
    header |= {
        "factors": described,
        "further": list(model.extra_types),
        "base": {"kind": model.base.kind, "summary": dict(model.base.summary)},
        "doubts": asdict(model.candidate_limits),
        "annealing": {
            "samples": annealing.samples,
            "cooling": schedule if isinstance(schedule, str) else list(schedule),
            "chains": annealing.chains,
            "seed": annealing.seed,
            "scattered": annealing.random_start,
            "moves": annealing.moves,
        },
    }
    return header, arrays


def array_schema(stored: StoredModel) -> dict[str, ArraySchema]:
    """What the arrays of a chain model with factors and such a header must be."""
    schema = chains.array_schema(stored)
    header = stored.header
    annealing, factors = header["annealing"], max(len(header["factors"]), 1)
    if annealing["samples"] * annealing["chains"] * factors > MAX_FACTOR_WORK:
        raise ValueError(f"so many samples of {factors} factors would take too long")
    for number, own in enumerate(header["factors"]):
        FACTOR_KIND.check(own, f"factors[{number}]")
        FACTOR_FIELDS[own["factor"]].check(own, f"factors[{number}]")
        if own["factor"] == "consistency":
            table = ArraySchema("float64", (len(own["types"]),) * 2)
            schema |= {f"factors.{number}.{name}": table for name in TABLES}
    return schema


def read(stored: StoredModel) -> FactoredModel:
    """The inverse of `header_and_arrays`, of arrays that keep to `array_schema`."""
    header = stored.header
    base = chains.read(replace(stored, header={**header, **header["base"]}))
    factors = [_factor(number, own, stored) for number, own in enumerate(header["factors"])]
    own = header["annealing"]
    annealing = Annealing(
        samples=own["samples"],
        schedule=own["cooling"] if isinstance(own["cooling"], str) else tuple(own["cooling"]),
        chains=own["chains"],
        seed=own["seed"],
        random_start=own["scattered"],
        moves=own.get("moves", SEGMENT),
    )
    limits = CandidateLimits(**header["doubts"])
    return FactoredModel.from_chain(
        base, factors, limits, annealing, header["summary"], header["further"]
    )


def _factor_config(factor: SpanFactor) -> dict[str, Any]:
    if isinstance(factor, Consistency):
        settings = {name: getattr(factor, name) for name in ("strength", "by_length", "shared")}
        return {"factor": "consistency", "types": list(factor.types), **settings}
    if isinstance(factor, Agreement):
        key = factor.key if isinstance(factor.key, str) else _function_name(factor.key)
        settings = {"type": factor.type, "key": key, "penalty": factor.penalty, "by": factor.by}
        return {"factor": "agreement", **settings}
    if isinstance(factor, LastWord):
        return {"factor": "last_word", "type": factor.type, "penalty": factor.penalty}
    if isinstance(factor, Forbidden):
        return {"factor": "forbidden", "one": factor.one, "other": factor.other}
    raise ModelFileError(_PYTHON_FACTOR_MESSAGE.format(type(factor).__name__))


def _function_name(function: KeyFunction) -> str:
    """The name by which a function is given again when the model is loaded."""
    name = str(getattr(function, "__name__", ""))
    if not name.isidentifier() or name in KEY_FUNCTIONS:
        raise ModelFileError(
            f"the function by which spans are compared needs a name of its own, got {name!r}; "
            "write it with def, and call it otherwise than " + " and ".join(KEY_FUNCTIONS)
        )
    return name


def _factor(number: int, own: Mapping[str, Any], stored: StoredModel) -> SpanFactor:
    kind, functions = own["factor"], stored.functions
    if kind == "consistency":
        same, inside = (stored.arrays[f"factors.{number}.{name}"] for name in TABLES)
        how = (own["strength"], own["by_length"], own["shared"])
        return Consistency(tuple(own["types"]), same, inside, *how)
    if kind == "agreement":
        key = own["key"]
        if key not in KEY_FUNCTIONS and key not in functions:
            raise ModelFileError(
                f"{stored.path}: the model compares spans by the function {key!r} of its author; "
                f"load it with functions={{{key!r}: …}}"
            )
        chosen = key if key in KEY_FUNCTIONS else functions[key]
        return Agreement(own["type"], chosen, own["penalty"], own.get("by", BY_PAIR))
    if kind == "last_word":
        return LastWord(own["type"], own["penalty"])
    return Forbidden(own["one"], own["other"])
