"""Estimators as commands describe them: specifications, settings by name, recipes, factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skipchain.errors import ParameterError
from skipchain.features.templates import Templates
from skipchain.modelfile import is_model_file, load_model
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.registry import default_features, make_estimator
from skipchain.models.specification import (
    Specification,
    check_settings,
    merge_settings,
    parse_setting,
    settings_of,
    solver_settings,
    solvers_of,
)

RECIPE_SETTINGS: Mapping[str, Any] = {"lexicons": None, "clusters": None, "vectors": None}
"""What both recipes read from files; ner-full has ``folds`` and the settings of a CRF, too."""
NOT_FACTOR_SETTINGS = ("base", "factors", "seed", "threads")  # they have options of their own
NEEDS = {
    "factors": "--consistency or --factors",
    "recipe": "--recipe, such as --recipe ner-knowledge",
}
"""The options by which parts of an estimator come in that it does not always have."""


def build_estimator(
    model: str = "crf",
    *,
    features: str | None = None,
    recipe: str | None = None,
    solver: str | None = None,
    factors: str | None = None,
    assignments: Sequence[str] = (),
    without: Sequence[str] = (),
    **options: Any,
) -> BaseEstimator:
    """The estimator that specifications describe, as ``skipchain train`` takes them.

    ``model``, ``solver`` and ``recipe`` are specifications (see `Specification`); ``factors`` go
    around the model. ``assignments`` are texts ``name=value``, each for the one part that has the
    name; where several have it, ``model.name``, ``solver.name``, ``factors.name`` or
    ``recipe.name`` says which. Features do not see the columns ``without``.
    ``options`` are settings of the model; ``seed`` and ``threads`` are those of all parts, and
    ``epochs`` of a stacked model, too.

    >>> build_estimator("memm:order=2", features="word", assignments=["l2=0.5"])
    MEMM(features='word', order=2, l2=0.5)
    """
    parsed = Specification.of_model(model)
    assigned = assign(assignments, parsed.kind, recipe, factors)
    shared = {k: v for k, v in options.items() if k in ("seed", "threads") and v is not None}
    settings = merge_settings(
        [
            ("--model", parsed.settings),
            ("--solver", {} if solver is None else solver_settings(solver, parsed.kind)),
            ("--set", assigned["model"]),
            *((_option(name), {name: value}) for name, value in options.items()),
            *([] if features is None else [("--features", {"features": features})]),
        ]
    )
    for name, value in options.items():
        check_settings({name: value}, settings_of(parsed.kind), parsed.kind, _option(name))
    templates = settings.pop("features", None)
    if without:
        templates = without_columns(templates, without, parsed.kind, recipe)
    if recipe is not None:
        stacked = {k: options[k] for k in ("epochs",) if k in options} | shared
        templates = _recipe_templates(recipe, templates, assigned["recipe"], stacked)
    estimator = make_estimator(parsed.kind, templates, **with_model_files(settings))
    if factors is None:
        return estimator
    around = merge_settings([("--seed and --threads", shared), ("--set", assigned["factors"])])
    from skipchain.models.document.estimator import Factored

    return Factored(estimator, factors=factors, **around)


def assign(
    assignments: Sequence[str], kind: str, recipe: str | None, factors: str | None
) -> dict[str, dict[str, Any]]:
    """The values of ``name=value`` texts by the part that has the name: model, factors or recipe.

    >>> assign(["l2=1", "folds=2"], "perceptron", "ner-full", None)["recipe"]
    {'l2': 1, 'folds': 2}
    """
    if not assignments:
        return {"model": {}, "factors": {}, "recipe": {}}
    from skipchain.models.document.estimator import Factored

    own = {k: v for k, v in Factored.parameters().items() if k not in NOT_FACTOR_SETTINGS}
    parts = {"model": settings_of(kind), "factors": own, "recipe": _recipe_settings(recipe)}
    absent = {k for k, v in {"factors": factors, "recipe": recipe}.items() if v is None}
    assigned: dict[str, dict[str, Any]] = {part: {} for part in parts}
    for text in assignments:
        name, value = parse_setting(text)
        part, dot, plain = name.partition(".")
        if dot and part == "solver":
            known = {k: v for solver in solvers_of(kind) for k, v in solver.settings().items()}
            check_settings({plain: value}, known, f"the solver of {kind}", f"--set {text}")
            part = "model"  # which takes the settings of its solver
        if dot and part in parts:
            owners, name = [part], plain
        else:
            owners = _owners(name, parts, absent)
        if owners and owners[0] in absent:
            raise ParameterError(f"--set {text}: {name} needs {NEEDS[owners[0]]}")
        if len(owners) > 1:
            raise ParameterError(
                f"--set {text}: {' and '.join(owners)} both have a setting {name!r}; say which: "
                + " or ".join(f"--set {owner}.{text}" for owner in owners)
            )
        owner = owners[0] if owners else "model"
        every = {k: v for part in parts if part not in absent for k, v in parts[part].items()}
        known = parts[owner] if dot else {**every, **parts[owner]}
        check_settings({name: value}, known, kind if owner == "model" else owner, f"--set {text}")
        if name in assigned[owner]:
            raise ParameterError(f"--set {text}: {name} is given twice; leave one out")
        assigned[owner][name] = value
    return assigned


def shared_settings(assignments: Iterable[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that several models are to share, from ``name=value`` texts and options.

    >>> shared_settings(["min_count=2"], {"seed": 3})
    {'min_count': 2, 'seed': 3}
    """
    parts = [("--set", dict([parse_setting(text)])) for text in assignments]
    return merge_settings([*parts, *((_option(name), {name: options[name]}) for name in options)])


