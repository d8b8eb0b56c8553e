"""The forms of models in model files: how the part that is a family's own is written and read.

Families have a module each, which is imported when a model of that form is met: whoever tags with a
chain does not wait for all the others. Models of other packages bring a `ModelForm` along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError, ParameterError
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.model import AnyModel
from skipchain.models.registry import load_object, model_kind

BUILT_IN = ("chain", "graph", "rbm", "latent", "document")
KEYS = {"factors": "document", "edges": "graph", "groups": "rbm", "states": "latent"}
"""Entries of headers by which files are known that do not say their form; others are chains."""


class Form(Protocol):
    """A form of models in files."""

    def header_and_arrays(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """What the file of a model holds beside labels and features."""

    def read(self, stored: StoredModel) -> AnyModel:
        """The model of what a file holds; anything that is wrong is an error."""


@dataclass(frozen=True, slots=True)
class ArraySchema:
    """The type (such as ``float64``) and the number of dimensions that an array must have."""

    dtype: str
    ndim: int


@dataclass(frozen=True, slots=True)
class ModelForm:
    """The form of a model of another package: the schema of its arrays, a writer and a reader.

    The reader gets arrays that are there, have the type and the dimensions of the schema, and hold
    finite numbers; sizes that depend on each other are its own to check.
    """

    arrays: Mapping[str, ArraySchema]
    writer: Callable[[Any], tuple[dict[str, Any], Arrays]]
    reader: Callable[[StoredModel], AnyModel]

    def header_and_arrays(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """What the file of a model holds beside labels and features."""
        header, arrays = self.writer(model)
        if arrays.keys() != self.arrays.keys():
            names = ", ".join(sorted(arrays.keys() ^ self.arrays.keys()))
            raise ModelFileError(f"arrays and their schema differ: {names}")
        _check_schema(self.arrays, arrays)
        return header, arrays

    def read(self, stored: StoredModel) -> AnyModel:
        """The model, from arrays that keep to the schema."""
        _check_schema(self.arrays, stored.arrays)
        return self.reader(stored)


def form_of(name: str, kind: str) -> Form:
    """The form of a name; one that is not built in is that of the kind of model."""
    if name in BUILT_IN:
        found: Form = import_module(f"skipchain.modelfile.{name}")
        return found
    try:
        place = model_kind(kind).form
    except ParameterError:
        raise ModelFileError(
            f"the model is of the kind {kind!r}, which is not part of skipchain; install the "
            "package that brings it"
        ) from None
    if place is None:
        raise ModelFileError(f"model files have no form {name!r}, and the model {kind} brings none")
    try:
        form: Form = load_object(place)
    except (ImportError, AttributeError) as error:
        raise ModelFileError(
            f"the model {kind} of another package cannot be used: {error}"
        ) from error
    return form


def _check_schema(schema: Mapping[str, ArraySchema], arrays: Arrays) -> None:
    import numpy as np

    for name, wanted in schema.items():
        array = arrays[name]
        if array.dtype != np.dtype(wanted.dtype) or array.ndim != wanted.ndim:
            raise ValueError(
                f"{name} is {array.dtype} with {array.ndim} dimensions, wanted {wanted.dtype} with "
                f"{wanted.ndim}"
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} is not all finite")
