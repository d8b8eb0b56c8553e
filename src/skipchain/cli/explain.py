"""``skipchain explain``: why a token has one label and not another."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import Columns, Format, Json, OneModel, Scheme, print_json, read_corpora
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from skipchain.corpus import Corpus
    from skipchain.models.chain.explain import Contribution, Explanation
    from skipchain.models.chain.model import ChainModel
    from skipchain.models.document.explain import CandidateExplanation, FactorExplanation
    from skipchain.models.graph.explain import ExplainedParent, ParentExplanation

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
            help="The two labels to compare; the predicted one and the runner-up unless told.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many contributions to show.")] = 20,
    json: Json = False,
    format: Format = None,
    columns: Columns = None,
    scheme: Scheme = None,
) -> None:
    """Show what decides between two labels at a token: active features, weights, totals.

    Of a model whose labels are linked across documents: which tokens the label comes from, and how
    much of its probability each of them gives. Of a model with factors: what these had to object to
    the chain's own label. The labels are the model's own, in the encoding it
    learnt (see: skipchain inspect).
    """
    from skipchain.io.text import parse_plain
    from skipchain.models.chain.explain import Explanation
    from skipchain.models.chain.model import ChainModel
    from skipchain.models.document.explain import FactorExplanation
    from skipchain.models.graph.explain import ParentExplanation
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
    if isinstance(tagger.model, ChainModel):
        found = tagger.explain(_chosen(corpus, sentence), _token(token), labels=pair)
    else:
        found = tagger.explain(corpus, _within(corpus, sentence, _token(token)), labels=pair)
    if json:
        answer = found.as_dict()
        for part in answer.get("parents", [answer]):
            if "contributions" in part:
                part["contributions"] = part["contributions"][:top]
        print_json(answer)
    elif isinstance(found, FactorExplanation):
        _print_objections(found, top)
    elif isinstance(found, ParentExplanation):
        _print_parents(found, tagger.model.kind, top)
    else:
        assert isinstance(tagger.model, ChainModel)
        assert isinstance(found, Explanation)
        _print(found, tagger.model, top)


def _chosen(corpus: Corpus, sentence: int | None) -> Corpus:
    if sentence is None:
        return corpus
    if not 0 <= sentence < len(corpus):
        raise SkipchainError(f"there is no sentence {sentence}; there are {len(corpus)}, from 0 on")
    return corpus[sentence : sentence + 1]


def _within(corpus: Corpus, sentence: int | None, token: int | str) -> int | str:
    """The token of a sentence, counted through the whole input, which the model has to see."""
    from skipchain.models.chain.explain import token_index

    if sentence is None:
        return token
    own = _chosen(corpus, sentence)
    return int(corpus.sentences[sentence]) + token_index(own, token, own.n_tokens)


def _token(given: str) -> int | str:
    if given.startswith("=") and len(given) > 1:
        return given[1:]
    try:
        return int(given)
    except ValueError:
        return given


def _print(found: Explanation, model: ChainModel, top: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    console.print(
        Text.assemble(
            f"token {found.token}, ",
            (found.word or "", "bold"),
            f": {found.predicted}, between ",
            f"{found.previous or '<start>'} and {found.following or '<end>'}",
        )
    )
    table = _contributions(found.contributions, found.labels, top)
    if model.probabilistic:
        table.add_row("probability", *(f"{p:.3f}" for p in found.probabilities), "")
    console.print(table)
    _print_forbidden(console, found)
    console.print(Text(f"{model.kind}: {_meaning(model)}", style="dim"))


def _print_parents(found: ParentExplanation, kind: str, top: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    console.print(
        Text.assemble(f"token {found.token}, ", (found.word, "bold"), f": {found.predicted}")
    )
    table = Table(box=None, pad_edge=False)
    for heading in ("from", "edge", "its label", "weight", *found.labels):
        left = heading in ("from", "edge", "its label")
        table.add_column(Text(heading), justify="left" if left else "right", overflow="fold")
    for parent in found.parents[:top]:
        own = "" if parent.label is None else f"{parent.label} {parent.probability:.3f}"
        table.add_row(
            Text(_named(parent)),
            Text(parent.kind),
            Text(own),
            f"{parent.weight:.3f}",
            *(f"{share:.3f}" for share in parent.shares),
        )
    rest = found.parents[top:]
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
        Text("probability", style="bold"), "", "", "", *(f"{p:.3f}" for p in found.probabilities)
    )
    console.print(table)
    for parent in found.parents[:SHOWN_PARENTS]:
        given = "" if parent.label is None else f" (given {parent.label} there)"
        console.print()
        console.print(Text(f"What {_named(parent)} says by {parent.kind}{given}"))
        console.print(_contributions(parent.contributions, found.labels, top))
    _print_forbidden(console, found)
    told = "shares are exact and sum to the probabilities; totals differ by an edge's log odds"
    console.print(Text(f"{kind}: {told}", style="dim"))


def _print_objections(found: FactorExplanation, top: int) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    before, after = found.chain.label, found.factored.label
    told = f"{after}, which factors have not changed"
    if found.changed:
        told = f"{after} with factors, {before} without"
    console.print(Text.assemble(f"token {found.token}, ", (found.word, "bold"), f": {told}"))
    readings = [("without factors", found.chain)]
    if found.factored.labels != found.chain.labels:
        readings.append(("with factors", found.factored))
    for title, reading in readings:
        console.print()
        labels = " ".join(reading.labels)
        console.print(Text.assemble((title, "bold"), f": tokens from {found.start} are {labels}"))
        console.print(_factor_rows(reading, top))
    console.print(Text("what is added to log-probabilities; the larger total wins", style="dim"))


def _factor_rows(reading: CandidateExplanation, top: int) -> Table:
    """What speaks for and against one labelling."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    table.add_row(f"{reading.score:+.2f}", "log-probability by the chain model")
    for remark in reading.remarks[:top]:
        (_, _, kind, words), (start, _, other, told) = remark.span, remark.other
        named = f"{other or 'another label'} at {start} ({told})"
        text = f"{remark.relation}: {kind or 'another label'} here ({words}), {named}"
        table.add_row(f"{remark.amount:+.2f}", Text(text))
    rest = reading.remarks[top:]
    if rest:
        table.add_row(f"{sum(own.amount for own in rest):+.2f}", f"… {len(rest)} more")
    table.add_row(f"{reading.total:+.2f}", Text("total", style="bold"))
    return table


def _named(parent: ExplainedParent) -> str:
    return "itself" if parent.token is None else f"{parent.token} {parent.word}"


def _contributions(parts: Sequence[Contribution], labels: tuple[str, str], top: int) -> Table:
    """What speaks for each label, the strongest first, and the totals."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", *labels, "difference"):
        table.add_column(Text(heading), justify="right" if heading else "left", overflow="fold")
    for part in parts[:top]:
        where = " (parent)" if part.kind == "parent" else ""
        table.add_row(Text(part.name + where), *_signed(*part.scores, part.difference))
    rest = parts[top:]
    if rest:
        sums = [sum(part.scores[k] for part in rest) for k in (0, 1)]
        table.add_row(f"… {len(rest)} more", *_signed(*sums, sums[0] - sums[1]))
    totals = [sum(part.scores[k] for part in parts) for k in (0, 1)]
    table.add_row(Text("total", style="bold"), *_signed(*totals, totals[0] - totals[1]))
    return table


def _print_forbidden(console: Console, found: Explanation | ParentExplanation) -> None:
    from rich.text import Text

    for label in found.forbidden:
        console.print(Text(f"whatever its total: the scheme does not allow {label} here"))


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
