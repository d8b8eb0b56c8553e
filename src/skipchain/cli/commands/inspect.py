"""``skipchain inspect``: what a model has learnt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from skipchain.cli.options import OUTPUT, Json, OneModel, Overwrite, option, print_json, say
from skipchain.corpus.schemes.labels import split
from skipchain.errors import SkipchainError
from skipchain.report.grid import split_to_width

if TYPE_CHECKING:
    from skipchain.report.terminal import Terminal

Item = TypeVar("Item")
ORDERINGS = 5  # that are named; of more only the number is said
LEAST_SHARE = 0.05  # percent; what is rarer is not named
START, END = "<start>", "<end>"  # rows of transitions that are no labels
MOST_SHOWN = 100  # labels, hidden units or states


def inspect(
    model: OneModel = None,
    top: Annotated[int, typer.Option(min=1, help="How many features to show per label.")] = 10,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only this label, or the labels of this type (may be given several times)."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        option(
            OUTPUT, "For rbm-crf: write diagrams of the hidden units' weights.", metavar="FOLDER"
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show a model's size, settings, templates, strongest features and transitions.

    Of a model with factors: what they add. Of a model whose labels are linked across documents: the
    rules, and what each type of edge has learnt. Of an rbm-crf: the labels that each hidden unit
    looks for. Of hidden states: what each of them emits, and which states follow it.
    """
    from skipchain import pretrained as boxed
    from skipchain.cli.plots import write_pictures
    from skipchain.tagger import load

    path = boxed.path() if model is None else Path(model)
    loaded = load(path).model
    chosen = [own for name in label or [] for own in _labels_named(name, loaded.labels)]
    if plot is not None:
        drawn = write_pictures(loaded.pictures(), plot, path.stem, overwrite=overwrite)
        for file, caption in drawn:
            say(f"wrote {plot / file}: {caption}")
    summary = loaded.summarise(top=top, labels=chosen or None)
    if json:
        print_json(summary)
    else:
        _print(summary, chosen or list(loaded.labels))


def _labels_named(name: str, labels: Sequence[str]) -> list[str]:
    """The label of that name, or all labels of the type.

    >>> _labels_named("PER", ["B-LOC", "B-PER", "I-PER", "O"])
    ['B-PER', 'I-PER']
    """
    found = [label for label in labels if label == name]
    found = found or [label for label in labels if split(label) == (label[:1], name)]
    if not found:
        raise SkipchainError(f"the model has no label {name!r}; it has {', '.join(labels)}")
    return found


def _print(summary: dict[str, Any], labels: list[str]) -> None:
    from skipchain.report.terminal import Terminal, styled

    console = Terminal()
    size = summary["size"]
    console.print(
        styled(
            (summary["kind"], "bold"),
            f", {size['labels']} labels, "
            f"{size['features']:,} features, {size['weights']:,} weights that are not zero",
        )
    )
    training = (f"{key} {_short(value)}" for key, value in summary["training"].items())
    console.print(
        f"scheme {summary['scheme'] or 'none'}, learnt as {summary['encoding'] or 'they are'}; "
        + ", ".join(training)
    )
    if summary["templates"]:
        console.print(styled(("\nTemplates", "bold")))
        console.print(summary["templates"])
    if summary["sources"]:
        console.print(styled(("\nAnnotators", "bold")))
        for own in summary["sources"]:
            console.print(f"{', '.join(own['columns'])}: {own['description']}")
    labels = _first(console, labels, "labels")
    if "rules" in summary:
        _print_graph(console, summary, labels)
        return
    if "groups" in summary:
        _print_groups(console, summary, labels)
        return
    if "states" in summary:
        _print_states(console, summary)
        return
    _print_factors(console, summary.get("factors", []))
    for name in labels:
        own = summary["labels"][name]
        title = f"Features of {name}"
        if own.get("unknown"):
            title += f" (relative to an unknown one, of log-probability {own['unknown']:.2f})"
        _print_features(console, title, own["features"])
    if summary["pairs"]:
        _print_features(console, "Features of label pairs", [*map(_with_pair, summary["pairs"])])
    runs = [{**run, "name": _run_name(run)} for run in summary["runs"]]
    if runs:
        _print_features(console, "Longer runs of labels", runs)
    note = " (from row to column; <end>: score of a last label)"
    console.print(styled(("\nTransitions", "bold"), note))
    _print_transitions(console, summary["transitions"], labels, whole=True)
    if "history" in summary:
        note = " (from the label of like tokens before to the label)"
        console.print(styled(("\nLabel history", "bold"), note))
        _print_transitions(console, summary["history"], labels)
    if "stop" in summary:
        _print_stop(console, summary["stop"], labels)


