"""What estimators of models whose labels are linked across a document share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.rows import Rows
from skipchain.features.vocabulary import Vocabulary
from skipchain.graph.ordering import Ordering
from skipchain.graph.relations import Relations
from skipchain.graph.rules import Rule, parse_rules
from skipchain.learn.step import Minimum
from skipchain.models.fitting import HeldOut, Progress
from skipchain.models.graph import GraphModel
from skipchain.models.inputs import as_input
from skipchain.models.labeller import Labeller, plain
from skipchain.models.wholeness import check_documents, longest_document
from skipchain.parallel import Workers

Labels = NDArray[np.int32]


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

    def part(self, documents: NDArray[np.bool_]) -> LinkedTask:
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

    edges: str | Sequence[Any]
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
        summary = {
            "tokens": corpus.n_tokens,
            "sequences": len(corpus),
            "documents": corpus.n_documents,
            "longest_document": longest_document(corpus),
            "pairs": {str(r.rule): len(r.pairs) for r in task.relations.relations},
            "loss": minimum.loss if np.isfinite(minimum.loss) else None,
            "iterations": minimum.iterations,
            "evaluations": minimum.evaluations,
            "stopped": minimum.reason,
            "parameters": parameters,
            "dev": score,
            "settings": plain(self.get_params()),
            **model.summary,
        }
        self.model_ = replace(model, summary=summary).pruned()
        self.minimum_ = minimum
        if progress is None:
            self._raise_interrupt()
        return self

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
            self.kind, known.names, vocabulary, rules, {}, self._orderings(), scheme, encoding,
            self.constraints != "none",
        )  # fmt: skip
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
        if self.constraints == "training":
            raise ParameterError(
                f"{type(self).__name__} uses constraints when it decodes; give 'decoding' or 'none'"
            )

    @abstractmethod
    def _learn(self, task: LinkedTask) -> tuple[GraphModel, Minimum, int]:
        """The model with its conditionals, how the learning ended, and the number of weights."""
