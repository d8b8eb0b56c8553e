"""Specifications: a kind with its settings as text, such as ``memm:order=2,l2=0.5``.

Models, solvers and recipes are all written so. A value is a number, ``true``, ``false``, ``none``,
a list in square brackets, or text. Commas inside brackets of any sort or inside double quotation
marks belong to the value, and so does every colon after the first; quotation marks around a whole
value are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from skipchain.checks import nearest
from skipchain.errors import ParameterError
from skipchain.learn.solvers import Automatic, Solver
from skipchain.models.base.parameters import group_settings
from skipchain.models.registry import estimator_class, model_kind

# Names of the literature. CRF and MEMM without `dependent` are its independent forms already.
MODEL_ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "icrf": ("crf", {"dependent": False}),
    "imemm": ("memm", {"dependent": False}),
    "featurehmm": ("hmm", {"emissions": "features"}),
    "tokenhmm": ("hmm", {"emissions": "token", "features": "word"}),
}
EXCLUDED_SETTINGS = ("functions", "scheme")  # cannot be written, or is the data's
JOINED_SETTINGS = ("edges", "orderings")  # may have + between their parts, which read commas
NONE_IS_TEXT = ("constraints", "observation")  # where "none" is one of the choices
LITERALS = {"true": True, "false": False, "none": None}
_SETTING = re.compile(r"\s*\w+\s*=")  # as opposed to the kind of a model


@dataclass(frozen=True, slots=True)
class Specification:
    """A kind (of model, solver or recipe) and the settings that are given for it.

    >>> Specification.parse("memm:order=2,l2=0.5")
    Specification(kind='memm', settings={'order': 2, 'l2': 0.5})
    >>> Specification.parse('rbm-crf:groups=9:0..1;3:0..7,steps="1, 500:3"').settings
    {'groups': '9:0..1;3:0..7', 'steps': '1, 500:3'}
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Specification:
        """The kind and the settings; whether there are such is not looked at."""
        kind, _, rest = text.partition(":")
        settings = {}
        for part in filter(str.strip, _split(rest)):
            name, value = parse_setting(part, text)
            if name in settings:
                raise ParameterError(f"{text.strip()}: {name} is given twice")
            settings[name] = value
        return cls(kind.strip(), settings)

    @classmethod
    def of_model(cls, text: str) -> Specification:
        """The specification of a model; kinds and settings that there are not are refused.

        >>> Specification.of_model("icrf:l2=1")
        Specification(kind='crf', settings={'dependent': False, 'l2': 1})
        """
        parsed = cls.parse(text)
        kind, settings = MODEL_ALIASES.get(parsed.kind, (parsed.kind, {}))
        model_kind(kind)
        check_settings(parsed.settings, settings_of(kind), kind, text)
        return cls(kind, {**settings, **parsed.settings})


def split_specifications(text: str) -> list[str]:
    """The specifications of a list; what is no kind is a setting of the one before.

    >>> split_specifications("crf:l2=0.5,order=2,memm,hmm")
    ['crf:l2=0.5,order=2', 'memm', 'hmm']
    """
    specifications: list[str] = []
    for part in _split(text):
        if specifications and _SETTING.match(part):
            specifications[-1] += ("," if ":" in specifications[-1] else ":") + part.strip()
        elif part.strip():
            specifications.append(part.strip())
    return specifications


def parse_setting(part: str, text: str | None = None) -> tuple[str, Any]:
    """One ``name=value``; ``text`` is what it is a part of, for the error.

    >>> parse_setting("edges=previous+same_word(recent=3,lower=true)")
    ('edges', 'previous,same_word(recent=3,lower=true)')
    """
    name, _, value = (piece.strip() for piece in part.partition("="))
    if not name or not value:
        where = "" if text is None else f"{text.strip()}: "
        raise ParameterError(f"{where}{part.strip()!r} is no setting; write name=value")
    plain = name.rpartition(".")[2]
    if plain in JOINED_SETTINGS and value[0] not in '["':
        return name, ",".join(_split(value, "+"))
    return name, "none" if plain in NONE_IS_TEXT and value == "none" else parse_value(value)


