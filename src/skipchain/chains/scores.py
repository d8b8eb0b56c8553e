"""What inference starts from and what it gives: scored chains, and ranked label sequences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from skipchain.arrays import Bools, Floats, Ints, Labels
from skipchain.chains.dataset import Dataset
from skipchain.chains.potentials import Constraints, Potentials
from skipchain.chains.scorer import Weights, block_potentials
from skipchain.chains.sums import sum_bundles
from skipchain.parallel import Workers

if TYPE_CHECKING:
    from skipchain.features.label_ngrams import LabelNgrams
    from skipchain.features.label_trigrams import LabelTrigrams

MAX_CONTEXTS = 4_096  # label m-grams that exact inference goes through at a position
LITTLE_TEXT = 1_000  # tokens, of which the potentials are kept
Order2Arguments = tuple[Floats, Floats, Floats, Floats, Floats]


class LabelHistoryWeights(NamedTuple):
    """What earlier labels of a document add: by distance [D], and for each label [L, L]."""

    decay: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class ChainScores:
    """What is needed to score any block of chains: data, weights, and what is ruled out.

    ``allowed`` [N, L] says which labels each token may have; None leaves all tokens free. With
    ``local`` each position is normalised given the label before it. ``label_ngrams`` and
    ``label_trigrams`` make a label depend on more labels before it, ``label_history`` on those of
    like tokens earlier in the document. ``stop`` has the log odds of stopping after a label [L], or
    after two [L + 1, L]. ``extra`` [N, L] is added to the scores of labels after all. ``sums`` [N,
    L] are those of the weights of each token's features, where they have been looked up: then the
    data hold no features.
    """

    data: Dataset
    weights: Weights
    bundle_sums: Floats  # [U, L], the summed weights of each feature bundle
    constraints: Constraints | None = None
    allowed: Bools | None = None
    local: bool = False
    label_ngrams: LabelNgrams | None = None
    extra: Floats | None = None
    label_history: LabelHistoryWeights | None = None
    label_trigrams: LabelTrigrams | None = None
    stop: Floats | None = None
    sums: Floats | None = None
    _kept: dict[tuple[int, int], Potentials] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(
        cls,
        data: Dataset,
        weights: Weights,
        workers: Workers,
        constraints: Constraints | None = None,
        allowed: Bools | None = None,
        local: bool = False,
        label_ngrams: LabelNgrams | None = None,
        label_history: LabelHistoryWeights | None = None,
        label_trigrams: LabelTrigrams | None = None,
        stop: Floats | None = None,
        sums: Floats | None = None,
    ) -> ChainScores:
        """Scores of a dataset under weights."""
        of_bundles = sum_bundles(data.rows, weights.state, workers)
        limits = constraints, allowed, local, label_ngrams
        further = label_history, label_trigrams, stop, sums
        return cls(data, weights, of_bundles, *limits, None, *further)

    @property
    def offsets(self) -> Ints:
        """Where chains begin. [C + 1]"""
        return self.data.offsets

    @property
    def order(self) -> int:
        """How many labels back a label depends on."""
        return self.weights.order if self.label_ngrams is None else self.label_ngrams.order

    @property
    def by_contexts(self) -> bool:
        """Whether labels depend on more before them than tables of three labels say."""
        return self.label_ngrams is not None or self.label_trigrams is not None

    @property
    def unknown(self) -> int:
        """How many features of the input the model does not know."""
        return self.data.rows.unknown

    def potentials(self, block: tuple[int, int]) -> Potentials:
        """The potentials of one block, which nobody may change: those of little text are kept.

        Labels, probabilities of spans and all that goes on from there begin with them.
        """
        if block in self._kept:
            return self._kept[block]
        raw = self.raw(block)
        folded = self.local and self.weights.order == 1
        found = self.with_constraints(raw.normalised() if folded else raw)
        if self.data.n_tokens <= LITTLE_TEXT:
            self._kept[block] = found
        return found

    def raw(self, block: tuple[int, int]) -> Potentials:
        """The potentials of one block before they are normalised and anything is ruled out."""
        return block_potentials(self.data, self.weights, self.bundle_sums, block, self.sums)

    def order2_arguments(self, p: Potentials, raw: Potentials) -> Order2Arguments:
        """Potentials, those before anything was ruled out, and triples, as kernels take them."""
        return p.node, p.edge, raw.node, raw.like(p).edge, self.weights.triples

    def with_constraints(self, potentials: Potentials) -> Potentials:
        """With −∞ for whatever is ruled out, and all that is added after normalising."""
        if self.stop is not None:
            potentials = potentials.stopping(self.stop)
        if self.constraints is not None:
            potentials = potentials.constrained(self.constraints)
        if self.allowed is not None:
            potentials = potentials.clamped(self.allowed[potentials.tokens])
        if self.extra is not None:
            potentials = replace(potentials, node=potentials.node + self.extra[potentials.tokens])
        return potentials


def is_exact(n_labels: int, order: int) -> bool:
    """Whether all labellings can be gone through, by their runs of ``order`` labels.

    >>> is_exact(16, 3), is_exact(17, 3), is_exact(100, 2)
    (True, False, True)
    """
    return order <= 2 or n_labels**order <= MAX_CONTEXTS


def has_trigram_tables(n_labels: int) -> bool:
    """Whether labels are few enough for a table of three of them at single positions."""
    return n_labels**2 <= MAX_CONTEXTS


@dataclass(frozen=True, slots=True)
class NBestPaths:
    """The best label sequences of one chain: paths [k, T], their probabilities [k], best first."""

    paths: Labels
    probabilities: Floats
