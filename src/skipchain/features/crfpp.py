"""CRF++ templates and Wapiti patterns, read as templates of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skipchain.errors import TemplateError
from skipchain.features.template import Atom, Template, View, check_offset

MACRO_LINE = re.compile(r'[UuBb*][^"#]*%')
COMMENT = re.compile(r'(^|\s)#[^"]*$')
MACRO = re.compile(
    r"%(?P<kind>[xXtTmM])\s*\[\s*(?P<row>@?[+-]?\d{1,9})\s*,\s*(?P<column>\d{1,9})\s*"
    r'(?:,\s*"(?P<pattern>(?:[^"\\]|\\.)*)"\s*)?\]'
)
STATE, TRANSITION, BOTH = KINDS = "U", "B", "*"


def is_crfpp_text(text: str) -> bool:
    """Whether the text is of CRF++ or Wapiti patterns: a line has a macro, or each is U, B or *.

    Templates have no ``%`` but in strings and comments.
    """
    lines = [line for line in map(_strip_comment, text.split("\n")) if line]
    return any(map(MACRO_LINE.match, lines)) or (bool(lines) and set(lines) <= set(KINDS))


def _strip_comment(line: str) -> str:
    return COMMENT.sub("", line).strip()


def parse_crfpp(text: str, columns: Sequence[str]) -> tuple[Template, ...]:
    """Read patterns; column numbers refer to ``columns``.

    ``U`` patterns give state features, ``B`` features of the label pair, ``*`` (Wapiti) both. A
    bare ``B`` asks for plain transitions, which are always there. ``%x`` is a cell, ``%t`` a test
    and ``%m`` a match of a regular expression; a capital (``%X``, ``%M``) puts the result in lower
    case. The case of the letter ``u``/``U`` is Wapiti's and changes nothing here.

    Where a test fails, or nothing matches, there is no feature (Wapiti has one that says so); and
    all places before a sentence are one value, as are those after it.

    >>> [str(t) for t in parse_crfpp("U01:%x[-1,0]/%x[0,1]\\nB", ["word", "pos"])]
    ['word[-1] & pos']
    """
    templates: dict[Template, None] = {}
    for number, line in enumerate(text.split("\n"), 1):
        pattern = _strip_comment(line)
        if not pattern:
            continue
        try:
            atoms = _atoms(pattern, columns)
        except TemplateError as error:
            raise TemplateError(f"pattern line {number}: {error}") from None
        if not atoms:
            continue  # a bias: transitions and label biases are always there
        kind = pattern[0].upper()
        if kind in (STATE, BOTH):
            templates[Template(atoms)] = None
        if kind in (TRANSITION, BOTH):
            templates[Template(atoms, transition=True)] = None
    if not templates:
        raise TemplateError("the patterns name no cell; write at least one, such as U00:%x[0,0]")
    return tuple(templates)


def _atoms(pattern: str, columns: Sequence[str]) -> tuple[Atom, ...]:
    if pattern[0].upper() not in KINDS:
        raise TemplateError(f"{pattern!r} begins with none of U, B and *")
    if "%" in MACRO.sub("", pattern):
        raise TemplateError(f"cannot read a macro in {pattern!r}; one looks like %x[-1,0]")
    return tuple(_atom(macro, columns) for macro in MACRO.finditer(pattern))


def _atom(macro: re.Match[str], columns: Sequence[str]) -> Atom:
    row, index = macro["row"], int(macro["column"])
    if row.startswith("@"):
        raise TemplateError(f"absolute rows ({row}) are not supported")
    check_offset(int(row))
    if not columns:
        raise TemplateError(
            f"column {index} is asked for by its number, where only names are known (in a recipe, "
            "and with columns left out); write templates, such as 'word[-1]'"
        )
    if index >= len(columns):
        there = f"{len(columns)} ({', '.join(columns)})"
        raise TemplateError(f"column {index} is asked for, but there are {there}")
    view = View(columns[index])
    kind = macro["kind"]
    if kind in "tTmM":
        if macro["pattern"] is None:
            raise TemplateError(f'%{kind} needs a regular expression, as in %{kind}[0,0,"^\\u"]')
        name = "match" if kind in "tT" else "find"
        view = View(view.column, name, view, (wapiti_to_python_regex(macro["pattern"]),))
    if kind in "XM":
        view = View(view.column, "lower", view)
    return Atom(view, (int(row),))


CLASSES = {  # of characters, by their letters
    "a": "A-Za-z",
    "d": "0-9",
    "l": "a-z",
    "p": r"!-/:-@\[-`{-~",
    "s": r"\t-\r ",
    "u": "A-Z",
    "w": "A-Za-z0-9",
}


def wapiti_to_python_regex(pattern: str) -> str:
    r"""Wapiti's small expression language in Python's: classes, ``.``, ``*``, ``?`` and anchors.

    Capital letters are the complements of classes, and ``*`` takes as little as it can.

    >>> wapiti_to_python_regex(r"^\u.*+\D$")
    '^[A-Z].*?\\+[^0-9]\\Z'
    """
    parts = re.findall(r"\\.|.", pattern)
    written = []
    for part in parts:
        letter = part[-1]
        if part in (".", "?"):
            written.append(part)
        elif part == "*":
            written.append("*?")
        elif len(part) == 2 and letter.lower() in CLASSES:
            written.append(f"[{'^' if letter.isupper() else ''}{CLASSES[letter.lower()]}]")
        else:
            written.append(re.escape(letter))
    if parts[:1] == ["^"]:
        written[0] = "^"
    if parts[-1:] == ["$"]:
        written[-1] = r"\Z"
    return "".join(written)
