"""What estimators of hidden states share: settings, restarts, EM and direct maximisation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_marginals import DECODERS
from skipchain.checks import check_choice, check_integer
from skipchain.errors import CorpusError, FeatureError, ParameterError
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.early_stopping import EarlyStopping
from skipchain.learn.em import expectation_maximisation
from skipchain.learn.lbfgs import minimize
from skipchain.learn.restarts import Restarts, best_of_restarts
from skipchain.learn.solvers import EM, Solver
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.models.base.allowed import require_allowed
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.held_out import HeldOut
from skipchain.models.base.inputs import shared_numbers
from skipchain.models.base.progress import Progress, TrainingSize
from skipchain.models.base.task import Fitted, TrainingTask
from skipchain.models.latent.likelihood import (
    ExpectedLikelihood,
    StateLikelihood,
    StateMarginalLikelihood,
    StateObjective,
    expected_counts,
)
from skipchain.models.latent.model import VITERBI, StateModel
from skipchain.models.latent.scorer import MAX_STATES, StateScorer, StateWeights
from skipchain.parallel import Workers

CONDITIONAL, MARGINAL = OBJECTIVES = "conditional", "marginal"
TRIAL_STEPS = 50  # steps after which the worse half of the restarts is given up
LBFGS_MEMORY = 10


class LatentEstimator(BaseEstimator):
    """The parameters of all models of hidden states; see `IOHMM`."""

    partial = True
    solvers = (EM,)
    decoders = (*DECODERS, VITERBI)
    local: ClassVar[bool]
    """Whether states and labels are normalised at each position."""
    states: int
    bias: bool
    objective: str
    model_: StateModel

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        states: int = 4,
        bias: bool = False,
        encoding: str | None = "bioes",
        objective: str = CONDITIONAL,
        solver: str | Solver | None = None,
        l2: float = 0.005,
        min_count: int = 1,
        constraints: str = "decoding",
        seed: int = 0,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    # Fitting -----------------------------------------------------------------------------------

    def _train(self, task: TrainingTask) -> Fitted:
        data, untrained = self._encode(task)
        start = None
        if task.start is not None:
            start = self._initial_weights(_start_model(task.start), untrained)
        held_out = task.held_out(untrained)
        scorer = StateScorer(data.rows, self.states, len(untrained.labels), bias=self.bias)
        who = task.workers, task.progress
        state_task = StateTask(data, untrained, scorer, held_out, start, *who)
        if task.progress is not None:
            task.progress.begin(self._training_size(state_task))
        restarts = self._learn(state_task)
        result = restarts.best
        if not np.isfinite(result.loss):
            raise FeatureError("no step lowers the loss; scale the features' values down")
        pairs, emitted = expected_counts(
            data, scorer, result.vector, task.workers, local=self.local
        )
        began = [
            {"loss": loss, "finished": finished}
            for loss, finished in zip(restarts.losses, restarts.finished, strict=True)
        ]
        facts = {"restarts": began, "followed": pairs.tolist(), "emitted": emitted.tolist()}
        model = untrained.with_weights(scorer.weights(result.vector))
        return Fitted.of(data, model, result, scorer.size, held_out=held_out, facts=facts)

    def _encode(self, task: TrainingTask) -> tuple[Dataset, StateModel]:
        """The data to learn from, and a model of its features and labels without weights."""
        known, scheme, encoding = self._labels(task.given, task.labels)
        features, rows, offsets = task.features(self.min_count)
        if not known.names:
            raise CorpusError("no token has a label to learn from")
        self._no_pair_features(rows.n_edge_features)
        untrained = StateModel(
            kind=self.kind,
            labels=known.names,
            features=features,
            weights=StateWeights.zeros(rows.n_features, self.states, len(known.names)),
            local=self.local,
            scheme=scheme,
            encoding=encoding,
            constrained=self.constraints != "none",
        )
        data = Dataset(rows, offsets, *known.to_codes(known.names))
        if untrained.constraints is not None:
            require_allowed(data, untrained.constraints, untrained.labels)
        return data, untrained

    def _check(self) -> None:
        super()._check()
        check_integer("states", self.states, most=MAX_STATES)
        check_choice("objective", self.objective, OBJECTIVES)
        self._only_decoding()

    def _training_size(self, task: StateTask) -> TrainingSize:
        """The size of the problem, as a display is told."""
        scorer = task.scorer
        per_token = scorer.n_states * (scorer.n_states + 1 + scorer.n_labels)
        side_by_side = min(self._solver.restarts, task.workers.threads)
        vectors = (2 * LBFGS_MEMORY + 8) * scorer.size
        held = side_by_side * (4 * per_token * task.data.n_tokens + vectors)
        return TrainingSize.of(task.data, scorer.n_labels, scorer.size, scorer.nbytes + 8 * held)

    @property
    def _solver(self) -> EM:
        solver = super()._solver
        assert isinstance(solver, EM)
        return solver

    # Learning ----------------------------------------------------------------------------------

    def _initial_weights(self, start: StateModel, untrained: StateModel) -> StateWeights:
        """The weights to begin with, from an earlier model."""
        return warm_start_weights(start, untrained, self.states)

    def _learn(self, task: StateTask) -> Restarts:
        """The best vector, and what became of each start."""
        if task.initial_weights is None:
            found = self._search(task)
        else:
            vector = task.scorer.pack(task.initial_weights)
            best = self._maximise_directly(task, vector, StateLikelihood)
            found = Restarts(best, (best.loss,), (True,))
        return self._refine(task, found)

    def _search(self, task: StateTask) -> Restarts:
        """The best of several starts."""
        return self._from_restarts(task, local=self.local)

    def _from_restarts(self, task: StateTask, *, local: bool) -> Restarts:
        """Random starts side by side: EM, some direct steps, and the better half to the end."""
        solver = self._solver
        monitor = RestartMonitor(task.progress)
        one = solver.restarts == 1
        workers = task.workers if one else Workers(1)  # then the threads are for the restarts
        trial = min(TRIAL_STEPS, solver.max_iterations)

        def go_on(number: int, vector: Floats, iterations: int) -> OptimisationResult:
            result = minimize(
                StateLikelihood(task.data, task.scorer, workers, l2=self.l2, local=local),
                vector,
                memory=LBFGS_MEMORY,
                **{**solver.stopping, "max_iterations": iterations},
                callback=monitor.of(number),
            )
            monitor.check(result)
            return result

        def begin(number: int) -> OptimisationResult:
            vector, evaluations = self._em(task, number, monitor, workers, local=local)
            result = go_on(number, vector, trial)
            return replace(result, evaluations=result.evaluations + evaluations)

        def finish(number: int, so_far: OptimisationResult) -> OptimisationResult:
            if monitor.stopped or solver.max_iterations <= trial:
                return so_far
            return go_on(number, so_far.vector, solver.max_iterations - trial).after(so_far)

        keep = (solver.restarts + 1) // 2
        try:
            mapped = Workers(1).map if one else task.workers.map
            return best_of_restarts(begin, finish, solver.restarts, keep, mapped)
        except KeyboardInterrupt:
            return monitor.interrupted(solver.restarts)

    def _em(
        self,
        task: StateTask,
        number: int,
        monitor: RestartMonitor,
        workers: Workers,
        *,
        local: bool,
    ) -> tuple[Floats, int]:
        """EM from the random start of a number: the vector, and how often a function was called."""
        solver = self._solver
        random = np.random.default_rng([self.seed, number])
        vector = random.uniform(-1.0, 1.0, task.scorer.size)
        if not solver.em:
            return vector, 0
        bound = ExpectedLikelihood(task.data, task.scorer, workers, l2=self.l2, local=local)

        def e_step(vector: Floats, power: float) -> StateObjective:
            bound.e_step(vector, power)
            return bound.m_step()

        return expectation_maximisation(
            e_step,
            vector,
            iterations=solver.em,
            steps=solver.m_steps,
            initial_inverse_temperature=1.0 if solver.annealing is None else solver.annealing,
            stop=lambda: monitor.stopped,
        )

    def _maximise_directly(
        self, task: StateTask, vector: Floats, objective: type[StateObjective]
    ) -> OptimisationResult:
        """One minimisation with all threads."""
        solver, held_out = self._solver, task.held_out

        def score(vector: Floats) -> float:
            assert held_out is not None
            model = task.untrained.with_weights(task.scorer.weights(vector))
            return held_out.score(model, task.workers)

        tell = None if task.progress is None else task.progress.step
        stopping = EarlyStopping(None if held_out is None else score, solver.patience, tell)
        result = minimize(
            objective(task.data, task.scorer, task.workers, l2=self.l2, local=self.local),
            vector,
            memory=LBFGS_MEMORY,
            **solver.stopping,
            callback=stopping,
        )
        return stopping.best_of(result)

    def _refine(self, task: StateTask, found: Restarts) -> Restarts:
        """Go on by the marginal likelihood, or with patience, where that is asked for."""
        if found.best.reason == INTERRUPTED:
            return found
        if self.objective == MARGINAL:
            last = self._maximise_directly(task, found.best.vector, StateMarginalLikelihood)
        elif self._solver.patience is not None and task.initial_weights is None:
            last = self._maximise_directly(task, found.best.vector, StateLikelihood)
        else:
            return found
        return replace(found, best=last.after(found.best))


@dataclass(frozen=True)
class StateTask:
    """Everything that a learner of hidden states is given."""

    data: Dataset
    untrained: StateModel
    scorer: StateScorer
    held_out: HeldOut | None
    initial_weights: StateWeights | None
    workers: Workers
    progress: Progress | None


@dataclass
class RestartMonitor:
    """Follows several minimisations: tells the display, keeps the best, passes on a stop."""

    progress: Progress | None
    stopped: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _began: float = field(default_factory=time.perf_counter)
    _iterations: int = 0
    _losses: dict[int, float] = field(default_factory=dict)
    _best: Step | None = None

    def of(self, number: int) -> Callable[[Step], bool]:
        """The callback of one of them."""

        def told(step: Step) -> bool:
            with self._lock:
                self._iterations += 1
                self._losses[number] = step.loss
                if self._best is None or step.loss < self._best.loss:
                    self._best = replace(step, vector=step.vector.copy())
                if self.progress is not None and not self.stopped:
                    seconds = time.perf_counter() - self._began
                    now = replace(self._best, iteration=self._iterations, seconds=seconds)
                    try:
                        self.progress.step(replace(now, improvement=None), None)
                    except KeyboardInterrupt:
                        self.stopped = True
                        raise
                return self.stopped

        return told

    def check(self, result: OptimisationResult) -> None:
        """Raise a keyboard interrupt that a minimisation has kept to itself."""
        if result.reason == INTERRUPTED:
            self.stopped = True
            raise KeyboardInterrupt

    def interrupted(self, count: int) -> Restarts:
        """What has been reached when a keyboard interrupt came; raised again if that is nothing."""
        self.stopped = True
        with self._lock:
            if self._best is None:
                raise KeyboardInterrupt
            best = OptimisationResult(
                self._best.vector, self._best.loss, self._iterations, self._iterations, INTERRUPTED
            )
            losses = tuple(self._losses.get(number, np.inf) for number in range(count))
            return Restarts(best, losses, (False,) * count)


def warm_start_weights(start: StateModel, untrained: StateModel, states: int) -> StateWeights:
    """An earlier model's weights for the features and labels that it shares with the new one."""
    if start.n_states != states:
        raise ParameterError(
            f"the model to start from has {start.n_states} states, and {states} are wanted; "
            "give the same number"
        )
    known, names = start.features.names(), untrained.features.names()
    source, target = shared_numbers(start.labels, untrained.labels)
    a, b = shared_numbers(known, names)
    if not len(source) or not len(a):
        raise ParameterError("the model to start from shares no label or no feature with the data")
    a, b = np.append(a, len(known)), np.append(b, len(names))
    weights = StateWeights.zeros(len(names), states, len(untrained.labels))
    weights.transitions[b] = start.weights.transitions[a]
    every = np.arange(states)
    weights.emissions[np.ix_(b, every, target)] = start.weights.emissions[np.ix_(a, every, source)]
    return weights


def _start_model(start: object) -> StateModel:
    found = start.fitted if isinstance(start, BaseEstimator) else start
    if isinstance(found, StateModel):
        return found
    raise ParameterError(
        "a model of hidden states can start from another one of them only (IOHMM, HRF), got "
        f"{found.kind if hasattr(found, 'kind') else type(start).__name__}"
    )
