"""Learners by steps on a cluster: iterative parameter mixing (McDonald, Hall and Mann 2010).

Every worker goes over its shard once, from the same weights. Then each weight moves by the mean of
its moves on those workers whose data have a part in it, and the next pass begins. The mean moves
less far than one machine would, which has gone over all data; so steps go further than it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skipchain.arrays import IN_MEMORY, Floats
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.cluster.learning import MARGINS, STEPS
from skipchain.cluster.team import Team
from skipchain.learn.saved_state import SavedState

FURTHEST = 2.0  # times as far as the mean; the sum of four workers' moves grows without bound


class MixedLearner:
    """Weights that all workers move together, pass by pass."""

    kind: str
    furthest = 1.0
    """How many times as far as the mean a weight moves, at most."""
    room = IN_MEMORY

    def __init__(
        self,
        team: Team,
        scorer: LinearScorer,
        start: Floats,
        settings: Mapping[str, Any],
        prepare: Callable[[], None],
    ) -> None:
        self._team, self._scorer, self._prepare = team, scorer, prepare
        self._settings = settings
        self._vector = start
        self._passes = 0
        self._shares: Floats | None = None

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self._vector)

    @property
    def nbytes(self) -> int:
        """Bytes held here, an average of the weights and a copy of it included."""
        return 4 * self._vector.nbytes

    def weights(self, vector: Floats) -> Weights:
        """The tables of a vector."""
        return self._scorer.weights(vector)

    def vector(self) -> Floats:
        """The weights as they are."""
        return self._vector

    def state(self) -> SavedState:
        """The weights, and how many passes have led to them."""
        return SavedState({"passes": self._passes}, {"weights": self._vector})

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        self._vector = saved.array("weights", np.float64, self.size)
        self._passes = saved.whole("passes")

    def _pass(self, **more: Any) -> tuple[float, list[Floats]]:
        """The loss of a pass, and the mean move of the weights, then that of their average."""
        how = {**self._settings, "pass": self._passes, **more}
        loss, moves = self._team.repeat(lambda: self._moved(how), self._prepare)
        self._passes += 1
        if self._shares is None:
            _, holders = self._team.repeat(self._counted, self._prepare)
            holders = np.maximum(holders, 1.0)
            self._shares = np.minimum(np.sqrt(holders), self.furthest) / holders
        return loss, [move * self._shares for move in moves]

    def _counted(self) -> tuple[float, Any]:
        """How many workers have a part in each weight."""
        return self._team.total(self._team.ask("holds"))

    def _moved(self, how: Mapping[str, Any]) -> tuple[float, Any]:
        team = self._team
        return team.total(team.ask("pass_over", how, self.kind, team.put(self._vector)))


class MixedSteps(MixedLearner):
    """Steps down the likelihood, see `StochasticLikelihood`.

    A weight that h workers have a part in moves √h times as far as the mean, at most twice as far.
    """

    kind = STEPS
    furthest = FURTHEST

    def epoch(self, rate: float) -> float:
        """One pass over all shards; returns the loss met on the way."""
        loss, (move,) = self._pass(rate=rate)
        self._vector = self._vector + move
        return loss


class MixedMargins(MixedLearner):
    """Moves after mistakes, see `MarginUpdates`; averaged over all passes."""

    kind = MARGINS

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._average = self._vector.copy()

    def epoch(self) -> float:
        """One pass over all shards; returns how many chains were wrong."""
        loss, (move, average) = self._pass()
        average += self._vector
        self._average += (average - self._average) / self._passes
        self._vector = self._vector + move
        return loss

    def vector(self) -> Floats:
        """The average of the weights over all passes."""
        return self._average

    def state(self) -> SavedState:
        """As for all, and the average."""
        state = super().state()
        return SavedState(state.values, {**state.arrays, "average": self._average})

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        super().restore(saved)
        self._average = saved.array("average", np.float64, self.size)
