"""The base of all estimators: parameters, one `fit`, predictions by the model that it leaves."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.arrays import IN_MEMORY, Floats, Room
from skipchain.checks import check_choice, check_integer, check_number, nearest
from skipchain.corpus import Corpus
from skipchain.corpus.corpus import LABEL
from skipchain.corpus.schemes import check_scheme, convert, decode, is_no_scheme
from skipchain.errors import AccuracyWarning, CorpusError, NotFittedError, ParameterError, shortened
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.resuming import Keeping
from skipchain.learn.saved_state import StateKeeper
from skipchain.learn.solvers import LBFGS, Automatic, Solver, as_solver, with_settings
from skipchain.learn.step import INTERRUPTED, OptimisationResult
from skipchain.models.base.from_disk import expected_need, gathered, require_local
from skipchain.models.base.inputs import Input, KnownLabels, as_input, known_labels, label_column
from skipchain.models.base.labelled import labelled
from skipchain.models.base.model import BEAM, AnyModel
from skipchain.models.base.output_labels import RankedLabels
from skipchain.models.base.parameters import (
    apply_settings,
    constructor_parameters,
    group_settings,
    modern_names,
    nested,
    solver_settings,
)
from skipchain.models.base.progress import Progress
from skipchain.models.base.task import Fitted, TrainingTask
from skipchain.parallel import Workers
from skipchain.scratch.folder import Need, Scratch

CONSTRAINTS = ("decoding", "training", "none")
LONGEST_VALUE = 200  # characters of a parameter that are shown


class BaseEstimator(ABC):
    """Learns labels in ``encoding``, and predicts with the ``model_`` that fitting leaves.

    A family of models adds `_train`, which makes a model of a `TrainingTask`. Parameters are the
    keyword arguments of ``__init__``, kept under their own names, as scikit-learn wants it;
    settings of a solver, or of another object among them, may be given by name.
    """

    kind: ClassVar[str]
    partial: ClassVar[bool] = False
    """Whether some labels may be unknown, or known to be one of several."""
    supports_label_history: ClassVar[bool] = False
    """Whether a label can depend on those given earlier in the document."""
    supports_edge_templates: ClassVar[bool] = False
    """Whether edges between labels of a document can have templates of their own."""
    supports_label_trigrams: ClassVar[bool] = False
    """Whether templates may look two labels back."""
    resumable: ClassVar[bool] = False
    """Whether the state of learning can be kept in a checkpoint."""
    learns_from_disk: ClassVar[bool] = False
    """Whether features may lie in files while weights are learnt."""
    solvers: ClassVar[tuple[type[Solver], ...]] = ()
    """The solvers that can be chosen; a setting that several have asks for the first of them."""
    groups_of_settings: ClassVar[Mapping[str, tuple[type, Mapping[str, str]]]] = {}
    """Other objects among the parameters whose settings may be given by name."""

    features: str | Path | Templates
    encoding: str | None
    solver: str | Solver | None = None
    l2: float
    min_count: int
    constraints: str
    seed: int = 0
    scheme: str | None
    functions: Mapping[str, UserView] | None
    threads: int | None
    model_: AnyModel
    result_: OptimisationResult

    # Parameters --------------------------------------------------------------------------------

    def _keep(self, arguments: Mapping[str, Any]) -> None:
        """Keep a constructor's arguments (its ``locals()``) under their own names."""
        own = {k: v for k, v in arguments.items() if k not in ("self", "__class__", "settings")}
        settings = modern_names(arguments.get("settings", {}))
        self._check_solver_settings(own.get("solver"), settings)
        vars(self).update({**own, **self._applied(own, settings)})

    def _check_solver_settings(self, solver: Any, settings: Mapping[str, Any]) -> None:
        """Refuse settings of a solver beside a solver object, and another solver beside it."""
        if solver is not None and "solver" in settings:
            raise ParameterError("optimiser is the old name of solver; give one of them")
        if not isinstance(solver, Solver):
            return
        for name in settings:
            if name in solver.settings():
                raise ParameterError(
                    f"{name} is a setting of the solver, and solver={solver!r} is given; "
                    f"write solver={type(solver).__name__}({name}=…)"
                )
            if name in solver_settings(self.solvers):
                with_settings(solver, {name: settings[name]}, self.solvers)  # says which has it

    def _applied(self, values: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that change where settings are given by name."""
        groups = self.groups_of_settings
        return apply_settings(type(self).__name__, values, settings, self.solvers, groups)

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """The parameters of the constructor, with their defaults."""
        return constructor_parameters(cls)

    @classmethod
    def settings(cls) -> list[str]:
        """The names of settings that may be given beside the parameters: a solver's, and others."""
        groups = [n for k, a in cls.groups_of_settings.values() for n in group_settings(k, a)]
        return [name for name in (*solver_settings(cls.solvers), *groups) if name != "seed"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep`` adds those of solvers and estimators among them."""
        found = {name: getattr(self, name) for name in self.parameters()}
        if deep:
            for name, value in list(found.items()):
                inner = nested(value, self.solvers, is_solver=name == "solver")
                found |= {f"{name}__{key}": own for key, own in inner.items()}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name, also ``solver__epochs`` or ``epochs``; others are refused."""
        known, now = self.parameters(), self.get_params(deep=False)
        solver = parameters.get("solver", now.get("solver"))
        reported = nested(solver, self.solvers, is_solver=True)
        plain: dict[str, Any] = {}
        settings: dict[str, Any] = {}
        inner: dict[str, dict[str, Any]] = {}
        for name, value in modern_names(parameters).items():
            outer, _, rest = name.partition("__")
            if name in known:
                plain[name] = value
            elif rest and outer == "solver" and rest in solver_settings(self.solvers):
                if reported.get(rest, self) != value:  # else it is as it is already
                    settings[rest] = value
            elif rest and outer in known and isinstance(now[outer], BaseEstimator):
                inner.setdefault(outer, {})[rest] = value
            elif not rest and name in self.settings():
                settings[name] = value
            else:
                every = [*known, *self.settings()]
                raise ParameterError(
                    f"{type(self).__name__} has no parameter {name!r}; {nearest(name, every)}"
                )
        values = {**{name: now[name] for name in known}, **plain}
        changed = self._applied(values, settings) if settings else {}
        copies = {name: values[name].replaced().set_params(**own) for name, own in inner.items()}
        vars(self).update({**plain, **changed, **copies})
        return self

    def replaced(self, **parameters: Any) -> Self:
        """A copy with other parameters, not fitted."""
        return type(self)(**{**self.get_params(deep=False), **parameters})

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        return self.replaced(solver=self._solver.for_warmup()) if self.solvers else self.replaced()

    @property
    @abstractmethod
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the fitted model will have, first the one that it has by default."""

    def decoders_for(self, templates: Templates | None) -> tuple[str, ...]:
        """The decoders of a model with these templates."""
        return self.decoders

    @property
    def stopping(self) -> tuple[float, int]:
        """When the loss falls slowly enough for training to end, and the most iterations."""
        solver = self._solver if self.solvers else None
        if isinstance(solver, Automatic):
            solver = solver.as_solver(LBFGS)
        return getattr(solver, "tolerance", 0.0), getattr(solver, "max_iterations", 0)

    def without_patience(self) -> Self:
        """The same estimator, not fitted, which watches no held-out data."""
        return self.replaced(solver=self._solver.without_patience()) if self.solvers else self

    @property
    def _solver(self) -> Solver:
        return as_solver(self.solver, self.solvers)

    @property
    def _patience(self) -> int | None:
        found: int | None = getattr(self._solver if self.solvers else self, "patience", None)
        return found

    def __repr__(self) -> str:
        changed = [
            f"{name}={shortened(repr(getattr(self, name)), LONGEST_VALUE)}"
            for name, default in self.parameters().items()
            if getattr(self, name) is not default and getattr(self, name) != default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, dict=True),
        )

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        check_integer("min_count", self.min_count)
        check_choice("constraints", self.constraints, CONSTRAINTS)
        check_integer("seed", self.seed, least=0)
        if hasattr(self, "l2"):
            check_number("l2", self.l2)
        if self.solvers:
            self._solver.check()

    def _only_decoding(self) -> None:
        """Refuse constraints in training, for models that use them in decoding only."""
        if self.constraints == "training":
            raise ParameterError(
                f"{type(self).__name__} uses constraints when it decodes; give 'decoding' or 'none'"
            )

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
        checkpoint: str | Path | StateKeeper | None = None,
        scratch: str | Path | Scratch | None = None,
        cluster: Any = None,
    ) -> Self:
        """Learn from a labelled corpus, or from sequences X with labels y.

        ``dev`` (with ``dev_y``) is held-out data, scored as training goes on or at its end;
        ``start`` is a fitted model to begin from. ``checkpoint`` names a file in which the state of
        learning is kept, and from which it goes on where it is there, or is a
        `skipchain.modelfile.Checkpoint`. ``scratch`` is a folder in whose files the
        features are kept, for more data than memory holds: X may then be a corpus in blocks, such
        as `skipchain.scan` gives, and the model is the same, bit for bit. A keyboard interrupt ends
        training and keeps what has been learnt in ``model_``; it is raised again unless a
        ``progress`` display is told.

        ``cluster`` is a `skipchain.cluster.Cluster`, or the address of one: its workers learn, each
        from whole documents. They are sent the corpus, or read the files that X names.
        """
        self.check(dev=dev, dev_y=dev_y, start=start, checkpoint=checkpoint, scratch=scratch)
        keeping = None if checkpoint is None else self._keeping(checkpoint)
        if cluster is not None and scratch is not None:
            raise ParameterError(
                "the workers of a cluster hold their features in memory; give scratch or cluster, "
                "not both"
            )
        with ExitStack() as stack:
            room: Room = IN_MEMORY if scratch is None else self._scratch(scratch, stack)
            workers = stack.enter_context(Workers(self.threads))
            task = TrainingTask(
                [], y, None, workers, dev, dev_y, start, progress, keeping=keeping, room=room
            )
            if cluster is None:
                task = self._read(X, task)
                fitted = self._train(task)
            else:
                from skipchain.cluster.training import train_on_cluster

                fitted = train_on_cluster(self, X, y, cluster, task)
            model, result, score = fitted.model, fitted.result, None
            if dev is not None:
                held_out = fitted.held_out or task.held_out(model)
                assert held_out is not None
                score = held_out.score(model, workers)
            if progress is not None:
                progress.end(result)
            self.model_ = self._finished(model.with_summary(self._summary(fitted, score)), room)
        self.result_ = result
        if progress is None:
            self._raise_interrupt()
        return self

    def _read(self, X: Any, task: TrainingTask) -> TrainingTask:
        """The task with the data, and with templates whose annotators are fitted."""
        labels, room = task.labels, task.room
        if isinstance(room, Scratch):
            X, labels = gathered(X, labels, room), None
        given, labels = labelled(X, labels, scheme=self._named_scheme())
        given = self._input(given, labels)
        templates = self._templates(given)
        if isinstance(room, Scratch):
            self._check_scratch(templates)
        if templates is not None and templates.annotators:
            assert isinstance(given, Corpus)
            templates, given = templates.fit_annotators(given, task.progress)
        return replace(task, given=given, labels=labels, templates=templates)

    def _finished(self, model: AnyModel, room: Room) -> AnyModel:
        """The model that is kept."""
        return model.pruned()

    def check(
        self,
        *,
        dev: Any = None,
        dev_y: Any = None,
        start: Any = None,
        checkpoint: Any = None,
        scratch: Any = None,
    ) -> None:
        """Refuse parameters, held-out data and a start that `fit` would refuse; nothing is learnt.

        `fit` does so itself; this is for what takes long before it.
        """
        self._check()
        self._check_fit(dev, start)
        if checkpoint is not None:
            self._check_resumable()
        if scratch is not None:
            self._check_scratch(None)
        if dev is not None:
            from skipchain.metrics.token import require_known

            require_known(label_column(as_input(dev), dev_y), "held-out")

    def _check_resumable(self) -> None:
        """Refuse a checkpoint where the state of learning cannot be kept."""
        if not self.resumable:
            raise ParameterError(
                f"{type(self).__name__} keeps no checkpoint of its training; CRF, MEMM, MaxEnt and "
                "Perceptron do"
            )

    def _keeping(self, checkpoint: str | Path | StateKeeper) -> Keeping:
        """Who keeps the state of learning, and what is said to it of the parameters."""
        keeper = checkpoint
        if isinstance(keeper, (str, Path)):
            from skipchain.modelfile.checkpoint import Checkpoint

            keeper = Checkpoint(keeper)
        settings = {**plain_settings(self.get_params(deep=False)), "threads": None}
        return Keeping(keeper, {"model": self.kind} | {k: str(v) for k, v in settings.items()})

    def _scratch(self, scratch: str | Path | Scratch, stack: ExitStack) -> Scratch:
        """Where large arrays are made; a folder is left as it was found."""
        if isinstance(scratch, Scratch):
            return scratch
        return stack.enter_context(Scratch(scratch))

    def _check_scratch(self, templates: Templates | None) -> None:
        """Refuse to learn from files what only learns in memory."""
        if not self.learns_from_disk:
            raise ParameterError(
                f"{type(self).__name__} learns in memory only, without a scratch folder; CRF, "
                "MEMM, MaxEnt and Perceptron learn from disk"
            )
        if templates is not None:
            require_local(templates)

    def expected_need(self, corpus: Corpus) -> Need:
        """About what learning from a corpus in a scratch folder will take of disk and memory."""
        return expected_need(self, corpus)

    @abstractmethod
    def _train(self, task: TrainingTask) -> Fitted:
        """The model of a task, and how its learning ended."""

    def fit_annotators(self, given: Any, progress: Progress | None = None) -> tuple[Self, Any]:
        """The estimator, and what it is to learn from, with the columns of fitted annotators.

        Annotators are fitted by `fit` in any case; where an estimator is fitted to several parts of
        a corpus, it saves time to fit them once before.
        """
        corpus = as_input(given)
        templates = self._templates(corpus)
        if not isinstance(corpus, Corpus) or templates is None or not templates.annotators:
            return self, given
        features, corpus = templates.fit_annotators(corpus, progress)
        return self.replaced(features=features), corpus

    def reads(self, corpus: Corpus) -> set[str]:
        """The columns that a model of a corpus will read, which what it tags must have."""
        templates = self._templates(corpus)
        return set() if templates is None else templates.reads(corpus.columns)

    def check_documents(self, corpus: Corpus, longest: int | None = None) -> None:  # noqa: B027
        """Warn of a corpus that has not the documents that the model needs; most need none.

        ``longest`` is the number of tokens of the longest document in training.
        """

    def _check_fit(self, dev: Any, start: Any) -> None:
        """Refuse arguments of `fit` that the estimator cannot use."""
        if self._patience is not None and dev is None:
            raise ParameterError("patience needs dev, the data whose score it watches")

    def _input(self, given: Input, y: Any) -> Input:
        """The data to learn from; refused where the family cannot learn from them."""
        return given

    def _templates(self, given: Input) -> Templates | None:
        """The templates for a corpus; features given directly need none."""
        if not isinstance(given, Corpus):
            return None
        columns = tuple(name for name in given.columns if name != LABEL)
        templates = Templates.of(self.features, self.functions, columns)
        if templates.label_history is not None and not self.supports_label_history:
            raise ParameterError(
                f"{templates.label_history} looks at labels given earlier in the document, and "
                f"{type(self).__name__} looks for the best labels all at once; only models that "
                "label from left to right can use it: MEMM and MaxEnt"
            )
        if templates.edge_templates and not self.supports_edge_templates:
            raise ParameterError(
                f"'{templates.edge_templates[0]}' is about edges between labels of a document, "
                f"which {type(self).__name__} does not have; leave it out, or use MoPMEMM"
            )
        if templates.trigram is not None and not self.supports_label_trigrams:
            raise ParameterError(
                f"template '{templates.trigram}' looks two labels back, and {type(self).__name__} "
                "does not; use CRF or MEMM of order 2, or leave the template out"
            )
        return templates

    def _labels(self, given: Input, y: Any) -> tuple[KnownLabels, str | None, str | None]:
        """The labels to learn, the scheme they came in and the one they are learnt in."""
        known, scheme = self._known_labels(given, y)
        wanted = None if self.encoding is None else check_scheme(self.encoding)
        if scheme is None:
            return known, None, None
        # what is not known cannot be written in another scheme
        encoding = scheme if known.partial else wanted or scheme
        return convert_labels(known, scheme, encoding), scheme, encoding

    def _named_scheme(self) -> str | None:
        """The scheme of the labels, where one is named; else it is that of the corpus."""
        return self.scheme

    def _known_labels(self, given: Input, y: Any) -> tuple[KnownLabels, str | None]:
        """The labels as they are given, and their scheme."""
        known = known_labels(given, y)
        if known.partial and not self.partial:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, and {type(self).__name__} "
                "learns from full labels only; CRF and MEMM take partial ones"
            )
        scheme = self._named_scheme()
        if scheme is None and isinstance(given, Corpus):
            scheme = given.scheme
        return known, None if scheme is None or is_no_scheme(scheme) else check_scheme(scheme)

    def _no_pair_features(self, count: int) -> None:
        """Refuse features of label pairs, for families that have none."""
        if count:
            raise ParameterError(
                f"{type(self).__name__} has no features of label pairs; leave out templates that "
                "begin with 'label[-1] &'"
            )

    def _summary(self, fitted: Fitted, dev: float | None) -> dict[str, Any]:
        """What a fitted model tells of its training."""
        result = fitted.result
        return {
            "tokens": fitted.tokens,
            "sequences": fitted.sequences,
            "loss": result.loss if np.isfinite(result.loss) else None,
            "iterations": result.iterations,
            "evaluations": result.evaluations,
            "stopped": result.reason,
            "parameters": fitted.parameters,
            "dev": dev,
            "settings": plain_settings(self.get_params(deep=False)),
            **fitted.facts,
        }

    def _raise_interrupt(self) -> None:
        """Where nobody watches, nobody would know; the model is kept."""
        if self.result_.reason == INTERRUPTED:
            raise KeyboardInterrupt

    # Predicting --------------------------------------------------------------------------------

    @property
    def classes_(self) -> list[str]:
        """The labels that are predicted, in the order of the marginals' columns."""
        return list(self.fitted.output.names)

    @property
    def fitted(self) -> AnyModel:
        """What fitting has left; an error where the estimator is not fitted yet."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        return self.model_

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write what has been learnt to a model file, which `skipchain.load` reads as a tagger."""
        from skipchain.modelfile import save

        save(self.fitted, path, overwrite=overwrite)

    def predict(self, X: Any, *, decoder: str | None = None, beam: int = BEAM) -> list[list[str]]:
        """The labels of each sequence, in the scheme of the training data.

        ``decoder`` is one of the model's `decoders`, by default the first of them; ``beam`` is the
        width of the decoder of that name.
        """
        with Workers(self.threads) as workers:
            return self.fitted.label(as_input(X), workers, decoder, beam)

    def predict_single(self, x: Any) -> list[str]:
        """The labels of one sequence."""
        return self.predict([x])[0]

    def predict_marginals(self, X: Any, *, scheme: str | None = None) -> list[Floats]:
        """The probability of each label of `classes_` at each token: [T, L] per sequence.

        A model may learn in another scheme than that of the data: the probability of a label is
        then the sum over those that come out as this one. With a ``scheme`` the columns are the
        labels of ``model_.output_in(scheme).names``.
        """
        model = self.fitted
        output = model.output_in(scheme)
        with Workers(self.threads) as workers:
            scores = model.scores(as_input(X), workers)
            marginals = model.output_marginals(scores, output, workers)
        return [marginals[a:b] for a, b in pairwise(scores.offsets.tolist())]

    def predict_nbest(self, X: Any, k: int, *, scheme: str | None = None) -> list[RankedLabels]:
        """The k best label sequences of each sequence, with their probabilities.

        Labels are in the scheme of the training data, or in the one that is named.
        """
        model = self.fitted
        output = model.output_in(scheme)
        with Workers(self.threads) as workers:
            scores = model.scores(as_input(X), workers)
            return output.ranked(model.nbest(scores, k, workers), scores.offsets)

    def score(self, X: Any, y: Any = None) -> float:
        """Entity F1 (micro) from 0 to 1, where the labels learnt have a scheme, so mark spans.

        Labels ``y`` of a corpus are in its scheme. Where the labels learnt mark no spans (parts of
        speech, say), or came with lists of features and no ``scheme=``, the score is the accuracy
        of tokens, and an `skipchain.errors.AccuracyWarning` says so.
        """
        from skipchain.models.base.held_out import accuracy_reason

        reason = accuracy_reason(self.fitted)
        if reason is not None:
            warnings.warn(f"score is token accuracy: {reason}", AccuracyWarning, stacklevel=2)
        return self.held_out_score(X, y)

    def held_out_score(self, X: Any, y: Any = None) -> float:
        """What `score` gives, without a word where it is the accuracy of tokens."""
        from skipchain.models.base.held_out import HeldOut

        with Workers(self.threads) as workers:
            return HeldOut(self.fitted, X, y).score(self.fitted, workers) / 100.0


def convert_labels(known: KnownLabels, scheme: str, encoding: str) -> KnownLabels:
    """Labels of one scheme in another; those of another form are refused."""
    if known.partial:
        return known
    if encoding != scheme:
        return replace(known, column=convert(known.column, known.offsets, scheme, encoding))
    decode(known.column, known.offsets, scheme)
    return known


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they can be written into a file."""
    return {
        name: value
        if value is None or isinstance(value, (str, int, float))
        else getattr(value, "text", str(value))
        for name, value in settings.items()
        if name != "functions"
    }
