"""``skipchain reproduce``: published tables, measured anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import Json, Overwrite, Quiet, Threads, print_json, say
from skipchain.cli.plots import write_pictures
from skipchain.cli.waiting import Activity, waiting

if TYPE_CHECKING:
    from skipchain.reproduce import Table


VERDICT_WIDTH = 12  # in a narrow terminal the names of the systems give way first
WIDEST = 200  # of a table that goes to a file


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Tables to measure; without any they are listed."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Less data and fewer seeds: seconds, rougher figures.")
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write Markdown and pictures into this folder."
        ),
    ] = None,
    json: Json = False,
    threads: Threads = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Measure published tables anew: published and measured side by side, with a verdict each."""
    from skipchain.cli.compiling import compile_notice
    from skipchain.reproduce import TABLES, Run, check_name
    from skipchain.reproduce import reproduce as measure
    from skipchain.reproduce.run import say_nothing

    chosen = list(dict.fromkeys(names or []))
    for name in chosen:
        check_name(name)
    if not chosen:
        if json:
            print_json([{"table": name, "about": about} for name, (_, about) in TABLES.items()])
        else:
            for name, (_, about) in TABLES.items():
                print(f"{name:<10}  {about}")
        return
    folder = None if output is None else _folder(output, chosen, overwrite)
    tables = []
    for name in chosen:
        with compile_notice(quiet=quiet), waiting(f"measuring {name}", quiet=quiet) as activity:
            steps = Steps(activity, say_nothing if quiet else say)
            table = measure(name, Run(quick, threads, steps.say, steps.plan))
        tables.append(table)
        if folder is not None:
            _write(table, folder, overwrite, quiet)
        if not json:
            _print(table)
    if json:
        print_json([row.as_dict() for table in tables for row in table.rows])


class Steps:
    """Tells each step of a measurement, and on the live line how many of them are done."""

    def __init__(self, activity: Activity, say: Callable[[str], None]) -> None:
        self._activity, self._say = activity, say
        self._begun = self._planned = 0

    def plan(self, steps: int) -> None:
        """So many steps come."""
        self._begun, self._planned = 0, steps

    def say(self, line: str) -> None:
        """A step begins, and so the one before it is done."""
        self._say(line)
        done, self._begun = self._begun, self._begun + 1
        if done < self._planned:
            self._activity.progress(done, self._planned, f"{done} of {self._planned} steps")


def _folder(output: str, names: list[str], overwrite: bool) -> Path:
    """The folder to write to, made where it is missing; refused before any work is done."""
    from skipchain.io.files import check_target, make_folder

    folder = make_folder(output)
    for name in names:
        check_target(folder / f"{name}.md", overwrite)
    return folder


def _write(table: Table, folder: Path, overwrite: bool, quiet: bool) -> None:
    from skipchain.io.files import write_text

    shown = write_pictures(table.pictures, folder, table.name, overwrite=overwrite)
    path = folder / f"{table.name}.md"
    write_text(path, table.markdown(shown), overwrite=overwrite)
    if not quiet:
        say(f"written: {path}" + "".join(f", {folder / file}" for file, _ in shown))


def _print(table: Table) -> None:
    from rich.table import Table as Grid

    from skipchain.report.terminal import Terminal, styled
    from skipchain.reproduce.table import FAILS, HEADINGS

    console = Terminal()
    console.print(styled((table.title, "bold")))
    console.print(table.about())
    for note in table.notes:
        console.print(f"• {note}")
    console.print()
    grid = Grid(box=None, pad_edge=False)
    rows = [row.cells() for row in table.rows]
    shown = [k for k, heading in enumerate(HEADINGS) if any(row[k] for row in rows)]
    for k in shown:
        words = HEADINGS[k] in ("system", "metric", "verdict")
        grid.add_column(
            HEADINGS[k],
            justify="left" if words else "right",
            no_wrap=not words,
            min_width=VERDICT_WIDTH if HEADINGS[k] == "verdict" else None,
        )
    for row in rows:
        colour = "red" if row[-1].startswith(FAILS) else "green"
        cells = [styled((row[k], colour if HEADINGS[k] == "verdict" else "")) for k in shown]
        grid.add_row(*cells)
    if not console.is_terminal:  # a file has room for what a window would fold
        wide = console.options.update(width=WIDEST)
        console.width = max(console.width, console.measure(grid, options=wide).maximum)
    console.print(grid)
    if table.verdict:
        console.print()
        console.print(styled((table.verdict, "bold")))
    console.print()
