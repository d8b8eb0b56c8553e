"""All groups of hidden units of a model, from what a user gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skipchain.errors import ParameterError
from skipchain.models.rbm.fixed_units import FIXED, FixedUnits, parse_fixed_unit
from skipchain.models.rbm.group import GROUP_FORM, HiddenUnitGroup, parse_group


def parse_unit_groups(given: str | Sequence[Any]) -> tuple[HiddenUnitGroup | FixedUnits, ...]:
    """Groups from text with ``;`` or ``+`` between them, or from pairs (units, offsets).

    >>> parse_unit_groups("9:0..1; 3:0..7") == parse_unit_groups([(9, range(2)), (3, range(8))])
    True
    """
    if isinstance(given, str):
        given = [part for part in re.split("[;+]", given) if part.strip()]
    return tuple(_as_group(part) for part in given)


def unit_groups(groups: Sequence[HiddenUnitGroup | FixedUnits]) -> tuple[HiddenUnitGroup, ...]:
    """The groups without the weights that are given."""
    return tuple(own.group if isinstance(own, FixedUnits) else own for own in groups)


def format_unit_groups(groups: Sequence[HiddenUnitGroup | FixedUnits]) -> str:
    """The text that `parse_unit_groups` reads.

    >>> format_unit_groups(parse_unit_groups([(2, (0, 3)), (1, (0, 1))]))
    '2:0,3; 1:0..1'
    """
    return "; ".join(map(str, groups))


def _as_group(given: Any) -> HiddenUnitGroup | FixedUnits:
    if isinstance(given, (HiddenUnitGroup, FixedUnits)):
        return given
    if isinstance(given, str):
        text = given.strip()
        return parse_fixed_unit(text) if text.startswith(FIXED) else parse_group(text)
    try:
        units, offsets = given
        return HiddenUnitGroup(units, tuple(offsets))
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"a group is a pair of a number of units and offsets, such as (4, range(10)), or text: "
            f"{GROUP_FORM}; got {given!r}"
        ) from None
