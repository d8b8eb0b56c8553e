"""Model files (``.skip``): safetensors with a JSON header. Loading never runs code.

The header says what the model is (kind, labels, schemes, templates, training summary, versions) and
carries a checksum of all arrays; the arrays hold the weights and the vocabulary.
"""

from __future__ import annotations

import json
import os
import platform
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skipchain import __version__
from skipchain.errors import ModelFileError, SkipchainError
from skipchain.features.dictionary import TagDictionary
from skipchain.features.direct import NamedFeatures, NumberedFeatures
from skipchain.features.ends import Ends
from skipchain.features.histories import Histories
from skipchain.features.strings import Strings
from skipchain.features.templates import Templates
from skipchain.features.views import FUNCTIONS, NGRAMS, UserView
from skipchain.features.vocabulary import Vocabulary
from skipchain.graph.ordering import Ordering
from skipchain.graph.rules import Alone, Own, Same, parse_rules
from skipchain.groups import BORDERS, LabelFeatures, groups_text, parse_groups
from skipchain.inference.belief import Sending
from skipchain.inference.gate import FEATURES, Gate
from skipchain.inference.gibbs import Sampling
from skipchain.io.files import PACKED, STANDARD, atomic_write, check_target
from skipchain.models.chain import ChainModel
from skipchain.models.graph import ENGINES, GraphModel
from skipchain.models.inputs import Features
from skipchain.models.model import Model
from skipchain.models.rbmmodel import RBMModel
from skipchain.models.states import StateModel
from skipchain.schemes import check_scheme
from skipchain.scorers.edges import Conditional
from skipchain.scorers.linear import Weights, weight_shapes
from skipchain.scorers.states import StateWeights, state_shapes

if TYPE_CHECKING:
    from skipchain.models.labeller import Labeller

FORMAT = 3
HEADER = "skipchain"
BASE = "base."  # before the names of arrays of a model inside another
Arrays = dict[str, NDArray[Any]]


