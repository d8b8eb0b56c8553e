"""Models of linked labels in model files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from skipchain.arrays import Arrays
from skipchain.edges.ordering import Ordering
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import Alone, FunctionRule, SameView
from skipchain.errors import ModelFileError
from skipchain.features.strings import strings_from_arrays, strings_to_arrays
from skipchain.features.vocabulary import Vocabulary
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import read_weights, weight_arrays
from skipchain.models.graph.belief import PropagationSettings
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.gate import FEATURES, Gate
from skipchain.models.graph.model import MARGINAL_INFERENCE, GraphModel


def header_and_arrays(model: GraphModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model of linked labels holds beside labels and features."""
    arrays: Arrays = {}
    for kind, own in model.edge_models.items():
        arrays |= weight_arrays(f"{kind}.weights", own.weights)
        if own.edge_features is not None:
            arrays[f"{kind}.child"] = own.edge_features.child
            arrays[f"{kind}.parent"] = own.edge_features.parent
    for number, rule in enumerate(model.rules):
        if isinstance(rule, SameView) and rule.common is not None:
            arrays |= strings_to_arrays(f"rule.{number}.common", rule.common)
    if model.gate is not None:
        arrays |= {f"{kind}.gate": own for kind, own in model.gate.weights.items()}
    own_functions = {rule.name for rule in model.rules if isinstance(rule, FunctionRule)}
    viewed = {name for own in model.rules if isinstance(own, SameView) for name in own.user_views}
    header = {
        "edges": [str(rule) for rule in model.rules],
        "functions": sorted(own_functions | viewed),
        "orderings": [[own.direction, own.seed] for own in model.orderings],
        "kinds": {kind: own.edge_features is not None for kind, own in model.edge_models.items()},
        "gate": model.gate is not None,
        "sending": asdict(model.propagation),
    }
    return header, arrays


def read(stored: StoredModel) -> GraphModel:
    """The inverse of `header_and_arrays`, checked."""
    header, arrays, features = stored.header, stored.arrays, stored.features
    missing = [name for name in header["functions"] if name not in stored.functions]
    if missing:
        raise ModelFileError(
            f"{stored.path}: the edges of the model need a function of its author's own, "
            f"{missing[0]!r}; load it in Python with functions={{{missing[0]!r}: …}}"
        )
    if header["kind"] not in MARGINAL_INFERENCE:
        raise ValueError(f"there is no model of linked labels {header['kind']!r}")
    if not isinstance(features, Vocabulary):
        raise ValueError("linked labels need features by templates")
    own = {name: stored.functions[name] for name in header["functions"]}
    rules = [
        replace(rule, common=strings_from_arrays(f"rule.{number}.common", arrays))
        if isinstance(rule, SameView)
        else rule
        for number, rule in enumerate(parse_rules(header["edges"], own))
    ]
    edge_models = {}
    for kind, linked in header["kinds"].items():
        ends, size = None, features.n_features
        if linked:
            ends = EdgeFeatures(arrays[f"{kind}.child"], arrays[f"{kind}.parent"])
            for numbers in (ends.child, ends.parent):
                if numbers.dtype != np.int32 or (
                    len(numbers) and not 0 <= numbers.min() <= numbers.max() < size
                ):
                    raise ValueError(f"edges of kind {kind!r} name unknown features")
            size = ends.n_features
        weights = read_weights(f"{kind}.weights", arrays, size, 0, len(header["labels"]), 1)
        edge_models[kind] = EdgeModel(weights, ends)
    known = {kind for rule in rules for kind in rule.edge_types} | {"alone"}
    if not edge_models or not set(edge_models) <= known:
        raise ValueError(f"the kinds of edges {list(edge_models)} are not those of the rules")
    orderings = tuple(Ordering(str(way), int(seed)) for way, seed in header["orderings"])
    chains = [rule for rule in rules if rule.is_chain] or [Alone()]
    for ordering in orderings:
        if not any(rule.edge_types[ordering.backward] in edge_models for rule in chains):
            raise ValueError(f"no kind of edge begins chains in the ordering {ordering}")
    if not orderings:
        raise ValueError("there are no orderings")
    return GraphModel(
        **stored.common,
        rules=tuple(rules),
        edge_models=edge_models,
        orderings=orderings,
        gate=_gate(edge_models, arrays) if header["gate"] else None,
        propagation=PropagationSettings(**header["sending"]),
    )


def _gate(kinds: Iterable[str], arrays: Arrays) -> Gate:
    weights = {kind: arrays[f"{kind}.gate"] for kind in kinds}
    for kind, own in weights.items():
        if own.shape != (len(FEATURES),) or own.dtype != np.float64 or not np.isfinite(own).all():
            raise ValueError(f"the gate of {kind!r} is not {len(FEATURES)} finite numbers")
    return Gate(weights)
