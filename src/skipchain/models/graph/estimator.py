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
from skipchain.edges.relations import Relations
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import Rule
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.matrix import Rows
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.lbfgs import minimize
from skipchain.learn.step import Minimum
from skipchain.models.base.documents import check_documents, longest_document
from skipchain.models.base.estimator import Labeller
from skipchain.models.base.inputs import as_input
from skipchain.models.chain.estimator import Learnt, Task
from skipchain.models.chain.fitting import HeldOut, Part, Problem, Progress, Watch
from skipchain.models.chain.loglinear import LBFGS, MEMORY, SINGLE_TOLERANCE, LogLinear, best_of
from skipchain.models.chain.model import ChainModel
from skipchain.models.graph.model import GraphModel
from skipchain.models.graph.objective import LinkedObjective
from skipchain.parallel import Workers

PASSED_ON = (
    "optimiser", "l2", "pairs", "epochs", "rate", "dropout", "unit_dropout", "prune", "seed",
    "tolerance", "period", "max_iterations", "threads",
)  # fmt: skip
"""The parameters that the classifiers of single kinds of edges are trained with."""
EDGES = "previous, same_word(lower=true)"
"""The edges that there are unless told; a headline in capitals is linked to the text below it."""


@dataclass(frozen=True)
class LinkedTask:
    """Everything that a learner of linked labels is given.

    ``blank`` has features, labels, rules and orderings, but no conditionals yet.
    """

    rows: Rows
    relations: Relations
    labels: Labels  # [N]
    blank: GraphModel
    held_out: HeldOut | None
    workers: Workers
    progress: Progress | None

    def part(self, documents: Bools) -> LinkedTask:
        """Some of the documents, without display."""
        corpus = self.relations.corpus
        sizes = np.diff(self.relations.documents)
        tokens = np.flatnonzero(np.repeat(documents, sizes))
        chosen = corpus.take_documents(np.flatnonzero(documents))
        return replace(
            self,
            rows=self.rows.take(tokens),
            relations=Relations.of(chosen, self.blank.rules),
            labels=self.labels[tokens],
            held_out=None,
            progress=None,
        )


