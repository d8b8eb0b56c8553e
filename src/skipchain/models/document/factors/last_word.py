"""Wherever the last word of a span stands, it has the span's type: last names of speakers."""

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
        """A slot for each last word of a document, with its spans and the places without one."""
        kind = list(types).index(self.type)
        corpus = mentions.corpus
        codes = corpus.words.codes.astype(np.int64)
        width = len(corpus.words.values)
        own = np.flatnonzero(mentions.possible_types[:, kind])
        words = mentions.documents[own] * width + codes[mentions.stops[own] - 1]
        known, group = np.unique(words, return_inverse=True)
        tokens = np.arange(corpus.n_tokens)
        places = corpus.document_of(tokens) * width + codes
        at = np.searchsorted(known, places)
        found = np.flatnonzero(np.append(known, -1)[at] == places)
        costs = single_entry_table(types, self.type, len(types), -self.penalty)
        slots = first + np.arange(len(known))
        name = f"last word of {self.type}"
        free = single_entry_table(types, self.type, len(types), 1.0) > 0.0
        return FactorEdges(
            (PairPotential.within(name, costs, slots, np.ones(len(slots)), free),),
            len(known),
            own,
            np.full(len(own), kind),
            first + group.astype(np.int64),
            found,
            np.full(len(found), kind),
            first + at[found],
        )

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> LastWord:
        """The same with a penalty from a table."""
        kind = list(types).index(self.type)
        return replace(self, penalty=float(-tables[0][kind, len(types)]))

    def scaled(self, strength: float) -> LastWord:
        """The same, so many times as strong."""
        return replace(self, penalty=self.penalty * strength)

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What a place without the type adds."""
        return {f"last word of {self.type}": {self.type: {"elsewhere": -self.penalty}}}
