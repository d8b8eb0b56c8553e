"""``skipchain train``: learn a tagger from labelled files."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any
from warnings import catch_warnings

import typer

from skipchain.cli.options import (
    Columns,
    Constraints,
    Dev,
    Encoding,
    Features,
    Format,
    Json,
    Label,
    MinCount,
    Overwrite,
    Quiet,
    Scheme,
    Seed,
    Threads,
    print_json,
    read_corpora,
    require_labels,
    say,
    shared_settings,
)
from skipchain.errors import SkipchainError

if TYPE_CHECKING:
    from skipchain.models.base.estimator import BaseEstimator

MODELS = (
    "crf", "memm", "maxent", "perceptron", "hmm", "mop-memm", "skip-chain-crf", "rbm-crf",
    "iohmm", "hrf",
)  # fmt: skip


def train(
    files: Annotated[
        list[str], typer.Argument(metavar="TRAIN...", help="Labelled files ('-': stdin).")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")
    ],
    dev: Dev = None,
    model: Annotated[str, typer.Option(help=f"The kind of model: {', '.join(MODELS)}.")] = "crf",
    features: Features = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Features with the knowledge that they need: ner-knowledge (lexicons, clusters, "
            "what the document says), or ner-full (also what a first model says).",
        ),
    ] = None,
    lexicons: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="With --recipe: a file of phrases, or a folder of such files; may be repeated "
            "(names and places that come with skipchain; 'none' for no lexicon).",
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --recipe: word clusters (see skipchain brown)."),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="With --recipe: word vectors as text, a word a line."),
    ] = None,
    encoding: Encoding = "bioes",
    min_count: MinCount = 1,
    constraints: Constraints = "decoding",
    dictionary: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Words seen N times or more may only have the labels they were seen with.",
        ),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(help="How many labels back a label depends on: 1 or 2; memm up to 8."),
    ] = None,
    edges: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            help="For mop-memm and skip-chain-crf: what links labels, such as 'previous, "
            "same_word(recent=3), same(lower), links, alone' (previous, same_word(lower=true)).",
        ),
    ] = None,
    orderings: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="For mop-memm: the orders in which documents are gone through: forward, backward, "
            "random(N) (forward, backward).",
        ),
    ] = None,
    mixing: Annotated[
        str | None,
        typer.Option(
            help="For mop-memm: all parents count alike (uniform), or as their kind, distance and "
            "sureness tell (learned) (uniform)."
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Parts that --mixing learned (3), a history (3; 1: gold labels), rbm-crf beside a "
            "kind of model (5), factors (5), or else the first model of ner-full (5) cut the data "
            "into.",
        ),
    ] = None,
    consistency: Annotated[
        bool,
        typer.Option(
            "--consistency", help="With crf, memm or hmm: names keep their type through a document."
        ),
    ] = False,
    factors: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="With crf, memm or hmm: what holds in a document: 'consistency; agreement(stime, "
            "time); last_word(speaker); forbidden(PER, LOC)'.",
        ),
    ] = None,
    penalties: Annotated[
        str | None,
        typer.Option(
            help="With factors: what is not as it should be costs as much as is learned on "
            "documents held out, as is counted in training data (consistency), or as is given "
            "(learned)."
        ),
    ] = None,
    strength: Annotated[
        float | None, typer.Option(help="With factors: what penalties are multiplied by (1).")
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="For rbm-crf: label features, units:offsets, such as '9:0..1; 3:0..7'; with |x "
            "the input switches them, too (6:0..1; 6:0..4).",
        ),
    ] = None,
    borders: Annotated[
        str | None,
        typer.Option(
            help="For rbm-crf: windows that reach beyond a sentence: inside (leave them out), "
            "partial, marked (partial)."
        ),
    ] = None,
    observation: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="For rbm-crf: what the label features stand beside: lr, none, a kind of model "
            "such as crf, or a model file (lr).",
        ),
    ] = None,
    gamma: Annotated[
        float | None, typer.Option(help="For rbm-crf: the power of the model beside (1).")
    ] = None,
    experts: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="For rbm-crf: models of hidden states that learn together with the label "
            "features, kind:states or a model file, such as 'hrf:4; iohmm:2'.",
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            help="For rbm-crf: steps of sampling for a gradient, such as 3, or '1, 500:3' (3)."
        ),
    ] = None,
    agreement: Annotated[
        bool | None,
        typer.Option(
            "--agreement",
            help="For skip-chain-crf: let the features of both ends say whether labels agree.",
        ),
    ] = None,
    damping: Annotated[
        float | None,
        typer.Option(help="For skip-chain-crf: share of the old message in a new one (0)."),
    ] = None,
    max_sweeps: Annotated[
        int | None,
        typer.Option(help="For skip-chain-crf: passes of messages over a document (100)."),
    ] = None,
    states: Annotated[
        int | None, typer.Option(metavar="N", help="For iohmm and hrf: hidden states (4).")
    ] = None,
    restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Random starts, of which the best is kept (iohmm, hrf: 5; rbm-crf: 1).",
        ),
    ] = None,
    em: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For iohmm and hrf: iterations of EM before the likelihood is maximised directly "
            "(40).",
        ),
    ] = None,
    annealing: Annotated[
        float | None,
        typer.Option(help="For iohmm and hrf: the power of the states' distribution at first."),
    ] = None,
    init: Annotated[
        str | None, typer.Option(help="For hrf: begin with an iohmm, or at random weights (iohmm).")
    ] = None,
    bias: Annotated[
        bool | None,
        typer.Option("--bias", help="For iohmm and hrf: a feature that every token has."),
    ] = None,
    optimiser: Annotated[
        str | None,
        typer.Option(
            help="sgd (steps after every sentence, with dropout; what is taken unless told), "
            "adagrad, lbfgs (the optimum of the penalised likelihood), or newton (the same for "
            "small memm and maxent)."
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            help="conditional (whole sequences; mop-memm: each kind of edge by itself), marginal "
            "(single labels; lbfgs), or for mop-memm mixture (all edges together; lbfgs); "
            "skip-chain-crf: piecewise (each kind of edge by itself), or joint (lbfgs)."
        ),
    ] = None,
    l1: Annotated[
        float | None, typer.Option(help="Penalty on Σ|w|; makes small models (lbfgs).")
    ] = None,
    l2: Annotated[
        float | None, typer.Option(help="Penalty on Σw² (0.2; iohmm and hrf 0.005).")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help="Weights for 'observed' (feature, label) pairs only, or for 'all'."),
    ] = None,
    dependent: Annotated[
        bool | None,
        typer.Option("--dependent", help="Let every feature go with the label before too."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data (30, more for little data).")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Size of the first steps.")] = None,
    dropout: Annotated[
        float | None, typer.Option(help="Share of features left out of a step (0.5).")
    ] = None,
    update: Annotated[
        str | None, typer.Option(help="For the perceptron: perceptron, pa, arow.")
    ] = None,
    emissions: Annotated[
        str | None, typer.Option(help="For the hmm: what a label emits, one token or all features.")
    ] = None,
    smoothing: Annotated[
        float | None, typer.Option(help="For the hmm: what is added to every count (0.1).")
    ] = None,
    seed: Seed = None,
    tolerance: Annotated[
        float | None,
        typer.Option(help="lbfgs: stop when the loss falls by less in ten iterations (1e-4)."),
    ] = None,
    max_iterations: Annotated[
        int | None, typer.Option(help="lbfgs: stop after so many iterations at the latest (1000).")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="With --dev: stop after so many iterations without a better score on it."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A model to begin from (warm start).")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    label: Label = None,
    scheme: Scheme = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a tagger from labelled files and write it to a model file.

    Ctrl-C ends training and keeps what has been learnt.
    """
    from skipchain.cli.compiling import compile_notice
    from skipchain.cli.progress import training_display
    from skipchain.modelfile import check_model_target, load_model, save
    from skipchain.models.registry import make_estimator, model_kind

    if patience is not None and not dev:
        raise SkipchainError("--patience needs --dev, the file whose score it watches")
    model_kind(model)
    check_model_target(output, overwrite=overwrite)
    began = time.perf_counter()
    how = {"format": format, "columns": columns, "label": label, "scheme": scheme, "quiet": quiet}
    corpus = read_corpora(files, **how)  # type: ignore[arg-type]
    require_labels(corpus, ", ".join(files))
    held_out = read_corpora(dev, **how) if dev else None  # type: ignore[arg-type]
    if held_out is not None:
        require_labels(held_out, ", ".join(dev or []))
    settings = shared_settings(encoding, min_count, constraints, threads, seed)
    chosen = {
        "dictionary": dictionary,
        "order": order,
        "edges": edges,
        "orderings": orderings,
        "mixing": mixing,
        "folds": folds,
        "agreement": agreement,
        "damping": damping,
        "max_sweeps": max_sweeps,
        "groups": groups,
        "borders": borders,
        "observation": _base_model(observation),
        "gamma": gamma,
        "experts": _parse_experts(experts),
        "steps": steps,
        "states": states,
        "restarts": restarts,
        "em": em,
        "annealing": annealing,
        "init": init,
        "bias": bias,
        "solver": optimiser,
        "objective": objective,
        "l1": l1,
        "l2": l2,
        "pairs": pairs,
        "dependent": dependent,
        "epochs": epochs,
        "rate": rate,
        "dropout": dropout,
        "update": update,
        "emissions": emissions,
        "smoothing": smoothing,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "patience": patience,
    }
    given = {k: v for k, v in chosen.items() if v is not None}
    asked: dict[str, Any] = {"factors": factors, "penalties": penalties, "strength": strength}
    around: dict[str, Any] = {k: v for k, v in asked.items() if v is not None}
    if consistency or factors is not None:
        around |= {name: given.pop(name) for name in ("folds",) if name in given}
    elif around:
        raise SkipchainError(f"--{next(iter(around))} needs --consistency or --factors")
    knowledge = {"lexicons": lexicons or None, "clusters": clusters, "vectors": vectors}
    first: dict[str, Any] = {}
    if recipe == "ner-full":
        shared: dict[str, Any] = {"threads": threads, "epochs": epochs, "seed": seed}
        first = {k: v for k, v in shared.items() if v is not None}
        first |= {name: given.pop(name) for name in ("folds",) if name in given}
    chosen_features = _features(features, recipe, knowledge, first)
    estimator = make_estimator(model, chosen_features, **settings, **given)
    if consistency or factors is not None:
        from skipchain.models.document.estimator import Factored

        if consistency and factors is not None and "consistency" not in factors:
            around["factors"] = f"consistency; {factors}"
        if seed is not None:
            around["seed"] = seed
        estimator = Factored(estimator, threads=threads, **around)
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


