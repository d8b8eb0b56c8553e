r"""Regular expressions of templates, in time that grows with the length of the text and no faster.

A model file is a stranger's, and so are its expressions: one that makes Python's engine try again
and again on a word of thirty letters would never end. RE2 does not go back. What it lacks
(look-ahead, references to groups) is refused. What it reads otherwise than Python does (``\w`` is
ASCII there, ``{,3}`` no repetition) is rewritten, so that an expression has the meaning that
Python gives it; ``\b`` has no equal and is refused. One difference is left: ``$`` is the end of a
string, even if that is a line end. Expressions without any choice are left to Python's engine.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import lru_cache

from skipchain.errors import TemplateError

Search = Callable[[str], str | None]
"""The first part of a string that matches, or None."""
LONGEST_PATTERN = 1_000  # characters
MAX_MEMORY = 1 << 20  # bytes of a compiled expression
_PART = re.compile(r"\\.|\{,\d+\}|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_NEGATED_ESCAPE = re.compile(r"\\\\|(\\[WDS])")
_CLASSES = {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_", "s": r"\s\x0b\x1c-\x1f\x{85}\p{Z}"}
_FIXED = re.compile(
    r"\^?(?:[A-Za-z0-9_,;:!@%&'\"/=<>~-]|\[(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9])+\])+"
)
"""Expressions of signs and lists of signs one after the other, on which no engine goes back."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_BOUNDARY = "word boundaries (\\b, \\B) are not supported; write (^|\\W) or (\\W|$) instead"


@lru_cache(maxsize=1_000)
def compile_regex(pattern: str) -> Search:
    r"""The search for an expression of Python's syntax; a `TemplateError` says what it cannot be.

    >>> compile_regex("[0-9]+")("B-52s")
    '52'
    >>> compile_regex(r"^\w+$")("Éluard")
    'Éluard'
    >>> compile_regex("(a+)+$")("a" * 50_000 + "b") is None
    True
    >>> compile_regex("(?=a)b")
    Traceback (most recent call last):
    ...
    skipchain.errors.TemplateError: '(?=a)b' cannot be searched in linear time: invalid perl
    operator: (?=
    """
    shown = repr(pattern if len(pattern) <= 60 else pattern[:60] + "…")
    if len(pattern) > LONGEST_PATTERN:
        raise TemplateError(f"{shown} has more than {LONGEST_PATTERN:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # sets that another version reads anew
            plain = re.compile(pattern)
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise TemplateError(f"{shown} is no regular expression: {error}") from None
    if _FIXED.fullmatch(pattern):
        return _searched(plain)
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = MAX_MEMORY, False
    try:
        search = re2.compile(_PART.sub(_rewrite, pattern), options).search
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        reason = reason.decode() if isinstance(reason, bytes) else error
        raise TemplateError(f"{shown} cannot be searched in linear time: {reason}") from None

    def found(text: str) -> str | None:
        try:
            hit = search(text)
        except UnicodeEncodeError:  # half a surrogate pair: a sign like any other
            hit = search(_SURROGATES.sub("\ufffd", text))
            return text[slice(*hit.span())] if hit else None
        return hit[0] if hit else None

    return found


def _searched(plain: re.Pattern[str]) -> Search:
    """The search of Python's own engine, which is many times as fast on a word."""
    search = plain.search

    def found(text: str) -> str | None:
        hit = search(text)
        return hit[0] if hit else None

    return found


def _rewrite(part: re.Match[str]) -> str:
    """A part of an expression as RE2 has to be told it."""
    text = part[0]
    if text.startswith("{,"):
        return "{0" + text[1:]
    if text.startswith("["):
        if any(hit[1] for hit in _NEGATED_ESCAPE.finditer(text)):
            return _listed(text)
        return re.sub(r"\\(.)", lambda escape: _CLASSES.get(escape[1], escape[0]), text)
    if text in (r"\b", r"\B"):
        raise TemplateError(_BOUNDARY)
    if text == r"\Z":
        return r"\z"
    if text[0] == "\\" and text[1].lower() in _CLASSES:
        negated = "^" if text[1].isupper() else ""
        return f"[{negated}{_CLASSES[text[1].lower()]}]"
    return text


@lru_cache(maxsize=1_000)
def _listed(characters: str) -> str:
    """A set as the ranges of its characters: RE2 has no sets of what is in none of several."""
    ranges = (hit.span() for hit in re.compile(f"{characters}+").finditer(_everything()))
    listed = "".join(f"\\x{{{first:x}}}-\\x{{{last - 1:x}}}" for first, last in ranges)
    return f"[{listed}]" if listed else r"[^\x{0}-\x{10ffff}]"


@lru_cache(maxsize=1)
def _everything() -> str:
    """All characters, in their order."""
    return "".join(map(chr, range(0x110000)))
