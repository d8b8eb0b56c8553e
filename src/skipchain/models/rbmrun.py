"""One training of label features from one beginning, and what it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skipchain.dataset import Dataset
from skipchain.errors import SkipchainError
from skipchain.kernels.random import seeded
from skipchain.learn.momentum import Momentum
from skipchain.models.rbmmodel import RBMModel
from skipchain.objectives.contrastive import Batch
from skipchain.parallel import Workers
from skipchain.scorers.tables import TableScorer

Floats = NDArray[np.float64]

LARGEST = 1000.0  # a weight beyond this has left all reason


@dataclass(frozen=True)
class RBMTask:
    """Everything to learn from: ``fixed`` [N, L] are the scores of a pre-trained model."""

    data: Dataset
    fixed: Floats
    blank: RBMModel

    def batches(self, size: int | None, seed: int) -> list[Batch]:
        """The sequences in batches, in a random order that stays; empty ones are left out."""
        data = self.data
        assert data.labels is not None
        lengths = np.diff(data.offsets)
        chains = np.flatnonzero(lengths)
        size = size or len(chains)
        if size < len(chains):
            chains = np.random.default_rng(seed).permutation(chains)
        found = []
        for first in range(0, len(chains), size):
            own = chains[first : first + size]
            tokens = np.concatenate(
                [np.arange(data.offsets[c], data.offsets[c + 1]) for c in own.tolist()]
            )
            offsets = np.concatenate([[0], np.cumsum(lengths[own])])
            found.append(
                Batch(
                    TableScorer(data.rows.take(tokens)), self.fixed[tokens], offsets,
                    data.labels[tokens], bool(len(self.blank.weights)),
                )
            )  # fmt: skip
        return found


class Run:
    """One training from one beginning."""

    def __init__(
        self,
        blank: RBMModel,
        batches: Sequence[Batch],
        table: Floats | None,
        spread: float,
        ascent: Momentum,
        average_from: float,
        persistent: bool,
        seed: int,
        number: int,
    ) -> None:
        rng = np.random.default_rng((seed, number))
        units = blank.units
        learnt = blank.weights.size
        self._free = np.concatenate([np.ones(learnt), units.free])
        self.vector = rng.uniform(-spread, spread, len(self._free)) * self._free
        if table is not None:
            self.vector[:learnt] = table.ravel()
        self.average = self.vector
        self._averaged = 0
        self._average_from = average_from
        self._blank = blank
        self._own = self.model(self.vector)
        self._speed = np.zeros_like(self.vector)
        self._batches = batches
        self._ascent = ascent
        self._persistent = persistent
        streams = range(1 + number * len(batches), 1 + (number + 1) * len(batches))
        self._states = [
            seeded(seed, stream, len(own.offsets) - 1)
            for stream, own in zip(streams, batches, strict=True)
        ]
        self._current = [own.labels.copy() for own in batches]

    def model(self, vector: Floats) -> RBMModel:
        """The model of a vector, whose memory it shares."""
        table, units = np.split(vector, [self._blank.weights.size])
        return replace(
            self._blank,
            weights=table.reshape(self._blank.weights.shape),
            units=self._blank.units.filled(units),
        )

    def epoch(self, number: int, steps: int, workers: Workers) -> float:
        """One pass over the data: how badly labels were reconstructed in it."""
        loss = 0.0
        for batch, states, current in zip(self._batches, self._states, self._current, strict=True):
            if not self._persistent:
                current[:] = batch.labels
            lost, gradient = batch.contrast(
                self._own.weights, self._own.units, steps, states, current, workers
            )
            self._ascent.step(self.vector, self._speed, gradient * self._free, number)
            loss += lost
            if not np.abs(self.vector).max(initial=0.0) < LARGEST:  # NaN is not
                rate = self._ascent.rate
                raise SkipchainError(
                    f"contrastive divergence has diverged in epoch {number + 1}: weights are "
                    f"beyond {LARGEST:g} with rate={rate:g}; try rate={rate / 10:.1g}"
                )
        if number >= self._average_from:
            self._averaged += 1
            if self._averaged == 1:
                self.average = self.vector.copy()
            else:
                self.average += (self.vector - self.average) / self._averaged
        return loss
