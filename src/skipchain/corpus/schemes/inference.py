"""Inference of the scheme that labels are written in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.schemes.labels import split
from skipchain.corpus.schemes.layout import Layout, marks_of, read
from skipchain.corpus.schemes.scheme import CLOSES, OPENS, OUTSIDE, SCHEMES, TABLE, Scheme
from skipchain.corpus.schemes.violations import describe_first, violations_of

# Where several schemes fit, the first of these is taken. They read the labels alike, so the choice
# decides only how new spans will be written: iob1 stands before io because it can write them all.
PREFERENCE = ("iob2", "bioes", "bilou", "ioe2", "iob1", "ioe1", "io")

# A redundant mark is forgiven to iob1 and ioe1 if at least so many spans do without one; the
# CoNLL-2003 training data have 2 redundant B- against 23,427 spans that I- opens.
MIN_REGULAR_PER_REDUNDANT = 20


@dataclass(frozen=True, slots=True)
class SchemeInference:
    """The scheme that fits (None where none does), all that fit, and why."""

    scheme: str | None
    candidates: tuple[str, ...]
    reason: str
    spanlike: bool = True
    """Whether every label is ``O`` or ``PREFIX-TYPE``, as labels of spans are."""


def infer_scheme(column: Column, offsets: Ints) -> SchemeInference:
    """Infer the scheme that labels are written in.

    None where they are not of the form ``O`` or ``PREFIX-TYPE`` (parts of speech, say), or where
    they fit no scheme; the reason then names the first label that does not fit.

    >>> infer_scheme(Column.encode(["O", "I-PER", "B-PER"]), np.array([0, 3]))
    SchemeInference(scheme='iob1', candidates=('iob1',),
                    reason='I- opens spans and B- splits neighbours: iob1', spanlike=True)
    >>> infer_scheme(Column.encode(["DT", "NN"]), np.array([0, 2])).reason
    "label 'DT' is neither O nor PREFIX-TYPE: the labels mark no spans"
    """
    labels = [column.values[code] for code in column.used() if column.values[code] != "O"]
    for label in labels:
        if not split(label)[0]:
            reason = f"label {label!r} is neither O nor PREFIX-TYPE: the labels mark no spans"
            return SchemeInference(None, (), reason, spanlike=False)
    if not labels:
        return SchemeInference(PREFERENCE[0], SCHEMES, "there is no label but O: every scheme fits")
    letters = {split(label)[0] for label in labels}
    possible = [TABLE[name] for name in PREFERENCE if letters <= TABLE[name].prefixes.keys()]
    if not possible:
        together = " and ".join(f"{letter}-" for letter in sorted(letters))
        return SchemeInference(None, (), f"no scheme has the prefixes {together} together")
    marks, layout = read(column, offsets, None)
    fitting = [scheme for scheme in possible if fits_scheme(marks, layout, scheme)]
    if fitting:
        reason = f"{describe(marks, layout, fitting[0])}: {fitting[0].name}"
        return SchemeInference(fitting[0].name, tuple(scheme.name for scheme in fitting), reason)
    nearest = min(possible, key=lambda scheme: count_misfits(marks, layout, scheme))
    clash = describe_first(violations_of(column, offsets, nearest, marks, layout))
    return SchemeInference(None, (), f"no scheme fits; {nearest.name} is nearest, but {clash}")


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
