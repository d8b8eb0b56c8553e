"""What each setting of a model or a solver means, read from the docstrings of their classes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from skipchain.checks import nearest
from skipchain.errors import ParameterError
from skipchain.learn.solvers import Solver
from skipchain.models.registry import estimator_class, model_kinds
from skipchain.models.specification import EXCLUDED_SETTINGS, groups_of

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE)
_REFERENCE = re.compile(r"\b(?:As (?:for|of)|[Tt]hose of)\s+`(\w+)`(?:[,;] ?)?")
_OTHERS = "others"  # stands for every parameter that is not named


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter of a model or a solver."""

    name: str
    default: Any
    meaning: str


@dataclass(frozen=True, slots=True)
class KindHelp:
    """What a kind of model, or a solver, is and what can be set.

    ``groups`` are the other objects among the parameters whose settings can be given by name.
    """

    name: str
    class_name: str
    summary: str
    settings: tuple[Setting, ...]
    solvers: tuple[KindHelp, ...] = ()
    groups: tuple[KindHelp, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything for programs."""
        settings = [{**asdict(part), "default": _plain(part.default)} for part in self.settings]
        return {
            "name": self.name,
            "class": self.class_name,
            "summary": self.summary,
            "settings": settings,
            "solvers": [part.as_dict() for part in self.solvers],
            "groups": [part.as_dict() for part in self.groups],
        }


def describe_kind(name: str) -> KindHelp:
    """A kind of model with its settings and solvers, or a solver with its settings.

    >>> [own.meaning for own in describe_kind("lbfgs").settings if own.name == "max_iterations"]
    ['The most iterations.']
    """
    solvers = known_solvers()
    if name in solvers:
        return _help(name, solvers[name], solvers[name].settings())
    if name not in model_kinds():
        raise ParameterError(
            f"there is no model or solver {name!r}; {nearest(name, (*model_kinds(), *solvers))}"
        )
    estimator = estimator_class(name)
    parts = tuple(_help(own.name, own, own.settings()) for own in estimator.solvers)
    groups = tuple(
        _help(parameter, estimator.groups_of_settings[parameter][0], settings, estimator)
        for parameter, settings in groups_of(name).items()
    )
    whole = _help(name, estimator, estimator.parameters())
    return replace(whole, solvers=parts, groups=groups)


def known_solvers() -> dict[str, type[Solver]]:
    """All solvers by name."""
    solvers: dict[str, type[Solver]] = {}
    classes: list[type[Solver]] = [Solver]
    while classes:
        solver = classes.pop(0)
        classes += solver.__subclasses__()
        if "name" in vars(solver):
            solvers[solver.name] = solver
    return solvers


def summary_of(kind: type) -> str:
    """The first sentence of a class's docstring."""
    return " ".join(inspect.getdoc(kind).partition("\n\n")[0].split())  # type: ignore[union-attr]


def parameter_texts(docstring: str) -> dict[str, str]:
    """The meaning of each parameter in the section of a numpydoc docstring.

    >>> parameter_texts("A thing.\\n\\nParameters\\n----------\\na, b\\n    Two sizes.\\n")
    {'a': 'Two sizes.', 'b': 'Two sizes.'}
    """
    section = _SECTION.search(docstring)
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in section[1].splitlines() if section else []:
        if line and not line[0].isspace():
            names = [name for name in re.split(r",\s*|\s+and\s+", line.partition(":")[0]) if name]
            if any(" " in name.strip() for name in names):  # prose after the section
                break
            texts |= {name.strip(): "" for name in names}
        else:
            for name in names:
                texts[name.strip()] = f"{texts[name.strip()]} {line.strip()}".strip()
    return texts


def meaning_of(name: str, classes: Iterable[type]) -> str:
    """What the first of several classes that documents a parameter says of it.

    "As for `CRF`" leads to the docstring of that class.
    """
    kinds = list(classes)
    for kind in kinds:
        texts: Mapping[str, str] = parameter_texts(inspect.getdoc(kind) or "")
        mentions = (text for text in texts.values() if f"``{name}``" in text)
        text = texts.get(name) or next(mentions, texts.get(_OTHERS, ""))
        named = _REFERENCE.match(text)
        other = _documented_classes().get(named[1]) if named else None
        if named and other is not None and other is not kind:
            more = text[named.end() :].strip(" .")
            if name not in texts or set(re.findall("``(\\w+)``", more)) & set(texts) - {name}:
                more = ""  # it is about another parameter
            meaning = meaning_of(name, _documenting(other))
            text = f"{meaning} {more[:1].upper()}{more[1:]}." if meaning and more else meaning
        if text:
            return text
    return next(filter(None, (_prose(name, kind) for kind in kinds)), "")


def _prose(name: str, kind: type) -> str:
    """The sentences of a docstring before its sections that mention a parameter."""
    described = re.split(r"\n\n\w+\n-+\n", inspect.getdoc(kind) or "")[0]
    sentences = re.split(r"(?<=\.) (?=[A-Z`])", " ".join(described.split()))
    return " ".join(sentence for sentence in sentences if f"``{name}``" in sentence)


def _help(
    name: str, kind: type, parameters: Mapping[str, Any], owner: type | None = None
) -> KindHelp:
    """What a class has to set; an ``owner`` of it documents its parameters, too."""
    classes = [*_documenting(kind), *([] if owner is None else _documenting(owner))]
    settings = tuple(
        Setting(setting, default, meaning_of(setting, classes))
        for setting, default in parameters.items()
        if setting not in EXCLUDED_SETTINGS
    )
    return KindHelp(name, kind.__name__, summary_of(kind), settings)


def _documenting(kind: type) -> list[type]:
    """The classes that may document the parameters of one: its bases, and those it refers to."""
    known, classes = _documented_classes(), [*kind.__mro__]
    for base in kind.__mro__:
        for name in _REFERENCE.findall(inspect.getdoc(base) or ""):
            if name in known:
                classes += [other for other in known[name].__mro__ if other not in classes]
    return [own for own in classes if own.__module__.startswith("skipchain.")]


def _documented_classes() -> dict[str, type]:
    """All kinds of models and all solvers by the names of their classes."""
    classes = (*map(estimator_class, model_kinds()), *known_solvers().values())
    return {kind.__name__: kind for kind in classes}


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
