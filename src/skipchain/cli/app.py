"""All commands in one place."""

from __future__ import annotations

import inspect as inspect_module
from collections.abc import Callable
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
from skipchain.cli.gone import Command
from skipchain.cli.inspect import inspect
from skipchain.cli.models import models
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

EXAMPLES: dict[Callable[..., None], str] = {
    train: "skipchain train train.conll --dev dev.conll --features ner -o names.skip",
    tag: "skipchain tag names.skip story.txt -o story.html",
    evaluate: "skipchain eval names.skip test.conll --intervals",
    inspect: "skipchain inspect names.skip --label B-PER --top 5",
    explain: "skipchain explain names.skip --text 'Aske flew to Oslo.' --token Oslo",
    compare: "skipchain compare train.conll --test test.conll --models crf,memm:order=2",
    models: "skipchain models rbm-crf",
    states: "skipchain states train.conll --model hrf:restarts=3 --states 2,4,8",
    brown: "skipchain brown news.txt.gz --clusters 500 -o paths.txt",
    convert: "skipchain convert train.conll train.jsonl --to-scheme bioes",
    data: "skipchain data conll2003",
    reproduce: "skipchain reproduce mop-ner --quick -o tables",
    demo: "skipchain demo -o demo",
}
"""A command line for the help of each command."""


def paragraphs(function: Callable[..., None]) -> str:
    """The docstring of a command without the line breaks inside its paragraphs."""
    text = inspect_module.getdoc(function) or ""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


for function, example in EXAMPLES.items():
    name = "eval" if function is evaluate else None  # which Python has taken
    app.command(name, cls=Command, help=paragraphs(function), epilog=f"Example: {example}")(
        function
    )
app.add_typer(ngrams)


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
