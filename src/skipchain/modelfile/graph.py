"""Models of linked labels in model files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from skipchain.arrays import Arrays
from skipchain.edges.ordering import MAX_ORDERINGS, ORDERING_NAMES, Ordering
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import Alone, FunctionRule, Rule, SameView
from skipchain.errors import ModelFileError
from skipchain.features.edge_template import EdgeTemplate
from skipchain.features.strings import strings_from_arrays, strings_schema, strings_to_arrays
from skipchain.features.template import Atom
from skipchain.features.vocabulary import Vocabulary
from skipchain.modelfile.features import FUNCTIONS
from skipchain.modelfile.stored import StoredModel
from skipchain.modelfile.tables import dense, read_weights, sparse, weight_arrays, weight_schema
from skipchain.models.base.inputs import Features
from skipchain.models.graph.belief import MAX_SWEEPS, PropagationSettings
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.gate import FEATURES, Gate
from skipchain.models.graph.model import MARGINAL_INFERENCE, GraphModel
from skipchain.models.graph.pairs import LabelPairs
from skipchain.schema.arrays import INCREASING, ArraySchema, sparse_schema
from skipchain.schema.fields import Entries, Field, Flag, Items, Number, Pair, Record, Text, Whole

SAME = ("same(", "same_word(")  # rules that have a list of the strings that are too common
MAX_RULES = 20
FIELDS: dict[str, Field] = {
    "edges": Items(Text(most=10_000), least=1, most=MAX_RULES),
    "functions": FUNCTIONS,
    "orderings": Items(Pair(Text(ORDERING_NAMES), Whole()), least=1, most=MAX_ORDERINGS),
    "kinds": Entries(Flag(), least=1, most=2 * MAX_RULES + 1),
    "gate": Flag(),
    "sending": Record(
        {"damping": Number(0.0, 1.0), "tolerance": Number(0.0), "max_sweeps": Whole(1, MAX_SWEEPS)}
    ),
}
"""What the header of a model of linked labels has beside what all models have."""


def header_and_arrays(model: GraphModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model of linked labels holds beside labels and features."""
    arrays: Arrays = {}
    for kind, own in model.edge_models.items():
        weights = own.weights
        if own.edge_features is not None:
            arrays[f"{kind}.child"] = own.edge_features.child
            arrays[f"{kind}.parent"] = own.edge_features.parent
        if own.pair_features is not None:
            arrays[f"{kind}.pairs.child"] = own.pair_features.child
            arrays[f"{kind}.pairs.parent"] = own.pair_features.parent
            arrays |= sparse(f"{kind}.pairs.weights", weights.edges)
            weights = replace(weights, edges=np.zeros((0, 0)))
        arrays |= weight_arrays(f"{kind}.weights", weights)
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


def array_schema(stored: StoredModel) -> dict[str, ArraySchema]:
    """What the arrays of a model of linked labels with such a header and features must be."""
    header, labels = stored.header, stored.header["labels"]
    n_features, n_edge_features = stored.features.n_features, stored.features.n_edge_features
    lines = _edge_lines(stored.features)
    schema: dict[str, ArraySchema] = {}

    def ends(name: str, paired: bool) -> int:
        """Declare the features of both ends, and give the number of features of such edges."""
        size = len(_compared(lines, paired))
        for end in (f"{name}.child", f"{name}.parent"):
            schema[end] = ArraySchema("int32", (end,), least=0, below=n_features, order=INCREASING)
            size += len(stored.arrays.get(end, ()))
        return size

    for kind, linked in header["kinds"].items():
        state, edge = (ends(kind, False), 0) if linked else (n_features, n_edge_features)
        if linked and _is_paired(lines):
            shape = (ends(f"{kind}.pairs", True), _label_pairs(lines, labels).size)
            schema |= sparse_schema(f"{kind}.pairs.weights", shape)
        schema |= weight_schema(f"{kind}.weights", state, edge, len(labels), 1)
        if header["gate"]:
            schema[f"{kind}.gate"] = ArraySchema("float64", (len(FEATURES),))
    for number, rule in enumerate(header["edges"]):
        if rule.startswith(SAME):
            schema |= strings_schema(f"rule.{number}.common")
    return schema


def read(stored: StoredModel) -> GraphModel:
    """The inverse of `header_and_arrays`, of arrays that keep to `array_schema`."""
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
    lines = _edge_lines(features)
    if lines and header["kind"] != "mop-memm":
        raise ValueError(f"edges of {header['kind']} have no templates of their own")

    def ends(name: str, paired: bool) -> EdgeFeatures:
        both = arrays[f"{name}.child"], arrays[f"{name}.parent"]
        return EdgeFeatures(*both, _compared(lines, paired), features.templates.functions)

    edge_models = {}
    for kind, linked in header["kinds"].items():
        single, paired = None, None
        sizes = features.n_features, features.n_edge_features
        if linked:
            single = ends(kind, False)
            sizes = single.n_features, 0
        weights = read_weights(f"{kind}.weights", arrays, *sizes, len(header["labels"]), 1)
        if linked and _is_paired(lines):
            paired = ends(f"{kind}.pairs", True)
            shape = paired.n_features, _label_pairs(lines, header["labels"]).size
            weights = replace(weights, edges=dense(f"{kind}.pairs.weights", arrays, shape))
        edge_models[kind] = EdgeModel(weights, single, paired)
    orderings = tuple(Ordering(direction, seed) for direction, seed in header["orderings"])
    _check_edge_types(rules, edge_models, orderings)
    gate = Gate({kind: arrays[f"{kind}.gate"] for kind in edge_models}) if header["gate"] else None
    return GraphModel(
        **stored.common,
        rules=tuple(rules),
        edge_models=edge_models,
        orderings=orderings,
        gate=gate,
        propagation=PropagationSettings(**header["sending"]),
    )


def _edge_lines(features: Features) -> tuple[EdgeTemplate, ...]:
    return features.templates.edge_templates if isinstance(features, Vocabulary) else ()


def _is_paired(lines: Sequence[EdgeTemplate]) -> bool:
    return any(line.pairing for line in lines)


def _compared(lines: Sequence[EdgeTemplate], paired: bool) -> tuple[Atom, ...]:
    """What is compared between the ends of edges, in lines with two labels or with one."""
    return tuple(
        line.same for line in lines if line.same is not None and bool(line.pairing) == paired
    )


def _label_pairs(lines: Sequence[EdgeTemplate], labels: Sequence[str]) -> LabelPairs:
    return LabelPairs.of(labels, next(line.pairing for line in lines if line.pairing))


def _check_edge_types(
    rules: Sequence[Rule], edge_models: Mapping[str, EdgeModel], orderings: Sequence[Ordering]
) -> None:
    """Refuse edge types that no rule has, and chains that nothing begins."""
    chains = [rule for rule in rules if rule.is_chain] or [Alone()]
    known = {kind for rule in (*rules, *chains) for kind in rule.edge_types}
    if not set(edge_models) <= known:
        raise ValueError(f"the kinds of edges {list(edge_models)} are not those of the rules")
    for ordering in orderings:
        if not any(rule.edge_types[ordering.backward] in edge_models for rule in chains):
            raise ValueError(f"no kind of edge begins chains in the ordering {ordering}")
