"""What estimators of models whose labels are linked across a document share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from skipchain.arrays import Floats, Ints, Labels, members
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_marginals import DECODERS
from skipchain.chains.learn import (
    MEMORY,
    SINGLE_TOLERANCE,
    ChainProblem,
    FittedWeights,
    check_solver,
    learn_chain,
)
from skipchain.chains.scorer import Weights
from skipchain.corpus import Corpus
from skipchain.edges.ordering import Ordering
from skipchain.edges.relations import EdgeSet
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import Rule
from skipchain.errors import CorpusError, ParameterError
from skipchain.features.matrix import FeatureMatrix
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.early_stopping import EarlyStopping
from skipchain.learn.lbfgs import minimize
from skipchain.learn.solvers import CHAIN_SOLVERS, LBFGS, Automatic, Solver
from skipchain.learn.step import OptimisationResult
from skipchain.models.base.documents import longest_document
from skipchain.models.base.estimator import BaseEstimator
from skipchain.models.base.inputs import Input
from skipchain.models.base.progress import Progress, StageProgress, TrainingSize
from skipchain.models.base.task import Fitted, TrainingTask, display_monitor
from skipchain.models.graph.documents import check_linked_documents
from skipchain.models.graph.model import GraphModel
from skipchain.models.graph.objective import GraphObjective
from skipchain.parallel import Workers

DEFAULT_EDGES = "previous, same_word(lower=true)"
"""The edges by default; a headline in capitals is linked to the text below it."""


@dataclass(frozen=True)
class GraphTask:
    """Encoded tokens and their edges, to learn from.

    ``untrained`` has features, labels, rules and orderings, but no edge models yet; ``held_out``
    scores it on held-out data once it has them.
    """

    rows: FeatureMatrix
    edge_set: EdgeSet
    labels: Labels  # [N]
    untrained: GraphModel
    workers: Workers
    progress: Progress | None = None
    training: TrainingTask | None = None

    def subset(self, documents: Ints) -> GraphTask:
        """Some of the documents, without held-out data."""
        tokens = members(self.edge_set.documents, documents)
        chosen = self.edge_set.corpus.take_documents(documents)
        edge_set = EdgeSet.of(chosen, self.untrained.rules)
        rows, labels = self.rows.take(tokens), self.labels[tokens]
        return replace(self, rows=rows, edge_set=edge_set, labels=labels, training=None)


class GraphEstimator(BaseEstimator):
    """Fits a `GraphModel`: finds the edges of a corpus, and learns what they say."""

    solvers = CHAIN_SOLVERS
    decoders: tuple[str, ...] = DECODERS
    separate_objective: ClassVar[str]
    """The objective that learns each edge type by itself, and no more."""
    local_chains: ClassVar[bool]
    """Whether chains are normalised at each position."""
    supports_pair_features: ClassVar[bool] = False
    """Whether features may go with the labels of both ends of an edge."""

    edges: str | Sequence[Any]
    objective: str
    model_: GraphModel

    def check_documents(self, corpus: Corpus, longest: int | None = None) -> None:
        """Warn of a corpus that has no documents for the edges to link."""
        check_linked_documents(corpus, self._rules(), longest)

    @property
    def stopping(self) -> tuple[float, int]:
        """When the loss falls slowly enough for training to end, and the most iterations."""
        return self._joint_solver.tolerance, self._joint_solver.max_iterations

    # Fitting -----------------------------------------------------------------------------------

    def _check_fit(self, dev: Any, start: Any) -> None:
        super()._check_fit(dev, start)
        if start is not None:
            raise ParameterError(f"{type(self).__name__} cannot start from another model")

    def _input(self, given: Input, y: Any) -> Corpus:
        if not isinstance(given, Corpus):
            raise ParameterError(
                f"{type(self).__name__} links the tokens of documents, so it learns from a Corpus; "
                "Corpus.of(words, labels, documents=…) makes one"
            )
        if not given.n_tokens:
            raise CorpusError("there is no token to learn from")
        return given

    def _train(self, task: TrainingTask) -> Fitted:
        corpus = task.given
        assert isinstance(corpus, Corpus)
        graph_task = self._encode(corpus, task)
        model, result, parameters = self._learn(graph_task)
        facts = {
            "documents": corpus.n_documents,
            "longest_document": longest_document(corpus),
            "pairs": {str(own.rule): len(own.pairs) for own in graph_task.edge_set.by_rule},
            **model.summary,
        }
        return Fitted(model, result, parameters, corpus.n_tokens, len(corpus), facts=facts)

    def _encode(self, corpus: Corpus, task: TrainingTask) -> GraphTask:
        """The data to learn from, and a model of its features, labels and rules."""
        known, scheme, encoding = self._labels(corpus, task.labels)
        features, rows, _ = task.features(self.min_count)
        assert isinstance(features, Vocabulary)
        if not self.supports_pair_features:
            self._no_pair_features(features.n_edge_features)
        rules = tuple(rule.fit(corpus) for rule in self._rules())
        _check_pair_features(features, rules)
        _check_edge_templates(features, rules)
        check_linked_documents(corpus, rules)
        untrained = GraphModel(
            kind=self.kind,
            labels=known.names,
            features=features,
            rules=rules,
            edge_models={},
            orderings=self._orderings(),
            scheme=scheme,
            encoding=encoding,
            constrained=self.constraints != "none",
        )
        labels, _ = known.to_codes(known.names)
        edge_set = EdgeSet.of(corpus, rules)
        return GraphTask(rows, edge_set, labels, untrained, task.workers, task.progress, task)

    @abstractmethod
    def _learn(self, task: GraphTask) -> tuple[GraphModel, OptimisationResult, int]:
        """The model with its edge models, how the learning ended, and the number of weights."""

    def _rules(self) -> tuple[Rule, ...]:
        return parse_rules(self.edges, self.functions)

    def _orderings(self) -> tuple[Ordering, ...]:
        """The orderings that the model's marginals are averaged over."""
        return (Ordering(),)

    def _check(self) -> None:
        super()._check()
        self._rules()
        check_solver(
            self._solver,
            local=self.local_chains,
            objective="conditional",
            l2=self.l2,
            name=type(self).__name__,
        )
        if self._patience is not None and self.objective == self.separate_objective:
            raise ParameterError(
                "patience is for training all edge types together, which "
                f"objective={self.objective!r} does not; leave it out, or use epochs and "
                "max_iterations"
            )
        self._only_decoding()

    # Learning ----------------------------------------------------------------------------------

    @property
    def _edge_solver(self) -> Solver:
        """What learns single edge types: with a joint objective L-BFGS, where none is chosen."""
        solver = self._solver
        if isinstance(solver, Automatic) and self.objective != self.separate_objective:
            solver = solver.as_solver(LBFGS)
        return solver.without_patience()

    @property
    def _joint_solver(self) -> LBFGS:
        """What learns all edge types together."""
        solver = self._solver
        if isinstance(solver, Automatic):
            solver = solver.as_solver(LBFGS)
        if isinstance(solver, LBFGS):
            return solver
        shared = ("pairs", "patience", "max_iterations", "tolerance", "period")
        given = {name: getattr(solver, name, None) for name in shared}
        return LBFGS(**{name: value for name, value in given.items() if value is not None})

    def _fit_edge_type(
        self,
        task: GraphTask,
        edge_type: str,
        data: Dataset,
        solver: Solver,
        *,
        chain: bool,
        note: str = "",
    ) -> FittedWeights:
        """What one edge type learns by itself: a chain, or a classifier of its children."""
        n_labels = len(task.untrained.labels)
        problem = ChainProblem(data, n_labels, local=self.local_chains, l2=self.l2, seed=self.seed)
        stage = StageProgress.of(task.progress, f"edges of type {edge_type}{note}")
        problem = problem if chain else problem.of_positions()
        monitor = display_monitor(stage, data, n_labels)
        learnt = learn_chain(problem, solver, task.workers, monitor)
        if stage is not None:
            stage.end(learnt.result)
        return learnt

    @property
    def _objective_settings(self) -> dict[str, Any]:
        """What losses of all edge types together take by name; see `GraphObjective`."""
        solver = self._joint_solver
        single = solver.tolerance >= SINGLE_TOLERANCE
        return {"l2": self.l2, "observed": solver.observed, "single_precision": single}

    def _fit_jointly(
        self,
        task: GraphTask,
        model: GraphModel,
        objective: GraphObjective,
        stage: str | None = None,
    ) -> tuple[GraphModel, OptimisationResult]:
        """The edge types of an objective, beginning with what the model has learnt of each.

        Unless it is only a ``stage`` of the training, held-out data are scored as it goes on.
        """
        solver = self._joint_solver
        held_out = None
        if task.training is not None and stage is None:
            held_out = task.training.held_out(model)
        progress = task.progress
        if progress is not None:
            progress.begin(_training_size(objective, stage or "all edges together"))

        def score(vector: Floats) -> float:
            assert held_out is not None
            return held_out.score(model.with_weights(objective.unpack(vector)), task.workers)

        stopping = EarlyStopping(
            None if held_out is None else score,
            solver.patience if stage is None else None,
            None if progress is None else progress.step,
        )
        result = minimize(
            objective,
            objective.pack(model.edge_weights),
            memory=MEMORY,
            **solver.stopping,
            curvature=objective.curvature,
            callback=stopping,
        )
        result = stopping.best_of(result)
        if progress is not None and stage is not None:
            progress.end(result)
        return model.with_weights(objective.weights(result.vector)), result


