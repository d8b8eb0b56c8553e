"""Parameters of estimators: read from constructors, settings by name given to their objects."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from skipchain.checks import nearest
from skipchain.errors import ParameterError
from skipchain.learn.solvers import Solver, as_solver, with_settings

RENAMED = {"optimiser": "solver", "unit_dropout": "bundle_dropout"}
"""Old names that are understood, with a warning, for one version."""


def constructor_parameters(kind: type) -> dict[str, Any]:
    """The parameters of a class with their defaults; ``**parameters`` stands for its base's.

    ``**settings`` stands for settings of the objects among the parameters, such as a solver.
    """
    found: dict[str, Any] = {}
    for cls in kind.__mro__:
        if "__init__" not in vars(cls):
            continue
        signature = inspect.signature(vars(cls)["__init__"]).parameters
        for name, parameter in signature.items():
            if name != "self" and parameter.kind != parameter.VAR_KEYWORD:
                found.setdefault(name, parameter.default)
        if "parameters" not in signature:
            break
    return found


def solver_settings(kinds: tuple[type[Solver], ...]) -> dict[str, None]:
    """The names of all settings that the solvers of an estimator have."""
    return dict.fromkeys(name for kind in kinds for name in kind.settings())


def modern_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """Old names replaced, with a warning."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in RENAMED:
            warnings.warn(
                f"{name}= is now {RENAMED[name]}=; the old name goes with the next version",
                FutureWarning,
                stacklevel=4,
            )
        if RENAMED.get(name) in (*given, *found):
            raise ParameterError(f"{name} is the old name of {RENAMED[name]}; give one of them")
        found[RENAMED.get(name, name)] = value
    return found


def group_settings(kind: type, aliases: Mapping[str, str]) -> dict[str, str]:
    """The settings of a data class by the names that an estimator takes them by."""
    back = {field: name for name, field in aliases.items()}
    return {back.get(field.name, field.name): field.name for field in fields(kind)}


def apply_settings(
    owner: str,
    values: Mapping[str, Any],
    settings: Mapping[str, Any],
    solvers: tuple[type[Solver], ...],
    groups: Mapping[str, tuple[type, Mapping[str, str]]],
) -> dict[str, Any]:
    """The parameters that change when settings are given by name to the objects that have them.

    ``values`` are the parameters as they are; ``groups`` are data classes of settings by the names
    of their parameters, each with other names that its fields go by.
    """
    changed: dict[str, Any] = {}
    left = dict(settings)
    if "solver" in left and solvers:
        changed["solver"] = left.pop("solver")
    for parameter, (kind, aliases) in groups.items():
        names = group_settings(kind, aliases)
        mine = {names[name]: left.pop(name) for name in list(left) if name in names}
        if mine:
            group = values[parameter] or kind()
            check_type(parameter, group, kind)
            changed[parameter] = replace(group, **mine)
    known = solver_settings(solvers)
    for name in left:
        if name not in known:
            others = [n for k, a in groups.values() for n in group_settings(k, a)]
            hint = nearest(name, [*values, *known, *others])
            raise ParameterError(f"{owner} has no parameter {name!r}; {hint}")
    if left:
        given = changed.get("solver", values.get("solver"))
        changed["solver"] = with_settings(given, left, solvers)
    return changed


def nested(value: Any, solvers: tuple[type[Solver], ...], *, is_solver: bool) -> dict[str, Any]:
    """The parameters of a parameter: those of an estimator, or of a solver, given or by default."""
    if is_solver and solvers:
        try:
            solver = as_solver(value, solvers)
        except ParameterError:  # which fitting refuses
            return {}
        shown = solver if isinstance(solver, solvers) else solvers[0]()
        given = {k: v for k, v in solver.get_params().items() if v is not None}
        return {**shown.get_params(), **given}
    if hasattr(value, "get_params") and not isinstance(value, type):
        params: dict[str, Any] = value.get_params(deep=True)
        return params
    return {}


def check_type(name: str, value: Any, kind: type) -> None:
    """Refuse a parameter that is not an object of a class."""
    if not isinstance(value, kind):
        raise ParameterError(f"{name} must be {kind.__name__}(…), got {value!r}")
