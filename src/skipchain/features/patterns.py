"""CRF++ templates and Wapiti patterns, read as templates of ours."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skipchain.errors import TemplateError
from skipchain.features.template import Atom, Template, View

LINE = re.compile(r"^\s*[UuBb*][^:%\s]*(:.*)?$")
MACRO = re.compile(
    r"%(?P<kind>[xXtTmM])\s*\[\s*(?P<row>@?[+-]?\d+)\s*,\s*(?P<column>\d+)\s*"
    r'(?:,\s*"(?P<pattern>(?:[^"\\]|\\.)*)"\s*)?\]'
)
STATE, TRANSITION, BOTH = "U", "B", "*"


def is_pattern_text(text: str) -> bool:
    """Whether every line has the form of a CRF++ or Wapiti pattern, and one has a macro or is B."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and line[0] != "#"]
    return (
        bool(lines)
        and all(map(LINE.match, lines))
        and any("%" in line or line.upper() in (STATE, TRANSITION, BOTH) for line in lines)
    )


def parse_patterns(text: str, columns: Sequence[str]) -> tuple[Template, ...]:
    """Read patterns; column numbers refer to ``columns``.

    ``U`` patterns give state features, ``B`` features of the label pair, ``*`` (Wapiti) both. A bare
    ``B`` asks for plain transitions, which are always there. ``%x`` is a cell, ``%X`` the cell in lower
    case, ``%t`` a test and ``%m`` a match of a regular expression; the case of the letter ``u``/``U`` is
    Wapiti's and changes nothing here.

    >>> [str(t) for t in parse_patterns("U01:%x[-1,0]/%x[0,1]\\nB", ["word", "pos"])]
    ['word[-1] & pos']
    """
    found: dict[Template, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        pattern = line.strip()
        if not pattern or pattern[0] == "#":
            continue
        if not LINE.match(pattern):
            raise TemplateError(
                f"pattern line {number}: {pattern!r} begins with none of U, B and *"
            )
        body = pattern.partition(":")[2]
        atoms = tuple(_atom(macro, columns, number) for macro in MACRO.finditer(body))
        if "%" in MACRO.sub("", body):
            raise TemplateError(f"pattern line {number}: cannot read a macro in {pattern!r}")
        if not atoms:
            continue  # a bias: transitions and label biases are learnt anyway
        kind = pattern[0].upper()
        if kind in (STATE, BOTH):
            found[Template(atoms)] = None
        if kind in (TRANSITION, BOTH):
            found[Template(atoms, transition=True)] = None
    if not found:
        raise TemplateError("the patterns name no cell; write at least one, such as U00:%x[0,0]")
    return tuple(found)


def _atom(macro: re.Match[str], columns: Sequence[str], number: int) -> Atom:
    row, index = macro["row"], int(macro["column"])
    if row.startswith("@"):
        raise TemplateError(f"pattern line {number}: absolute rows ({row}) are not supported")
    if index >= len(columns):
        raise TemplateError(
            f"pattern line {number}: column {index} is asked for, but there are "
            f"{len(columns)} ({', '.join(columns)})"
        )
    view = View(columns[index])
    kind = macro["kind"]
    if kind.isupper():
        view = View(view.column, "lower", view)
    if kind in "tTmM":
        if macro["pattern"] is None:
            raise TemplateError(f"pattern line {number}: %{kind} needs a regular expression")
        # Wapiti's own small expression language agrees with Python's for the common classes;
        # \u (upper), \l (lower) and \p (punctuation) are its own.
        expression = _python_expression(macro["pattern"])
        name = "match" if kind in "tT" else "find"
        view = View(view.column, name, view, (expression,))
    return Atom(view, (int(row),))


def _python_expression(pattern: str) -> str:
    own = {"u": "[A-Z]", "l": "[a-z]", "p": r"[^\w\s]", "a": "[A-Za-z]"}
    return re.sub(r"\\(.)", lambda m: own.get(m[1], m[0]), pattern)
