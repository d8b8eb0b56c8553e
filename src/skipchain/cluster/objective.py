"""The loss of all shards as a function of one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skipchain.arrays import Floats
from skipchain.chains.likelihood import TINY
from skipchain.chains.scorer import LinearScorer
from skipchain.cluster.team import Team
from skipchain.learn.vectors import dot


class DistributedObjective:
    """The sum of the losses of all shards, + l2 · Σ w², and its gradient.

    ``scorer`` knows the vector, as that of a loss on one machine does. The penalty is counted here,
    once.
    """

    def __init__(
        self, team: Team, scorer: LinearScorer, l2: float, prepare: Callable[[], None]
    ) -> None:
        self.scorer = scorer
        self._team = team
        self._l2 = l2
        self._prepare = prepare
        self._vector: Floats | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held here beside vectors."""
        return 0

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        self._vector = vector.copy()
        loss, gradient = self._team.repeat(lambda: self._sum("evaluate", vector), self._prepare)
        if self._l2:
            loss += self._l2 * dot(vector, vector)
            gradient += 2.0 * self._l2 * vector
        return loss, gradient

    def curvature(self) -> Floats:
        """A rough diagonal of the Hessian where the objective was called last, above zero."""
        _, spread = self._team.repeat(lambda: self._sum("spread"), self._ready)
        diagonal: Floats = spread + (2.0 * self._l2 + TINY)
        return diagonal

    def _sum(self, method: str, *vectors: Floats) -> tuple[float, Any]:
        team = self._team
        return team.total(team.ask(method, *map(team.put, vectors)))

    def _ready(self) -> None:
        """A new worker has residuals only where it has computed a loss."""
        self._prepare()
        if self._vector is not None:
            self._sum("evaluate", self._vector)
