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
from skipchain.learn.step import INTERRUPTED, Minimum
from skipchain.models.chain.estimator import Learnt
from skipchain.models.chain.loglinear import LBFGS, MEMORY
from skipchain.models.chain.maxent import MaxEnt
from skipchain.models.chain.memm import MEMM
from skipchain.models.graph.dataset import Linked
from skipchain.models.graph.edge_features import Ends
from skipchain.models.graph.edges import Conditional
from skipchain.models.graph.estimator import EDGES, LinkedEstimator, LinkedTask, after
from skipchain.models.graph.gate import Gate
from skipchain.models.graph.gate_likelihood import GateObjective
from skipchain.models.graph.mixture_likelihood import MARGINAL, MIXED, SEPARATE, MixtureObjective
from skipchain.models.graph.model import GraphModel

OBJECTIVES = (SEPARATE, MIXED, MARGINAL)
UNIFORM, LEARNED = "uniform", "learned"
GATE_L2 = 1.0  # keeps the few weights of a gate small where edges are few
JOINT_ORDERINGS = 10  # random orderings that joint training goes through at most


class MoPMEMM(LinkedEstimator):
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
    learner = MEMM
    separate = SEPARATE

    def __init__(
        self,
        features: str | Path | Templates = "ner",
        *,
        edges: str | Sequence[Any] = EDGES,
        orderings: str | Sequence[str | Ordering] = "forward, backward",
        encoding: str | None = "bioes",
        mixing: str = UNIFORM,
        folds: int = 3,
        objective: str = SEPARATE,
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

    def _learn(self, task: LinkedTask) -> tuple[GraphModel, Minimum, int]:
        if self.mixing == LEARNED:
            self._dealt(task)
        linked = Linked(task.rows, task.relations)
        kinds = self._kinds(task)
        found: dict[str, Conditional] = {}
        minimum, parameters = Minimum(np.zeros(0), 0.0, 0, 0, ""), 0
        for kind in kinds:
            found[kind], learnt = self._separate(task, linked, kind)
            parameters += learnt.parameters
            minimum = after(minimum, learnt.minimum)
            if minimum.reason == INTERRUPTED:
                return _reduced(task, found), minimum, parameters
        model = replace(task.blank, conditionals=found)
        if self.objective != SEPARATE:
            model, minimum, parameters = self._jointly(task, model)
        if self.mixing == LEARNED and minimum.reason != INTERRUPTED:
            if task.progress is not None and self.objective != SEPARATE:
                task.progress.end(minimum)
            gate = self._gate(task, kinds)
            if gate is None:
                return model, replace(minimum, reason=INTERRUPTED), parameters
            model = replace(model, gate=gate)
            parameters += sum(map(len, gate.weights.values()))
        return model, minimum, parameters

    def _kinds(self, task: LinkedTask) -> list[str]:
        """The kinds of edges that the orderings meet in the training data, chains first."""
        met: set[int] = set()
        for ordering in self._orderings():
            met |= set(np.unique(task.relations.dag(ordering).kinds).tolist())
        chains = [k for k in sorted(met) if task.relations.relations[k // 2].rule.chain]
        return [task.relations.kinds[kind] for kind in [*chains, *sorted(met - set(chains))]]

    def _separate(
        self, task: LinkedTask, linked: Linked, kind: str, note: str = ""
    ) -> tuple[Conditional, Learnt]:
        """One kind of edge, with the known labels of the parents as features of the edges."""
        relation, along = linked.of_kind(kind)
        size = len(task.blank.labels)
        ends, classifier = None, self._classifier(self.learner if relation.rule.bounded else MaxEnt)
        if relation.rule.chain:
            data = Dataset(task.rows, linked.offsets, task.labels)
            if not along and relation.rule.bounded:
                data = data.reversed()
        else:
            child, parent = relation.ends(along=along)
            ends = Ends.fit(task.rows, child, parent)
            own = ends.rows(task.rows, child, parent)
            rows = own.with_features(task.labels[parent][:, None], size)
            data = Dataset(rows, np.arange(len(child) + 1), task.labels[child])
            # a token's features are one unit: none of them is to be left out as a whole
            classifier.set_params(unit_dropout=0.0)
            if classifier._asked is None:
                classifier.set_params(optimiser=LBFGS)
        learnt = self._by_itself(task, kind, classifier, data, note)
        weights = learnt.weights
        if ends is not None:
            cut = ends.n_features
            weights = replace(weights, state=weights.state[:cut], transitions=weights.state[cut:])
        return Conditional(weights, ends), learnt

    def _dealt(self, task: LinkedTask) -> Ints:
        """The part that each document belongs to for a gate; empty ones are in the first. [D]"""
        filled = np.flatnonzero(np.diff(task.relations.documents))
        folds = min(self.folds, len(filled))
        if folds < 2:
            raise ParameterError(
                "mixing='learned' needs at least 2 folds and 2 documents, so that some can be held "
                f"out; got folds={self.folds} and {len(filled)} documents"
            )
        fold = np.zeros(task.relations.corpus.n_documents, np.int64)
        fold[filled] = np.arange(len(filled)) % folds
        return fold

    def _gate(self, task: LinkedTask, kinds: Sequence[str]) -> Gate | None:
        """Mixing weights that do well on documents which the edges' models have not seen.

        None where learning was interrupted.
        """
        fold = self._dealt(task)
        folds = int(fold.max()) + 1
        sets = []
        for number in range(folds):
            rest, held = task.part(fold != number), task.part(fold == number)
            rest = replace(rest, progress=task.progress)
            note = f", without part {number + 1} of {folds}, for the mixing weights"
            linked = Linked(rest.rows, rest.relations)
            found = {}
            for kind in (kind for kind in kinds if linked.n_rows(kind)):
                found[kind], learnt = self._separate(rest, linked, kind, note)
                if learnt.minimum.reason == INTERRUPTED:
                    return None
            model = replace(task.blank, conditionals=found)
            ends = {kind: own.ends for kind, own in found.items()}
            held_out = Linked.of(held.rows, held.relations, ends)
            sets.append((model.edge_scores(held_out, task.workers), held.labels))
        orderings = _few(self._orderings())
        objective = GateObjective(sets, orderings, kinds, task.workers, l2=GATE_L2)
        minimum = minimize(
            objective,
            np.zeros(objective.size),
            memory=MEMORY,
            max_iterations=100,
            tolerance=1e-5,
            period=5,
        )
        return Gate(objective.weights(minimum.vector))

    def _jointly(self, task: LinkedTask, model: GraphModel) -> tuple[GraphModel, Minimum, int]:
        """All kinds of edges together, beginning with what each has learnt by itself."""
        ends = {kind: own.ends for kind, own in model.conditionals.items()}
        linked = Linked.of(task.rows, task.relations, ends)
        orderings = _few(self._orderings())
        shares = [1.0 / sum(o.backward == own.backward for o in orderings) for own in orderings]
        objective = MixtureObjective(
            linked,
            task.labels,
            len(model.labels),
            linked.dags(orderings),
            task.workers,
            loss=self.objective,
            l2=self.l2,
            observed=self.pairs != "all",
            shares=shares,
            single=self.single,
        )
        return *self._by_lbfgs(task, model, objective), objective.size


def _reduced(task: LinkedTask, found: Mapping[str, Conditional]) -> GraphModel:
    """A model of the kinds of edges learnt so far, with the orderings that can do with them."""
    orderings = [
        ordering
        for ordering in task.blank.orderings
        if (np.diff(task.relations.dag(ordering, found).indptr) > 0).all()
    ]
    if not orderings:
        raise KeyboardInterrupt
    return replace(task.blank, conditionals=dict(found), orderings=tuple(orderings))


def _few(orderings: Sequence[Ordering]) -> list[Ordering]:
    """All orderings but no more than ten random ones: each costs a pass."""
    random = [own for own in orderings if own.way == RANDOM]
    return [own for own in orderings if own.way != RANDOM] + random[:JOINT_ORDERINGS]
