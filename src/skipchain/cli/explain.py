"""``skipchain explain``: why a token has one label and not another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import Columns, Format, Json, Scheme, print_json, read_corpora
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.corpus import Corpus
    from skipchain.models.chain import ChainModel
    from skipchain.models.explain import Explanation


def explain(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    token: Annotated[
        str,
        typer.Option(
            metavar="TOKEN", help="Which token: its number, counted from 0, or a word that is there"
            " once. Write =1984 for a word that is a number."
        ),
    ],
    text: Annotated[str | None, typer.Option(help="The text that the token stands in.")] = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file instead of a text ('-': stdin).")
    ] = None,
    sentence: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Count tokens in this sentence, itself counted from 0; "
            "else through the whole input."
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="The two labels to compare; the predicted one and the runner-up unless told.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many contributions to show.")] = 20,
    json: Json = False,
    format: Format = None,
    columns: Columns = None,
    scheme: Scheme = None,
) -> None:  # fmt: skip
    """Show what decides between two labels at a token: active features, weights, totals.

    The labels are the model's own, in the encoding it learnt (see: skipchain inspect).
    """
    from skipchain.io.text import parse_plain
    from skipchain.tagger import load

    if (text is None) == (file is None):
        raise SkipchainError("give --text or --file, one of them")
    tagger = load(model)
    if file is not None:
        corpus = read_corpora([file], format=format, columns=columns, scheme=scheme)
    elif text is not None and text.strip():
        corpus = parse_plain(text)
    else:
        raise SkipchainError("--text is empty; there is no token to explain")
    pair = None if labels is None else [label.strip() for label in labels.split(",")]
    found = tagger.explain(_chosen(corpus, sentence), _token(token), labels=pair)
    if json:
        answer = found.as_dict()
        answer["contributions"] = answer["contributions"][:top]
        print_json(answer)
    else:
        _print(found, tagger.model, top)


def _chosen(corpus: Corpus, sentence: int | None) -> Corpus:
    if sentence is None:
        return corpus
    if not 0 <= sentence < len(corpus):
        raise SkipchainError(f"there is no sentence {sentence}; there are {len(corpus)}, from 0 on")
    return corpus[sentence : sentence + 1]


def _token(given: str) -> int | str:
    if given.startswith("=") and len(given) > 1:
        return given[1:]
    try:
        return int(given)
    except ValueError:
        return given


def _print(found: Explanation, model: ChainModel, top: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    first, second = found.labels
    console.print(
        Text.assemble(
            f"token {found.token}, ", (found.word or "", "bold"), f": {found.predicted}, between ",
            f"{found.previous or '<start>'} and {found.following or '<end>'}",
        )
    )  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for heading in ("", first, second, "difference"):
        table.add_column(Text(heading), justify="right" if heading else "left", overflow="fold")
    for part in found.contributions[:top]:
        table.add_row(Text(part.name), *_signed(*part.scores, part.difference))
    rest = found.contributions[top:]
    if rest:
        sums = [sum(part.scores[k] for part in rest) for k in (0, 1)]
        table.add_row(f"… {len(rest)} more", *_signed(*sums, sums[0] - sums[1]))
    totals = found.totals
    table.add_row(Text("total", style="bold"), *_signed(*totals, totals[0] - totals[1]))
    if model.probabilistic:
        table.add_row("probability", *(f"{p:.3f}" for p in found.probabilities), "")
    console.print(table)
    for label in found.forbidden:
        console.print(Text(f"whatever its total: the scheme does not allow {label} here"))
    console.print(Text(f"{model.kind}: {_meaning(model)}", style="dim"))


def _meaning(model: ChainModel) -> str:
    """What the difference of the totals is."""
    if not model.probabilistic:
        return (
            "the difference of the totals is by how much one label's score is above the other's "
            "given the labels around; scores of this model are no probabilities"
        )
    told = "the difference of the totals is the log odds of the two labels"
    if not model.local:
        return f"{told} given the labels around"
    given = "" if model.kind == "maxent" else f" given the label{'s' * (model.order > 1)} before"
    return f"{told}{given}; the normaliser is the same for both and left out"


def _signed(*scores: float) -> tuple[str, ...]:
    return tuple(f"{score:+.2f}" for score in scores)
