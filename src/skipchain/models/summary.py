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
    """The ``top`` features of each label by the size of their weight, transitions, and sizes."""
    names = model.features.names()
    weights = model.weights
    chosen = list(model.labels) if labels is None else list(labels)
    number = {label: k for k, label in enumerate(model.labels)}
    by_label = {}
    for label in chosen:
        column = weights.state[:, number[label]]
        order = np.argsort(-np.abs(column), kind="stable")[:top]
        by_label[label] = {
            "start": float(weights.start[number[label]]),
            "end": float(weights.end[number[label]]),
            "features": [
                {"name": names[k], "weight": float(column[k])} for k in order if column[k]
            ],
        }
    transitions = {
        source: {
            target: float(weights.transitions[number[source], number[target]])
            for target in model.labels
        }
        for source in model.labels
    }
    transitions["<start>"] = {
        target: float(weights.start[number[target]]) for target in model.labels
    }
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
        "transitions": transitions,
    }
