"""Margin updates: perceptron and its relatives, one chain after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Arrays, Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.online import OnlineLearner, chain_entries, kernel_features
from skipchain.chains.scorer import Weights
from skipchain.kernels import margin_updates as margins
from skipchain.learn.saved_state import SavedState

RUN = 8  # neighbouring chains that are visited one after the other
UPDATES = {"perceptron": margins.PERCEPTRON, "pa": margins.PASSIVE_AGGRESSIVE, "arow": margins.AROW}


class MarginUpdates(OnlineLearner):
    """Perceptron, passive-aggressive and AROW updates, averaged over all chains seen.

    Other arguments are those of `OnlineLearner`.
    """

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        update: str = "perceptron",
        limit: float = 1.0,
        boundaries: bool = True,
        **others: Any,
    ) -> None:
        super().__init__(data, n_labels, boundaries=boundaries, **others)
        # bundles save memory, but looking each up takes twice the time
        self._features = kernel_features(data.rows, data.rows.expanded(self.room))
        self._room = int(chain_entries(data).max(initial=1))
        self._update = UPDATES[update]
        self._limit = limit
        self._seen = 0
        confident = self._update == margins.AROW
        merged = self._update != margins.PERCEPTRON
        self._total = np.zeros(self.size)
        self._variances = np.ones(self.size if confident else 0, np.float32)
        self._scratch = np.zeros(self.size if merged else 0, np.float32)
        ends = np.cumsum([part.size for part in Weights.views(self._vector, *self._sizes).tables])
        self._fixed = (0, 0) if boundaries else (int(ends[1]), int(ends[3]))

    @property
    def nbytes(self) -> int:
        """Bytes held, an average of the weights and a copy of it included."""
        arrays = (self._vector, self._total, self._variances, self._scratch)
        return sum(part.nbytes for part in arrays) + 2 * 8 * self.size

    def restart(self, vector: NDArray[np.floating], seed: Sequence[int]) -> None:
        """As for all learners; the average is one of what comes."""
        super().restart(vector, seed)
        self._seen = 0
        self._total[:] = 0.0

    def last(self) -> NDArray[np.float32]:
        """The weights as they are, not averaged."""
        return self._vector

    def state(self) -> SavedState:
        """As for all learners, and how many chains were seen."""
        state = super().state()
        return replace(state, values={**state.values, "seen": self._seen})

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        super().restore(saved)
        self._seen = saved.whole("seen")

    @property
    def _changing(self) -> Arrays:
        return {**super()._changing, "total": self._total, "variances": self._variances}

    def vector(self) -> Floats:
        """The average of the weights over all chains seen."""
        average: Floats = self._total / -max(1, self._seen)
        average += self._vector
        return average

    def _order(self) -> Ints:
        """Runs of neighbouring chains, shuffled, and shuffled inside.

        Neighbours have features in common, whose weights are then in the processor's cache.
        """
        chains = len(self._data.offsets) - 1
        runs = np.arange(-(-chains // RUN) * RUN).reshape(-1, RUN)
        order = self._random.permuted(self._random.permutation(runs), axis=1).ravel()
        return order[order < chains]

    def epoch(self) -> float:
        """One pass over all chains; returns how many were wrong."""
        seen = self._seen
        self._seen += len(self._data.offsets) - 1  # first, lest an interrupt leave it behind
        tables = self._tables(self._vector)
        mistakes = margins.margin_epoch(
            self._features, tables, tables.second, self._vector, self._total, self._variances,
            self._scratch, self._fixed, self._masks, self._candidates, self._data.offsets,
            self._order(), self._labels, self._update, self._limit, seen, self._room
        )  # fmt: skip
        return float(mistakes)
