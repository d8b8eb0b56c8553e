"""The entries of a header with the fields that the schema declares for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from skipchain.modelfile import annotators, document, features
from skipchain.modelfile.contents import COMMON_FIELDS, FILE_FIELDS
from skipchain.modelfile.forms import form_of
from skipchain.schema.fields import Either, Entries, Field, Items, Nullable, Pair, Record, Text

Place = tuple[Any, ...]
"""Keys and numbers that lead from the header to an entry."""
ALIKE = 4  # entries of a list or table that are looked at: what is alike is no new case


@dataclass(frozen=True)
class Listed:
    """A list whose items have fields of their own."""

    fields: tuple[Field, ...]

    def check(self, value: Any, where: str) -> None:
        """Nothing is checked here: the list is that of a sound file."""


def declared_fields(header: Mapping[str, Any]) -> Iterator[tuple[Place, Field | None]]:
    """Every entry of a header, deep down, with its field; None where none is declared."""
    yield from _walk((), header, model_field(header))


def model_field(header: Mapping[str, Any]) -> Record:
    """The field of a model's header, with those of features and models inside."""
    form = form_of(header.get("form", "chain"), header["kind"])
    fields: dict[str, Any] = {**COMMON_FIELDS, **FILE_FIELDS, **form.FIELDS}
    optional: dict[str, Any] = {"form": Text(), **getattr(form, "OPTIONAL_FIELDS", {})}
    fields["features"] = _features_field(header["features"])
    if "factors" in header:
        own = tuple(document.FACTOR_FIELDS[factor["factor"]] for factor in header["factors"])
        fields["factors"] = Listed(own)
    elif header.get("base") is not None:
        fields["base"] = model_field(header["base"])
    if header.get("experts"):
        optional["experts"] = Listed(tuple(map(model_field, header["experts"])))
    return Record(fields, optional)


def _features_field(recipe: Mapping[str, Any]) -> Field:
    record = features.FIELDS[recipe["kind"]]
    if not recipe.get("sources"):
        return record
    sources = []
    for own in recipe["sources"]:
        module, name = annotators.ANNOTATOR_CLASSES[own["kind"]]
        fields: dict[str, Any] = {"kind": Text()}
        fields |= getattr(import_module(module), name).config_fields
        if "model" in own:
            fields["model"] = model_field(own["model"])
        sources.append(Record(fields))
    return Record({**record.fields, "sources": Listed(tuple(sources))})


def _walk(place: Place, value: Any, field: Field | None) -> Iterator[tuple[Place, Field | None]]:
    yield place, field
    if isinstance(field, Nullable):
        field = field.of
    if isinstance(field, Either):
        field = field.text if isinstance(value, str) else field.other
    if isinstance(value, dict):
        keys = list(value) if isinstance(field, Record) else list(value)[:ALIKE]
        for key in keys:
            yield from _walk((*place, key), value[key], _of_key(field, key))
    elif isinstance(value, list):
        numbers = range(len(value))
        if not isinstance(field, Listed | Pair):
            numbers = sorted({0, 1, len(value) // 2, len(value) - 1} & set(numbers))
        for number in numbers:
            yield from _walk((*place, number), value[number], _of_number(field, number))


def _of_key(field: Field | None, key: str) -> Field | None:
    if isinstance(field, Record):
        return field.fields.get(key) or field.optional.get(key) or field.others
    return field.of if isinstance(field, Entries) else None


def _of_number(field: Field | None, number: int) -> Field | None:
    if isinstance(field, Listed):
        return field.fields[number]
    if isinstance(field, Pair):
        return (field.first, field.second)[number]
    return field.of if isinstance(field, Items) else None
