"""The skip-chain conditional random field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import FittedWeights
from skipchain.checks import check_choice, check_integer, check_number
from skipchain.edges.relations import RuleEdges
from skipchain.errors import ParameterError
from skipchain.features.presets import DEFAULT_SET
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.solvers import Solver
from skipchain.learn.step import INTERRUPTED, OptimisationResult
from skipchain.models.base.parameters import check_type
from skipchain.models.graph.belief import MAX_SWEEPS, PropagationSettings
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
from skipchain.models.graph.model import DECODERS_BY_KIND, GraphModel
from skipchain.models.graph.pairwise_likelihood import PairwiseLikelihood

PIECEWISE, JOINT = OBJECTIVES = "piecewise", "joint"
MIN_PROBABILITY = 1e-12  # the least probability of a label; edges can still speak for it


class SkipChainCRF(GraphEstimator):
    """A CRF with further edges, between labels that stand anywhere in a document.

    p(y | x) ∝ exp(Σ_t (Σ_f w[f, y_t] + T[y_{t−1}, y_t]) + Σ_r Σ_(u, v) (T_r[y_u, y_v] +
    Σ_f w_r[f, l] [y_u = y_v = l])), where (u, v) are the pairs that edge rule r finds: equal words,
    linked pages. Documents are normalised as a whole; since edges make loops, probabilities are
    found by belief propagation, which is an approximation. Without ``previous`` among the edges
    there are no chains, only tokens and pairs: the link model of web pages.

    Parameters
    ----------
    features
        As for `CRF`.
    edges
        The rules that link tokens: text such as ``"previous, same_word(recent=3)"``, or a list of
        rules and functions; see `skipchain.edges`.
    objective
        ``piecewise`` trains the chains as a CRF, and then the pairs of each rule by themselves:
        each is normalised as if there were no other, given what the chains say of its two labels.
        ``joint`` goes on from there and trains everything together by lbfgs, for the likelihood of
        whole documents.
    agreement
        Whether the features of both tokens of a pair have weights that count where the two have the
        same label; else only the labels of a pair do.
    propagation
        How messages are sent, in training and in tagging: `PropagationSettings`, or its settings by
        name: ``damping``, the share of the old message in a new one, from 0 to below 1 (0.5 often
        helps where messages go round in circles), ``precision``, the relative change below which a
        message has converged, and ``max_sweeps``, the most times that a document is gone through.
        The model's summary counts the documents of training whose messages did not converge.
    solver
        As for `CRF`; it is that of chains and pairs. ``joint`` ends with L-BFGS, whatever the
        pieces were learnt by, and by default takes it for them too.
    l2, min_count, encoding, constraints, seed, scheme, functions, threads
        As for `CRF`.

    Examples
    --------
    >>> from skipchain import SkipChainCRF, Corpus
    >>> words = [["Ms", "Lee", "spoke"], ["Lee", "slept"], ["In", "York", "it", "rained"]]
    >>> labels = [["O", "B-PER", "O"], ["B-PER", "O"], ["O", "B-LOC", "O", "O"]]
    >>> corpus = Corpus.of(words * 5, labels * 5, scheme="iob2", documents=[3] * 5)
    >>> crf = SkipChainCRF(features="word\\nword[-1]", edges="previous, same_word").fit(corpus)
    >>> crf.predict(Corpus.of([["Ms", "Lee", "slept"]]))
    [['O', 'B-PER', 'O']]
    """

    kind = "skip-chain-crf"
    separate_objective = PIECEWISE
    local_chains = False
    decoders = DECODERS_BY_KIND[kind]
    groups_of_settings = {"propagation": (PropagationSettings, {"precision": "tolerance"})}  # noqa: RUF012
    agreement: bool
    propagation: PropagationSettings | None

    def __init__(
        self,
        features: str | Path | Templates = DEFAULT_SET,
        *,
        edges: str | Sequence[Any] = DEFAULT_EDGES,
        encoding: str | None = "bioes",
        objective: str = PIECEWISE,
        agreement: bool = False,
        propagation: PropagationSettings | None = None,
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

    def _check(self) -> None:
        super()._check()
        check_choice("objective", self.objective, OBJECTIVES)
        propagation = self._propagation
        check_number("damping", propagation.damping, below=1.0)
        check_number("precision", propagation.tolerance)
        check_integer("max_sweeps", propagation.max_sweeps, most=MAX_SWEEPS)
        if propagation.tolerance == 0:
            raise ParameterError("precision must be above 0, or no message ever converges")
        chains = [str(rule) for rule in self._rules() if rule.is_chain]
        if len(chains) > 1:
            raise ParameterError(
                f"the edges {' and '.join(chains)} both say what a token's own features say of its "
                "label; give one of them"
            )

    @property
    def _propagation(self) -> PropagationSettings:
        propagation = self.propagation or PropagationSettings()
        check_type("propagation", propagation, PropagationSettings)
        return propagation

    # Learning ----------------------------------------------------------------------------------

    def _learn(self, task: GraphTask) -> tuple[GraphModel, OptimisationResult, int]:
        untrained = replace(task.untrained, propagation=self._propagation)
        task = replace(task, untrained=untrained)
        model, learnt = self._fit_chains(task)
        result, parameters = learnt.result, learnt.parameters
        dataset = GraphDataset.of(task.rows, task.edge_set, dict.fromkeys(model.edge_models))
        marginals = model.marginals(model.score_dataset(dataset, task.workers), task.workers)
        beliefs = np.log(np.maximum(marginals, MIN_PROBABILITY))
        for relation in task.edge_set.by_rule:
            if result.reason == INTERRUPTED:
                break
            if len(relation.pairs) and not relation.rule.is_chain:
                piece, own, size = self._fit_rule_piecewise(task, relation, beliefs)
                model = replace(model, edge_models={**model.edge_models, **piece.edge_models})
                result, parameters = add_results(result, own), parameters + size
        objective = self._likelihood(task, model)
        if self.objective == JOINT and result.reason != INTERRUPTED:
            model, result = self._fit_jointly(task, model, objective)
            parameters = objective.size
        objective(objective.pack(model.edge_weights))
        return replace(model, summary={"unsettled": objective.unconverged}), result, parameters

    def _fit_chains(self, task: GraphTask) -> tuple[GraphModel, FittedWeights]:
        """Chains or, without these, single tokens, learnt as if there were no other edges."""
        rule = next(own.rule for own in task.edge_set.by_rule if own.rule.is_chain)
        data = Dataset(task.rows, task.edge_set.corpus.sentences, task.labels)
        edge_type = rule.edge_types[0]
        solver, chain = self._edge_solver, rule.has_boundaries
        learnt = self._fit_edge_type(task, edge_type, data, solver, chain=chain)
        return replace(task.untrained, edge_models={edge_type: EdgeModel(learnt.weights)}), learnt

    def _fit_rule_piecewise(
        self, task: GraphTask, relation: RuleEdges, beliefs: Floats
    ) -> tuple[GraphModel, OptimisationResult, int]:
        """The pairs of one rule, each by itself, given what is believed of their tokens [N, L]."""
        edge_type, none = relation.rule.edge_types[0], np.zeros(0, np.int32)
        ends = EdgeFeatures(none, none)
        if self.agreement:
            ends = EdgeFeatures.fit(task.rows, *relation.endpoints(first_is_parent=True))
        edge_model = EdgeModel(empty_weights(task, ends.n_features), ends)
        untrained = replace(task.untrained, edge_models={edge_type: edge_model})
        objective = self._likelihood(task, untrained, piecewise=beliefs)
        stage = f"edges of type {edge_type}"
        return *self._fit_jointly(task, untrained, objective, stage), objective.size

    def _likelihood(
        self, task: GraphTask, model: GraphModel, *, piecewise: Floats | None = None
    ) -> PairwiseLikelihood:
        return PairwiseLikelihood(
            model.graph_dataset(task.rows, task.edge_set),
            task.labels,
            len(model.labels),
            task.workers,
            propagation=model.propagation,
            piecewise=piecewise,
            **self._objective_settings,
        )
