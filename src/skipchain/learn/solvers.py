"""Solvers: how weights are learnt, as objects whose settings can be read, compared and searched.

A solver says what to do, not how: `skipchain.chains.learn` and the families of models do it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from skipchain.checks import check_choice, check_integer, check_number, nearest
from skipchain.errors import ParameterError

ALL, OBSERVED = PAIRS = "all", "observed"
LEAST = {
    "epochs": 1, "patience": 1, "period": 1, "max_iterations": 1, "restarts": 1, "m_steps": 1,
    "batch": 1, "passes": 0, "em": 0, "momentum_from": 0, "folds": 2,
}  # fmt: skip
"""Settings that are whole numbers of at least so much, or None where that is the default."""
BELOW = {"dropout": 1.0, "bundle_dropout": 1.0, "momentum": 1.0}
ENDS_AT_ONCE: Mapping[str, Any] = {"max_iterations": 1, "patience": None}
NUMBERS = (*BELOW, "rate", "prune", "l1", "tolerance", "decay", "average_from", "spread")
"""Settings that are numbers of at least 0, some of them below a limit."""


@dataclass(frozen=True)
class Solver:
    """A way to learn; its fields are its settings."""

    name: ClassVar[str]
    warmup: ClassVar[Mapping[str, Any]] = {}
    """The settings with which it ends as soon as it can."""
    default_pairs: ClassVar[str] = OBSERVED
    default_prune: ClassVar[float] = 0.0

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """Refuse settings that there are not, with the names of those that are most like them."""
        for name in settings:
            if name not in cls.settings():
                hint = nearest(name, cls.settings())
                raise ParameterError(f"{cls.__name__} has no setting {name!r}; {hint}")
        return super().__new__(cls)

    @classmethod
    def settings(cls) -> dict[str, Any]:
        """The names of all settings, with their defaults."""
        return {own.name: own.default for own in fields(cls) if own.init}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in self.settings()}

    def check(self) -> None:
        """Refuse settings that make no sense."""
        for name, default in self.settings().items():
            value = getattr(self, name)
            if name in LEAST and (value is not None or default is not None):
                check_integer(name, value, least=LEAST[name])
            elif name in NUMBERS and (value is not None or default is not None):
                check_number(name, value, below=BELOW.get(name, math.inf))
            elif name == "pairs" and value is not None:
                check_choice(name, value, PAIRS)
            elif isinstance(default, bool) and not isinstance(value, bool):
                raise ParameterError(f"{name} must be true or false, got {value!r}")

    def for_warmup(self) -> Self:
        """The same solver, but it ends as soon as it can."""
        return replace(self, **self.warmup)

    def without_patience(self) -> Self:
        """The same solver, but it watches no held-out data."""
        return replace(self, **({"patience": None} if "patience" in self.settings() else {}))

    @property
    def observed(self) -> bool:
        """Whether only (feature, label) pairs that occur have weights."""
        return (getattr(self, "pairs", None) or self.default_pairs) == OBSERVED

    @property
    def smallest_weight(self) -> float:
        """The size below which a feature's weight is dropped at the end."""
        prune: float | None = getattr(self, "prune", None)
        return self.default_prune if prune is None else prune

    @property
    def stopping(self) -> dict[str, Any]:
        """When a descent is to end, as `skipchain.learn.descent.descend` takes it by name."""
        return {k: getattr(self, k) for k in ("max_iterations", "tolerance", "period")}

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, default in self.settings().items()
            if getattr(self, name) != default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(frozen=True, repr=False)
class Automatic(Solver):
    """The data decide: SGD, but L-BFGS for features given as matrices and where SGD cannot.

    Parameters
    ----------
    pairs, prune, patience
        As for `SGD`.
    """

    name = "automatic"

    pairs: str | None = None
    prune: float | None = None
    patience: int | None = None
    short: bool = field(default=False, init=False)
    """Whether the solver that is taken is to end as soon as it can."""

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self.as_solver(SGD).check()

    def for_warmup(self) -> Self:
        """The same, but the solver that is taken ends as soon as it can."""
        short = replace(self, patience=None)
        object.__setattr__(short, "short", True)
        return short

    def without_patience(self) -> Self:
        """The same solver, but it watches no held-out data."""
        return self.for_warmup() if self.short else replace(self, patience=None)

    def as_solver(self, kind: type[Solver]) -> Solver:
        """The settings given, as those of a solver that has them."""
        given = {k: v for k, v in self.get_params().items() if v is not None}
        solver = kind(**{k: v for k, v in given.items() if k in kind.settings()})
        return solver.for_warmup() if self.short else solver


