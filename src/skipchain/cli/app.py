"""All commands in one place; the module of each is imported when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from skipchain import __version__
from skipchain.cli.gone import Command
from skipchain.cli.hints import hinting, refuse_command
from skipchain.report.printable import printable

EXAMPLES = {
    "train": "skipchain train train.conll --dev dev.conll --features ner -o names.skip",
    "tag": "skipchain tag names.skip story.txt -o story.html",
    "eval": "skipchain eval names.skip test.conll --intervals",
    "inspect": "skipchain inspect names.skip --label B-PER --top 5",
    "explain": "skipchain explain names.skip --text 'Aske flew to Oslo.' --token Oslo",
    "compare": "skipchain compare train.conll --test test.conll --models crf,memm:order=2",
    "models": "skipchain models rbm-crf",
    "states": "skipchain states train.conll --model hrf:restarts=3 --states 2,4,8",
    "induce": "skipchain induce train.conll --from atoms.txt -o templates.txt",
    "brown": "skipchain brown news.txt.gz --clusters 500 -o paths.txt",
    "convert": "skipchain convert train.conll train.jsonl --to-scheme bioes",
    "data": "skipchain data conll2003",
    "reproduce": "skipchain reproduce mop-ner --quick -o tables",
    "demo": "skipchain demo -o demo",
    "warm": "skipchain warm train --report",
}
"""The commands, with a command line for the help of each."""
GROUPS = ("ngrams",)
"""Commands that have commands of their own."""
FUNCTIONS = {"eval": "evaluate"}  # names that Python has taken


class LazyGroup(TyperGroup):
    """Commands that are imported when they are called, or listed in a help text."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return [*EXAMPLES, *GROUPS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None where there is none."""
        if cmd_name not in (*EXAMPLES, *GROUPS):
            return None
        module = import_module(f"skipchain.cli.commands.{cmd_name}")
        if cmd_name in GROUPS:
            group = get_group(module.app)
            group.name = cmd_name
            return group
        function = getattr(module, FUNCTIONS.get(cmd_name, cmd_name))
        alone = typer.Typer(add_completion=False)
        epilog = f"Example: {EXAMPLES[cmd_name]}"
        alone.command(cmd_name, cls=Command, help=paragraphs(function), epilog=epilog)(function)
        return get_command(alone)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that arguments name; an error where there is none."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            refuse_command(ctx, args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before a command."""
        return hinting(ctx, self.params, lambda: super(LazyGroup, self).parse_args(ctx, args))

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """Take the arguments apart; what is wrong with them may quote them."""
        with _printable_faults():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what is wrong with its arguments may quote them."""
        with _printable_faults():
            return super().invoke(ctx)


@contextmanager
def _printable_faults() -> Iterator[None]:
    """Show the control characters of arguments, file names among them, that an error quotes."""
    try:
        yield
    except Exception as error:
        fault: Any = error
        if hasattr(fault, "format_message"):  # of click, or of the copy of it that typer has
            text = printable(fault.format_message())
            fault.format_message = lambda: text
        raise


app = typer.Typer(
    name="skipchain",
    cls=LazyGroup,
    help="Label sequences: train a tagger, tag text, measure it, look inside.",
    epilog="Begin with: skipchain demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def paragraphs(function: Callable[..., None]) -> str:
    """The docstring of a command without the line breaks inside its paragraphs."""
    text = inspect.getdoc(function) or ""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _version(wanted: bool) -> None:
    if wanted:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        typer.echo(f"skipchain {__version__}")
        for name in ("numba", "numpy"):
            try:
                typer.echo(f"{name} {version(name)}")
            except PackageNotFoundError:  # it lies beside the program, with nothing said of it
                typer.echo(f"{name} of a version that is not noted")
        typer.echo(f"python {platform.python_version()} ({platform.system()} {platform.machine()})")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    """Label sequences: train a tagger, tag text, measure it, look inside."""
