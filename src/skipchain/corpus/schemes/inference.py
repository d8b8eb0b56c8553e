"""Inference of the scheme that labels are written in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.schemes.bare import judge_bare
from skipchain.corpus.schemes.labels import split
from skipchain.corpus.schemes.layout import Layout, marks_of, read, write
from skipchain.corpus.schemes.scheme import CLOSES, OPENS, OUTSIDE, SCHEMES, TABLE, Scheme
from skipchain.corpus.schemes.violations import describe_first, violations_of

# Where several schemes fit, the first of these is taken. They read the labels alike, so the choice
# decides only how new spans will be written: iob1 stands before io because it can write them all.
PREFERENCE = ("iob2", "bioes", "bilou", "ioe2", "iob1", "ioe1", "io")

NO_SPANS = "the labels mark no spans"

# A redundant mark is forgiven to iob1 and ioe1 if at least so many spans do without one; the
# CoNLL-2003 training data have 2 redundant B- against 23,427 spans that I- opens.
MIN_REGULAR_PER_REDUNDANT = 20


@dataclass(frozen=True, slots=True)
class SchemeInference:
    """The scheme that fits (None where none does), all that fit, and why.

    ``nearest`` is the scheme that labels of spans would have with the fewest changes, where none
    fits; None for labels that mark no spans.
    """

    scheme: str | None
    candidates: tuple[str, ...]
    reason: str
    nearest: str | None = None


def infer_scheme(column: Column, offsets: Ints) -> SchemeInference:
    """Infer the scheme that labels are written in.

    Labels without prefixes, and without ``O``, are ``bare`` or mark no spans (parts of speech, say;
    see `skipchain.corpus.schemes.bare`). None where labels mark no spans, or where they fit no
    scheme; the reason then names the first label that does not fit.

    >>> infer_scheme(Column.encode(["O", "I-PER", "B-PER"]), np.array([0, 3]))
    SchemeInference(scheme='iob1', candidates=('iob1',),
                    reason='I- opens spans and B- splits neighbours: iob1', nearest=None)
    >>> infer_scheme(Column.encode(["street", "street", "city"]), np.array([0, 3])).scheme
    'bare'
    >>> infer_scheme(Column.encode(["DT", "NN"]), np.array([0, 2])).reason
    'the labels are parts of speech: they mark no spans'
    """
    present = [column.values[code] for code in column.used()]
    labels = [label for label in present if label != "O"]
    if not labels:
        return SchemeInference(PREFERENCE[0], SCHEMES, "there is no label but O: every scheme fits")
    odd = next((label for label in labels if not split(label)[0]), None)
    if odd is None:
        return infer_prefixed(column, offsets, {split(label)[0] for label in labels})
    if "O" in present or any(split(label)[0] for label in labels):
        return SchemeInference(None, (), f"label {odd!r} is neither O nor PREFIX-TYPE: {NO_SPANS}")
    bare, reason = judge_bare(column, offsets)
    return SchemeInference("bare", ("bare",), reason) if bare else SchemeInference(None, (), reason)


def infer_prefixed(column: Column, offsets: Ints, letters: set[str]) -> SchemeInference:
    """Infer the scheme of labels that have these letters before their types."""
    possible = [TABLE[name] for name in PREFERENCE if letters <= TABLE[name].prefixes.keys()]
    marks, layout = read(column, offsets, None)
    fitting = [scheme for scheme in possible if fits_scheme(marks, layout, scheme)]
    if fitting:
        reason = f"{describe(marks, layout, fitting[0])}: {fitting[0].name}"
        return SchemeInference(fitting[0].name, tuple(scheme.name for scheme in fitting), reason)
    changes = {name: count_changes(column, layout, TABLE[name]) for name in PREFERENCE}
    nearest = min(
        map(TABLE.__getitem__, changes), key=lambda s: (changes[s.name], s not in possible)
    )
    if nearest in possible:
        first = describe_first(violations_of(column, offsets, nearest, marks, layout))
        reason = f"no scheme fits; {nearest.name} is nearest, but {first}"
    elif possible:
        count = changes[nearest.name]
        reason = f"no scheme fits; {nearest.name} is nearest, and writes {count:,} labels otherwise"
    else:
        together = " and ".join(f"{letter}-" for letter in sorted(letters))
        reason = f"no scheme has the prefixes {together} together; {nearest.name} is nearest"
    return SchemeInference(None, (), reason, nearest.name)


def fits_scheme(marks: NDArray[np.int8], layout: Layout, scheme: Scheme) -> bool:
    """Whether the scheme would write these marks, a few redundant ones of iob1 and ioe1 aside."""
    wrong = count_misfits(marks, layout, scheme)
    if not scheme.only_if_needed:
        return wrong == 0
    edges = layout.opens if scheme.bits == OPENS else layout.closes
    plain = int((edges & (marks == 0)).sum())
    return wrong * MIN_REGULAR_PER_REDUNDANT <= plain


def count_misfits(marks: NDArray[np.int8], layout: Layout, scheme: Scheme) -> int:
    """The number of tokens that the scheme would mark otherwise."""
    return int((marks != marks_of(layout, scheme)).sum())


def count_changes(column: Column, layout: Layout, scheme: Scheme) -> int:
    """The number of tokens that the scheme would label otherwise, whatever letters they have."""
    wanted = write(layout, scheme)
    number = {label: code for code, label in enumerate(wanted.values)}
    codes = np.array([number.get(label, -1) for label in column.values], np.int64)
    return int((codes[column.codes] != wanted.codes).sum())


def describe(marks: NDArray[np.int8], layout: Layout, scheme: Scheme) -> str:
    """The evidence for the scheme, in words."""
    if not (marks > 0).any():
        return "I- is the only prefix, so every span is read alike"
    if not scheme.only_if_needed:
        opening = f"{scheme.letters[OPENS]}- opens every span"
        closing = f"{scheme.letters[CLOSES]}- closes every span"
        single = f"{scheme.letters[OPENS | CLOSES]}- is a span of one token"
        return {OPENS: opening, CLOSES: closing}.get(scheme.bits, f"{opening}, {closing}, {single}")
    letter, verb = ("B", "opens") if scheme.bits == OPENS else ("E", "closes")
    redundant = count_misfits(marks, layout, scheme)
    total = int(((marks != OUTSIDE) & (marks & scheme.bits > 0)).sum())
    aside = f" ({redundant} of {total} {letter}- are redundant)" if redundant else ""
    return f"I- {verb} spans and {letter}- splits neighbours{aside}"
