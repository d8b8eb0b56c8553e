"""``skipchain eval``: how good a model, or a file of predictions, is."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from skipchain.cli.options import (
    Beam,
    Columns,
    Decoder,
    Format,
    Json,
    Label,
    Scheme,
    Threads,
    decoding,
    print_json,
    read_corpora,
    require_labels,
)
from skipchain.errors import SkipchainError


def evaluate(
    first: Annotated[
        str, typer.Argument(metavar="MODEL|GOLD", help="A model file, or the gold labels.")
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="FILE|PREDICTED", help="The file to tag, or the predicted labels."),
    ],
    decoder: Decoder = None,
    beam: Beam = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Count only well-formed spans; otherwise conlleval's rules."),
    ] = False,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Show the confusion matrix too.")
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="95 % bootstrap interval of F1, over documents.")
    ] = False,
    format: Format = None,
    columns: Columns = None,
    label: Label = None,
    scheme: Scheme = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Score a model on a labelled file, or predicted labels against gold ones."""
    from skipchain.metrics import confusion_table, render
    from skipchain.metrics import evaluate as measure
    from skipchain.modelfile import is_model_file

    steps = decoding(decoder, beam)
    how = {"format": format, "columns": columns, "label": label, "scheme": scheme}
    began = time.perf_counter()
    if is_model_file(first):
        from skipchain.tagger import load

        tagger = load(first, threads=threads)
        tagger.model.check_decoder(**steps)
        gold = read_corpora([second], **how)  # type: ignore[arg-type]
        require_labels(gold, second)
        predicted = tagger.predict(gold, **steps).corpus
    elif decoder is not None or beam is not None:
        raise SkipchainError(
            f"--decoder and --beam need a model, but {first} is none: labels in a file are compared"
            " as they are"
        )
    else:
        gold = read_corpora([first], **how)  # type: ignore[arg-type]
        require_labels(gold, first)
        predicted = read_corpora([second], **how)  # type: ignore[arg-type]
        require_labels(predicted, second)
    evaluation = measure(gold, predicted, strict=strict, intervals=intervals)
    seconds = time.perf_counter() - began
    if json:
        print_json({**evaluation.as_dict(), "seconds": round(seconds, 4)})
        return
    from rich.console import Console

    console = Console(file=sys.stdout)
    console.print(render(evaluation))
    if confusion:
        console.print(confusion_table(evaluation.tokens, width=console.width))
    console.print(f"{gold.n_tokens:,} tokens in {seconds:.2f} s", highlight=False)
