"""The event "exactly this span is labelled so", as sets of labels over a window of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from skipchain.arrays import Bools, Ints
from skipchain.corpus.schemes import Spans
from skipchain.corpus.schemes.scheme import TABLE


@dataclass(frozen=True, slots=True)
class SpanEvents:
    """Windows of tokens with a set of allowed labels at each.

    Window k covers tokens ``starts[k] … stops[k] − 1`` with sets ``allowed[rows[k] + t]``; it
    belongs to span ``spans[k]``. The windows of one span are disjoint events: their probabilities
    add up.
    """

    starts: Ints  # [K]
    stops: Ints  # [K]
    rows: Ints  # [K]
    spans: Ints  # [K]
    allowed: Bools  # [·, S]

    def starting_in(self, first: int, last: int) -> tuple[Ints, SpanEvents]:
        """The windows that start at tokens ``first … last − 1``: their numbers, and these windows.

        Their tokens are counted from ``first``.
        """
        which = np.flatnonzero((self.starts >= first) & (self.starts < last))
        starts, stops = self.starts[which] - first, self.stops[which] - first
        return which, SpanEvents(starts, stops, self.rows[which], self.spans[which], self.allowed)


@dataclass(frozen=True, slots=True)
class _SpanPattern:
    """One way of writing a span: prefixes inside it, and prefixes that may not touch it."""

    first: str
    inside: str
    last: str
    alone: str
    not_before: str = ""
    not_after: str = ""


_SPAN_PATTERNS: dict[str, tuple[_SpanPattern, ...]] = {
    "io": (_SpanPattern("I", "I", "I", "I", not_before="I", not_after="I"),),
    "iob2": (_SpanPattern("B", "I", "I", "B", not_after="I"),),
    "iob1": (
        _SpanPattern("I", "I", "I", "I", not_before="IB", not_after="I"),
        _SpanPattern("B", "I", "I", "B", not_after="I"),
    ),
    "ioe2": (_SpanPattern("I", "I", "E", "E", not_before="I"),),
    "ioe1": (
        _SpanPattern("I", "I", "I", "I", not_before="I", not_after="IE"),
        _SpanPattern("I", "I", "E", "E", not_before="I"),
    ),
    "bioes": (_SpanPattern("B", "I", "E", "S"),),
    "bilou": (_SpanPattern("B", "I", "L", "U"),),
    "bare": (_SpanPattern("I", "I", "I", "I", not_before="I", not_after="I"),),
}


def span_events(spans: Spans, sentences: Ints, scheme: str, labels: Sequence[str]) -> SpanEvents:
    """The windows of each span in a scheme; a span may have several, which exclude each other."""
    among = partial(_labels_among, tuple(labels), TABLE[scheme].bare)
    starts, stops, rows, owners = [], [], [], []
    allowed: list[Bools] = []
    sentence = np.searchsorted(sentences, spans.starts, side="right") - 1
    limits = zip(sentences[sentence].tolist(), sentences[sentence + 1].tolist(), strict=True)
    for k, ((start, stop, type_name), (first, last)) in enumerate(zip(spans, limits, strict=True)):
        for form in _SPAN_PATTERNS[scheme]:
            rows.append(len(allowed))
            owners.append(k)
            before = bool(form.not_before) and start > first
            after = bool(form.not_after) and stop < last
            if before:
                allowed.append(~among(form.not_before, type_name))
            if stop - start == 1:
                allowed.append(among(form.alone, type_name))
            else:
                allowed.append(among(form.first, type_name))
                allowed.extend([among(form.inside, type_name)] * (stop - start - 2))
                allowed.append(among(form.last, type_name))
            if after:
                allowed.append(~among(form.not_after, type_name))
            starts.append(start - before)
            stops.append(stop + after)
    return SpanEvents(
        np.array(starts, np.int64),
        np.array(stops, np.int64),
        np.array(rows, np.int64),
        np.array(owners, np.int64),
        np.array(allowed, np.bool_).reshape(len(allowed), len(labels)),
    )


@lru_cache(maxsize=1024)
def _labels_among(labels: tuple[str, ...], bare: bool, prefixes: str, type_name: str) -> Bools:
    """Which labels have one of the prefixes and a type; those of a scheme without prefixes have it
    alone. [S]
    """
    wanted = {type_name if bare else f"{prefix}-{type_name}" for prefix in prefixes}
    chosen = np.array([label in wanted for label in labels], np.bool_)
    chosen.flags.writeable = False
    return chosen