def without_columns(
    features: Any, columns: Sequence[str], kind: str, recipe: str | None = None
) -> Templates:
    """Features without those that read some columns; None: what the kind or the recipe has.

    >>> without_columns("word\\npos", ["pos"], "crf").text
    'word'
    """
    if features is not None:
        return Templates.of(features).without(*columns)
    if recipe is None:
        return Templates.of(default_features(kind)).without(*columns)
    from skipchain.recipes import words_only

    return words_only().without(*columns)


def with_model_files(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the models of files that they name where a model is wanted."""
    loaded = dict(settings)
    if "observation" in loaded:
        loaded["observation"] = _model_file(loaded["observation"])
    if "experts" in loaded:
        experts = loaded["experts"]
        parts = experts.split(";") if isinstance(experts, str) else experts
        loaded["experts"] = list(map(_model_file, parts))
    return loaded


def _model_file(part: Any) -> Any:
    """The model in a file, or what is no model file as it is."""
    named = isinstance(part, str) and is_model_file(part.strip())
    return load_model(part.strip()) if named else part


def _recipe_templates(
    text: str, features: Any, assigned: Mapping[str, Any], shared: Mapping[str, Any]
) -> Templates:
    """The features of a recipe; ``shared`` are settings that a stacked model takes over."""
    from skipchain.recipes import FULL, RECIPES, recipe

    parsed = Specification.parse(text)
    if parsed.kind in RECIPES:
        check_settings(parsed.settings, _recipe_settings(text), f"recipe {parsed.kind}", text)
    settings = merge_settings([("--recipe", parsed.settings), ("--set", assigned)])
    if isinstance(lexicons := settings.get("lexicons", ""), str) and lexicons:
        settings["lexicons"] = [part.strip() for part in lexicons.split(";")]
    elif lexicons is None:
        settings["lexicons"] = ()
    if parsed.kind == FULL:
        settings = {**shared, **settings}
    return recipe(parsed.kind, features=features, **settings)


def _recipe_settings(text: str | None) -> dict[str, Any]:
    """The settings of a recipe; without one, those that any of them has."""
    from skipchain.recipes import FULL

    if text is None or Specification.parse(text).kind != FULL:
        return dict(RECIPE_SETTINGS)
    stacked = {k: v for k, v in settings_of("crf").items() if k != "features"}
    return {**RECIPE_SETTINGS, "folds": 5, **stacked}


def _owners(name: str, parts: Mapping[str, Mapping[str, Any]], absent: Iterable[str]) -> list[str]:
    """The parts that have a setting: those that there are, or else one that is absent.

    A stacked model is meant only by what no other part has.
    """
    owners = [part for part, known in parts.items() if name in known]
    present = [part for part in owners if part not in absent]
    if len(present) > 1 and name not in (*RECIPE_SETTINGS, "folds"):
        present = [part for part in present if part != "recipe"]
    return present or owners[:1]


def _option(name: str) -> str:
    return {"encoding": "--learn-as"}.get(name, f"--{name}")
