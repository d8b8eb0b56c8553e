"""Learning chains as a function: a problem and a solver give weights.

Estimators of chains, of linked labels and of label windows all learn their chains here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from skipchain.arrays import IN_MEMORY, Bools, Floats, Ints, Room, parts_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.margins import MarginUpdates
from skipchain.chains.online import StochasticLikelihood, decaying_rate, default_passes, run_passes
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.errors import FeatureError, ParameterError
from skipchain.learn.early_stopping import EarlyStopping
from skipchain.learn.epochs import run_epochs
from skipchain.learn.resuming import ITERATIONS, PASSES, STEPS, Keeping, KeptValues, Stages, digest
from skipchain.learn.saved_state import Trail
from skipchain.learn.solvers import (
    GIS,
    LBFGS,
    SGD,
    AdaGrad,
    Automatic,
    ConjugateGradient,
    GradientDescent,
    Newton,
    Solver,
)
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.memory import release_memory
from skipchain.parallel import Workers

if TYPE_CHECKING:
    from skipchain.chains.likelihood import ChainObjective
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.label_trigrams import LabelTrigrams

CONDITIONAL, MARGINAL = OBJECTIVES = "conditional", "marginal"
DECAY = 2.0  # the last epoch's rate is a third of the first's
AVERAGE_FROM = 0.5
MIN_EPOCHS, MAX_EPOCHS, MIN_STEPS = 30, 400, 40_000
MAX_DROPOUT, MUCH_DATA = 0.5, 9_000  # the latter in sequences
FEW_FEATURES, MANY_FEATURES = 10, 40  # a token
MEMORY = 10  # pairs of steps and gradient changes that L-BFGS keeps
MAX_DENSE = 3_000  # weights for which a table of second derivatives is small
SMOOTH = (LBFGS, ConjugateGradient, GradientDescent)  # which take any loss with a gradient
RESUMABLE = (SGD, LBFGS, Automatic)  # whose states can be kept
SINGLE_TOLERANCE = 1e-6  # from which on single precision is enough for scores


class Shards(Protocol):
    """Data that lie elsewhere, in parts: they make losses and learners of problems themselves."""

    @property
    def sequences(self) -> int:
        """The number of chains."""

    @property
    def tokens(self) -> int:
        """The number of tokens."""

    @property
    def active(self) -> float:
        """The mean number of features at a token."""

    @property
    def digest(self) -> str:
        """What tells the data from others."""

    def objective(self, problem: ChainProblem, *, observed: bool, single_precision: bool) -> Any:
        """The penalised loss of all parts: what a solver asks of a `ChainObjective`."""

    def stochastic(self, problem: ChainProblem, **settings: Any) -> Any:
        """A learner by steps: what is asked of a `StochasticLikelihood` while it learns."""

    def margins(self, problem: ChainProblem, **settings: Any) -> Any:
        """A learner from mistakes: what is asked of `MarginUpdates` while it learns."""


@dataclass(frozen=True)
class ChainProblem:
    """What is to be learnt: encoded chains with their labels, and the form of the model.

    A ``local`` model is normalised at each position. ``constraints`` limit the label sequences that
    training looks at, ``initial_weights`` is where learning begins. ``numeric`` features were given
    as matrices. ``label_ngrams`` and ``label_trigrams`` are what the labels of a chain that is
    normalised as a whole depend on beyond three in a row: their weights are the last rows of the
    table of states. Learning makes what is large in ``room``. Where ``shards`` have the data, there
    is no token in ``data``. ``by_position`` says that every token is a chain of its own.
    """

    data: Dataset
    n_labels: int
    order: int = 1
    local: bool = False
    objective: str = CONDITIONAL
    l2: float = 0.2
    boundaries: bool = True
    constraints: Constraints | None = None
    initial_weights: Weights | None = None
    seed: int = 0
    numeric: bool = False
    label_ngrams: LabelNgrams | None = None
    label_trigrams: LabelTrigrams | None = None
    room: Room = IN_MEMORY
    shards: Shards | None = None
    by_position: bool = False

    @property
    def n_sequences(self) -> int:
        """The number of chains."""
        if self.shards is not None:
            return self.shards.tokens if self.by_position else self.shards.sequences
        return len(self.data.offsets) - 1

    @property
    def mean_features(self) -> float:
        """The mean number of features at a token."""
        if self.shards is not None:
            return self.shards.active
        return self.data.rows.n_active / max(1, self.data.n_tokens)

    def stochastic(self, workers: Workers, **settings: Any) -> StochasticLikelihood:
        """A learner by steps down the likelihood."""
        how = {"local": self.local, "l2": self.l2, **settings}
        if self.shards is not None:
            found: StochasticLikelihood = self.shards.stochastic(self, **how)
            return found
        how = {**how, **self.for_learners, "workers": workers}
        return StochasticLikelihood(self.data, self.n_labels, **how)

    def margins(self, **settings: Any) -> MarginUpdates:
        """A learner from mistakes."""
        if self.shards is not None:
            found: MarginUpdates = self.shards.margins(self, **settings)
            return found
        return MarginUpdates(self.data, self.n_labels, **settings, **self.for_learners)

    @property
    def by_contexts(self) -> bool:
        """Whether labels depend on more before them than tables of three labels say."""
        return self.label_ngrams is not None or self.label_trigrams is not None

    @property
    def for_learners(self) -> dict[str, Any]:
        """What learners of single steps take by name, see `OnlineLearner`."""
        names = ("boundaries", "constraints", "order", "seed", "initial_weights", "room")
        return {name: getattr(self, name) for name in names}

    def of_positions(self) -> ChainProblem:
        """The classifier of single positions: chains of one token each, without boundaries."""
        single = np.arange(self.data.n_tokens + 1, dtype=np.int64)
        data = replace(self.data, offsets=single)
        return replace(self, data=data, boundaries=False, local=True, by_position=True)


@dataclass(frozen=True)
class Monitor:
    """Who follows the learning; whatever is None is not asked.

    ``begin`` hears the number of weights and the bytes that learning takes beside the features,
    ``score`` gives the held-out score of weights, ``tell`` hears of each iteration, and
    ``keeping`` says who keeps the state of learning, and perhaps has one to go on from.
    """

    begin: Callable[[int, int], None] | None = None
    score: Callable[[Weights], float] | None = None
    tell: Callable[[Step, float | None], None] | None = None
    keeping: Keeping | None = None

    def early_stopping(
        self, unpack: Callable[[Floats], Weights], patience: int | None
    ) -> EarlyStopping:
        """The callback of an optimiser whose vectors ``unpack`` turns into weights."""
        score = self.score
        if score is None:
            return EarlyStopping(None, patience, self.tell)
        return EarlyStopping(lambda vector: score(unpack(vector)), patience, self.tell)


@dataclass(frozen=True)
class FittedWeights:
    """What learning gives back; ``facts`` is what else the model's summary is to say."""

    weights: Weights
    result: OptimisationResult
    parameters: int
    facts: Mapping[str, Any] = field(default_factory=dict)


