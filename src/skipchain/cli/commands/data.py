"""``skipchain data``: the public data sets that are known, where to get them, and what is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli.options import Json, print_json
from skipchain.cli.waiting import waiting

if TYPE_CHECKING:
    from pathlib import Path

    from skipchain.datasets.registry import DataFile, FileCheck, PublicDataset

COLOURS = {"ok": "green", "missing": "yellow", "unreadable": "red", "differs": "red"}


def data(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Data sets to tell all about; by default all are listed."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the public data sets that are known, and where to get them; check those that are there.

    They are looked for in the folder that the variable SKIPCHAIN_DATA names. Nothing is fetched.
    """
    from skipchain.datasets.registry import DATA_SETS, VARIABLE, data_folder, data_set

    chosen = tuple(map(data_set, names)) if names else DATA_SETS
    folder = data_folder() if os.environ.get(VARIABLE) else None
    checks = [] if folder is None else _check(folder, chosen)
    if json:
        print_json(list(map(asdict, checks) if folder else map(_described, chosen)))
    elif names:
        for own in chosen:
            _tell(own)
    elif folder is None:
        _list(chosen)
    if checks and not json:
        _print(checks, chosen)
    if not json:
        _advise(folder, VARIABLE)
    if any(check.state in ("unreadable", "differs") for check in checks):
        raise typer.Exit(1)


def _check(folder: Path, chosen: Sequence[PublicDataset]) -> list[FileCheck]:
    """Every file read and counted."""
    from skipchain.datasets.registry import check_files

    files = [f"{own.name} {part}" for own in chosen for part in own.files]
    checks = []
    with waiting("reading") as activity:
        activity.progress(0, len(files), files[0])
        for check in check_files(folder, tuple(chosen)):
            checks.append(check)
            following = files[len(checks)] if len(checks) < len(files) else ""
            activity.progress(len(checks), len(files), following)
    return checks


def _described(known: PublicDataset) -> dict[str, Any]:
    """A data set as JSON."""
    files = [
        {"part": part, "path": file.path, "tokens": file.tokens, "sentences": file.sentences}
        for part, file in known.files.items()
    ]
    return {"data_set": known.name, **asdict(known.source), "files": files}


def _tell(known: PublicDataset) -> None:
    """All about one data set."""
    from rich.table import Table

    from skipchain.report.terminal import Terminal, styled

    console, source = Terminal(), known.source
    console.print(styled((known.name, "bold"), f": {source.about}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("licence", source.licence)
    table.add_row("from", source.origin)
    table.add_row("wanted", source.preparation)
    for part, file in known.files.items():
        table.add_row(part, f"{file.path}  ({_size(file)})")
    console.print(table)
    console.print()


def _size(file: DataFile) -> str:
    """What a file should hold."""
    sizes = {"documents": file.documents, "sentences": file.sentences, "tokens": file.tokens}
    return ", ".join(f"{count:,} {noun}" for noun, count in sizes.items() if count is not None)


def _list(chosen: Sequence[PublicDataset]) -> None:
    """A line for each data set."""
    from rich.table import Table

    from skipchain.report.terminal import Terminal

    table = Table(box=None, pad_edge=False)
    for heading in ("data set", "what it is", "parts", "licence"):
        table.add_column(heading, no_wrap=heading == "data set")
    for known in chosen:
        table.add_row(known.name, known.source.about, ", ".join(known.files), known.source.licence)
    Terminal().print(table)


def _print(checks: Sequence[FileCheck], chosen: Sequence[PublicDataset]) -> None:
    """What is there, and what is not as it should be."""
    from rich.table import Table

    from skipchain.report.terminal import Terminal, styled

    licences = {known.name: known.source.licence for known in chosen}
    table = Table(box=None, pad_edge=False)
    for heading in ("data set", "part", "state", "found", "licence"):
        table.add_column(heading, no_wrap=heading != "found")
    for check in checks:
        state = styled((check.state, COLOURS[check.state]))
        row = (check.data_set, check.part, state, check.detail, licences[check.data_set])
        table.add_row(*row)
    Terminal().print(table)


def _advise(folder: Path | None, variable: str) -> None:
    """Where data sets are looked for, and what to do next."""
    from skipchain.report.terminal import Terminal

    console = Terminal()
    if folder is not None:
        console.print(f"\n{variable} = {folder}", soft_wrap=True)
        return
    console.print(
        f"\n{variable} is not set. Put the files that 'skipchain data NAME' tells of into a "
        f"folder, and let {variable} name it: skipchain data then checks what is there."
    )
