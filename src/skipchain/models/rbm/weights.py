"""The weights of an RBM-CRF while they are learnt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.learn.momentum import Momentum, MomentumTable
from skipchain.models.latent.scorer import StateWeights
from skipchain.models.rbm.contrastive import ContrastiveBatch, ContrastiveGradient
from skipchain.models.rbm.experts import learnable_mask
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.units import LabelFilters

MAX_WEIGHT = 1000.0  # a weight beyond this has diverged


class MomentumWeights:
    """One vector of all weights, as tables that move row by row.

    The vector holds the weights of the input [F or 0, L], those of the hidden units, and those of
    the experts. A batch that has few of the features looks at their rows only, and moves these.
    """

    def __init__(self, untrained: RBMModel, vector: Floats, ascent: Momentum) -> None:
        self._model = model = model_from_vector(untrained, vector)
        units = model.units
        free = untrained.units.with_weights(untrained.units.learnable.astype(np.float64))
        cut = units.size - units.inputs.size

        def moving(table: Floats) -> MomentumTable:
            return MomentumTable(ascent, table, MAX_WEIGHT)

        self._table = moving(model.weights)
        self._units = moving(units.vector[None, :cut])
        self._free = free.vector[:cut]
        self._given = untrained.units.vector[:cut].copy()
        self._inputs = moving(units.inputs)
        self._conditioned = free.inputs[:1]  # the same for every feature
        self._experts = [
            (moving(_flat(each.weights.transitions)), moving(_flat(each.weights.emissions)))
            for each in model.experts
        ]
        self._biased = [learnable_mask(each.weights)[-1] for each in untrained.experts]

    def begin(self, epoch: int, steps: int) -> None:
        """Before an epoch of so many steps."""
        self._each(lambda table: table.begin(epoch, steps))

    def flush(self) -> None:
        """Apply all pending steps, so that the vector holds the current weights."""
        self._each(MomentumTable.flush)

    def weights_for(
        self, batch: ContrastiveBatch
    ) -> tuple[Floats, LabelFilters, list[StateWeights]]:
        """The weights that a batch needs: of the input, of hidden units, of experts."""
        units, table = self._model.units, self._model.weights
        if batch.features is not None:
            units = self._units_with_rows(batch.features)
            table = self._table.current(batch.features) if len(table) else table
        experts = []
        for tables, expert_batch, model in zip(
            self._experts, batch.experts, self._model.experts, strict=True
        ):
            moves, emits = (table.current(expert_batch.features) for table in tables)
            shape = model.weights.transitions.shape[1:], model.weights.emissions.shape[1:]
            experts.append(StateWeights(moves.reshape(-1, *shape[0]), emits.reshape(-1, *shape[1])))
        return table, units, experts

    def step(self, batch: ContrastiveBatch, contrast: ContrastiveGradient) -> bool:
        """A step by the gradient of a batch; false where weights diverge."""
        count = contrast.count
        good = self._units.step(contrast.units * self._free, count)
        np.copyto(self._units.values[0], self._given, where=self._free == 0.0)  # no decay
        if len(self._model.weights):
            good &= self._table.step(contrast.table, count, batch.features)
        if len(self._model.units.inputs):
            good &= self._inputs.step(contrast.inputs * self._conditioned, count, batch.features)
        for tables, biased, expert_batch, gradient in zip(
            self._experts, self._biased, batch.experts, contrast.experts, strict=True
        ):
            for table, part in zip(tables, (gradient.transitions, gradient.emissions), strict=True):
                part[-1] *= biased
                good &= table.step(_flat(part), count, expert_batch.features)
        return good

    def _units_with_rows(self, rows: Ints) -> LabelFilters:
        """The hidden units with the weights of some features of the input only."""
        units = self._model.units
        if not len(units.inputs):
            return units
        vector = np.concatenate([self._units.values.ravel(), self._inputs.current(rows).ravel()])
        return replace(units, n_features=len(rows), vector=vector)

    def _each(self, act: Callable[[MomentumTable], None]) -> None:
        for table in (self._table, self._units, self._inputs):
            act(table)
        for tables in self._experts:
            for table in tables:
                act(table)


def model_from_vector(untrained: RBMModel, vector: Floats) -> RBMModel:
    """The model of a vector, whose memory it shares."""
    sizes = [part.size for part in (untrained.weights, untrained.units)]
    sizes += [expert.weights.size for expert in untrained.experts]
    table, units, *experts = np.split(vector, np.cumsum(sizes)[:-1])
    return replace(
        untrained,
        weights=table.reshape(untrained.weights.shape),
        units=untrained.units.with_weights(units),
        experts=tuple(
            expert.with_weights(expert.weights.from_vector(part))
            for expert, part in zip(untrained.experts, experts, strict=True)
        ),
    )


def _flat(table: Floats) -> Floats:
    return table.reshape(len(table), -1)
