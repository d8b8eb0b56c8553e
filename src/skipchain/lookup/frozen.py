"""A chain as it is put to work on much text: scores looked up, in single precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, Labels
from skipchain.chains.potentials import Constraints, log_mask
from skipchain.chains.scorer import Weights
from skipchain.corpus import Corpus
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels.best_paths import best_paths
from skipchain.lookup.byte_index import Bytes
from skipchain.lookup.scorer import LookupScorer, can_look_up
from skipchain.lookup.value_table import Codes
from skipchain.parallel import Workers

Singles = NDArray[np.float32]
LARGEST_WEIGHT = 1e4  # seven digits are enough for sums of weights up to this


@dataclass(frozen=True, slots=True)
class FrozenChain:
    """The best labels of tokens, whose columns may be slices of a text.

    Scores have W ≥ L places, of which the last are never chosen: ``edge`` [W, W], ``start`` and
    ``end`` [W]. ``leads`` [W, W] are those of `leads_of`.
    """

    scorer: LookupScorer
    edge: Singles
    leads: Singles
    start: Singles
    end: Singles

    @classmethod
    def of(
        cls, vocabulary: Vocabulary, weights: Weights, rules: Constraints | None
    ) -> FrozenChain | None:
        """A chain of order 1 frozen; None where its scores cannot be looked up.

        Features of label pairs give each position an edge table of its own.
        """
        if not can_look_up(vocabulary):
            return None
        if any(np.abs(own).max(initial=0.0) > LARGEST_WEIGHT for own in weights.tables):
            return None
        scorer = LookupScorer(vocabulary, weights.state, np.float32)
        size, width = weights.n_labels, scorer.width
        edge = np.full((width, width), -np.inf, np.float32)
        start, end = np.full(width, -np.inf, np.float32), np.zeros(width, np.float32)
        edge[:size, :size] = weights.transitions
        start[:size], end[:size] = weights.start, weights.end
        if rules is not None:
            edge[:size, :size] += log_mask(rules.pairs)
            start[:size] += log_mask(rules.start)
            end[:size] += log_mask(rules.end)
        return cls(scorer, edge, leads_of(edge), start, end)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read, in the order in which `path` takes them."""
        return self.scorer.columns

    @property
    def annotated(self) -> bool:
        """Whether annotators look at documents, so that `path` cannot do without a corpus."""
        return self.scorer.annotated

    def path_of(self, corpus: Corpus) -> Labels:
        """The best labels [N] of the tokens of a corpus."""
        with Workers(1) as workers:
            return self.decode(self.scorer.sums(corpus, workers), corpus.sentences)

    def path(self, text: Bytes, starts: Codes, ends: Codes, sentences: Ints) -> Labels:
        """The best labels [N] of tokens whose columns are slices of a text [C, N]."""
        values, table = self.scorer.number_slices(text, starts, ends)
        node = np.empty((values.shape[1], self.scorer.width), np.float32)
        self.scorer.score_values(values, sentences, table, node)
        return self.decode(node, sentences)

    def decode(self, node: NDArray[np.floating], sentences: Ints) -> Labels:
        """The best labels [N] of tokens with these scores [N, W]."""
        path: Labels = np.empty(len(node), np.int32)
        best_paths(node, self.edge, self.leads, self.start, self.end, sentences, path)
        return path


def leads_of(edge: Singles) -> Singles:
    """By how much a label i must be behind a label a to be worse before all labels, as [a, i].

    It is max_j edge(i, j) − edge(a, j), and a little more, so that no rounding makes them equal.

    >>> leads_of(np.array([[0, 1], [-2, 2]], np.float32)).round(3).tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    leads, exact = np.empty_like(edge), edge.astype(np.float64)
    largest = np.abs(exact, where=np.isfinite(exact), out=np.zeros_like(exact)).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # where both are forbidden, which fmax passes over
        for row, own in zip(leads, exact, strict=True):
            row[:] = np.fmax.reduce(exact - own, axis=1, initial=-np.inf)
    leads += 4 * np.spacing(np.float32(largest))
    return leads
