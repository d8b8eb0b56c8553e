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
from skipchain.edges.relations import Relation
from skipchain.errors import ParameterError
from skipchain.features.templates import Templates
from skipchain.features.views import UserView
from skipchain.learn.step import INTERRUPTED, Minimum
from skipchain.models.chain.crf import CRF
from skipchain.models.chain.estimator import Learnt
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.graph.belief import Sending
from skipchain.models.graph.dataset import Linked
from skipchain.models.graph.edge_features import Ends
from skipchain.models.graph.edges import Conditional
from skipchain.models.graph.estimator import EDGES, LinkedEstimator, LinkedTask, after
from skipchain.models.graph.model import GraphModel
from skipchain.models.graph.pairwise_likelihood import PairwiseLikelihood

PIECEWISE, JOINT = OBJECTIVES = "piecewise", "joint"
RULED_OUT = 1e-12  # the least probability of a label; edges can still speak for it


class SkipChainCRF(LinkedEstimator):
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
        and in tagging. The model's summary counts the ``unsettled`` documents of training, in which
        messages did not come to rest.
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
    learner = CRF
    separate = PIECEWISE

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        edges: str | Sequence[Any] = EDGES,
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
        chains = [str(rule) for rule in self._rules() if rule.chain]
        if len(chains) > 1:
            raise ParameterError(
                f"the edges {' and '.join(chains)} both say what a token's own features say of its "
                "label; give one of them"
            )

    # Learning ----------------------------------------------------------------------------------

    def _learn(self, task: LinkedTask) -> tuple[GraphModel, Minimum, int]:
        sending = Sending(self.damping, self.precision, self.max_sweeps)
        task = replace(task, blank=replace(task.blank, sending=sending))
        model, learnt = self._tokens(task)
        minimum, parameters = learnt.minimum, learnt.parameters
        linked = Linked.of(task.rows, task.relations, dict.fromkeys(model.conditionals))
        beliefs = np.log(np.maximum(model.scored(linked, task.workers).marginals, RULED_OUT))
        for relation in task.relations.relations:
            if minimum.reason == INTERRUPTED:
                break
            if len(relation.pairs) and not relation.rule.chain:
                piece, own, size = self._piece(task, relation, beliefs)
                model = replace(model, conditionals={**model.conditionals, **piece.conditionals})
                minimum, parameters = after(minimum, own), parameters + size
        objective = self._likelihood(task, model)
        if self.objective == JOINT and minimum.reason != INTERRUPTED:
            model, minimum = self._by_lbfgs(task, model, objective)
            parameters = objective.size
        objective(objective.pack({kind: own.weights for kind, own in model.conditionals.items()}))
        return replace(model, summary={"unsettled": objective.unsettled}), minimum, parameters

    def _tokens(self, task: LinkedTask) -> tuple[GraphModel, Learnt]:
        """Chains or, without these, single tokens, learnt as if there were no other edges."""
        rule = next(own.rule for own in task.relations.relations if own.rule.chain)
        classifier = self._classifier(self.learner if rule.bounded else MaxEnt)
        data = Dataset(task.rows, task.relations.corpus.sentences, task.labels)
        kind = rule.kinds[0]
        learnt = self._by_itself(task, kind, classifier, data)
        return replace(task.blank, conditionals={kind: Conditional(learnt.weights)}), learnt

    def _piece(
        self, task: LinkedTask, relation: Relation, beliefs: Floats
    ) -> tuple[GraphModel, Minimum, int]:
        """The pairs of one rule, each by itself, given what is believed of their tokens [N, L]."""
        kind, none = relation.rule.kinds[0], np.zeros(0, np.int32)
        ends = Ends(none, none)
        if self.agreement:
            ends = Ends.fit(task.rows, *relation.ends(along=True))
        weights = Weights.zeros(ends.n_features, 0, len(task.blank.labels))
        blank = replace(task.blank, conditionals={kind: Conditional(weights, ends)})
        objective = self._likelihood(task, blank, apart=beliefs)
        return *self._by_lbfgs(task, blank, objective, f"edges of kind {kind}"), objective.size

    def _likelihood(
        self, task: LinkedTask, model: GraphModel, *, apart: Floats | None = None
    ) -> PairwiseLikelihood:
        ends = {kind: own.ends for kind, own in model.conditionals.items()}
        return PairwiseLikelihood(
            Linked.of(task.rows, task.relations, ends),
            task.labels,
            len(model.labels),
            task.workers,
            l2=self.l2,
            observed=self.pairs != "all",
            single=self.single,
            sending=model.sending,
            apart=apart,
        )
