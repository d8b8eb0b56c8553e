"""The features of a model, as a model file holds them: templates, names or columns."""

from __future__ import annotations

from typing import Any

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError
from skipchain.features.annotator import Annotator
from skipchain.features.direct import NamedFeatures, NumberedFeatures
from skipchain.features.strings import strings_from_arrays, strings_schema, strings_to_arrays
from skipchain.features.templates import Templates
from skipchain.features.views import BUILTIN_VIEWS, NGRAMS
from skipchain.features.vocabulary import Vocabulary
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.inputs import Features
from skipchain.schema.arrays import INCREASING, ArraySchema
from skipchain.schema.fields import LARGEST_INTEGER, Anything, Items, Record, Text, Whole

LONGEST_TEMPLATES = 200_000  # characters of the text of all templates
FUNCTIONS = Items(Text(least=1, most=1000), most=1000)
"""The names of functions of the model's author."""
_SOURCE = Record({"kind": Text(most=1000)}, others=Anything())  # the rest by its kind
FIELDS = {
    "templates": Record(
        {"kind": Text(), "text": Text(most=LONGEST_TEMPLATES), "functions": FUNCTIONS},
        optional={"sources": Items(_SOURCE, most=50)},
    ),
    "named": Record({"kind": Text()}),
    "numbered": Record({"kind": Text(), "width": Whole(0, LARGEST_INTEGER)}),
}
KIND = Record({"kind": Text(tuple(FIELDS))}, others=Anything())


def features_contents(features: Features) -> tuple[dict[str, Any], Arrays]:
    """What the header says of features, and their arrays."""
    if isinstance(features, Vocabulary):
        templates = features.templates
        recipe: dict[str, Any] = {"kind": "templates", "text": templates.text}
        recipe["functions"] = sorted(templates.user_views)
        arrays = features.to_arrays()
        if templates.annotators:
            from skipchain.modelfile.annotators import annotator_contents

            recipe["sources"], further = annotator_contents(templates.annotators)
            arrays |= further
        return recipe, arrays
    if isinstance(features, NamedFeatures):
        return {"kind": "named"}, strings_to_arrays("names", features.strings)
    return {"kind": "numbered", "width": features.width}, {"columns": features.columns}


def read_features(stored: StoredModel) -> Features:
    """The inverse of `features_contents`, checked."""
    recipe, path = stored.header["features"], stored.path
    arrays, functions = stored.arrays, stored.functions
    KIND.check(recipe, f"{stored.prefix}features")
    FIELDS[recipe["kind"]].check(recipe, f"{stored.prefix}features")
    if recipe["kind"] == "named":
        stored.check(strings_schema("names"))
        return NamedFeatures(strings_from_arrays("names", arrays))
    if recipe["kind"] == "numbered":
        width = recipe["width"]
        columns = ArraySchema("int64", ("columns",), least=0, below=width, order=INCREASING)
        stored.check({"columns": columns})
        return NumberedFeatures(arrays["columns"], width)
    missing = [name for name in recipe["functions"] if name not in functions]
    if missing:
        raise ModelFileError(
            f"{path}: the model uses a view of its author's own, {missing[0]!r}; "
            f"load it in Python with functions={{{missing[0]!r}: …}}"
        )
    own = {name: functions[name] for name in recipe["functions"]}
    if set(own) & (set(BUILTIN_VIEWS) | {NGRAMS}):
        raise ModelFileError(f"{path}: a view of the model has the name of a built-in one")
    annotators: tuple[Annotator, ...] = ()
    if recipe.get("sources"):
        from skipchain.modelfile.annotators import read_annotators

        annotators = read_annotators(recipe["sources"], stored)
    templates = Templates.parse(recipe["text"], own, annotators)
    stored.claim(Vocabulary.array_schema(templates))
    return Vocabulary.from_arrays(templates, arrays)
