"""What is meant by the names of commands and options that there are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

_COMMANDS = """
annotate tag; benchmark compare; cluster brown; clusters brown; compile warm; datasets data
download data; evaluate eval; fit train; info inspect; label tag; learn train; list models
parse tag; predict tag; score eval; show inspect; test eval; validate eval; version --version
help --help
"""
COMMANDS = dict(pair.split() for pair in _COMMANDS.strip().replace("\n", ";").split(";"))
"""Names that commands have in other tools."""
OPTIONS = {
    "--algorithm": ("--solver",), "--c2": ("--l2",), "--clobber": ("--overwrite",),
    "--encoding": ("--charset",), "--force": ("--overwrite",), "--input-format": ("--from",),
    "--iterations": ("--epochs",), "--jobs": ("--threads",), "--max-iter": ("--epochs",),
    "--model-file": ("--output",), "--n-jobs": ("--threads",), "--optimiser": ("--solver",),
    "--optimizer": ("--solver",), "--out": ("--output",), "--output-format": ("--format", "--to"),
    "--patterns": ("--features",), "--regularisation": ("--l2",), "--regularization": ("--l2",),
    "--templates": ("--features",), "--types": ("--only",), "--valid": ("--dev",),
    "--validation": ("--dev",), "--workers": ("--threads",),
}  # fmt: skip
"""Names that options have in other tools, or in other spellings."""


def refuse_command(context: Any, name: str, known: Iterable[str]) -> None:
    """End with an error about a command that there is not."""
    meant = [COMMANDS[name]] if name in COMMANDS else get_close_matches(name, list(known), n=2)
    context.fail(f"No such command '{name}'.{_question(meant)}")


def hinting(context: Any, params: Sequence[Any], parse: Callable[[], list[str]]) -> list[str]:
    """Read arguments; an option that there is not is an error with the name that is meant."""
    try:
        return parse()
    except Exception as error:  # of click, or of the copy of it that typer has
        name = getattr(error, "option_name", None)
        if name is None or not hasattr(error, "possibilities"):
            raise
        known = [option for param in params for option in (*param.opts, *param.secondary_opts)]
        listed = [*known, *context.help_option_names]
        meant = [own for own in OPTIONS.get(name, ()) if own in listed]
        meant = meant or get_close_matches(name, [own for own in listed if own[:2] == "--"], n=2)
    context.fail(f"No such option: {name}.{_question(meant)}")
    raise AssertionError  # fail does not come back


def _question(meant: Sequence[str]) -> str:
    return f" Did you mean {' or '.join(meant)}?" if meant else ""
