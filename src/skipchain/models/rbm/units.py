"""Groups of hidden units: how many look at which labels, and the label filters they learn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skipchain.arrays import Bools, Floats, offsets_of
from skipchain.errors import ParameterError
from skipchain.kernels.rbm import RBMLayout, RBMTables

INSIDE, PARTIAL, MARKED = BORDERS = "inside", "partial", "marked"
_GROUP = re.compile(r"(\d{1,9})\s*:\s*([^|]+?)\s*(\|\s*x)?")
_RANGE = re.compile(r"(-?\d{1,9})(?:\s*\.\.\s*(-?\d{1,9}))?")
# limits of settings: the cost of a token grows with units and offsets multiplied
MAX_UNITS, MAX_OFFSET, MAX_LINKS = 10_000, 1_000, 100_000
_FORM = "write '4:0..9' for 4 units that look at labels 0 to 9, '2:-1,0|x' if the input counts, too"


@dataclass(frozen=True, slots=True)
class HiddenUnitGroup:
    """Hidden units that look at the labels at some offsets, repeated at each place of a sequence.

    ``conditioned`` units are also switched on and off by the input at their own place, offset 0.

    >>> print(HiddenUnitGroup(4, (0, 1, 2, 3)), HiddenUnitGroup(2, (-1, 0, 8), conditioned=True))
    4:0..3 2:-1..0,8|x
    """

    units: int
    offsets: tuple[int, ...]
    conditioned: bool = False

    def __post_init__(self) -> None:
        whole = all(
            isinstance(number, (int, np.integer)) and not isinstance(number, bool)
            for number in (self.units, *self.offsets)
        )
        if not whole or self.units < 1 or not self.offsets:
            raise ParameterError(
                f"a group has at least one unit and one offset, all whole numbers, got "
                f"{self.units!r} units at {list(self.offsets)!r}"
            )
        far = max(map(abs, self.offsets)) > MAX_OFFSET
        if far or self.units > MAX_UNITS or self.units * len(self.offsets) > MAX_LINKS:
            raise ParameterError(
                f"a group has at most {MAX_UNITS:,} units, offsets up to {MAX_OFFSET:,} and "
                f"{MAX_LINKS:,} of both multiplied, got {self.units} units at "
                f"{len(self.offsets)} offsets"
            )
        if len(set(self.offsets)) < len(self.offsets):
            raise ParameterError(f"a group looks at each label once, got {list(self.offsets)!r}")

    def __str__(self) -> str:
        runs: list[list[int]] = []
        for offset in self.offsets:
            if runs and offset == runs[-1][1] + 1:
                runs[-1][1] = offset
            else:
                runs.append([offset, offset])
        places = ",".join(str(a) if a == b else f"{a}..{b}" for a, b in runs)
        return f"{self.units}:{places}{'|x' if self.conditioned else ''}"

    @property
    def width(self) -> int:
        """How many labels lie between the first and the last offset, both included."""
        return max(self.offsets) - min(self.offsets) + 1


def parse_unit_groups(given: str | Sequence[Any]) -> tuple[HiddenUnitGroup, ...]:
    """Groups from text with ``;`` or ``+`` between them, or from pairs (units, offsets).

    >>> parse_unit_groups("9:0..1; 3:0..7") == parse_unit_groups([(9, range(2)), (3, range(8))])
    True
    """
    if isinstance(given, str):
        given = [part for part in re.split("[;+]", given) if part.strip()]
    return tuple(_as_group(part) for part in given)


def format_unit_groups(groups: Sequence[HiddenUnitGroup]) -> str:
    """The text that `parse_unit_groups` reads.

    >>> format_unit_groups(parse_unit_groups([(2, (0, 3)), (1, (0, 1))]))
    '2:0,3; 1:0..1'
    """
    return "; ".join(map(str, groups))


def _as_group(given: Any) -> HiddenUnitGroup:
    if isinstance(given, HiddenUnitGroup):
        return given
    if isinstance(given, str):
        return _parse_group(given.strip())
    try:
        units, offsets = given
        return HiddenUnitGroup(units, tuple(offsets))
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"a group is a pair of a number of units and offsets, such as (4, range(10)), or text: "
            f"{_FORM}; got {given!r}"
        ) from None


def _parse_group(text: str) -> HiddenUnitGroup:
    match = _GROUP.fullmatch(text)
    ranges = [_RANGE.fullmatch(part.strip()) for part in match[2].split(",")] if match else []
    if match is None or None in ranges:
        raise ParameterError(f"the group {text!r} cannot be read; {_FORM}")
    offsets: list[int] = []
    for span in ranges:
        assert span is not None
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first:
            raise ParameterError(f"the group {text!r}: {span[0]!r} runs backwards")
        if max(-first, last) > MAX_OFFSET:
            raise ParameterError(f"the group {text!r}: offsets are {MAX_OFFSET:,} at most")
        offsets.extend(range(first, last + 1))
    return HiddenUnitGroup(int(match[1]), tuple(offsets), conditioned=match[3] is not None)


@dataclass(frozen=True)
class LabelFilters:
    """Hidden-unit groups with their weights in one vector, then biases, then weights of the input.

    ``borders`` says what becomes of replicas that reach beyond a sequence: ``inside`` leaves them
    out, ``partial`` has them look at the labels that there are, and ``marked`` has weights for
    what lies outside.

    >>> features = LabelFilters.zeros(parse_unit_groups("2:0..1"), n_labels=3, n_features=0)
    >>> features.table(0).shape  # two offsets; three labels, and outside; two units
    (2, 4, 2)
    """

    groups: tuple[HiddenUnitGroup, ...]
    n_labels: int
    n_features: int
    vector: Floats  # [P]
    borders: str = PARTIAL

    @classmethod
    def zeros(
        cls,
        groups: Sequence[HiddenUnitGroup],
        n_labels: int,
        n_features: int,
        borders: str = PARTIAL,
    ) -> LabelFilters:
        """All weights zero; there are weights of the input if a group is conditioned."""
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
        return int(self.layout.weight_starts[-1]) + self.n_units * (1 + self._n_inputs)

    @property
    def _n_inputs(self) -> int:
        return self.n_features if any(group.conditioned for group in self.groups) else 0

    @property
    def label_to_unit(self) -> Floats:
        """The weights of labels, group after group."""
        return self.vector[: self.layout.weight_starts[-1]]

    @property
    def bias(self) -> Floats:
        """The biases. [H]"""
        cut = self.layout.weight_starts[-1]
        return self.vector[cut : cut + self.n_units]

    @property
    def inputs(self) -> Floats:
        """The weights of features of the input; none where no group is conditioned. [F or 0, H]"""
        cut = self.layout.weight_starts[-1] + self.n_units
        return self.vector[cut:].reshape(self._n_inputs, self.n_units)

    def table(self, number: int) -> Floats:
        """The weights of one group: offsets, labels (outside last), units. [K, L + 1, n]"""
        group = self.groups[number]
        first, last = self.layout.weight_starts[number : number + 2]
        shape = (len(group.offsets), self.n_labels + 1, group.units)
        return self.label_to_unit[first:last].reshape(shape)

    @cached_property
    def layout(self) -> RBMLayout:
        """The groups as kernels take them."""
        groups, inside = self.groups, self.borders == INSIDE
        ends = [(min(group.offsets), max(group.offsets)) for group in groups]
        sizes = [group.units * len(group.offsets) * (self.n_labels + 1) for group in groups]
        return RBMLayout(
            units=offsets_of(group.units for group in groups),
            offset_starts=offsets_of(len(group.offsets) for group in groups),
            offsets=np.array([offset for group in groups for offset in group.offsets], np.int64),
            weight_starts=offsets_of(sizes),
            replica_start=np.array([-low if inside else -high for low, high in ends], np.int64),
            replica_margin=np.array([high if inside else low for low, high in ends], np.int64),
        )

    @property
    def tables(self) -> RBMTables:
        """The weights as kernels take them."""
        transposed = [self.table(k).transpose(2, 0, 1).ravel() for k in range(len(self.groups))]
        return RBMTables(self.label_to_unit, np.concatenate([np.zeros(0), *transposed]), self.bias)

    @cached_property
    def learnable(self) -> Bools:
        """Which numbers of the vector are learnt, and do not stay zero. [P]"""
        mask = self.with_weights(np.ones(self.size))
        for number, group in enumerate(self.groups):
            if self.borders != MARKED:
                mask.table(number)[:, -1] = 0.0
            if not group.conditioned:
                mask.inputs[:, self.layout.units[number] : self.layout.units[number + 1]] = 0.0
        return mask.vector.astype(np.bool_)

    def keep_features(self, features: Bools) -> LabelFilters:
        """With the weights of some features of the input only."""
        vector = self.vector
        if self._n_inputs:
            cut = self.size - self.inputs.size
            vector = np.concatenate([vector[:cut], self.inputs[features].ravel()])
        return LabelFilters(self.groups, self.n_labels, int(features.sum()), vector, self.borders)
