"""``skipchain eval``: how good a model, or a file of predictions, is."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from skipchain.cli import options
from skipchain.errors import SkipchainError


def evaluate(
    first: Annotated[
        str, typer.Argument(metavar="MODEL|GOLD", help="A model file, or the gold labels.")
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|PREDICTED",
            help="The file to tag, or the predicted labels; one labelled file alone is tagged by "
            "the English model that comes with the package.",
            show_default=False,
        ),
    ] = None,
    decoder: options.Decoder = None,
    beam: options.Beam = None,
    samples: options.Samples = None,
    moves: options.Moves = None,
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
    format: options.Format = None,
    columns: options.Columns = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    max_bytes: options.MaxBytes = None,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Score a model on a labelled file, or predicted labels against gold ones."""
    from skipchain.metrics import confusion_table, render
    from skipchain.metrics import evaluate as measure

    steps = options.decoding(decoder, beam)
    how = {
        "format": format, "columns": columns, "label": label, "scheme": scheme,
        "max_bytes": max_bytes,
    }  # fmt: skip
    began = time.perf_counter()
    without = None
    model, file = options.model_and_file(first, second)
    if model is None or options.names_model(first) or file is None:
        from skipchain.tagger import load

        if file is None:
            raise SkipchainError(f"give a labelled file to score {model} on")
        tagger = load(model, threads=threads)
        if samples is not None:
            tagger = tagger.with_samples(samples)
        if moves is not None:
            tagger = tagger.with_moves(moves)
        tagger.model.check_decoder(**steps)
        gold = options.read_corpora([file], **how)  # type: ignore[arg-type]
        options.require_labels(gold, file)
        predicted = tagger.predict(gold, **steps).corpus
        chain = tagger.without_factors(decoder)
        without = None if chain is None else chain.predict(gold).corpus
    elif any(option is not None for option in (decoder, beam, samples, moves)):
        raise SkipchainError(
            f"--decoder, --beam, --samples and --moves need a model, but {first} is none: labels "
            "in a file are compared as they are"
        )
    else:
        gold = options.read_corpora([first], **how)  # type: ignore[arg-type]
        options.require_labels(gold, first)
        predicted = options.read_corpora([file], **how)  # type: ignore[arg-type]
        options.require_labels(predicted, file)
    evaluation = measure(gold, predicted, strict=strict, intervals=intervals)
    seconds = time.perf_counter() - began
    before = None if without is None else measure(gold, without, strict=strict)
    if json:
        alone = {} if before is None else {"without_factors": before.as_dict()}
        options.print_json({**evaluation.as_dict(), **alone, "seconds": round(seconds, 4)})
        return
    from skipchain.report.terminal import Terminal

    console = Terminal()
    console.print(render(evaluation))
    if confusion:
        console.print(confusion_table(evaluation.tokens, width=console.width))
    if before is not None and before.consistency is not None:
        console.print(
            f"without factors: F1 {before.f1:.2f}, consistency {before.consistency.percent:.2f}"
        )
    console.print(f"{gold.n_tokens:,} tokens in {seconds:.2f} s")
