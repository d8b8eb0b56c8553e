"""All commands in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from skipchain import __version__
from skipchain.cli.brown import brown
from skipchain.cli.compare import compare
from skipchain.cli.convert import convert
from skipchain.cli.data import data
from skipchain.cli.demo import demo
from skipchain.cli.eval import evaluate
from skipchain.cli.explain import explain
from skipchain.cli.inspect import inspect
from skipchain.cli.ngrams import app as ngrams
from skipchain.cli.reproduce import reproduce
from skipchain.cli.states import states
from skipchain.cli.tag import tag
from skipchain.cli.train import train

app = typer.Typer(
    name="skipchain",
    help="Label sequences: train a tagger, tag text, measure it, look inside.",
    epilog="Begin with: skipchain demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(train)
app.command()(tag)
app.command("eval")(evaluate)
app.command()(inspect)
app.command()(explain)
app.command()(compare)
app.command()(states)
app.command()(brown)
app.command()(convert)
app.command()(data)
app.add_typer(ngrams)
app.command()(reproduce)
app.command()(demo)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skipchain {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Label sequences: train a tagger, tag text, measure it, look inside."""