def learn_chain(
    problem: ChainProblem, solver: Solver, workers: Workers, monitor: Monitor | None = None
) -> FittedWeights:
    """The weights of a chain, learnt by a solver."""
    chosen = resolve(problem, solver)
    check_solver(chosen, local=problem.local, objective=problem.objective, l2=problem.l2)
    if problem.by_contexts and isinstance(chosen, SGD):
        raise ParameterError(
            f"solver={chosen.name!r} learns chains of order 1 and 2 without templates that begin "
            "with 'label[-2] &'; use solver='lbfgs', or MEMM"
        )
    if problem.data.allowed is not None:
        _check_partial(problem, chosen)
    monitor = monitor or Monitor()
    release_memory()
    problem.room.release()
    stages = Stages.begin(monitor.keeping, lambda: identity(problem, chosen))
    if isinstance(chosen, SGD):
        return _by_steps(problem, chosen, workers, monitor, stages)
    found = _by_batch(problem, chosen, workers, monitor, stages)
    release_memory()  # of indexes and vectors, before a model is made and written
    return found


def identity(problem: ChainProblem, solver: Solver | None = None) -> dict[str, str]:
    """What tells a problem and its solver from others, by the words for it in errors."""
    found = {} if solver is None else {"solver": repr(solver)}
    shards = problem.shards
    found["training data"] = digest(problem.data) if shards is None else shards.digest
    if problem.initial_weights is not None:
        found["model to start from"] = digest(problem.initial_weights.vector)
    return found


