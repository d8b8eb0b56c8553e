"""Learners that change the weights after every chain: stochastic likelihood, margin updates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import IN_MEMORY, Arrays, Floats, Ints, Room, offsets_of
from skipchain.chains.dataset import Dataset
from skipchain.chains.from_disk.token_sums import label_support
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import Weights, weight_shapes
from skipchain.features.matrix import CSRMatrix, FeatureMatrix
from skipchain.kernels import sgd as online
from skipchain.kernels.kept_features import FeatureIndex, KeptFeatures, draw_chains
from skipchain.kernels.sgd import LogMasks, WeightTables
from skipchain.learn.epochs import run_epochs
from skipchain.learn.saved_state import SavedState, Trail
from skipchain.learn.step import OptimisationResult, Step
from skipchain.parallel import Workers, blocks

Floats32 = NDArray[np.float32]

PASSES = 8  # far from the optimum, where a step of L-BFGS gains less
FEWEST_SEQUENCES = 2000  # fewer make so few steps that they lead hardly anywhere
PASS_RATE, PASS_DECAY = 0.1, 2.0
PART_TOKENS = 1 << 16  # that are counted at once
DRAWN = 1 << 19  # features of chains that are listed at a time


class OnlineLearner:
    """Weights in one vector of single precision, and the data in a seeded order.

    What is large is made in ``room``.
    """

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        boundaries: bool = True,
        constraints: Constraints | None = None,
        order: int = 1,
        seed: int = 0,
        initial_weights: Weights | None = None,
        room: Room = IN_MEMORY,
    ) -> None:
        assert data.labels is not None
        rows = data.rows
        self.room = room
        self._data = data
        self._labels = data.labels
        self._sizes = (rows.n_features, rows.n_edge_features, n_labels, order)
        size = sum(math.prod(shape) for shape in weight_shapes(*self._sizes))
        self._vector: Floats32 = room.table((size,), np.float32)
        if initial_weights is not None:
            self._vector[:] = initial_weights.vector
        self._features = kernel_features(rows)
        self._masks = kernel_masks(constraints, n_labels)
        self._candidates = np.zeros((0, n_labels), np.bool_)
        if data.candidates is not None:
            self._candidates = data.candidates
        self._boundaries = boundaries
        self._random = np.random.default_rng(seed)

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self._vector)

    def weights(self, vector: Floats) -> Weights:
        """The tables of a vector."""
        return Weights.views(vector, *self._sizes)

    def restart(self, vector: NDArray[np.floating], seed: Sequence[int]) -> None:
        """Go on from other weights, with random numbers of another seed."""
        self._vector[:] = vector
        self._random = np.random.default_rng(seed)

    def state(self) -> SavedState:
        """The weights, what else changes from chain to chain, and the random numbers to come."""
        return SavedState(random_state(self._random), self._changing)

    def restore(self, saved: SavedState) -> None:
        """Be again as when this state was taken."""
        for name, array in self._changing.items():
            array[:] = saved.array(name, array.dtype, len(array))
        restore_random(self._random, saved)

    @property
    def _changing(self) -> Arrays:
        """The vectors that steps change."""
        return {"weights": self._vector}

    def _tables(self, vector: Floats32) -> WeightTables:
        return WeightTables(*Weights.views(vector, *self._sizes).tables)

    def _order(self) -> Ints:
        return self._random.permutation(len(self._data.offsets) - 1)


class StochasticLikelihood(OnlineLearner):
    """Steps down the conditional likelihood of one chain after the other.

    ``dropout`` is the share of features left out of each step; ``bundle_dropout`` that of tokens'
    words (or other column values) left out with all that follows from them. l2 is shared out over
    the chains. With ``adaptive`` every weight has its own, falling rate (AdaGrad). ``support``
    [F, L] says which pairs are ``observed`` where these data alone do not. Of two ``workers`` one
    lists features while the other takes steps. Other arguments are those of `OnlineLearner`.
    """

    def __init__(
        self,
        data: Dataset,
        n_labels: int,
        *,
        observed: bool = False,
        local: bool = False,
        l2: float = 0.0,
        dropout: float = 0.0,
        bundle_dropout: float = 0.0,
        adaptive: bool = False,
        support: NDArray[np.uint8] | None = None,
        workers: Workers | None = None,
        **others: Any,
    ) -> None:
        super().__init__(data, n_labels, **others)
        self._workers = workers or Workers(1)
        self._local = local
        self._shrink = 2.0 * l2 / max(1, len(data.offsets) - 1)
        self._keep_probabilities = (1.0 - dropout, 1.0 - bundle_dropout)
        self._drawer = FeatureDrawer(data, self._features, self._keep_probabilities)
        sizes = self._sizes if adaptive else (0, 0, n_labels, 1)
        self._square_vector = Weights.zeros(*sizes).vector.astype(np.float32)
        self._squares = WeightTables(*Weights.views(self._square_vector, *sizes).tables)
        self._support = np.zeros((0, n_labels), np.uint8)
        if support is not None:
            self._support = support
        elif observed:
            self._support = label_support(data.rows, self._labels, n_labels, self.room)

    @property
    def nbytes(self) -> int:
        """Bytes held, an average of the weights and a copy of it included."""
        held = self._vector.nbytes + self._support.nbytes
        held += sum(table.nbytes for table in self._squares) + self._drawer.nbytes
        return held + 2 * 8 * self.size

    @property
    def _changing(self) -> Arrays:
        return {**super()._changing, "squares": self._square_vector}

    def vector(self) -> Floats32:
        """The weights as they are."""
        return self._vector

    def epoch(self, rate: float) -> float:
        """One pass over all chains; returns the loss met on the way."""
        allowed = self._data.allowed
        if allowed is None:
            allowed = np.zeros((0, self._sizes[2]), np.bool_)
        random = self._random.integers(1, 1 << 63, 1, np.uint64)
        tables = self._tables(self._vector)
        progress = np.array([1.0, 0.0])

        def steps(drawn: DrawnChains, last: bool) -> None:
            online.likelihood_steps(
                drawn.features, drawn.pairs, tables, tables.second, self._squares, self._support,
                self._masks, self._candidates, self._data.offsets, drawn.order, self._labels,
                allowed, self._local, self._boundaries, rate, self._shrink,
                self._keep_probabilities, progress, last
            )  # fmt: skip

        try:
            for drawn in self._drawer.draw(self._order(), random, self._workers):
                steps(drawn, False)
        finally:  # also after an interrupt the weights are to be what they stand for
            steps(DrawnChains.none(), True)
        return float(progress[1])


@dataclass(frozen=True, slots=True)
class DrawnChains:
    """Some chains in the order of visiting, and their features that dropout leaves."""

    order: Ints
    features: KeptFeatures
    pairs: KeptFeatures

    @classmethod
    def none(cls) -> DrawnChains:
        """No chains."""
        nothing = KeptFeatures(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
        return cls(np.zeros(0, np.int64), nothing, nothing)


class FeatureDrawer:
    """Lists the features of chains, some of them left out at random, a run of chains at a time.

    ``keep`` are the probabilities with which features, and tokens' entries, are kept. A run is used
    before the one after the next is asked for: they share memory.
    """

    def __init__(self, data: Dataset, index: FeatureIndex, keep: tuple[float, float]) -> None:
        self._offsets = data.offsets
        self._index = index
        self._keep = keep
        self._n_features = data.rows.n_features
        self._sizes = chain_entries(data) + np.diff(data.offsets)
        room = int(min(self._sizes.sum(), DRAWN + self._sizes.max(initial=0)))
        weighted = len(index.values) > 0 or len(index.bundle_values) > 0
        paired = data.rows.n_edge_features > 0
        self._rooms = [
            (_room(room, weighted), _room(room if paired else 0, len(index.edge_values) > 0))
            for _ in range(2 if self._sizes.sum() > DRAWN else 1)
        ]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for rooms in self._rooms for room in rooms for array in room)

    def draw(
        self, order: Ints, random: NDArray[np.uint64], workers: Workers
    ) -> Iterator[DrawnChains]:
        """The chains in this order; ``random`` [1] is the state of the generator."""
        runs = blocks(offsets_of(self._sizes[order]), DRAWN)
        drawn = (
            self._draw(order[first:last], random, self._rooms[number % len(self._rooms)])
            for number, (first, last) in enumerate(runs)
        )
        return workers.ahead(drawn) if len(runs) > 1 else drawn

    def _draw(
        self, order: Ints, random: NDArray[np.uint64], rooms: tuple[_Room, _Room]
    ) -> DrawnChains:
        tokens = int((self._offsets[order + 1] - self._offsets[order]).sum())
        features, pairs = (KeptFeatures(np.zeros(tokens + 1, np.int64), *room) for room in rooms)
        draw_chains(
            self._index, self._n_features, self._offsets, order, self._keep, random, features, pairs
        )
        return DrawnChains(order, features, pairs)


_Room = tuple[NDArray[np.int32], Floats]


def _room(entries: int, weighted: bool) -> _Room:
    return np.empty(entries, np.int32), np.empty(entries if weighted else 0)


def random_state(random: np.random.Generator) -> dict[str, Any]:
    """The state of a generator, with numbers of 128 bits as text."""
    found: Any = random.bit_generator.state
    return {
        **{name: str(number) for name, number in found["state"].items()},
        **{name: int(found[name]) for name in ("has_uint32", "uinteger")},
    }


def restore_random(random: np.random.Generator, saved: SavedState) -> None:
    """Let a generator go on from a state that `random_state` gave."""
    inner = {}
    for name in ("state", "inc"):
        digits = saved.text(name)
        if not (digits.isascii() and digits.isdigit() and len(digits) < 40):
            saved.refuse(name, "a whole number")
        inner[name] = int(digits) % (1 << 128)
    outer = {
        "has_uint32": saved.whole("has_uint32", 1),
        "uinteger": saved.whole("uinteger", (1 << 32) - 1),
    }
    random.bit_generator.state = {**random.bit_generator.state, "state": inner, **outer}


def default_passes(sequences: int) -> int:
    """How many passes are worth while."""
    return PASSES if sequences >= FEWEST_SEQUENCES else 0


def run_passes(
    learner: StochasticLikelihood,
    passes: int,
    callback: Callable[[Step], bool | None],
    trail: Trail | None = None,
) -> OptimisationResult | None:
    """The weights after some passes; None where the steps grow without bound."""
    rate_at = decaying_rate(PASS_RATE, PASS_DECAY)
    trail = None if trail is None else trail.having(learner=learner)
    result = run_epochs(
        lambda done: learner.epoch(rate_at(done)),
        learner.vector,
        passes,
        callback=callback,
        trail=trail,
        room=learner.room,
    )
    bounded = np.isfinite(result.loss) and np.isfinite(result.vector).all()
    return result if bounded else None


def decaying_rate(rate: float, decay: float) -> Callable[[float], float]:
    """A learning rate that falls as rate / (1 + decay · done), with done from 0 to 1.

    >>> decaying_rate(0.6, 2.0)(0.5)
    0.3
    """
    return lambda done: rate / (1.0 + decay * done)


def kernel_features(rows: FeatureMatrix, expanded: CSRMatrix | None = None) -> FeatureIndex:
    """The indexes of all features, as kernels take them; ``expanded`` has no feature bundles."""
    tokens, bundles, edges = expanded or rows.tokens, rows.bundles, rows.edges
    return FeatureIndex(
        tokens.indptr, tokens.indices, tokens.values,
        bundles.indptr, bundles.indices, bundles.values,
        edges.indptr, edges.indices, edges.values,
    )  # fmt: skip


def kernel_masks(constraints: Constraints | None, n_labels: int) -> LogMasks:
    """What is forbidden, as the kernels take it."""
    if constraints is None:
        return LogMasks(np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels))
    return constraints.masks


def chain_entries(data: Dataset) -> Ints:
    """How many (token, feature) pairs each chain has, bundles expanded. [C]"""
    rows = data.rows
    sizes = np.diff(rows.edges.indptr[data.offsets])
    for first, last in blocks(data.offsets, PART_TOKENS):
        counts = rows.active_counts(*data.offsets[[first, last]].tolist())
        ends = offsets_of(counts)
        sizes[first:last] += np.diff(ends[data.offsets[first : last + 1] - data.offsets[first]])
    return sizes