def _report(
    estimator: BaseEstimator, output: str, seconds: float, *, json: bool, quiet: bool
) -> None:
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
        read -= {name for source in templates.annotators for name in source.provides}
        if read != {"word"}:
            say(f"it reads the columns {', '.join(sorted(read))}: what it tags must have them")


def _features(
    features: str | None, recipe: str | None, knowledge: dict[str, Any], first: dict[str, Any]
) -> Any:
    """The features, with what they need to know; ``first`` are settings of a first model."""
    if recipe is not None:
        from skipchain.recipes import recipe as make

        if knowledge["lexicons"] == ["none"]:
            knowledge = {**knowledge, "lexicons": ()}
        return make(recipe, features=features, **knowledge, **first)
    named = [name for name, value in knowledge.items() if value]
    if named:
        raise SkipchainError(f"--{named[0]} needs --recipe: ner-knowledge or ner-full")
    return features


def _base_model(observation: str | None) -> Any:
    """A model that is in a file, or what was given."""
    from skipchain.modelfile import is_model_file, load_model

    if observation is None or not is_model_file(observation):
        return observation
    return load_model(observation)


def _parse_experts(experts: str | None) -> list[Any] | None:
    """The parts of a list, those that are in files as models."""
    if experts is None:
        return None
    return [_base_model(part.strip()) for part in experts.split(";") if part.strip()]
