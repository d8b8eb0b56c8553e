"""``skipchain models``: the kinds of models and what can be set."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli.options import Json, print_json

if TYPE_CHECKING:
    from skipchain.report.terminal import Terminal


def models(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="A kind of model, or a solver such as sgd; without one, all are listed.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the kinds of models, or show the settings of one of them, or of a solver.

    Settings are written as --model KIND:NAME=VALUE,NAME=VALUE, --solver NAME:NAME=VALUE or --set
    NAME=VALUE (see: skipchain train --help).
    """
    from skipchain.models.parameter_help import describe_kind, known_solvers, summary_of
    from skipchain.models.registry import model_kinds
    from skipchain.report.terminal import Terminal, styled

    console = Terminal()
    if kind is not None:
        description = describe_kind(kind)
        if json:
            print_json(description.as_dict())
        else:
            _print(console, description)
        return
    kinds = {name: own.description for name, own in model_kinds().items()}
    solvers = {name: summary_of(own) for name, own in known_solvers().items()}
    if json:
        print_json({"models": kinds, "solvers": solvers})
        return
    for title, rows in (("Models", kinds), ("Solvers", solvers)):
        console.print(styled((title, "bold")))
        _print_rows(console, rows)
        console.print()
    console.print("skipchain models KIND shows the settings of a model or a solver")


def _print(console: Terminal, description: Any) -> None:
    from skipchain.report.terminal import styled

    console.print(styled((description.name, "bold"), f" ({description.class_name})"))
    console.print(_bare(description.summary))
    console.print()
    rows: dict[str, str] = {}
    for meaning, settings in groupby(description.settings, lambda setting: setting.meaning):
        names = [f"{setting.name} = {_written(setting.default)}" for setting in settings]
        rows["\n".join(names)] = meaning
    _print_rows(console, rows)
    for part in (*description.groups, *description.solvers):
        console.print()
        _print(console, part)


def _print_rows(console: Terminal, rows: dict[str, str]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows.items():
        table.add_row(name, _bare(text))
    console.print(table)


def _bare(text: str) -> str:
    """A text of a docstring without its marks of code."""
    return text.replace("`", "")


def _written(default: object) -> str:
    """A default as it is written in a specification."""
    if default is None or isinstance(default, bool):
        return str(default).lower()
    return str(default)
