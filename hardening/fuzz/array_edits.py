"""Mutations of arrays: types, shapes, numbers, order, and rows of several arrays at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from hardening.fuzz.mutant import DTYPES, Mutant, Sample

Array = np.ndarray[Any, Any]
FLOATS = (
    float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e15, -1e15, 1.1e15, 1e14, -1e14,
    5e-324, -5e-324, 1e-310, 0.0, -0.0, 700.0, -700.0, 1e5, -1e5, 1.0, 1e9, 1e-300,
)  # fmt: skip
INTEGERS = (-1, 0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, -(2**63), 255, 128)


def mutate_arrays(rng: Random, mutant: Mutant, samples: Sequence[Sample]) -> None:
    """Change one array, or some that belong together."""
    names = sorted(mutant.arrays)
    if not names:
        return
    name = rng.choice(names)
    how = rng.random()
    if how < 0.12:
        _drop_or_swap(rng, mutant, name, samples)
    elif how < 0.34:
        _change_rows_together(rng, mutant, name)
    else:
        array = mutant.arrays[name]
        numbers, shapes = (_NUMBERS, 0.8) if array.size else (_SHAPES, 1.0)
        edit = rng.choice(numbers if rng.random() < shapes else _SHAPES)
        new, done = edit(rng, array, mutant)
        mutant.arrays[name] = np.ascontiguousarray(new)
        mutant.recipe.append(f"array {name}: {done}")


def _drop_or_swap(rng: Random, mutant: Mutant, name: str, samples: Sequence[Sample]) -> None:
    arrays = mutant.arrays
    how = rng.choice(("delete", "add", "swap", "swap", "foreign"))
    mutant.recipe.append(f"array {name}: {how}")
    if how == "delete":
        del arrays[name]
    elif how == "add":
        unknown = rng.choice(("colour", f"{name}.x", "", "__metadata", "x" * 300, "../x"))
        arrays[unknown] = arrays[name]
    elif how == "swap":
        dtype = arrays[name].dtype
        alike = [other for other in sorted(arrays) if arrays[other].dtype == dtype]
        other = rng.choice(alike)
        arrays[name], arrays[other] = arrays[other], arrays[name]
        mutant.recipe[-1] += f" with {other}"
    else:
        sample = rng.choice(samples)
        arrays[name] = sample.arrays.get(name, arrays[name])
        mutant.recipe[-1] += f", from the sample {sample.name}"


def _change_rows_together(rng: Random, mutant: Mutant, name: str) -> None:
    """Rows dropped, doubled or moved in all arrays whose names begin alike and that are as long.

    Where a table is stored as places and values, or strings as starts and lengths, the arrays still
    go together afterwards, and the file has a chance to be loaded.
    """
    array = mutant.arrays[name]
    if not array.ndim:
        return
    stem, size = name.rpartition(".")[0], len(array)
    together = [
        other
        for other, own in sorted(mutant.arrays.items())
        if other.rpartition(".")[0] == stem and own.ndim and len(own) == size
    ]
    rows = np.arange(size)
    how = rng.choice(("drop one", "drop half", "drop all", "double one", "shuffle", "reverse"))
    at = rng.randrange(max(size, 1))
    if how == "drop one":
        rows = np.delete(rows, at) if size else rows
    elif how == "drop half":
        rows = np.array([k for k in rows if rng.random() < 0.5], np.int64)
    elif how == "drop all":
        rows = rows[:0]
    elif how == "double one":
        rows = np.insert(rows, at, at) if size else rows
    elif how == "shuffle":
        rows = np.array(rng.sample(rows.tolist(), size), np.int64)
    else:
        rows = rows[::-1]
    for other in together:
        mutant.arrays[other] = np.ascontiguousarray(mutant.arrays[other][rows])
    mutant.recipe.append(f"arrays {', '.join(together)}: {how} (row {at} of {size})")


# Numbers -----------------------------------------------------------------------------------------

Edited = tuple[Array, str]


def _one(rng: Random, array: Array, mutant: Mutant) -> Edited:
    new, at = array.copy(), rng.randrange(array.size)
    new.reshape(-1)[at] = value = _number(rng, array, mutant)
    return new, f"entry {at} of {array.size} is {value}"


def _some(rng: Random, array: Array, mutant: Mutant) -> Edited:
    new, value = array.copy(), _number(rng, array, mutant)
    flat, share = new.reshape(-1), rng.choice((0.1, 0.5, 1.0))
    chosen = [k for k in range(array.size) if rng.random() < share]
    flat[chosen] = value
    return new, f"{len(chosen)} entries of {array.size} are {value}"


def _between(rng: Random, array: Array, mutant: Mutant) -> Edited:
    """A number of the same range; order is kept where the neighbours leave room."""
    new, at = array.copy(), rng.randrange(array.size)
    flat = new.reshape(-1)
    low, high = flat[max(at - 1, 0)], flat[min(at + 1, array.size - 1)]
    if array.dtype.kind == "f":
        value: Any = rng.uniform(float(np.nan_to_num(low)), float(np.nan_to_num(high)))
    else:
        value = rng.randint(min(int(low), int(high)), max(int(low), int(high)))
    flat[at] = value
    return new, f"entry {at} of {array.size} is {value}, between its neighbours"


def _scaled(rng: Random, array: Array, mutant: Mutant) -> Edited:
    factor = rng.choice((-1.0, 0.0, 1e-6, 10.0, 1000.0, 1e12))
    with np.errstate(all="ignore"):
        return (array * factor).astype(array.dtype), f"multiplied by {factor}"


def _reordered(rng: Random, array: Array, mutant: Mutant) -> Edited:
    flat = array.reshape(-1)
    how = rng.choice(("sorted", "reversed", "shuffled"))
    order = rng.sample(range(array.size), array.size)
    new = {"sorted": np.sort(flat), "reversed": flat[::-1], "shuffled": flat[order]}[how]
    return new.reshape(array.shape), how


def _flipped(rng: Random, array: Array, mutant: Mutant) -> Edited:
    data = np.frombuffer(array.tobytes(), np.uint8).copy()
    bits = [rng.randrange(8 * len(data)) for _ in range(rng.choice((1, 1, 3)))]
    for bit in bits:
        data[bit // 8] ^= 1 << (bit % 8)
    return data.view(array.dtype).reshape(array.shape), f"bits {bits} flipped"


def _copied(rng: Random, array: Array, mutant: Mutant) -> Edited:
    new = array.copy()
    flat = new.reshape(-1)
    source, target = rng.randrange(array.size), rng.randrange(array.size)
    flat[target] = flat[source]
    return new, f"entry {target} is that of {source}"


def _number(rng: Random, array: Array, mutant: Mutant) -> Any:
    """A number that the type can hold: what breaks arithmetic, or a length and one beyond."""
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            return array.dtype.type(rng.choice(FLOATS))
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    lengths = [len(own) for own in mutant.arrays.values() if own.ndim]
    n = rng.choice([len(array), int(array.max()), int(array.min()), rng.choice(lengths)])
    limits = np.iinfo(array.dtype)
    value = rng.choice((*INTEGERS, n, n - 1, n + 1, n, n - 1, n + 1))
    return int(min(max(value, limits.min), limits.max))


# Shapes ------------------------------------------------------------------------------------------


def _retyped(rng: Random, array: Array, mutant: Mutant) -> Edited:
    dtype = rng.choice(sorted(DTYPES))
    with np.errstate(all="ignore"):
        return array.astype(dtype), f"as {dtype}"


def _reshaped(rng: Random, array: Array, mutant: Mutant) -> Edited:
    shapes = [(1, *array.shape), (*array.shape, 1), (-1,), (1,) * 40 + array.shape]
    if array.size % 2 == 0:
        shapes.append((2, array.size // 2))
    if array.size == 1:
        shapes.append(())
    new = array.reshape(rng.choice(shapes)) if array.ndim < 8 else array.reshape(-1)
    return new, f"of the shape {new.shape}"


def _resized(rng: Random, array: Array, mutant: Mutant) -> Edited:
    """Shorter, longer or empty along one axis."""
    if not array.ndim:
        return array[None], "of one dimension"
    axis = rng.randrange(array.ndim)
    size = array.shape[axis]
    wanted = rng.choice((0, 1, size // 2, max(size - 1, 0), size + 1, size + 1, 2 * size, 1000))
    if not size:
        shape = list(array.shape)
        shape[axis] = wanted
        return np.zeros(shape, array.dtype), f"of the shape {tuple(shape)}"
    new = np.take(array, np.arange(wanted) % size, axis)
    return new, f"{wanted} instead of {size} at axis {axis}"


_NUMBERS: tuple[Callable[[Random, Array, Mutant], Edited], ...] = (
    _one, _one, _one, _some, _between, _between, _between, _scaled, _reordered, _flipped, _flipped,
    _copied,
)  # fmt: skip
_SHAPES = (_retyped, _reshaped, _resized, _resized)
