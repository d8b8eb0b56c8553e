"""Typed spans of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints, members
from skipchain.corpus.column import frozen
from skipchain.errors import SchemeError

SHOWN = 4  # spans


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Spans:
    """Spans of tokens, each with a type, sorted by start.

    ``starts`` and ``stops`` are ``int64 [K]`` token offsets, the stop exclusive; the type of span k
    is ``names[types[k]]``, with ``types`` ``int32 [K]``.

    >>> spans = Spans.of([(3, 4, "LOC"), (0, 2, "PER")])
    >>> spans.starts.tolist(), spans.tolist()
    ([0, 3], [(0, 2, 'PER'), (3, 4, 'LOC')])
    >>> spans
    Spans(2 spans: (0, 2, 'PER'), (3, 4, 'LOC'))
    """

    starts: Ints  # [K]
    stops: Ints  # [K]
    types: NDArray[np.int32]  # [K]
    names: tuple[str, ...]

    @classmethod
    def of(cls, spans: Iterable[tuple[int, int, str]]) -> Spans:
        """Spans from ``(start, stop, type)``, in any order."""
        ordered = sorted(spans)
        names = tuple(dict.fromkeys(name for _, _, name in ordered))
        number = {name: code for code, name in enumerate(names)}
        return cls(
            np.array([start for start, _, _ in ordered], np.int64),
            np.array([stop for _, stop, _ in ordered], np.int64),
            np.array([number[name] for _, _, name in ordered], np.int32),
            names,
        )

    def __post_init__(self) -> None:
        for field, dtype in (("starts", np.int64), ("stops", np.int64), ("types", np.int32)):
            array = np.asarray(getattr(self, field), dtype)
            object.__setattr__(self, field, frozen(array.view()))
        sizes = len(self.starts), len(self.stops), len(self.types)
        if len(set(sizes)) > 1:
            got = "{}, {} and {}".format(*sizes)
            raise SchemeError(f"spans need as many starts as stops and types, got {got}")
        if (self.starts[1:] < self.starts[:-1]).any():
            raise SchemeError("spans must be sorted by start; Spans.of sorts them")
        if len(self) and not 0 <= self.types.min() <= self.types.max() < len(self.names):
            raise SchemeError(f"span types must number the {len(self.names)} names")
        if "" in self.names or len(set(self.names)) < len(self.names):
            raise SchemeError(f"span types must have names, all different, got {self.names}")

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        from skipchain.corpus.corpus import plural

        count = min(SHOWN, len(self))
        names = map(self.names.__getitem__, self.types[:count].tolist())
        first = zip(self.starts[:count].tolist(), self.stops[:count].tolist(), names, strict=True)
        shown = ", ".join(map(repr, first)) + (" …" if len(self) > count else "")
        return f"Spans({plural(len(self), 'span')}" + (f": {shown})" if shown else ")")

    def __eq__(self, other: object) -> bool:
        """Whether both have the same spans with the same types, however these are numbered."""
        if not isinstance(other, Spans):
            return NotImplemented
        return len(self) == len(other) and self.tolist() == other.tolist()

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> Ints:
        """How many tokens each span has. [K]"""
        return self.stops - self.starts

    def tokens(self) -> Ints:
        """The tokens of all spans, span after span.

        >>> Spans.of([(3, 4, "LOC"), (0, 2, "PER")]).tokens()
        array([0, 1, 3])
        """
        bounds = np.stack([self.starts, self.stops], axis=1).ravel()
        return members(bounds, np.arange(0, len(bounds), 2))

    def tolist(self) -> list[tuple[int, int, str]]:
        """``(start, stop, type)`` for each span."""
        names = map(self.names.__getitem__, self.types.tolist())
        return list(zip(self.starts.tolist(), self.stops.tolist(), names, strict=True))
