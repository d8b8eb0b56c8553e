"""``skipchain train``: learn a tagger from labelled files."""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings

from skipchain.cli import options
from skipchain.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skipchain.cli.training_data import DataElsewhere, DataHere
    from skipchain.models.base.estimator import BaseEstimator
    from skipchain.models.base.model import AnyModel


def train(
    files: options.Files,
    *,
    dev: options.Dev = None,
    format: options.Format = None,
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
            "The kind of model and its settings, such as memm:order=2,l2=0.5 (see skipchain "
            "models, skipchain models memm).",
            metavar="SPEC",
        ),
    ] = "crf",
    features: options.Features = None,
    without: options.Without = None,
    learn_as: options.LearnAs = None,
    assignments: options.Assignments = None,
    recipe: Annotated[
        str | None,
        option(
            options.KNOWLEDGE,
            "Features with the knowledge that they need: ner-knowledge (lexicons, clusters, "
            "documents) or ner-full (and a stacked model). Files: lexicons=PATH;PATH ([]: none; by "
            "default those of the package), clusters=FILE (see skipchain brown), vectors=FILE.",
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
            "lbfgs:tolerance=1e-5, newton, cg, gd, gis (see skipchain models lbfgs).",
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
    cluster: Annotated[
        str | None,
        option(
            options.LEARNING,
            "Learn on a Ray cluster, whose workers read TRAIN themselves: auto (one that is "
            "running, else one of this machine for this run), or ray://HOST:PORT.",
            metavar="ADDRESS",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option(
            options.LEARNING,
            "With --cluster: how many workers, by default 2, of so many --threads each, by "
            "default 1.",
            metavar="N",
        ),
    ] = None,
    auto: Annotated[
        bool,
        option(
            options.LEARNING,
            "Try settings that suit the data; keep the best on DEV (or on folds).",
            "--auto",
        ),
    ] = False,
    budget: Annotated[
        str | None,
        option(
            options.LEARNING,
            "With --auto: how long, such as 30s or 1h; by default 5m.",
            metavar="TIME",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        option(
            options.LEARNING,
            "Keep the state of training in this file now and then; removed when the model is "
            "written.",
            metavar="FILE",
        ),
    ] = None,
    checkpoint_every: Annotated[
        str | None,
        option(
            options.LEARNING,
            "With --checkpoint: how often, such as 30s, 5m, or 10 (iterations); by default 1m.",
            metavar="WHEN",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        option(
            options.LEARNING,
            "Go on from the checkpoint of a training that was cut off: the same model, bit for "
            "bit. Beside it the rest of the command may be left out.",
            metavar="FILE",
        ),
    ] = None,
    scratch: Annotated[
        str | None,
        option(
            options.LEARNING,
            "Learn more data than memory holds, by files in this folder.",
            metavar="FOLDER",
        ),
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
    from skipchain.cli.checkpoints import check_checkpoint, checkpoint_of, end_checkpoint
    from skipchain.cli.columns import columns_left_out
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.from_disk import scratch_of
    from skipchain.cli.searching import check_search, search
    from skipchain.cli.signals import SIGNALS
    from skipchain.cli.training_data import DataHere, cluster_of, read_data
    from skipchain.modelfile import check_model_target, save
    from skipchain.tagger import load

    check_model_target(output, overwrite=overwrite)
    check_search(auto, budget, start)
    check_checkpoint(checkpoint, resume, checkpoint_every, output, auto=auto)
    elsewhere = cluster_of(cluster, workers, threads, auto=auto)
    began = time.perf_counter()
    factors = _with_consistency(factors) if consistency else factors
    left_out = columns_left_out(without)
    settings: dict[str, Any] = {
        **{"model": model, "features": features, "recipe": recipe, "solver": solver},
        **{"factors": factors, "assignments": assignments or (), "without": left_out},
        **options.given_options(learn_as, epochs=epochs, l2=l2, seed=seed, threads=threads),
    }
    estimator = build_estimator(**settings)
    how = {
        "format": format, "columns": columns, "separator": separator, "label": label,
        "scheme": scheme, "charset": charset, "repair": repair, "max_bytes": max_bytes,
        "quiet": quiet,
        "labelled": True,
    }  # fmt: skip
    files_of_state = (checkpoint, resume, checkpoint_every)
    with (
        checkpoint_of(*files_of_state, overwrite=overwrite, quiet=quiet) as kept,
        scratch_of(scratch, auto=auto, cluster=cluster) as room,
    ):
        if room is not None:
            estimator.check(scratch=room)
        data = read_data(elsewhere, files, dev, left_out, how, room)
        begin_with = None if start is None else load(start).model
        fitting = {**data.fitting, "start": begin_with, "checkpoint": kept}
        estimator.check(**{name: own for name, own in fitting.items() if name != "cluster"})
        data.tell_needs(estimator, settings, quiet=quiet)
        searched: dict[str, Any] = {}
        with (
            compile_notice(quiet=quiet),
            catch_warnings(action="ignore") if quiet else nullcontext(),
        ):
            if auto and isinstance(data, DataHere):
                find = partial(search, data.corpus, data.held_out, budget, settings, quiet=quiet)
                found = SIGNALS.catch(find)
                estimator, searched = found.estimator, {"auto": found.as_dict()}
            else:
                learn = partial(_learn, estimator, data, fitting, quiet=quiet)
                estimator = SIGNALS.catch(learn)
        save(estimator.model_, output, overwrite=overwrite)
        if kept is not None:
            end_checkpoint(kept, output, estimator.result_.reason, quiet=quiet)
    seconds = time.perf_counter() - began
    if json:
        answer = {**_answer(estimator, output, seconds), **data.answer(estimator)}
        options.print_json({**answer, **searched})
    elif not quiet:
        _report(estimator, output, seconds)
        if not auto:
            data.advise(settings)


def _with_consistency(factors: str | None) -> str:
    """The factors with that of consistency, if it is not among them."""
    if "consistency" in (factors or ""):
        return str(factors)
    return f"consistency; {factors}" if factors else "consistency"


def _learn(
    estimator: BaseEstimator, data: DataHere | DataElsewhere, how: Mapping[str, Any], *, quiet: bool
) -> BaseEstimator:
    """The estimator, fitted, ``how`` as `fit` takes it; shown as it learns unless ``quiet``."""
    from skipchain.cli.progress import training_display

    with nullcontext() if quiet else training_display(estimator) as display:
        estimator, source = data.prepared(estimator, display)
        return estimator.fit(source, progress=display, **how)


def _answer(estimator: Any, output: str, seconds: float) -> dict[str, Any]:
    """What was learnt, as JSON has it."""
    fitted, result = estimator.model_, estimator.result_
    score = fitted.summary["dev"]
    return {
        "model": output,
        "labels": list(fitted.output.names),
        "features": fitted.features.n_features + fitted.features.n_edge_features,
        "weights": fitted.n_nonzero,
        "iterations": result.iterations,
        "loss": result.loss,
        "stopped": result.reason,
        "dev": None if score is None else round(score, 4),
        "measure": _measure(fitted),
        "seconds": round(seconds, 3),
    }


def _measure(model: AnyModel) -> str:
    """What the score of a model is, as the answer as JSON names it."""
    from skipchain.models.base.held_out import counts_spans

    return "f1" if counts_spans(model) else "accuracy"


def _report(estimator: Any, output: str, seconds: float) -> None:
    """Say what was learnt."""
    from skipchain.corpus.corpus import plural

    fitted = estimator.model_
    score = fitted.summary["dev"]
    measure = "F1" if _measure(fitted) == "f1" else "accuracy"
    held = "" if score is None else f"; dev {measure} {score:.2f}"
    options.say(
        f"wrote {output}: {plural(fitted.features.n_features, 'feature')}, "
        f"{plural(fitted.n_nonzero, 'weight')}{held}; {seconds:.1f} s"
    )
    if fitted.n_nonzero == 0:
        options.say("Warning: no weight is learnt; are these the words and labels that are meant?")
    elif len(fitted.output.names) == 1:
        only = fitted.output.names[0]
        options.say(f"Warning: there is one label alone, {only!r}; are the columns right?")
