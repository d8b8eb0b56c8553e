"""All spans of one type in a document mean the same: the times at which a seminar begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats
from skipchain.errors import ParameterError, SkipchainError
from skipchain.models.document.factors.base import Relation, Wiring, check_types, single
from skipchain.models.document.factors.mentions import Mentions
from skipchain.models.document.factors.times import time_key

Key = Callable[[str], str | None]
KEYS: dict[str, Key] = {"words": str, "lower": str.lower, "time": time_key}


@dataclass(frozen=True, slots=True)
class Agreement:
    """A penalty for each pair of spans of one type in a document whose keys differ.

    ``key`` turns the words of a span (with blanks between) into what is compared; it is the name
    of a known key or a function, which gives None for what cannot be compared.

    >>> Agreement("stime", key="lower", penalty=4.0)
    Agreement(type='stime', key='lower', penalty=4.0)
    """

    type: str
    key: str | Key = "words"
    penalty: float = 4.0

    def __post_init__(self) -> None:
        if isinstance(self.key, str) and self.key not in KEYS:
            raise ParameterError(
                f"there is no key {self.key!r}; there are {', '.join(KEYS)}, or give a function"
            )
        if not np.isfinite(self.penalty):
            raise ParameterError(f"the penalty must be a finite number, got {self.penalty}")

    def check(self, types: Sequence[str]) -> None:
        """Refuse a type that a model does not have."""
        check_types([self.type], types, "Agreement")

    def wiring(self, mentions: Mentions, types: Sequence[str], first: int) -> Wiring:
        """A slot for all such spans of a document, and one for those of a key, which is let off.

        So the work grows with the number of spans, not with that of pairs.
        """
        function = KEYS[self.key] if isinstance(self.key, str) else self.key
        kind = list(types).index(self.type)
        own = np.flatnonzero(mentions.possible[:, kind])
        keys = [_key_of(function, mentions.text(slot)) for slot in own.tolist()]
        own = own[np.array([key is not None for key in keys], np.bool_)]
        documents = mentions.documents[own].tolist()
        names = [key for key in keys if key is not None]
        hubs = {document: k for k, document in enumerate(dict.fromkeys(documents))}
        pairs = list(zip(documents, names, strict=True))
        groups = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
        hub = np.array([hubs[document] for document in documents], np.int64)
        group = np.array([groups[pair] for pair in pairs], np.int64)
        costs = single(types, self.type, kind, -self.penalty)
        every = first + np.arange(len(hubs))
        alike = first + len(hubs) + np.arange(len(groups))
        sizes = np.append(np.ones(len(every)), -np.ones(len(alike)))
        free = single(types, self.type, kind, 1.0) > 0.0
        name = f"{self.type} disagrees"
        relation = Relation.within(name, costs, np.append(every, alike), sizes, free)
        return Wiring(
            (relation,),
            len(hubs) + len(groups),
            np.append(own, own),
            np.full(2 * len(own), kind),
            np.append(first + hub, first + len(hubs) + group),
        )

    def weighed(self, tables: Sequence[Floats], types: Sequence[str]) -> Agreement:
        """The same with a penalty from a table."""
        kind = list(types).index(self.type)
        return replace(self, penalty=float(-tables[0][kind, kind]))

    def times(self, strength: float) -> Agreement:
        """The same, so many times as strong."""
        return replace(self, penalty=self.penalty * strength)

    def told(self) -> dict[str, dict[str, dict[str, float]]]:
        """What a pair that differs adds."""
        return {f"{self.type} disagrees": {self.type: {self.type: -self.penalty}}}


def _key_of(function: Key, text: str) -> str | None:
    """The key of a span; the mistakes of a function are told with the words they happen at."""
    try:
        found = function(text)
        hash(found)
    except Exception as error:
        name = getattr(function, "__name__", repr(function))
        raise SkipchainError(
            f"the key {name} failed for {text!r}: {type(error).__name__}: {error}"
        ) from error
    return found
