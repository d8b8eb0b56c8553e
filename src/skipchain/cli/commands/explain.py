"""``skipchain explain``: why a token has one label and not another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli.options import (
    Columns,
    Format,
    Json,
    MaxBytes,
    OneModel,
    Scheme,
    print_json,
    read_corpora,
)
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from rich.table import Table

    from skipchain.models.chain.explain import Contribution, Explanation
    from skipchain.models.document.explain import CandidateExplanation, FactorExplanation
    from skipchain.models.graph.explain import ExplainedParent, ParentExplanation
    from skipchain.report.terminal import Terminal

SHOWN_PARENTS = 3  # parents whose features are shown


def explain(
    token: Annotated[
        str,
        typer.Option(
            metavar="TOKEN",
            help="Which token: its number, counted from 0, or a word that is there"
            " once. Write =1984 for a word that is a number.",
        ),
    ],
    model: OneModel = None,
    text: Annotated[str | None, typer.Option(help="The text that the token stands in.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file instead of a text ('-': stdin).")
    ] = None,
    sentence: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Count tokens in this sentence, itself counted from 0; "
            "else through the whole input.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="The two labels to compare; by default the predicted one and the runner-up.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many contributions to show.")] = 20,
    json: Json = False,
    format: Format = None,
    columns: Columns = None,
    scheme: Scheme = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Show what decides between two labels at a token: active features, weights, totals.

    Of a model whose labels are linked across documents: which tokens the label comes from, and how
    much of its probability each of them gives. Of a model with factors: what these add to and take
    from the chain's label. The labels are those that the model learnt, in its encoding (see:
    skipchain inspect).
    """
    from skipchain.io.text import parse_plain
    from skipchain.tagger import load

    if (text is None) == (file is None):
        raise SkipchainError("give --text or --file, one of them")
    tagger = load(model)
    if file is not None:
        corpus = read_corpora(
            [file], format=format, columns=columns, scheme=scheme, max_bytes=max_bytes
        )
    elif text is not None and text.strip():
        corpus = parse_plain(text)
    else:
        raise SkipchainError("--text is empty; there is no token to explain")
    pair = None if labels is None else [label.strip() for label in labels.split(",")]
    explanation: Any = tagger.explain(corpus, _token(token), labels=pair, sentence=sentence)
    if json:
        answer = explanation.as_dict()
        for part in answer.get("parents", [answer]):
            if "contributions" in part:
                part["contributions"] = part["contributions"][:top]
        print_json(answer)
    elif hasattr(explanation, "factored"):
        _print_remarks(explanation, top)
    elif hasattr(explanation, "parents"):
        _print_parents(explanation, tagger.model.kind, top)
    else:
        _print(explanation, tagger.model, top)


def _token(text: str) -> int | str:
    if text.startswith("=") and len(text) > 1:
        return text[1:]
    try:
        return int(text)
    except ValueError:
        return text


def _print(explanation: Explanation, model: Any, top: int) -> None:
    from skipchain.report.terminal import Terminal, styled

    console = Terminal()
    console.print(
        styled(
            f"token {explanation.token}, ",
            (explanation.word or "", "bold"),
            f": {explanation.predicted}, between ",
            f"{explanation.previous or '<start>'} and {explanation.following or '<end>'}",
        )
    )
    table = _contributions(explanation.contributions, explanation.labels, top)
    if model.probabilistic:
        table.add_row("probability", *(f"{p:.3f}" for p in explanation.probabilities), "")
    console.print(table)
    _print_forbidden(console, explanation)
    console.print(styled((f"{model.kind}: {model.describe_totals()}", "dim")))