class LinkedEstimator(Labeller, ABC):
    """Fits a `GraphModel`: finds the edges of a corpus, and learns what they say."""

    learner: ClassVar[type[LogLinear]]
    """What learns chains by themselves."""
    separate: ClassVar[str]
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
            task = self._begin(corpus, y, workers, progress)
            if dev is not None:
                task = replace(task, held_out=HeldOut(task.blank, dev, dev_y))
            model, minimum, parameters = self._learn(task)
            score = None
            if task.held_out is not None:
                score = task.held_out.encoded_by(model).score(model, workers)
        if progress is not None:
            progress.end(minimum)
        summary = self._summary(
            minimum,
            tokens=corpus.n_tokens,
            sequences=len(corpus),
            parameters=parameters,
            dev=score,
            documents=corpus.n_documents,
            longest_document=longest_document(corpus),
            pairs={str(r.rule): len(r.pairs) for r in task.relations.relations},
            **model.summary,
        )
        self.model_ = replace(model, summary=summary).pruned()
        self.minimum_ = minimum
        if progress is None:
            self._raise_interrupt()
        return self

    def shortened(self) -> Self:
        """The same estimator, but it ends as soon as it can."""
        short = self._classifier(self.learner).shortened().get_params()
        own = {name: short[name] for name in ("epochs", "max_iterations")}
        return type(self)(**{**self.get_params(), **own, "patience": None})

    @property
    def stopping(self) -> tuple[float, int, int]:
        """When lbfgs ends: tolerance, period and the most iterations."""
        return self._classifier(self.learner).stopping

    @property
    def single(self) -> bool:
        """Whether single precision is enough for scores."""
        return self.stopping[0] >= SINGLE_TOLERANCE

    def _classifier(self, kind: type[LogLinear]) -> LogLinear:
        """What learns one kind of edge by itself."""
        own = {name: getattr(self, name) for name in PASSED_ON}
        if self.objective != self.separate and self.optimiser is None:
            own["optimiser"] = LBFGS
        return kind(**own)

    def _begin(
        self, corpus: Corpus, y: Any, workers: Workers, progress: Progress | None
    ) -> LinkedTask:
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
        check_documents(corpus, rules)
        blank = GraphModel(
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
        labels, _ = known.numbers(known.names)
        relations = Relations.of(corpus, rules)
        return LinkedTask(rows, relations, labels, blank, None, workers, progress)

    def _rules(self) -> tuple[Rule, ...]:
        return parse_rules(self.edges, self.functions)

    def _orderings(self) -> tuple[Ordering, ...]:
        """The orderings that the model's marginals are averaged over."""
        return (Ordering(),)

    def _check(self) -> None:
        super()._check()
        self._rules()
        self._classifier(self.learner)._check()
        if self.patience is not None and self.objective == self.separate:
            raise ParameterError(
                "patience is for training all kinds of edges together, which "
                f"objective={self.objective!r} does not; leave it out, or use epochs and "
                "max_iterations"
            )
        if self.constraints == "training":
            raise ParameterError(
                f"{type(self).__name__} uses constraints when it decodes; give 'decoding' or 'none'"
            )

    def _by_itself(
        self,
        task: LinkedTask,
        kind: str,
        classifier: LogLinear,
        data: Dataset,
        note: str = "",
    ) -> Learnt:
        """What a classifier learns of one kind of edge; the note is for who watches."""
        labels = task.blank.labels
        blank = ChainModel(kind, labels, task.blank.features, Weights.zeros(0, 0, len(labels)))
        progress = None
        if task.progress is not None:
            progress = Part(task.progress, f"edges of kind {kind}{note}")
        own = Task(data, blank, None, None, None, task.workers, progress, None)
        learnt = classifier._learn(own)
        if progress is not None:
            progress.end(learnt.minimum)
        return learnt

    def _by_lbfgs(
        self,
        task: LinkedTask,
        model: GraphModel,
        objective: LinkedObjective,
        part: str | None = None,
    ) -> tuple[GraphModel, Minimum]:
        """The kinds of edges of an objective, beginning with what the model has learnt of each.

        Unless it is only a ``part`` of the training, it is watched by way of the held-out data.
        """
        tolerance, period, max_iterations = self.stopping
        held_out = None
        if task.held_out is not None and part is None:
            held_out = task.held_out.encoded_by(model)
        if task.progress is not None:
            task.progress.begin(_problem(objective, part or "all edges together"))
        watch = Watch(
            lambda vector: model.filled(objective.unpack(vector)),
            held_out,
            self.patience,
            task.workers,
            task.progress,
        )
        minimum = minimize(
            objective,
            objective.pack({k: own.weights for k, own in model.conditionals.items()}),
            memory=MEMORY,
            max_iterations=max_iterations,
            tolerance=tolerance,
            period=period,
            curvature=objective.curvature,
            callback=watch,
        )
        minimum = best_of(watch, minimum)
        if task.progress is not None and part is not None:
            task.progress.end(minimum)
        return model.filled(objective.weights(minimum.vector)), minimum

    @abstractmethod
    def _learn(self, task: LinkedTask) -> tuple[GraphModel, Minimum, int]:
        """The model with its conditionals, how the learning ended, and the number of weights."""


def after(earlier: Minimum, last: Minimum) -> Minimum:
    """Two parts of a training as one: sums, and the end of the last."""
    return replace(
        last,
        loss=earlier.loss + last.loss,
        iterations=earlier.iterations + last.iterations,
        evaluations=earlier.evaluations + last.evaluations,
    )


def _problem(objective: LinkedObjective, part: str) -> Problem:
    """The size of a part of the training."""
    linked = objective.linked
    return Problem(
        tokens=linked.tokens.tokens.n_rows,
        sequences=len(linked.offsets) - 1,
        labels=objective.n_labels,
        features=sum(rows.n_features for rows in linked.edges.values()),
        active=sum(rows.n_active for rows in linked.edges.values()),
        parameters=objective.size,
        bytes=objective.nbytes + (MEMORY + 8) * objective.size * 8,
        part=part,
    )
