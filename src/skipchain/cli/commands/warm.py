"""``skipchain warm``: compile kernels ahead of time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import Json, Quiet, Threads, print_json, say

if TYPE_CHECKING:
    from skipchain.kernels.compile_times import CompileTimes


def warm(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]",
            help="tag (what tagging needs), train (the default training, too) or all (each kind "
            "of model).",
        ),
    ] = "train",
    report: Annotated[
        bool, typer.Option("--report", help="List the seconds that each kernel took.")
    ] = False,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile kernels now, so that no later command waits for it: in an image, or before tests.

    What is compiled already is left as it is. Compiled kernels lie beside the package, or in a
    cache folder of the user where that cannot be written to; NUMBA_CACHE_DIR names another.
    """
    from rich.progress import Progress, TextColumn

    from skipchain.corpus.corpus import plural
    from skipchain.kernels.compile_times import compile_times
    from skipchain.kernels.folders import SUFFIX, kernel_folders
    from skipchain.kernels.kernel import Kernel, told_of_compiling
    from skipchain.report.terminal import Terminal
    from skipchain.warming import warming_jobs

    jobs = warming_jobs(what, threads)
    began = time.perf_counter()
    console = Terminal(stderr=True)
    columns = (*Progress.get_default_columns()[:2], TextColumn("{task.fields[kernel]}"))
    hidden = quiet or not console.is_terminal
    with (
        compile_times() as times,
        Progress(*columns, console=console, transient=True, disable=hidden) as bar,
    ):
        task = bar.add_task("", total=len(jobs), kernel="")

        def show(kernel: Kernel) -> None:
            bar.update(task, kernel=str(kernel))

        with told_of_compiling(show):
            for name, job in jobs.items():
                bar.update(task, description=name, kernel="")
                if hidden and not quiet:
                    say(name)
                job()
                bar.advance(task)
    seconds = time.perf_counter() - began
    folders = [str(own) for own in kernel_folders() if next(own.glob("*" + SUFFIX), None)]
    own = {name: spent for name, spent in times.seconds.items() if name != "numba"}
    if json:
        kernels = [
            {"kernel": name, "seconds": round(spent, 3), "forms": times.forms[name]}
            for name, spent in times.seconds.items()
        ]
        print_json({"folders": folders, "seconds": round(seconds, 3), "kernels": kernels})
        return
    if report:
        _print(times)
    where = f"; all are in {' and '.join(folders)}" if folders else ""
    print(f"{plural(len(own), 'kernel')} compiled in {seconds:.1f} s{where}")


def _print(times: CompileTimes) -> None:
    """A table of kernels, the slowest first."""
    from rich.table import Table

    from skipchain.report.terminal import Terminal

    table = Table(box=None, pad_edge=False)
    table.add_column("kernel")
    table.add_column("seconds", justify="right")
    table.add_column("forms", justify="right")
    for name, spent in sorted(times.seconds.items(), key=lambda entry: -entry[1]):
        shown = "numba's own functions" if name == "numba" else name
        table.add_row(shown, f"{spent:.2f}", str(times.forms[name]))
    Terminal().print(table)
