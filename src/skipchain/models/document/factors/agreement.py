"""Agreement of all spans of one type in a document, such as the times when a seminar begins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.checks import check_choice
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
BY_PAIR, BY_WORDS = COUNTING = "pair", "words"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A penalty for each pair of spans of one type in a document whose keys differ.

    ``key`` turns the words of a span (with blanks between) into what is compared; it is the name
    of a known key or a function, which gives None for what cannot be compared. ``by`` says how
    often a pair that differs costs the penalty: once (``pair``), or once for each word of a span
    (``words``; the mean of both, where one is longer), so that spans which stand against others
    rather shrink or vanish.

    >>> Agreement("stime", key="lower", penalty=4.0)
    Agreement(type='stime', key='lower', penalty=4.0, by='pair')
    """

    type: str
    key: str | KeyFunction = "words"
    penalty: float = 4.0
    by: str = BY_PAIR

    def __post_init__(self) -> None:
        if isinstance(self.key, str) and self.key not in KEY_FUNCTIONS:
            raise ParameterError(
                f"there is no key {self.key!r}; there are {', '.join(KEY_FUNCTIONS)}, or give a "
                "function"
            )
        if not np.isfinite(self.penalty):
            raise ParameterError(f"the penalty must be a finite number, got {self.penalty}")
        check_choice("by", self.by, COUNTING)

    def check(self, types: Sequence[str]) -> None:
        """Refuse a type that a model does not have."""
        check_types([self.type], types, "Agreement")

    def build_edges(
        self, mentions: MentionStrings, types: Sequence[str], first: int
    ) -> FactorEdges:
        """A string for all such spans of a document, and one for those of a key, which is exempt.

        So the work grows with the number of spans, not with that of pairs. Where words count,
        spans of different lengths have strings of their own.
        """
        function = KEY_FUNCTIONS[self.key] if isinstance(self.key, str) else self.key
        type_id = list(types).index(self.type)
        string_ids = np.flatnonzero(mentions.possible_types[:, type_id])
        keys = [_key_of(function, mentions.text(string_id)) for string_id in string_ids.tolist()]
        string_ids = string_ids[np.array([key is not None for key in keys], np.bool_)]
        documents = mentions.documents[string_ids].tolist()
        lengths = mentions.lengths[string_ids].tolist()
        if self.by == BY_PAIR:
            lengths = [0] * len(lengths)
        names = [key for key in keys if key is not None]
        every = _Hubs.of(documents, lengths)
        alike = _Hubs.of(list(zip(documents, names, strict=True)), lengths)
        costs = single_entry_table(types, self.type, type_id, -self.penalty)
        entry = single_entry_table(types, self.type, type_id, 1.0) > 0.0
        second = first + every.size
        rows = np.append(first + every.rows, second + alike.rows)
        columns = rows
        if self.by == BY_WORDS:
            columns = np.append(first + every.columns, second + alike.columns)
        scales = np.append(every.scales, -alike.scales)
        return FactorEdges(
            (PairPotential(self._name, costs, rows, columns, scales, entry),),
            every.size + alike.size,
            np.append(string_ids, string_ids),
            np.full(2 * len(string_ids), type_id),
            np.append(first + every.hubs, second + alike.hubs),
        )

    def with_tables(self, tables: Sequence[Floats], types: Sequence[str]) -> Agreement:
        """A copy with the penalty of a table."""
        type_id = list(types).index(self.type)
        return replace(self, penalty=float(-tables[0][type_id, type_id]))

    def scaled(self, strength: float) -> Agreement:
        """A copy whose penalty is multiplied by ``strength``."""
        return replace(self, penalty=self.penalty * strength)

    def describe(self) -> dict[str, dict[str, dict[str, float]]]:
        """What a pair that differs adds, or each of its words."""
        return {self._name: {self.type: {self.type: -self.penalty}}}

    @property
    def _name(self) -> str:
        return f"{self.type} disagrees" + (", each word" if self.by == BY_WORDS else "")


@dataclass(frozen=True, slots=True)
class _Hubs:
    """Strings for the spans of an owner that have the same length, and which of them are linked.

    ``hubs`` [M] are those of the spans. All hubs of one owner are linked, to themselves too: with
    the mean of the two lengths, or once where lengths are 0.
    """

    size: int
    hubs: Ints  # [M]
    rows: Ints  # [R]
    columns: Ints  # [R]
    scales: Floats  # [R]

    @classmethod
    def of(cls, owners: Sequence[Hashable], lengths: Sequence[int]) -> _Hubs:
        keys = list(zip(owners, lengths, strict=True))
        numbers = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        by_owner: dict[Hashable, list[tuple[int, int]]] = {}
        for (owner, length), k in numbers.items():
            by_owner.setdefault(owner, []).append((k, length))
        links = [
            (a, b, (one + other) / 2 or 1.0)
            for hubs in by_owner.values()
            for (a, one), (b, other) in combinations_with_replacement(hubs, 2)
        ]
        rows, columns, scales = np.array(links, np.float64).reshape(-1, 3).T
        hubs = np.array([numbers[key] for key in keys], np.int64)
        return cls(len(numbers), hubs, rows.astype(np.int64), columns.astype(np.int64), scales)


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
