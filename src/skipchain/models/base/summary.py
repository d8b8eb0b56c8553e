"""Parts of a model's summary that several families have: features, tables, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.features.vocabulary import Vocabulary

if TYPE_CHECKING:
    from skipchain.models.base.model import AnyModel

TRAINING = (
    *("documents", "tokens", "sequences", "iterations", "loss"),
    *("dropout", "stopped", "dev"),
)


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
    column: Floats, names: Sequence[str], top: int, ends: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """The strongest weights of a label; ``ends`` says which ends of an edge have each feature."""
    order = np.argsort(-np.abs(column), kind="stable")[:top].tolist()
    return [
        {"name": names[k], "weight": float(column[k]), **({} if ends is None else {"end": ends[k]})}
        for k in order
        if column[k]
    ]


def strongest_pairs(
    table: Floats,
    names: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    top: int,
    ends: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """The strongest weights [G, K] of features that go with two labels, named by ``pairs`` [K].

    >>> table, pairs = np.array([[0.0, -2.0], [1.0, 0.0]]), [("X", "X"), ("X", "Y")]
    >>> strongest_pairs(table, ["a", "b"], pairs, top=9)
    [{'name': 'a', 'weight': -2.0, 'previous': 'X', 'label': 'Y'},
     {'name': 'b', 'weight': 1.0, 'previous': 'X', 'label': 'X'}]
    """
    flat, found = table.ravel(), []
    for k in np.argsort(-np.abs(flat), kind="stable")[:top].tolist():
        feature, pair = divmod(k, len(pairs))
        if flat[k]:
            before, after = pairs[pair]
            entry = {"name": names[feature], "weight": float(flat[k])}
            end = {} if ends is None else {"end": ends[feature]}
            found.append({**entry, **end, "previous": before, "label": after})
    return found


def chain_pairs(labels: Sequence[str], begin: str = "<start>") -> list[tuple[str, str]]:
    """The names of (label before, label) in the order of a chain's weights. [(L + 1) · L]"""
    return [(before, label) for before in (*labels, begin) for label in labels]


def label_table(labels: Sequence[str], scores: Floats) -> dict[str, dict[str, float]]:
    """A table of scores by the labels of its rows and columns."""
    return {label: label_row(labels, row) for label, row in zip(labels, scores, strict=True)}


def label_row(labels: Sequence[str], scores: Floats) -> dict[str, float]:
    """Scores by label."""
    return dict(zip(labels, scores.tolist(), strict=True))