@dataclass(frozen=True, repr=False)
class SGD(Solver):
    """Steps after every sequence, with dropout; the average of the late epochs' weights.

    The most accurate where features are many.

    Parameters
    ----------
    epochs
        Passes over the data. None: 30, more for little data.
    rate
        The size of the first steps; it falls to a third.
    dropout
        The share of features left out of a step. None: 0.5, less for little data or few features.
    bundle_dropout
        The share of words left out of a step with all features that follow from them.
    pairs
        ``all``: weights for all (feature, label) pairs; ``observed``: for those that occur. None:
        all for SGD, observed for the other solvers.
    prune
        The size below which a feature's weight is dropped at the end. None: 0.01 for SGD and
        AdaGrad, 0 for the other solvers.
    patience
        With a development set: training ends after this many epochs without a better score on it,
        once it is above 0, and the best weights are kept. None: the score is only reported.
    """

    name = "sgd"
    default_pairs = ALL
    default_prune = 0.01
    warmup: ClassVar[Mapping[str, Any]] = {"epochs": 1, "patience": None}

    epochs: int | None = None
    rate: float = 0.05
    dropout: float | None = None
    bundle_dropout: float = 0.1
    pairs: str | None = None
    prune: float | None = None
    patience: int | None = None

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        if self.rate == 0:
            raise ParameterError("rate must be above 0, or nothing is learnt")


@dataclass(frozen=True, repr=False)
class AdaGrad(SGD):
    """The steps of `SGD` with a rate for each weight, by how far it has moved already.

    Parameters
    ----------
    epochs, rate, dropout, bundle_dropout, pairs, prune, patience
        As for `SGD`.
    """

    name = "adagrad"
    default_pairs = OBSERVED

    rate: float = 0.1


@dataclass(frozen=True, repr=False)
class LBFGS(Solver):
    """The optimum of the penalised likelihood, as CRFsuite finds it.

    Parameters
    ----------
    l1
        The penalty ``l1 · Σ|w|``, as CRFsuite's c1; it makes small models.
    tolerance, period
        Learning ends when the loss falls by less than ``tolerance`` (relative) in ``period``
        iterations.
    max_iterations
        The most iterations.
    passes
        Stochastic passes over the data before the first iteration: they come near the optimum
        sooner. None: 8 for a smooth likelihood of at least 2,000 sequences, else none.
    pairs, prune
        As for `SGD`.
    patience
        With a development set: learning ends after this many iterations without a better score on
        it, once it is above 0, and the best weights are kept. None: the score is only reported.
    """

    name = "lbfgs"
    warmup: ClassVar[Mapping[str, Any]] = {**ENDS_AT_ONCE, "passes": 0}

    l1: float = 0.0
    tolerance: float = 1e-4
    period: int = 10
    max_iterations: int = 1000
    passes: int | None = None
    pairs: str | None = None
    prune: float | None = None
    patience: int | None = None


@dataclass(frozen=True, repr=False)
class Newton(Solver):
    """The optimum to the last digit in a few steps: MEMM and MaxEnt with up to 3,000 weights.

    Parameters
    ----------
    max_iterations
        The most iterations.
    pairs, prune, patience
        As for `LBFGS`.
    """

    name = "newton"
    warmup: ClassVar[Mapping[str, Any]] = ENDS_AT_ONCE

    max_iterations: int = 1000
    pairs: str | None = None
    prune: float | None = None
    patience: int | None = None


@dataclass(frozen=True, repr=False)
class ConjugateGradient(Solver):
    """The optimum of the penalised likelihood, by conjugate gradients (Polak and Ribière).

    Parameters
    ----------
    tolerance, period, max_iterations, pairs, prune, patience
        As for `LBFGS`.
    """

    name = "cg"
    warmup: ClassVar[Mapping[str, Any]] = ENDS_AT_ONCE

    tolerance: float = 1e-4
    period: int = 10
    max_iterations: int = 1000
    pairs: str | None = None
    prune: float | None = None
    patience: int | None = None


