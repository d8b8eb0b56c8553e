"""Sources of columns in model files: everything that a model needs is inside its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError
from skipchain.features.annotator import Annotator
from skipchain.modelfile.stored import MODEL_HEADER, StoredModel
from skipchain.models.base.model import Model
from skipchain.schema.fields import Record, Text

STACKING = "first_stage"
ANNOTATOR_CLASSES = {
    "lexicon": ("skipchain.annotators.lexicon", "Lexicon"),
    "clusters": ("skipchain.annotators.words", "ClusterColumn"),
    "vectors": ("skipchain.annotators.words", "VectorColumn"),
    "documents": ("skipchain.annotators.document", "DocumentContext"),
    STACKING: ("skipchain.models.stacking", "StackedPredictions"),
}


def annotator_contents(sources: Sequence[Annotator]) -> tuple[list[dict[str, Any]], Arrays]:
    """What the header says of sources, and their arrays."""
    described: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for number, source in enumerate(sources):
        if getattr(source, "kind", None) not in ANNOTATOR_CLASSES:
            raise ModelFileError(
                f"{type(source).__name__} is a source of columns of your own, which a model file "
                "cannot hold; add its columns to the corpus instead, when training and when tagging"
            )
        own = {"kind": source.kind, **source.config()}
        model = getattr(source, "base", None)
        if isinstance(model, Model):
            from skipchain.modelfile.contents import contents

            own["model"], inside = contents(model)
            arrays |= {f"source.{number}.model.{name}": array for name, array in inside.items()}
        elif model is not None:
            raise ModelFileError(
                "the base model of stacking is not fitted: the corpus had its columns already; fit "
                "with the templates that `fit_annotators` returned with that corpus, or to a "
                "corpus without them"
            )
        arrays |= {f"source.{number}.{name}": array for name, array in source.arrays().items()}
        described.append(own)
    return described, arrays


def read_annotators(
    described: Sequence[Mapping[str, Any]], stored: StoredModel
) -> tuple[Annotator, ...]:
    """The inverse of `annotator_contents`, checked."""
    annotators: list[Annotator] = []
    for number, own in enumerate(described):
        if own["kind"] not in ANNOTATOR_CLASSES:
            raise ModelFileError(
                f"{stored.path}: the model has a source of columns of the kind "
                f"{own['kind'][:60]!r}, which this version does not know; install a newer skipchain"
            )
        module, name = ANNOTATOR_CLASSES[own["kind"]]
        kind = getattr(import_module(module), name)
        has_model = {"model": MODEL_HEADER} if own["kind"] == STACKING else {}
        fields = Record({"kind": Text(), **kind.config_fields, **has_model})
        fields.check(own, f"{stored.prefix}features.sources[{number}]")
        inside = stored.inside(own, f"source.{number}.")
        if has_model:
            from skipchain.modelfile.contents import read_model

            model = read_model(inside.inside(own["model"], "model."))
            annotators.append(kind.from_config(own, model))
        else:
            inside.claim(kind.array_schema(own))
            annotators.append(kind.from_config(own, inside.arrays))
    return tuple(annotators)