def parse_value(text: str) -> Any:
    """A value as it is written in a specification.

    >>> [parse_value(text) for text in ("2", "1e-3", "True", "none", "bioes", '"2"', "[a, 1]")]
    [2, 0.001, True, None, 'bioes', '2', ['a', 1]]
    """
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    if text.startswith("[") and text.endswith("]"):
        return [parse_value(part) for part in filter(str.strip, _split(text[1:-1]))]
    if text.lower() in LITERALS:
        return LITERALS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


# What there is to set ----------------------------------------------------------------------------


def solvers_of(kind: str) -> tuple[type[Solver], ...]:
    """The solvers by which a kind of model can be learnt; none where it is counted."""
    return estimator_class(kind).solvers


def groups_of(kind: str) -> dict[str, dict[str, Any]]:
    """The settings of other objects among a model's parameters, such as ``propagation``."""
    groups = {}
    for parameter, (group, aliases) in estimator_class(kind).groups_of_settings.items():
        defaults = {field.name: field.default for field in fields(group)}
        names = group_settings(group, aliases)
        groups[parameter] = {name: defaults[field] for name, field in names.items()}
    return groups


def settings_of(kind: str) -> dict[str, Any]:
    """The settings of a kind of model that can be written, and of its solvers, with defaults."""
    estimator = estimator_class(kind)
    settings = dict(estimator.parameters())
    for part in (*(solver.settings() for solver in estimator.solvers), *groups_of(kind).values()):
        for name, default in part.items():
            settings.setdefault(name, default)
    return {name: default for name, default in settings.items() if name not in EXCLUDED_SETTINGS}


def check_settings(
    settings: Mapping[str, Any], known: Mapping[str, Any], owner: str, text: str
) -> None:
    """Refuse names that the owner does not have, and other values than the two of a flag."""
    where = text.strip()
    for name, value in settings.items():
        if name not in known:
            raise ParameterError(
                f"{where}: {owner} has no setting {name!r}; {nearest(name, known)}"
            )
        if isinstance(known[name], bool) and not isinstance(value, bool):
            raise ParameterError(f"{where}: {name} is true or false, got {value!r}")


def solver_settings(text: str, kind: str) -> dict[str, Any]:
    """The settings by which a model of one kind takes the solver that a specification describes.

    >>> solver_settings("lbfgs:tolerance=1e-5", "crf")
    {'solver': 'lbfgs', 'tolerance': 1e-05}
    """
    parsed = Specification.parse(text)
    solvers = {solver.name: solver for solver in solvers_of(kind)}
    if not solvers:
        raise ParameterError(f"--solver {text}: {kind} is not learnt by a solver; leave it out")
    name = parsed.kind
    if len(solvers) > 1:
        solvers[Automatic.name] = Automatic
    if name not in solvers:
        raise ParameterError(f"{kind} has no solver {name!r}; {nearest(name, solvers)}")
    check_settings(parsed.settings, solvers[name].settings(), f"solver {name}", text)
    return {"solver": name, **parsed.settings}


def merge_settings(parts: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Settings of several origins in one; one that two of them give is refused.

    >>> merge_settings([("--model", {"l2": 1}), ("--set", {"order": 2})])
    {'l2': 1, 'order': 2}
    """
    merged: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for origin, settings in parts:
        for name, value in settings.items():
            if name in merged:
                raise ParameterError(
                    f"{name} is given twice, by {origins[name]} and by {origin}; leave one out"
                )
            merged[name], origins[name] = value, origin
    return merged


def _split(text: str, sign: str = ",") -> list[str]:
    """The parts between commas, or another sign, that stand in no brackets and no quotes."""
    if sign not in text:
        return [text]
    from skipchain.edges.rule_text import split_arguments

    return split_arguments(text, sign)
