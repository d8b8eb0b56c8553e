"""Sources of columns in model files: everything that a model needs is inside its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from skipchain.arrays import Arrays
from skipchain.errors import ModelFileError
from skipchain.features.annotator import Source
from skipchain.models.base.model import Model

KINDS = {
    "lexicon": ("skipchain.annotators.lexicon", "Lexicon"),
    "clusters": ("skipchain.annotators.words", "Clustered"),
    "vectors": ("skipchain.annotators.words", "Embedded"),
    "documents": ("skipchain.annotators.document", "Documents"),
    "first_stage": ("skipchain.models.stacking", "FirstStage"),
}


def source_parts(sources: Sequence[Source]) -> tuple[list[dict[str, Any]], Arrays]:
    """What the header says of sources, and their arrays."""
    described: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for number, source in enumerate(sources):
        if getattr(source, "kind", None) not in KINDS:
            raise ModelFileError(
                f"{type(source).__name__} is a source of columns of your own, which a model file "
                "cannot hold; add its columns to the corpus instead, when training and when tagging"
            )
        own = {"kind": source.kind, **source.described()}
        model = getattr(source, "first", None)
        if isinstance(model, Model):
            from skipchain.modelfile.contents import contents

            own["model"], inside = contents(model)
            arrays |= {f"source.{number}.model.{name}": array for name, array in inside.items()}
        elif model is not None:
            raise ModelFileError(
                "the first model has not learnt: the corpus had its columns already; fit with the "
                "templates that `learnt` returned beside that corpus, or to a corpus without them"
            )
        arrays |= {f"source.{number}.{name}": array for name, array in source.arrays().items()}
        described.append(own)
    return described, arrays


def read_sources(
    described: Sequence[Mapping[str, Any]],
    arrays: Arrays,
    functions: Mapping[str, Any],
    path: object,
) -> tuple[Source, ...]:
    """The inverse of `source_parts`, checked."""
    found = []
    for number, own in enumerate(described):
        if own["kind"] not in KINDS:
            raise ModelFileError(
                f"{path}: the model has a source of columns of the kind {own['kind']!r}, which "
                "this version does not know; install a newer skipchain"
            )
        module, name = KINDS[own["kind"]]
        kind = getattr(import_module(module), name)
        inside = _within(f"source.{number}.", arrays)
        if "model" in own:
            from skipchain.modelfile.contents import model_of

            model = model_of(own["model"], _within("model.", inside), functions, path)
            found.append(kind.restored(own, model))
        else:
            found.append(kind.restored(own, inside))
    return tuple(found)


def _within(prefix: str, arrays: Arrays) -> Arrays:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
