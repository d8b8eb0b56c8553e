"""What a worker computes: losses, gradients and passes over its own data, in all parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints
from skipchain.chains.dataset import Dataset
from skipchain.chains.learn import ChainProblem, batch_objective
from skipchain.chains.likelihood import ChainObjective
from skipchain.chains.scorer import LinearScorer
from skipchain.cluster.features import FAMILIES, LocalFeatures
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.features.template import PAIR, STATE
from skipchain.parallel import Workers

STEPS, MARGINS = "steps", "margins"


@dataclass(frozen=True)
class ParameterLayout:
    """The vector of all parameters: how many there are of states and of edges, and of what form.

    With ``observed`` they are those that some data show.
    """

    observed: bool
    single_precision: bool
    n_labels: int
    state: int
    edges: int
    order: int
    boundaries: bool

    def widths(self) -> dict[str, int]:
        """How many weights a feature of each family has."""
        return widths_of(self.n_labels)

    def places(self, features: LocalFeatures) -> Ints:
        """Where the parameters of a worker's features lie in the vector, in its own order."""
        labels = self.n_labels
        fixed = labels * labels + 2 * labels * self.boundaries
        third = (labels + 1) * labels * labels * (self.order == 2)
        end = self.state + fixed + self.edges
        return np.concatenate(
            [
                self._of_family(features, STATE),
                self.state + np.arange(fixed),
                self.state + fixed + self._of_family(features, PAIR),
                end + np.arange(third),
            ]
        )

    def support(self, features: LocalFeatures) -> tuple[Ints, Ints | None] | None:
        """Which weights of a worker's features are parameters; None: all."""
        if not self.observed:
            return None
        pairs = features.placed.get(PAIR)
        return features.placed[STATE][0], None if pairs is None else pairs[0]

    def _of_family(self, features: LocalFeatures, family: str) -> Ints:
        if self.observed:
            found = features.placed.get(family)
            return np.zeros(0, np.int64) if found is None else found[1]
        width = self.widths()[family]
        return (features.numbers(family)[:, None] * width + np.arange(width)).ravel()


def widths_of(n_labels: int) -> dict[str, int]:
    """How many weights a feature of each family has."""
    return dict(zip(FAMILIES, (n_labels, (n_labels + 1) * n_labels), strict=True))


def packer(
    n_features: int,
    n_edge_features: int,
    layout: ParameterLayout,
    support: tuple[Ints, Ints | None] | None,
) -> LinearScorer:
    """A scorer of no token, for what it knows of vectors and tables of weights."""
    empty = CSRMatrix.empty(0)
    rows = FeatureMatrix(empty, CSRMatrix.empty(0), empty, n_features, n_edge_features)
    return LinearScorer(
        Dataset(rows, np.zeros(1, np.int64)),
        layout.n_labels,
        observed=False,
        boundaries=layout.boundaries,
        workers=Workers(1),
        order=layout.order,
        single_precision=layout.single_precision,
        support=support,
    )


class LocalLearning:
    """The learning of one worker; vectors are those of all parameters."""

    def __init__(
        self,
        problem: ChainProblem,
        layout: ParameterLayout,
        features: LocalFeatures,
        workers: Workers,
    ) -> None:
        self.layout = layout
        self._problem = replace(problem, l2=0.0)
        self._workers = workers
        self._places = layout.places(features)
        self._support = layout.support(features)
        self._objective: ChainObjective | None = None
        self._learner: Any = None
        self._tables: LinearScorer | None = None

    def evaluate(self, vector: Floats) -> tuple[float, Floats]:
        """The loss without a penalty, and its gradient."""
        if self._objective is None:
            self._learner = self._tables = None
            self._objective = batch_objective(
                self._problem,
                self._workers,
                observed=False,
                single_precision=self.layout.single_precision,
                support=self._support,
            )
        loss, gradient = self._objective(vector[self._places])
        return loss, self._spread_out(gradient, len(vector))

    def spread(self) -> Floats:
        """The share of the data in the curvature, where `evaluate` was called last."""
        assert self._objective is not None
        return self._spread_out(self._objective.spread(), self.layout_size)

    def holds(self) -> Floats:
        """One for each parameter that these data have a part in."""
        return self._spread_out(np.ones(len(self._places)), self.layout_size)

    def pass_over(
        self, number: int, how: Mapping[str, Any], kind: str, vector: NDArray[np.floating]
    ) -> tuple[float, list[Floats]]:
        """One pass of a learner from a vector; how far it has moved, and its average if it has one.

        ``how`` has the settings of the learner, the number of all ``sequences``, which share the
        penalty, and what holds for this pass: ``pass`` and ``rate``.
        """
        settings = {k: v for k, v in how.items() if k not in ("pass", "rate", "sequences")}
        if "l2" in settings:
            settings["l2"] *= self._problem.n_sequences / how["sequences"]
        learner, tables = self._begun(kind, settings)
        before = vector[self._places].astype(np.float64)
        seed = (self._problem.seed, how["pass"], number)
        learner.restart(tables.weights(before).vector, seed)
        loss = learner.epoch() if kind == MARGINS else learner.epoch(how["rate"])
        ends = [learner.last(), learner.vector()] if kind == MARGINS else [learner.vector()]
        packed = (tables.pack(learner.weights(end.astype(np.float64))) for end in ends)
        return loss, [self._spread_out(own - before, len(vector)) for own in packed]

    def _begun(self, kind: str, settings: Mapping[str, Any]) -> tuple[Any, LinearScorer]:
        """The learner, made when it is first asked for, and what packs its weights."""
        problem = self._problem
        if self._tables is None:
            rows = problem.data.rows
            sizes = rows.n_features, rows.n_edge_features
            self._tables = packer(*sizes, self.layout, self._support)
            if kind == MARGINS:
                self._learner = problem.margins(**settings)
            else:
                support = None
                if self._support is not None:
                    support = np.zeros((rows.n_features, problem.n_labels), np.uint8)
                    support.reshape(-1)[self._support[0]] = 1
                self._learner = problem.stochastic(self._workers, support=support, **settings)
        return self._learner, self._tables

    @property
    def layout_size(self) -> int:
        """The number of all parameters."""
        layout, labels = self.layout, self.layout.n_labels
        fixed = labels * labels + 2 * labels * layout.boundaries
        return layout.state + fixed + layout.edges + (labels + 1) * labels**2 * (layout.order == 2)

    def _spread_out(self, values: Floats, size: int) -> Floats:
        """Values of this worker's parameters among those of all, the others zero."""
        out = np.zeros(size)
        out[self._places] = values
        return out