def _run_name(run: dict[str, Any]) -> str:
    """Labels in a row, and the feature that goes with them, if there is one."""
    labels = " → ".join(["…" if own is None else own for own in run["previous"]] + [run["label"]])
    return f"{labels}  {run['name']}" if "name" in run else labels


def _print_stop(console: Terminal, chances: dict[str, Any], labels: list[str]) -> None:
    """The probability that a chain stops after its last label, or its last two."""
    from skipchain.report.terminal import styled

    if all(isinstance(row, dict) for row in chances.values()):
        note = " (probability of stopping after the labels of row and column)"
        console.print(styled(("\nStop", "bold"), note))
        _print_transitions(console, chances, labels)
        return
    note = " (probability of stopping after the label)"
    console.print(styled(("\nStop", "bold"), note))
    _print_grid(console, {"": {label: chances[label] for label in labels}}, [""])


def _print_factors(console: Terminal, factors: list[dict[str, Any]]) -> None:
    """What pairs of spans of a document add to a labelling, by their types."""
    from skipchain.report.terminal import styled

    for title, grid in ((title, grid) for factor in factors for title, grid in factor.items()):
        console.print()
        note = " (what a pair of spans in a document adds, by their types)"
        console.print(styled((title, "bold"), note))
        _print_grid(console, grid, list(grid))


def _print_graph(console: Terminal, summary: dict[str, Any], labels: list[str]) -> None:
    """Rules, orderings, and each type of edge."""
    from skipchain.corpus.corpus import plural
    from skipchain.report.terminal import styled

    console.print(styled(("\nEdges", "bold")))
    for rule in summary["rules"]:
        count = "" if rule["pairs"] is None else f"  {plural(rule['pairs'], 'pair')} in training"
        console.print(f"{rule['rule']}{count}")
    orderings = summary["orderings"]
    named = ", ".join(orderings)
    if len(orderings) > ORDERINGS:
        named = f"{', '.join(orderings[:ORDERINGS])} and {len(orderings) - ORDERINGS} more"
    console.print(f"orderings: {named}")
    for kind, edge_model in summary["kinds"].items():
        sizes = plural(edge_model["features"], "feature")
        if edge_model["pair_features"]:
            sizes += f", {edge_model['pair_features']:,} with two labels"
        sizes += f", {edge_model['weights']:,} weights"
        console.print()
        console.print(styled(("Edges of type ", "bold"), (kind, "bold"), f": {sizes}"))
        if "gate" in edge_model:
            gate = ", ".join(f"{name} {value:+.2f}" for name, value in edge_model["gate"].items())
            console.print(f"gate, by which its parents count: {gate}")
        for name in labels if edge_model["features"] else ():
            features = map(_with_end, edge_model["labels"][name]["features"])
            _print_features(console, f"{kind}: features of {name}", [*features])
        if edge_model["pairs"]:
            pairs = map(_with_pair, map(_with_end, edge_model["pairs"]))
            _print_features(console, f"{kind}: features of label pairs", [*pairs])
        console.print()
        console.print(f"{kind}: from the parent's label (row) to the label (column)")
        _print_transitions(console, edge_model["transitions"], labels)


def _with_end(feature: dict[str, Any]) -> dict[str, Any]:
    """A feature of an edge, which says so where it is the parent's."""
    mark = " (parent)" if feature["end"] == "parent" else ""
    return {**feature, "name": feature["name"] + mark}


def _with_pair(feature: dict[str, Any]) -> dict[str, Any]:
    """A feature that goes with two labels, and names them."""
    return {**feature, "name": f"{feature['previous']} → {feature['label']}  {feature['name']}"}


