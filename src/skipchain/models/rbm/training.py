"""One training of label features from one beginning, and what it learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints, offsets_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.table_scorer import TableScorer
from skipchain.errors import SkipchainError
from skipchain.features.matrix import Rows
from skipchain.kernels.random import seeded
from skipchain.learn.momentum import Momentum, average_in
from skipchain.models.rbm.contrastive import Batch
from skipchain.models.rbm.expert_gradient import Expert
from skipchain.models.rbm.experts import learnt_weights
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.weights import LARGEST, MovingWeights, model_of
from skipchain.parallel import Workers


@dataclass(frozen=True)
class RBMTask:
    """Everything to learn from: ``fixed`` [N, L] are the scores of a pre-trained model.

    ``experts`` are the same data as the experts of the ``blank`` model see them.
    """

    data: Dataset
    fixed: Floats
    blank: RBMModel
    experts: tuple[Dataset, ...] = ()

    @property
    def parameters(self) -> int:
        """How many weights are learnt."""
        blank = self.blank
        own = blank.weights.size + int(blank.units.free.sum())
        return own + sum(int(learnt_weights(each.weights).sum()) for each in blank.experts)

    def whole(self) -> Batch:
        """All sequences together."""
        data = self.data
        assert data.labels is not None
        return self._batch(data.rows, self.fixed, data.offsets, data.labels, self.experts)

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
            offsets = offsets_of(lengths[own])
            experts = [Dataset(each.rows.take(tokens), offsets) for each in self.experts]
            found.append(
                self._batch(
                    data.rows.take(tokens),
                    self.fixed[tokens],
                    offsets,
                    data.labels[tokens],
                    experts,
                    compact=size < len(chains),
                )
            )
        return found

    def _batch(
        self,
        rows: Rows,
        fixed: Floats,
        offsets: Ints,
        labels: NDArray[np.int32],
        experts: Sequence[Dataset],
        *,
        compact: bool = False,
    ) -> Batch:
        """Sequences with all features, or with those only that they have."""
        own = [
            Expert.of(data, model.weights, local=model.local, compact=compact)
            for data, model in zip(experts, self.blank.experts, strict=True)
        ]
        features = None
        if compact:
            rows, features = rows.compact()
        learnt = bool(len(self.blank.weights))
        return Batch(TableScorer(rows), fixed, offsets, labels, learnt, own, features)


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
        experts = [own.weights for own in blank.experts]
        free = np.concatenate([np.ones(learnt), units.free, *map(learnt_weights, experts)])
        self.vector = rng.uniform(-spread, spread, len(free)) * free
        if table is not None:
            self.vector[:learnt] = table.ravel()
        if experts:
            self.vector[learnt + units.size :] = np.concatenate([own.vector for own in experts])
        self.average = self.vector
        self._averaged = 0
        self._average_from = average_from
        self._blank = blank
        self._weights = MovingWeights(blank, self.vector, ascent)
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
        return model_of(self._blank, vector)

    def epoch(self, number: int, steps: int, workers: Workers) -> float:
        """One pass over the data: how badly labels were reconstructed in it."""
        loss = 0.0
        self._weights.begin(number, len(self._batches))
        for batch, states, current in zip(self._batches, self._states, self._current, strict=True):
            if not self._persistent:
                current[:] = batch.labels
            table, units, experts = self._weights.seen(batch)
            lost, contrast = batch.contrast(table, units, steps, states, current, workers, experts)
            loss += lost
            if not self._weights.push(batch, contrast):
                rate = self._ascent.rate
                raise SkipchainError(
                    f"contrastive divergence has diverged in epoch {number + 1}: weights are "
                    f"beyond {LARGEST:g} with rate={rate:g}; try rate={rate / 10:.1g}"
                )
        self._weights.settle()
        if number >= self._average_from:
            self._averaged += 1
            if self._averaged == 1:
                self.average = self.vector.copy()
            else:
                average_in(self.average, self.vector, self._averaged)
        return loss
