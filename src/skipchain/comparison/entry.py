"""A contender: a kind of model with its settings, as it is written in a list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skipchain.corpus.schemes import check_scheme
from skipchain.edges.rule_text import split_arguments
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.registry import estimator_class, make_estimator, model_kinds

# Names of the literature. CRF and MEMM without `dependent` are its independent forms already.
MODEL_ALIASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "icrf": ("crf", {"dependent": False}),
    "imemm": ("memm", {"dependent": False}),
    "featurehmm": ("hmm", {"emissions": "features"}),
    "tokenhmm": ("hmm", {"emissions": "token", "features": "word"}),
}
SETTING = re.compile(r"\s*\w+\s*=")  # as opposed to the name of a model
EXCLUDED_SETTINGS = ("functions", "scheme")  # cannot be written, or is the data's
LIST_SETTINGS = ("edges", "orderings")  # written with + between their parts
LITERALS = {"true": True, "false": False, "none": None}


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind of model with the settings that are its own; ``name`` is its row's.

    >>> Entry.of("memm:order=2,l2=0.5")
    Entry(name='memm:order=2,l2=0.5', kind='memm', settings={'order': 2, 'l2': 0.5})
    >>> Entry.of("icrf").settings
    {'dependent': False}
    >>> Entry.of("mop-memm:edges=previous+same_word(recent=3,lower=true)").settings
    {'edges': 'previous,same_word(recent=3,lower=true)'}
    """

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Entry:
        """The contender that a text such as ``crf`` or ``memm:order=2,l2=0.5`` names.

        Edges and orderings have ``+`` between their parts, and commas in brackets only.
        """
        head, _, rest = (part.strip() for part in text.partition(":"))
        kind, settings = MODEL_ALIASES.get(head, (head, {}))
        if kind not in model_kinds():
            known = ", ".join((*model_kinds(), *MODEL_ALIASES))
            raise ParameterError(f"there is no model {head!r}; there are {known}")
        parts = [part for part in split_arguments(rest) if part.strip()]
        told = dict(_setting(part, text, kind) for part in parts)
        if len(told) < len(parts):
            raise ParameterError(f"{text}: a setting is given twice")
        return cls(text.strip(), kind, {**settings, **told})

    @classmethod
    def parse_list(cls, text: str) -> list[Entry]:
        """The contenders of a list; what is no model's name is a setting of the one before.

        >>> [each.name for each in Entry.parse_list("crf:l2=0.5,order=2,memm,hmm")]
        ['crf:l2=0.5,order=2', 'memm', 'hmm']
        """
        names: list[str] = []
        for part in split_arguments(text):
            if names and SETTING.match(part):
                names[-1] += ("," if ":" in names[-1] else ":") + part.strip()
            elif part.strip():
                names.append(part.strip())
        return [cls.of(name) for name in names]

    def estimator(self, common: Mapping[str, Any]) -> BaseEstimator:
        """The estimator: own settings first, then those of ``common`` that its kind has.

        An HMM that shares the features of all emits all of them, unless it is told what to emit.
        """
        estimator = estimator_class(self.kind)
        known = [*estimator.parameters(), *estimator.settings()]
        shared = {name: value for name, value in common.items() if name in known}
        if self.kind == "hmm" and "features" not in self.settings:
            shared.setdefault("emissions", "features")
        settings = {**shared, **self.settings}
        try:
            made = make_estimator(self.kind, settings.pop("features", None), **settings)
            made._check()
            if made.encoding is not None:
                check_scheme(made.encoding)
        except SkipchainError as error:
            raise ParameterError(f"{self.name}: {error}") from None
        return made


def check_distinct(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The contenders, unless there is none or one is named twice."""
    if not entries:
        raise ParameterError("there is no model to compare; name some, such as crf,memm,maxent")
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{name} is named twice; every model has one row")
    return tuple(entries)


def _setting(part: str, text: str, kind: str) -> tuple[str, Any]:
    """One ``name=value``, the value as a number, truth value, None or text."""
    name, equals, value = (piece.strip() for piece in part.partition("="))
    known = {
        **dict.fromkeys(estimator_class(kind).settings()),
        **estimator_class(kind).parameters(),
    }
    can = [each for each in known if each not in EXCLUDED_SETTINGS]
    if not equals or not value:
        raise ParameterError(f"{text}: {part.strip()!r} is no setting; write name=value")
    if name not in can:
        raise ParameterError(f"{text}: {kind} has no setting {name!r}; it has {', '.join(can)}")
    found = ",".join(split_arguments(value, "+")) if name in LIST_SETTINGS else _value(value)
    if isinstance(known[name], bool) and not isinstance(found, bool):
        raise ParameterError(f"{text}: {name} is true or false, got {value!r}")
    return name, found


def _value(text: str) -> Any:
    if text.lower() in LITERALS:
        return LITERALS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
