"""What estimators of hidden states share: settings, restarts, EM and direct maximisation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, FeatureError, ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.em import expectation_maximisation
from skipchain.learn.lbfgs import minimize
from skipchain.learn.restarts import Restarts, best_of_restarts
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import as_input, fit_features
from skipchain.models.chain.fitting import (
    EarlyStopping,
    HeldOut,
    Progress,
    require_allowed,
    training_size,
)
from skipchain.models.latent.likelihood import (
    ExpectedLikelihood,
    StateLikelihood,
    StateMarginalLikelihood,
    StateObjective,
    expected_counts,
)
from skipchain.models.latent.model import StateModel
from skipchain.models.latent.scorer import StateScorer, StateWeights
from skipchain.parallel import Workers

CONDITIONAL, MARGINAL = OBJECTIVES = "conditional", "marginal"
TRIAL_STEPS = 50  # steps after which the worse half of the restarts is given up
LBFGS_MEMORY = 10
TOLERANCE, PERIOD, MAX_ITERATIONS = 1e-6, 10, 1000


class LatentEstimator(BaseEstimator):
    """The parameters of all models of hidden states; see `IOHMM`."""

    partial = True
    local: ClassVar[bool]
    model_: StateModel

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        states: int = 4,
        restarts: int = 5,
        bias: bool = False,
        encoding: str | None = "bioes",
        objective: str = CONDITIONAL,
        em: int = 40,
        m_steps: int = 10,
        annealing: float | None = None,
        l2: float = 0.005,
        min_count: int = 1,
        constraints: str = "decoding",
        seed: int = 0,
        tolerance: float | None = None,
        period: int | None = None,
        max_iterations: int | None = None,
        patience: int | None = None,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
    ) -> None:
        self.features = features
        self.states = states
        self.restarts = restarts
        self.bias = bias
        self.encoding = encoding
        self.objective = objective
        self.em = em
        self.m_steps = m_steps
        self.annealing = annealing
        self.l2 = l2
        self.min_count = min_count
        self.constraints = constraints
        self.seed = seed
        self.tolerance = tolerance
        self.period = period
        self.max_iterations = max_iterations
        self.patience = patience
        self.scheme = scheme
        self.functions = functions
        self.threads = threads

    # Fitting -----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        dev: Any = None,
        dev_y: Any = None,
        start: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a labelled corpus, or from sequences X with labels y.

        Labels may be missing, of single tokens or of whole sequences. ``start`` is a model of
        hidden states to begin from, instead of random weights. ``dev`` (with ``dev_y``) is scored
        at the end, and with ``patience`` while the last iterations go on. A keyboard interrupt ends
        training and keeps the best that has been learnt.
        """
        self._check()
        if self.patience is not None and dev is None:
            raise ParameterError("patience needs dev, the data whose score it watches")
        data, untrained = self._encode_training_data(as_input(X), y)
        first = None if start is None else self._initial_weights(_start_model(start), untrained)
        held_out = None if dev is None else HeldOut(untrained, dev, dev_y)
        with Workers(self.threads) as workers:
            task = StateTask(
                data,
                untrained,
                StateScorer(data.rows, self.states, len(untrained.labels), bias=self.bias),
                held_out,
                first,
                workers,
                progress,
            )
            if progress is not None:
                progress.begin(self._training_size(task))
            restarts = self._learn(task)
            result = restarts.best
            if not np.isfinite(result.loss):
                raise FeatureError("no step lowers the loss; scale the features' values down")
            model = untrained.with_weights(task.scorer.weights(result.vector))
            score = None if held_out is None else held_out.score(model, workers)
            facts = self._state_counts(task, result.vector)
        if progress is not None:
            progress.end(result)
        summary = self._summary(
            result,
            tokens=data.n_tokens,
            sequences=len(data.offsets) - 1,
            parameters=task.scorer.size,
            dev=score,
            restarts=[
                {"loss": loss, "finished": finished}
                for loss, finished in zip(restarts.losses, restarts.finished, strict=True)
            ],
            **facts,
        )
        self.model_ = replace(model, summary=summary).pruned()
        self.result_ = result
        if progress is None:
            self._raise_interrupt()
        return self

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        short = {"restarts": 1, "em": 1, "m_steps": 1, "max_iterations": 1, "patience": None}
        return type(self)(**{**self.get_params(), **short})

    @property
    def stopping(self) -> tuple[float, int, int]:
        """When direct maximisation ends: tolerance, period and the most iterations."""
        return (
            TOLERANCE if self.tolerance is None else self.tolerance,
            PERIOD if self.period is None else self.period,
            MAX_ITERATIONS if self.max_iterations is None else self.max_iterations,
        )

    def _encode_training_data(
        self, given: Corpus | Sequence[Any], y: Any
    ) -> tuple[Dataset, StateModel]:
        """The data to learn from, and a model of its features and labels without weights."""
        known, scheme, encoding = self._labels(given, y)
        features, rows, offsets = fit_features(given, self._templates(given), self.min_count)
        if rows.tokens.n_rows == 0:
            raise CorpusError("there is no token to learn from")
        if not known.names:
            raise CorpusError("no token has a label to learn from")
        if rows.n_edge_features:
            raise ParameterError(
                f"{type(self).__name__} has no features of label pairs; leave out templates that "
                "begin with 'label[-1] &'"
            )
        untrained = StateModel(
            self.kind,
            known.names,
            features,
            StateWeights.zeros(rows.n_features, self.states, len(known.names)),
            self.local,
            scheme,
            encoding,
            self.constraints != "none",
        )
        data = Dataset(rows, offsets, *known.to_codes(known.names))
        if untrained.constraints is not None:
            require_allowed(data, untrained.constraints, untrained.labels)
        return data, untrained

    def _check(self) -> None:
        super()._check()
        self._check_numbers(
            whole=("states", "restarts", "m_steps"),
            optional=("period", "max_iterations"),
            real=("l2",),
        )
        self._check_choices(objective=OBJECTIVES)
        if not isinstance(self.em, (int, np.integer)) or self.em < 0:
            raise ParameterError(f"em must be a whole number of at least 0, got {self.em!r}")
        if self.tolerance is not None:
            self._check_numbers(real=("tolerance",))
        if self.annealing is not None and not (
            isinstance(self.annealing, (int, float)) and 0 < self.annealing <= 1
        ):
            raise ParameterError(
                f"annealing must be a power above 0, and 1 at most, got {self.annealing!r}"
            )
        if self.constraints == "training":
            raise ParameterError(
                f"{type(self).__name__} uses constraints when it decodes; give 'decoding' or 'none'"
            )

    def _training_size(self, task: StateTask) -> Any:
        """The size of the problem, as a display is told."""
        scorer = task.scorer
        per_token = scorer.n_states * (scorer.n_states + 1 + scorer.n_labels)
        side_by_side = min(self.restarts, task.workers.threads)
        held = side_by_side * (
            4 * per_token * task.data.n_tokens + (2 * LBFGS_MEMORY + 8) * scorer.size
        )
        return training_size(task.data, scorer.n_labels, scorer.size, scorer.nbytes + 8 * held)

    # Learning ----------------------------------------------------------------------------------

    def _initial_weights(self, start: StateModel, untrained: StateModel) -> StateWeights:
        """The weights to begin with, from an earlier model."""
        return warm_start_weights(start, untrained, self.states)

    def _learn(self, task: StateTask) -> Restarts:
        """The best vector, and what became of each start."""
        if task.initial_weights is None:
            found = self._search(task)
        else:
            best = self._maximise_directly(
                task, task.scorer.pack(task.initial_weights), StateLikelihood
            )
            found = Restarts(best, (best.loss,), (True,))
        return self._refine(task, found)

    def _search(self, task: StateTask) -> Restarts:
        """The best of several starts."""
        return self._from_restarts(task, local=self.local)

    def _from_restarts(self, task: StateTask, *, local: bool) -> Restarts:
        """Random starts side by side: EM, some direct steps, and the better half to the end."""
        follower = RestartMonitor(task.progress)
        one = self.restarts == 1
        workers = task.workers if one else Workers(1)  # then the threads are for the restarts
        tolerance, period, max_iterations = self.stopping
        trial = min(TRIAL_STEPS, max_iterations)

        def likelihood() -> StateLikelihood:
            return StateLikelihood(task.data, task.scorer, workers, l2=self.l2, local=local)

        def begin(number: int) -> OptimisationResult:
            vector, evaluations = self._em(task, number, follower, workers, local=local)
            found = minimize(
                likelihood(),
                vector,
                memory=LBFGS_MEMORY,
                max_iterations=trial,
                tolerance=tolerance,
                period=period,
                callback=follower.of(number),
            )
            follower.check(found)
            return replace(found, evaluations=found.evaluations + evaluations)

        def finish(number: int, so_far: OptimisationResult) -> OptimisationResult:
            if follower.stopped or max_iterations <= trial:
                return so_far
            last = minimize(
                likelihood(),
                so_far.vector,
                memory=LBFGS_MEMORY,
                max_iterations=max_iterations - trial,
                tolerance=tolerance,
                period=period,
                callback=follower.of(number),
            )
            follower.check(last)
            return combine_stages(so_far, last)

        keep = (self.restarts + 1) // 2
        try:
            mapped = Workers(1).map if one else task.workers.map
            return best_of_restarts(begin, finish, self.restarts, keep, mapped)
        except KeyboardInterrupt:
            return follower.interrupted(self.restarts)

    def _em(
        self,
        task: StateTask,
        number: int,
        follower: RestartMonitor,
        workers: Workers,
        *,
        local: bool,
    ) -> tuple[Floats, int]:
        """EM from the random start of a number: the vector, and how often a function was called."""
        random = np.random.default_rng([self.seed, number])
        vector = random.uniform(-1.0, 1.0, task.scorer.size)
        if not self.em:
            return vector, 0
        bound = ExpectedLikelihood(task.data, task.scorer, workers, l2=self.l2, local=local)

        def e_step(vector: Floats, power: float) -> StateObjective:
            bound.e_step(vector, power)
            return bound.m_step()

        return expectation_maximisation(
            e_step,
            vector,
            iterations=self.em,
            steps=self.m_steps,
            initial_inverse_temperature=1.0 if self.annealing is None else self.annealing,
            stop=lambda: follower.stopped,
        )

    def _maximise_directly(
        self, task: StateTask, vector: Floats, objective: type[StateObjective]
    ) -> OptimisationResult:
        """One minimisation with all threads."""
        tolerance, period, max_iterations = self.stopping
        early_stopping = EarlyStopping(
            lambda own: task.untrained.with_weights(task.scorer.weights(own)),
            task.held_out,
            self.patience,
            task.workers,
            task.progress,
        )
        found = minimize(
            objective(task.data, task.scorer, task.workers, l2=self.l2, local=self.local),
            vector,
            memory=LBFGS_MEMORY,
            max_iterations=max_iterations,
            tolerance=tolerance,
            period=period,
            callback=early_stopping,
        )
        if early_stopping.best is None:
            return found
        return replace(found, vector=early_stopping.best.vector, loss=early_stopping.best.loss)

    def _refine(self, task: StateTask, found: Restarts) -> Restarts:
        """Go on by the marginal likelihood, or with patience, where that is asked for."""
        if found.best.reason == INTERRUPTED:
            return found
        if self.objective == MARGINAL:
            last = self._maximise_directly(task, found.best.vector, StateMarginalLikelihood)
        elif self.patience is not None and task.initial_weights is None:
            last = self._maximise_directly(task, found.best.vector, StateLikelihood)
        else:
            return found
        return replace(found, best=combine_stages(found.best, last))

    def _state_counts(self, task: StateTask, vector: Floats) -> dict[str, Any]:
        """How often states follow each other and emit labels in the training data, as expected."""
        pairs, emitted = expected_counts(
            task.data, task.scorer, vector, task.workers, local=self.local
        )
        return {"followed": pairs.tolist(), "emitted": emitted.tolist()}


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
                    try:
                        self.progress.step(
                            replace(
                                self._best,
                                iteration=self._iterations,
                                seconds=seconds,
                                improvement=None,
                            ),
                            None,
                        )
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
    old = {name: k for k, name in enumerate(start.labels)}
    labels = [(old[name], k) for k, name in enumerate(untrained.labels) if name in old]
    known = {name: k for k, name in enumerate(start.features.names())}
    names = untrained.features.names()
    rows = [(known[name], k) for k, name in enumerate(names) if name in known]
    if not labels or not rows:
        raise ParameterError("the model to start from shares no label or no feature with the data")
    rows.append((len(known), len(names)))
    weights = StateWeights.zeros(len(names), states, len(untrained.labels))
    a, b = (np.array(side) for side in zip(*rows, strict=True))
    source, target = (np.array(side) for side in zip(*labels, strict=True))
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


def combine_stages(earlier: OptimisationResult, last: OptimisationResult) -> OptimisationResult:
    """Two parts of a minimisation as one."""
    return replace(
        last,
        iterations=earlier.iterations + last.iterations,
        evaluations=earlier.evaluations + last.evaluations,
    )