def _check_pair_features(features: Vocabulary, rules: Sequence[Rule]) -> None:
    """Refuse features with two labels where tokens are classified without the label before."""
    chains = [rule for rule in rules if rule.is_chain]
    if features.n_edge_features and not (chains and all(rule.has_boundaries for rule in chains)):
        raise ParameterError(
            "templates that begin with 'label[-1] &' look at the label before, which only the "
            f"edges 'previous' give, got edges '{', '.join(map(str, rules))}': leave such "
            "templates out, or use 'previous' and no 'alone'; 'edge: label & …' is for other edges"
        )


def _check_edge_templates(features: Vocabulary, rules: Sequence[Rule]) -> None:
    """Refuse features of edges where there are chains alone, whose features are the child's."""
    lines = features.templates.edge_templates
    if lines and all(rule.is_chain for rule in rules):
        raise ParameterError(
            f"'{lines[0]}' is about edges other than those of chains, and the edges "
            f"'{', '.join(map(str, rules))}' are nothing else; add a rule such as 'same_word', or "
            "leave the line out"
        )


def add_results(earlier: OptimisationResult, last: OptimisationResult) -> OptimisationResult:
    """Two stages of a training as one: sums, and the end of the last."""
    return replace(last.after(earlier), loss=earlier.loss + last.loss)


def empty_weights(task: GraphTask, n_features: int) -> Weights:
    """The weights of an edge type before it has learnt anything."""
    return Weights.zeros(n_features, 0, len(task.untrained.labels))


def _training_size(objective: GraphObjective, stage: str) -> TrainingSize:
    """The size of a stage of the training."""
    dataset = objective.dataset
    edges = [*dataset.edges.values(), *dataset.pairs.values()]
    return TrainingSize(
        tokens=dataset.tokens.tokens.n_rows,
        sequences=len(dataset.offsets) - 1,
        labels=objective.n_labels,
        features=sum(rows.n_features + rows.n_edge_features for rows in edges),
        active=sum(rows.n_active + len(rows.edges.indices) for rows in edges),
        parameters=objective.size,
        bytes=objective.nbytes + (MEMORY + 8) * objective.size * 8,
        stage=stage,
    )
