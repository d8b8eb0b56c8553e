"""A model through a file and back."""

from __future__ import annotations

from skipchain.modelfile import load_model, save


def round_trip(model, path):
    """The model as a file gives it back; one of the two refuses a model that makes no sense."""
    save(model, path)
    return load_model(path)
