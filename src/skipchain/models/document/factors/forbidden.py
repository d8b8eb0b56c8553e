"""Two types that the same words may not have in one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import ParameterError
from skipchain.models.document.factors.base import (
    FORBIDDEN_PENALTY,
    FactorEdges,
    PairPotential,
    check_types,
    single_entry_table,
)
from skipchain.models.document.factors.mentions import MentionStrings


@dataclass(frozen=True, slots=True)
class Forbidden:
    """Spans of a document with the same words are never of these two types.

    >>> Forbidden("PER", "LOC")
    Forbidden(one='PER', other='LOC')
    """

    one: str
    other: str

    def __post_init__(self) -> None:
        if self.one == self.other:
            raise ParameterError(f"two types are forbidden together, got {self.one!r} twice")

    def check(self, types: Sequence[str]) -> None:
        """Refuse types that a model does not have."""
        check_types([self.one, self.other], types, "Forbidden")

    def build_edges(
        self, mentions: MentionStrings, types: Sequence[str], first: int
    ) -> FactorEdges:
        """A penalty for any two spans of one mention string."""
        costs = single_entry_table(
            types, self.one, list(types).index(self.other), -FORBIDDEN_PENALTY
        )
        name = f"{self.one} or {self.other}"
        every = np.arange(len(mentions))
        fixed = np.zeros(costs.shape, np.bool_)
        return FactorEdges((PairPotential.within(name, costs, every, np.ones(len(every)), fixed),))

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> Forbidden:
        """The factor itself: what is forbidden stays so."""
        return self

    def scaled(self, strength: float) -> Forbidden:
        """The factor itself: what is forbidden stays so."""
        return self

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What the pair adds: more than anything makes up for."""
        return {f"{self.one} or {self.other}": {self.one: {self.other: -FORBIDDEN_PENALTY}}}
