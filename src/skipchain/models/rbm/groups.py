"""All groups of hidden units of a model, from what a user gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skipchain.errors import ParameterError
from skipchain.models.rbm.fixed_units import FIXED, FixedUnits, parse_fixed_unit
from skipchain.models.rbm.group import GROUP_FORM, MAX_LINKS, HiddenUnitGroup, parse_group


def parse_unit_groups(given: str | Sequence[Any]) -> tuple[HiddenUnitGroup | FixedUnits, ...]:
    """Groups from text with ``;`` or ``+`` between them, or from pairs (units, offsets).

    >>> parse_unit_groups("9:0..1; 3:0..7") == parse_unit_groups([(9, range(2)), (3, range(8))])
    True
    """
    if isinstance(given, str):
        given = [part for part in re.split("[;+]", given) if part.strip()]
    groups = tuple(_as_group(part) for part in given)
    check_levels(unit_groups(groups))
    return groups


def check_levels(groups: Sequence[HiddenUnitGroup]) -> None:
    """Refuse groups that look at units which there are not, or at those of the second level."""
    for group in groups:
        if group.below is None:
            continue
        if group.below > len(groups):
            raise ParameterError(
                f"the group {group} looks at the units of group {group.below}, but there are "
                f"{len(groups)} groups"
            )
        below = groups[group.below - 1]
        if below.below is not None:
            raise ParameterError(
                f"the group {group} looks at the units of {below}, which look at units themselves; "
                "there are two levels: name a group that looks at labels"
            )
        if links_of(group, groups) > MAX_LINKS:
            raise ParameterError(
                f"the group {group} has at most {MAX_LINKS:,} of units, offsets and the units that "
                f"it looks at multiplied, got {links_of(group, groups):,}"
            )


def links_of(group: HiddenUnitGroup, groups: Sequence[HiddenUnitGroup]) -> int:
    """Units times offsets, and times units where they look at these: what a place costs.

    >>> first, second = groups = unit_groups(parse_unit_groups("6:0..2; 2:0,3|units[1]"))
    >>> links_of(first, groups), links_of(second, groups)
    (18, 24)
    """
    return group.links * (1 if group.below is None else groups[group.below - 1].units)


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
