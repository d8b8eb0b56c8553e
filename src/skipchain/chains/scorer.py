"""The linear scorer: potentials as sums of weights, and the gradient by the transposed sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Bools, Floats, Ints, Labels, Room, parts_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_disk.token_sums import TokenSums, observed_pairs
from skipchain.chains.potentials import Potentials
from skipchain.chains.sums import FeatureSums, Residuals, sum_block, sum_rows, transposed
from skipchain.learn.vectors import map_blocks
from skipchain.parallel import Workers


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


def block_potentials(
    data: Dataset,
    weights: Weights,
    bundle_sums: Floats,
    block: tuple[int, int],
    sums: Floats | None = None,
) -> Potentials:
    """The potentials of the chains in one block; ``bundle_sums`` as from `sum_bundles`.

    ``sums`` [N, L] are those of the weights of state features, where they have been added up.
    """
    offsets = data.offsets[block[0] : block[1] + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    size = last - first
    labels = weights.n_labels
    tokens, edges = data.rows.tokens, data.rows.edges
    if sums is None:
        node = np.empty((size, labels))
        sum_block(tokens, first, weights.state, bundle_sums, node)
    else:
        node = sums[first:last].copy()
    edge, pairs = weights.transitions[None], None
    if data.rows.n_edge_features:
        pairs = np.empty((size, labels + 1, labels))
        flat = pairs.reshape(size, (labels + 1) * labels)
        sum_block(edges, first, weights.edges, weights.edges[:0], flat)
        edge = pairs[:, :labels] + weights.transitions
    potentials = Potentials(node, edge, offsets - first, first)
    heads = potentials.heads()
    node[heads] += weights.start
    if pairs is not None:
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
    begins, of chains that do not run as the data do. Tables and indexes are made in ``room``.
    ``support`` says which weights are parameters where these data alone do not: places in the
    tables of states and of edges (or None).
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
        room: Room = IN_MEMORY,
        support: tuple[Ints, Ints | None] | None = None,
    ) -> None:
        rows = data.rows
        self.rows = rows
        self.room = room
        self.n_labels = n_labels
        self.order = order
        self.single_precision = single_precision
        self.boundaries = boundaries
        self._workers = workers
        # see `chains.from_disk.token_sums`: what is not in memory must not be gone to all over
        by_token = room is not IN_MEMORY and observed and further is None
        self._sums = None if by_token else FeatureSums.of(rows, room)
        self._by_token: TokenSums | None = None
        self._begun: Floats = np.zeros(0)
        self._by_edge = transposed(rows.edges, rows.n_edge_features, room)
        precision: Any = np.float32 if single_precision else np.float64
        self._state = room.table((rows.n_features, n_labels), precision)
        self._shapes = weight_shapes(rows.n_features, rows.n_edge_features, n_labels, order)
        shape = (rows.n_edge_features, (n_labels + 1) * n_labels)
        self._edges = np.zeros(shape)
        self._edge_gradient = np.empty(shape)
        self._state_support: Ints | None = None
        self._edge_support: Ints | None = None
        self._n_further = 0 if further is None else len(further)
        if support is not None:
            self._state_support, self._edge_support = support
        elif observed:
            self._find_support(data, further, before)

    def _find_support(self, data: Dataset, further: Bools | None, before: Labels | None) -> None:
        """What occurs has a count, and counts are a gradient with gold labels as residuals.

        A token without a known label (−1) supports all its labels.
        """
        assert data.labels is not None
        size = self.n_labels
        if self._sums is None:
            support = observed_pairs(self.rows, data.labels, size, self.room)
            own = self.rows, support, size, self._workers, self.room
            self._by_token = TokenSums(*own)
        else:
            gold = self.room.empty((data.n_tokens, size), self._state.dtype)
            for part in parts_of(gold):
                gold[part] = _allowed(data.labels[part], size)
            # without the features' values, which may cancel each other
            support = self._sums.unweighted().support(gold, self._workers)
        if further is not None:  # which no token has
            first = self._state.size - further.size
            support = np.concatenate([support, first + np.flatnonzero(further)])
        self._state_support = support
        if self.rows.n_edge_features:
            if before is None:
                before = np.roll(data.labels, 1)
                before[data.offsets[:-1][np.diff(data.offsets) > 0]] = size
            previous = _allowed(before, size + 1)
            previous[before < 0, size] = False
            pairs = self.room.empty((data.n_tokens, (size + 1) * size), np.float64)
            for part in parts_of(pairs):
                both = previous[part, :, None] & _allowed(data.labels[part], size)[:, None, :]
                pairs[part] = both.reshape(-1, (size + 1) * size)
            by_edge = self._by_edge.unweighted()
            sum_rows(by_edge, pairs, self._edge_gradient, self._workers)
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
        supports = (self._state_support, self._edge_support)
        held = sum(support.nbytes for support in supports if support is not None)
        held += self._by_edge.nbytes + self._state.nbytes
        held += 0 if self._sums is None else self._sums.nbytes
        return held + 2 * self._edges.nbytes

    def weights(self, vector: Floats) -> Weights:
        """The weight tables of a parameter vector, in double precision and memory of their own."""
        state = self.room.zeros(self._state.shape, np.float64)
        _fill(state, self._state_support, vector[: self.sizes[0]], self._workers)
        others = [table.copy() for table in self.unpack(vector).tables[1:]]
        return Weights(state, *others)

    def unpack(self, vector: Floats) -> Weights:
        """The weight tables of a parameter vector; they share this scorer's memory."""
        cuts = np.cumsum(self.sizes)[:-1]
        state, transitions, start, end, edges, second = np.split(vector, cuts)
        labels = self.n_labels
        _fill(self._state, self._state_support, state, self._workers)
        _fill(self._edges, self._edge_support, edges, self._workers)
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
        vector = np.empty(self.size)
        state = weights.state.ravel()
        support = self._state_support
        vector[: self.sizes[0]] = state if support is None else state[support]
        self._fill_tail(vector, *weights.tables[1:])
        return vector

    def _fill_tail(
        self,
        vector: Floats,
        transitions: Floats,
        start: Floats,
        end: Floats,
        edges: Floats,
        triples: Floats,
    ) -> None:
        """Write what comes behind the parameters of features."""
        edges = edges.ravel()
        bounds = [start, end] if self.boundaries else []
        if self._edge_support is not None:
            edges = edges[self._edge_support]
        np.concatenate(
            [transitions.ravel(), *bounds, edges, triples.ravel()], out=vector[self.sizes[0] :]
        )

    # The gradient ------------------------------------------------------------------------------

    @property
    def by_token(self) -> bool:
        """Whether residuals are added run by run of tokens, by `begin` and `add`."""
        return self._by_token is not None

    def begin(self) -> None:
        """Begin to add residuals, or variances, of all tokens."""
        assert self._by_token is not None
        self._begun = np.empty(self.size)
        self._by_token.begin(self._begun[: self.sizes[0]])

    def add(self, first: int, node: Residuals, *, squared: bool = False) -> None:
        """Add those of the tokens from ``first`` on, with ``squared`` by squares of values."""
        assert self._by_token is not None
        self._by_token.add(first, node, squared=squared)

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
        further [K, L] that of the last features, which no token has. Where residuals were added
        before, ``node`` is not looked at.
        """
        if self._sums is None:
            vector = self._added()
        else:
            vector = np.empty(self.size)
            self._fill_state(vector, self._sums, node, further)
        if self.rows.n_edge_features:
            sum_rows(self._by_edge, edges, self._edge_gradient, self._workers)
        self._fill_tail(vector, pairs, start, end, self._edge_gradient, second)
        return vector

    def curvature(self, node: Residuals, edges: Floats) -> Floats:
        """A rough diagonal of the Hessian, from the residuals of positions as in `gradient`.

        A residual p − 1 or p stands for a variance p · (1 − p), and a parameter's variances are
        summed. First and last labels take the whole sum of their label, pairs and triples share it.
        """
        assert self._sums is not None
        spread = variances(node)
        whole = spread.sum(axis=0, dtype=np.float64)
        further = np.tile(whole / self.n_labels, (self._n_further, 1))
        vector = np.empty(self.size)
        self._fill_state(vector, self._sums.squared(), spread, further)
        return self._with_curvature(vector, whole, edges)

    def added_curvature(self, whole: Floats, edges: Floats) -> Floats:
        """The same, where variances were added before, whose sum by label is ``whole``. [L]"""
        return self._with_curvature(self._added(squared=True), whole, edges)

    def _added(self, *, squared: bool = False) -> Floats:
        assert self._by_token is not None
        self._by_token.finish(squared=squared)
        vector, self._begun = self._begun, np.zeros(0)
        return vector

    def _with_curvature(self, vector: Floats, whole: Floats, edges: Floats) -> Floats:
        """The vector with what comes behind the parameters of features."""
        if self.rows.n_edge_features:
            sum_rows(self._by_edge.squared(), variances(edges), self._edge_gradient, self._workers)
        _, pairs, _, _, _, triples = self._shapes
        shared = whole / self.n_labels
        transitions, second = np.full(pairs, shared), np.full(triples, shared)
        self._fill_tail(vector, transitions, whole, whole, self._edge_gradient, second)
        return vector

    def _fill_state(
        self, vector: Floats, sums: FeatureSums, node: Residuals, further: Floats | None
    ) -> None:
        """Write the sums of residuals for the parameters of features; ``further`` [K, L]: as is."""
        support, state = self._state_support, vector[: self.sizes[0]]
        sums.at(support, node, self._workers, state)
        if further is not None and further.size:
            first = self._state.size - further.size
            if support is None:
                state[first:] = further.ravel()
            else:
                place = int(np.searchsorted(support, first))
                state[place:] = further.ravel()[support[place:] - first]


def _fill(table: NDArray[Any], support: Ints | None, values: Floats, workers: Workers) -> None:
    """Write values to the places of a table that are parameters, or to all."""
    flat = table.reshape(-1)

    def fill(first: int, last: int) -> None:
        flat[slice(first, last) if support is None else support[first:last]] = values[first:last]

    map_blocks(fill, len(values), workers)


def _allowed(labels: Labels, size: int) -> Bools:
    """Which labels are those given, or all where one is not known (−1). [N, size]"""
    allowed = np.asarray(labels[:, None] == np.arange(size))
    allowed[labels < 0] = True
    return allowed


def variances(residuals: Residuals) -> Residuals:
    """p · (1 − p) from residuals p − 1 or p, and 0 from what lies outside −1 … 1."""
    size = np.abs(residuals)
    rest = 1.0 - size
    np.maximum(rest, 0.0, out=rest)
    rest *= size
    return rest
