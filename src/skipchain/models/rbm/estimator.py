"""The RBM-CRF: labels whose larger structures are found by label features."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import Weights
from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError, SkipchainWarning
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.epochs import run_epochs
from skipchain.learn.momentum import Momentum
from skipchain.learn.step import OptimisationResult, Step
from skipchain.models.base.estimator import BaseEstimator, plain_settings
from skipchain.models.base.inputs import as_input, fit_features
from skipchain.models.base.model import Model
from skipchain.models.chain.estimator import ChainTask
from skipchain.models.chain.fitting import HeldOut, Progress, training_size
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.chain.model import ChainModel
from skipchain.models.latent.estimator import LatentEstimator
from skipchain.models.latent.model import StateModel
from skipchain.models.rbm import gibbs
from skipchain.models.rbm.base_model import (
    base_model_marginals,
    describe_base_model,
    encode_for_model,
)
from skipchain.models.rbm.experts import (
    check_same_labels,
    expert_dataset,
    fit_experts,
    format_experts,
    parse_experts,
    with_state_counts,
)
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.model import RBMModel, tempered_log_marginals
from skipchain.models.rbm.training import RBMTask, RBMTraining
from skipchain.models.rbm.units import (
    BORDERS,
    INSIDE,
    PARTIAL,
    HiddenUnitGroup,
    LabelFilters,
    parse_unit_groups,
)
from skipchain.models.registry import estimator_class, make_estimator
from skipchain.parallel import Workers

LR, NONE = BUILT_IN_OBSERVATIONS = "lr", "none"
BASE_MODEL_KINDS = ("maxent", "memm", "crf", "hmm", "iohmm", "hrf", "mop-memm", "skip-chain-crf")
SHARED_PARAMETERS = (
    "encoding",
    "min_count",
    "constraints",
    "seed",
    "scheme",
    "functions",
    "threads",
)


class RBMCRF(BaseEstimator):
    """Label features beside a model of the input: p(y | x) ∝ p_I(y | x) Π (1 + exp a(y)).

    A label feature is a binary unit that looks at the labels of a window, at every place of the
    sequence; what it looks for is learnt. So labels can hang together in structures that no pair of
    neighbours shows. There are no exact marginals: they are found by Gibbs sampling, and weights by
    contrastive divergence.

    Parameters
    ----------
    features, encoding, min_count, constraints, scheme, functions, threads
        As of `CRF`; ``constraints`` are kept when labels are decoded.
    groups
        Label features: pairs of a number of units and the offsets that they look at, or text:
        ``"9:0..1; 3:0..7"`` are 9 that look at two neighbours, and 3 that look at 8 labels in a
        row. ``"2:-1..0|x"`` are 2 that the input at offset 0 switches on and off, too.
    borders
        Where a window reaches beyond the sequence, it is left out (``inside``), looks at the labels
        that there are (``partial``), or has weights for what lies outside (``marked``).
    observation
        How the input tells labels by itself: ``lr``, a logistic regression learnt together with the
        label features; ``none``; or another model that gives marginals, whose power ``gamma`` is
        taken. A model that is fitted is taken as it is. Another estimator, or a kind of one such as
        ``crf``, is fitted first; label features then learn beside what it says of parts of the data
        that it was not shown (``folds`` of them), since it is too sure of what it was.
    experts
        Models of hidden states that are learnt together with the label features: HRFs and IOHMMs,
        or text: ``"hrf:4; iohmm:2"``. They begin with what they have learnt if they are fitted,
        else they are fitted first. A logistic regression beside them begins with nothing;
        ``observation="none"`` leaves it out.
    warm, spread
        Weights begin at random between −``spread`` and ``spread``; ``warm`` begins with those of
        the logistic regression where they would end if there were no label features.
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
    restarts
        How often training begins from other weights; the weights that find the training data most
        probable, label by label, are kept.
    burn_in, samples, annealed
        Steps of sampling for marginals: those that do not count and those that do, and whether
        scores rise to their full size in the first.

    Examples
    --------
    >>> from skipchain.datasets.synthetic import toy1
    >>> problem = toy1(0)
    >>> labeller = RBMCRF(groups="2:0..5", encoding=None).fit(problem.train_x, problem.train_y)
    >>> "".join(labeller.predict(problem.test_x[:1])[0]) == "".join(problem.test_y[0])
    True
    """

    kind = "rbm-crf"
    patience = None

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        groups: str | Sequence[Any] = "6:0..1; 6:0..4",
        borders: str = PARTIAL,
        observation: str | Model | BaseEstimator = LR,
        gamma: float = 1.0,
        folds: int = 5,
        experts: str | LatentEstimator | StateModel | Sequence[Any] = (),
        warm: bool = True,
        spread: float = 1.0,
        encoding: str | None = "bioes",
        min_count: int = 1,
        constraints: str = "decoding",
        epochs: int = 100,
        batch: int | None = None,
        steps: int | str | Mapping[int, int] = 3,
        rate: float = 0.1,
        momentum: float = 0.9,
        momentum_from: int = 25,
        decay: float = 0.01,
        average_from: float = 0.5,
        persistent: bool = False,
        restarts: int = 1,
        burn_in: int = 50,
        samples: int = 100,
        annealed: bool = False,
        seed: int = 0,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
    ) -> None:
        self.features = features
        self.groups = groups
        self.borders = borders
        self.observation = observation
        self.gamma = gamma
        self.folds = folds
        self.experts = experts
        self.warm = warm
        self.spread = spread
        self.encoding = encoding
        self.min_count = min_count
        self.constraints = constraints
        self.epochs = epochs
        self.batch = batch
        self.steps = steps
        self.rate = rate
        self.momentum = momentum
        self.momentum_from = momentum_from
        self.decay = decay
        self.average_from = average_from
        self.persistent = persistent
        self.restarts = restarts
        self.burn_in = burn_in
        self.samples = samples
        self.annealed = annealed
        self.seed = seed
        self.scheme = scheme
        self.functions = functions
        self.threads = threads

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        short: dict[str, Any] = {"epochs": 1, "restarts": 1, "folds": 2}
        if isinstance(self.observation, BaseEstimator):
            short["observation"] = self.observation.for_warmup()
        short["experts"] = tuple(
            own.for_warmup() if isinstance(own, BaseEstimator) else own for own in self._experts()
        )
        return type(self)(**{**self.get_params(), **short})

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

        ``dev`` (with ``dev_y``) is scored when training is done. A keyboard interrupt ends training
        and keeps what has been learnt.
        """
        self._check()
        if start is not None:
            raise ParameterError(
                "RBMCRF cannot start from another model; observation=… puts label features beside "
                "one"
            )
        given = as_input(X)
        with Workers(self.threads) as workers:
            task = self._encode_training_data(given, y, workers)
            model, result = self._learn(task, workers, progress)
            score = None if dev is None else HeldOut(model, dev, dev_y).score(model, workers)
        if progress is not None:
            progress.end(result)
        settings = {
            **self.get_params(),
            "observation": describe_base_model(self.observation),
            "experts": format_experts(self._experts()),
        }
        summary = self._summary(
            result,
            tokens=task.data.n_tokens,
            sequences=len(task.data.offsets) - 1,
            parameters=task.parameters,
            dev=score,
            settings=plain_settings(settings),
        )
        self.model_ = replace(model, summary=summary).pruned()
        self.result_ = result
        if progress is None:
            self._raise_interrupt()
        return self

    def _encode_training_data(
        self, given: Corpus | Sequence[Any], y: Any, workers: Workers
    ) -> RBMTask:
        """The data to learn from, and a model of its features and labels without weights."""
        base, fixed = self._base(given, y, workers)
        experts = fit_experts(self._experts(), given, y)
        beside = (*experts, *(() if base is None else (base,)))
        check_same_labels(beside)
        if beside:
            known, scheme = self._known_labels(given, y)
            encoding, names = beside[0].encoding, beside[0].labels
            known = encode_for_model(beside[0], known, scheme)
        else:
            known, scheme, encoding = self._labels(given, y)
            names = known.names
        features, rows, offsets = fit_features(given, self._templates(given), self.min_count)
        if rows.tokens.n_rows == 0:
            raise CorpusError("there is no token to learn from")
        if features.n_edge_features:
            raise ParameterError(
                "RBMCRF has no features of label pairs; leave out templates that begin with "
                "'label[-1] &'"
            )
        groups = parse_unit_groups(self.groups)
        self._check_lengths(groups, offsets)
        size = len(names)
        count = features.n_features if self.observation == LR else 0
        units = LabelFilters.zeros(groups, size, features.n_features, self.borders)
        untrained = RBMModel(
            self.kind,
            names,
            features,
            np.zeros((count, size)),
            units,
            GibbsSettings(self.burn_in, self.samples, self.annealed, self.seed),
            base,
            self.gamma,
            scheme,
            encoding,
            self.constraints != "none",
            experts=experts,
        )
        labels, _ = known.to_codes(names)
        if fixed is None:
            fixed = np.zeros((len(labels), size))
        seen = tuple(expert_dataset(own, given, labels, workers) for own in experts)
        return RBMTask(Dataset(rows, offsets, labels), fixed, untrained, seen)

    def _learn(
        self, task: RBMTask, workers: Workers, progress: Progress | None
    ) -> tuple[RBMModel, OptimisationResult]:
        untrained, data = task.untrained, task.data
        batches = task.batches(self.batch, self.seed)
        ascent = Momentum(self.rate, self.decay, self.momentum, self.momentum_from)
        table = self._initial_table(task, workers)
        runs = [
            RBMTraining(
                untrained,
                batches,
                table,
                self.spread,
                ascent,
                self.average_from * self.epochs,
                self.persistent,
                self.seed,
                number,
            )
            for number in range(self.restarts)
        ]
        if progress is not None:
            size = len(runs[0].vector)
            progress.begin(
                training_size(data, len(untrained.labels), size, 4 * 8 * size * len(runs))
            )
        schedule = parse_steps(self.steps)
        alone = Workers(1)  # restarts side by side, or the sequences of one
        inner = workers if len(runs) == 1 else alone
        outer = alone if len(runs) == 1 else workers
        epoch = -1

        def once(_: float) -> float:
            nonlocal epoch
            epoch += 1
            steps = schedule[max(since for since in schedule if since <= epoch)]
            return min(outer.map(lambda run: run.epoch(epoch, steps, inner), runs))

        def tell(step: Step) -> None:
            if progress is not None:
                progress.step(step, None)

        result = run_epochs(once, lambda: runs[0].vector, self.epochs, callback=tell)
        models = [run.model(run.average) for run in runs]
        losses = outer.map(lambda model: self._loss(model, task, inner), models)
        best = int(np.argmin(losses))
        experts = zip(models[best].experts, task.experts, strict=True)
        found = replace(
            models[best],
            experts=tuple(with_state_counts(own, seen, workers) for own, seen in experts),
        )
        return found, replace(result, vector=runs[best].average, loss=losses[best])

    def _initial_table(self, task: RBMTask, workers: Workers) -> Floats | None:
        """The weights of the input as they are learnt alone; None where they begin at random."""
        if self.observation != LR or not self.warm:
            return None
        untrained, data = task.untrained, task.data
        if untrained.experts:  # they have learnt it
            return np.zeros_like(untrained.weights)
        size = len(untrained.labels)
        chain = ChainModel(
            MaxEnt.kind, untrained.labels, untrained.features, Weights.zeros(0, 0, size), local=True
        )
        l2 = self.decay * (len(data.offsets) - 1) / 2.0  # the same decay, of all sequences
        alone = MaxEnt(optimiser="lbfgs", l2=l2, pairs="all", threads=self.threads)
        return alone._learn(
            ChainTask(data, chain, None, None, None, workers, None, None)
        ).weights.state

    def _loss(self, model: RBMModel, task: RBMTask, workers: Workers) -> float:
        """−log of the sampled marginals of the training labels: what restarts are compared by."""
        whole = task.whole()
        found = gibbs.marginals(
            whole.node(model.weights, workers),
            whole.inputs(model.units, workers),
            whole.offsets,
            model.units,
            model.sampling,
            workers,
            model.states(task.experts, workers),
        )
        gold = found[np.arange(len(found)), whole.labels]
        return float(-np.log(np.maximum(gold, np.finfo(np.float64).tiny)).sum())

    # The model beside --------------------------------------------------------------------------

    def _base(
        self, given: Corpus | Sequence[Any], y: Any, workers: Workers
    ) -> tuple[Model | None, Floats | None]:
        """The pre-trained model, and the scores it gives the labels of the training data."""
        found = self.observation
        if isinstance(found, str):
            if found in BUILT_IN_OBSERVATIONS:
                return None, None
            found = self._make_estimator(found)
        base, marginals = base_model_marginals(found, given, y, self.folds, self.seed, workers)
        return base, tempered_log_marginals(marginals, self.gamma)

    def _make_estimator(self, kind: str, **settings: Any) -> BaseEstimator:
        """An estimator of a kind with the settings of this one, and some of its own."""
        known = estimator_class(kind)._parameters()
        shared = {name: getattr(self, name) for name in SHARED_PARAMETERS if name in known}
        return make_estimator(kind, self.features, **shared, **settings)

    def _experts(self) -> tuple[LatentEstimator | StateModel, ...]:
        return parse_experts(
            self.experts, lambda kind, states: self._make_estimator(kind, states=states)
        )

    # Settings ----------------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        self._check_numbers(
            whole=("epochs", "restarts", "samples"),
            optional=("batch",),
            real=("rate", "momentum", "decay", "average_from", "gamma", "spread"),
        )
        for name in ("burn_in", "momentum_from"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 0:
                raise ParameterError(f"{name} must be a whole number of at least 0, got {value!r}")
        self._check_choices(borders=BORDERS)
        if self.constraints == "training":
            raise ParameterError(
                "RBMCRF uses constraints when it decodes; give 'decoding' or 'none'"
            )
        if self.momentum >= 1.0:
            raise ParameterError(f"momentum must be below 1, got {self.momentum}")
        if not isinstance(self.folds, (int, np.integer)) or self.folds < 2:
            raise ParameterError(f"folds must be a whole number of at least 2, got {self.folds!r}")
        parse_steps(self.steps)
        groups = parse_unit_groups(self.groups)
        if isinstance(self.observation, str):
            self._check_choices(observation=(*BUILT_IN_OBSERVATIONS, *BASE_MODEL_KINDS))
        elif not isinstance(self.observation, (Model, BaseEstimator)):
            raise ParameterError(
                f"observation is {', '.join((*BUILT_IN_OBSERVATIONS, *BASE_MODEL_KINDS))}, an "
                f"estimator or a fitted model, got "
                f"{type(self.observation).__name__}"
            )
        sighted = any(group.conditioned for group in groups) or self._experts()
        if self.observation == NONE and not sighted:
            raise ParameterError(
                "observation='none' needs a group that sees the input, such as '4:-1..0|x', or "
                "experts, such as 'hrf:4'"
            )

    def _check_lengths(self, groups: Sequence[HiddenUnitGroup], offsets: Ints) -> None:
        """Refuse, or warn of, windows that no sequence is long enough for."""
        longest = int(np.diff(offsets).max())
        for group in groups:
            if group.width <= longest:
                continue
            describe_base_model = (
                f"the group {group} looks at labels {group.width} places apart, but the longest "
                f"sequence has {longest}"
            )
            if self.borders == INSIDE:
                raise ParameterError(
                    f"{describe_base_model}; use smaller offsets, or borders='partial'"
                )
            warnings.warn(
                f"{describe_base_model}; no window is ever whole", SkipchainWarning, stacklevel=3
            )


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
            found = {int(since or 0): int(steps) for since, steps in pairs}
        elif isinstance(given, Mapping):
            found = {int(since): int(steps) for since, steps in given.items()}
        else:
            found = {0: int(given)}
    except (TypeError, ValueError):
        found = {}
    if 0 not in found or min(found) < 0 or min(found.values()) < 1:
        raise ParameterError(
            f"steps must be a whole number of at least 1, or a schedule that begins with one, such "
            f"as '1, 500:3' (3 from epoch 500 on), got {given!r}"
        )
    return found
