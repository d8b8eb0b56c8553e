"""The mixture-of-parents maximum-entropy Markov model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.arrays import Ints
from skipchain.chains.dataset import Dataset
from skipchain.edges.ordering import RANDOM, Ordering, parse_orderings
from skipchain.errors import ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.lbfgs import minimize
from skipchain.learn.step import INTERRUPTED, OptimisationResult
from skipchain.models.chain.estimator import FittedWeights
from skipchain.models.chain.loglinear import LBFGS, MEMORY
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.chain.memm import MEMM
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.estimator import DEFAULT_EDGES, GraphEstimator, GraphTask, add_results
from skipchain.models.graph.gate import Gate
from skipchain.models.graph.gate_likelihood import GateLikelihood
from skipchain.models.graph.mixture_likelihood import (
    CONDITIONAL,
    MARGINAL,
    MIXTURE,
    MixtureLikelihood,
)
from skipchain.models.graph.model import GraphModel

OBJECTIVES = (CONDITIONAL, MIXTURE, MARGINAL)
UNIFORM, LEARNED = "uniform", "learned"
GATE_L2 = 1.0  # keeps the few weights of a gate small where edges are few
JOINT_ORDERINGS = 10  # random orderings that joint training goes through at most


class MoPMEMM(GraphEstimator):
    """A MEMM whose labels may depend on any label visited before, however far away.

    p(y_k | parents) = Σ_u α_ku p(y_k | y_u, x), a mixture over the parents u that the ``edges``
    give: the token before, earlier tokens with the same word, linked pages. Each kind of edge has a
    maximum-entropy model of its own, with the features of both ends and a table of label pairs.
    The marginals p(y_k | x) are exact, and take one pass over the edges.

    Parameters
    ----------
    features
        As for `CRF`.
    edges
        The rules that link tokens: text such as ``"previous, same_word(recent=3)"``, or a list of
        rules and functions; see `skipchain.edges`.
    orderings
        ``forward``, ``backward``, ``random(N)``, separated by commas: the orders in which documents
        are gone through. Labels only depend on labels visited before; the marginals of several
        orderings are averaged.
    objective
        ``conditional`` trains every kind of edge by itself, with the known labels of parents.
        ``marginal`` goes on from there and trains all of them together, for the sum of
        log p(y_k | x), and ``mixture`` for that of log Σ_u α_ku p(y_k | y_u, x); both by lbfgs.
    mixing
        ``uniform``: all parents of a token count alike. ``learned``: a gate weighs them by the kind
        of edge, the number of parents, the distance, whether the words before are the same, and how
        sure the parent is. It learns from ``folds`` parts of the training data, each labelled by
        models that have not seen it.
    l2, min_count, optimiser, dropout and others
        As for `CRF`; they are those of every kind of edge. Without an ``optimiser`` chains learn as
        a `MEMM` does and other edges, which are few, by lbfgs.

    Examples
    --------
    >>> from skipchain import MoPMEMM, Corpus
    >>> words = [["Ms", "Lee", "spoke"], ["Lee", "slept"], ["In", "York", "it", "rained"]]
    >>> labels = [["O", "B-PER", "O"], ["B-PER", "O"], ["O", "B-LOC", "O", "O"]]
    >>> corpus = Corpus.of(words * 5, labels * 5, scheme="iob2", documents=[3] * 5)
    >>> mop = MoPMEMM(features="word\\nword[-1]", edges="previous, same_word").fit(corpus)
    >>> mop.predict(Corpus.of([["Ms", "Lee", "slept"]]))
    [['O', 'B-PER', 'O']]
    """

    kind = "mop-memm"
    chain_class = MEMM
    separate_objective = CONDITIONAL

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        edges: str | Sequence[Any] = DEFAULT_EDGES,
        orderings: str | Sequence[str | Ordering] = "forward, backward",
        encoding: str | None = "bioes",
        mixing: str = UNIFORM,
        folds: int = 3,
        objective: str = CONDITIONAL,
        optimiser: str | None = None,
        l2: float = 0.2,
        min_count: int = 1,
        pairs: str | None = None,
        constraints: str = "decoding",
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
        self.edges = edges
        self.orderings = orderings
        self.mixing = mixing
        self.folds = folds
        self.encoding = encoding
        self.objective = objective
        self.optimiser = optimiser
        self.l2 = l2
        self.min_count = min_count
        self.pairs = pairs
        self.constraints = constraints
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

    def _orderings(self) -> tuple[Ordering, ...]:
        return parse_orderings(self.orderings, self.seed)

    def _check(self) -> None:
        super()._check()
        self._check_choices(objective=OBJECTIVES, mixing=(UNIFORM, LEARNED))
        self._check_numbers(whole=("folds",))
        self._orderings()

    # Learning ----------------------------------------------------------------------------------

    def _learn(self, task: GraphTask) -> tuple[GraphModel, OptimisationResult, int]:
        if self.mixing == LEARNED:
            self._document_folds(task)
        dataset = GraphDataset(task.rows, task.edge_set)
        kinds = self._edge_types(task)
        found: dict[str, EdgeModel] = {}
        result, parameters = OptimisationResult(np.zeros(0), 0.0, 0, 0, ""), 0
        for kind in kinds:
            found[kind], learnt = self._fit_edge_model(task, dataset, kind)
            parameters += learnt.parameters
            result = add_results(result, learnt.result)
            if result.reason == INTERRUPTED:
                return _partial_model(task, found), result, parameters
        model = replace(task.untrained, edge_models=found)
        if self.objective != CONDITIONAL:
            model, result, parameters = self._train_jointly(task, model)
        if self.mixing == LEARNED and result.reason != INTERRUPTED:
            if task.progress is not None and self.objective != CONDITIONAL:
                task.progress.end(result)
            gate = self._fit_gate(task, kinds)
            if gate is None:
                return model, replace(result, reason=INTERRUPTED), parameters
            model = replace(model, gate=gate)
            parameters += sum(map(len, gate.weights.values()))
        return model, result, parameters

    def _edge_types(self, task: GraphTask) -> list[str]:
        """The kinds of edges that the orderings meet in the training data, chains first."""
        met: set[int] = set()
        for ordering in self._orderings():
            met |= set(np.unique(task.edge_set.dag(ordering).edge_types).tolist())
        chains = [k for k in sorted(met) if task.edge_set.by_rule[k // 2].rule.is_chain]
        return [task.edge_set.edge_types[kind] for kind in [*chains, *sorted(met - set(chains))]]

    def _fit_edge_model(
        self, task: GraphTask, dataset: GraphDataset, kind: str, note: str = ""
    ) -> tuple[EdgeModel, FittedWeights]:
        """One kind of edge, with the known labels of the parents as features of the edges."""
        relation, first_is_parent = dataset.edges_of_type(kind)
        size = len(task.untrained.labels)
        ends, classifier = (
            None,
            self._classifier(self.chain_class if relation.rule.has_boundaries else MaxEnt),
        )
        if relation.rule.is_chain:
            data = Dataset(task.rows, dataset.offsets, task.labels)
            if not first_is_parent and relation.rule.has_boundaries:
                data = data.reversed()
        else:
            child, parent = relation.endpoints(first_is_parent=first_is_parent)
            ends = EdgeFeatures.fit(task.rows, child, parent)
            own = ends.encode(task.rows, child, parent)
            rows = own.with_features(task.labels[parent][:, None], size)
            data = Dataset(rows, np.arange(len(child) + 1), task.labels[child])
            # a token's features are one unit: none of them is to be left out as a whole
            classifier.set_params(unit_dropout=0.0)
            if classifier._requested_optimiser is None:
                classifier.set_params(optimiser=LBFGS)
        learnt = self._fit_edge_type(task, kind, classifier, data, note)
        weights = learnt.weights
        if ends is not None:
            cut = ends.n_features
            weights = replace(weights, state=weights.state[:cut], transitions=weights.state[cut:])
        return EdgeModel(weights, ends), learnt

    def _document_folds(self, task: GraphTask) -> Ints:
        """The part that each document belongs to for a gate; empty ones are in the first. [D]"""
        filled = np.flatnonzero(np.diff(task.edge_set.documents))
        folds = min(self.folds, len(filled))
        if folds < 2:
            raise ParameterError(
                "mixing='learned' needs at least 2 folds and 2 documents, so that some can be held "
                f"out; got folds={self.folds} and {len(filled)} documents"
            )
        fold = np.zeros(task.edge_set.corpus.n_documents, np.int64)
        fold[filled] = np.arange(len(filled)) % folds
        return fold

    def _fit_gate(self, task: GraphTask, kinds: Sequence[str]) -> Gate | None:
        """Mixing weights that do well on documents which the edges' models have not seen.

        None where learning was interrupted.
        """
        fold = self._document_folds(task)
        folds = int(fold.max()) + 1
        sets = []
        for number in range(folds):
            rest, held = task.subset(fold != number), task.subset(fold == number)
            rest = replace(rest, progress=task.progress)
            note = f", without part {number + 1} of {folds}, for the mixing weights"
            dataset = GraphDataset(rest.rows, rest.edge_set)
            found = {}
            for kind in (kind for kind in kinds if dataset.n_rows(kind)):
                found[kind], learnt = self._fit_edge_model(rest, dataset, kind, note)
                if learnt.result.reason == INTERRUPTED:
                    return None
            model = replace(task.untrained, edge_models=found)
            ends = {kind: own.edge_features for kind, own in found.items()}
            held_out = GraphDataset.of(held.rows, held.edge_set, ends)
            sets.append((model.edge_scores(held_out, task.workers), held.labels))
        orderings = _limit_random(self._orderings())
        objective = GateLikelihood(sets, orderings, kinds, task.workers, l2=GATE_L2)
        result = minimize(
            objective,
            np.zeros(objective.size),
            memory=MEMORY,
            max_iterations=100,
            tolerance=1e-5,
            period=5,
        )
        return Gate(objective.weights(result.vector))

    def _train_jointly(
        self, task: GraphTask, model: GraphModel
    ) -> tuple[GraphModel, OptimisationResult, int]:
        """All kinds of edges together, beginning with what each has learnt by itself."""
        ends = {kind: own.edge_features for kind, own in model.edge_models.items()}
        dataset = GraphDataset.of(task.rows, task.edge_set, ends)
        orderings = _limit_random(self._orderings())
        shares = [1.0 / sum(o.backward == own.backward for o in orderings) for own in orderings]
        objective = MixtureLikelihood(
            dataset,
            task.labels,
            len(model.labels),
            dataset.dags(orderings),
            task.workers,
            loss=self.objective,
            l2=self.l2,
            observed=self.pairs != "all",
            shares=shares,
            single_precision=self.single_precision,
        )
        return *self._fit_jointly(task, model, objective), objective.size


def _partial_model(task: GraphTask, found: Mapping[str, EdgeModel]) -> GraphModel:
    """A model of the kinds of edges learnt so far, with the orderings that can do with them."""
    orderings = [
        ordering
        for ordering in task.untrained.orderings
        if (np.diff(task.edge_set.dag(ordering, found).indptr) > 0).all()
    ]
    if not orderings:
        raise KeyboardInterrupt
    return replace(task.untrained, edge_models=dict(found), orderings=tuple(orderings))


def _limit_random(orderings: Sequence[Ordering]) -> list[Ordering]:
    """All orderings but no more than ten random ones: each costs a pass."""
    random = [own for own in orderings if own.direction == RANDOM]
    return [own for own in orderings if own.direction != RANDOM] + random[:JOINT_ORDERINGS]