def _print_groups(console: Terminal, summary: dict[str, Any], labels: list[str]) -> None:
    """What the input says, and what each hidden unit looks for."""
    from skipchain.report.terminal import styled

    if summary["beside"] is not None:
        base = summary["beside"]["kind"]
        console.print(f"base model: {base}, to the power of {summary['gamma']:g}")
    for name in labels:
        if name in summary["labels"]:
            _print_features(console, f"Features of {name}", summary["labels"][name]["features"])
    for group in summary["groups"]:
        what = f"hidden units of {group['group']}"
        for number, unit in enumerate(_first(console, group["units"], what)):
            console.print()
            console.print(
                styled(
                    (f"Hidden unit {number + 1} of {group['group']}", "bold"),
                    f" ({group['looks_at']} by offsets; bias {unit['bias']:+.2f})",
                )
            )
            shown = [*labels, "<outside>"] if group["looks_at"] == "labels" else [*unit["weights"]]
            _print_grid(console, unit["weights"], shown)
            if unit.get("features"):
                _print_features(console, "switched by", unit["features"])
    for number, expert in enumerate(summary["experts"], start=1):
        console.print()
        console.print(styled((f"Expert {number}", "bold"), f": {expert['kind']}"))
        _print_states(console, expert)


def _print_states(console: Terminal, summary: dict[str, Any]) -> None:
    """Each hidden state: how often it comes up, what it emits, what follows it."""
    from skipchain.report.terminal import styled

    losses = [f"{r['loss']:,.1f}" + ("" if r["finished"] else "*") for r in summary["restarts"]]
    if losses:
        given_up = "" if all(r["finished"] for r in summary["restarts"]) else " (* given up early)"
        console.print(f"losses of the restarts: {', '.join(losses)}{given_up}")
    for state in _first(console, summary["states"], "states"):
        console.print()
        share = f"{state['share']:.1f} % of tokens, first in {state['first']:.1f} % of sequences"
        console.print(styled((f"State {state['state']}", "bold"), f": {share}"))
        console.print(f"emits {_shares(state['emits'])}")
        console.print(f"is followed by {_shares(state['next'])}")
        for title, features, arrow in (
            ("emits, by feature", state["features"], "label"),
            ("is followed by, by feature", state["moves"], "to"),
        ):
            marked = [{**f, "name": f"{f['name']} → {f[arrow]}"} for f in features]
            _print_features(console, f"State {state['state']} {title}", marked)


def _first(console: Terminal, items: list[Item], what: str, most: int = MOST_SHOWN) -> list[Item]:
    """As many as a person reads; whether there are more is told."""
    if len(items) > most:
        console.print(f"(the first {most} of {len(items):,} {what}; --json has all)")
    return items[:most]


def _shares(shares: dict[Any, float]) -> str:
    """The larger parts of a whole, the largest first."""
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    named = [f"{name} {share:.1f} %" for name, share in ranked if share >= LEAST_SHARE]
    return ", ".join(named) or "nothing"


def _print_transitions(
    console: Terminal,
    transitions: dict[str, dict[str, float]],
    labels: list[str],
    whole: bool = False,
) -> None:
    """Scores of label pairs; of some labels those with all others, where that is the ``whole``."""
    others = [name for name in transitions if name not in (START, END)]
    if whole and len(labels) < len(others):
        into = {
            source: {name: scores[name] for name in labels}
            for source, scores in transitions.items()
        }
        _print_grid(console, into, [START, *others, END])
        console.print()
        _print_grid(console, {name: transitions[name] for name in labels}, labels)
        return
    chosen = {
        source: {target: scores[target] for target in labels}
        for source, scores in transitions.items()
    }
    _print_grid(console, chosen, [START, *labels, END])


def _print_grid(console: Terminal, scores: dict[str, dict[str, float]], chosen: list[str]) -> None:
    """Rows of scores, cut into several tables where there are too many columns."""
    from rich.table import Table

    chosen = _first(console, chosen, "rows", 2 * MOST_SHOWN)
    columns = _first(console, list(next(iter(scores.values()))), "columns", 2 * MOST_SHOWN)
    rows = [
        (source, *(f"{scores[source][column]:+.2f}" for column in columns))
        for source in chosen
        if source in scores
    ]
    for number, (headings, cells) in enumerate(
        split_to_width((("", *columns), rows), console.width)
    ):
        if number:
            console.print()
        table = Table(box=None, pad_edge=False)
        for heading in headings:
            side: Literal["left", "right"] = "right" if heading else "left"
            table.add_column(heading, justify=side, no_wrap=True)
        for row in cells:
            table.add_row(*row)
        console.print(table)


def _print_features(console: Terminal, title: str, features: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from skipchain.report.terminal import styled

    console.print()
    console.print(styled((title, "bold")))
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for feature in features:
        table.add_row(f"{feature['weight']:+.3f}", feature["name"])
    console.print(table)


def _short(value: Any) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
