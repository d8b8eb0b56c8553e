"""``skipchain train``: learn a tagger from labelled files."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Annotated, Any
from warnings import catch_warnings

from skipchain.cli import options
from skipchain.cli.options import option


def train(
    files: options.Files,
    *,
    dev: options.Dev = None,
    format: options.Format = None,
    columns: options.Columns = None,
    label: options.Label = None,
    scheme: options.Scheme = None,
    max_bytes: options.MaxBytes = None,
    model: Annotated[
        str,
        option(
            options.MODEL,
            "The kind of model and its settings, such as memm:order=2,l2=0.5 (skipchain "
            "models lists the kinds, skipchain models memm the settings).",
            metavar="SPEC",
        ),
    ] = "crf",
    features: options.Features = None,
    learn_as: options.LearnAs = None,
    assignments: options.Assignments = None,
    recipe: Annotated[
        str | None,
        option(
            options.KNOWLEDGE,
            "Features with the knowledge that they need: ner-knowledge (lexicons, clusters, "
            "what the document says) or ner-full (also what a stacked model says). Files: "
            "lexicons=PATH;PATH ([] for none; by default names and places that come with the "
            "package), clusters=FILE (see skipchain brown), vectors=FILE.",
            metavar="SPEC",
        ),
    ] = None,
    consistency: Annotated[
        bool,
        option(
            options.KNOWLEDGE,
            "With crf, memm or hmm: names keep their type through a document.",
            "--consistency",
        ),
    ] = False,
    factors: Annotated[
        str | None,
        option(
            options.KNOWLEDGE,
            "With crf, memm or hmm: what holds in a document: 'consistency; agreement(stime, "
            "time); last_word(speaker); forbidden(PER, LOC)'.",
            metavar="LIST",
        ),
    ] = None,
    solver: Annotated[
        str | None,
        option(
            options.LEARNING,
            "How weights are learnt, with settings: sgd:dropout=0.2, adagrad, "
            "lbfgs:tolerance=1e-5, newton, cg, gd, gis (skipchain models lbfgs lists them).",
            metavar="SPEC",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        option(options.LEARNING, "Passes over the data; by default 30, more for little data."),
    ] = None,
    l2: Annotated[
        float | None,
        option(options.LEARNING, "Penalty on Σw²; by default 0.2, for iohmm and hrf 0.005."),
    ] = None,
    seed: options.Seed = None,
    threads: options.LearningThreads = None,
    start: Annotated[
        str | None,
        option(options.LEARNING, "A model file to begin from (warm start).", metavar="MODEL"),
    ] = None,
    output: Annotated[
        str, option(options.OUTPUT, "The model file to write.", "--output", "-o", metavar="MODEL")
    ],
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a tagger from labelled files and write it to a model file.

    A SPEC is a name with settings: NAME:SETTING=VALUE,SETTING=VALUE. Commas in brackets or in
    double quotation marks belong to a value. Ctrl-C ends training and keeps what has been learnt.
    """
    from skipchain.assembly import build_estimator
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.progress import training_display
    from skipchain.cli.signals import SIGNALS
    from skipchain.modelfile import check_model_target, save
    from skipchain.tagger import load

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
        **options.given_options(learn_as, epochs=epochs, l2=l2, seed=seed, threads=threads),
    )
    how = {
        "format": format, "columns": columns, "label": label, "scheme": scheme,
        "max_bytes": max_bytes, "quiet": quiet,
    }  # fmt: skip
    corpus = options.read_corpora(files, **how)  # type: ignore[arg-type]
    options.require_labels(corpus, ", ".join(files))
    held_out = options.read_corpora(dev, **how) if dev else None  # type: ignore[arg-type]
    if held_out is not None:
        options.require_labels(held_out, ", ".join(dev or []))
    watched = nullcontext() if quiet else training_display(estimator)
    warned = catch_warnings(action="ignore") if quiet else nullcontext()
    begin_with = None if start is None else load(start).model
    estimator.check(dev=held_out, start=begin_with)

    def fit() -> None:
        nonlocal estimator
        estimator, annotated = estimator.fit_annotators(corpus, display)
        estimator.fit(annotated, dev=held_out, start=begin_with, progress=display)

    with compile_notice(quiet=quiet), warned, watched as display:
        SIGNALS.catch(fit)
    save(estimator.model_, output, overwrite=overwrite)
    _report(estimator, output, time.perf_counter() - began, json=json, quiet=quiet)


def _report(estimator: Any, output: str, seconds: float, *, json: bool, quiet: bool) -> None:
    """Say what was learnt."""
    from skipchain.corpus.corpus import plural

    fitted, result = estimator.model_, estimator.result_
    score = fitted.summary["dev"]
    if json:
        options.print_json(
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
        options.say(
            f"wrote {output}: {plural(fitted.features.n_features, 'feature')}, "
            f"{plural(fitted.n_nonzero, 'weight')}{held}; {seconds:.1f} s"
        )
        templates = fitted.features.templates
        read = templates.columns
        read -= {name for annotator in templates.annotators for name in annotator.provides}
        if read != {"word"}:
            options.say(
                f"it reads the columns {', '.join(sorted(read))}: what it tags must have them"
            )
