"""``skipchain induce``: find conjunctions of templates' views that help."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Annotated, Any
from warnings import catch_warnings

from skipchain.cli import options
from skipchain.cli.options import option
from skipchain.errors import SkipchainError


def induce(
    files: options.Files,
    *,
    start: Annotated[
        str,
        option(
            options.MODEL,
            "The templates to start from: a standard set (ner, chunk, pos …), a file of "
            "templates, or template text.",
            "--from",
            metavar="TEMPLATES",
        ),
    ],
    output: Annotated[
        str,
        option(
            options.OUTPUT,
            "The template file to write ('-': stdout), for skipchain train --features.",
            "--output",
            "-o",
            metavar="FILE",
        ),
    ],
    dev: Annotated[
        list[str] | None,
        option(
            options.DATA,
            "Labelled file by which rounds are judged; by default folds of TRAIN.",
            metavar="DEV",
        ),
    ] = None,
    format: Annotated[
        str | None,
        option(
            options.DATA,
            "The input's format (conll, conllu, jsonl, inline, opennlp, brat); by default "
            "recognised by ending and content.",
            "--format",
            metavar="FORMAT",
        ),
    ] = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    charset: options.Charset = None,
    repair: options.Repair = None,
    max_bytes: options.MaxBytes = None,
    model: Annotated[
        str,
        option(
            options.MODEL,
            "The model that is trained in every round, crf or maxent, with settings.",
            metavar="SPEC",
        ),
    ] = "crf:epochs=5,dropout=0.5",
    learn_as: options.LearnAs = None,
    assignments: options.Assignments = None,
    rounds: Annotated[int, option(options.LEARNING, "The most rounds.", min=1)] = 6,
    per_round: Annotated[
        int, option(options.LEARNING, "The most conjunctions that a round adds.", "--add", min=1)
    ] = 8,
    longest: Annotated[
        int, option(options.LEARNING, "The most views in a conjunction.", min=2, max=10)
    ] = 3,
    folds: Annotated[
        int, option(options.LEARNING, "Parts of the data; each is held out once a round.", min=2)
    ] = 2,
    shrinkage: Annotated[
        float,
        option(
            options.LEARNING,
            "The penalty on new weights while gains are estimated; small values favour rare "
            "features.",
            min=0.0,
        ),
    ] = 10.0,
    prune: Annotated[
        bool,
        option(
            options.LEARNING,
            "Whether templates that do not help are left out in the end.",
            "--prune/--no-prune",
        ),
    ] = True,
    seed: options.Seed = None,
    threads: options.LearningThreads = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find conjunctions of templates' views that help, and write them as templates.

    Candidates are ranked by what they add to the likelihood of held-out tokens; the best are added,
    the model is trained anew, and so on. Ctrl-C ends the search and keeps what has been found.
    """
    from skipchain.assembly import build_estimator
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.signals import SIGNALS
    from skipchain.cli.waiting import waiting
    from skipchain.induction import induce as search
    from skipchain.io.files import STDIO, check_target, write_text

    if json and output == STDIO:
        raise SkipchainError("--json and the templates cannot both go to stdout; give -o a file")
    if output != STDIO:
        check_target(output, overwrite)
    began = time.perf_counter()
    given = options.given_options(learn_as, seed=seed, threads=threads)
    estimator: Any = build_estimator(model, assignments=assignments or (), **given)
    how: dict[str, Any] = {
        "format": format, "columns": columns, "separator": separator, "label": label,
        "scheme": scheme, "charset": charset, "repair": repair, "max_bytes": max_bytes,
        "quiet": quiet,
        "labelled": True,
    }  # fmt: skip
    corpus, held_out = (
        options.read_corpora(paths, **how) if paths else None for paths in (files, dev)
    )
    assert corpus is not None
    held_out = None if held_out is None else options.as_in(held_out, corpus.scheme)
    warned = catch_warnings(action="ignore") if quiet else nullcontext()
    with compile_notice(quiet=quiet), waiting("searching", quiet=quiet) as activity, warned:
        found = SIGNALS.catch(
            lambda: search(
                corpus,
                start,
                model=estimator,
                dev=held_out,
                rounds=rounds,
                per_round=per_round,
                longest=longest,
                folds=folds,
                shrinkage=shrinkage,
                prune=prune,
                say=None if quiet else options.say,
                watch=activity.progress,
            )
        )
    write_text(output, found.text, overwrite=overwrite)
    seconds = time.perf_counter() - began
    if json:
        options.print_json({"output": output, **found.as_dict(), "seconds": round(seconds, 3)})
    elif not quiet:
        score = "" if found.best is None else f", held-out {found.measure} {found.best.score:.2f}"
        options.say(
            f"wrote {output}: {len(found.templates.templates)} templates{score} "
            f"({found.stopped}); {seconds:.1f} s"
        )
