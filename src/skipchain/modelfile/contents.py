"""What a model file holds of a model: a part that all models share, and one of its form.

The forms have a module each, which is imported when a model of that form is met: whoever tags with
a chain does not wait for all the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from skipchain.arrays import Arrays
from skipchain.corpus.schemes import check_scheme
from skipchain.modelfile.features import features_contents, read_features
from skipchain.models.base.model import Model

FORM_KEYS = {"factors": "document", "edges": "graph", "groups": "rbm", "states": "latent"}
"""Entries of the header that only one form has; files without any are of chains."""


def contents(model: Model) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model."""
    recipe, arrays = features_contents(model.features)
    header = {
        "kind": model.kind,
        "labels": list(model.labels),
        "scheme": model.scheme,
        "encoding": model.encoding,
        "constrained": model.constrained,
        "features": recipe,
        "summary": dict(model.summary),
    }
    own, further = _form(model.form).header_and_arrays(model)
    return header | own, arrays | further


def read_model(
    header: Mapping[str, Any], arrays: Arrays, functions: Mapping[str, Any], path: object
) -> Model:
    """The inverse of `contents`, checked."""
    features = read_features(header["features"], arrays, functions, path)
    for scheme in (header["scheme"], header["encoding"]):
        if scheme is not None:
            check_scheme(scheme)
    form = next((form for mark, form in FORM_KEYS.items() if mark in header), "chain")
    found: Model = _form(form).read(header, arrays, features, functions, path)
    return found


def _form(name: str) -> Any:
    return import_module(f"skipchain.modelfile.{name}")
