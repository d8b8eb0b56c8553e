"""``skipchain train``: learn a tagger from labelled files."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Annotated, Any
from warnings import catch_warnings

import typer

from skipchain.cli.options import (
    KNOWLEDGE,
    LEARNING,
    MODEL,
    OUTPUT,
    Assignments,
    Columns,
    Dev,
    Features,
    Files,
    Format,
    Json,
    Label,
    LearnAs,
    LearningThreads,
    Overwrite,
    Quiet,
    Scheme,
    Seed,
    given_options,
    print_json,
    read_corpora,
    require_labels,
    say,
)


def train(
    files: Files,
    *,
    dev: Dev = None,
    format: Format = None,
    columns: Columns = None,
    label: Label = None,
    scheme: Scheme = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="The kind of model and its settings, such as memm:order=2,l2=0.5 (skipchain "
            "models lists the kinds, skipchain models memm the settings).",
            rich_help_panel=MODEL,
        ),
    ] = "crf",
    features: Features = None,
    learn_as: LearnAs = None,
    assignments: Assignments = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Features with the knowledge that they need: ner-knowledge (lexicons, clusters, "
            "what the document says) or ner-full (also what a stacked model says). Files: "
            "lexicons=PATH;PATH ([] for none; by default names and places that come with the "
            "package), clusters=FILE (see skipchain brown), vectors=FILE.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    consistency: Annotated[
        bool,
        typer.Option(
            "--consistency",
            help="With crf, memm or hmm: names keep their type through a document.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = False,
    factors: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="With crf, memm or hmm: what holds in a document: 'consistency; agreement(stime, "
            "time); last_word(speaker); forbidden(PER, LOC)'.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="How weights are learnt, with settings: sgd:dropout=0.2, adagrad, "
            "lbfgs:tolerance=1e-5, newton (skipchain models lbfgs lists them).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="Passes over the data; by default 30, more for little data.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="Penalty on Σw²; by default 0.2, for iohmm and hrf 0.005.",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    seed: Seed = None,
    threads: LearningThreads = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A model file to begin from (warm start).",
            rich_help_panel=LEARNING,
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="The model file to write.",
            rich_help_panel=OUTPUT,
        ),
    ],
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a tagger from labelled files and write it to a model file.

    A SPEC is a name with settings: NAME:SETTING=VALUE,SETTING=VALUE. Commas in brackets or in
    double quotation marks belong to a value. Ctrl-C ends training and keeps what has been learnt.
    """
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.progress import training_display
    from skipchain.modelfile import check_model_target, load_model, save
    from skipchain.recipes import build_estimator

    check_model_target(output, overwrite=overwrite)
    began = time.perf_counter()
    if consistency and "consistency" not in (factors or ""):
        factors = f"consistency; {factors}" if factors else "consistency"
    estimator = build_estimator(
        model,
        features=features,
        recipe=recipe,
        solver=solver,
        factors=factors,
        assignments=assignments or (),
        **given_options(learn_as, epochs=epochs, l2=l2, seed=seed, threads=threads),
    )
    how = {"format": format, "columns": columns, "label": label, "scheme": scheme, "quiet": quiet}
    corpus = read_corpora(files, **how)  # type: ignore[arg-type]
    require_labels(corpus, ", ".join(files))
    held_out = read_corpora(dev, **how) if dev else None  # type: ignore[arg-type]
    if held_out is not None:
        require_labels(held_out, ", ".join(dev or []))
    watched = nullcontext() if quiet else training_display(estimator)
    warned = catch_warnings(action="ignore") if quiet else nullcontext()
    with compile_notice(quiet=quiet), warned, watched as display:
        estimator, corpus = estimator.fit_annotators(corpus, display)
        estimator.fit(
            corpus,
            dev=held_out,
            start=None if start is None else load_model(start),
            progress=display,
        )
    save(estimator.model_, output, overwrite=overwrite)
    _report(estimator, output, time.perf_counter() - began, json=json, quiet=quiet)


def _report(estimator: Any, output: str, seconds: float, *, json: bool, quiet: bool) -> None:
    """Say what was learnt."""
    from skipchain.corpus.corpus import plural

    fitted, result = estimator.model_, estimator.result_
    score = fitted.summary["dev"]
    if json:
        print_json(
            {
                "model": output,
                "labels": list(fitted.labels),
                "features": fitted.features.n_features + fitted.features.n_edge_features,
                "weights": fitted.n_nonzero,
                "iterations": result.iterations,
                "loss": result.loss,
                "stopped": result.reason,
                "dev": None if score is None else round(score, 4),
                "seconds": round(seconds, 3),
            }
        )
    elif not quiet:
        held = "" if score is None else f"; dev {score:.2f}"
        say(
            f"wrote {output}: {plural(fitted.features.n_features, 'feature')}, "
            f"{plural(fitted.n_nonzero, 'weight')}{held}; {seconds:.1f} s"
        )
        templates = fitted.features.templates
        read = templates.columns
        read -= {name for annotator in templates.annotators for name in annotator.provides}
        if read != {"word"}:
            say(f"it reads the columns {', '.join(sorted(read))}: what it tags must have them")
