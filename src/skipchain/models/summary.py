"""What a chain model has learnt, as data: strongest features, transitions, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skipchain.features.vocabulary import Vocabulary
from skipchain.models.chain import ChainModel


def summarise(
    model: ChainModel, *, top: int = 10, labels: Sequence[str] | None = None
) -> dict[str, Any]:
    """The ``top`` features of each label by the size of their weight, transitions, and sizes.

    ``pairs`` are the strongest features of label pairs; the entries ``<start>`` and ``<end>`` of
    the transitions are the scores of first and last labels. Those of an HMM are log-probabilities;
    what it weighs features against, log p(unknown | label), stands apart from them.
    """
    names = model.features.names()
    weights = model.weights
    chosen = list(model.labels) if labels is None else list(labels)
    number = {label: k for k, label in enumerate(model.labels)}
    unknown = model.summary.get("unknown")
    by_label: dict[str, dict[str, Any]] = {}
    for label in chosen:
        column = weights.state[:, number[label]]
        order = np.argsort(-np.abs(column), kind="stable")[:top]
        by_label[label] = {
            "features": [
                {"name": names[k], "weight": float(column[k])} for k in order if column[k]
            ],
        }
        if unknown is not None:
            by_label[label]["unknown"] = unknown[number[label]]
    # an HMM's positions pay for the unknown value by way of what leads to them
    paid = np.zeros(len(model.labels)) if unknown is None else np.array(unknown)
    transitions = {
        source: dict(zip(model.labels, row, strict=True))
        for source, row in zip(model.labels, (weights.transitions - paid).tolist(), strict=True)
    }
    transitions["<start>"] = dict(zip(model.labels, (weights.start - paid).tolist(), strict=True))
    transitions["<end>"] = dict(zip(model.labels, weights.end.tolist(), strict=True))
    told = ("tokens", "sequences", "iterations", "loss", "stopped", "dev")
    return {
        "kind": model.kind,
        "scheme": model.scheme,
        "encoding": model.encoding,
        "templates": (
            model.features.templates.text if isinstance(model.features, Vocabulary) else None
        ),
        "size": {
            "labels": len(model.labels),
            "features": model.features.n_features + model.features.n_edge_features,
            "weights": weights.active,
        },
        "training": {key: model.summary[key] for key in told if model.summary.get(key) is not None},
        "labels": by_label,
        "pairs": _pair_features(model, top),
        "transitions": transitions,
    }


def _pair_features(model: ChainModel, top: int) -> list[dict[str, Any]]:
    """The strongest features that go with two labels."""
    names = model.features.names(transition=True)
    flat = model.weights.edges.ravel()
    size = len(model.labels)
    found = []
    for k in np.argsort(-np.abs(flat), kind="stable")[:top].tolist():
        feature, pair = divmod(k, (size + 1) * size)
        before, after = divmod(pair, size)
        if flat[k]:
            found.append(
                {
                    "name": names[feature],
                    "previous": model.labels[before] if before < size else "<start>",
                    "label": model.labels[after],
                    "weight": float(flat[k]),
                }
            )
    return found
