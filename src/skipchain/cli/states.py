"""``skipchain states``: how many hidden states a model needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skipchain.cli.options import (
    Columns,
    Constraints,
    Encoding,
    Features,
    Format,
    Json,
    Label,
    MinCount,
    Quiet,
    Scheme,
    Seed,
    Threads,
    print_json,
    read_corpora,
    require_labels,
    shared_settings,
)
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.models.latent.selection import StateCountScore


def states(
    files: Annotated[
        list[str], typer.Argument(metavar="TRAIN...", help="Labelled files ('-': stdin).")
    ],
    model: Annotated[
        str,
        typer.Option(
            metavar="SPEC", help="iohmm or hrf, with settings such as iohmm:l2=0.1,restarts=3."
        ),
    ] = "iohmm",
    numbers: Annotated[
        str, typer.Option("--states", metavar="LIST", help="The numbers of states to try.")
    ] = "2,4,8",
    folds: Annotated[
        int, typer.Option(min=2, help="Parts that the data are cut into; each is held out once.")
    ] = 5,
    features: Features = None,
    encoding: Encoding = "bioes",
    min_count: MinCount = 1,
    constraints: Constraints = "decoding",
    seed: Seed = None,
    format: Format = None,
    columns: Columns = None,
    label: Label = None,
    scheme: Scheme = None,
    threads: Threads = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose the number of hidden states by cross-validation, all folds side by side."""
    from skipchain.cli.compiling import compile_notice
    from skipchain.comparison.entry import Entry
    from skipchain.models.latent.estimator import LatentEstimator
    from skipchain.models.latent.selection import choose_states

    try:
        wanted = [int(part) for part in numbers.split(",")]
    except ValueError:
        raise SkipchainError(
            f"--states takes whole numbers with commas between them, such as 2,4,8; got {numbers!r}"
        ) from None
    common = shared_settings(encoding, min_count, constraints, threads, seed)
    if features is not None:
        common["features"] = features
    estimator = Entry.of(model).estimator(common)
    if not isinstance(estimator, LatentEstimator):
        raise SkipchainError(f"{model} has no hidden states; use iohmm or hrf")
    corpus = read_corpora(
        files, format=format, columns=columns, label=label, scheme=scheme, quiet=quiet
    )
    require_labels(corpus, ", ".join(files))
    with compile_notice(quiet=quiet):
        found = choose_states(estimator, corpus, states=wanted, folds=folds, threads=threads)
    measure = "accuracy" if corpus.scheme is None else "F1"
    if json:
        print_json({"measure": measure, "best": found[0].states, "states": _rows(found)})
    else:
        _print(found, measure)


def _rows(found: list[StateCountScore]) -> list[dict[str, Any]]:
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
        for choice in sorted(found, key=lambda choice: choice.states)
    ]


def _print(found: list[StateCountScore], measure: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("states", measure, "±", "whole sequences", f"training {measure}", "seconds"):
        table.add_column(heading, justify="right")
    for row in _rows(found):
        best = row["states"] == found[0].states
        table.add_row(
            str(row["states"]),
            f"{row['score']:.2f}",
            f"{row['spread']:.2f}",
            f"{row['whole_sequences']:.2f}",
            f"{row['training']:.2f}",
            f"{row['seconds']:.1f}",
            style="bold" if best else "",
        )
    console = Console(file=sys.stdout, highlight=False)
    console.print(table)
    console.print(f"best: {found[0].states} states")
