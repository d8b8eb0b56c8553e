"""Agreement of all spans of one type in a document, such as the times when a seminar begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.document.factors.base import (
    FactorEdges,
    PairPotential,
    check_types,
    single_entry_table,
)
from skipchain.models.document.factors.mentions import MentionStrings
from skipchain.models.document.factors.times import time_key

KeyFunction = Callable[[str], str | None]
KEY_FUNCTIONS: dict[str, KeyFunction] = {"words": str, "lower": str.lower, "time": time_key}


@dataclass(frozen=True, slots=True)
class Agreement:
    """A penalty for each pair of spans of one type in a document whose keys differ.

    ``key`` turns the words of a span (with blanks between) into what is compared; it is the name
    of a known key or a function, which gives None for what cannot be compared.

    >>> Agreement("stime", key="lower", penalty=4.0)
    Agreement(type='stime', key='lower', penalty=4.0)
    """

    type: str
    key: str | KeyFunction = "words"
    penalty: float = 4.0

    def __post_init__(self) -> None:
        if isinstance(self.key, str) and self.key not in KEY_FUNCTIONS:
            raise ParameterError(
                f"there is no key {self.key!r}; there are {', '.join(KEY_FUNCTIONS)}, or give a "
                "function"
            )
        if not np.isfinite(self.penalty):
            raise ParameterError(f"the penalty must be a finite number, got {self.penalty}")

    def check(self, types: Sequence[str]) -> None:
        """Refuse a type that a model does not have."""
        check_types([self.type], types, "Agreement")

    def build_edges(
        self, mentions: MentionStrings, types: Sequence[str], first: int
    ) -> FactorEdges:
        """A string for all such spans of a document, and one for those of a key, which is exempt.

        So the work grows with the number of spans, not with that of pairs.
        """
        function = KEY_FUNCTIONS[self.key] if isinstance(self.key, str) else self.key
        type_id = list(types).index(self.type)
        string_ids = np.flatnonzero(mentions.possible_types[:, type_id])
        keys = [_key_of(function, mentions.text(string_id)) for string_id in string_ids.tolist()]
        string_ids = string_ids[np.array([key is not None for key in keys], np.bool_)]
        documents = mentions.documents[string_ids].tolist()
        names = [key for key in keys if key is not None]
        hubs = {document: k for k, document in enumerate(dict.fromkeys(documents))}
        pairs = list(zip(documents, names, strict=True))
        groups = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
        hub = np.array([hubs[document] for document in documents], np.int64)
        group = np.array([groups[pair] for pair in pairs], np.int64)
        costs = single_entry_table(types, self.type, type_id, -self.penalty)
        entry = single_entry_table(types, self.type, type_id, 1.0) > 0.0
        every = first + np.arange(len(hubs))
        alike = first + len(hubs) + np.arange(len(groups))
        scales = np.append(np.ones(len(every)), -np.ones(len(alike)))
        name = f"{self.type} disagrees"
        potential = PairPotential.within(name, costs, np.append(every, alike), scales, entry)
        return FactorEdges(
            (potential,),
            len(hubs) + len(groups),
            np.append(string_ids, string_ids),
            np.full(2 * len(string_ids), type_id),
            np.append(first + hub, first + len(hubs) + group),
        )

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> Agreement:
        """A copy with the penalty of a table."""
        type_id = list(types).index(self.type)
        return replace(self, penalty=float(-tables[0][type_id, type_id]))

    def scaled(self, strength: float) -> Agreement:
        """A copy whose penalty is multiplied by ``strength``."""
        return replace(self, penalty=self.penalty * strength)

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What a pair that differs adds."""
        return {f"{self.type} disagrees": {self.type: {self.type: -self.penalty}}}


def _key_of(function: KeyFunction, text: str) -> str | None:
    """The key of a span; errors of a function are reported with the words they happen at."""
    try:
        key = function(text)
        hash(key)
    except Exception as error:
        name = getattr(function, "__name__", repr(function))
        raise SkipchainError(
            f"the key {name} failed for {text!r}: {type(error).__name__}: {error}"
        ) from error
    return key
