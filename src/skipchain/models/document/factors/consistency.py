"""Names keep their type through a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats
from skipchain.corpus.corpus import Corpus
from skipchain.errors import CorpusError, ParameterError
from skipchain.models.document.factors.base import FactorEdges, PairPotential, check_types
from skipchain.models.document.factors.counts import PairCounts, count_pairs
from skipchain.models.document.factors.mentions import MentionStrings

SAME_STRING, NESTED_STRING = "same words", "words inside"


@dataclass(frozen=True, slots=True, eq=False)
class Consistency:
    """What pairs of spans of one document add to the score of a labelling, by their types.

    ``same`` is for spans with the same words, ``inside`` for a span (rows) and a shorter one
    elsewhere whose words stand in it (columns). `of` gives penalties by how rare such pairs are in
    training data; `skipchain.Factored` learns better tables. All are multiplied by ``strength``.
    With ``by_length`` a pair counts once for each word of the shorter span. ``shared`` divides by
    the number of places at which the words stand, so that frequent names do not outweigh the
    evidence at each place.
    """

    types: tuple[str, ...]
    same: Floats  # [K, K]
    inside: Floats  # [K, K]
    strength: float = 1.0
    by_length: bool = False
    shared: bool = True

    def __post_init__(self) -> None:
        size = (len(self.types),) * 2
        if self.same.shape != size or self.inside.shape != size:
            raise ParameterError(
                f"tables of {len(self.types)} types are {size[0]} by {size[0]}, got "
                f"{self.same.shape} and {self.inside.shape}"
            )
        if not (np.isfinite(self.same).all() and np.isfinite(self.inside).all()):
            raise ParameterError("penalties must be finite numbers")
        if not np.array_equal(self.same, self.same.T):
            raise ParameterError("the table of spans with the same words must be symmetric")
        if not (np.isfinite(self.strength) and self.strength >= 0.0):
            raise ParameterError(f"strength must be a number of at least 0, got {self.strength}")

    @classmethod
    def fit(cls, corpus: Corpus, strength: float = 1.0) -> Consistency:
        """Penalties from the pairs of spans in the documents of a labelled corpus."""
        if corpus.scheme is None:
            raise CorpusError("consistency is about spans, and the corpus' labels mark none")
        if corpus.n_documents > 1 and np.diff(corpus.documents).max() < 2:
            raise CorpusError(
                "consistency needs documents of several sentences, and every document here is one; "
                "mark where documents begin: -DOCSTART- lines (CoNLL), or document ids (JSON lines)"
            )
        return cls.of(count_pairs(corpus), strength)

    @classmethod
    def of(cls, counts: PairCounts, strength: float = 1.0) -> Consistency:
        """Penalties from counts, as Finkel, Grenager and Manning (2005) have them.

        A pair of types is as likely as it is frequent among the pairs with its row's type (same
        words; the mean of both directions, in logarithms) or its column's (words inside); no count
        is less than one. Pairs of equal types cost nothing.

        >>> from skipchain.models.document.factors import PairCounts
        >>> same, nested = np.array([[98, 2], [2, 48]]), np.array([[9, 0], [0, 3]])
        >>> counts = PairCounts(("A", "B"), same, nested)
        >>> Consistency.of(counts).same.round(2)
        array([[ 0.  , -3.57],
               [-3.57,  0.  ]])
        >>> Consistency.of(counts).inside.round(2)
        array([[ 0.  , -1.39],
               [-2.3 ,  0.  ]])
        """
        same = np.maximum(counts.same, 1)
        shares = np.log(same / same.sum(axis=1, keepdims=True))
        parts = np.maximum(counts.inside, 1)
        inside = np.log(parts / parts.sum(axis=0))
        equal = np.eye(len(counts.types), dtype=bool)
        return cls(
            counts.types,
            np.where(equal, 0.0, 0.5 * (shares + shares.T)),
            np.where(equal, 0.0, inside),
            strength,
            by_length=True,
            shared=False,
        )

    @classmethod
    def blank(cls, types: Sequence[str] = ()) -> Consistency:
        """No pair adds anything yet; without ``types`` it is about those that a model has."""
        zeros = np.zeros((len(types), len(types)))
        return cls(tuple(types), zeros, zeros)

    def with_counts(self, counts: PairCounts) -> Consistency:
        """A copy with the tables that counts give for its types."""
        counted = Consistency.of(counts)
        rows = [counted.types.index(name) for name in self.types]
        block = np.ix_(rows, rows)
        return replace(self, same=counted.same[block], inside=counted.inside[block])

    def check(self, types: Sequence[str]) -> None:
        """Refuse types that a model does not have."""
        check_types(self.types, types, "Consistency")

    def build_edges(
        self, mentions: MentionStrings, types: Sequence[str], first: int
    ) -> FactorEdges:
        """Spans of one mention string, and spans of strings of which one stands in the other."""
        outer, inner = mentions.nested_pairs()
        same, inside = np.ones(len(mentions)), np.ones(len(outer))
        if self.shared:
            places = mentions.n_places.astype(np.float64)
            same /= np.maximum(places - 1.0, 1.0)
            inside /= np.sqrt(places[outer] * places[inner])
        if self.by_length:
            same *= mentions.lengths
            inside *= mentions.lengths[inner]
        every = np.arange(len(mentions))
        learnable = self._table(np.ones_like(self.same), types) > 0.0
        tables = [self.strength * self._table(scores, types) for scores in (self.same, self.inside)]
        return FactorEdges(
            (
                PairPotential.within(SAME_STRING, tables[0], every, same, learnable),
                PairPotential(NESTED_STRING, tables[1], outer, inner, inside, learnable),
            )
        )

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> Consistency:
        """A copy with other tables [K + 1, K + 1], without the types that it is not about."""
        rows = [list(types).index(name) for name in self.types]
        same, inside = (table[np.ix_(rows, rows)] for table in tables)
        return replace(self, same=same, inside=inside, strength=1.0)

    def scaled(self, strength: float) -> Consistency:
        """A copy whose strength is multiplied by ``strength``."""
        return replace(self, strength=self.strength * strength)

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What pairs of types add."""
        return {
            name: {
                row: dict(zip(self.types, (self.strength * scores).tolist(), strict=True))
                for row, scores in zip(self.types, table, strict=True)
            }
            for name, table in ((SAME_STRING, self.same), (NESTED_STRING, self.inside))
        }

    def _table(self, scores: Floats, types: Sequence[str]) -> Floats:
        """Scores of the factor's types in a table of all types and violations. [K + 1, K + 1]"""
        table = np.zeros((len(types) + 1, len(types) + 1))
        rows = [list(types).index(name) for name in self.types]
        table[np.ix_(rows, rows)] = scores
        return table
