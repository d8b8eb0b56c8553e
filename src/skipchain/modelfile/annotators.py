"""Sources of columns in model files: everything that a model needs is inside its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError
from skipchain.features.annotator import Annotator
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.model import Model

ANNOTATOR_CLASSES = {
    "lexicon": ("skipchain.annotators.lexicon", "Lexicon"),
    "clusters": ("skipchain.annotators.words", "ClusterColumn"),
    "vectors": ("skipchain.annotators.words", "VectorColumn"),
    "documents": ("skipchain.annotators.document", "DocumentContext"),
    "first_stage": ("skipchain.models.stacking", "StackedPredictions"),
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
    found = []
    for number, own in enumerate(described):
        if own["kind"] not in ANNOTATOR_CLASSES:
            raise ModelFileError(
                f"{stored.path}: the model has a source of columns of the kind {own['kind']!r}, "
                "which this version does not know; install a newer skipchain"
            )
        module, name = ANNOTATOR_CLASSES[own["kind"]]
        kind = getattr(import_module(module), name)
        prefix = f"source.{number}."
        if "model" in own:
            from skipchain.modelfile.contents import read_model

            model = read_model(stored.inside(own["model"], f"{prefix}model."))
            found.append(kind.from_config(own, model))
        else:
            found.append(kind.from_config(own, stored.inside(own, prefix).arrays))
    return tuple(found)
