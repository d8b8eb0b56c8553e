"""Label filters: the weights of all hidden units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Floats, offsets_of
from skipchain.kernels.rbm import RBMLayout, RBMTables
from skipchain.models.rbm.fixed_units import FixedUnits
from skipchain.models.rbm.group import HiddenUnitGroup
from skipchain.models.rbm.groups import check_levels, unit_groups

UpperUnits = NDArray[np.uint8]  # [N, H'], which units of the second level are on
INSIDE, PARTIAL, MARKED = BORDERS = "inside", "partial", "marked"


@dataclass(frozen=True)
class LabelFilters:
    """Hidden-unit groups with their weights in one vector, then biases, then weights of the input.

    ``borders`` says what becomes of replicas that reach beyond a sequence: ``inside`` leaves them
    out, ``partial`` has them look at the labels that there are, and ``marked`` has weights for
    what lies outside.

    >>> features = LabelFilters.zeros([HiddenUnitGroup(2, (0, 1))], n_labels=3, n_features=0)
    >>> features.table(0).shape  # two offsets; three labels, and outside; two units
    (2, 4, 2)
    >>> both = [HiddenUnitGroup(2, (0, 1)), HiddenUnitGroup(1, (0, 2, 4), below=1)]
    >>> LabelFilters.zeros(both, n_labels=3, n_features=0).table(1).shape  # units for labels
    (3, 2, 1)
    """

    groups: tuple[HiddenUnitGroup, ...]
    n_labels: int
    n_features: int
    vector: Floats  # [P]
    borders: str = PARTIAL

    @classmethod
    def blank(
        cls,
        specs: Sequence[HiddenUnitGroup | FixedUnits],
        labels: Sequence[str],
        n_features: int,
        borders: str = PARTIAL,
    ) -> LabelFilters:
        """All weights zero but those that are given."""
        units = cls.zeros(unit_groups(specs), len(labels), n_features, borders)
        for number, own in enumerate(specs):
            if isinstance(own, FixedUnits):
                units.table(number)[:] = own.table(labels, marked=borders == MARKED)
                units.bias[units.units_of(number)] = own.bias
        return units

    @classmethod
    def zeros(
        cls,
        groups: Sequence[HiddenUnitGroup],
        n_labels: int,
        n_features: int,
        borders: str = PARTIAL,
    ) -> LabelFilters:
        """All weights zero; there are weights of the input if a group is conditioned."""
        check_levels(groups)
        empty = cls(tuple(groups), n_labels, n_features, np.zeros(0), borders)
        return empty.with_weights(np.zeros(empty.size))

    def with_weights(self, vector: Floats) -> LabelFilters:
        """A copy with other weights, which share the memory of the vector."""
        return LabelFilters(self.groups, self.n_labels, self.n_features, vector, self.borders)

    @property
    def n_units(self) -> int:
        """The number of units of all groups."""
        return int(self.layout.units[-1])

    @property
    def size(self) -> int:
        """The length of the vector."""
        columns = int(self.layout.input_columns[-1])
        return int(self.layout.weight_starts[-1]) + self.n_units + columns * self._n_inputs

    @property
    def _n_inputs(self) -> int:
        return self.n_features if any(group.inputs for group in self.groups) else 0

    @property
    def label_to_unit(self) -> Floats:
        """The weights of labels, or of units below, group after group."""
        return self.vector[: self.layout.weight_starts[-1]]

    @property
    def bias(self) -> Floats:
        """The biases. [H]"""
        cut = self.layout.weight_starts[-1]
        return self.vector[cut : cut + self.n_units]

    @property
    def inputs(self) -> Floats:
        """The weights of features of the input; none where no group looks at it. [F or 0, Q]

        A group has its units once for each offset of the input that it looks at.
        """
        cut = self.layout.weight_starts[-1] + self.n_units
        return self.vector[cut:].reshape(self._n_inputs, int(self.layout.input_columns[-1]))

    def units_of(self, number: int) -> slice:
        """Where the units of one group stand among all."""
        return slice(*self.layout.units[number : number + 2].tolist())

    def inputs_of(self, number: int) -> Floats:
        """A group's weights of the input by offsets, of which one may be empty. [F or 0, J, n]"""
        group, columns = self.groups[number], self.layout.input_columns[number : number + 2]
        own = self.inputs[:, slice(*columns.tolist())]
        return own.reshape(len(own), group.columns // group.units, group.units)

    def table(self, number: int) -> Floats:
        """The weights of one group: offsets, labels (outside last), units. [K, L + 1, n]

        A group of the second level has the units that it looks at instead of labels.
        """
        first, last = self.layout.weight_starts[number : number + 2]
        return self.label_to_unit[first:last].reshape(self._shape(self.groups[number]))

    def _shape(self, group: HiddenUnitGroup) -> tuple[int, int, int]:
        rows = self.n_labels + 1 if group.below is None else self.groups[group.below - 1].units
        return len(group.offsets), rows, group.units

    def seen_by(self, number: int, labels: Sequence[str], outside: str) -> list[str]:
        """What a group looks at, as its table has it; what lies outside only if it has weights."""
        below = self.groups[number].below
        if below is not None:
            return [f"unit {unit + 1}" for unit in range(self.groups[below - 1].units)]
        return [*labels, outside] if self.table(number)[:, -1].any() else list(labels)

    def upper_units(self, tokens: int) -> UpperUnits:
        """The units of the second level, all off, for so many tokens; no columns without one."""
        count = sum(group.units for group in self.groups if group.below is not None)
        return np.zeros((tokens, count), np.uint8)

    @cached_property
    def layout(self) -> RBMLayout:
        """The groups as kernels take them."""
        groups, inside = self.groups, self.borders == INSIDE
        ends = [
            (0, 0) if group.below is not None else (min(group.offsets), max(group.offsets))
            for group in groups
        ]
        seen = [offset for group in groups for offset in group.inputs]
        upper = offsets_of(group.units if group.below is not None else 0 for group in groups)
        return RBMLayout(
            units=offsets_of(group.units for group in groups),
            offset_starts=offsets_of(len(group.offsets) for group in groups),
            offsets=np.array([offset for group in groups for offset in group.offsets], np.int64),
            weight_starts=offsets_of(prod(self._shape(group)) for group in groups),
            replica_start=np.array([-low if inside else -high for low, high in ends], np.int64),
            replica_margin=np.array([high if inside else low for low, high in ends], np.int64),
            input_starts=offsets_of(len(group.inputs) for group in groups),
            input_offsets=np.array(seen, np.int64),
            input_columns=offsets_of(group.columns for group in groups),
            below=np.array([(group.below or 0) - 1 for group in groups], np.int64),
            upper_columns=upper[:-1],
        )

    @property
    def tables(self) -> RBMTables:
        """The weights as kernels take them."""
        transposed = [self.table(k).transpose(2, 0, 1).ravel() for k in range(len(self.groups))]
        return RBMTables(self.label_to_unit, np.concatenate([np.zeros(0), *transposed]), self.bias)

    @cached_property
    def used(self) -> Bools:
        """Which numbers of the vector may differ from zero. [P]"""
        mask = self.with_weights(np.ones(self.size))
        for number, group in enumerate(self.groups):
            if self.borders != MARKED and group.below is None:
                mask.table(number)[:, -1] = 0.0
            if not group.inputs:
                mask.inputs_of(number)[:] = 0.0
        return mask.vector.astype(np.bool_)

    @cached_property
    def learnable(self) -> Bools:
        """Which numbers of the vector are learnt: those that are used, and not given. [P]"""
        mask = self.with_weights(self.used.astype(np.float64))
        for number, group in enumerate(self.groups):
            if group.fixed:
                mask.table(number)[:] = 0.0
                mask.bias[self.units_of(number)] = 0.0
        return mask.vector.astype(np.bool_)

    def keep_features(self, features: Bools) -> LabelFilters:
        """With the weights of some features of the input only."""
        vector = self.vector
        if self._n_inputs:
            cut = self.size - self.inputs.size
            vector = np.concatenate([vector[:cut], self.inputs[features].ravel()])
        return LabelFilters(self.groups, self.n_labels, int(features.sum()), vector, self.borders)
