"""Tables of numbers and lists of strings as arrays of a model file, and back, checked."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Arrays, Floats
from skipchain.chains.scorer import Weights, weight_shapes


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


def read_weights(
    name: str, arrays: Arrays, n_features: int, n_edge_features: int, n_labels: int, order: int
) -> Weights:
    """The inverse of `weight_arrays`, checked."""
    shapes = weight_shapes(n_features, n_edge_features, n_labels, order)
    weights = Weights(
        dense(f"{name}.state", arrays, shapes[0]),
        arrays[f"{name}.transitions"],
        arrays[f"{name}.start"],
        arrays[f"{name}.end"],
        dense(f"{name}.edges", arrays, shapes[4]),
        dense(f"{name}.second", arrays, shapes[5]),
    )
    parts = ("state", "transitions", "start", "end", "edges", "second")
    for part, array, shape in zip(parts, weights.tables, shapes, strict=True):
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"{part} weights are {array.shape}, wanted {shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{part} weights are not all finite")
    return weights


def sparse(name: str, table: Floats) -> Arrays:
    """A table by its numbers that are not zero: most (feature, label) pairs have no weight."""
    flat = table.ravel()
    at = np.flatnonzero(flat)
    return {f"{name}.at": at, f"{name}.values": flat[at]}


def dense(name: str, arrays: Arrays, shape: tuple[int, ...]) -> Floats:
    """The inverse of `sparse`, checked."""
    at, values = arrays[f"{name}.at"], arrays[f"{name}.values"]
    table = np.zeros(shape)
    if at.shape != values.shape or (len(at) and (at.min() < 0 or at.max() >= table.size)):
        raise ValueError(f"{name} lie outside a table of {shape}")
    table.reshape(-1)[at] = values
    return table
