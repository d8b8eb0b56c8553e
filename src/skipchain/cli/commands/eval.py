"""``skipchain eval``: how good a model, or a file of predictions, is."""

from __future__ import annotations

import json as jsonlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli import options
from skipchain.cli.options import option
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.metrics import Evaluation, Mistake
    from skipchain.report.terminal import Terminal
    from skipchain.tagger import Tagger


MISTAKE_FORMATS = ("html", "jsonl", "text")
SHOWN_MISTAKES = 10  # of each kind, on the screen
ADVICE = "; --limit 0 lists all, -o mistakes.html makes a page of them"


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
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Show scores with partial credit too: strict, exact, partial, type."
        ),
    ] = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="Show the scores and the accuracy of each label too.")
    ] = False,
    errors: Annotated[
        bool,
        typer.Option(
            "--errors", help="List the mistakes by kind: boundary, type, both, missed, spurious."
        ),
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="With --errors: how many of each kind; by default 10 on the screen, in files and "
            "JSON all (0).",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        option(
            options.OUTPUT,
            "Write the mistakes of --errors to a file: .html, .jsonl or .txt.",
            "--output",
            "-o",
            metavar="OUT",
        ),
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="95 % bootstrap interval of F1, over documents.")
    ] = False,
    format: options.Format = None,
    columns: options.Columns = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    max_bytes: options.MaxBytes = None,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Score a model on a labelled file, or predicted labels against gold ones."""
    from skipchain.metrics import confusion_table, find_mistakes, render
    from skipchain.metrics import evaluate as measure

    write = _mistake_writer(output, limit, errors=errors, overwrite=overwrite)
    steps = options.decoding(decoder, beam)
    how = {
        "format": format, "columns": columns, "label": label, "scheme": scheme,
        "max_bytes": max_bytes,
    }  # fmt: skip
    began = time.perf_counter()
    without = None
    model, file = options.model_and_file(first, second)
    if model is None or options.names_model(first) or file is None:
        if file is None:
            raise SkipchainError(f"give a labelled file to score {model} on")
        tagger = _tagger(model, threads, samples, moves)
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
    mistakes = find_mistakes(gold, predicted, strict=strict) if errors else ()
    if write is not None:
        write(mistakes)
    if json:
        alone = {} if before is None else {"without_factors": before.as_dict()}
        listed = _listed(mistakes, limit) if errors and write is None else {}
        answer = {**evaluation.as_dict(), **alone, **listed, "seconds": round(seconds, 4)}
        options.print_json(answer)
        return
    from skipchain.report.terminal import Terminal

    console = Terminal()
    console.print(render(evaluation))
    if confusion:
        console.print(confusion_table(evaluation.tokens, width=console.width))
    _print_tables(console, evaluation, labels=labels, partial=partial)
    if before is not None and before.consistency is not None:
        console.print(
            f"without factors: F1 {before.f1:.2f}, consistency {before.consistency.percent:.2f}"
        )
    console.print(f"{gold.n_tokens:,} tokens in {seconds:.2f} s")
    if errors and write is None:
        _print_mistakes(console, mistakes, limit)


def _tagger(
    model: str | None, threads: int | None, samples: int | None, moves: str | None
) -> Tagger:
    from skipchain.tagger import load

    tagger = load(model, threads=threads)
    if samples is not None:
        tagger = tagger.with_samples(samples)
    return tagger if moves is None else tagger.with_moves(moves)


def _print_tables(console: Terminal, scores: Evaluation, *, labels: bool, partial: bool) -> None:
    from skipchain.metrics import label_table, partial_table

    if labels:
        console.print(f"\n{label_table(scores.tokens)}\n", soft_wrap=True)
    if partial and scores.partial is not None:
        start = "" if labels else "\n"
        console.print(f"{start}{partial_table(scores.partial)}\n", soft_wrap=True)


def _print_mistakes(console: Terminal, mistakes: Sequence[Mistake], limit: int | None) -> None:
    from skipchain.metrics import mistakes_text

    shown = SHOWN_MISTAKES if limit is None else limit or None
    text = mistakes_text(mistakes, limit=shown, advice=ADVICE)
    console.print(f"\n{text}", soft_wrap=True)


def _listed(mistakes: Sequence[Mistake], limit: int | None) -> dict[str, Any]:
    from skipchain.metrics import count_mistakes
    from skipchain.metrics.mistakes import first_of_each_kind

    chosen = first_of_each_kind(mistakes, limit or None)
    errors = [mistake.as_dict() for mistake in chosen]
    return {"errors": errors, "error_counts": count_mistakes(mistakes)}


def _mistake_writer(
    output: str | None, limit: int | None, *, errors: bool, overwrite: bool
) -> Callable[[Sequence[Mistake]], None] | None:
    """What writes mistakes to the output, which is checked before anything is scored."""
    from skipchain.io.files import check_target, write_text
    from skipchain.io.formats import ENDINGS, ending

    if not errors and (output is not None or limit is not None):
        raise SkipchainError("--limit and -o are about mistakes; use them with --errors")
    if output is None:
        return None
    format = {**ENDINGS, ".txt": "text"}.get(ending(output))
    if format not in MISTAKE_FORMATS:
        there = "a page (.html), JSON lines (.jsonl) or text (.txt)"
        advice = "name a file that ends so; without -o they are printed"
        raise SkipchainError(f"{output}: mistakes are written as {there}; {advice}")
    check_target(output, overwrite)

    def write(mistakes: Sequence[Mistake]) -> None:
        from skipchain.metrics import mistakes_page, mistakes_text
        from skipchain.metrics.mistakes import first_of_each_kind

        if format == "html":
            text = mistakes_page(mistakes, limit=limit or None)
        elif format == "text":
            text = mistakes_text(mistakes, limit=limit or None) + "\n"
        else:
            chosen = first_of_each_kind(mistakes, limit or None)
            records = (jsonlib.dumps(own.as_dict(), ensure_ascii=False) for own in chosen)
            text = "".join(f"{record}\n" for record in records)
        write_text(output, text, overwrite=overwrite)

    return write
