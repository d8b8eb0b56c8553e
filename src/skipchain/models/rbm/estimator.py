"""The RBM-CRF: labels whose larger structures are found by hidden units."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_marginals import DECODERS
from skipchain.chains.learn import ChainProblem, learn_chain
from skipchain.checks import check_choice, check_integer, check_number
from skipchain.corpus import Corpus
from skipchain.errors import ParameterError, SkipchainWarning
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.epochs import run_epochs
from skipchain.learn.solvers import ALL, LBFGS, ContrastiveDivergence, Solver, parse_steps
from skipchain.learn.step import INTERRUPTED, OptimisationResult, Step
from skipchain.models.base.estimator import BaseEstimator, plain_settings
from skipchain.models.base.model import AnyModel, Model
from skipchain.models.base.parameters import check_type
from skipchain.models.base.progress import Progress, TrainingSize
from skipchain.models.base.task import Fitted, TrainingTask
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
from skipchain.models.rbm.gibbs import MAX_STEPS, GibbsSettings
from skipchain.models.rbm.group import HiddenUnitGroup
from skipchain.models.rbm.groups import format_unit_groups, parse_unit_groups, unit_groups
from skipchain.models.rbm.model import RBMModel, tempered_log_marginals
from skipchain.models.rbm.training import RBMTask, RBMTraining
from skipchain.models.rbm.units import BORDERS, INSIDE, PARTIAL, LabelFilters
from skipchain.models.registry import estimator_class, make_estimator
from skipchain.parallel import Workers

LR, NONE = BUILT_IN_OBSERVATIONS = "lr", "none"
BASE_MODEL_KINDS = ("maxent", "memm", "crf", "hmm", "iohmm", "hrf", "mop-memm", "skip-chain-crf")
SHARED = ("encoding", "min_count", "constraints", "seed", "scheme", "functions", "threads")


class RBMCRF(BaseEstimator):
    """Hidden units over labels, and a base model: p(y | x) ∝ p_I(y | x) Π (1 + exp a(y)).

    A label feature is a binary unit that looks at the labels of a window, at every place of the
    sequence; what it looks for is learnt. So labels can hang together in structures that no pair of
    neighbours shows. There are no exact marginals: they are found by Gibbs sampling, and weights by
    contrastive divergence.

    Parameters
    ----------
    features, encoding, min_count, constraints, scheme, functions, threads
        As of `CRF`; ``constraints`` are kept when labels are decoded.
    groups
        Hidden units: pairs of a number of units and the offsets that they look at, or text:
        ``"9:0..1; 3:0..7"`` are 9 that look at two neighbours, and 3 that look at 8 labels in a
        row. ``"2:-1..0|x"`` are 2 that the input at offset 0 switches on and off, too, and
        ``"2:-1..0|x[-1..1]"`` 2 that the input at offsets −1 to 1 does. Weights may be given:
        ``"fixed:A@0=6,B@1=6,bias=-9"`` is a unit that looks for A, then B, or `FixedUnits`.
        ``"6:0..2; 2:0,4,8|units[1]"`` are 6, and a second level of 2 that look at these 6.
    borders
        Where a window reaches beyond the sequence, it is left out (``inside``), looks at the labels
        that there are (``partial``), or has weights for what lies outside (``marked``).
    observation
        How the input tells labels by itself: ``lr``, a logistic regression learnt together with the
        hidden units; ``none``; or another model that gives marginals, whose power ``gamma`` is
        taken. A model that is fitted is taken as it is. Another estimator, or a kind of one such as
        ``crf``, is fitted first; hidden units then learn beside what it says of parts of the data
        that it was not shown (the solver's ``folds``), since it is too sure of what it was.
    experts
        Models of hidden states that are learnt together with the hidden units: HRFs and IOHMMs,
        or text: ``"hrf:4; iohmm:2"``. They begin with what they have learnt if they are fitted,
        else they are fitted first. A logistic regression beside them begins with nothing;
        ``observation="none"`` leaves it out.
    solver
        `ContrastiveDivergence` of `skipchain.learn.solvers`; its settings may be given by name, as
        in ``RBMCRF(epochs=50, rate=0.05)``.
    sampling
        How labels are sampled for marginals: `GibbsSettings`, or its settings by name: ``burn_in``
        and ``samples``, the steps that do not count and those that do, and ``annealed``, whether
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
    solvers = (ContrastiveDivergence,)
    decoders = DECODERS
    groups_of_settings = {"sampling": (GibbsSettings, {})}  # noqa: RUF012
    groups: str | Sequence[Any]
    borders: str
    observation: str | AnyModel | BaseEstimator
    gamma: float
    experts: str | LatentEstimator | StateModel | Sequence[Any]
    sampling: GibbsSettings | None
    model_: RBMModel

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        groups: str | Sequence[Any] = "6:0..1; 6:0..4",
        borders: str = PARTIAL,
        observation: str | AnyModel | BaseEstimator = LR,
        gamma: float = 1.0,
        experts: str | LatentEstimator | StateModel | Sequence[Any] = (),
        encoding: str | None = "bioes",
        min_count: int = 1,
        constraints: str = "decoding",
        solver: str | Solver | None = None,
        sampling: GibbsSettings | None = None,
        seed: int = 0,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        short = super().for_warmup()
        if isinstance(self.observation, BaseEstimator):
            short.observation = self.observation.for_warmup()
        short.experts = tuple(
            own.for_warmup() if isinstance(own, BaseEstimator) else own for own in self._experts()
        )
        return short

    # Fitting -----------------------------------------------------------------------------------

    def reads(self, corpus: Corpus) -> set[str]:
        """The columns that features read, and those of the models that this one builds on."""
        others = (self.observation, *self._experts())
        return super().reads(corpus).union(*(_reads(own, corpus) for own in others))

    def _check_fit(self, dev: Any, start: Any) -> None:
        super()._check_fit(dev, start)
        if start is not None:
            raise ParameterError(
                "RBMCRF cannot start from another model; observation=… takes one as base model"
            )

    def _train(self, task: TrainingTask) -> Fitted:
        rbm_task = self._encode(task)
        model, result = self._learn(rbm_task, task.workers, task.progress)
        described = {
            "observation": describe_base_model(self.observation),
            "experts": format_experts(self._experts()),
            "groups": format_unit_groups(parse_unit_groups(self.groups)),
        }
        facts = {"settings": plain_settings({**self.get_params(deep=False), **described})}
        return Fitted.of(rbm_task.data, model, result, rbm_task.parameters, facts=facts)

    def _encode(self, task: TrainingTask) -> RBMTask:
        """The data to learn from, and a model of its features and labels without weights."""
        given, y, workers = task.given, task.labels, task.workers
        base, fixed = self._base(task)
        experts = fit_experts(self._experts(task.templates), given, y)
        others = (*experts, *(() if base is None else (base,)))
        check_same_labels(others)
        if others:
            known, scheme = self._known_labels(given, y)
            encoding, names = others[0].encoding, others[0].labels
            known = encode_for_model(others[0], known, scheme)
        else:
            known, scheme, encoding = self._labels(given, y)
            names = known.names
        features, rows, offsets = task.features(self.min_count)
        self._no_pair_features(features.n_edge_features)
        groups = parse_unit_groups(self.groups)
        self._check_lengths(unit_groups(groups), offsets)
        size = len(names)
        count = features.n_features if self.observation == LR else 0
        untrained = RBMModel(
            kind=self.kind,
            labels=names,
            features=features,
            weights=np.zeros((count, size)),
            units=LabelFilters.blank(groups, names, features.n_features, self.borders),
            sampling=self._sampling,
            base=base,
            gamma=self.gamma,
            scheme=scheme,
            encoding=encoding,
            constrained=self.constraints != "none",
            experts=experts,
        )
        labels, _ = known.to_codes(names)
        if fixed is None:
            fixed = np.zeros((len(labels), size))
        seen = tuple(expert_dataset(own, given, labels, workers) for own in experts)
        return RBMTask(Dataset(rows, offsets, labels), fixed, untrained, seen)

    @property
    def _sampling(self) -> GibbsSettings:
        sampling = self.sampling or GibbsSettings()
        check_type("sampling", sampling, GibbsSettings)
        return replace(sampling, seed=sampling.seed or self.seed)

    @property
    def _solver(self) -> ContrastiveDivergence:
        solver = super()._solver
        assert isinstance(solver, ContrastiveDivergence)
        return solver

    def _learn(
        self, task: RBMTask, workers: Workers, progress: Progress | None
    ) -> tuple[RBMModel, OptimisationResult]:
        untrained, data, solver = task.untrained, task.data, self._solver
        batches = task.batches(solver.batch, self.seed)
        table = self._initial_table(task, workers)
        runs = [
            RBMTraining(untrained, batches, table, solver, self.seed, number)
            for number in range(solver.restarts)
        ]
        if progress is not None:
            size = len(runs[0].vector)
            held = 4 * 8 * size * len(runs)
            progress.begin(TrainingSize.of(data, len(untrained.labels), size, held))
        schedule = parse_steps(solver.steps)
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

        result = run_epochs(once, lambda: runs[0].vector, solver.epochs, callback=tell)
        models = [run.model(run.average) for run in runs]
        losses = outer.map(lambda model: self._loss(model, task, inner), models)
        best = int(np.argmin(losses))
        experts = zip(models[best].experts, task.experts, strict=True)
        model = replace(
            models[best],
            experts=tuple(with_state_counts(own, seen, workers) for own, seen in experts),
        )
        return model, replace(result, vector=runs[best].average, loss=losses[best])

    def _initial_table(self, task: RBMTask, workers: Workers) -> Floats | None:
        """The weights of the input as they are learnt alone; None where they begin at random."""
        solver = self._solver
        if self.observation != LR or not solver.warm:
            return None
        data, size = task.data, len(task.untrained.labels)
        if task.untrained.experts:  # they have learnt it
            return np.zeros_like(task.untrained.weights)
        l2 = solver.decay * (len(data.offsets) - 1) / 2.0  # the same decay, of all sequences
        problem = ChainProblem(data, size, l2=l2).of_positions()
        learnt = learn_chain(problem, LBFGS(pairs=ALL), workers)
        if learnt.result.reason == INTERRUPTED:
            raise KeyboardInterrupt
        return learnt.weights.state

    def _loss(self, model: RBMModel, task: RBMTask, workers: Workers) -> float:
        """−log of the sampled marginals of the training labels: what restarts are compared by."""
        whole = task.whole()
        node, inputs = whole.node(model.weights, workers), whole.inputs(model.units, workers)
        how = model.units, model.sampling, workers, model.states(task.experts, workers)
        found = gibbs.marginals(node, inputs, whole.offsets, *how)
        gold = found[np.arange(len(found)), whole.labels]
        return float(-np.log(np.maximum(gold, np.finfo(np.float64).tiny)).sum())

    # The base model ----------------------------------------------------------------------------

    def _base(self, task: TrainingTask) -> tuple[AnyModel | None, Floats | None]:
        """The base model, and the scores it gives the labels of the training data."""
        base = self.observation
        if isinstance(base, str):
            if base in BUILT_IN_OBSERVATIONS:
                return None, None
            base = self._make_estimator(base, task.templates)
        model, marginals = base_model_marginals(
            base, task.given, task.labels, self._solver.folds, self.seed, task.workers
        )
        return model, tempered_log_marginals(marginals, self.gamma)

    def _make_estimator(
        self, kind: str, templates: Templates | None, **settings: Any
    ) -> BaseEstimator:
        """An estimator of a kind with the parameters of this one, and some of its own."""
        known = estimator_class(kind).parameters()
        shared = {name: getattr(self, name) for name in SHARED if name in known}
        return make_estimator(kind, templates or self.features, **shared, **settings)

    def _experts(
        self, templates: Templates | None = None
    ) -> tuple[LatentEstimator | StateModel, ...]:
        return parse_experts(
            self.experts, lambda kind, states: self._make_estimator(kind, templates, states=states)
        )

    # Settings ----------------------------------------------------------------------------------

    def _check(self) -> None:
        super()._check()
        check_number("gamma", self.gamma)
        check_integer("samples", self._sampling.samples, most=MAX_STEPS)
        check_integer("burn_in", self._sampling.burn_in, least=0, most=MAX_STEPS)
        check_choice("borders", self.borders, BORDERS)
        self._only_decoding()
        specs = parse_unit_groups(self.groups)
        for own in specs:
            if isinstance(own, HiddenUnitGroup) and own.fixed:
                raise ParameterError(
                    f"the group {own} has no weights; write 'fixed:A@0=2,B@1=2,bias=-3', or give "
                    "FixedUnits of skipchain.models.rbm.fixed_units"
                )
        known = (*BUILT_IN_OBSERVATIONS, *BASE_MODEL_KINDS)
        if isinstance(self.observation, str):
            check_choice("observation", self.observation, known)
        elif not isinstance(self.observation, (Model, BaseEstimator)):
            raise ParameterError(
                f"observation is {', '.join(known)}, an estimator or a fitted model, got "
                f"{type(self.observation).__name__}"
            )
        sighted = any(group.inputs for group in unit_groups(specs)) or self._experts()
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
            told = (
                f"the group {group} looks at {'labels' if group.below is None else 'units'} "
                f"{group.width} places apart, but the longest "
                f"sequence has {longest}"
            )
            if self.borders == INSIDE and group.below is None:
                raise ParameterError(f"{told}; use smaller offsets, or borders='partial'")
            warnings.warn(f"{told}; no window is ever whole", SkipchainWarning, stacklevel=3)


def _reads(part: str | AnyModel | BaseEstimator, corpus: Corpus) -> set[str]:
    """The columns of a corpus that a base model or an expert reads."""
    if isinstance(part, BaseEstimator):
        return part.reads(corpus)
    if isinstance(part, str) or not isinstance(part.features, Vocabulary):
        return set()
    return part.features.templates.reads(corpus.columns)