def _print_parents(explanation: ParentExplanation, kind: str, top: int) -> None:
    from rich.table import Table

    from skipchain.report.terminal import Terminal, styled

    console = Terminal()
    console.print(
        styled(
            f"token {explanation.token}, ", (explanation.word, "bold"), f": {explanation.predicted}"
        )
    )
    table = Table(box=None, pad_edge=False)
    for heading in ("from", "edge", "its label", "weight", *explanation.labels):
        left = heading in ("from", "edge", "its label")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for parent in explanation.parents[:top]:
        label = "" if parent.label is None else f"{parent.label} {parent.probability:.3f}"
        table.add_row(
            _named(parent),
            parent.kind,
            label,
            f"{parent.weight:.3f}",
            *(f"{share:.3f}" for share in parent.shares),
        )
    rest = explanation.parents[top:]
    if rest:
        sums = [sum(parent.shares[k] for parent in rest) for k in (0, 1)]
        table.add_row(
            f"… {len(rest)} more",
            "",
            "",
            f"{sum(p.weight for p in rest):.3f}",
            *(f"{share:.3f}" for share in sums),
        )
    table.add_row(
        styled(("probability", "bold")),
        "",
        "",
        "",
        *(f"{p:.3f}" for p in explanation.probabilities),
    )
    console.print(table)
    for parent in explanation.parents[:SHOWN_PARENTS]:
        condition = "" if parent.label is None else f" (given {parent.label} there)"
        console.print()
        console.print(f"What {_named(parent)} says by {parent.kind}{condition}")
        console.print(_contributions(parent.contributions, explanation.labels, top))
    _print_forbidden(console, explanation)
    note = "shares are exact and sum to the probabilities; totals differ by an edge's log odds"
    console.print(styled((f"{kind}: {note}", "dim")))


def _print_remarks(explanation: FactorExplanation, top: int) -> None:
    from skipchain.report.terminal import Terminal, styled

    console = Terminal()
    before, after = explanation.chain.label, explanation.factored.label
    answer = f"{after}, which factors have not changed"
    if explanation.changed:
        answer = f"{after} with factors, {before} without"
    console.print(styled(f"token {explanation.token}, ", (explanation.word, "bold"), f": {answer}"))
    readings = [("without factors", explanation.chain)]
    if explanation.factored.labels != explanation.chain.labels:
        readings.append(("with factors", explanation.factored))
    for title, reading in readings:
        console.print()
        labels = " ".join(reading.labels)
        console.print(styled((title, "bold"), f": tokens from {explanation.start} are {labels}"))
        console.print(_factor_rows(reading, top))
    console.print(styled(("what is added to log-probabilities; the larger total wins", "dim")))


def _factor_rows(reading: CandidateExplanation, top: int) -> Table:
    """What speaks for and against one labelling."""
    from rich.table import Table

    from skipchain.report.terminal import styled

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    table.add_row(f"{reading.score:+.2f}", "log-probability by the chain model")
    for remark in reading.remarks[:top]:
        (_, _, kind, words), (start, _, other, there) = remark.span, remark.other
        named = f"{other or 'another label'} at {start} ({there})"
        text = f"{remark.relation}: {kind or 'another label'} here ({words}), {named}"
        table.add_row(f"{remark.amount:+.2f}", text)
    rest = reading.remarks[top:]
    if rest:
        table.add_row(f"{sum(remark.amount for remark in rest):+.2f}", f"… {len(rest)} more")
    table.add_row(f"{reading.total:+.2f}", styled(("total", "bold")))
    return table


def _named(parent: ExplainedParent) -> str:
    return "itself" if parent.token is None else f"{parent.token} {parent.word}"


def _contributions(parts: Sequence[Contribution], labels: tuple[str, str], top: int) -> Table:
    """What speaks for each label, the strongest first, and the totals."""
    from rich.table import Table

    from skipchain.report.terminal import styled

    table = Table(box=None, pad_edge=False)
    for heading in ("", *labels, "difference"):
        table.add_column(heading, justify="right" if heading else "left", overflow="fold")
    for part in parts[:top]:
        where = " (parent)" if part.kind == "parent" else ""
        table.add_row(part.name + where, *_signed(*part.scores, part.difference))
    rest = parts[top:]
    if rest:
        sums = [sum(part.scores[k] for part in rest) for k in (0, 1)]
        table.add_row(f"… {len(rest)} more", *_signed(*sums, sums[0] - sums[1]))
    totals = [sum(part.scores[k] for part in parts) for k in (0, 1)]
    table.add_row(styled(("total", "bold")), *_signed(*totals, totals[0] - totals[1]))
    return table


def _print_forbidden(console: Terminal, explanation: Explanation | ParentExplanation) -> None:
    for label in explanation.forbidden:
        console.print(f"whatever its total: the scheme does not allow {label} here")


def _signed(*scores: float) -> tuple[str, ...]:
    return tuple(f"{score:+.2f}" for score in scores)
