"""Every text of the source that advises a command or an option, found in the source itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "skipchain"
COMMANDS = "train|tag|eval|inspect|explain|compare|models|states|induce|brown|convert|data|demo"
ADVISED = re.compile(
    rf"\bskipchain ({COMMANDS}|reproduce|warm|ngrams)\b"
    r"|(?<![\w-])--[a-z][a-z-]+"
    r"|(?<!\S)-o\b|\bpip install\b|\biconv\b|ulimit -"
)
HELP = {"Argument", "Option", "Typer", "command", "option"}  # calls whose texts are help
PAGE = "<"  # how pages and their styles begin


def advice_in_source() -> dict[str, str]:
    """The texts that name a command or an option, with the places where they stand.

    What is filled in stands in braces. Docstrings and help texts are no advice.
    """
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for line, text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            if ADVISED.search(text) and not text.lstrip().startswith((PAGE, ".", "table {")):
                found[text] = f"{path.relative_to(SOURCE)}:{line}"
    return found


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(child, ast.Call) and _name(child.func) in HELP:
            continue
        if isinstance(child, ast.JoinedStr):
            yield child.lineno, "".join(map(_part, child.values))
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.lineno, child.value
        if not isinstance(child, ast.JoinedStr):
            yield from _texts(child)
            continue
        for value in child.values:
            if isinstance(value, ast.FormattedValue):
                yield from _texts(value)


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _part(value: ast.expr) -> str:
    if isinstance(value, ast.FormattedValue):
        return "{" + ast.unparse(value.value) + "}"
    return str(getattr(value, "value", ""))
