"""Learners that change the weights after every chain: stochastic likelihood, margin updates."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints, offsets_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints, barrier
from skipchain.chains.scorer import Weights, weight_shapes
from skipchain.features.matrix import Rows
from skipchain.kernels import margin_updates as margins
from skipchain.kernels import sgd as online
from skipchain.kernels.sgd import Barriers, Features, Tables

Floats32 = NDArray[np.float32]

UPDATES = {
    "perceptron": margins.PERCEPTRON,
    "pa": margins.PASSIVE_AGGRESSIVE,
    "arow": margins.CONFIDENCE,
}


class OnlineLearner:
    """Weights in one vector of single precision, and the data in a seeded order."""

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        boundaries: bool,
        constraints: Constraints | None,
        order: int,
        seed: int,
        first: Weights | None,
    ) -> None:
        assert data.labels is not None
        rows = data.rows
        self._data = data
        self._labels = data.labels
        self._sizes = (rows.n_features, rows.n_edge_features, n_labels, order)
        size = sum(math.prod(shape) for shape in weight_shapes(*self._sizes))
        self._vector: Floats32 = np.zeros(size, np.float32)
        if first is not None:
            self._vector[:] = first.vector
        self._features = kernel_features(rows)
        self._barriers = kernel_barriers(constraints, n_labels)
        self._candidates = np.zeros((0, n_labels), np.bool_)
        if data.candidates is not None:
            self._candidates = data.candidates
        self._boundaries = boundaries
        self._random = np.random.default_rng(seed)
        self._room = entries_of_longest(data)

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self._vector)

    def weights(self, vector: Floats) -> Weights:
        """The tables of a vector."""
        return Weights.views(vector, *self._sizes)

    def _tables(self, vector: Floats32) -> Tables:
        return Tables(*Weights.views(vector, *self._sizes).parts)

    def _order(self) -> Ints:
        return self._random.permutation(len(self._data.offsets) - 1)


class StochasticLikelihood(OnlineLearner):
    """Steps down the conditional likelihood of one chain after the other.

    ``dropout`` is the share of features left out of each step; ``unit_dropout`` that of the tokens'
    words (or other column values) left out with all that follows from them. l2 is shared out over
    the chains. With ``adaptive`` every weight has its own, falling rate (AdaGrad).
    """

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        observed: bool = False,
        boundaries: bool = True,
        constraints: Constraints | None = None,
        order: int = 1,
        local: bool = False,
        l2: float = 0.0,
        dropout: float = 0.0,
        unit_dropout: float = 0.0,
        adaptive: bool = False,
        seed: int = 0,
        first: Weights | None = None,
    ) -> None:
        super().__init__(
            data,
            n_labels,
            boundaries=boundaries,
            constraints=constraints,
            order=order,
            seed=seed,
            first=first,
        )
        self._local = local
        self._shrink = 2.0 * l2 / max(1, len(data.offsets) - 1)
        self._keep = (1.0 - dropout, 1.0 - unit_dropout)
        sizes = self._sizes if adaptive else (0, 0, n_labels, 1)
        squares = Weights.zeros(*sizes).vector.astype(np.float32)
        self._squares = Tables(*Weights.views(squares, *sizes).parts)
        shape = (data.rows.n_features if observed else 0, n_labels)
        self._support = np.zeros(shape, np.uint8)
        if observed:
            flat = data.rows.flat()
            labels = self._labels[flat.owners]
            self._support[flat.indices[labels >= 0], labels[labels >= 0]] = 1
            self._support[flat.indices[labels < 0]] = 1

    @property
    def nbytes(self) -> int:
        """Bytes held, an average of the weights and a copy of it included."""
        held = self._vector.nbytes + self._support.nbytes
        held += sum(table.nbytes for table in self._squares)
        return held + 2 * 8 * self.size

    def vector(self) -> Floats32:
        """The weights as they are."""
        return self._vector

    def epoch(self, rate: float) -> float:
        """One pass over all chains; returns the loss met on the way."""
        labels = self._sizes[2]
        allowed = self._data.allowed
        if allowed is None:
            allowed = np.zeros((0, labels), np.bool_)
        random = self._random.integers(1, 1 << 63, 1, np.uint64)
        loss = online.likelihood_epoch(
            self._features,
            self._tables(self._vector),
            self._squares,
            self._support,
            self._barriers,
            self._candidates,
            self._data.offsets,
            self._order(),
            self._labels,
            allowed,
            self._local,
            self._boundaries,
            rate,
            self._shrink,
            self._keep,
            random,
            self._room,
        )
        return float(loss)


class MarginUpdates(OnlineLearner):
    """Perceptron, passive-aggressive and AROW updates, averaged over all chains seen."""

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        update: str = "perceptron",
        limit: float = 1.0,
        boundaries: bool = True,
        constraints: Constraints | None = None,
        order: int = 1,
        seed: int = 0,
        first: Weights | None = None,
    ) -> None:
        super().__init__(
            data,
            n_labels,
            boundaries=boundaries,
            constraints=constraints,
            order=order,
            seed=seed,
            first=first,
        )
        # units save memory, but looking each up takes twice the time
        self._features = kernel_features(data.rows, flat=True)
        self._update = UPDATES[update]
        self._limit = limit
        self._seen = 0
        confident = self._update == margins.CONFIDENCE
        merged = self._update != margins.PERCEPTRON
        self._total = np.zeros(self.size)
        self._spread = np.ones(self.size if confident else 0, np.float32)
        self._scratch = np.zeros(self.size if merged else 0, np.float32)
        ends = np.cumsum([part.size for part in Weights.views(self._vector, *self._sizes).parts])
        self._fixed = (0, 0) if boundaries else (int(ends[1]), int(ends[3]))

    @property
    def nbytes(self) -> int:
        """Bytes held, an average of the weights and a copy of it included."""
        own = (self._vector, self._total, self._spread, self._scratch)
        return sum(part.nbytes for part in own) + 2 * 8 * self.size

    def vector(self) -> Floats:
        """The average of the weights over all chains seen."""
        average: Floats = self._vector - self._total / max(1, self._seen)
        return average

    def epoch(self) -> float:
        """One pass over all chains; returns how many were wrong."""
        seen = self._seen
        self._seen += len(self._data.offsets) - 1  # first, lest an interrupt leave it behind
        mistakes = margins.margin_epoch(
            self._features,
            self._tables(self._vector),
            self._vector,
            self._total,
            self._spread,
            self._scratch,
            self._fixed,
            self._barriers,
            self._candidates,
            self._data.offsets,
            self._order(),
            self._labels,
            self._update,
            self._limit,
            seen,
            self._room,
        )
        return float(mistakes)


def falling(rate: float, decay: float) -> Callable[[float], float]:
    """A learning rate that falls as rate / (1 + decay · done), with done from 0 to 1.

    >>> falling(0.6, 2.0)(0.5)
    0.3
    """
    return lambda done: rate / (1.0 + decay * done)


def kernel_features(rows: Rows, *, flat: bool = False) -> Features:
    """The indexes of all features, as the kernels take them; ``flat`` without units."""
    tokens, units, edges = rows.flat() if flat else rows.tokens, rows.units, rows.edges
    return Features(
        tokens.indptr,
        tokens.indices,
        tokens.values,
        units.indptr,
        units.indices,
        units.values,
        edges.indptr,
        edges.indices,
        edges.values,
    )


def kernel_barriers(constraints: Constraints | None, n_labels: int) -> Barriers:
    """What is forbidden, as the kernels take it."""
    if constraints is None:
        return Barriers(np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels))
    return Barriers(*(barrier(p) for p in (constraints.pairs, constraints.start, constraints.end)))


def entries_of_longest(data: Dataset) -> int:
    """The most (token, feature) pairs that one chain has, units written out."""
    rows = data.rows
    part = rows.tokens
    sizes = np.ones(len(part.indices), np.int64)
    units = part.indices >= rows.n_features
    sizes[units] = np.diff(rows.units.indptr)[part.indices[units] - rows.n_features]
    ends = offsets_of(sizes)
    own = np.diff(ends[part.indptr[data.offsets]]) + np.diff(rows.edges.indptr[data.offsets])
    return int(own.max(initial=1))