def resolve(problem: ChainProblem, solver: Solver) -> Solver:
    """The solver itself, or the one that the data ask for."""
    if not isinstance(solver, Automatic):
        return solver
    partly_labelled = problem.local and problem.data.allowed is not None
    batch = problem.objective != CONDITIONAL or problem.numeric or partly_labelled
    batch = batch or problem.by_contexts
    return solver.as_solver(LBFGS if batch else SGD)


def check_solver(
    solver: Solver, *, local: bool, objective: str, l2: float, name: str = "this model"
) -> None:
    """Refuse a solver that cannot learn a form of chain."""
    if isinstance(solver, (Newton, GIS)) and not local:
        raise ParameterError(
            f"solver={solver.name!r} is for MaxEnt and MEMM; use 'lbfgs' for {name}"
        )
    if isinstance(solver, GIS) and l2:
        raise ParameterError(
            f"solver='gis' scales the likelihood without a penalty, and l2 is {l2:g}; use l2=0, or "
            "solver='lbfgs'"
        )
    if objective != CONDITIONAL and not isinstance(solver, (*SMOOTH, Automatic)):
        raise ParameterError(f"objective={objective!r} needs solver='lbfgs', not {solver.name!r}")


def default_epochs(sequences: int) -> int:
    """Passes over the data: 30, and more where few sequences mean few steps.

    >>> default_epochs(14_000), default_epochs(400), default_epochs(5)
    (30, 100, 400)
    """
    return min(MAX_EPOCHS, max(MIN_EPOCHS, math.ceil(MIN_STEPS / max(1, sequences))))


def default_dropout(sequences: int, features: float) -> float:
    """The share of features that a step leaves out, by their mean number at a token.

    Half of them where features are many and the data much, fewer where either is less: what can
    stand in for a feature is then hardly there, or hardly learnt. See decision 0032.

    >>> default_dropout(14_000, 54), default_dropout(9_000, 29), default_dropout(14_000, 7)
    (0.5, 0.32, 0.0)
    """
    much = min(1.0, sequences / MUCH_DATA)
    many = (features - FEW_FEATURES) / (MANY_FEATURES - FEW_FEATURES)
    return round(MAX_DROPOUT * much * min(1.0, max(0.0, many)), 2)


def _check_partial(problem: ChainProblem, solver: Solver) -> None:
    """Refuse what cannot learn from labels that are partly known."""
    if problem.order >= 2 and problem.local:
        raise ParameterError("partial labels need order=1, or a CRF")
    if isinstance(solver, (Newton, GIS)):
        raise ParameterError(f"partial labels need solver='lbfgs', not {solver.name!r}")
    if problem.local and isinstance(solver, SGD):
        raise ParameterError("partial labels of a local model need solver='lbfgs'")


def _by_batch(
    problem: ChainProblem, solver: Solver, workers: Workers, monitor: Monitor, stages: Stages
) -> FittedWeights:
    """By a solver that looks at all data before each step: functions of the vector of weights."""
    from skipchain.learn.line_search import LINE_SEARCH_FAILED

    single = isinstance(solver, LBFGS) and solver.tolerance >= SINGLE_TOLERANCE
    objective = batch_objective(problem, workers, observed=solver.observed, single_precision=single)
    scorer, by_newton = objective.scorer, isinstance(solver, Newton)
    if by_newton and scorer.size > MAX_DENSE:
        raise ParameterError(
            f"solver='newton' is for up to {MAX_DENSE:,} weights, and there would be "
            f"{scorer.size:,}; use solver='lbfgs', or fewer features (min_count)"
        )
    if monitor.begin is not None:
        # the history of L-BFGS is in single precision
        vectors = MEMORY + 8 if isinstance(solver, LBFGS) else 3 * scorer.size if by_newton else 8
        monitor.begin(scorer.size, scorer.nbytes + objective.nbytes + vectors * scorer.size * 8)
    stopping = monitor.early_stopping(scorer.unpack, getattr(solver, "patience", None))
    passed = _passes(problem, solver, scorer, workers, monitor, stages)
    initial = problem.initial_weights
    if passed is not None and passed.reason == INTERRUPTED:
        result = passed
    else:
        start = np.zeros(scorer.size) if initial is None else scorer.pack(initial)
        start = start if passed is None else passed.vector
        made = KeptValues({"made": 0 if passed is None else passed.iterations})
        trail = stages.trail(ITERATIONS, scorer.size, stopping=stopping, passes=made)
        result = _minimise(problem, objective, start, solver, workers, stopping, trail)
    stuck = result.reason == LINE_SEARCH_FAILED and not result.iterations
    # an earlier model may be the minimum already
    begun = initial is not None or passed is not None
    if not np.isfinite(result.loss) or (stuck and not begun):
        raise FeatureError("no step lowers the loss; scale the features' values down")
    result = stopping.best_of(result)
    weights = scorer.weights(result.vector)
    _drop_small(weights, solver.smallest_weight)
    facts = {} if passed is None else {"passes": passed.iterations}
    return FittedWeights(weights, result, scorer.size, facts)


