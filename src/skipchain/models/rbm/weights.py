"""The weights of a model with label features while they are learnt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.learn.momentum import Momentum, Moving
from skipchain.models.latent.scorer import StateWeights
from skipchain.models.rbm.contrastive import Batch, Contrast
from skipchain.models.rbm.experts import learnt_weights
from skipchain.models.rbm.model import RBMModel
from skipchain.models.rbm.units import LabelFeatures

LARGEST = 1000.0  # a weight beyond this has left all reason


class MovingWeights:
    """One vector of all weights, as tables that move row by row.

    The vector holds the weights of the input [F or 0, L], those of the label features, and those of
    the experts. A batch that has few of the features looks at their rows only, and moves these.
    """

    def __init__(self, blank: RBMModel, vector: Floats, ascent: Momentum) -> None:
        self._own = own = model_of(blank, vector)
        units, free = own.units, blank.units.filled(blank.units.free.astype(np.float64))
        cut = units.size - units.inputs.size

        def moving(table: Floats) -> Moving:
            return Moving(ascent, table, LARGEST)

        self._table = moving(own.weights)
        self._units = moving(units.vector[None, :cut])
        self._free = free.vector[:cut]
        self._inputs = moving(units.inputs)
        self._switched = free.inputs[:1]  # the same for every feature
        self._experts = [
            (moving(_flat(each.weights.transitions)), moving(_flat(each.weights.emissions)))
            for each in own.experts
        ]
        self._biased = [learnt_weights(each.weights)[-1] for each in blank.experts]

    def begin(self, epoch: int, steps: int) -> None:
        """Before an epoch of so many steps."""
        self._each(lambda table: table.begin(epoch, steps))

    def settle(self) -> None:
        """Let all weights be where they are: the vector is whole."""
        self._each(Moving.settle)

    def seen(self, batch: Batch) -> tuple[Floats, LabelFeatures, list[StateWeights]]:
        """The weights that a batch needs: of the input, of label features, of experts."""
        units, table = self._own.units, self._own.weights
        if batch.features is not None:
            units = self._units_of(batch.features)
            table = self._table.look(batch.features) if len(table) else table
        experts = []
        for tables, own, model in zip(self._experts, batch.experts, self._own.experts, strict=True):
            moves, emits = (table.look(own.features) for table in tables)
            shape = model.weights.transitions.shape[1:], model.weights.emissions.shape[1:]
            experts.append(StateWeights(moves.reshape(-1, *shape[0]), emits.reshape(-1, *shape[1])))
        return table, units, experts

    def push(self, batch: Batch, contrast: Contrast) -> bool:
        """A step by the gradient of a batch; false where weights run away."""
        count = contrast.count
        good = self._units.push(contrast.units * self._free, count)
        if len(self._own.weights):
            good &= self._table.push(contrast.table, count, batch.features)
        if len(self._own.units.inputs):
            good &= self._inputs.push(contrast.inputs * self._switched, count, batch.features)
        for tables, biased, own, gradient in zip(
            self._experts, self._biased, batch.experts, contrast.experts, strict=True
        ):
            for table, part in zip(tables, (gradient.transitions, gradient.emissions), strict=True):
                part[-1] *= biased
                good &= table.push(_flat(part), count, own.features)
        return good

    def _units_of(self, rows: Ints) -> LabelFeatures:
        """The label features with the weights of some features of the input only."""
        units = self._own.units
        if not len(units.inputs):
            return units
        vector = np.concatenate([self._units.place.ravel(), self._inputs.look(rows).ravel()])
        return replace(units, n_features=len(rows), vector=vector)

    def _each(self, act: Callable[[Moving], None]) -> None:
        for table in (self._table, self._units, self._inputs):
            act(table)
        for tables in self._experts:
            for table in tables:
                act(table)


def model_of(blank: RBMModel, vector: Floats) -> RBMModel:
    """The model of a vector, whose memory it shares."""
    sizes = [blank.weights.size, blank.units.size, *(own.weights.size for own in blank.experts)]
    table, units, *experts = np.split(vector, np.cumsum(sizes)[:-1])
    return replace(
        blank,
        weights=table.reshape(blank.weights.shape),
        units=blank.units.filled(units),
        experts=tuple(
            own.filled(own.weights.like(part))
            for own, part in zip(blank.experts, experts, strict=True)
        ),
    )


def _flat(table: Floats) -> Floats:
    return table.reshape(len(table), -1)
