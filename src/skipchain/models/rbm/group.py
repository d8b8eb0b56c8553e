"""A group of hidden units: how many look at which labels, at which input, or at which units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.errors import ParameterError

_UNITS = re.compile(r"\d{1,9}")
_INPUT = re.compile(r"x(?:\[([^]]*)\])?")
_BELOW = re.compile(r"units\[(\d{1,9})\]")
_RANGE = re.compile(r"(-?\d{1,9})(?:\s*\.\.\s*(-?\d{1,9}))?")
# limits of settings: the cost of a token grows with units and offsets multiplied
MAX_UNITS, MAX_OFFSET, MAX_LINKS = 10_000, 1_000, 100_000
GROUP_FORM = (
    "write '4:0..9' for 4 units that look at labels 0 to 9, '2:-1,0|x' if the input counts, too, "
    "'2:-1,0|x[-1..1]' if that of the neighbours does, '2:0,4|units[1]' for units that look at "
    "those of the first group"
)


@dataclass(frozen=True, slots=True)
class HiddenUnitGroup:
    """Hidden units that look at the labels at some offsets, repeated at each place of a sequence.

    They are also switched on and off by the input at the offsets ``inputs``, if there are some. The
    weights of a ``fixed`` group are given (`FixedUnits`) and not learnt. Units of the second level
    look at those of another group, ``below``, instead: the first group is number 1.

    >>> print(HiddenUnitGroup(4, (0, 1, 2, 3)), HiddenUnitGroup(2, (-1, 0, 8), inputs=(0,)))
    4:0..3 2:-1..0,8|x
    >>> print(HiddenUnitGroup(2, (0,), inputs=(-1, 0, 1)), HiddenUnitGroup(1, (0, 1), fixed=True))
    2:0|x[-1..1] 1:0..1|fixed
    >>> print(HiddenUnitGroup(2, (0, 4, 8), below=1))
    2:0,4,8|units[1]
    """

    units: int
    offsets: tuple[int, ...]
    inputs: tuple[int, ...] = ()
    fixed: bool = False
    below: int | None = None

    def __post_init__(self) -> None:
        whole = all(
            isinstance(number, (int, np.integer)) and not isinstance(number, bool)
            for number in (self.units, *self.offsets, *self.inputs, self.below or 1)
        )
        if not whole or self.units < 1 or not self.offsets:
            raise ParameterError(
                f"a group has at least one unit and one offset, all whole numbers, got "
                f"{self.units!r} units at {[*self.offsets, *self.inputs]!r}"
            )
        far = max(map(abs, (*self.offsets, *self.inputs))) > MAX_OFFSET
        if far or self.units > MAX_UNITS or self.links > MAX_LINKS:
            raise ParameterError(
                f"a group has at most {MAX_UNITS:,} units, offsets up to {MAX_OFFSET:,} and "
                f"{MAX_LINKS:,} of both multiplied, got {self.units} units at "
                f"{len(self.offsets) + len(self.inputs)} offsets"
            )
        for seen, offsets in (("label", self.offsets), ("input", self.inputs)):
            if len(set(offsets)) < len(offsets):
                raise ParameterError(f"a group looks at each {seen} once, got {list(offsets)!r}")
        if self.fixed and self.inputs:
            raise ParameterError("a group with fixed weights does not look at the input")
        if self.below is not None and (self.below < 1 or self.inputs or self.fixed):
            raise ParameterError(
                f"a group that looks at units names their group, the first is 1, and neither looks "
                f"at the input nor has fixed weights, got {self}"
            )

    def __str__(self) -> str:
        seen = "" if not self.inputs else "|x"
        if self.inputs not in ((), (0,)):
            seen = f"|x[{_format_offsets(self.inputs)}]"
        fixed = "|fixed" if self.fixed else ""
        below = "" if self.below is None else f"|units[{self.below}]"
        return f"{self.units}:{_format_offsets(self.offsets)}{seen}{fixed}{below}"

    @property
    def width(self) -> int:
        """How many labels lie between the first and the last offset, both included."""
        return max(self.offsets) - min(self.offsets) + 1

    @property
    def links(self) -> int:
        """Units times offsets, of labels and of the input: what a place costs."""
        return self.units * (len(self.offsets) + len(self.inputs))

    @property
    def columns(self) -> int:
        """The columns that the group has in a table of weights of the input.

        They are counted for each offset; a group that does not look at the input leaves as many
        columns empty as it has units.
        """
        return self.units * max(1, len(self.inputs))


def parse_group(text: str) -> HiddenUnitGroup:
    """A group from text such as ``4:0..9``, ``2:-1..0|x[-1..1]`` or ``2:0,4|units[1]``."""
    looked_at, *others = text.split("|")
    units, _, offsets = looked_at.partition(":")
    rest = [part.strip() for part in others]
    fixed = rest[-1:] == ["fixed"]
    if fixed:
        rest.pop()
    below = _BELOW.fullmatch(rest[-1]) if rest else None
    if below is not None:
        rest.pop()
    inputs = [_INPUT.fullmatch(part) for part in rest]
    if _UNITS.fullmatch(units.strip()) is None or None in inputs or len(inputs) > 1:
        raise ParameterError(f"the group {text!r} cannot be read; {GROUP_FORM}")
    places: tuple[int, ...] = ()
    for match in inputs:
        assert match is not None
        places = (0,) if match[1] is None else _parse_offsets(match[1], text)
    number = None if below is None else int(below[1])
    offsets_seen = _parse_offsets(offsets, text)
    return HiddenUnitGroup(int(units), offsets_seen, places, fixed=fixed, below=number)


def _parse_offsets(given: str, text: str) -> tuple[int, ...]:
    offsets: list[int] = []
    for part in given.split(","):
        span = _RANGE.fullmatch(part.strip())
        if span is None:
            raise ParameterError(f"the group {text!r} cannot be read; {GROUP_FORM}")
        first, last = int(span[1]), int(span[2] or span[1])
        if last < first:
            raise ParameterError(f"the group {text!r}: {span[0]!r} runs backwards")
        if max(-first, last) > MAX_OFFSET:
            raise ParameterError(f"the group {text!r}: offsets are {MAX_OFFSET:,} at most")
        offsets.extend(range(first, last + 1))
    return tuple(offsets)


def _format_offsets(offsets: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for offset in offsets:
        if runs and offset == runs[-1][1] + 1:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset])
    return ",".join(str(a) if a == b else f"{a}..{b}" for a, b in runs)
