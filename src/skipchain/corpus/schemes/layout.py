"""Where spans lie over the tokens, whatever the scheme: the middle of every conversion.

labels --read--> marks, Layout <--layout_of-- Spans
                    Layout --marks_of--> marks --write--> labels
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Bools, Ints
from skipchain.corpus.column import Column, frozen
from skipchain.corpus.schemes.labels import UNKNOWN, parse
from skipchain.corpus.schemes.scheme import CLOSES, OPENS, OUTSIDE, Scheme
from skipchain.corpus.schemes.spans import Spans
from skipchain.errors import SchemeError


@dataclass(frozen=True, slots=True)
class Layout:
    """The type of each token and which tokens open and close a span.

    ``types`` is ``int32 [N]``, -1 outside; ``opens`` and ``closes`` are ``bool [N]``; ``touches``
    is ``bool [N]``, the tokens that open a span which touches one of the same type before it.
    """

    types: NDArray[np.int32]
    opens: Bools
    closes: Bools
    touches: Bools
    names: tuple[str, ...]

    @property
    def inside(self) -> Bools:
        """Which tokens belong to a span, ``bool [N]``."""
        inside: Bools = self.types != OUTSIDE
        return inside

    def spans(self) -> Spans:
        """The spans, in order."""
        starts = np.flatnonzero(self.opens)
        return Spans(starts, np.flatnonzero(self.closes) + 1, self.types[starts], self.names)


def read(column: Column, offsets: Ints, scheme: Scheme | None) -> tuple[NDArray[np.int8], Layout]:
    """The marks ``int8 [N]`` of the labels, and the spans they mean when read leniently.

    The rules are those of conlleval (Tjong Kim Sang, 2000), in its form with E and S: a token
    continues the span before it if the type is the same, it does not open (B, S) and its
    predecessor does not close (E, S); else it starts a span of its own.
    Without a scheme every known prefix is read.
    """
    if len(offsets) == 0 or offsets[-1] != len(column):
        end = offsets[-1] if len(offsets) else "nothing"
        raise SchemeError(f"sentence offsets end at {end}, but there are {len(column)} labels")
    # A slice of a column keeps values that none of its tokens has: they must not be judged.
    used = column.used()
    value_marks = np.full(len(column.values), OUTSIDE, np.int8)
    value_types = np.full(len(column.values), OUTSIDE, np.int32)
    labels = [column.values[code] for code in used.tolist()]
    value_marks[used], value_types[used], names = parse(labels, scheme)
    marks, types = value_marks[column.codes], value_types[column.codes]

    same = same_before(types, offsets)
    joined = same.copy()
    joined[1:] &= ((marks[1:] & OPENS) | (marks[:-1] & CLOSES)) == 0
    inside = marks != OUTSIDE
    closes = inside.copy()
    closes[:-1] &= ~joined[1:]
    return marks, Layout(types, inside & ~joined, closes, same & ~joined, names)


def layout_of(spans: Spans, offsets: Ints) -> Layout:
    """The layout of spans that neither overlap nor cross a sentence boundary."""
    check_spans(spans, offsets)
    n = int(offsets[-1])
    types = np.full(n, OUTSIDE, np.int32)
    types[spans.tokens()] = np.repeat(spans.types, spans.lengths)
    opens, closes = np.zeros(n, bool), np.zeros(n, bool)
    opens[spans.starts] = True
    closes[spans.stops - 1] = True
    return Layout(types, opens, closes, opens & same_before(types, offsets), spans.names)


def marks_of(layout: Layout, scheme: Scheme) -> NDArray[np.int8]:
    """The mark ``int8 [N]`` that the scheme gives each token."""
    opens, closes = layout.opens, layout.closes
    if scheme.only_if_needed:
        opens = layout.touches
        closes = np.append(opens[1:], False) if len(opens) else opens
    marks = (opens * np.int8(OPENS) | closes * np.int8(CLOSES)) & np.int8(scheme.bits)
    return np.where(layout.inside, marks, np.int8(OUTSIDE))


def write(layout: Layout, scheme: Scheme) -> Column:
    """The labels of a layout; the values hold only labels that occur, ``O`` first."""
    if scheme.bare and (clash := {"O", UNKNOWN} & set(layout.names)):
        fault = f"{scheme.name} cannot write the type {min(clash)!r}, for its label would be taken"
        raise SchemeError(f"{fault} for one of no span; choose another scheme")
    marks = marks_of(layout, scheme)
    keys = np.where(layout.inside, layout.types * 4 + marks + 1, 0)
    counts = np.bincount(keys, minlength=1)
    used = np.flatnonzero(counts)
    renumber = np.zeros(len(counts), np.int32)
    renumber[used] = np.arange(len(used))
    values = tuple(
        scheme.spell((key - 1) % 4, layout.names[(key - 1) // 4]) if key else "O"
        for key in used.tolist()
    )
    return Column(frozen(renumber[keys]), values)


def same_before(types: NDArray[np.int32], offsets: Ints) -> Bools:
    """Which tokens follow one of the same type in the same sentence, ``bool [N]``."""
    same = np.zeros(len(types), bool)
    same[1:] = (types[1:] == types[:-1]) & (types[1:] != OUTSIDE)
    same[offsets[offsets < len(types)]] = False
    return same


def check_spans(spans: Spans, offsets: Ints) -> None:
    """Refuse spans that no labels can express."""
    n = int(offsets[-1])
    for bad, fault in (
        (spans.starts >= spans.stops, "is empty; a span has at least one token"),
        ((spans.starts < 0) | (spans.stops > n), f"lies outside the {n} tokens"),
    ):
        if bad.any():
            raise SchemeError(f"{describe(spans, int(bad.argmax()))} {fault}")
    ends = offsets[np.searchsorted(offsets, spans.starts, side="right")]
    crossing = spans.stops > ends
    if crossing.any():
        k = int(crossing.argmax())
        fault = f"crosses the end of its sentence at token {ends[k]}; cut it there"
        raise SchemeError(f"{describe(spans, k)} {fault}")
    overlapping = spans.starts[1:] < spans.stops[:-1]
    if overlapping.any():
        k = int(overlapping.argmax())
        pair = f"{describe(spans, k + 1)} overlaps {describe(spans, k)}"
        raise SchemeError(f"{pair}; labels hold one span per token, so drop one of them")


def describe(spans: Spans, k: int) -> str:
    """``span 3 (PER, tokens 5:7)``."""
    name = spans.names[spans.types[k]]
    return f"span {k} ({name}, tokens {spans.starts[k]}:{spans.stops[k]})"