def _passes(
    problem: ChainProblem,
    solver: Solver,
    scorer: LinearScorer,
    workers: Workers,
    monitor: Monitor,
    stages: Stages,
) -> OptimisationResult | None:
    """Where some stochastic passes lead, for a solver that is quick near the optimum only."""
    later = stages.reached(ITERATIONS)
    if later is not None:  # all passes are behind us, and their weights are no longer asked for
        made = later.part("passes").whole("made")
        anywhere = np.zeros(scorer.size)
        return OptimisationResult(anywhere, math.nan, made, made, "") if made else None
    if not isinstance(solver, LBFGS) or problem.initial_weights is not None:
        return None
    smooth = not solver.l1 and problem.objective == CONDITIONAL and not problem.by_contexts
    partial = problem.local and problem.data.allowed is not None
    possible = smooth and not problem.numeric and not partial
    passes = solver.passes
    if passes and not possible:
        raise ParameterError(
            "passes are for the conditional likelihood without l1, of chains of order 1 and 2 with "
            "features by name; leave passes away"
        )
    if passes is None:
        passes = default_passes(problem.n_sequences) if possible else 0
    if not passes:
        return None
    learner = problem.stochastic(workers, observed=solver.observed)
    trail = stages.trail(PASSES, learner.size)
    result = run_passes(learner, passes, EarlyStopping(tell=monitor.tell), trail)
    if result is None:
        return None
    result = replace(result, vector=scorer.pack(learner.weights(result.vector)))
    del learner  # which weighs all pairs of features and labels
    release_memory()
    return result


def batch_objective(
    problem: ChainProblem,
    workers: Workers,
    *,
    observed: bool,
    single_precision: bool = False,
    support: tuple[Ints, Ints | None] | None = None,
) -> ChainObjective:
    """The penalised loss of a problem as a function of the vector of its weights.

    ``observed``, ``single_precision`` and ``support`` are as for `LinearScorer`, which the loss has
    as ``scorer``.
    """
    from skipchain.chains.likelihood import ConditionalLikelihood, MarginalLikelihood

    if problem.shards is not None:
        how = {"observed": observed, "single_precision": single_precision}
        distributed: ChainObjective = problem.shards.objective(problem, **how)
        return distributed
    data = problem.data
    scorer = LinearScorer(
        data,
        problem.n_labels,
        observed=observed,
        boundaries=problem.boundaries,
        workers=workers,
        order=problem.order,
        single_precision=single_precision,
        further=_shown(problem) if problem.by_contexts else None,
        room=problem.room,
        support=support,
    )
    form: dict[str, Any] = {"constraints": problem.constraints, "l2": problem.l2}
    if problem.by_contexts:
        from skipchain.chains.context_likelihood import ContextLikelihood

        names = ("order", "label_ngrams", "label_trigrams")
        form |= {name: getattr(problem, name) for name in names}
        return ContextLikelihood(data, scorer, workers, **form)
    marginal = problem.objective == MARGINAL
    loss = MarginalLikelihood if marginal else ConditionalLikelihood
    return loss(data, scorer, workers, local=problem.local, **form)


