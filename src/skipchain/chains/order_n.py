"""Inference over chains of any order, by the labels before each position: sums, paths, search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.chains.potentials import Potentials, require_paths
from skipchain.chains.scores import ChainScores
from skipchain.features.matrix import CSRMatrix
from skipchain.kernels import chain_n as kernel
from skipchain.kernels import label_ngrams as search
from skipchain.kernels.label_ngrams import TrigramIndex
from skipchain.parallel import Workers

if TYPE_CHECKING:
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.label_trigrams import LabelTrigrams


@dataclass(frozen=True, slots=True, eq=False)
class LabelContexts:
    """The contexts of a chain of order m, at most m labels before a position, and what they add.

    Context c of n labels has row 1 + L + … + L^(n−1) + c. ``second`` and ``previous`` [R] are its
    last two labels, L where the chain has not begun. ``ngrams`` [R, m − 2] are the label n-grams
    that it ends in, as indices of their weights, or −1.

    >>> contexts = LabelContexts.of(2, 2, None)
    >>> contexts.second.tolist(), contexts.previous.tolist()
    ([2, 2, 2, 0, 0, 1, 1], [2, 0, 1, 0, 1, 0, 1])
    """

    order: int
    n_labels: int
    second: Ints  # [R]
    previous: Ints  # [R]
    ngrams: Ints  # [R, order − 2]

    @classmethod
    def of(cls, n_labels: int, order: int, ngrams: LabelNgrams | None) -> LabelContexts:
        """The contexts of an order, and the n-grams that they end in."""
        labels = np.full((1, order), n_labels)  # the last ones at the right
        parts = [labels]
        for _ in range(order):
            after = np.tile(np.arange(n_labels), len(labels))
            labels = np.column_stack([np.repeat(labels[:, 1:], n_labels, axis=0), after])
            parts.append(labels)
        every = np.concatenate(parts)
        found = np.full((len(every), max(order - 2, 0)), -1)
        if ngrams is not None:
            found = ngrams.indices_of(every)
        return cls(order, n_labels, every[:, -2], every[:, -1], found)

    def table(self, triples: Floats, ngrams: Floats) -> Floats:
        """What each context adds to the label after it, by weights of triples and n-grams. [R, L]

        triples [L + 1, L, L], ngrams [K, L].
        """
        out = np.zeros((len(self.second), self.n_labels))
        begun = self.previous < self.n_labels
        out[begun] = triples[self.second[begun], self.previous[begun]]
        for column in self.ngrams.T:
            known = np.flatnonzero(column >= 0)
            out[known] += ngrams[column[known]]
        return out

    def pull_back(self, counts: Floats, n_ngrams: int) -> tuple[Floats, Floats]:
        """The transposed sums of `table`: from [R, L] to triples and n-grams."""
        size = self.n_labels
        triples, ngrams = np.zeros((size + 1, size, size)), np.zeros((n_ngrams, size))
        begun = self.previous < size
        np.add.at(triples, (self.second[begun], self.previous[begun]), counts[begun])
        for column in self.ngrams.T:
            known = np.flatnonzero(column >= 0)
            np.add.at(ngrams, column[known], counts[known])
        return triples, ngrams


@dataclass(frozen=True, slots=True, eq=False)
class ContextPotentials:
    """What labels before add to potentials: tables for all positions, and features of single ones.

    ``weight`` is exp ``table``. ``features`` and ``trigrams`` are those that go with the label two
    tokens back: which tokens have them, and what they add.
    """

    order: int
    table: Floats  # [R, L]
    weight: Floats  # [R, L]
    features: CSRMatrix | None = None
    trigrams: LabelTrigrams | None = None

    @classmethod
    def of(cls, scores: ChainScores) -> ContextPotentials:
        """Those of scored chains."""
        weights, ngrams = scores.weights, scores.label_ngrams
        contexts = LabelContexts.of(weights.n_labels, scores.order, ngrams)
        none = np.zeros((0, weights.n_labels))
        table = contexts.table(weights.triples, none if ngrams is None else ngrams.weights)
        return cls.of_table(scores.order, table, scores.data.rows.trigrams, scores.label_trigrams)

    @classmethod
    def of_table(
        cls, order: int, table: Floats, features: CSRMatrix | None, trigrams: LabelTrigrams | None
    ) -> ContextPotentials:
        """Those of a table, and of features that go with the label two tokens back."""
        with np.errstate(over="ignore"):  # such scores are not looked at in this form
            return cls(order, table, np.exp(table), features, trigrams)

    def log_partition(
        self, p: Potentials, raw: Potentials, local: bool, node: Floats | None = None
    ) -> Floats:
        """log Z of every chain [C]; ``node`` [N, L] takes the marginals of labels."""
        states = p.node.shape[1]
        marginals = np.empty_like(p.node) if node is None else node
        none, log_z = np.zeros((0, states)), np.empty(len(p.offsets) - 1)
        wanted = marginals, np.zeros((0, states, states)), none, none, log_z
        kernel.forward_backward(
            *_potentials(p, raw), *self._tables, self.index(p), p.offsets, local, *wanted
        )
        return log_z

    def best_paths(
        self, p: Potentials, raw: Potentials, local: bool, k: int
    ) -> tuple[Labels, Floats]:
        """The k best paths of *one* chain, and their scores, −∞ for ranks that do not exist."""
        paths, values = np.zeros((k, len(p.node)), np.int32), np.empty(k)
        kernel.nbest(*_potentials(p, raw), *self._tables, self.index(p), local, k, paths, values)
        return paths, values

    @property
    def _tables(self) -> tuple[Floats, Floats, int]:
        return self.table, self.weight, self.order

    def index(self, p: Potentials) -> TrigramIndex:
        """The features of a block that go with the label two tokens back, as kernels take them."""
        return trigram_index(p, self.features, self.trigrams)


def trigram_index(
    p: Potentials, features: CSRMatrix | None, trigrams: LabelTrigrams | None
) -> TrigramIndex:
    """The features of a block that go with the label two tokens back, as kernels take them."""
    if features is None or trigrams is None:
        numbers = np.zeros(0, np.int64)
        nothing = numbers, np.zeros(0, np.int32), np.zeros(0), numbers, numbers, numbers
        return TrigramIndex(*nothing, np.zeros((0, p.node.shape[1])))
    return TrigramIndex(
        features.indptr[p.first : p.first + len(p.node) + 1],
        features.indices,
        features.values,
        trigrams.starts,
        np.ascontiguousarray(trigrams.rows[:, 1]),
        np.ascontiguousarray(trigrams.rows[:, 2]),
        trigrams.weights,
    )


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds; a width of 1 is the greedy search. [N]"""
    ngrams, order, size = scores.label_ngrams, scores.order, scores.weights.n_labels
    path = np.zeros(scores.data.n_tokens, np.int32)
    width = min(width, size**order)
    table = np.zeros(0, np.int64), np.zeros((0, size))
    if ngrams is not None:
        table = ngrams.ngrams, ngrams.weights

    def run(block: tuple[int, int]) -> None:
        p, raw = scores.potentials(block), scores.raw(block)
        index = trigram_index(p, scores.data.rows.trigrams, scores.label_trigrams)
        best = np.empty(len(p.offsets) - 1)
        arguments = scores.order2_arguments(p, raw)
        how = p.offsets, scores.local, width
        search.beam(*arguments, *table, order, index, *how, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, scores.data.blocks())
    return path


def _potentials(p: Potentials, raw: Potentials) -> tuple[Floats, Floats, Floats, Floats]:
    return p.node, p.edge, raw.node, raw.like(p).edge
