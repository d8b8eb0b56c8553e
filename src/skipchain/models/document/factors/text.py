"""Factors read from text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from skipchain.errors import ParameterError
from skipchain.models.document.factors.agreement import BY_PAIR, KEY_FUNCTIONS, Agreement
from skipchain.models.document.factors.base import SpanFactor
from skipchain.models.document.factors.consistency import Consistency
from skipchain.models.document.factors.forbidden import Forbidden
from skipchain.models.document.factors.last_word import LastWord

_CALL = re.compile(r"\s*([a-z_]+)\s*(?:\(([^()]*)\))?\s*")
BY = "by="
FORMS = "consistency, agreement(TYPE, KEY, by=words), last_word(TYPE), forbidden(TYPE, TYPE)"


def parse_factors(text: str, functions: Mapping[str, Any] | None = None) -> tuple[SpanFactor, ...]:
    """Factors from text with semicolons between them.

    A key that is not built in is one of ``functions``.

    >>> parse_factors("agreement(stime, lower, by=words)")
    (Agreement(type='stime', key='lower', penalty=4.0, by='words'),)
    """
    known = {**dict.fromkeys(KEY_FUNCTIONS), **(functions or {})}

    def agreement(name: str, key: str = "words", by: str = BY_PAIR) -> SpanFactor:
        if key.startswith(BY) and by == BY_PAIR:  # the key may be left out
            key, by = "words", key
        if key not in known:
            raise ParameterError(f"there is no key {key!r}; there are {', '.join(known)}")
        chosen = key if key in KEY_FUNCTIONS else known[key]
        return Agreement(name, chosen, by=by.removeprefix(BY))

    makers: dict[str, tuple[Callable[..., SpanFactor], int, int]] = {
        "consistency": (Consistency.blank, 0, 0),
        "agreement": (agreement, 1, 3),
        "last_word": (LastWord, 1, 1),
        "forbidden": (Forbidden, 2, 2),
    }
    factors = []
    for part in text.split(";"):
        match = _CALL.fullmatch(part)
        if match is None or match[1] not in makers:
            raise ParameterError(f"there is no factor {part.strip()!r}; there are {FORMS}")
        arguments = [argument.strip() for argument in match[2].split(",")] if match[2] else []
        make, least, most = makers[match[1]]
        if not least <= len(arguments) <= most or not all(arguments):
            raise ParameterError(f"cannot read the factor {part.strip()!r}; the forms are {FORMS}")
        factors.append(make(*arguments))
    return tuple(factors)
