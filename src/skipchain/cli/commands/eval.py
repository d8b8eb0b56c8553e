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
    from skipchain.corpus import Corpus
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
    separator: options.Separator = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    charset: options.Charset = None,
    repair: options.Repair = None,
    map_types: options.Map = None,
    only: options.Only = None,
    max_bytes: options.MaxBytes = None,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score a model on a labelled file, or predicted labels against gold ones."""
    from skipchain.cli.mapping import apply_map, check_map, map_as_dict
    from skipchain.cli.waiting import waiting
    from skipchain.corpus import LabelMap
    from skipchain.metrics import evaluate as measure
    from skipchain.metrics import find_mistakes

    names = LabelMap.parse(map_types, only)
    write = _mistake_writer(output, limit, errors=errors, overwrite=overwrite)
    steps = options.decoding(decoder, beam)
    how: dict[str, Any] = {
        "format": format, "columns": columns, "separator": separator, "label": label,
        "scheme": scheme, "charset": charset, "repair": repair, "max_bytes": max_bytes,
        "quiet": quiet,
    }  # fmt: skip
    began = time.perf_counter()
    without = None
    model, file = options.model_and_file(first, second)
    if model is None or options.names_model(first) or file is None:
        if file is None:
            raise SkipchainError(f"give a labelled file to score {model} on")
        tagger = options.load_tagger(model, threads, samples, moves)
        tagger.model.check_decoder(**steps)
        gold = _gold_of(tagger, file, how)
        check_map(names, {file: gold}, tagger.model, quiet=quiet)
        predicted, without = _predicted(tagger, gold, steps, quiet=quiet)
    elif any(option is not None for option in (decoder, beam, samples, moves)):
        raise SkipchainError(
            f"--decoder, --beam, --samples and --moves need a model, but {first} is none: labels "
            "in a file are compared as they are"
        )
    else:
        gold = _labelled(first, how)
        # Predictions are compared as they are: spans are read from broken labels, too.
        predicted = options.as_in(_labelled(file, {**how, "repair": bool(repair)}), gold.scheme)
        check_map(names, {first: gold, file: predicted})
    both = {"gold": gold, "predicted": predicted}
    gold, predicted = apply_map(names, both, quiet=quiet).values()
    without = None if without is None else names.apply(without)
    with waiting("scoring", quiet=quiet):
        evaluation = measure(gold, predicted, strict=strict, intervals=intervals)
    seconds = time.perf_counter() - began
    before = None if without is None else measure(gold, without, strict=strict)
    mistakes = find_mistakes(gold, predicted, strict=strict) if errors else ()
    if write is not None:
        write(mistakes)
    if json:
        alone = {} if before is None else {"without_factors": before.as_dict()}
        listed = _listed(mistakes, limit) if errors and write is None else {}
        answer = {**evaluation.as_dict(), **map_as_dict(names, both), **alone, **listed}
        options.print_json({**answer, "seconds": round(seconds, 4)})
        return
    from skipchain.report.terminal import Terminal

    console = Terminal()
    _print_scores(console, evaluation, confusion=confusion, labels=labels, partial=partial)
    if before is not None and before.consistency is not None:
        console.print(f"without factors: {_in_short(before)}")
    console.print(f"{gold.n_tokens:,} tokens in {seconds:.2f} s")
    if errors and write is None:
        _print_mistakes(console, mistakes, limit)


def _in_short(scores: Evaluation) -> str:
    """F1, and consistency where a name recurs."""
    same = None if scores.consistency is None else scores.consistency.percent
    return f"F1 {scores.f1:.2f}" + ("" if same is None else f", consistency {same:.2f}")


def _labelled(path: str, how: dict[str, Any], otherwise: str | None = None) -> Corpus:
    """The corpus in a file that must have labels; ``otherwise`` is as for `read_corpora`."""
    return options.read_corpora([path], **how, labelled=True, otherwise=otherwise)


def _gold_of(tagger: Tagger, file: str, how: dict[str, Any]) -> Corpus:
    """The corpus of gold labels, which must be of the model's kind."""
    from skipchain.label_columns import check_gold

    scheme = tagger.model.scheme
    gold = options.as_in(_labelled(file, how, scheme), scheme)
    check_gold(gold, tagger.model, file)
    return gold


def _predicted(
    tagger: Tagger, gold: Corpus, steps: dict[str, Any], *, quiet: bool
) -> tuple[Corpus, Corpus | None]:
    """The predicted labels, and where there are factors those of the chain alone."""
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.waiting import waiting
    from skipchain.watching import watched

    told = waiting(f"tagging {gold.n_tokens:,} tokens", quiet=quiet)
    with compile_notice(quiet=quiet), told as activity, watched(activity.progress):
        chain = tagger.without_factors(steps["decoder"])
        predicted = tagger.predict(gold, **steps).corpus
        return predicted, None if chain is None else chain.predict(gold).corpus


def _print_scores(
    console: Terminal, scores: Evaluation, *, confusion: bool, labels: bool, partial: bool
) -> None:
    from skipchain.metrics import confusion_table, label_table, partial_table, render

    console.print(render(scores))
    if confusion:
        console.print(confusion_table(scores.tokens, width=console.width))
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
