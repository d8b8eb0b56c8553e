"""``skipchain states``: how many hidden states a model needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from skipchain.cli import options
from skipchain.cli.options import option
from skipchain.errors import SkipchainError


def states(
    files: options.Files,
    model: Annotated[
        str,
        option(
            options.MODEL,
            "iohmm or hrf, with settings such as iohmm:l2=0.1,restarts=3.",
            metavar="SPEC",
        ),
    ] = "iohmm",
    numbers: Annotated[
        str, option(options.MODEL, "The numbers of states to try.", "--states", metavar="LIST")
    ] = "2,4,8",
    folds: Annotated[
        int, option(options.LEARNING, "Folds of the data; each is held out once.", min=2)
    ] = 5,
    features: options.Features = None,
    without: options.Without = None,
    learn_as: options.LearnAs = None,
    assignments: options.Assignments = None,
    seed: options.Seed = None,
    format: options.Format = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    charset: options.Charset = None,
    repair: options.Repair = None,
    max_bytes: options.MaxBytes = None,
    threads: options.LearningThreads = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Choose the number of hidden states by cross-validation, all folds side by side."""
    from skipchain.assembly import build_estimator
    from skipchain.cli.columns import check_left_out, columns_left_out
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.signals import SIGNALS
    from skipchain.cli.waiting import waiting
    from skipchain.corpus.corpus import plural
    from skipchain.models.latent.selection import choose_states

    try:
        wanted = [int(part) for part in numbers.split(",")]
    except ValueError:
        raise SkipchainError(
            f"--states takes whole numbers with commas between them, such as 2,4,8; got {numbers!r}"
        ) from None
    given = options.given_options(learn_as, threads=threads, seed=seed)
    left_out = columns_left_out(without)
    estimator: Any = build_estimator(
        model, features=features, assignments=assignments or (), without=left_out, **given
    )
    if "states" not in estimator.get_params():
        raise SkipchainError(f"{model} has no hidden states; use iohmm or hrf")
    corpus = options.read_corpora(
        files,
        format=format,
        columns=columns,
        separator=separator,
        label=label,
        scheme=scheme,
        charset=charset,
        repair=repair,
        max_bytes=max_bytes,
        quiet=quiet,
        labelled=True,
    )
    check_left_out(left_out, corpus)
    models = plural(folds * len(set(wanted)), "model")
    with compile_notice(quiet=quiet), waiting(f"training {models}", quiet=quiet) as activity:
        choose = partial(choose_states, states=wanted, folds=folds, threads=threads)
        scores = SIGNALS.catch(lambda: choose(estimator, corpus, watch=activity.progress))
    measure = "accuracy" if corpus.scheme is None else "F1"
    if json:
        options.print_json({"measure": measure, "best": scores[0].states, "states": _rows(scores)})
    else:
        _print(scores, measure)


def _rows(scores: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {
            "states": choice.states,
            "score": round(choice.score, 4),
            "spread": round(choice.std, 4),
            "folds": [round(score, 4) for score in choice.scores],
            "whole_sequences": round(
                sum(choice.sequence_accuracies) / len(choice.sequence_accuracies), 4
            ),
            "training": round(sum(choice.training_scores) / len(choice.training_scores), 4),
            "seconds": round(choice.seconds, 3),
        }
        for choice in sorted(scores, key=lambda choice: choice.states)
    ]


def _print(scores: Sequence[Any], measure: str) -> None:
    from rich.table import Table

    from skipchain.report.terminal import Terminal

    table = Table(box=None, pad_edge=False)
    for heading in ("states", measure, "±", "whole sequences", f"training {measure}", "seconds"):
        table.add_column(heading, justify="right")
    for row in _rows(scores):
        best = row["states"] == scores[0].states
        table.add_row(
            str(row["states"]),
            f"{row['score']:.2f}",
            f"{row['spread']:.2f}",
            f"{row['whole_sequences']:.2f}",
            f"{row['training']:.2f}",
            f"{row['seconds']:.1f}",
            style="bold" if best else "",
        )
    console = Terminal()
    console.print(table)
    console.print(f"best: {scores[0].states} states")
