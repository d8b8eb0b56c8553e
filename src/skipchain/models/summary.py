"""What a model has learnt, as data: strongest features, transitions, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import SkipchainError
from skipchain.features.vocabulary import Vocabulary
from skipchain.models.base.model import Model
from skipchain.models.chain.model import ChainModel
from skipchain.models.document.model import FactoredModel
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.gate import FEATURES
from skipchain.models.graph.model import GraphModel
from skipchain.models.latent.model import StateModel
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.plots import weight_pictures
from skipchain.report.pictures import Picture


def summarise(
    model: Model, *, top: int = 10, labels: Sequence[str] | None = None
) -> dict[str, Any]:
    """The ``top`` features of each label by the size of their weight, transitions, and sizes.

    ``pairs`` are the strongest features of label pairs; the entries ``<start>`` and ``<end>`` of
    the transitions are the scores of first and last labels. Those of an HMM are log-probabilities;
    what it weighs features against, log p(unknown | label), stands apart from them. A model of
    linked labels has features and transitions for each kind of edge; its features of parents have
    the ``end`` ``parent``. A model with label features has ``groups`` of them, the model that they
    stand ``beside``, if any, and ``experts``. One of hidden states tells, for each state, how often
    the training data visit it, which labels it emits and which states follow it (in percent), and
    the features that say most about either. A model with factors has those of its chain, and
    ``factors``: what pairs of spans add.

    >>> from skipchain import CRF, Corpus
    >>> model = CRF("word").fit(Corpus.of([["a", "b"]] * 5, [["x", "y"]] * 5)).model_
    >>> summarise(model, top=1)["labels"]["x"]["features"][0]["name"]
    'word=a'
    """
    chosen = list(model.labels) if labels is None else list(labels)
    if isinstance(model, GraphModel):
        return {**_common(model), **_graph(model, top, chosen)}
    if isinstance(model, RBMModel):
        return {**_common(model), **_rbm(model, top, chosen)}
    if isinstance(model, StateModel):
        return {**_common(model), **_states(model, top, chosen)}
    if isinstance(model, FactoredModel):
        told = [factor.describe() for factor in model.factors]
        return {**summarise(model.base, top=top, labels=labels), **_common(model), "factors": told}
    assert isinstance(model, ChainModel)
    weights, names = model.weights, model.features.names()
    by_label = {
        label: {"features": _features(weights.state[:, model.labels.index(label)], names, top)}
        for label in chosen
    }
    # an HMM's positions pay for the unknown value by way of what leads to them
    paid = np.zeros(len(model.labels))
    if (unknown := model.summary.get("unknown")) is not None:
        paid = np.array(unknown)
        for label, own in by_label.items():
            own["unknown"] = unknown[model.labels.index(label)]
    return {
        **_common(model),
        "labels": by_label,
        "pairs": _pair_features(model, top),
        "transitions": {
            **_table(model.labels, weights.transitions - paid),
            "<start>": _row(model.labels, weights.start - paid),
            "<end>": _row(model.labels, weights.end),
        },
        **(
            {}
            if model.history_weights is None
            else {"history": _table(model.labels, model.history_weights)}
        ),
    }


def model_pictures(model: Model) -> tuple[Picture, ...]:
    """Diagrams of what a model has learnt, where there are any: the weights of hidden units."""
    if not isinstance(model, RBMModel):
        raise SkipchainError(f"--plot draws hidden units, and a {model.kind} has none")
    return weight_pictures(model)


def _common(model: Model) -> dict[str, Any]:
    """What every model has."""
    told = ("documents", "tokens", "sequences", "iterations", "loss", "stopped", "dev")
    return {
        "kind": model.kind,
        "scheme": model.scheme,
        "encoding": model.encoding,
        "templates": (
            model.features.templates.text if isinstance(model.features, Vocabulary) else None
        ),
        "sources": [
            {
                "kind": source.kind,
                "columns": list(source.provides),
                "description": source.description,
            }
            for source in (
                model.features.templates.annotators
                if isinstance(model.features, Vocabulary)
                else ()
            )
        ],
        "size": {
            "labels": len(model.labels),
            "features": model.features.n_features + model.features.n_edge_features,
            "weights": model.n_nonzero,
        },
        "training": {key: model.summary[key] for key in told if model.summary.get(key) is not None},
    }


def _graph(model: GraphModel, top: int, labels: Sequence[str]) -> dict[str, Any]:
    """The rules of a model of linked labels, its orderings, and its kinds of edges."""
    counts = model.summary.get("pairs", {})
    return {
        "rules": [{"rule": str(rule), "pairs": counts.get(str(rule))} for rule in model.rules],
        "orderings": [str(ordering) for ordering in model.orderings],
        "kinds": {
            kind: _edge_model(kind, own, model, top, labels)
            for kind, own in model.edge_models.items()
        },
    }


def _rbm(model: RBMModel, top: int, labels: Sequence[str]) -> dict[str, Any]:
    """What the input says to labels, and the label features group by group."""
    names = model.features.names()
    found: dict[str, Any] = {"labels": {}, "borders": model.units.borders, "beside": None}
    found["experts"] = [summarise(own, top=top, labels=labels) for own in model.experts]
    if len(model.weights):
        found["labels"] = {
            label: {"features": _features(model.weights[:, model.labels.index(label)], names, top)}
            for label in labels
        }
    if model.base is not None:
        found["gamma"] = model.gamma
        found["beside"] = summarise(model.base, top=top, labels=labels)
    found["groups"] = [_group(model, number, top) for number in range(len(model.units.groups))]
    return found


def _group(model: RBMModel, number: int, top: int) -> dict[str, Any]:
    units, group = model.units, model.units.groups[number]
    table, first = units.table(number), int(units.layout.units[number])
    places = [*model.labels, "<outside>"]
    rows = len(places) if table[:, -1].any() else len(places) - 1
    found = []
    for unit in range(group.units):
        own: dict[str, Any] = {
            "bias": float(units.bias[first + unit]),
            "weights": {
                places[j]: dict(
                    zip(map(str, group.offsets), table[:, j, unit].tolist(), strict=True)
                )
                for j in range(rows)
            },
        }
        if group.conditioned:
            names = model.features.names()
            own["features"] = _features(units.inputs[:, first + unit], names, top)
        found.append(own)
    return {"group": str(group), "units": found}


def _states(model: StateModel, top: int, labels: Sequence[str]) -> dict[str, Any]:
    """Each hidden state, by what it does in the training data; states count from 1."""
    followed, emitted = (np.array(model.summary[name]) for name in ("followed", "emitted"))
    names = [*model.features.names(), "(every token)"]
    chosen = [model.labels.index(label) for label in labels]
    found = []
    for state in range(model.n_states):
        emissions, moves = model.weights.emissions[:, state], model.weights.transitions[:, state]
        found.append(
            {
                "state": state + 1,
                "share": 100.0 * float(emitted[state].sum() / max(emitted.sum(), 1.0)),
                "emits": dict(zip(model.labels, _percent(emitted[state]), strict=True)),
                "first": _percent(followed[-1])[state],
                "next": dict(enumerate(_percent(followed[state]), start=1)),
                "features": [
                    {"name": names[f], "label": labels[k], "weight": weight}
                    for f, k, weight in _strongest(_centred(emissions)[:, chosen], top)
                ],
                "moves": [
                    {"name": names[f], "to": k + 1, "weight": weight}
                    for f, k, weight in _strongest(_centred(moves), top)
                ],
            }
        )
    return {"restarts": model.summary.get("restarts", []), "states": found}


def _percent(counts: Floats) -> list[float]:
    """Counts as shares of their sum."""
    return [float(100.0 * count / max(counts.sum(), 1e-12)) for count in counts]


def _centred(weights: Floats) -> Floats:
    """Rows minus their means: what all labels of a state share says nothing. [F, K]"""
    return np.asarray(weights - weights.mean(axis=1, keepdims=True))


def _strongest(weights: Floats, top: int) -> list[tuple[int, int, float]]:
    """The rows, the columns and the values of the largest numbers of a table, by size."""
    flat = weights.ravel()
    order = np.argsort(-np.abs(flat), kind="stable")[:top].tolist()
    return [(*divmod(k, weights.shape[1]), float(flat[k])) for k in order if flat[k]]


def _edge_model(
    kind: str, own: EdgeModel, model: GraphModel, top: int, labels: Sequence[str]
) -> dict[str, Any]:
    """What one kind of edge has learnt; <start> and <end> are those of the sentence."""
    weights, ends = own.weights, own.edge_features
    token = model.features.names()
    names = token if ends is None else [token[k] for k in [*ends.child, *ends.parent]]
    cut = len(names) if ends is None else len(ends.child)
    transitions = _table(model.labels, weights.transitions)
    for rule in (rule for rule in model.rules if rule.has_boundaries and kind in rule.edge_types):
        first, last = weights.start, weights.end
        if kind != rule.edge_types[0]:  # a chain that begins where the sentence ends
            first, last = last, first
        transitions["<start>"] = _row(model.labels, first)
        transitions["<end>"] = _row(model.labels, last)
    gate = (
        {}
        if model.gate is None
        else {"gate": dict(zip(FEATURES, model.gate.weights[kind].tolist(), strict=True))}
    )
    return {
        "features": len(names),
        "weights": weights.n_nonzero,
        **gate,
        "labels": {
            label: {
                "features": _features(weights.state[:, model.labels.index(label)], names, top, cut)
            }
            for label in labels
        },
        "transitions": transitions,
    }


def _features(
    column: Floats, names: Sequence[str], top: int, cut: int | None = None
) -> list[dict[str, Any]]:
    """The strongest weights of a label; those from ``cut`` on are of parents."""
    order = np.argsort(-np.abs(column), kind="stable")[:top].tolist()
    found: list[dict[str, Any]] = [
        {"name": names[k], "weight": float(column[k])} for k in order if column[k]
    ]
    if cut is not None:
        for own, k in zip(found, order, strict=False):
            own["end"] = "child" if k < cut else "parent"
    return found


def _table(labels: Sequence[str], scores: Floats) -> dict[str, dict[str, float]]:
    return {source: _row(labels, row) for source, row in zip(labels, scores, strict=True)}


def _row(labels: Sequence[str], scores: Floats) -> dict[str, float]:
    return dict(zip(labels, scores.tolist(), strict=True))


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
