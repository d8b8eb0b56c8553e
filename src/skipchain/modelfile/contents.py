"""What a model file holds of a model: a part that all models share, and one of its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skipchain.arrays import Arrays
from skipchain.corpus.schemes import SCHEMES
from skipchain.errors import ModelFileError
from skipchain.modelfile.features import features_contents, read_features
from skipchain.modelfile.forms import KEYS, Form, form_of
from skipchain.modelfile.stored import SUMMARY, StoredModel
from skipchain.models.base.model import AnyModel
from skipchain.schema.fields import (
    Anything,
    Entries,
    Field,
    Flag,
    Items,
    Nullable,
    Record,
    Text,
    Whole,
)

MAX_LABELS = 5_000
COMMON_FIELDS: dict[str, Field] = {
    "kind": Text(least=1, most=1000),
    "labels": Items(Text(most=1000), least=1, most=MAX_LABELS, distinct=True),
    "scheme": Nullable(Text(tuple(SCHEMES))),
    "encoding": Nullable(Text(tuple(SCHEMES))),
    "constrained": Flag(),
    "features": Entries(Anything()),  # by their kind
    "summary": SUMMARY,
}
"""What the headers of all models have, also of those inside another one."""
FILE_FIELDS: dict[str, Field] = {"format": Whole(), "versions": Entries(Text(most=1000))}
NO_FIELDS: Mapping[str, Field] = {}
_NAMES = Record({"kind": COMMON_FIELDS["kind"]}, {"form": COMMON_FIELDS["kind"]}, Anything())


def contents(model: AnyModel) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model; what no file could be read with is refused here already."""
    recipe, arrays = features_contents(model.features)
    header = {
        "kind": model.kind,
        "form": model.form,
        "labels": list(model.labels),
        "scheme": model.scheme,
        "encoding": model.encoding,
        "constrained": model.constrained,
        "features": recipe,
        "summary": dict(model.summary),
    }
    form = form_of(model.form, model.kind)
    own_header, own_arrays = form.header_and_arrays(model)
    for name in (*(header.keys() & own_header), *(arrays.keys() & own_arrays)):
        raise ModelFileError(f"the form {model.form!r} writes {name!r}, which all models have")
    stored = StoredModel(header | own_header, arrays | own_arrays, {}, "", model.features)
    try:
        check_header(stored)
        stored.check(form.array_schema(stored))
    except ValueError as error:
        raise ModelFileError(f"the model cannot be saved: {error}") from None
    return header | own_header, arrays | own_arrays


def read_model(stored: StoredModel) -> AnyModel:
    """The inverse of `contents`; header and arrays are checked before anything is built of them."""
    form = check_header(stored, {} if stored.prefix else FILE_FIELDS)
    stored = replace(stored, features=read_features(stored))
    stored.check(form.array_schema(stored))
    return form.read(stored)


def check_header(stored: StoredModel, file_fields: Mapping[str, Field] = NO_FIELDS) -> Form:
    """Refuse a header that is not what its form says; the form.

    ``file_fields`` are those of a header that is not part of another one.
    """
    header, where = stored.header, f"{stored.prefix}header"
    _NAMES.check(header, where)
    name = header.get("form")
    if name is None:  # files of format 3 and before
        name = next((name for key, name in KEYS.items() if key in header), "chain")
    form = form_of(name, header["kind"])
    optional = {"form": Text(), **getattr(form, "OPTIONAL_FIELDS", {})}
    Record({**COMMON_FIELDS, **file_fields, **form.FIELDS}, optional).check(header, where)
    return form
