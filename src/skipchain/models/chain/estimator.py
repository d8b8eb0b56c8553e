"""The base of CRF, MEMM and MaxEnt, and with other learners of perceptron and HMM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.arrays import IN_MEMORY, Labels, Room
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import (
    OBJECTIVES,
    RESUMABLE,
    ChainProblem,
    FittedWeights,
    Monitor,
    check_solver,
    learn_chain,
)
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights
from skipchain.chains.scores import MAX_CONTEXTS, has_trigram_tables, is_exact
from skipchain.checks import check_choice, check_flag, check_integer
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import NO_SCHEME, labels_in_scheme
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.direct import NumberedFeatures
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.solvers import CHAIN_SOLVERS, SGD, Automatic, Solver
from skipchain.models.base.allowed import require_allowed
from skipchain.models.base.estimator import BaseEstimator, convert_labels
from skipchain.models.base.inputs import Input, KnownLabels, as_input, encode
from skipchain.models.base.labelled import labelled
from skipchain.models.base.model import AnyModel, legal_transitions
from skipchain.models.base.task import Fitted, TrainingTask
from skipchain.models.chain.model import ChainModel, decoders_of
from skipchain.parallel import Workers

MAX_ORDER = 8  # the highest order of any model


class ChainEstimator(BaseEstimator):
    """Fits a `ChainModel`: log-linear by default; other learners have another `_learn`."""

    partial = True
    resumable = True
    learns_from_disk = True
    solvers = CHAIN_SOLVERS
    local: ClassVar[bool] = False
    """Whether the model is normalised at each position, given the label before."""
    max_order: ClassVar[int] = 2
    order: int = 1
    dictionary: int | None = None
    dependent: bool = False
    objective: str = "conditional"
    boundaries: bool = True
    folds: int | None = None
    stop: bool = False
    l2: float = 0.0
    model_: ChainModel
    passes_: int = 0
    """How many passes ``partial_fit`` has made."""

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        encoding: str | None = "bioes",
        order: int = 1,
        objective: str = "conditional",
        solver: str | Solver | None = None,
        l2: float = 0.2,
        min_count: int = 1,
        boundaries: bool = True,
        dependent: bool = False,
        constraints: str = "decoding",
        dictionary: int | None = None,
        seed: int = 0,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders that the fitted model will have, first the one that it has by default.

        With an order above 2 and many labels it will only have the last two, see `is_exact`.
        """
        return decoders_of(self.kind)

    def decoders_for(self, templates: Templates | None) -> tuple[str, ...]:
        """The decoders of a model with these templates; a history can only be searched."""
        history = templates is not None and templates.label_history is not None
        return decoders_of(self.kind, exact=not history)

    # Fitting -----------------------------------------------------------------------------------

    def _train(self, task: TrainingTask) -> Fitted:
        untrained, data = self._encode(task, task.labels)
        if untrained.label_history is not None:
            assert isinstance(task.given, Corpus)
            self._check_label_history(untrained, data)
            plain = untrained

            def learn(rest: Dataset, monitor: Monitor) -> FittedWeights:
                return self._learn(self._problem(rest, plain, None, None), task.workers, monitor)

            from skipchain.models.chain.label_history import cross_fit_labels

            labels = cross_fit_labels(task, data, plain, learn, folds=self.folds, seed=self.seed)
            untrained, data = self._with_label_history(untrained, data, task.given, labels)
        start = None
        if task.start is not None:
            from skipchain.models.chain.warm_start import as_chain, warm_start_weights

            start = warm_start_weights(as_chain(task.start), untrained, self.order)
        self.passes_ = 0
        return self._fit_weights(task, data, untrained, start)

    def _encode(
        self, task: TrainingTask, y: Any, classes: Sequence[str] = ()
    ) -> tuple[ChainModel, Dataset]:
        """A model of features and labels without weights, and the data to learn from."""
        known, scheme, encoding = self._labels(task.given, y)
        if known.partial and task.room is not IN_MEMORY:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, and a scratch "
                "folder is for full labels; label it, or train in memory"
            )
        features, rows, offsets = task.features(self.min_count)
        if scheme is not None and encoding is not None and scheme != encoding:
            classes = labels_in_scheme(classes, scheme, encoding)
        names = tuple(sorted({*known.names, *classes}))
        if not names:
            raise CorpusError("no token has a label to learn from")
        untrained = ChainModel(
            kind=self.kind,
            labels=names,
            features=features,
            weights=Weights.zeros(0, 0, len(names)),
            scheme=scheme,
            encoding=encoding,
            constrained=self.constraints != "none",
            local=self.local,
        )
        data = Dataset(rows, offsets, *known.to_codes(names))
        untrained, data = self._with_dictionary(untrained, data, task.given)
        untrained, data = self._with_label_contexts(untrained, data)
        return self._with_stop(untrained, data), data

    def _fit_weights(
        self, task: TrainingTask, data: Dataset, untrained: ChainModel, start: Weights | None
    ) -> Fitted:
        """Learn weights for encoded data."""
        allowed = None
        if untrained.encoding is not None and self.constraints != "none":
            own = untrained.labels, untrained.scheme, untrained.encoding
            allowed = Constraints(*legal_transitions(*own))
            require_allowed(data, allowed, untrained.labels)
        held_out = task.held_out(untrained)
        trained = allowed if self.constraints == "training" else None
        problem = replace(self._problem(data, untrained, trained, start), room=task.room)
        monitor = task.monitor(data, len(untrained.labels), held_out, untrained.with_weights)
        learnt = self._learn(problem, task.workers, monitor)
        model = untrained.with_weights(learnt.weights)
        found = {"held_out": held_out, "facts": learnt.facts}
        return Fitted.of(data, model, learnt.result, learnt.parameters, **found)

    def _finished(self, model: AnyModel, room: Room) -> AnyModel:
        assert isinstance(model, ChainModel)
        return model.pruned(room)

    def _problem(
        self,
        data: Dataset,
        untrained: ChainModel,
        constraints: Constraints | None,
        start: Weights | None,
    ) -> ChainProblem:
        """What is to be learnt, by the parameters."""
        shared = ("order", "local", "objective", "boundaries", "seed")
        return ChainProblem(
            data,
            len(untrained.labels),
            **{name: getattr(self, name) for name in shared},
            l2=self.l2,
            constraints=constraints,
            initial_weights=start,
            numeric=isinstance(untrained.features, NumberedFeatures),
            label_ngrams=None if self.local else untrained.label_ngrams,
            label_trigrams=None if self.local else untrained.label_trigrams,
        )

    def _learn(self, problem: ChainProblem, workers: Workers, monitor: Monitor) -> FittedWeights:
        """The weights, and how the learning ended."""
        return learn_chain(problem, self._solver, workers, monitor)

    def partial_fit(self, X: Any, y: Any = None, *, classes: Sequence[str] | None = None) -> Self:
        """One pass of stochastic steps over more data, going on from what has been learnt.

        The first call fixes the features and the labels (``classes`` names those that it does not
        show); features that come up later are left out.
        """
        check_flag("stop", self.stop)
        if self.stop:
            raise ParameterError("stop=True counts where all chains end; use fit, or stop=False")
        given = as_input(X)
        self._refuse_further_labels(given)
        solver = self._solver
        if isinstance(solver, Automatic):
            solver = solver.as_solver(SGD)
        if not isinstance(solver, SGD):
            raise ParameterError("partial_fit takes stochastic steps; use solver='sgd'")
        # by default no weight is dropped between two passes
        solver = replace(solver, epochs=1, prune=solver.prune or 0.0, patience=None)
        return self._pass(self.replaced(solver=solver), given, y, classes)

    def _refuse_further_labels(self, given: Input) -> None:
        """Refuse what only sums over whole sequences learn, which takes all data at once."""
        if self.local:
            return
        self._check()
        told, templates = f"order {self.order}", self._templates(given)
        if templates is not None and templates.trigram is not None:
            told = f"template '{templates.trigram}'"
        elif self.order <= 2:
            return
        raise ParameterError(
            f"{type(self).__name__} with {told} has no partial_fit, since no stochastic steps "
            "learn it; use fit, or MEMM, which has"
        )

    def _pass(self, once: Self, X: Any, y: Any, classes: Sequence[str] | None) -> Self:
        """One pass over more data by an estimator of one epoch, going on from the model so far.

        The first pass fixes features and labels. No feature is left out afterwards, whatever it
        weighs: it may be needed in the next.
        """
        once._check()
        once.seed = self.seed + self.passes_
        fitted_scheme = self.model_.scheme or NO_SCHEME if hasattr(self, "model_") else None
        given, y = labelled(X, y, scheme=self._named_scheme(), otherwise=fitted_scheme)
        with Workers(self.threads) as workers:
            task = TrainingTask(given, y, once._templates(given), workers)
            if not hasattr(self, "model_"):
                untrained, data = once._encode(task, y, classes or ())
                untrained, data = once._with_label_history(untrained, data, given)
                fitted = once._fit_weights(task, data, untrained, None)
            else:
                untrained = self.model_
                known = once._labels_for(untrained, given, y)
                strange = sorted(set(known.names) - set(untrained.labels))
                if strange:
                    raise CorpusError(
                        f"label {strange[0]!r} is new to the model; name all labels in the first "
                        "call: partial_fit(X, y, classes=[…])"
                    )
                rows, offsets = encode(untrained.features, given)
                data = Dataset(rows, offsets, *known.to_codes(untrained.labels))
                untrained, data = once._with_dictionary(untrained, data, given)
                untrained, data = once._with_label_contexts(untrained, data)
                untrained, data = once._with_label_history(untrained, data, given)
                fitted = once._fit_weights(task, data, untrained, untrained.all_weights)
        assert isinstance(fitted.model, ChainModel)
        self.model_ = fitted.model.with_summary(once._summary(fitted, None))
        self.result_ = fitted.result
        self.passes_ += 1
        self._raise_interrupt()
        return self

    # Parts of the model ------------------------------------------------------------------------

    def _templates(self, given: Input) -> Templates | None:
        templates = super()._templates(given)
        trigram = None if templates is None else templates.trigram
        if trigram is not None and self.order < 2:
            raise ParameterError(
                f"template '{trigram}' looks two labels back, and order={self.order} does not; use "
                "order=2 or more, or leave the template out"
            )
        if not self.dependent:
            return templates
        if templates is None:
            raise ParameterError(
                "dependent=True needs templates, which features given directly lack"
            )
        return templates.dependent()

    def _with_dictionary(
        self, untrained: ChainModel, data: Dataset, given: Input
    ) -> tuple[ChainModel, Dataset]:
        """The model with its tag dictionary, and the data with the labels that it leaves."""
        if self.dictionary is None:
            return untrained, data
        if not isinstance(given, Corpus):
            raise ParameterError(
                "a dictionary is one of words, and features given directly have none; give a "
                "Corpus, or dictionary=None"
            )
        assert data.labels is not None
        seen = data.allowed
        if seen is None:
            seen = data.labels[:, None] == np.arange(len(untrained.labels))
        if untrained.dictionary is None:
            from skipchain.features.tag_dictionary import TagDictionary

            dictionary = TagDictionary.fit(given.words, seen, self.dictionary)
        else:
            dictionary = untrained.dictionary.extended(given.words, seen)
        untrained = replace(untrained, dictionary=dictionary)
        return untrained, replace(data, candidates=untrained.candidates(given))

    def _with_label_contexts(
        self, untrained: ChainModel, data: Dataset
    ) -> tuple[ChainModel, Dataset]:
        """What the labels before say, where there are more than tables of three labels tell.

        In training a local model knows them: they are features of its positions, the last ones.
        Other models have room for their weights in the same place, and no token has them.
        """
        index, size = data.rows.trigrams, len(untrained.labels)
        if self.order <= 2 and index is None:
            return untrained, data
        labels, offsets, rows = data.labels, data.offsets, data.rows
        assert labels is not None
        if data.allowed is not None:
            wanted = "order=1, or a CRF" if self.local else "order 1 or 2"
            more = "" if index is None else ", without templates that begin with 'label[-2] &'"
            raise ParameterError(f"partial labels need {wanted}{more}")
        if not self.local and not is_exact(size, self.order):
            raise ParameterError(
                f"{type(self).__name__} of order {self.order} sums over runs of labels, and "
                f"{size} labels have {size**self.order:,} of them; wanted at most "
                f"{MAX_CONTEXTS:,}: use a lower order, an encoding with fewer labels, or MEMM"
            )
        if index is not None and not has_trigram_tables(size):
            raise ParameterError(
                f"templates that begin with 'label[-2] &' make tables of three labels, and {size} "
                f"labels have too many; wanted at most {math.isqrt(MAX_CONTEXTS)} labels"
            )
        if self.order > 2:
            ngrams = untrained.label_ngrams
            if ngrams is None:
                from skipchain.features.label_ngrams import LabelNgrams

                ngrams = LabelNgrams.fit(labels, offsets, size, self.order)
                untrained = replace(untrained, label_ngrams=ngrams)
            if self.local:
                rows = ngrams.append_features(rows, labels, offsets)
        if index is not None:
            trigrams = untrained.label_trigrams
            if trigrams is None:
                from skipchain.features.label_trigrams import LabelTrigrams

                assert isinstance(untrained.features, Vocabulary)  # others have no templates
                flags = untrained.features.trigram_has_previous
                trigrams = LabelTrigrams.fit(index, flags, labels, offsets, size)
                untrained = replace(untrained, label_trigrams=trigrams)
            if self.local:
                rows = trigrams.append_features(rows, labels, offsets)
        if not self.local:
            rows = rows.with_features(np.zeros((len(labels), 0), np.int64), untrained.n_further)
        return untrained, replace(data, rows=rows)

    def _with_stop(self, untrained: ChainModel, data: Dataset) -> ChainModel:
        """The model with the factor of the end, which is learnt apart from all weights."""
        if not self.stop:
            return untrained
        assert data.labels is not None
        if data.allowed is not None:
            raise ParameterError("stop=True needs full labels; use stop=False for partial ones")
        from skipchain.models.chain.stop import fit_stop

        counted = data.labels, data.offsets, len(untrained.labels), self.order
        return replace(untrained, stop=fit_stop(*counted, self.l2))

    def _with_label_history(
        self, untrained: ChainModel, data: Dataset, given: Input, labels: Labels | None = None
    ) -> tuple[ChainModel, Dataset]:
        """Where templates ask for history: the labels of earlier tokens that are alike.

        ``labels`` [N] are those that the history is of; by default the gold ones.
        """
        history, previous = untrained.label_history, untrained.previous_occurrences(given)
        if history is None:
            return untrained, data
        self._check_label_history(untrained, data)
        earlier = data.labels if labels is None else labels
        assert earlier is not None
        assert previous is not None
        size = len(untrained.labels)
        if untrained.history_weights is None:
            untrained = replace(untrained, history_weights=np.zeros((size, size)))
        rows = history.append_features(data.rows, earlier, previous, size)
        return untrained, replace(data, rows=rows)

    def _check_label_history(self, untrained: ChainModel, data: Dataset) -> None:
        """Refuse what does not go with a history."""
        history = untrained.label_history
        if data.allowed is not None:
            raise ParameterError(f"{history} needs full labels; leave it out for partial ones")
        if self.order > 2:
            raise ParameterError(f"{history} goes with order 1 or 2, got order {self.order}")
        if untrained.label_trigrams is not None:
            raise ParameterError(f"{history} goes with no template that begins with 'label[-2] &'")
        if self.stop:
            raise ParameterError(f"{history} does not go with stop=True")

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        super()._check()
        for name in ("boundaries", "dependent", "stop"):
            check_flag(name, getattr(self, name))
        for name in ("dictionary", "folds"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name))
        self._check_order()
        if self.local and self.constraints == "training":
            raise ParameterError(
                f"constraints='training' is for models normalised over whole sequences, which "
                f"{type(self).__name__} is not; use 'decoding'"
            )
        if self.solvers:
            check_choice("objective", self.objective, OBJECTIVES)
            if self.order >= 2 and self.objective != "conditional":
                raise ParameterError(f"objective={self.objective!r} is for chains of order 1")
            check_solver(
                self._solver,
                local=self.local,
                objective=self.objective,
                l2=self.l2,
                name=type(self).__name__,
            )

    def _check_resumable(self) -> None:
        super()._check_resumable()
        if self.solvers and not isinstance(self._solver, RESUMABLE):
            raise ParameterError(
                f"solver={self._solver.name!r} keeps no checkpoint of its training; sgd, adagrad "
                "and lbfgs do"
            )

    def _check_scratch(self, templates: Templates | None) -> None:
        super()._check_scratch(templates)
        if self.order > 2:
            raise ParameterError(
                f"order={self.order} does not go with a scratch folder, orders 1 and 2 do"
            )
        if self.dictionary is not None:
            raise ParameterError(
                "a dictionary is a table of all tokens, which a scratch folder is there not "
                "to hold; leave dictionary out"
            )
        if self.solvers and not isinstance(self._solver, RESUMABLE):
            raise ParameterError(
                f"solver={self._solver.name!r} does not go with a scratch folder; sgd, adagrad "
                "and lbfgs do"
            )

    def _check_order(self) -> None:
        order, most = self.order, self.max_order
        whole = isinstance(order, (int, np.integer)) and not isinstance(order, bool)
        if whole and 1 <= order <= most:
            return
        orders = "1 or 2" if most == 2 else f"a whole number from 1 to {most}"
        hint = ""
        if whole and most < order <= MAX_ORDER:
            hint = "; models of longer runs of labels are MEMM and CRF"
        raise ParameterError(f"order must be {orders}, got {order!r}{hint}")

    def _labels_for(self, model: ChainModel, given: Input, y: Any) -> KnownLabels:
        """The labels to learn, written as the model has learnt others."""
        known, scheme = self._known_labels(given, y)
        if model.encoding is None or model.scheme is None:
            return known
        scheme = scheme or model.scheme
        if known.partial and scheme != model.encoding:
            raise CorpusError(
                f"token {min(known.partial)} has no label of its own, so the labels cannot be "
                f"written in {model.encoding}, as the model learns them; give them so, or use "
                "encoding=None from the first call on"
            )
        return convert_labels(known, scheme, model.encoding)
