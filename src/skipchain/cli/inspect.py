"""``skipchain inspect``: what a model has learnt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skipchain.cli.options import Json, print_json
from skipchain.grid import fitting

if TYPE_CHECKING:
    from rich.console import Console

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
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    size = summary["size"]
    console.print(
        f"[bold]{summary['kind']}[/bold], {len(model.labels)} labels, "
        f"{size['features']:,} features, {size['weights']:,} weights that are not zero"
    )
    told = (f"{key} {_short(value)}" for key, value in summary["training"].items())
    console.print(
        f"scheme {summary['scheme'] or 'none'}, learnt as {summary['encoding'] or 'they are'}; "
        + ", ".join(told)
    )
    if summary["templates"]:
        console.print("\n[bold]Templates[/bold]")
        console.print(summary["templates"], markup=False)
    for name in labels:
        own = summary["labels"][name]
        title = f"Features of {name}"
        if own.get("unknown"):
            title += f" (beside an unknown one, whose log-probability is {own['unknown']:.2f})"
        _print_features(console, title, own["features"])
    pairs = [
        {**pair, "name": f"{pair['previous']} → {pair['label']}  {pair['name']}"}
        for pair in summary["pairs"]
    ]
    if pairs:
        _print_features(console, "Features of label pairs", pairs)
    console.print("\n[bold]Transitions[/bold] (from row to column; <end>: score of a last label)")
    rows = [
        (source, *(f"{summary['transitions'][source][target]:+.2f}" for target in labels))
        for source in ("<start>", *labels, "<end>")
    ]
    for number, (headings, cells) in enumerate(fitting((("", *labels), rows), console.width)):
        if number:
            console.print()
        table = Table(box=None, pad_edge=False)
        for heading in headings:
            side: Literal["left", "right"] = "right" if heading else "left"
            table.add_column(Text(heading), justify=side, no_wrap=True)
        for row in cells:
            table.add_row(*map(Text, row))
        console.print(table)


def _print_features(console: Console, title: str, features: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print()
    console.print(Text(title, style="bold"))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for feature in features:
        table.add_row(f"{feature['weight']:+.3f}", Text(feature["name"]))
    console.print(table)


def _short(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
