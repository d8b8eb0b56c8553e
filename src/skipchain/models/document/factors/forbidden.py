"""Two types that the same words may not have in one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import ParameterError
from skipchain.models.document.factors.base import FORBIDDING, Relation, Wiring, check_types, single
from skipchain.models.document.factors.mentions import Mentions


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

    def wiring(self, mentions: Mentions, types: Sequence[str], first: int) -> Wiring:
        """Any two spans of one slot."""
        costs = single(types, self.one, list(types).index(self.other), -FORBIDDING)
        name = f"{self.one} or {self.other}"
        every = np.arange(len(mentions))
        still = np.zeros(costs.shape, np.bool_)
        return Wiring((Relation.within(name, costs, every, np.ones(len(every)), still),))

    def weighed(self, tables: Sequence[Floats], types: Sequence[str]) -> Forbidden:
        """The same: what is forbidden stays so."""
        return self

    def times(self, strength: float) -> Forbidden:
        """The same: what is forbidden stays so."""
        return self

    def told(self) -> dict[str, dict[str, dict[str, float]]]:
        """What the pair adds: more than anything makes up for."""
        return {f"{self.one} or {self.other}": {self.one: {self.other: -FORBIDDING}}}
