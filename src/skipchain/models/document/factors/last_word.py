"""The last word of a span has the span's type wherever it stands: last names of speakers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import ParameterError
from skipchain.models.document.factors.base import (
    FactorEdges,
    PairPotential,
    check_types,
    single_entry_table,
)
from skipchain.models.document.factors.mentions import MentionStrings


@dataclass(frozen=True, slots=True)
class LastWord:
    """A penalty for each span of a type and each other place of its last word without that type.

    >>> LastWord("speaker", penalty=4.0)
    LastWord(type='speaker', penalty=4.0)
    """

    type: str
    penalty: float = 4.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.penalty):
            raise ParameterError(f"the penalty must be a finite number, got {self.penalty}")

    def check(self, types: Sequence[str]) -> None:
        """Refuse a type that a model does not have."""
        check_types([self.type], types, "LastWord")

    def build_edges(
        self, mentions: MentionStrings, types: Sequence[str], first: int
    ) -> FactorEdges:
        """A string for each last word of a document, with its spans and its violations."""
        type_id = list(types).index(self.type)
        corpus = mentions.corpus
        codes = corpus.words.codes.astype(np.int64)
        width = len(corpus.words.values)
        string_ids = np.flatnonzero(mentions.possible_types[:, type_id])
        words = mentions.documents[string_ids] * width + codes[mentions.stops[string_ids] - 1]
        known, group = np.unique(words, return_inverse=True)
        tokens = np.arange(corpus.n_tokens)
        places = corpus.document_of(tokens) * width + codes
        at = np.searchsorted(known, places)
        occurrences = np.flatnonzero(np.append(known, -1)[at] == places)
        costs = single_entry_table(types, self.type, len(types), -self.penalty)
        entry = single_entry_table(types, self.type, len(types), 1.0) > 0.0
        new_ids = first + np.arange(len(known))
        name = f"last word of {self.type}"
        potential = PairPotential.within(name, costs, new_ids, np.ones(len(new_ids)), entry)
        return FactorEdges(
            pair_potentials=(potential,),
            n_strings=len(known),
            alias_sources=string_ids,
            type_ids=np.full(len(string_ids), type_id),
            alias_targets=first + group.astype(np.int64),
            violation_tokens=occurrences,
            required_types=np.full(len(occurrences), type_id),
            violation_strings=first + at[occurrences],
        )

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> LastWord:
        """A copy with the penalty of a table."""
        type_id = list(types).index(self.type)
        return replace(self, penalty=float(-tables[0][type_id, len(types)]))

    def scaled(self, strength: float) -> LastWord:
        """A copy whose penalty is multiplied by ``strength``."""
        return replace(self, penalty=self.penalty * strength)

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What a place without the type adds."""
        return {f"last word of {self.type}": {self.type: {"elsewhere": -self.penalty}}}