@dataclass(frozen=True, repr=False)
class GradientDescent(ConjugateGradient):
    """Steps along the gradient of the penalised likelihood, halved until the loss falls; slow.

    Parameters
    ----------
    tolerance, period, max_iterations, pairs, prune, patience
        As for `LBFGS`.
    """

    name = "gd"


@dataclass(frozen=True, repr=False)
class GIS(Solver):
    """Generalised iterative scaling of the likelihood without a penalty: MEMM and MaxEnt; slow.

    Feature values must not be below 0, and what training does not show has no weight.

    Parameters
    ----------
    tolerance, period, max_iterations, prune, patience
        As for `LBFGS`.
    """

    name = "gis"
    warmup: ClassVar[Mapping[str, Any]] = ENDS_AT_ONCE

    tolerance: float = 1e-4
    period: int = 10
    max_iterations: int = 1000
    prune: float | None = None
    patience: int | None = None


@dataclass(frozen=True, repr=False)
class EM(Solver):
    """For hidden states: EM from several random starts, then L-BFGS on the likelihood itself.

    Parameters
    ----------
    restarts
        Random starts. After EM and 50 direct steps the worse half of them is given up.
    em, m_steps
        Iterations of EM before the likelihood is maximised directly, and the most L-BFGS steps of
        each of its M-steps.
    annealing
        The power, below 1, that the states' distribution is raised to at first in EM; it rises to
        1. None leaves it as it is.
    tolerance, period, max_iterations
        Direct maximisation ends when the loss falls by less than ``tolerance`` (relative) in
        ``period`` iterations, or after ``max_iterations``.
    patience
        As for `LBFGS`; it counts while the best start is maximised to the end.
    """

    name = "em"
    warmup: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("restarts", "em", "m_steps", "max_iterations"), 1),
        "patience": None,
    }

    restarts: int = 5
    em: int = 40
    m_steps: int = 10
    annealing: float | None = None
    tolerance: float = 1e-6
    period: int = 10
    max_iterations: int = 1000
    patience: int | None = None

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        power = self.annealing
        if power is not None and not (isinstance(power, (int, float)) and 0 < power <= 1):
            raise ParameterError(f"annealing must be a power above 0, and 1 at most, got {power!r}")


@dataclass(frozen=True, repr=False)
class ContrastiveDivergence(Solver):
    """For hidden units over labels: steps along gradients estimated by Gibbs sampling.

    Parameters
    ----------
    epochs, batch
        Passes over the data, and the sequences that a step is taken from; None takes all.
    steps
        Steps of sampling for each gradient: a number, or a schedule such as ``"1, 500:3"``: first
        1, and 3 from epoch 500 on.
    rate, momentum, momentum_from, decay
        The size of steps (per sequence), how much of its speed a step keeps, and from which epoch
        on; what is taken off all weights, 1 / σ².
    average_from
        From this share of the epochs on, weights are averaged: steps are noisy.
    persistent
        Let sampling go on from where the last epoch left it, not from the data.
    warm, spread
        Weights begin at random between −``spread`` and ``spread``; ``warm`` begins with those of
        the logistic regression where they would end if there were no hidden units.
    restarts
        How often training begins from other weights; the weights that find the training data most
        probable, label by label, are kept.
    folds
        Where the base model is fitted first: the folds by which its marginals of the training data
        are cross-fitted.
    """

    name = "cd"
    warmup: ClassVar[Mapping[str, Any]] = {"epochs": 1, "restarts": 1, "folds": 2}

    epochs: int = 100
    batch: int | None = None
    steps: int | str | Mapping[int, int] = 3
    rate: float = 0.1
    momentum: float = 0.9
    momentum_from: int = 25
    decay: float = 0.01
    average_from: float = 0.5
    persistent: bool = False
    warm: bool = True
    spread: float = 1.0
    restarts: int = 1
    folds: int = 5
    patience: ClassVar[None] = None

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        parse_steps(self.steps)


