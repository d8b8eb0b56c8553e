"""What a model file holds of a model: a part that all models share, and one of its form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from skipchain.arrays import Arrays
from skipchain.corpus.schemes import check_scheme
from skipchain.errors import ModelFileError
from skipchain.modelfile.features import features_contents, read_features
from skipchain.modelfile.forms import KEYS, form_of
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.model import AnyModel


def contents(model: AnyModel) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model."""
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
    own_header, own_arrays = form_of(model.form, model.kind).header_and_arrays(model)
    for name in (*(header.keys() & own_header), *(arrays.keys() & own_arrays)):
        raise ModelFileError(f"the form {model.form!r} writes {name!r}, which all models have")
    return header | own_header, arrays | own_arrays


def read_model(stored: StoredModel) -> AnyModel:
    """The inverse of `contents`, checked."""
    header, features = stored.header, read_features(stored)
    for scheme in (header["scheme"], header["encoding"]):
        if scheme is not None:
            check_scheme(scheme)
    form = header.get("form")
    if form is None:  # files of format 3 and before
        form = next((name for key, name in KEYS.items() if key in header), "chain")
    return form_of(form, header["kind"]).read(replace(stored, features=features))
