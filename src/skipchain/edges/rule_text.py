"""Rules read from text, as they are printed and stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from skipchain.edges.rules import (
    BUILT_IN_RULES,
    Alone,
    FunctionRule,
    Links,
    Previous,
    Rule,
    RuleFunction,
    SameView,
    Siblings,
    same_word,
)
from skipchain.errors import ParameterError, TemplateError
from skipchain.features.template import STATE, View, nested_views, parse_template
from skipchain.features.templates import STRING_VIEWS, Templates
from skipchain.features.views import MULTI_VALUED

Arguments = dict[str, Any]
_CALL = re.compile(r"\s*([^\W\d]\w*)\s*(?:\((.*)\))?\s*", re.DOTALL)
_SAME = ("capitalised", "recent", "max_documents", "lower")
_SIBLINGS = ("most",)
LONGEST_NUMBER = 20  # digits; no setting is that large


def parse_rules(
    given: str | Sequence[str | Rule | RuleFunction], functions: Mapping[str, Any] | None = None
) -> tuple[Rule, ...]:
    """Rules from text such as ``previous, same_word(recent=3), same(lower)``, or from a list.

    A name that is not built in is one of ``functions``, which takes a corpus and gives pairs of
    token numbers.

    >>> [str(rule) for rule in parse_rules("previous, same(suffix(3), recent=2)")][1]
    'same(suffix(3), capitalised=false, recent=2, max_documents=100, lower=false)'
    """
    known_functions = dict(functions or {})
    rules: list[Rule] = []
    if not isinstance(given, (str, Sequence)):
        raise ParameterError(f"edges are text or a list of rules, got {given!r}")
    for part in split_arguments(given) if isinstance(given, str) else given:
        if isinstance(part, Rule):
            rules.append(part)
        elif isinstance(part, str):
            rules.append(_parse_rule(part, known_functions))
        elif callable(part):
            rules.append(FunctionRule(getattr(part, "__name__", "own"), part))
        else:
            raise ParameterError(f"an edge rule is text, a rule or a function, got {part!r}")
    if not rules:
        raise ParameterError("there is no edge rule; give at least 'previous'")
    names = [name for rule in rules for name in dict.fromkeys(rule.edge_types)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ParameterError(f"two edge rules have the name {twice[0]!r}; give it once")
    return tuple(rules)


def _parse_rule(text: str, functions: Mapping[str, Any]) -> Rule:
    match = _CALL.fullmatch(text)
    name = match[1] if match else text.strip()
    if match is None or (name not in BUILT_IN_RULES and name not in functions):
        known = ", ".join([*BUILT_IN_RULES, *functions])
        raise ParameterError(f"there is no edge rule {text.strip()!r}; there are {known}")
    listed = split_arguments(match[2] or "")
    plain = {"previous": Previous, "alone": Alone}
    if name in functions or name in plain:
        if listed:
            raise ParameterError(f"the edge rule {name!r} takes no arguments, got {match[2]!r}")
        return FunctionRule(name, functions[name]) if name in functions else plain[name]()
    if name == "links":
        if len(listed) > 1:
            raise ParameterError(f"links takes one direction, got {match[2]!r}")
        return Links(*(direction.strip() for direction in listed))
    if name == "siblings":
        return Siblings(**_settings(name, listed, _SIBLINGS))
    if name == "same_word":
        return same_word(**_settings(name, listed))
    if not listed or "=" in listed[0]:
        raise ParameterError("same needs a view to compare, such as same(lower) or same(suffix(3))")
    return SameView(_view(listed[0], functions), functions=functions, **_settings(name, listed[1:]))


def _settings(rule: str, listed: Sequence[str], known: Sequence[str] = _SAME) -> Arguments:
    settings: Arguments = {}
    for argument in listed:
        name, sign, text = (part.strip() for part in argument.partition("="))
        if not sign or name not in known:
            raise ParameterError(
                f"{rule} does not take {argument.strip()!r}; wanted {', '.join(known)}, each as "
                "name=value"
            )
        if name in settings:
            raise ParameterError(f"{rule}: {name} is given twice")
        if name in ("capitalised", "lower"):
            if text.lower() not in ("true", "false"):
                raise ParameterError(f"{rule}: {name} must be true or false, got {text!r}")
            settings[name] = text.lower() == "true"
        elif text.isdecimal() and len(text) < LONGEST_NUMBER:
            settings[name] = int(text)
        else:
            raise ParameterError(f"{rule}: {name} must be a whole number, got {text!r}")
    return settings


def _view(text: str, functions: Mapping[str, Any]) -> View:
    try:
        templates = parse_template(text, STRING_VIEWS | frozenset(functions))
        atoms = templates[0].atoms if len(templates) == 1 else ()
        if len(atoms) != 1 or atoms[0].offsets != (0,) or templates[0].family != STATE:
            raise TemplateError("wanted one view of the token itself")
        if atoms[0].view.function in MULTI_VALUED:
            raise TemplateError("the view gives several strings; wanted one")
        used = {view.function for view in nested_views(atoms[0].view)}
        Templates(tuple(templates), {name: functions[name] for name in functions if name in used})
    except TemplateError as error:
        raise ParameterError(f"same({text.strip()}): {error}") from None
    return atoms[0].view


def split_arguments(text: str, between: str = ",") -> list[str]:
    """Parts between commas (or another sign) that stand in no brackets and no quotation marks.

    >>> split_arguments('previous, same(find("a,b"), recent=2)')
    ['previous', ' same(find("a,b"), recent=2)']
    """
    parts, depth, quoted, first = [], 0, False, 0
    for k, sign in enumerate(text):
        if sign == '"' and text[k - 1 : k] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (sign in "([") - (sign in ")]")
            if sign == between and depth == 0:
                parts.append(text[first:k])
                first = k + 1
    if text[first:].strip() or parts:
        parts.append(text[first:])
    return parts