def parse_steps(given: int | str | Mapping[int, int]) -> dict[int, int]:
    """The steps of sampling from each epoch on.

    >>> parse_steps("1, 500:3") == parse_steps({0: 1, 500: 3})
    True
    >>> parse_steps(2)
    {0: 2}
    """
    try:
        if isinstance(given, str):
            pairs = [part.rpartition(":")[::2] for part in given.split(",")]
            schedule = {int(since or 0): int(steps) for since, steps in pairs}
        elif isinstance(given, Mapping):
            schedule = {int(since): int(steps) for since, steps in given.items()}
        else:
            schedule = {0: int(given)}
    except (TypeError, ValueError):
        schedule = {}
    if 0 not in schedule or min(schedule) < 0 or min(schedule.values()) < 1:
        raise ParameterError(
            f"steps must be a whole number of at least 1, or a schedule that begins with one, such "
            f"as '1, 500:3' (3 from epoch 500 on), got {given!r}"
        )
    return schedule


CHAIN_SOLVERS: tuple[type[Solver], ...] = (
    SGD, LBFGS, AdaGrad, Newton, ConjugateGradient, GradientDescent, GIS,
)  # fmt: skip
"""What learns chains; a setting that several have asks for the first of them."""


def as_solver(given: str | Solver | None, kinds: Sequence[type[Solver]]) -> Solver:
    """The solver that a parameter means; None is the default, `Automatic` for chains.

    >>> as_solver("sgd", CHAIN_SOLVERS)
    SGD()
    """
    if given is None:
        return Automatic() if len(kinds) > 1 else kinds[0]()
    every: tuple[type[Solver], ...] = (*kinds, *([Automatic] if len(kinds) > 1 else []))
    named = {kind.name: kind for kind in every}
    if isinstance(given, every):
        return given
    if not isinstance(given, str) or given not in named:
        names = ", ".join(named)
        wanted = f"one of {names}" if len(named) > 1 else names
        hint = nearest(given, named) if isinstance(given, str) else ""
        hint = f"; {hint}" if hint.startswith("did") else ""
        raise ParameterError(f"solver must be {wanted}, got {given!r}{hint}")
    return named[given]()


def with_settings(
    given: str | Solver | None, settings: Mapping[str, Any], kinds: Sequence[type[Solver]]
) -> Solver:
    """A solver with other settings; without one, the settings say which it is.

    >>> with_settings(None, {"epochs": 3}, CHAIN_SOLVERS)
    SGD(epochs=3)
    >>> with_settings(None, {"l1": 0.1}, CHAIN_SOLVERS)
    LBFGS(l1=0.1)
    >>> with_settings("lbfgs", {"tolerance": 1e-6}, CHAIN_SOLVERS)
    LBFGS(tolerance=1e-06)
    >>> with_settings(None, {"patience": 2}, CHAIN_SOLVERS)
    Automatic(patience=2)
    """
    solver = as_solver(given, kinds)
    if isinstance(solver, Automatic):  # what is as it would be anyway asks for no solver
        defaults = {k: v for kind in kinds for k, v in kind.settings().items() if k == "l1"}
        settings = {k: v for k, v in settings.items() if v is not None and v != defaults.get(k)}
    if all(name in solver.settings() for name in settings):
        return replace(solver, **settings) if settings else solver
    if isinstance(solver, Automatic):
        given_settings = {k: v for k, v in solver.get_params().items() if v is not None}
        wanted = {**given_settings, **settings}
        for kind in kinds:
            if all(name in kind.settings() for name in wanted):
                return kind(**wanted)
    for name in settings:
        owners = [kind.name for kind in kinds if name in kind.settings()]
        if not owners:
            known = dict.fromkeys(own for kind in kinds for own in kind.settings())
            raise ParameterError(f"no solver has a setting {name!r}; {nearest(name, known)}")
        if not isinstance(solver, Automatic) and name not in solver.settings():
            listed = " and ".join(filter(None, [", ".join(owners[:-1]), owners[-1]]))
            raise ParameterError(
                f"{name} is for solver {listed}, not for {solver.name}; leave it out, or take "
                "another solver"
            )
    raise ParameterError(f"no solver has all of {', '.join(settings)}; leave some of them out")
