"""Labels to spans, spans to labels, and one scheme to another."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.schemes.layout import Layout, layout_of, marks_of, read, write
from skipchain.corpus.schemes.scheme import TABLE, Scheme, check_scheme
from skipchain.corpus.schemes.spans import Spans
from skipchain.corpus.schemes.violations import describe_first, violations_of
from skipchain.errors import SchemeError


def decode(column: Column, offsets: Ints, scheme: str, *, strict: bool = False) -> Spans:
    """The spans that labels mark; ``offsets int64 [M + 1]`` are the sentences, which end a span.

    Invalid sequences are read as the CoNLL script conlleval reads them. With ``strict`` a span
    counts only if each of its labels is what the scheme would write, as in the strict mode of
    seqeval; so a redundant B- of iob1 takes its span away.

    >>> labels = Column.encode(["I-PER", "I-PER", "B-LOC", "O"])
    >>> decode(labels, np.array([0, 4]), "iob2").tolist()
    [(0, 2, 'PER'), (2, 3, 'LOC')]
    >>> decode(labels, np.array([0, 4]), "iob2", strict=True).tolist()
    [(2, 3, 'LOC')]
    """
    table = TABLE[check_scheme(scheme)]
    marks, layout = read(column, offsets, table)
    spans = layout.spans()
    if not strict or not len(spans):
        return spans
    # Between the stop of a span and the next start there are only O, which are never wrong.
    bad = np.logical_or.reduceat(marks != marks_of(layout, table), spans.starts)
    return Spans(spans.starts[~bad], spans.stops[~bad], spans.types[~bad], spans.names)


def encode(spans: Spans, offsets: Ints, scheme: str, *, lossy: bool = False) -> Column:
    """The labels that mark the spans, one for each of the ``offsets[-1]`` tokens.

    ``io`` and ``bare`` cannot tell touching spans of the same type apart: that is an error unless
    ``lossy``.

    >>> spans = Spans.of([(0, 2, "PER"), (2, 3, "PER")])
    >>> encode(spans, np.array([0, 4]), "bioes").tolist()
    ['B-PER', 'E-PER', 'S-PER', 'O']
    >>> encode(spans, np.array([0, 4]), "iob1").tolist()
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    table = TABLE[check_scheme(scheme)]
    layout = layout_of(spans, offsets)
    check_loss(layout, table, lossy)
    return write(layout, table)


def convert(
    column: Column, offsets: Ints, source: str, target: str, *, lossy: bool = False
) -> Column:
    """The labels that mark the same spans in another scheme.

    Labels that break the source scheme are an error, but a redundant B- of iob1 or E- of ioe1 is
    not: its meaning is clear. ``lossy`` lets ``io`` and ``bare`` merge touching spans of one type.

    >>> labels = Column.encode(["I-PER", "B-PER", "I-PER", "O"])
    >>> convert(labels, np.array([0, 4]), "iob1", "bioes").tolist()
    ['S-PER', 'B-PER', 'E-PER', 'O']
    """
    old, new = TABLE[check_scheme(source)], TABLE[check_scheme(target)]
    marks, layout = read(column, offsets, old)
    if not old.only_if_needed and (marks != marks_of(layout, old)).any():
        first = describe_first(violations_of(column, offsets, old, marks, layout))
        fault = f"the labels are not valid {old.name}, so they are not converted: {first}"
        advice = (
            "repair them when reading (--repair, repair=True), or learn them as they are "
            "(--learn-as none --set constraints=none)"
        )
        raise SchemeError(f"{fault}; {advice}")
    check_loss(layout, new, lossy)
    return write(layout, new)


def respell(column: Column, offsets: Ints, source: str, target: str) -> tuple[Column, Spans]:
    """The labels of another scheme for the spans that labels mark, and these spans.

    Invalid sequences are read as `decode` reads them, and ``io`` merges what touches.

    >>> labels, spans = respell(Column.encode(["O", "I-PER"]), np.array([0, 2]), "iob2", "bioes")
    >>> labels.tolist(), spans.tolist()
    (['O', 'S-PER'], [(1, 2, 'PER')])
    """
    _, layout = read(column, offsets, TABLE[check_scheme(source)])
    return write(layout, TABLE[check_scheme(target)]), layout.spans()


def count_merged(spans: Spans, offsets: Ints) -> int:
    """How many spans ``io`` or ``bare`` would merge with the one before, of the same type.

    >>> count_merged(Spans.of([(0, 2, "PER"), (2, 3, "PER"), (3, 4, "LOC")]), np.array([0, 4]))
    1
    """
    return int(layout_of(spans, offsets).touches.sum())


def check_loss(layout: Layout, target: Scheme, lossy: bool) -> None:
    """Refuse to merge spans unless the caller asked for it (``lossy``)."""
    lost = int(layout.touches.sum())
    if target.merges and lost and not lossy:
        token = int(layout.touches.argmax())
        count = "1 span" if lost == 1 else f"{lost} spans"
        raise SchemeError(
            f"{target.name} would merge {count} with a neighbour of the same type, first the "
            f"{layout.names[layout.types[token]]} at token {token}; choose another scheme, or pass "
            "lossy=True"
        )
