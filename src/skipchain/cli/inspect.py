"""``skipchain inspect``: what a model has learnt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli.options import Json, print_json

if TYPE_CHECKING:
    from skipchain.models.chain import ChainModel


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    top: Annotated[int, typer.Option(min=1, help="How many features to show per label.")] = 10,
    label: Annotated[
        list[str] | None, typer.Option(help="Show only this label (may be given several times).")
    ] = None,
    json: Json = False,
) -> None:
    """Show a model's size, settings, templates, strongest features and transitions."""
    from skipchain.errors import SkipchainError
    from skipchain.modelfile import load_model
    from skipchain.models.summary import summarise

    loaded = load_model(model)
    for name in label or []:
        if name not in loaded.labels:
            raise SkipchainError(
                f"the model has no label {name!r}; it has {', '.join(loaded.labels)}"
            )
    summary = summarise(loaded, top=top, labels=label)
    if json:
        print_json(summary)
    else:
        _print(loaded, summary, label or list(loaded.labels))


def _print(model: ChainModel, summary: dict[str, Any], labels: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, highlight=False)
    size = summary["size"]
    console.print(
        f"[bold]{summary['kind']}[/bold], {len(model.labels)} labels, "
        f"{size['features']:,} features, {size['weights']:,} weights that are not zero"
    )
    console.print(
        f"scheme {summary['scheme'] or 'none'}, learnt as {summary['encoding'] or 'they are'}; "
        + ", ".join(f"{key} {value}" for key, value in summary["training"].items())
    )
    if summary["templates"]:
        console.print("\n[bold]Templates[/bold]")
        console.print(summary["templates"], markup=False)
    for name in labels:
        table = Table(title=f"Features of {name}", title_justify="left", box=None, pad_edge=False)
        table.add_column("weight", justify="right")
        table.add_column("feature", overflow="fold")
        for feature in summary["labels"][name]["features"]:
            table.add_row(f"{feature['weight']:+.3f}", _plain(feature["name"]))
        console.print()
        console.print(table)
    console.print()
    table = Table(title="Transitions (from row to column)", title_justify="left", box=None)
    table.add_column("")
    for name in labels:
        table.add_column(name, justify="right")
    for source in ["<start>", *labels]:
        table.add_row(
            source, *(f"{summary['transitions'][source][target]:+.2f}" for target in labels)
        )
    console.print(table)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(text)
