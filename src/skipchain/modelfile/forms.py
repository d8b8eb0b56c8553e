"""The forms of models in model files: how the part that is a family's own is written and read.

Families have a module each, which is imported when a model of that form is met: whoever tags with a
chain does not wait for all the others. Models of other packages bring a `ModelForm` along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError, ParameterError
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.model import AnyModel
from skipchain.models.registry import load_object, model_kind
from skipchain.schema.arrays import ArraySchema
from skipchain.schema.fields import Field

BUILT_IN = ("chain", "graph", "rbm", "latent", "document")
KEYS = {"factors": "document", "edges": "graph", "groups": "rbm", "states": "latent"}
"""Entries of headers by which files are known that do not say their form; others are chains."""


class Form(Protocol):
    """A form of models in files.

    ``FIELDS`` are the entries of the header beside those that all models have; a form may also have
    ``OPTIONAL_FIELDS``.
    """

    FIELDS: Mapping[str, Field]

    def header_and_arrays(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """What the file of a model holds beside labels and features."""

    def array_schema(self, stored: StoredModel) -> Mapping[str, ArraySchema]:
        """What the arrays must be, given a header that has been checked, and the features."""

    def read(self, stored: StoredModel) -> AnyModel:
        """The model of what a file holds, from arrays that keep to the schema."""


@dataclass(frozen=True, slots=True)
class ModelForm:
    """The form of a model of another package: the schema of its file, a writer and a reader.

    ``arrays`` may name the lengths ``labels`` and ``features``, and others that the first array
    which has them fixes: ``ArraySchema("float64", ("features", "labels"))``. ``fields`` are the
    entries of the header. The reader gets what keeps to both; what else depends on each other is
    its own to check.
    """

    arrays: Mapping[str, ArraySchema]
    writer: Callable[[Any], tuple[dict[str, Any], Arrays]]
    reader: Callable[[StoredModel], AnyModel]
    fields: Mapping[str, Field] = field(default_factory=dict)

    @property
    def FIELDS(self) -> Mapping[str, Field]:
        """The entries of the header beside those that all models have."""
        return self.fields

    def header_and_arrays(self, model: Any) -> tuple[dict[str, Any], Arrays]:
        """What the file of a model holds beside labels and features."""
        header, arrays = self.writer(model)
        if arrays.keys() != self.arrays.keys():
            names = ", ".join(sorted(arrays.keys() ^ self.arrays.keys()))
            raise ModelFileError(f"arrays and their schema differ: {names}")
        return header, arrays

    def array_schema(self, stored: StoredModel) -> Mapping[str, ArraySchema]:
        """What the arrays must be."""
        return self.arrays

    def read(self, stored: StoredModel) -> AnyModel:
        """The model, from a header and arrays that keep to the schema."""
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
