"""Early stopping: held-out scores while an optimiser works, and the best vector so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skipchain.arrays import Floats
from skipchain.learn.saved_state import SavedState
from skipchain.learn.step import OptimisationResult, Step

DEV_PERIOD = 10  # iterations between two scores on held-out data that are only reported


class EarlyStopping:
    """A callback of optimisers: scores held-out data, keeps the best vector, tells the display.

    ``score`` gives the held-out score of a vector, from 0 on. With ``patience`` the optimiser stops
    after so many iterations without a better score, once one is above 0. ``tell`` is called after
    each iteration with the latest score, which is None before the first.
    """

    def __init__(
        self,
        score: Callable[[Floats], float] | None = None,
        patience: int | None = None,
        tell: Callable[[Step, float | None], None] | None = None,
    ) -> None:
        self.best: Step | None = None
        self._score = score
        self._patience = patience
        self._tell = tell
        self._latest: float | None = None
        self._top = -1.0

    def __call__(self, step: Step) -> bool:
        """Whether to stop."""
        stop = False
        if self._score is not None and self._due(step):
            vector = step.vector.astype(np.float64, copy=False)
            self._latest = self._score(vector)
            if self._patience is not None:
                if self._latest > self._top:
                    self._top = self._latest
                    self.best = replace(step, vector=vector.copy())
                since = step.iteration - (self.best.iteration if self.best else 0)
                stop = self._top > 0.0 and since >= self._patience  # before, nothing is learnt yet
        if self._tell is not None:
            self._tell(step, self._latest)
        return stop

    def best_of(self, result: OptimisationResult) -> OptimisationResult:
        """With patience: the result where the held-out score was best."""
        if self.best is None:
            return result
        return replace(result, vector=np.asarray(self.best.vector, np.float64), loss=self.best.loss)

    def state(self) -> SavedState:
        """The scores so far, and the best vector."""
        values = {"latest": self._latest, "top": self._top}
        if self.best is None:
            return SavedState(values)
        values |= {"iteration": self.best.iteration, "loss": self.best.loss}
        return SavedState(values, {"best": self.best.vector})

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        self._latest = None if saved.values.get("latest") is None else saved.number("latest")
        self._top = saved.number("top")
        if "best" in saved.arrays:
            vector = saved.array("best", np.float64, None)
            self.best = Step(saved.whole("iteration"), vector, saved.number("loss"), 0.0)

    def _due(self, step: Step) -> bool:
        every_time = self._patience is not None or step.planned is not None
        return every_time or step.iteration % DEV_PERIOD == 0
