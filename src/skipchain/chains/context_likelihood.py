"""The conditional likelihood of chains of order 3 and more, and of features of label trigrams."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skipchain.arrays import Floats
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood, require_possible
from skipchain.chains.order_n import ContextPotentials, LabelContexts
from skipchain.chains.potentials import Constraints
from skipchain.chains.scorer import LinearScorer, Weights, block_potentials
from skipchain.chains.sums import sum_bundles
from skipchain.kernels import chain_n as kernel
from skipchain.kernels.chain import subtract_path
from skipchain.parallel import BLOCK_TOKENS, Workers, blocks

if TYPE_CHECKING:
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.label_trigrams import LabelTrigrams

MAX_BLOCKS = 8  # each holds its own sums of all label n-grams


class _BlockSums(NamedTuple):
    """Loss and gradient of one block: pairs, first and last labels, contexts, rows of trigrams."""

    loss: float
    pairs: Floats
    start: Floats
    end: Floats
    counts: Floats
    rows: Floats


class ContextLikelihood(ConditionalLikelihood):
    """log Z − the score of the gold labels, summed over chains whose labels depend on m before.

    The last rows of the table of states are the weights of ``label_ngrams``, then of
    ``label_trigrams``; no token has them as features. The gradient in the row of a run of labels is
    how often the model expects the label after it, minus how often training shows it there.
    """

    def __init__(
        self,
        data: Dataset,
        scorer: LinearScorer,
        workers: Workers,
        *,
        order: int,
        label_ngrams: LabelNgrams | None,
        label_trigrams: LabelTrigrams | None,
        l2: float = 0.0,
        constraints: Constraints | None = None,
    ) -> None:
        super().__init__(data, scorer, workers, l2=l2, constraints=constraints)
        self._order = order
        self._contexts = LabelContexts.of(scorer.n_labels, order, label_ngrams)
        self._trigrams = label_trigrams
        self._n_ngrams = 0 if label_ngrams is None else len(label_ngrams.ngrams)
        self._n_rows = 0 if label_trigrams is None else len(label_trigrams.rows)

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        weights = self.scorer.unpack(vector)
        bundle_sums = sum_bundles(self._data.rows, weights.state, self._workers)
        added = self._added(weights)
        runs = blocks(self._data.offsets, max(BLOCK_TOKENS, self._data.n_tokens // MAX_BLOCKS + 1))
        parts = self._workers.map(
            lambda block: self._sums(weights, bundle_sums, added, block), runs
        )
        # summed in the order of the blocks: the same bits whatever the number of threads
        losses, *others = zip(*parts, strict=True)
        pairs, start, end, counts, rows = (np.sum(part, axis=0) for part in others)
        triples, ngrams = self._contexts.pull_back(counts, self._n_ngrams)
        further = np.concatenate([ngrams, rows])
        gradient = self.scorer.gradient(
            self._node, pairs, start, end, self._edge_rows, triples, further
        )
        loss = float(np.sum(losses))
        if self._l2:
            loss += self._penalise(vector, gradient)
        return loss, gradient

    def _added(self, weights: Weights) -> ContextPotentials:
        """What labels before add, by weights."""
        own = len(weights.state) - self._n_ngrams - self._n_rows
        further = weights.state[own:].astype(np.float64)
        ngrams, rows = np.split(further, [self._n_ngrams])
        table = self._contexts.table(weights.triples, ngrams)
        trigrams = None if self._trigrams is None else replace(self._trigrams, weights=rows)
        return ContextPotentials.of_table(self._order, table, self._data.rows.trigrams, trigrams)

    def _sums(
        self,
        weights: Weights,
        bundle_sums: Floats,
        added: ContextPotentials,
        block: tuple[int, int],
    ) -> _BlockSums:
        p = block_potentials(self._data, weights, bundle_sums, block)
        if self._constraints is not None:
            p = p.constrained(self._constraints)
        node, pairs = self._node[p.tokens], self._pairs(p)
        counts, rows = np.zeros_like(added.table), np.zeros((self._n_rows, len(weights.start)))
        index, gold = added.index(p), self._labels[p.tokens]
        log_z, score = np.empty(len(p.offsets) - 1), np.empty(len(p.offsets) - 1)
        kernel.forward_backward(
            p.node, p.edge, p.node, p.edge, added.table, added.weight, self._order, index,
            p.offsets, False, node, pairs, counts, rows, log_z
        )  # fmt: skip
        kernel.path_score(p.node, p.edge, added.table, self._order, index, p.offsets, gold, score)
        require_possible(score, p)
        subtract_path(p.offsets, gold, node, pairs)
        kernel.subtract_path(self._order, index, p.offsets, gold, counts, rows)
        start, end = self._ends(p, node, pairs)
        loss = float((log_z - score).sum())
        return _BlockSums(loss, pairs.sum(axis=0), start, end, counts, rows)