def save(model: Model | Labeller, path: str | Path, *, overwrite: bool = False) -> None:
    """Write the model file of a fitted estimator or of a model.

    A file that is there already is kept unless ``overwrite``.
    """
    from safetensors.numpy import save as to_bytes

    check_model_target(path, overwrite=overwrite)
    if not isinstance(model, Model):
        model = model.fitted
    header, arrays = _contents(model.pruned())
    header |= {
        "format": FORMAT,
        "versions": {
            "skipchain": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    arrays = {name: np.ascontiguousarray(a) for name, a in arrays.items()}
    header["checksum"] = checksum(header, arrays)
    with atomic_write(path, binary=True, overwrite=overwrite) as file:
        file.write(to_bytes(arrays, {HEADER: json.dumps(header, ensure_ascii=False)}))


def _contents(model: Model) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of a model; it may have another one inside."""
    recipe, arrays = _recipe(model.features)
    header = {
        "kind": model.kind,
        "labels": list(model.labels),
        "scheme": model.scheme,
        "encoding": model.encoding,
        "constrained": model.constrained,
        "features": recipe,
        "summary": dict(model.summary),
    }
    own, further = _parts(model)
    return header | own, arrays | further


def _parts(model: Model) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model holds beside labels and features."""
    if isinstance(model, GraphModel):
        return _graph_parts(model)
    if isinstance(model, StateModel):
        return _state_parts(model)
    if isinstance(model, RBMModel):
        return _rbm_parts(model)
    assert isinstance(model, ChainModel)
    return _chain_parts(model)


def _chain_parts(model: ChainModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a chain model holds beside labels and features."""
    arrays = _weights("weights", model.weights)
    if model.dictionary is not None:
        arrays |= _strings("dictionary", model.dictionary.words)
        arrays["dictionary.labels"] = np.packbits(model.dictionary.labels, axis=1)
    if model.histories is not None:
        arrays["histories.contexts"] = model.histories.contexts
        arrays |= _sparse("histories.weights", model.histories.weights)
    header = {
        "local": model.local,
        "order": model.order,
        "dictionary": None if model.dictionary is None else model.dictionary.min_count,
    }
    return header, arrays


def _state_parts(model: StateModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model of hidden states holds beside labels and features."""
    arrays = {
        **_sparse("weights.transitions", model.weights.transitions),
        **_sparse("weights.emissions", model.weights.emissions),
    }
    return {"local": model.local, "states": model.n_states}, arrays


def _graph_parts(model: GraphModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model of linked labels holds beside labels and features."""
    arrays: Arrays = {}
    for kind, own in model.conditionals.items():
        arrays |= _weights(f"{kind}.weights", own.weights)
        if own.ends is not None:
            arrays |= {f"{kind}.child": own.ends.child, f"{kind}.parent": own.ends.parent}
    for number, rule in enumerate(model.rules):
        if isinstance(rule, Same) and rule.common is not None:
            arrays |= _strings(f"rule.{number}.common", rule.common)
    if model.gate is not None:
        arrays |= {f"{kind}.gate": own for kind, own in model.gate.weights.items()}
    own_functions = {rule.name for rule in model.rules if isinstance(rule, Own)}
    viewed = {name for rule in model.rules if isinstance(rule, Same) for name in rule.own_views}
    header = {
        "edges": [str(rule) for rule in model.rules],
        "functions": sorted(own_functions | viewed),
        "orderings": [[own.way, own.seed] for own in model.orderings],
        "kinds": {kind: own.ends is not None for kind, own in model.conditionals.items()},
        "gate": model.gate is not None,
        "sending": asdict(model.sending),
    }
    return header, arrays


def _rbm_parts(model: RBMModel) -> tuple[dict[str, Any], Arrays]:
    """What the file of a model with label features holds beside labels and features."""
    arrays = {**_sparse("weights", model.weights), **_sparse("units", model.units.vector)}
    header = {
        "groups": groups_text(model.units.groups),
        "borders": model.units.borders,
        "observed": len(model.weights) > 0,
        "sampling": asdict(model.sampling),
        "gamma": model.gamma,
        "base": None,
    }
    if model.base is not None:
        header["base"], inside = _contents(model.base)
        arrays |= {f"{BASE}{name}": own for name, own in inside.items()}
    return header, arrays


def check_model_target(path: str | Path, *, overwrite: bool) -> None:
    """Refuse a path to which no model can be written, before any work is done."""
    if str(path) == STANDARD:
        raise SkipchainError("a model file needs a name; it cannot be written to stdout")
    if str(path).endswith(PACKED):
        raise SkipchainError(f"{path}: model files are not packed; leave out the last ending")
    check_target(path, overwrite)


def load_model(path: str | Path, functions: Mapping[str, Any] | None = None) -> Model:
    """Read a model file; a `ModelFileError` names what is wrong with it.

    ``functions`` are the views and edge rules of the user's own that the model was trained with.
    """
    header, arrays = read_arrays(path)
    try:
        return _model(header, arrays, functions or {}, path)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, SkipchainError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"{path}: the model file is damaged: {what}") from None


def _model(
    header: Mapping[str, Any], arrays: Arrays, functions: Mapping[str, Any], path: object
) -> Model:
    """The inverse of `_contents`, checked."""
    features = _features(header["features"], arrays, functions, path)
    for scheme in (header["scheme"], header["encoding"]):
        if scheme is not None:
            check_scheme(scheme)
    read = _chain_model
    if "edges" in header:
        read = _graph_model
    elif "groups" in header:
        read = _rbm_model
    elif "states" in header:
        read = _state_model
    return read(header, arrays, features, functions, path)


def _chain_model(
    header: Mapping[str, Any],
    arrays: Arrays,
    features: Features,
    functions: Mapping[str, Any],
    path: object,
) -> Model:
    labels = tuple(header["labels"])
    order = int(header["order"])
    sizes = (features.n_features, features.n_edge_features, len(labels), order)
    return ChainModel(
        str(header["kind"]), labels, features, _read_weights("weights", arrays, *sizes),
        header["scheme"], header["encoding"], bool(header["constrained"]), bool(header["local"]),
        header["summary"], _dictionary(header["dictionary"], arrays, len(labels)),
        _histories(order, arrays, len(labels)),
    )  # fmt: skip


def _state_model(
    header: Mapping[str, Any],
    arrays: Arrays,
    features: Features,
    functions: Mapping[str, Any],
    path: object,
) -> Model:
    labels, states = tuple(header["labels"]), int(header["states"])
    if states < 1:
        raise ValueError(f"{states} hidden states")
    names = ("weights.transitions", "weights.emissions")
    shapes = state_shapes(features.n_features, states, len(labels))
    tables = [_dense(name, arrays, shape) for name, shape in zip(names, shapes, strict=True)]
    for name, table in zip(names, tables, strict=True):
        if not np.isfinite(table).all():
            raise ValueError(f"{name} are not all finite")
    return StateModel(
        str(header["kind"]), labels, features, StateWeights(*tables), bool(header["local"]),
        header["scheme"], header["encoding"], bool(header["constrained"]), header["summary"],
    )  # fmt: skip


def _graph_model(
    header: Mapping[str, Any],
    arrays: Arrays,
    features: Features,
    functions: Mapping[str, Any],
    path: object,
) -> Model:
    missing = [name for name in header["functions"] if name not in functions]
    if missing:
        raise ModelFileError(
            f"{path}: the edges of the model need a function of its author's own, {missing[0]!r}; "
            f"load it in Python with functions={{{missing[0]!r}: …}}"
        )
    if header["kind"] not in ENGINES:
        raise ValueError(f"there is no model of linked labels {header['kind']!r}")
    if not isinstance(features, Vocabulary):
        raise ValueError("linked labels need features by templates")
    labels = tuple(header["labels"])
    own = {name: functions[name] for name in header["functions"]}
    rules = [
        replace(rule, common=_read_strings(f"rule.{number}.common", arrays))
        if isinstance(rule, Same)
        else rule
        for number, rule in enumerate(parse_rules(header["edges"], own))
    ]
    conditionals = {}
    for kind, linked in header["kinds"].items():
        ends, size = None, features.n_features
        if linked:
            ends = Ends(arrays[f"{kind}.child"], arrays[f"{kind}.parent"])
            for numbers in (ends.child, ends.parent):
                if numbers.dtype != np.int32 or (
                    len(numbers) and not 0 <= numbers.min() <= numbers.max() < size
                ):
                    raise ValueError(f"edges of kind {kind!r} name unknown features")
            size = ends.n_features
        weights = _read_weights(f"{kind}.weights", arrays, size, 0, len(labels), 1)
        conditionals[kind] = Conditional(weights, ends)
    known = {kind for rule in rules for kind in rule.kinds} | {"alone"}
    if not conditionals or not set(conditionals) <= known:
        raise ValueError(f"the kinds of edges {list(conditionals)} are not those of the rules")
    orderings = tuple(Ordering(str(way), int(seed)) for way, seed in header["orderings"])
    chains = [rule for rule in rules if rule.chain] or [Alone()]
    for ordering in orderings:
        if not any(rule.kinds[ordering.backward] in conditionals for rule in chains):
            raise ValueError(f"no kind of edge begins chains in the ordering {ordering}")
    if not orderings:
        raise ValueError("there are no orderings")
    return GraphModel(
        str(header["kind"]), labels, features, tuple(rules), conditionals, orderings,
        header["scheme"], header["encoding"], bool(header["constrained"]), header["summary"],
        _gate(conditionals, arrays) if header["gate"] else None,
        Sending(**header["sending"]),
    )  # fmt: skip


def _rbm_model(
    header: Mapping[str, Any],
    arrays: Arrays,
    features: Features,
    functions: Mapping[str, Any],
    path: object,
) -> Model:
    labels = tuple(header["labels"])
    borders = str(header["borders"])
    if borders not in BORDERS:
        raise ValueError(f"unknown borders {borders!r}")
    groups = parse_groups(header["groups"])
    blank = LabelFeatures.zeros(groups, len(labels), features.n_features, borders)
    units = blank.filled(_dense("units", arrays, (blank.size,)))
    count = features.n_features if header["observed"] else 0
    weights = _dense("weights", arrays, (count, len(labels)))
    if not (np.isfinite(weights).all() and np.isfinite(units.vector).all()):
        raise ValueError("the weights are not all finite")
    if units.vector[~units.free].any():
        raise ValueError("units have weights where they look at nothing")
    own = header["sampling"]
    sampling = Sampling(
        int(own["burn_in"]), int(own["samples"]), bool(own["annealed"]), int(own["seed"])
    )
    if sampling.burn_in < 0 or sampling.samples < 1 or sampling.seed < 0:
        raise ValueError(f"{sampling} cannot be sampled")
    gamma = float(header["gamma"])
    if not (np.isfinite(gamma) and gamma >= 0.0):
        raise ValueError(f"gamma is {gamma}")
    base = None
    if header["base"] is not None:
        inside = {
            name.removeprefix(BASE): own for name, own in arrays.items() if name.startswith(BASE)
        }
        base = _model(header["base"], inside, functions, path)
        if base.labels != labels:
            raise ValueError("the model beside has other labels")
    return RBMModel(
        str(header["kind"]), labels, features, weights, units, sampling, base, gamma,
        header["scheme"], header["encoding"], bool(header["constrained"]), header["summary"],
    )  # fmt: skip


def _gate(kinds: Iterable[str], arrays: Arrays) -> Gate:
    weights = {kind: arrays[f"{kind}.gate"] for kind in kinds}
    for kind, own in weights.items():
        if own.shape != (len(FEATURES),) or own.dtype != np.float64 or not np.isfinite(own).all():
            raise ValueError(f"the gate of {kind!r} is not {len(FEATURES)} finite numbers")
    return Gate(weights)


def read_arrays(path: str | Path) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a model file, after all checks of the container."""
    from safetensors import SafetensorError, safe_open

    arrays: Arrays = {}
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if HEADER not in metadata:
                raise ModelFileError(f"{path}: a safetensors file, but not a skipchain model")
            for name in file.keys():  # noqa: SIM118  (no iterator of its own)
                arrays[name] = file.get_tensor(name)
        header = json.loads(metadata[HEADER])
    except FileNotFoundError:
        raise ModelFileError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path}: is a folder, not a model file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error}") from None
    except (SafetensorError, ValueError) as error:
        raise ModelFileError(
            f"{path}: not a skipchain model, or cut short ({error}); train it again or copy it anew"
        ) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise ModelFileError(
            f"{path}: model format {found}, but this version reads {FORMAT}; "
            "load it with the version that wrote it, or train it again"
        )
    sealed = header.pop("checksum", None)
    if sealed != checksum(header, arrays):
        raise ModelFileError(
            f"{path}: the checksum does not match; the file was altered or damaged"
        )
    return header, arrays


def is_model_file(path: str | Path) -> bool:
    """Whether a file begins as a model file does: a header's length, then the header."""
    if not os.path.isfile(path):  # a pipe cannot be read twice
        return False
    try:
        with open(path, "rb") as file:
            start = file.read(9)
    except OSError:
        return False
    return str(path).endswith(".skip") or (start[8:] == b"{" and start[5:8] == b"\0\0\0")


def checksum(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A checksum over the header and the arrays' names, types, shapes and contents."""
    total = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        total = zlib.crc32(f"{name}{array.dtype.str}{array.shape}".encode(), total)
        total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return f"{total:08x}"


def _weights(name: str, weights: Weights) -> Arrays:
    """The tables of weights."""
    return {
        f"{name}.transitions": weights.transitions,
        f"{name}.start": weights.start,
        f"{name}.end": weights.end,
        **_sparse(f"{name}.state", weights.state),
        **_sparse(f"{name}.edges", weights.edges),
        **_sparse(f"{name}.second", weights.second),
    }


def _read_weights(
    name: str, arrays: Arrays, n_features: int, n_edge_features: int, n_labels: int, order: int
) -> Weights:
    """The inverse of `_weights`, checked."""
    shapes = weight_shapes(n_features, n_edge_features, n_labels, order)
    weights = Weights(
        _dense(f"{name}.state", arrays, shapes[0]),
        arrays[f"{name}.transitions"],
        arrays[f"{name}.start"],
        arrays[f"{name}.end"],
        _dense(f"{name}.edges", arrays, shapes[4]),
        _dense(f"{name}.second", arrays, shapes[5]),
    )
    _check_shapes(weights, shapes)
    return weights


def _sparse(name: str, table: NDArray[np.float64]) -> Arrays:
    """A table by its numbers that are not zero: most (feature, label) pairs have no weight."""
    flat = table.ravel()
    at = np.flatnonzero(flat)
    return {f"{name}.at": at, f"{name}.values": flat[at]}


def _dense(name: str, arrays: Arrays, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The inverse of `_sparse`."""
    at, values = arrays[f"{name}.at"], arrays[f"{name}.values"]
    table = np.zeros(shape)
    if at.shape != values.shape or (len(at) and (at.min() < 0 or at.max() >= table.size)):
        raise ValueError(f"{name} lie outside a table of {shape}")
    table.reshape(-1)[at] = values
    return table


def _recipe(features: Features) -> tuple[dict[str, Any], Arrays]:
    if isinstance(features, Vocabulary):
        functions = sorted(features.templates.own_views)
        return (
            {"kind": "templates", "text": features.templates.text, "functions": functions},
            features.to_arrays(),
        )
    if isinstance(features, NamedFeatures):
        return {"kind": "named"}, _strings("names", features.strings)
    return {"kind": "numbered", "width": features.width}, {"columns": features.columns}


def _features(
    recipe: Mapping[str, Any], arrays: Arrays, functions: Mapping[str, UserView], path: object
) -> Features:
    if recipe["kind"] == "templates":
        missing = [name for name in recipe["functions"] if name not in functions]
        if missing:
            raise ModelFileError(
                f"{path}: the model uses a view of its author's own, {missing[0]!r}; "
                f"load it in Python with functions={{{missing[0]!r}: …}}"
            )
        own = {name: functions[name] for name in recipe["functions"]}
        if set(own) & (set(FUNCTIONS) | {NGRAMS}):
            raise ModelFileError(f"{path}: a view of the model has the name of a built-in one")
        return Vocabulary.from_arrays(Templates.parse(recipe["text"], own), arrays)
    if recipe["kind"] == "named":
        return NamedFeatures(_read_strings("names", arrays))
    if recipe["kind"] == "numbered":
        columns, width = arrays["columns"], int(recipe["width"])
        if len(columns) and (columns.min() < 0 or columns.max() >= width):
            raise ValueError(f"columns lie outside a matrix of {width}")
        return NumberedFeatures(columns, width)
    raise ValueError(f"unknown kind of features {recipe['kind']!r}")


def _strings(name: str, strings: Strings) -> Arrays:
    return {
        f"{name}.text": np.frombuffer(strings.text.encode("utf-8", "surrogatepass"), np.uint8),
        f"{name}.starts": strings.starts,
        f"{name}.lengths": strings.lengths,
    }


def _read_strings(name: str, arrays: Arrays) -> Strings:
    text = arrays[f"{name}.text"].tobytes().decode("utf-8", "surrogatepass")
    starts, lengths = arrays[f"{name}.starts"], arrays[f"{name}.lengths"]
    ends = starts.astype(np.int64) + lengths
    if starts.shape != lengths.shape or (
        len(starts) and (min(starts.min(), lengths.min()) < 0 or ends.max() > len(text))
    ):
        raise ValueError(f"{name} reach beyond their text")
    return Strings(text, starts, lengths)


def _dictionary(min_count: int | None, arrays: Arrays, n_labels: int) -> TagDictionary | None:
    if min_count is None:
        return None
    words = _read_strings("dictionary", arrays)
    packed = arrays["dictionary.labels"]
    if packed.dtype != np.uint8 or packed.shape != (len(words), (n_labels + 7) // 8):
        raise ValueError(f"the dictionary has {packed.shape} labels for {len(words)} words")
    labels = np.unpackbits(packed, axis=1, count=n_labels).astype(np.bool_)
    if not labels.any(axis=1).all():
        raise ValueError("the dictionary has a word without labels")
    return TagDictionary(words, labels, int(min_count))


def _histories(order: int, arrays: Arrays, n_labels: int) -> Histories | None:
    if order <= 2:
        return None
    contexts = arrays["histories.contexts"]
    if contexts.dtype != np.int64 or contexts.ndim != 1 or (np.diff(contexts) <= 0).any():
        raise ValueError("the histories are not sorted")
    weights = _dense("histories.weights", arrays, (len(contexts), n_labels))
    if not np.isfinite(weights).all():
        raise ValueError("the histories' weights are not all finite")
    return Histories(order, contexts, weights)


def _check_shapes(weights: Weights, shapes: tuple[tuple[int, ...], ...]) -> None:
    names = ("state", "transitions", "start", "end", "edges", "second")
    for name, array, shape in zip(names, weights.parts, shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"{name} weights are {array.shape}, wanted {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} weights are not all finite")
