"""The linear scorer: potentials as sums of weights, and the gradient by the transposed sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Floats, Ints, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Potentials
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.kernels.gather import gather, transpose
from skipchain.parallel import Workers, blocks

Residuals = NDArray[np.float32] | Floats

GRADIENT_ENTRIES = 1 << 16  # index entries in one block of the transposed sums


@dataclass(frozen=True, slots=True)
class Weights:
    """The parameters of a chain as tables, indexed [prev, cur] where labels meet.

    ``edges`` weighs the features that go with a pair of labels; its prev has one value more, L,
    which stands for the place before the chain. So does the first index of ``triples``, the scores
    of three labels in a row; a model of order 1 has none.
    """

    state: Floats  # [F, L]
    transitions: Floats  # [L, L]
    start: Floats  # [L]
    end: Floats  # [L]
    edges: Floats  # [G, (L + 1) · L]
    triples: Floats  # [L + 1, L, L] or [0, L, L]

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.start)

    @property
    def order(self) -> int:
        """How many labels back a label depends on."""
        return 2 if len(self.triples) else 1

    @classmethod
    def zeros(cls, n_features: int, n_edge_features: int, n_labels: int, order: int = 1) -> Weights:
        """All weights zero."""
        shapes = weight_shapes(n_features, n_edge_features, n_labels, order)
        return cls(*(np.zeros(shape) for shape in shapes))

    @classmethod
    def views(
        cls,
        vector: NDArray[Any],
        n_features: int,
        n_edge_features: int,
        n_labels: int,
        order: int = 1,
    ) -> Weights:
        """Tables that share the memory of one vector with all weights, in the order of the fields.

        >>> Weights.views(np.arange(10.0), 1, 0, 2).transitions
        array([[2., 3.],
               [4., 5.]])
        """
        shapes = weight_shapes(n_features, n_edge_features, n_labels, order)
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        parts = np.split(vector[: ends[-1]], ends[:-1])
        return cls(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))

    @property
    def tables(self) -> tuple[Floats, ...]:
        """The tables, in order."""
        return (self.state, self.transitions, self.start, self.end, self.edges, self.triples)

    @property
    def vector(self) -> Floats:
        """All weights in one vector, in the order of the fields."""
        return np.concatenate([part.ravel() for part in self.tables])

    def copy(self) -> Weights:
        """The same weights in memory of their own."""
        return Weights(*(part.copy() for part in self.tables))

    @property
    def n_nonzero(self) -> int:
        """How many weights are not zero."""
        return sum(int(np.count_nonzero(part)) for part in self.tables)


def weight_shapes(
    n_features: int, n_edge_features: int, n_labels: int, order: int = 1
) -> tuple[tuple[int, ...], ...]:
    """The shapes of the tables of `Weights`; an order above 2 has those of 2."""
    return (
        (n_features, n_labels),
        (n_labels, n_labels),
        (n_labels,),
        (n_labels,),
        (n_edge_features, (n_labels + 1) * n_labels),
        (n_labels + 1 if order >= 2 else 0, n_labels, n_labels),
    )


def sum_bundles(rows: FeatureMatrix, state: Floats, workers: Workers) -> Floats:
    """The summed weight rows of every feature bundle. [U, L]"""
    bundles = rows.bundles
    sums = np.empty((bundles.n_rows, state.shape[1]), state.dtype)
    sum_rows(bundles, state, sums, workers)
    return sums


def block_potentials(
    data: Dataset, weights: Weights, bundle_sums: Floats, block: tuple[int, int]
) -> Potentials:
    """The potentials of the chains in one block; ``bundle_sums`` as from `sum_bundles`."""
    offsets = data.offsets[block[0] : block[1] + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    size = last - first
    labels = weights.n_labels
    tokens, edges = data.rows.tokens, data.rows.edges
    node = np.empty((size, labels))
    sum_block(tokens, first, weights.state, bundle_sums, node)
    edge = weights.transitions[None]
    pairs = np.empty((0, labels + 1, labels))
    if data.rows.n_edge_features:
        pairs = np.empty((size, labels + 1, labels))
        flat = pairs.reshape(size, (labels + 1) * labels)
        sum_block(edges, first, weights.edges, weights.edges[:0], flat)
        edge = pairs[:, :labels] + weights.transitions
    potentials = Potentials(node, edge, offsets - first, first)
    heads = potentials.heads()
    node[heads] += weights.start
    if len(pairs):
        node[heads] += pairs[heads, labels]
    node[potentials.tails()] += weights.end
    if data.candidates is not None:
        node[~data.candidates[potentials.tokens]] = -np.inf
    return potentials


class LinearScorer:
    """Carries a parameter vector to weight tables, and gradients in potentials back to a vector.

    The vector holds the weights in the order of the fields of `Weights`. With ``observed`` only the
    (feature, label) and (feature, label pair) weights that occur in the data are parameters, the
    others stay zero; without ``boundaries`` there are no start and end scores. ``further`` [K, L]
    says so of the last K features, which no token has: runs of labels have them. With
    ``single_precision`` scores are read from state weights in single precision, which takes half
    the time, and added up in double. ``before`` are the labels before those of the data, L where a
    chain begins, of chains that do not run as the data do.
    """

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        observed: bool,
        boundaries: bool,
        workers: Workers,
        order: int = 1,
        single_precision: bool = False,
        further: Bools | None = None,
        before: Labels | None = None,
    ) -> None:
        rows = data.rows
        self.rows = rows
        self.n_labels = n_labels
        self.order = order
        self.single_precision = single_precision
        self.boundaries = boundaries
        self._workers = workers
        self._by_row = transposed(rows.tokens, rows.n_features + rows.bundles.n_rows)
        self._by_bundle = transposed(rows.bundles, rows.n_features)
        self._by_edge = transposed(rows.edges, rows.n_edge_features)
        self._state = np.zeros(
            (rows.n_features, n_labels), np.float32 if single_precision else np.float64
        )
        self._gradient = np.empty((rows.n_features + rows.bundles.n_rows, n_labels))
        self._shapes = weight_shapes(rows.n_features, rows.n_edge_features, n_labels, order)
        shape = (rows.n_edge_features, (n_labels + 1) * n_labels)
        self._edges = np.zeros(shape)
        self._edge_gradient = np.empty(shape)
        self._state_support: Ints | None = None
        self._edge_support: Ints | None = None
        self._n_further = 0 if further is None else len(further)
        if observed:
            self._find_support(data, further, before)

    def _find_support(self, data: Dataset, further: Bools | None, before: Labels | None) -> None:
        """What occurs has a count, and counts are a gradient with gold labels as residuals.

        A token without a known label (−1) supports all its labels.
        """
        assert data.labels is not None
        size = self.n_labels
        gold = _allowed(data.labels, size)
        # without the features' values, which may cancel each other
        counts = self._sum_state(
            self._by_row.unweighted(), self._by_bundle.unweighted(), gold.astype(np.float64)
        )
        if further is not None:
            counts[len(counts) - len(further) :] = further
        self._state_support = np.flatnonzero(counts.ravel())
        if self.rows.n_edge_features:
            if before is None:
                before = np.roll(data.labels, 1)
                before[data.offsets[:-1][np.diff(data.offsets) > 0]] = size
            previous = _allowed(before, size + 1)
            previous[before < 0, size] = False
            pairs = previous[:, :, None] & gold[:, None, :]
            sum_rows(
                self._by_edge.unweighted(),
                pairs.reshape(data.n_tokens, (size + 1) * size).astype(np.float64),
                self._edge_gradient,
                self._workers,
            )
            self._edge_support = np.flatnonzero(self._edge_gradient.ravel())

    # The vector --------------------------------------------------------------------------------

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of parameters of each part."""
        state, transitions, start, end, edges, second = (int(np.prod(s)) for s in self._shapes)
        return (
            state if self._state_support is None else len(self._state_support),
            transitions,
            start if self.boundaries else 0,
            end if self.boundaries else 0,
            edges if self._edge_support is None else len(self._edge_support),
            second,
        )

    @property
    def size(self) -> int:
        """The length of the parameter vector."""
        return sum(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes held for indexes and tables."""
        indexes = (self._by_row, self._by_bundle, self._by_edge)
        held = sum(index.nbytes for index in indexes)
        return held + 2 * self._gradient.nbytes + 2 * self._edges.nbytes

    def weights(self, vector: Floats) -> Weights:
        """The weight tables of a parameter vector, in double precision and memory of their own."""
        state = np.zeros(self._state.shape)
        _fill(state, self._state_support, vector[: self.sizes[0]])
        return replace(self.unpack(vector).copy(), state=state)

    def unpack(self, vector: Floats) -> Weights:
        """The weight tables of a parameter vector; they share this scorer's memory."""
        cuts = np.cumsum(self.sizes)[:-1]
        state, transitions, start, end, edges, second = np.split(vector, cuts)
        labels = self.n_labels
        _fill(self._state, self._state_support, state)
        _fill(self._edges, self._edge_support, edges)
        nothing = np.zeros(labels)
        return Weights(
            self._state,
            transitions.reshape(labels, labels),
            start if self.boundaries else nothing,
            end if self.boundaries else nothing,
            self._edges,
            second.reshape(self._shapes[-1]),
        )

    def pack(self, weights: Weights) -> Floats:
        """The parameter vector of weight tables."""
        state, edges = weights.state.ravel(), weights.edges.ravel()
        bounds = [weights.start, weights.end] if self.boundaries else []
        return np.concatenate(
            [
                state if self._state_support is None else state[self._state_support],
                weights.transitions.ravel(),
                *bounds,
                edges if self._edge_support is None else edges[self._edge_support],
                weights.triples.ravel(),
            ]
        )

    # The gradient ------------------------------------------------------------------------------

    def gradient(
        self,
        node: Residuals,
        pairs: Floats,
        start: Floats,
        end: Floats,
        edges: Floats,
        second: Floats,
        further: Floats | None = None,
    ) -> Floats:
        """The gradient in the vector, from that in potentials.

        node [N, L]; pairs [L, L] and second [L + 1, L, L] or [0, L, L] summed over positions; start
        and end [L] summed over chains; edges [N, (L + 1) · L] where there are edge features;
        further [K, L] that of the last features, which no token has.
        """
        state = self._sum_state(self._by_row, self._by_bundle, node)
        if further is not None:
            state[len(state) - len(further) :] = further
        if self.rows.n_edge_features:
            sum_rows(self._by_edge, edges, self._edge_gradient, self._workers)
        return self.pack(Weights(state, pairs, start, end, self._edge_gradient, second))

    def curvature(self, node: Residuals, edges: Floats) -> Floats:
        """A rough diagonal of the Hessian, from the residuals of positions as in `gradient`.

        A residual p − 1 or p stands for a variance p · (1 − p), and a parameter's variances are
        summed. First and last labels take the whole sum of their label, pairs and triples share it.
        """
        spread = _variances(node)
        state = self._sum_state(self._by_row.squared(), self._by_bundle.squared(), spread)
        if self.rows.n_edge_features:
            sum_rows(self._by_edge.squared(), _variances(edges), self._edge_gradient, self._workers)
        whole = spread.sum(axis=0, dtype=np.float64)
        state[len(state) - self._n_further :] = whole / self.n_labels
        _, pairs, _, _, _, triples = self._shapes
        shared = whole / self.n_labels
        transitions, second = np.full(pairs, shared), np.full(triples, shared)
        return self.pack(Weights(state, transitions, whole, whole, self._edge_gradient, second))

    def _sum_state(self, by_row: CSRMatrix, by_bundle: CSRMatrix, node: Residuals) -> Floats:
        """The sums of features over rows, partly by way of their bundles. [F, L]"""
        return feature_sums(by_row, by_bundle, node, self._gradient, self._workers)


def feature_sums(
    by_row: CSRMatrix, by_bundle: CSRMatrix, residuals: Residuals, out: Floats, workers: Workers
) -> Floats:
    """The sums of residuals [N, W] over the rows of each feature, by transposed indexes. [F, W]

    ``out`` [F + U, W] takes the sums of features and of bundles first; then those of bundles are
    added to the features that they stand for.
    """
    features = by_bundle.n_rows
    sum_rows(by_row, residuals, out, workers)
    sum_rows(by_bundle, out[features:], out[:features], workers, add=True)
    return out[:features]


def sum_rows(
    index: CSRMatrix,
    source: Residuals,
    out: Floats,
    workers: Workers,
    *,
    more: Residuals | None = None,
    add: bool = False,
) -> None:
    """Write (or add) to each row of ``out`` the sum of the rows of ``source`` in its index.

    Entries beyond the last row of ``source`` are those of ``more``.
    """
    further = source[:0] if more is None else more
    workers.map(
        lambda b: gather(index.indptr, index.indices, index.values, source, further, out, *b, add),
        blocks(index.indptr, GRADIENT_ENTRIES),
    )


def sum_block(index: CSRMatrix, first: int, table: Residuals, more: Residuals, out: Floats) -> None:
    """Write the sums of `sum_rows` for the rows from ``first`` on that ``out`` has room for."""
    size = len(out)
    indptr = index.indptr[first : first + size + 1]
    gather(indptr, index.indices, index.values, table, more, out, 0, size, False)


def _fill(table: NDArray[Any], support: Ints | None, values: Floats) -> None:
    """Write values to the places of a table that are parameters, or to all."""
    table.reshape(-1)[slice(None) if support is None else support] = values


def _allowed(labels: Labels, size: int) -> Bools:
    """Which labels are those given, or all where one is not known (−1). [N, size]"""
    allowed = np.asarray(labels[:, None] == np.arange(size))
    allowed[labels < 0] = True
    return allowed


def _variances(residuals: Residuals) -> Residuals:
    """p · (1 − p) from residuals p − 1 or p, and 0 from what lies outside −1 … 1."""
    size = np.abs(residuals)
    return size * np.maximum(1.0 - size, 0.0)


def transposed(index: CSRMatrix, columns: int) -> CSRMatrix:
    """The transposed index."""
    return CSRMatrix(*transpose(index.indptr, index.indices, index.values, columns))
