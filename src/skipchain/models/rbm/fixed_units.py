"""Hidden units whose weights are given."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import ParameterError
from skipchain.models.rbm.group import HiddenUnitGroup

FIXED = "fixed:"  # what the text of a fixed unit begins with
MAX_FIXED = 1000.0  # as of weights that are learnt
_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_WEIGHT = re.compile(rf"(?:([^,=]*)@(-?\d{{1,9}})|bias)=({_NUMBER})")


@dataclass(frozen=True, slots=True)
class FixedUnits:
    """Hidden units whose weights are given and not learnt.

    ``weights`` has a mapping for each unit: from labels to their weights at the ``offsets``. Labels
    that it does not name have weight 0; None stands for what lies outside the sequence, with
    ``borders="marked"``. ``bias`` has a number for each unit.

    A unit that multiplies the score of *A, then B* by 1 + e³, that of either alone by 1 + e⁻³:

    >>> FixedUnits((0, 1), [{"A": (6, 0), "B": (0, 6)}], bias=[-9])
    FixedUnits('A@0=6,B@1=6,bias=-9')
    >>> parse_fixed_unit("fixed:A@0=6,B@1=6,bias=-9") == _
    True
    """

    offsets: tuple[int, ...]
    weights: tuple[Mapping[str | None, tuple[float, ...]], ...]
    bias: tuple[float, ...]

    def __init__(
        self,
        offsets: Sequence[int],
        weights: Sequence[Mapping[str | None, Sequence[float]]],
        bias: Sequence[float],
    ) -> None:
        given = [{label: tuple(map(float, own)) for label, own in unit.items()} for unit in weights]
        for name, value in (
            ("offsets", tuple(offsets)),
            ("weights", tuple(given)),
            ("bias", tuple(map(float, bias))),
        ):
            object.__setattr__(self, name, value)
        if len(self.bias) != len(given):
            raise ParameterError(
                f"fixed units have a bias each, got {len(self.bias)} for {len(given)} units"
            )
        lengths = {len(row) for unit in given for row in unit.values()} - {len(self.offsets)}
        if lengths:
            raise ParameterError(
                f"a label of a fixed unit has a weight for each offset, got {lengths.pop()} for "
                f"{len(self.offsets)}"
            )
        _ = self.group  # which refuses offsets that cannot be
        numbers = [*self.bias, *(w for unit in given for row in unit.values() for w in row)]
        if not np.all(np.abs(numbers) <= MAX_FIXED):
            raise ParameterError(f"weights of fixed units are numbers up to {MAX_FIXED:,g} in size")

    def __repr__(self) -> str:
        return "FixedUnits(" + ", ".join(repr(own) for own in self._texts()) + ")"

    def __str__(self) -> str:
        return "; ".join(f"fixed:{own}" for own in self._texts())

    @property
    def group(self) -> HiddenUnitGroup:
        """The group as it is counted and laid out."""
        return HiddenUnitGroup(len(self.weights), self.offsets, fixed=True)

    def table(self, labels: Sequence[str], *, marked: bool) -> Floats:
        """The weights as a group has them: offsets, labels (outside last), units. [K, L + 1, n]

        Only if ``marked``, what lies outside may have weights.
        """
        rows = {label: number for number, label in enumerate(labels)}
        if marked:
            rows[None] = len(labels)  # type: ignore[index]
        found = np.zeros((len(self.offsets), len(labels) + 1, len(self.weights)))
        for number, unit in enumerate(self.weights):
            for label, weights in unit.items():
                if label not in rows:
                    told = "borders='marked' has weights of what lies outside"
                    if label is not None:
                        told = f"the labels that are learnt are {', '.join(labels)}"
                    raise ParameterError(f"a fixed unit looks for the label {label!r}; {told}")
                found[:, rows[label], number] = weights
        return found

    def _texts(self) -> Iterator[str]:
        for unit, bias in zip(self.weights, self.bias, strict=True):
            parts = [
                f"{'' if label is None else label}@{offset}={_format(weight)}"
                for label, weights in unit.items()
                for offset, weight in zip(self.offsets, weights, strict=True)
                if weight
            ]
            yield ",".join([*parts, f"bias={_format(bias)}"])


def parse_fixed_unit(text: str) -> FixedUnits:
    """One unit from text such as ``fixed:A@0=2,B@1=2,bias=-3``."""
    entries: dict[tuple[str | None, int], float] = {}  # (None, 0) is the bias
    for part in text.removeprefix(FIXED).split(","):
        match = _WEIGHT.fullmatch(part.strip())
        if match is None:
            raise ParameterError(
                f"the fixed unit {text!r} cannot be read at {part.strip()!r}; write "
                "'fixed:A@0=2,B@1=2,bias=-3' for weights of the labels A at offset 0 and B at 1"
            )
        place = match[1], int(match[2] or 0)
        if place in entries:
            again = part.strip().partition("=")[0]
            raise ParameterError(f"the fixed unit {text!r} says twice what {again} is")
        entries[place] = float(match[3])
    bias = entries.pop((None, 0), 0.0)
    if not entries:
        raise ParameterError(f"the fixed unit {text!r} looks at no label; give one, as A@0=2")
    offsets = sorted({offset for _, offset in entries})
    labels = dict.fromkeys(label for label, _ in entries)
    weights: dict[str | None, list[float]] = {
        label or None: [entries.get((label, offset), 0.0) for offset in offsets] for label in labels
    }
    return FixedUnits(offsets, [weights], [bias])


def _format(number: float) -> str:
    """A number without an exponent, with nine decimals at most."""
    return f"{number:.9f}".rstrip("0").rstrip(".")
