"""What factors ask of the spans of a document: which of them mind each other, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.errors import SkipchainError
from skipchain.models.document.factors.mentions import MentionStrings

FORBIDDEN_PENALTY = (
    1e4  # a penalty that nothing makes up for, and that can still be added and taken off
)


def no_ids() -> Ints:
    """No numbers."""
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PairPotential:
    """Slots whose spans mind each other: table [K + 1, K + 1] of what a pair of kinds adds.

    Spans of rows[r] and columns[r] are a pair of this relation, sizes[r] times; where both are the
    same slot, any two of its spans are, and the table is symmetric. Kind K, after the types, is a
    token that has not the type that was asked for.
    """

    name: str
    table: Floats  # [K + 1, K + 1]
    rows: Ints  # [R]
    columns: Ints  # [R]
    scales: Floats  # [R]
    learnable: Bools  # [K + 1, K + 1], the entries that may be learnt

    @classmethod
    def within(
        cls, name: str, table: Floats, slots: Ints, sizes: Floats, free: Bools
    ) -> PairPotential:
        """Any two spans of one slot."""
        return cls(name, table, slots, slots, sizes, free)


@dataclass(frozen=True, slots=True, eq=False)
class FactorEdges:
    """What one factor adds to the slots of a corpus.

    ``n_strings`` further slots; spans of slot sources[m] and kind kinds[m] count as spans of slot
    targets[m] too (marks); token tokens[j] counts as a span of slot missed[j] and the kind after
    all types where its type is not wanted[j] (lapses).
    """

    pair_potentials: tuple[PairPotential, ...]
    n_strings: int = 0
    alias_sources: Ints = field(default_factory=no_ids)  # [M]
    type_ids: Ints = field(default_factory=no_ids)  # [M]
    alias_targets: Ints = field(default_factory=no_ids)  # [M]
    violation_tokens: Ints = field(default_factory=no_ids)  # [J]
    required_types: Ints = field(default_factory=no_ids)  # [J]
    violation_strings: Ints = field(default_factory=no_ids)  # [J]


class SpanFactor(Protocol):
    """A factor in compiled form: a few tables of penalties for pairs of spans."""

    def build_edges(
        self, mentions: MentionStrings, types: Sequence[str], first: int
    ) -> FactorEdges:
        """Which spans of a corpus mind each other; further slots are numbered from ``first``."""
        ...

    def check(self, types: Sequence[str]) -> None:
        """Refuse types that a model does not have."""
        ...

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> SpanFactor:
        """The same factor with other tables, one for each of its relations."""
        ...

    def scaled(self, strength: float) -> SpanFactor:
        """The same factor, so many times as strong."""
        ...

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
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


def single_entry_table(types: Sequence[str], row: str, column: int, value: float) -> Floats:
    """A symmetric table with one value, at a type and the kind of that number. [K + 1, K + 1]"""
    table = np.zeros((len(types) + 1, len(types) + 1))
    at = list(types).index(row)
    table[at, column] = table[column, at] = value
    return table
