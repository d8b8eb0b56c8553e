"""Log-linear chains: one set of parameters and two ways to learn, for CRF, MEMM and MaxEnt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.likelihood import ChainObjective, ConditionalLikelihood, MarginalLikelihood
from skipchain.chains.online import StochasticLikelihood, decaying_rate
from skipchain.chains.scorer import LinearScorer, Weights
from skipchain.corpus import Corpus
from skipchain.errors import FeatureError, ParameterError
from skipchain.features.direct import NumberedFeatures
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.epochs import run_epochs
from skipchain.learn.lbfgs import LINE_SEARCH_FAILED, minimize
from skipchain.learn.step import OptimisationResult
from skipchain.models.chain.estimator import ChainEstimator, ChainTask, FittedWeights
from skipchain.models.chain.fitting import EarlyStopping, training_size

LBFGS, NEWTON, SGD, ADAGRAD = "lbfgs", "newton", "sgd", "adagrad"
OPTIMISERS = (None, LBFGS, NEWTON, SGD, ADAGRAD)
PAIRS = (None, "observed", "all")
OBJECTIVES = {"conditional": ConditionalLikelihood, "marginal": MarginalLikelihood}
RATES = {SGD: 0.05, ADAGRAD: 0.1}
DECAY = 2.0  # the last epoch's rate is a third of the first's
AVERAGE_FROM = 0.5
MIN_EPOCHS, MAX_EPOCHS, MIN_STEPS = 30, 400, 40_000
PRUNE = 0.01
TOLERANCE, PERIOD, MAX_ITERATIONS = 1e-4, 10, 1000
MEMORY = 10  # pairs of steps and gradient changes that L-BFGS keeps
MAX_DENSE = 3_000  # weights for which a table of second derivatives is small
OPTIMISERS_OF = {
    "tolerance": (LBFGS,),
    "period": (LBFGS,),
    "max_iterations": (LBFGS, NEWTON),
    "epochs": (SGD, ADAGRAD),
    "rate": (SGD, ADAGRAD),
}
"""The optimisers that a parameter is for, first the one that it asks for by itself."""
SINGLE_TOLERANCE = 1e-6  # from which on single precision is enough for scores


class LogLinearChain(ChainEstimator):
    """The parameters of all log-linear chains; see `CRF`."""

    partial = True

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        encoding: str | None = "bioes",
        order: int = 1,
        objective: str = "conditional",
        optimiser: str | None = None,
        l1: float = 0.0,
        l2: float = 0.2,
        min_count: int = 1,
        pairs: str | None = None,
        boundaries: bool = True,
        dependent: bool = False,
        constraints: str = "decoding",
        dictionary: int | None = None,
        folds: int | None = None,
        epochs: int | None = None,
        rate: float | None = None,
        dropout: float = 0.5,
        unit_dropout: float = 0.1,
        prune: float | None = None,
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
        self.encoding = encoding
        self.order = order
        self.objective = objective
        self.optimiser = optimiser
        self.l1 = l1
        self.l2 = l2
        self.min_count = min_count
        self.pairs = pairs
        self.boundaries = boundaries
        self.dependent = dependent
        self.constraints = constraints
        self.dictionary = dictionary
        self.folds = folds
        self.epochs = epochs
        self.rate = rate
        self.dropout = dropout
        self.unit_dropout = unit_dropout
        self.prune = prune
        self.seed = seed
        self.tolerance = tolerance
        self.period = period
        self.max_iterations = max_iterations
        self.patience = patience
        self.scheme = scheme
        self.functions = functions
        self.threads = threads

    def partial_fit(self, X: Any, y: Any = None, *, classes: Sequence[str] | None = None) -> Self:
        """One pass of stochastic steps over more data, going on from what has been learnt.

        The first call fixes the features and the labels (``classes`` names those that it does not
        show); features that come up later are left out.
        """
        if self.optimiser in (LBFGS, NEWTON):
            raise ParameterError("partial_fit takes stochastic steps; use optimiser='sgd'")
        return self._partial_fit(
            X, y, classes, optimiser=self.optimiser or SGD, prune=self.prune or 0.0
        )

    def _templates(self, given: Corpus | Sequence[Any]) -> Templates | None:
        found = super()._templates(given)
        if not self.dependent:
            return found
        if found is None:
            raise ParameterError(
                "dependent=True needs templates, which features given directly lack"
            )
        return found.dependent()

    @property
    def stopping(self) -> tuple[float, int, int]:
        """When lbfgs ends: tolerance, period and the most iterations."""
        return (
            TOLERANCE if self.tolerance is None else self.tolerance,
            PERIOD if self.period is None else self.period,
            MAX_ITERATIONS if self.max_iterations is None else self.max_iterations,
        )

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        limit = "max_iterations" if self._requested_optimiser in (LBFGS, NEWTON) else "epochs"
        return type(self)(**{**self.get_params(), limit: 1, "patience": None})

    @property
    def _requested_optimiser(self) -> str | None:
        """The optimiser that the parameters ask for; None: the data decide."""
        if self.optimiser is not None:
            return self.optimiser
        if self.l1 or self.objective != "conditional":
            return LBFGS
        given = (own for name, own in OPTIMISERS_OF.items() if getattr(self, name) is not None)
        return next(given, (None,))[0]

    @property
    def _has_boundaries(self) -> bool:
        """Whether there are scores of first and last labels."""
        return self.boundaries

    def _check(self) -> None:
        super()._check()
        self._check_numbers(
            optional=("period", "max_iterations", "epochs", "folds"), real=("l1", "l2")
        )
        self._check_choices(optimiser=OPTIMISERS, pairs=PAIRS, objective=tuple(OBJECTIVES))
        for name in ("dropout", "unit_dropout"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 <= value < 1:
                raise ParameterError(f"{name} must be a share from 0 to below 1, got {value!r}")
        for name in ("rate", "prune", "tolerance"):
            if getattr(self, name) is not None:
                self._check_numbers(real=(name,))
        if self.rate == 0:
            raise ParameterError("rate must be above 0, or nothing is learnt")
        if self.local and self.constraints == "training":
            raise ParameterError(
                f"constraints='training' is for models normalised over whole sequences, which "
                f"{type(self).__name__} is not; use 'decoding'"
            )
        if self.folds is not None and not self.supports_label_history:
            raise ParameterError(
                f"folds are for a history, and {type(self).__name__} cannot use one; MEMM and "
                "MaxEnt can"
            )
        if self.order >= 2 and self.objective != "conditional":
            raise ParameterError(f"objective={self.objective!r} is for chains of order 1")
        self._check_optimiser()

    def _check_optimiser(self) -> None:
        """Refuse parameters that the optimiser does not have."""
        if self.optimiser == NEWTON and not self.local:
            raise ParameterError(
                f"optimiser='newton' is for MaxEnt and MEMM; use 'lbfgs' for {type(self).__name__}"
            )
        if self.optimiser in (NEWTON, SGD, ADAGRAD):
            if self.l1:
                raise ParameterError(f"l1 needs optimiser='lbfgs', not {self.optimiser!r}")
            if self.objective != "conditional":
                raise ParameterError(
                    f"objective={self.objective!r} needs optimiser='lbfgs', not {self.optimiser!r}"
                )
        for name, own in OPTIMISERS_OF.items():
            if getattr(self, name) is not None and self._requested_optimiser not in own:
                raise ParameterError(
                    f"{name} is for optimiser {' and '.join(own)}, not for "
                    f"{self._requested_optimiser}, which the other parameters ask for; leave one "
                    "of them out"
                )

    def _learn(self, task: ChainTask) -> FittedWeights:
        if self.order >= 2 and self.local and task.data.allowed is not None:
            raise ParameterError("partial labels need order=1, or a CRF")
        optimiser = self._requested_optimiser
        if optimiser is None:
            numbers = isinstance(task.untrained.features, NumberedFeatures)
            local_sets = self.local and task.data.allowed is not None
            optimiser = LBFGS if numbers or local_sets else SGD
        if optimiser == NEWTON and task.data.allowed is not None:
            raise ParameterError("partial labels need optimiser='lbfgs', not 'newton'")
        if optimiser in (LBFGS, NEWTON):
            return self._train_batch(task, newton=optimiser == NEWTON)
        return self._train_online(task, adaptive=optimiser == ADAGRAD)

    def _train_batch(self, task: ChainTask, *, newton: bool) -> FittedWeights:
        data, workers = task.data, task.workers
        tolerance, period, max_iterations = self.stopping
        scorer = LinearScorer(
            data,
            len(task.untrained.labels),
            observed=self.pairs != "all",
            boundaries=self._has_boundaries,
            workers=workers,
            order=self.order,
            single_precision=not newton and tolerance >= SINGLE_TOLERANCE,
        )
        if newton and scorer.size > MAX_DENSE:
            raise ParameterError(
                f"optimiser='newton' is for up to {MAX_DENSE:,} weights, and there would be "
                f"{scorer.size:,}; use optimiser='lbfgs', or fewer features (min_count)"
            )
        objective = OBJECTIVES[self.objective](
            data, scorer, workers, l2=self.l2, constraints=task.constraints, local=self.local
        )
        # the history of L-BFGS is in single precision
        vectors = 3 * scorer.size if newton else MEMORY + 8
        if task.progress is not None:
            held = scorer.nbytes + objective.nbytes + vectors * scorer.size * 8
            task.progress.begin(training_size(data, len(task.untrained.labels), scorer.size, held))
        early_stopping = task.early_stopping(scorer.unpack)
        start = (
            np.zeros(scorer.size)
            if task.initial_weights is None
            else scorer.pack(task.initial_weights)
        )
        if newton:
            result = self._newton(task, scorer, objective, start, early_stopping)
        else:
            result = minimize(
                objective,
                start,
                l1=self.l1,
                memory=MEMORY,
                max_iterations=max_iterations,
                tolerance=tolerance,
                period=period,
                curvature=None if self.l1 else objective.curvature,
                callback=early_stopping,
            )
        stuck = result.reason == LINE_SEARCH_FAILED and not result.iterations
        # an earlier model may be the minimum already
        if not np.isfinite(result.loss) or (stuck and task.initial_weights is None):
            raise FeatureError("no step lowers the loss; scale the features' values down")
        result = best_on_dev(early_stopping, result)
        weights = scorer.weights(result.vector)
        return FittedWeights(_drop_small_weights(weights, self.prune or 0.0), result, scorer.size)

    def _newton(
        self,
        task: ChainTask,
        scorer: LinearScorer,
        objective: ChainObjective,
        start: Floats,
        early_stopping: EarlyStopping,
    ) -> OptimisationResult:
        from skipchain.chains.curvature import LocalHessian
        from skipchain.learn import newton

        curvature = LocalHessian(task.data, scorer, task.workers, l2=self.l2)
        return newton.minimize(
            objective, curvature, start, max_iterations=self.stopping[2], callback=early_stopping
        )

    def _train_online(self, task: ChainTask, *, adaptive: bool) -> FittedWeights:
        if self.local and task.data.allowed is not None:
            raise ParameterError("partial labels of a local model need optimiser='lbfgs'")
        learner = StochasticLikelihood(
            task.data,
            len(task.untrained.labels),
            observed=self.pairs == "observed" or (adaptive and self.pairs is None),
            boundaries=self._has_boundaries,
            constraints=task.constraints,
            order=self.order,
            local=self.local,
            l2=self.l2,
            dropout=self.dropout,
            unit_dropout=self.unit_dropout,
            adaptive=adaptive,
            seed=self.seed,
            initial_weights=task.initial_weights,
        )
        if task.progress is not None:
            task.progress.begin(
                training_size(task.data, len(task.untrained.labels), learner.size, learner.nbytes)
            )
        rate = RATES[ADAGRAD if adaptive else SGD] if self.rate is None else self.rate
        falls = decaying_rate(rate, DECAY)

        def epoch(done: float) -> float:
            loss = learner.epoch(falls(done))
            if not np.isfinite(loss):
                raise FeatureError(
                    f"the steps grew without bound; use a rate below {rate:g}, scale the features' "
                    "values down, or use optimiser='lbfgs'"
                )
            return loss

        early_stopping = task.early_stopping(learner.weights)
        result = run_epochs(
            epoch,
            learner.vector,
            self.epochs or default_epochs(len(task.data.offsets) - 1),
            average_from=AVERAGE_FROM,
            callback=early_stopping,
        )
        result = best_on_dev(early_stopping, result)
        weights = learner.weights(result.vector)
        small = PRUNE if self.prune is None else self.prune
        return FittedWeights(_drop_small_weights(weights, small), result, learner.size)


def default_epochs(sequences: int) -> int:
    """Passes over the data: 30, and more where few sequences mean few steps.

    >>> default_epochs(14_000), default_epochs(400), default_epochs(5)
    (30, 100, 400)
    """
    return min(MAX_EPOCHS, max(MIN_EPOCHS, math.ceil(MIN_STEPS / max(1, sequences))))


def best_on_dev(early_stopping: EarlyStopping, result: OptimisationResult) -> OptimisationResult:
    """With patience: where the development score was best."""
    if early_stopping.best is None:
        return result
    return replace(result, vector=early_stopping.best.vector, loss=early_stopping.best.loss)


def _drop_small_weights(weights: Weights, limit: float) -> Weights:
    """Features' weights below the limit become zero."""
    if not limit:
        return weights
    state, edges = (np.where(np.abs(w) >= limit, w, 0.0) for w in (weights.state, weights.edges))
    return replace(weights, state=state, edges=edges)
