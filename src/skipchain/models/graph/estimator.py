"""What estimators of models whose labels are linked across a document share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from skipchain.arrays import Bools, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import Weights
from skipchain.corpus import Corpus
from skipchain.edges.ordering import Ordering
from skipchain.edges.relations import EdgeSet
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import Rule
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.lbfgs import minimize
from skipchain.learn.step import OptimisationResult
from skipchain.models.base.documents import check_linked_documents, longest_document
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import as_input
from skipchain.models.chain.estimator import ChainTask, FittedWeights
from skipchain.models.chain.fitting import (
    EarlyStopping,
    HeldOut,
    Progress,
    StageProgress,
    TrainingSize,
)
from skipchain.models.chain.loglinear import (
    LBFGS,
    MEMORY,
    SINGLE_TOLERANCE,
    LogLinearChain,
    best_on_dev,
)
from skipchain.models.chain.model import ChainModel
from skipchain.models.graph.model import GraphModel
from skipchain.models.graph.objective import GraphObjective
from skipchain.parallel import Workers

SHARED_PARAMETERS = (
    "optimiser", "l2", "pairs", "epochs", "rate", "dropout", "unit_dropout", "prune", "seed",
    "tolerance", "period", "max_iterations", "threads",
)  # fmt: skip
"""The parameters that the classifiers of single kinds of edges are trained with."""
DEFAULT_EDGES = "previous, same_word(lower=true)"
"""The edges that there are unless told; a headline in capitals is linked to the text below it."""


@dataclass(frozen=True)
class GraphTask:
    """Everything that a learner of linked labels is given.

    ``untrained`` has features, labels, rules and orderings, but no conditionals yet.
    """

    rows: FeatureMatrix
    edge_set: EdgeSet
    labels: Labels  # [N]
    untrained: GraphModel
    held_out: HeldOut | None
    workers: Workers
    progress: Progress | None

    def subset(self, documents: Bools) -> GraphTask:
        """Some of the documents, without display."""
        corpus = self.edge_set.corpus
        sizes = np.diff(self.edge_set.documents)
        tokens = np.flatnonzero(np.repeat(documents, sizes))
        chosen = corpus.take_documents(np.flatnonzero(documents))
        return replace(
            self,
            rows=self.rows.take(tokens),
            edge_set=EdgeSet.of(chosen, self.untrained.rules),
            labels=self.labels[tokens],
            held_out=None,
            progress=None,
        )


class GraphEstimator(BaseEstimator, ABC):
    """Fits a `GraphModel`: finds the edges of a corpus, and learns what they say."""

    chain_class: ClassVar[type[LogLinearChain]]
    """What learns chains by themselves."""
    separate_objective: ClassVar[str]
    """The objective that learns each kind of edge by itself, and no more."""

    edges: str | Sequence[Any]
    objective: str
    optimiser: str | None
    l2: float
    pairs: str | None
    model_: GraphModel

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
        """Learn from a labelled corpus (or from a corpus X with labels y), document by document.

        ``dev`` (with ``dev_y``) is scored when training is done, and while all kinds of edges are
        trained together. A keyboard interrupt ends training and keeps what has been learnt.
        """
        self._check()
        if start is not None:
            raise ParameterError(f"{type(self).__name__} cannot start from another model")
        if self.patience is not None and dev is None:
            raise ParameterError("patience needs dev, the data whose score it watches")
        corpus = as_input(X)
        if not isinstance(corpus, Corpus):
            raise ParameterError(
                f"{type(self).__name__} links the tokens of documents, so it learns from a Corpus; "
                "Corpus.of(words, labels, documents=…) makes one"
            )
        with Workers(self.threads) as workers:
            task = self._encode_training_data(corpus, y, workers, progress)
            if dev is not None:
                task = replace(task, held_out=HeldOut(task.untrained, dev, dev_y))
            model, result, parameters = self._learn(task)
            score = None
            if task.held_out is not None:
                score = task.held_out.encoded_by(model).score(model, workers)
        if progress is not None:
            progress.end(result)
        summary = self._summary(
            result,
            tokens=corpus.n_tokens,
            sequences=len(corpus),
            parameters=parameters,
            dev=score,
            documents=corpus.n_documents,
            longest_document=longest_document(corpus),
            pairs={str(r.rule): len(r.pairs) for r in task.edge_set.by_rule},
            **model.summary,
        )
        self.model_ = replace(model, summary=summary).pruned()
        self.result_ = result
        if progress is None:
            self._raise_interrupt()
        return self

    def for_warmup(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        short = self._classifier(self.chain_class).for_warmup().get_params()
        own = {name: short[name] for name in ("epochs", "max_iterations")}
        return type(self)(**{**self.get_params(), **own, "patience": None})

    @property
    def stopping(self) -> tuple[float, int, int]:
        """When lbfgs ends: tolerance, period and the most iterations."""
        return self._classifier(self.chain_class).stopping

    @property
    def single_precision(self) -> bool:
        """Whether single precision is enough for scores."""
        return self.stopping[0] >= SINGLE_TOLERANCE

    def _classifier(self, kind: type[LogLinearChain]) -> LogLinearChain:
        """What learns one kind of edge by itself."""
        own = {name: getattr(self, name) for name in SHARED_PARAMETERS}
        if self.objective != self.separate_objective and self.optimiser is None:
            own["optimiser"] = LBFGS
        return kind(**own)

    def _encode_training_data(
        self, corpus: Corpus, y: Any, workers: Workers, progress: Progress | None
    ) -> GraphTask:
        """The data to learn from, and a model of its features, labels and rules."""
        known, scheme, encoding = self._labels(corpus, y)
        templates = self._templates(corpus)
        assert templates is not None
        if not corpus.n_tokens:
            raise CorpusError("there is no token to learn from")
        vocabulary, rows = Vocabulary.fit(corpus, templates, self.min_count)
        if vocabulary.n_edge_features:
            raise ParameterError(
                f"{type(self).__name__} has no features of label pairs; leave out templates that "
                "begin with 'label[-1] &'"
            )
        rules = tuple(rule.fit(corpus) for rule in self._rules())
        check_linked_documents(corpus, rules)
        untrained = GraphModel(
            self.kind,
            known.names,
            vocabulary,
            rules,
            {},
            self._orderings(),
            scheme,
            encoding,
            self.constraints != "none",
        )
        labels, _ = known.to_codes(known.names)
        edge_set = EdgeSet.of(corpus, rules)
        return GraphTask(rows, edge_set, labels, untrained, None, workers, progress)

    def _rules(self) -> tuple[Rule, ...]:
        return parse_rules(self.edges, self.functions)

    def _orderings(self) -> tuple[Ordering, ...]:
        """The orderings that the model's marginals are averaged over."""
        return (Ordering(),)

    def _check(self) -> None:
        super()._check()
        self._rules()
        self._classifier(self.chain_class)._check()
        if self.patience is not None and self.objective == self.separate_objective:
            raise ParameterError(
                "patience is for training all kinds of edges together, which "
                f"objective={self.objective!r} does not; leave it out, or use epochs and "
                "max_iterations"
            )
        if self.constraints == "training":
            raise ParameterError(
                f"{type(self).__name__} uses constraints when it decodes; give 'decoding' or 'none'"
            )

    def _fit_edge_type(
        self, task: GraphTask, kind: str, classifier: LogLinearChain, data: Dataset, note: str = ""
    ) -> FittedWeights:
        """What a classifier learns of one kind of edge; the note is for who watches."""
        labels = task.untrained.labels
        untrained = ChainModel(
            kind, labels, task.untrained.features, Weights.zeros(0, 0, len(labels))
        )
        progress = None
        if task.progress is not None:
            progress = StageProgress(task.progress, f"edges of kind {kind}{note}")
        own = ChainTask(data, untrained, None, None, None, task.workers, progress, None)
        learnt = classifier._learn(own)
        if progress is not None:
            progress.end(learnt.result)
        return learnt

    def _fit_jointly(
        self,
        task: GraphTask,
        model: GraphModel,
        objective: GraphObjective,
        stage: str | None = None,
    ) -> tuple[GraphModel, OptimisationResult]:
        """The kinds of edges of an objective, beginning with what the model has learnt of each.

        Unless it is only a ``stage`` of the training, it is watched by way of the held-out data.
        """
        tolerance, period, max_iterations = self.stopping
        held_out = None
        if task.held_out is not None and stage is None:
            held_out = task.held_out.encoded_by(model)
        if task.progress is not None:
            task.progress.begin(_training_size(objective, stage or "all edges together"))
        early_stopping = EarlyStopping(
            lambda vector: model.with_weights(objective.unpack(vector)),
            held_out,
            self.patience,
            task.workers,
            task.progress,
        )
        result = minimize(
            objective,
            objective.pack({k: own.weights for k, own in model.edge_models.items()}),
            memory=MEMORY,
            max_iterations=max_iterations,
            tolerance=tolerance,
            period=period,
            curvature=objective.curvature,
            callback=early_stopping,
        )
        result = best_on_dev(early_stopping, result)
        if task.progress is not None and stage is not None:
            task.progress.end(result)
        return model.with_weights(objective.weights(result.vector)), result

    @abstractmethod
    def _learn(self, task: GraphTask) -> tuple[GraphModel, OptimisationResult, int]:
        """The model with its conditionals, how the learning ended, and the number of weights."""


def add_results(earlier: OptimisationResult, last: OptimisationResult) -> OptimisationResult:
    """Two parts of a training as one: sums, and the end of the last."""
    return replace(
        last,
        loss=earlier.loss + last.loss,
        iterations=earlier.iterations + last.iterations,
        evaluations=earlier.evaluations + last.evaluations,
    )


def _training_size(objective: GraphObjective, stage: str) -> TrainingSize:
    """The size of a part of the training."""
    dataset = objective.dataset
    return TrainingSize(
        tokens=dataset.tokens.tokens.n_rows,
        sequences=len(dataset.offsets) - 1,
        labels=objective.n_labels,
        features=sum(rows.n_features for rows in dataset.edges.values()),
        active=sum(rows.n_active for rows in dataset.edges.values()),
        parameters=objective.size,
        bytes=objective.nbytes + (MEMORY + 8) * objective.size * 8,
        stage=stage,
    )
