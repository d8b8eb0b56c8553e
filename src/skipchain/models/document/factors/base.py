"""What all factors have in common: which spans of a document interact, and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from skipchain.arrays import Bools, Floats, Ints
from skipchain.errors import SkipchainError
from skipchain.models.document.factors.mentions import MentionStrings

# a penalty that nothing makes up for, and that can still be added and taken off
FORBIDDEN_PENALTY = 1e4


def no_ids() -> Ints:
    """No numbers."""
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PairPotential:
    """Mention strings whose spans interact, and the score [K + 1, K + 1] of each pair of types.

    Every span of string rows[r] interacts with every span of string columns[r], scales[r] times;
    where both are the same string, any two of its spans do, and the table is symmetric. Type K,
    after the model's types, is a token that violates the type required of it.
    """

    name: str
    table: Floats  # [K + 1, K + 1]
    rows: Ints  # [R]
    columns: Ints  # [R]
    scales: Floats  # [R]
    learnable: Bools  # [K + 1, K + 1], the entries that may be learnt

    @classmethod
    def within(
        cls, name: str, table: Floats, string_ids: Ints, scales: Floats, learnable: Bools
    ) -> PairPotential:
        """Between any two spans of one mention string."""
        return cls(name, table, string_ids, string_ids, scales, learnable)


@dataclass(frozen=True, slots=True, eq=False)
class FactorEdges:
    """What one factor adds to the mention strings of a corpus: edges, aliases and violations.

    There are ``n_strings`` further strings. Spans of string alias_sources[m] and type type_ids[m]
    count as spans of string alias_targets[m] too. Token violation_tokens[j] counts as a span of
    string violation_strings[j] and the type after all others where its type is not
    required_types[j].
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
        """Which spans of a corpus interact; further mention strings are numbered from ``first``."""

    def check(self, types: Sequence[str]) -> None:
        """Refuse types that a model does not have."""

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> SpanFactor:
        """A copy with other tables, one for each of the factor's pair potentials."""

    def scaled(self, strength: float) -> SpanFactor:
        """A copy whose scores are multiplied by ``strength``."""

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What the factor adds, for people: by pair potential, row and column."""


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
    """A symmetric table with one value, at a type and the number of another. [K + 1, K + 1]"""
    table = np.zeros((len(types) + 1, len(types) + 1))
    at = list(types).index(row)
    table[at, column] = table[column, at] = value
    return table