def _minimise(
    problem: ChainProblem,
    objective: ChainObjective,
    start: Floats,
    solver: Solver,
    workers: Workers,
    stopping: EarlyStopping,
    trail: Trail | None,
) -> OptimisationResult:
    """Where a solver gets to from a vector."""
    from skipchain.learn import (
        conjugate_gradient,
        gradient_descent,
        iterative_scaling,
        lbfgs,
        newton,
    )

    if isinstance(solver, LBFGS):
        curvature = None if solver.l1 else objective.curvature
        more: dict[str, Any] = {"l1": solver.l1, "memory": MEMORY, "curvature": curvature}
        more |= {**solver.stopping, "callback": stopping, "trail": trail}
        more |= {"room": problem.room, "workers": workers}
        return lbfgs.minimize(objective, start, **more)
    if isinstance(solver, ConjugateGradient):
        by_steps = isinstance(solver, GradientDescent)
        minimize = gradient_descent.minimize if by_steps else conjugate_gradient.minimize
        return minimize(objective, start, **solver.stopping, callback=stopping)
    data, scorer = problem.data, objective.scorer
    if isinstance(solver, GIS):
        from skipchain.chains.feature_counts import FeatureCounts

        found = FeatureCounts.of(data, scorer)
        facts: dict[str, Any] = {name: getattr(found, name) for name in found.__slots__}
        return iterative_scaling.minimize(
            objective, start, **facts, **solver.stopping, callback=stopping
        )
    from skipchain.chains.curvature import LocalHessian

    assert isinstance(solver, Newton)
    hessian = LocalHessian(data, scorer, workers, l2=problem.l2)
    return newton.minimize(objective, hessian, start, solver.max_iterations, stopping)


def _by_steps(
    problem: ChainProblem, solver: SGD, workers: Workers, monitor: Monitor, stages: Stages
) -> FittedWeights:
    """By steps after each chain, and the average of the late epochs."""
    sequences = problem.n_sequences
    dropout = solver.dropout
    if dropout is None:
        dropout = default_dropout(sequences, problem.mean_features)
    learner = problem.stochastic(
        workers,
        observed=solver.observed,
        dropout=dropout,
        bundle_dropout=solver.bundle_dropout,
        adaptive=isinstance(solver, AdaGrad),
    )
    if monitor.begin is not None:
        monitor.begin(learner.size, learner.nbytes)
    rate_at = decaying_rate(solver.rate, DECAY)

    def epoch(done: float) -> float:
        loss = learner.epoch(rate_at(done))
        if not np.isfinite(loss):
            raise FeatureError(
                f"the steps grew without bound; use a rate below {solver.rate:g}, scale the "
                "features' values down, or use solver='lbfgs'"
            )
        return loss

    stopping = monitor.early_stopping(learner.weights, solver.patience)
    epochs = solver.epochs or default_epochs(sequences)
    trail = stages.trail(STEPS, learner.size, learner=learner, stopping=stopping)
    result = run_epochs(
        epoch,
        learner.vector,
        epochs,
        average_from=AVERAGE_FROM,
        callback=stopping,
        trail=trail,
        workers=workers,
        room=problem.room,
    )
    result = stopping.best_of(result)
    weights = learner.weights(problem.room.copy(result.vector, np.float64))
    _drop_small(weights, solver.smallest_weight)
    return FittedWeights(weights, result, learner.size, {"dropout": dropout})


def _shown(problem: ChainProblem) -> Bools:
    """Which labels training shows after each label n-gram, and with each row of trigrams. [K, L]"""
    data, ngrams, trigrams = problem.data, problem.label_ngrams, problem.label_trigrams
    assert data.labels is not None
    parts = []
    if ngrams is not None:
        shown = np.zeros((len(ngrams.ngrams), problem.n_labels), np.bool_)
        for column in ngrams.context_indices(data.labels, data.offsets).T:
            shown[column[column >= 0], data.labels[column >= 0]] = True
        parts.append(shown)
    if trigrams is not None:
        assert data.rows.trigrams is not None
        shown = np.zeros((len(trigrams.rows), problem.n_labels), np.bool_)
        rows = trigrams.row_indices(data.rows.trigrams, data.labels, data.offsets)
        tokens = data.rows.trigrams.row_ids
        shown[rows[rows >= 0], data.labels[tokens[rows >= 0]]] = True
        parts.append(shown)
    return np.concatenate(parts)


def _drop_small(weights: Weights, limit: float) -> None:
    """Make features' weights below the limit zero, in place."""
    for table in (weights.state, weights.edges) if limit else ():
        for part in parts_of(table):
            table[part][np.abs(table[part]) < limit] = 0.0
