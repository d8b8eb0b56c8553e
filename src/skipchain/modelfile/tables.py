"""Tables of numbers as arrays of a model file, and back, checked."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Arrays, Floats
from skipchain.chains.scorer import Weights, weight_shapes
from skipchain.schema.arrays import ArraySchema, check_table_size, sparse_schema


def weight_arrays(name: str, weights: Weights) -> Arrays:
    """The tables of weights."""
    return {
        f"{name}.transitions": weights.transitions,
        f"{name}.start": weights.start,
        f"{name}.end": weights.end,
        **sparse(f"{name}.state", weights.state),
        **sparse(f"{name}.edges", weights.edges),
        **sparse(f"{name}.second", weights.triples),
    }


def weight_schema(
    name: str, n_features: int, n_edge_features: int, n_labels: int, order: int
) -> dict[str, ArraySchema]:
    """What the arrays of `weight_arrays` must be."""
    shapes = weight_shapes(n_features, n_edge_features, n_labels, order)
    return {
        f"{name}.transitions": ArraySchema("float64", shapes[1]),
        f"{name}.start": ArraySchema("float64", shapes[2]),
        f"{name}.end": ArraySchema("float64", shapes[3]),
        **sparse_schema(f"{name}.state", shapes[0]),
        **sparse_schema(f"{name}.edges", shapes[4]),
        **sparse_schema(f"{name}.second", shapes[5]),
    }


def read_weights(
    name: str, arrays: Arrays, n_features: int, n_edge_features: int, n_labels: int, order: int
) -> Weights:
    """The inverse of `weight_arrays`, of arrays that keep to `weight_schema`."""
    shapes = weight_shapes(n_features, n_edge_features, n_labels, order)
    return Weights(
        dense(f"{name}.state", arrays, shapes[0]),
        arrays[f"{name}.transitions"],
        arrays[f"{name}.start"],
        arrays[f"{name}.end"],
        dense(f"{name}.edges", arrays, shapes[4]),
        dense(f"{name}.second", arrays, shapes[5]),
    )


def sparse(name: str, table: Floats) -> Arrays:
    """A table by its numbers that are not zero: most (feature, label) pairs have no weight."""
    flat = table.ravel()
    at = np.flatnonzero(flat)
    return {f"{name}.at": at, f"{name}.values": flat[at]}


def dense(name: str, arrays: Arrays, shape: tuple[int, ...]) -> Floats:
    """The inverse of `sparse`, of arrays that keep to `sparse_schema`."""
    at, values = arrays[f"{name}.at"], arrays[f"{name}.values"]
    check_table_size(name, shape, len(at))
    table = np.zeros(shape)
    table.reshape(-1)[at] = values
    return table
