"""Parts of a model's summary that several families have: features, tables, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.features.vocabulary import Vocabulary

if TYPE_CHECKING:
    from skipchain.models.base.model import AnyModel

TRAINING = ("documents", "tokens", "sequences", "iterations", "loss", "stopped", "dev")


def common_summary(model: AnyModel) -> dict[str, Any]:
    """What every model has."""
    features = model.features
    templates = features.templates if isinstance(features, Vocabulary) else None
    return {
        "kind": model.kind,
        "scheme": model.scheme,
        "encoding": model.encoding,
        "templates": None if templates is None else templates.text,
        "sources": [
            {
                "kind": annotator.kind,
                "columns": list(annotator.provides),
                "description": annotator.description,
            }
            for annotator in (() if templates is None else templates.annotators)
        ],
        "size": {
            "labels": len(model.labels),
            "features": features.n_features + features.n_edge_features,
            "weights": model.n_nonzero,
        },
        "training": {
            key: model.summary[key] for key in TRAINING if model.summary.get(key) is not None
        },
    }


def label_features(
    table: Floats,
    model_labels: Sequence[str],
    labels: Sequence[str],
    names: Sequence[str],
    top: int,
) -> dict[str, dict[str, Any]]:
    """The strongest features of some labels, from a table of weights [F, L]."""
    return {
        label: {"features": strongest_features(table[:, model_labels.index(label)], names, top)}
        for label in labels
    }


def strongest_features(
    column: Floats, names: Sequence[str], top: int, n_child: int | None = None
) -> list[dict[str, Any]]:
    """The strongest weights of a label; those from ``n_child`` on are of the parent's features."""
    order = np.argsort(-np.abs(column), kind="stable")[:top].tolist()
    found: list[dict[str, Any]] = [
        {"name": names[k], "weight": float(column[k])} for k in order if column[k]
    ]
    if n_child is not None:
        for entry, k in zip(found, order, strict=False):
            entry["end"] = "child" if k < n_child else "parent"
    return found


def label_table(labels: Sequence[str], scores: Floats) -> dict[str, dict[str, float]]:
    """A table of scores by the labels of its rows and columns."""
    return {label: label_row(labels, row) for label, row in zip(labels, scores, strict=True)}


def label_row(labels: Sequence[str], scores: Floats) -> dict[str, float]:
    """Scores by label."""
    return dict(zip(labels, scores.tolist(), strict=True))
