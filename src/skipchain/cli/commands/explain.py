"""``skipchain explain``: why a token has one label and not another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skipchain.cli.options import (
    Charset,
    Columns,
    Format,
    Json,
    Label,
    MaxBytes,
    OneModel,
    Repair,
    Scheme,
    Separator,
    print_json,
    read_corpora,
    unread,
)
from skipchain.cli.waiting import waiting
from skipchain.errors import SkipchainError
from skipchain.watching import watched

if TYPE_CHECKING:
    from skipchain.corpus import Corpus


def explain(
    token: Annotated[
        str,
        typer.Option(
            metavar="TOKEN",
            help="Which token: its number, or a word that is there once. Numbers begin at 0 and go "
            "through the whole input, or with --sentence through that sentence. A number "
            "beyond the last token is a word; for another word that is a number write =1984.",
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
            help="The sentence, counted from 0, in which --token is counted or looked for; without "
            "it that is the whole input. The answer tells the token in both ways.",
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
    separator: Separator = None,
    label: Label = None,
    scheme: Scheme = None,
    charset: Charset = None,
    repair: Repair = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Show what decides between two labels at a token: active features, weights, totals.

    Of a model whose labels are linked across documents: which tokens the label comes from, and how
    much of its probability each of them gives. Of a model with factors: what these add to and take
    from the chain's label. The labels are those that the model learnt, in its encoding (see:
    skipchain inspect).
    """
    from skipchain.cli.compiling import compile_notice
    from skipchain.io.text import parse_plain
    from skipchain.report.terminal import Terminal
    from skipchain.tagger import load

    if (text is None) == (file is None):
        raise SkipchainError("give --text or --file, one of them")
    tagger = load(model)
    if file is not None:
        corpus = read_corpora(
            [file],
            format=format,
            columns=columns,
            separator=separator,
            charset=charset,
            label=label,
            scheme=unread(scheme, repair),
            repair=repair,
            max_bytes=max_bytes,
        )
    elif text is not None and text.strip():
        corpus = parse_plain(text)
    else:
        raise SkipchainError("--text is empty; there is no token to explain")
    pair = None if labels is None else [label.strip() for label in labels.split(",")]
    told = waiting("explaining", plain=False)
    with compile_notice(), told as activity, watched(activity.progress):
        explanation = tagger.explain(
            corpus, _token(token, corpus, sentence), labels=pair, sentence=sentence
        )
    if json:
        answer = explanation.as_dict()
        for part in answer.get("parents", [answer]):
            if "contributions" in part:
                part["contributions"] = part["contributions"][:top]
        print_json(answer)
    else:
        explanation.sheet(top).print(Terminal())


def _token(text: str, corpus: Corpus, sentence: int | None) -> int | str:
    """The number of a token, or a word; also a number beyond the last token that is a word."""
    if text.startswith("=") and len(text) > 1:
        return text[1:]
    try:
        number = int(text)
    except ValueError:
        return text
    inside = sentence is not None and 0 <= sentence < len(corpus)
    looked_at = corpus[sentence : sentence + 1] if inside and sentence is not None else corpus
    return text if number >= looked_at.n_tokens and text in looked_at.words.tolist() else number
