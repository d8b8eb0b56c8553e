"""What factors ask of the spans of a document: which of them mind each other, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.errors import SkipchainError
from skipchain.models.document.factors.mentions import Mentions

FORBIDDING = 1e4  # a penalty that nothing makes up for, and that can still be added and taken off


def none() -> Ints:
    """No numbers."""
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Slots whose spans mind each other: table [K + 1, K + 1] of what a pair of kinds adds.

    Spans of rows[r] and columns[r] are a pair of this relation, sizes[r] times; where both are the
    same slot, any two of its spans are, and the table is symmetric. Kind K, after the types, is a
    token that has not the type that was asked for.
    """

    name: str
    table: Floats  # [K + 1, K + 1]
    rows: Ints  # [R]
    columns: Ints  # [R]
    sizes: Floats  # [R]
    free: Bools  # [K + 1, K + 1], the entries that may be learnt

    @classmethod
    def within(cls, name: str, table: Floats, slots: Ints, sizes: Floats, free: Bools) -> Relation:
        """Any two spans of one slot."""
        return cls(name, table, slots, slots, sizes, free)


@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    """What one factor adds to the slots of a corpus.

    ``slots`` further slots; spans of slot sources[m] and kind kinds[m] count as spans of slot
    targets[m] too (marks); token tokens[j] counts as a span of slot missed[j] and the kind after
    all types where its type is not wanted[j] (lapses).
    """

    relations: tuple[Relation, ...]
    slots: int = 0
    sources: Ints = field(default_factory=none)  # [M]
    kinds: Ints = field(default_factory=none)  # [M]
    targets: Ints = field(default_factory=none)  # [M]
    tokens: Ints = field(default_factory=none)  # [J]
    wanted: Ints = field(default_factory=none)  # [J]
    missed: Ints = field(default_factory=none)  # [J]


class SpanFactor(Protocol):
    """A factor in compiled form: a few tables of penalties for pairs of spans."""

    def wiring(self, mentions: Mentions, types: Sequence[str], first: int) -> Wiring:
        """Which spans of a corpus mind each other; further slots are numbered from ``first``."""
        ...

    def check(self, types: Sequence[str]) -> None:
        """Refuse types that a model does not have."""
        ...

    def weighed(self, tables: Sequence[Floats], types: Sequence[str]) -> SpanFactor:
        """The same factor with other tables, one for each of its relations."""
        ...

    def times(self, strength: float) -> SpanFactor:
        """The same factor, so many times as strong."""
        ...

    def told(self) -> dict[str, dict[str, dict[str, float]]]:
        """What it adds, for people: by relation, row and column."""
        ...


def check_types(wanted: Sequence[str], known: Sequence[str], factor: str) -> None:
    """Refuse types that are not known.

    >>> check_types(["DOG"], ["LOC", "PER"], "Agreement")
    Traceback (most recent call last):
    ...
    skipchain.errors.SkipchainError: Agreement is about DOG, but the model's types are LOC, PER
    """
    missing = [name for name in wanted if name not in known]
    if missing:
        raise SkipchainError(
            f"{factor} is about {', '.join(missing)}, but the model's types are "
            f"{', '.join(known) or 'none'}"
        )


def single(types: Sequence[str], row: str, column: int, value: float) -> Floats:
    """A symmetric table with one value, at a type and the kind of that number. [K + 1, K + 1]"""
    table = np.zeros((len(types) + 1, len(types) + 1))
    at = list(types).index(row)
    table[at, column] = table[column, at] = value
    return table
