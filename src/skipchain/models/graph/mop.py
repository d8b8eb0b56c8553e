"""The mixture-of-parents maximum-entropy Markov model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import MEMORY, FittedWeights
from skipchain.checks import check_choice, check_integer
from skipchain.edges.dag import Dag
from skipchain.edges.ordering import RANDOM, Ordering, parse_orderings
from skipchain.features.edge_template import EdgeTemplate
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.lbfgs import minimize
from skipchain.learn.solvers import LBFGS, SGD, Automatic, Solver
from skipchain.learn.step import INTERRUPTED, OptimisationResult
from skipchain.models.base.crossfit import Fold, cross_fit, deal_documents
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.estimator import (
    DEFAULT_EDGES,
    GraphEstimator,
    GraphTask,
    add_results,
    empty_weights,
)
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
EVERYTHING = (EdgeTemplate(),)  # all features of both ends, with the child's label
JOINT_ORDERINGS = 10  # random orderings that joint training goes through at most


class MoPMEMM(GraphEstimator):
    """A MEMM whose labels may depend on any label visited before, however far away.

    p(y_k | parents) = Σ_u α_ku p(y_k | y_u, x), a mixture over the parents u that the ``edges``
    give: the token before, earlier tokens with the same word, linked pages. Each edge type has a
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
        ``conditional`` trains every edge type by itself, with the known labels of parents.
        ``marginal`` goes on from there and trains all of them together, for the sum of
        log p(y_k | x), and ``mixture`` for that of log Σ_u α_ku p(y_k | y_u, x); both by lbfgs.
    mixing
        ``uniform``: all parents of a token count alike. ``learned``: a gate weighs them by edge
        type, number of parents, distance, whether the words before are the same, and how sure the
        parent is. It learns from documents that the edge models have not seen, fold by fold.
    folds
        The folds by which a gate is learnt.
    solver
        As for `CRF`; it is that of every edge type. By default chains learn as those of a `MEMM`
        and other edges, which are few, by L-BFGS.
    l2, min_count, encoding, constraints, seed, scheme, functions, threads
        As for `CRF`; ``l2`` is that of every edge type.

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
    separate_objective = CONDITIONAL
    local_chains = True
    supports_pair_features = True
    supports_edge_templates = True
    orderings: str | Sequence[str | Ordering]
    mixing: str
    folds: int

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        edges: str | Sequence[Any] = DEFAULT_EDGES,
        orderings: str | Sequence[str | Ordering] = "forward, backward",
        encoding: str | None = "bioes",
        mixing: str = UNIFORM,
        folds: int = 3,
        objective: str = CONDITIONAL,
        solver: str | Solver | None = None,
        l2: float = 0.2,
        min_count: int = 1,
        constraints: str = "decoding",
        seed: int = 0,
        scheme: str | None = None,
        functions: Mapping[str, UserView] | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep(locals())

    def _orderings(self) -> tuple[Ordering, ...]:
        return parse_orderings(self.orderings, self.seed)

    def _check(self) -> None:
        super()._check()
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("mixing", self.mixing, (UNIFORM, LEARNED))
        check_integer("folds", self.folds)
        self._orderings()

    # Learning ----------------------------------------------------------------------------------

    def _learn(self, task: GraphTask) -> tuple[GraphModel, OptimisationResult, int]:
        folds: list[Fold] = []
        if self.mixing == LEARNED:
            corpus = task.edge_set.corpus
            folds = deal_documents(corpus, self.folds, self.seed, "mixing='learned'")
        dataset = GraphDataset(task.rows, task.edge_set)
        edge_types = self._edge_types(task)
        edge_models: dict[str, EdgeModel] = {}
        result, parameters = OptimisationResult(np.zeros(0), 0.0, 0, 0, ""), 0
        for edge_type in edge_types:
            edge_models[edge_type], learnt = self._fit_edge_model(task, dataset, edge_type)
            parameters += learnt.parameters
            result = add_results(result, learnt.result)
            if result.reason == INTERRUPTED:
                return _partial_model(task, edge_models), result, parameters
        model = replace(task.untrained, edge_models=edge_models)
        if self.objective != CONDITIONAL:
            model, result, parameters = self._train_jointly(task, model)
        if self.mixing == LEARNED and result.reason != INTERRUPTED:
            if task.progress is not None and self.objective != CONDITIONAL:
                task.progress.end(result)
            try:
                gate = self._fit_gate(task, edge_types, folds)
            except KeyboardInterrupt:
                return model, replace(result, reason=INTERRUPTED), parameters
            model = replace(model, gate=gate)
            parameters += sum(map(len, gate.weights.values()))
        return model, result, parameters

    def _edge_types(self, task: GraphTask) -> list[str]:
        """The edge types that the orderings meet in the training data, chains first."""
        met: set[int] = set()
        for ordering in self._orderings():
            met |= set(np.unique(task.edge_set.dag(ordering).edge_types).tolist())
        chains = [k for k in sorted(met) if task.edge_set.by_rule[k // 2].rule.is_chain]
        return [task.edge_set.edge_types[k] for k in [*chains, *sorted(met - set(chains))]]

    def _fit_edge_model(
        self, task: GraphTask, dataset: GraphDataset, edge_type: str, note: str = ""
    ) -> tuple[EdgeModel, FittedWeights]:
        """One edge type, with the known labels of the parents as features of the edges."""
        relation, first_is_parent = dataset.edges_of_type(edge_type)
        rule, size, solver = relation.rule, len(task.untrained.labels), self._edge_solver
        lines = task.untrained.features.templates.edge_templates
        if not rule.is_chain and any(line.pairing for line in lines):
            return self._fit_paired_edges(task, dataset, edge_type, lines, note)
        ends = None
        if rule.is_chain:
            data = Dataset(task.rows, dataset.offsets, task.labels)
            if not first_is_parent and rule.has_boundaries:
                data = data.reversed()
        else:
            child, parent = relation.endpoints(first_is_parent=first_is_parent)
            vocabulary = task.untrained.features
            ends = EdgeFeatures.of_lines(
                vocabulary, lines or EVERYTHING, task.rows, (child, parent)
            )
            rows = ends.encode(task.rows, child, parent, task.edge_set.corpus)
            rows = rows.with_features(task.labels[parent][:, None], size)
            data = Dataset(rows, np.arange(len(child) + 1), task.labels[child])
            # a token's features are one bundle: none of them is to be left out as a whole
            if isinstance(solver, Automatic):
                solver = solver.as_solver(LBFGS)
            elif isinstance(solver, SGD):
                solver = replace(solver, bundle_dropout=0.0)
        learnt = self._fit_edge_type(
            task, edge_type, data, solver, chain=rule.has_boundaries, note=note
        )
        weights = learnt.weights
        if ends is not None:
            cut = ends.n_features
            weights = replace(weights, state=weights.state[:cut], transitions=weights.state[cut:])
        return EdgeModel(weights, ends), learnt

    def _fit_paired_edges(
        self,
        task: GraphTask,
        dataset: GraphDataset,
        edge_type: str,
        lines: Sequence[EdgeTemplate],
        note: str,
    ) -> tuple[EdgeModel, FittedWeights]:
        """One edge type with features that go with the known labels of both ends, by L-BFGS."""
        model, ends = task.untrained, dataset.endpoints(edge_type)
        apart = (
            [line for line in lines if not line.pairing],
            [line for line in lines if line.pairing],
        )
        single, paired = (
            EdgeFeatures.of_lines(model.features, some, task.rows, ends) for some in apart
        )
        weights = replace(
            empty_weights(task, single.n_features),
            edges=np.zeros((paired.n_features, model.label_pairs.size)),
        )
        model = replace(model, edge_models={edge_type: EdgeModel(weights, single, paired)})
        data = model.graph_dataset(task.rows, task.edge_set)
        objective = MixtureLikelihood(
            data,
            task.labels,
            len(model.labels),
            [_all_pairs(data, edge_type)],
            task.workers,
            loss=CONDITIONAL,
            label_pairs=model.label_pairs,
            **self._objective_settings,
        )
        stage = f"edges of type {edge_type}{note}"
        model, result = self._fit_jointly(task, model, objective, stage)
        learnt = model.edge_models[edge_type]
        return learnt, FittedWeights(learnt.weights, result, objective.size)

    def _fit_gate(self, task: GraphTask, edge_types: Sequence[str], folds: Sequence[Fold]) -> Gate:
        """Mixing weights that do well on documents which the edge models have not seen."""

        def scored(fold: Fold) -> tuple[Any, Any]:
            rest, held = task.subset(fold.rest), task.subset(fold.held_out)
            dataset = GraphDataset(rest.rows, rest.edge_set)
            note = f", {fold.stage('the mixing weights')}"
            edge_models = {}
            for edge_type in (name for name in edge_types if dataset.n_rows(name)):
                own, learnt = self._fit_edge_model(rest, dataset, edge_type, note)
                edge_models[edge_type] = own
                if learnt.result.reason == INTERRUPTED:
                    raise KeyboardInterrupt
            model = replace(task.untrained, edge_models=edge_models)
            held_out = model.graph_dataset(held.rows, held.edge_set)
            return model.edge_scores(held_out, task.workers), held.labels

        orderings = _limit_random(self._orderings())
        objective = GateLikelihood(
            cross_fit(folds, scored), orderings, edge_types, task.workers, l2=GATE_L2
        )
        how = LBFGS(max_iterations=100, tolerance=1e-5, period=5).stopping
        result = minimize(objective, np.zeros(objective.size), memory=MEMORY, **how)
        if result.reason == INTERRUPTED:
            raise KeyboardInterrupt
        return Gate(objective.weights(result.vector))

    def _train_jointly(
        self, task: GraphTask, model: GraphModel
    ) -> tuple[GraphModel, OptimisationResult, int]:
        """All edge types together, beginning with what each has learnt by itself."""
        dataset = model.graph_dataset(task.rows, task.edge_set)
        orderings = _limit_random(self._orderings())
        shares = [1.0 / sum(o.backward == own.backward for o in orderings) for own in orderings]
        objective = MixtureLikelihood(
            dataset,
            task.labels,
            len(model.labels),
            dataset.dags(orderings),
            task.workers,
            loss=self.objective,
            shares=shares,
            label_pairs=model.label_pairs,
            **self._objective_settings,
        )
        return *self._fit_jointly(task, model, objective), objective.size


def _all_pairs(dataset: GraphDataset, edge_type: str) -> Dag:
    """All edges of a type, to learn from known labels; they need not be free of cycles."""
    children, parents = dataset.endpoints(edge_type)
    types = np.full(len(children), dataset.type_index(edge_type), np.int32)
    order, rows = np.arange(dataset.tokens.tokens.n_rows), np.arange(len(children))
    names = dataset.edge_set.edge_types
    return Dag.from_edges(order, children, parents, types, rows, names)


def _partial_model(task: GraphTask, edge_models: Mapping[str, EdgeModel]) -> GraphModel:
    """A model of the edge types learnt so far, with the orderings that can do with them."""
    orderings = [
        ordering
        for ordering in task.untrained.orderings
        if (np.diff(task.edge_set.dag(ordering, edge_models).indptr) > 0).all()
    ]
    if not orderings:
        raise KeyboardInterrupt
    return replace(task.untrained, edge_models=dict(edge_models), orderings=tuple(orderings))


def _limit_random(orderings: Sequence[Ordering]) -> list[Ordering]:
    """All orderings but no more than ten random ones: each costs a pass."""
    random = [own for own in orderings if own.direction == RANDOM]
    return [own for own in orderings if own.direction != RANDOM] + random[:JOINT_ORDERINGS]
