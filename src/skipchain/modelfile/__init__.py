"""Model files (``.skip``): safetensors with a JSON header. Loading never runs code.

The header says what the model is (kind, labels, schemes, templates, training summary, versions) and
carries a checksum of all arrays; the arrays hold the weights and the vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skipchain.errors import ModelFileError, SkipchainError
from skipchain.modelfile.checkpoint import Checkpoint
from skipchain.modelfile.container import (
    FORMAT,
    HEADER,
    check_model_target,
    checksum,
    is_model_file,
    read_arrays,
    write_arrays,
)
from skipchain.modelfile.contents import contents, read_model
from skipchain.modelfile.stored import StoredModel
from skipchain.models.base.model import AnyModel, Model

if TYPE_CHECKING:
    from skipchain.models.base.estimator import BaseEstimator

__all__ = [
    "FORMAT",
    "HEADER",
    "Checkpoint",
    "check_model_target",
    "checksum",
    "is_model_file",
    "load_model",
    "read_arrays",
    "save",
]


def save(model: AnyModel | BaseEstimator, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the model file of a fitted estimator or of a model.

    A file that is there already is kept unless ``overwrite``.
    """
    check_model_target(path, overwrite=overwrite)
    if not isinstance(model, Model):
        model = model.fitted
    write_arrays(*contents(model.pruned()), path, overwrite=overwrite)


def load_model(path: str | Path, functions: Mapping[str, Any] | None = None) -> AnyModel:
    """Read a model file; a `ModelFileError` names what is wrong with it.

    ``functions`` are the views and edge rules of the user's own that the model was trained with.
    """
    header, arrays = read_arrays(path)
    stored = StoredModel(header, arrays, functions or {}, path)
    try:
        model = read_model(stored)
    except ModelFileError:
        raise
    except MemoryError:
        raise ModelFileError(f"{path}: there is not enough memory for the model") from None
    # What a check has overlooked is a fault of the file still, and never a traceback.
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
            SkipchainError) as error:  # fmt: skip
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{path}: the model file is damaged: {what}") from None
    unknown = sorted(arrays.keys() - stored.claimed)
    if unknown:
        raise ModelFileError(
            f"{path}: the model file is damaged: it has an array {unknown[0][:60]!r}, which this "
            "version does not know"
        )
    return model
