"""``skipchain data``: the data sets found under SKIPCHAIN_DATA."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from skipchain.cli.options import Json, print_json


def data(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Data sets to check; by default all."),
    ] = None,
    json: Json = False,
) -> None:
    """List the data sets under SKIPCHAIN_DATA and check their counts."""
    from rich.progress import Progress

    from skipchain.datasets.registry import DATA_SETS, VARIABLE, check_files, data_folder, data_set
    from skipchain.report.terminal import Terminal, styled

    chosen = tuple(map(data_set, names)) if names else DATA_SETS
    folder = data_folder()
    checks = []
    with Progress(console=Terminal(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=sum(len(known.files) for known in chosen))
        for check in check_files(folder, chosen):
            checks.append(check)
            progress.advance(task)
    if json:
        print_json([asdict(check) for check in checks])
    else:
        from rich.table import Table

        about = {known.name: known for known in chosen}
        table = Table(box=None, pad_edge=False)
        for heading in ("data set", "part", "state", "found", "licence"):
            table.add_column(heading, no_wrap=heading != "found")
        colours = {"ok": "green", "missing": "yellow", "unreadable": "red", "differs": "red"}
        for check in checks:
            state = styled((check.state, colours[check.state]))
            licence = about[check.data_set].licence
            table.add_row(check.data_set, check.part, state, check.detail, licence)
        console = Terminal()
        console.print(table)
        console.print(f"\n{VARIABLE} = {folder}")
    if any(check.state in ("unreadable", "differs") for check in checks):
        raise typer.Exit(1)
