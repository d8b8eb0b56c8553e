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
from skipchain.learn.step import INTERRUPTED, Minimum, Step
from skipchain.models.base.estimator import Labeller
from skipchain.models.base.inputs import as_input, fit_features
from skipchain.models.chain.fitting import HeldOut, Progress, Watch, problem_of, require_allowed
from skipchain.models.latent.likelihood import (
    ExpectedLikelihood,
    StateLikelihood,
    StateMarginals,
    StateObjective,
    expected_counts,
)
from skipchain.models.latent.model import StateModel
from skipchain.models.latent.scorer import StateScorer, StateWeights
from skipchain.parallel import Workers

CONDITIONAL, MARGINAL = OBJECTIVES = "conditional", "marginal"
TRIAL = 50  # steps after which the worse half of the restarts is given up
MEMORY = 10
TOLERANCE, PERIOD, MAX_ITERATIONS = 1e-6, 10, 1000


class LatentEstimator(Labeller):
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
        data, blank = self._begin(as_input(X), y)
        first = None if start is None else self._first(_model(start), blank)
        held_out = None if dev is None else HeldOut(blank, dev, dev_y)
        with Workers(self.threads) as workers:
            task = StateTask(
                data,
                blank,
                StateScorer(data.rows, self.states, len(blank.labels), bias=self.bias),
                held_out,
                first,
                workers,
                progress,
            )
            if progress is not None:
                progress.begin(self._problem(task))
            restarts = self._learn(task)
            minimum = restarts.best
            if not np.isfinite(minimum.loss):
                raise FeatureError("no step lowers the loss; scale the features' values down")
            model = blank.filled(task.scorer.weights(minimum.vector))
            score = None if held_out is None else held_out.score(model, workers)
            facts = self._facts(task, minimum.vector)
        if progress is not None:
            progress.end(minimum)
        summary = self._summary(
            minimum,
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
        self.minimum_ = minimum
        if progress is None:
            self._raise_interrupt()
        return self

    def shortened(self) -> Self:
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

    def _begin(self, given: Corpus | Sequence[Any], y: Any) -> tuple[Dataset, StateModel]:
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
        blank = StateModel(
            self.kind,
            known.names,
            features,
            StateWeights.zeros(rows.n_features, self.states, len(known.names)),
            self.local,
            scheme,
            encoding,
            self.constraints != "none",
        )
        data = Dataset(rows, offsets, *known.numbers(known.names))
        if blank.constraints is not None:
            require_allowed(data, blank.constraints, blank.labels)
        return data, blank

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

    def _problem(self, task: StateTask) -> Any:
        """The size of the problem, as a display is told."""
        scorer = task.scorer
        per_token = scorer.n_states * (scorer.n_states + 1 + scorer.n_labels)
        side_by_side = min(self.restarts, task.workers.threads)
        held = side_by_side * (4 * per_token * task.data.n_tokens + (2 * MEMORY + 8) * scorer.size)
        return problem_of(task.data, scorer.n_labels, scorer.size, scorer.nbytes + 8 * held)

    # Learning ----------------------------------------------------------------------------------

    def _first(self, start: StateModel, blank: StateModel) -> StateWeights:
        """The weights to begin with, from an earlier model."""
        return carried(start, blank, self.states)

    def _learn(self, task: StateTask) -> Restarts:
        """The best vector, and what became of each start."""
        if task.first is None:
            found = self._search(task)
        else:
            best = self._directly(task, task.scorer.pack(task.first), StateLikelihood)
            found = Restarts(best, (best.loss,), (True,))
        return self._last(task, found)

    def _search(self, task: StateTask) -> Restarts:
        """The best of several starts."""
        return self._from_restarts(task, local=self.local)

    def _from_restarts(self, task: StateTask, *, local: bool) -> Restarts:
        """Random starts side by side: EM, some direct steps, and the better half to the end."""
        follower = Follower(task.progress)
        one = self.restarts == 1
        workers = task.workers if one else Workers(1)  # then the threads are for the restarts
        tolerance, period, max_iterations = self.stopping
        trial = min(TRIAL, max_iterations)

        def likelihood() -> StateLikelihood:
            return StateLikelihood(task.data, task.scorer, workers, l2=self.l2, local=local)

        def begin(number: int) -> Minimum:
            vector, evaluations = self._em(task, number, follower, workers, local=local)
            found = minimize(
                likelihood(),
                vector,
                memory=MEMORY,
                max_iterations=trial,
                tolerance=tolerance,
                period=period,
                callback=follower.of(number),
            )
            follower.check(found)
            return replace(found, evaluations=found.evaluations + evaluations)

        def finish(number: int, so_far: Minimum) -> Minimum:
            if follower.stopped or max_iterations <= trial:
                return so_far
            last = minimize(
                likelihood(),
                so_far.vector,
                memory=MEMORY,
                max_iterations=max_iterations - trial,
                tolerance=tolerance,
                period=period,
                callback=follower.of(number),
            )
            follower.check(last)
            return after(so_far, last)

        keep = (self.restarts + 1) // 2
        try:
            mapped = Workers(1).map if one else task.workers.map
            return best_of_restarts(begin, finish, self.restarts, keep, mapped)
        except KeyboardInterrupt:
            return follower.interrupted(self.restarts)

    def _em(
        self, task: StateTask, number: int, follower: Follower, workers: Workers, *, local: bool
    ) -> tuple[Floats, int]:
        """EM from the random start of a number: the vector, and how often a function was called."""
        random = np.random.default_rng([self.seed, number])
        vector = random.uniform(-1.0, 1.0, task.scorer.size)
        if not self.em:
            return vector, 0
        bound = ExpectedLikelihood(task.data, task.scorer, workers, l2=self.l2, local=local)

        def expect(vector: Floats, power: float) -> StateObjective:
            bound.expect(vector, power)
            return bound.m_step()

        return expectation_maximisation(
            expect,
            vector,
            iterations=self.em,
            steps=self.m_steps,
            first_power=1.0 if self.annealing is None else self.annealing,
            stop=lambda: follower.stopped,
        )

    def _directly(
        self, task: StateTask, vector: Floats, objective: type[StateObjective]
    ) -> Minimum:
        """One minimisation with all threads."""
        tolerance, period, max_iterations = self.stopping
        watch = Watch(
            lambda own: task.blank.filled(task.scorer.weights(own)),
            task.held_out,
            self.patience,
            task.workers,
            task.progress,
        )
        found = minimize(
            objective(task.data, task.scorer, task.workers, l2=self.l2, local=self.local),
            vector,
            memory=MEMORY,
            max_iterations=max_iterations,
            tolerance=tolerance,
            period=period,
            callback=watch,
        )
        if watch.best is None:
            return found
        return replace(found, vector=watch.best.vector, loss=watch.best.loss)

    def _last(self, task: StateTask, found: Restarts) -> Restarts:
        """Go on by the marginal likelihood, or with patience, where that is asked for."""
        if found.best.reason == INTERRUPTED:
            return found
        if self.objective == MARGINAL:
            last = self._directly(task, found.best.vector, StateMarginals)
        elif self.patience is not None and task.first is None:
            last = self._directly(task, found.best.vector, StateLikelihood)
        else:
            return found
        return replace(found, best=after(found.best, last))

    def _facts(self, task: StateTask, vector: Floats) -> dict[str, Any]:
        """How often states follow each other and emit labels in the training data, as expected."""
        pairs, emitted = expected_counts(
            task.data, task.scorer, vector, task.workers, local=self.local
        )
        return {"followed": pairs.tolist(), "emitted": emitted.tolist()}


@dataclass(frozen=True)
class StateTask:
    """Everything that a learner of hidden states is given."""

    data: Dataset
    blank: StateModel
    scorer: StateScorer
    held_out: HeldOut | None
    first: StateWeights | None
    workers: Workers
    progress: Progress | None


@dataclass
class Follower:
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

    def check(self, minimum: Minimum) -> None:
        """Raise a keyboard interrupt that a minimisation has kept to itself."""
        if minimum.reason == INTERRUPTED:
            self.stopped = True
            raise KeyboardInterrupt

    def interrupted(self, count: int) -> Restarts:
        """What has been reached when a keyboard interrupt came; raised again if that is nothing."""
        self.stopped = True
        with self._lock:
            if self._best is None:
                raise KeyboardInterrupt
            best = Minimum(
                self._best.vector, self._best.loss, self._iterations, self._iterations, INTERRUPTED
            )
            losses = tuple(self._losses.get(number, np.inf) for number in range(count))
            return Restarts(best, losses, (False,) * count)


def carried(start: StateModel, blank: StateModel, states: int) -> StateWeights:
    """An earlier model's weights for the features and labels that it shares with the new one."""
    if start.n_states != states:
        raise ParameterError(
            f"the model to start from has {start.n_states} states, and {states} are wanted; "
            "give the same number"
        )
    old = {name: k for k, name in enumerate(start.labels)}
    labels = [(old[name], k) for k, name in enumerate(blank.labels) if name in old]
    known = {name: k for k, name in enumerate(start.features.names())}
    names = blank.features.names()
    rows = [(known[name], k) for k, name in enumerate(names) if name in known]
    if not labels or not rows:
        raise ParameterError("the model to start from shares no label or no feature with the data")
    rows.append((len(known), len(names)))
    weights = StateWeights.zeros(len(names), states, len(blank.labels))
    a, b = (np.array(side) for side in zip(*rows, strict=True))
    source, target = (np.array(side) for side in zip(*labels, strict=True))
    weights.transitions[b] = start.weights.transitions[a]
    every = np.arange(states)
    weights.emissions[np.ix_(b, every, target)] = start.weights.emissions[np.ix_(a, every, source)]
    return weights


def _model(start: object) -> StateModel:
    found = start.fitted if isinstance(start, Labeller) else start
    if isinstance(found, StateModel):
        return found
    raise ParameterError(
        "a model of hidden states can start from another one of them only (IOHMM, HRF), got "
        f"{found.kind if hasattr(found, 'kind') else type(start).__name__}"
    )


def after(earlier: Minimum, last: Minimum) -> Minimum:
    """Two parts of a minimisation as one."""
    return replace(
        last,
        iterations=earlier.iterations + last.iterations,
        evaluations=earlier.evaluations + last.evaluations,
    )
