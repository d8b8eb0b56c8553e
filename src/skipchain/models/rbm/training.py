"""One run of contrastive divergence from one start, and its training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels, members, offsets_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.sums import TableScorer
from skipchain.errors import SkipchainError
from skipchain.features.matrix import FeatureMatrix
from skipchain.kernels.random import seeded
from skipchain.learn.momentum import Momentum, update_average
from skipchain.learn.solvers import ContrastiveDivergence
from skipchain.models.rbm.contrastive import ContrastiveBatch
from skipchain.models.rbm.expert_gradient import ExpertBatch
from skipchain.models.rbm.experts import learnable_mask
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.weights import MAX_WEIGHT, MomentumWeights, model_from_vector
from skipchain.parallel import Workers


@dataclass(frozen=True)
class RBMTask:
    """Everything to learn from: ``fixed`` [N, L] are the scores of a pre-trained model.

    ``experts`` are the same data as the experts of the ``untrained`` model see them.
    """

    data: Dataset
    fixed: Floats
    untrained: RBMModel
    experts: tuple[Dataset, ...] = ()

    @property
    def parameters(self) -> int:
        """How many weights are learnt."""
        untrained = self.untrained
        weights = untrained.weights.size + int(untrained.units.learnable.sum())
        return weights + sum(
            int(learnable_mask(expert.weights).sum()) for expert in untrained.experts
        )

    def whole(self) -> ContrastiveBatch:
        """All sequences together."""
        data = self.data
        assert data.labels is not None
        return self._batch(data.rows, self.fixed, data.offsets, data.labels, self.experts)

    def batches(self, size: int | None, seed: int) -> list[ContrastiveBatch]:
        """The sequences in batches, in a random order that stays; empty ones are left out."""
        data = self.data
        assert data.labels is not None
        lengths = np.diff(data.offsets)
        chains = np.flatnonzero(lengths)
        size = size or len(chains)
        if size < len(chains):
            chains = np.random.default_rng(seed).permutation(chains)
        batches = []
        for first in range(0, len(chains), size):
            batch = chains[first : first + size]
            tokens = members(data.offsets, batch)
            offsets = offsets_of(lengths[batch])
            experts = [Dataset(each.rows.take(tokens), offsets) for each in self.experts]
            arrays = (self.fixed[tokens], offsets, data.labels[tokens])
            compact = size < len(chains)
            batches.append(self._batch(data.rows.take(tokens), *arrays, experts, compact=compact))
        return batches

    def _batch(
        self,
        rows: FeatureMatrix,
        fixed: Floats,
        offsets: Ints,
        labels: Labels,
        experts: Sequence[Dataset],
        *,
        compact: bool = False,
    ) -> ContrastiveBatch:
        """Sequences with all features, or with those only that they have."""
        expert_batches = [
            ExpertBatch.of(data, model.weights, local=model.local, compact=compact)
            for data, model in zip(experts, self.untrained.experts, strict=True)
        ]
        features = None
        if compact:
            rows, features = rows.compact()
        learnt = bool(len(self.untrained.weights))
        return ContrastiveBatch(
            TableScorer(rows), fixed, offsets, labels, learnt, expert_batches, features
        )


class RBMTraining:
    """One run of contrastive divergence from one start."""

    def __init__(
        self,
        untrained: RBMModel,
        batches: Sequence[ContrastiveBatch],
        table: Floats | None,
        solver: ContrastiveDivergence,
        seed: int,
        number: int,
    ) -> None:
        rng = np.random.default_rng((seed, number))
        units = untrained.units
        learnt = untrained.weights.size
        experts = [each.weights for each in untrained.experts]
        free = np.concatenate([np.ones(learnt), units.learnable, *map(learnable_mask, experts)])
        self.vector = rng.uniform(-solver.spread, solver.spread, len(free)) * free
        self.vector[learnt : learnt + units.size] += units.vector
        if table is not None:
            self.vector[:learnt] = table.ravel()
        if experts:
            self.vector[learnt + units.size :] = np.concatenate([each.vector for each in experts])
        self.average = self.vector
        self._averaged = 0
        self._average_from = solver.average_from * solver.epochs
        self._blank = untrained
        self._ascent = Momentum(solver.rate, solver.decay, solver.momentum, solver.momentum_from)
        self._weights = MomentumWeights(untrained, self.vector, self._ascent)
        self._batches = batches
        self._persistent = solver.persistent
        streams = range(1 + number * len(batches), 1 + (number + 1) * len(batches))
        self._states = [
            seeded(seed, stream, len(each.offsets) - 1)
            for stream, each in zip(streams, batches, strict=True)
        ]
        self._current = [each.labels.copy() for each in batches]
        self._clamped = [units.upper_units(len(each.labels)) for each in batches]
        self._upper = [own.copy() for own in self._clamped]

    def model(self, vector: Floats) -> RBMModel:
        """The model of a vector, whose memory it shares."""
        return model_from_vector(self._blank, vector)

    def epoch(self, number: int, steps: int, workers: Workers) -> float:
        """One pass over the data; returns the loss of reconstructing labels."""
        loss = 0.0
        self._weights.begin(number, len(self._batches))
        chains = (self._states, self._current, self._clamped, self._upper)
        for batch, states, current, clamped, upper in zip(self._batches, *chains, strict=True):
            if not self._persistent:
                current[:] = batch.labels
                upper[:] = clamped
            table, units, experts = self._weights.weights_for(batch)
            lost, contrast = batch.contrastive_divergence(
                table, units, steps, states, current, workers, experts, (clamped, upper)
            )
            loss += lost
            if not self._weights.step(batch, contrast):
                rate = self._ascent.rate
                raise SkipchainError(
                    f"contrastive divergence has diverged in epoch {number + 1}: weights are "
                    f"beyond {MAX_WEIGHT:g} with rate={rate:g}; try rate={rate / 10:.1g}"
                )
        self._weights.flush()
        if number >= self._average_from:
            self._averaged += 1
            if self._averaged == 1:
                self.average = self.vector.copy()
            else:
                update_average(self.average, self.vector, self._averaged)
        return loss
