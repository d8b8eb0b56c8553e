"""The skip-chain conditional random field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.scorer import Weights
from skipchain.edges.relations import RuleEdges
from skipchain.errors import ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.step import INTERRUPTED, OptimisationResult
from skipchain.models.chain.crf import CRF
from skipchain.models.chain.estimator import FittedWeights
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.graph.belief import PropagationSettings
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.edges import EdgeModel
from skipchain.models.graph.estimator import DEFAULT_EDGES, GraphEstimator, GraphTask, add_results
from skipchain.models.graph.model import GraphModel
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
    damping, precision, max_sweeps
        How messages are sent: the share of the old message in a new one, from 0 to below 1 (0.5
        often helps where messages go round in circles), the relative change below which a message
        is said to rest, and the most times that a document is gone through. They hold in training
        and in tagging. The model's summary counts the ``unconverged`` documents of training, in
        which messages did not come to rest.
    l2, min_count, optimiser, dropout and others
        As for `CRF`; they are those of every part. ``joint`` ends with lbfgs, whatever the pieces
        were learnt by, and unless told takes lbfgs for them too.

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
    chain_class = CRF
    separate_objective = PIECEWISE

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        edges: str | Sequence[Any] = DEFAULT_EDGES,
        encoding: str | None = "bioes",
        objective: str = PIECEWISE,
        agreement: bool = False,
        damping: float = 0.0,
        precision: float = 1e-3,
        max_sweeps: int = 100,
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
        self.encoding = encoding
        self.objective = objective
        self.agreement = agreement
        self.damping = damping
        self.precision = precision
        self.max_sweeps = max_sweeps
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

    def _check(self) -> None:
        super()._check()
        self._check_choices(objective=OBJECTIVES)
        self._check_numbers(whole=("max_sweeps",), real=("damping", "precision"))
        if self.damping >= 1:
            raise ParameterError(f"damping must be below 1, got {self.damping!r}")
        if self.precision == 0:
            raise ParameterError("precision must be above 0, or no message ever rests")
        chains = [str(rule) for rule in self._rules() if rule.is_chain]
        if len(chains) > 1:
            raise ParameterError(
                f"the edges {' and '.join(chains)} both say what a token's own features say of its "
                "label; give one of them"
            )

    # Learning ----------------------------------------------------------------------------------

    def _learn(self, task: GraphTask) -> tuple[GraphModel, OptimisationResult, int]:
        propagation = PropagationSettings(self.damping, self.precision, self.max_sweeps)
        task = replace(task, untrained=replace(task.untrained, propagation=propagation))
        model, learnt = self._fit_chains(task)
        result, parameters = learnt.result, learnt.parameters
        dataset = GraphDataset.of(task.rows, task.edge_set, dict.fromkeys(model.edge_models))
        beliefs = np.log(
            np.maximum(model.score_dataset(dataset, task.workers).marginals, MIN_PROBABILITY)
        )
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
        objective(objective.pack({kind: own.weights for kind, own in model.edge_models.items()}))
        return replace(model, summary={"unsettled": objective.unconverged}), result, parameters

    def _fit_chains(self, task: GraphTask) -> tuple[GraphModel, FittedWeights]:
        """Chains or, without these, single tokens, learnt as if there were no other edges."""
        rule = next(own.rule for own in task.edge_set.by_rule if own.rule.is_chain)
        classifier = self._classifier(self.chain_class if rule.has_boundaries else MaxEnt)
        data = Dataset(task.rows, task.edge_set.corpus.sentences, task.labels)
        kind = rule.edge_types[0]
        learnt = self._fit_edge_type(task, kind, classifier, data)
        return replace(task.untrained, edge_models={kind: EdgeModel(learnt.weights)}), learnt

    def _fit_rule_piecewise(
        self, task: GraphTask, relation: RuleEdges, beliefs: Floats
    ) -> tuple[GraphModel, OptimisationResult, int]:
        """The pairs of one rule, each by itself, given what is believed of their tokens [N, L]."""
        kind, none = relation.rule.edge_types[0], np.zeros(0, np.int32)
        ends = EdgeFeatures(none, none)
        if self.agreement:
            ends = EdgeFeatures.fit(task.rows, *relation.endpoints(first_is_parent=True))
        weights = Weights.zeros(ends.n_features, 0, len(task.untrained.labels))
        untrained = replace(task.untrained, edge_models={kind: EdgeModel(weights, ends)})
        objective = self._likelihood(task, untrained, piecewise=beliefs)
        return *self._fit_jointly(
            task, untrained, objective, f"edges of kind {kind}"
        ), objective.size

    def _likelihood(
        self, task: GraphTask, model: GraphModel, *, piecewise: Floats | None = None
    ) -> PairwiseLikelihood:
        ends = {kind: own.edge_features for kind, own in model.edge_models.items()}
        return PairwiseLikelihood(
            GraphDataset.of(task.rows, task.edge_set, ends),
            task.labels,
            len(model.labels),
            task.workers,
            l2=self.l2,
            observed=self.pairs != "all",
            single_precision=self.single_precision,
            propagation=model.propagation,
            piecewise=piecewise,
        )
