"""Labels that are not what their scheme would write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.corpus.column import Column
from skipchain.corpus.schemes.layout import Layout, marks_of, read, write
from skipchain.corpus.schemes.scheme import CLOSES, OPENS, TABLE, Scheme, check_scheme


@dataclass(frozen=True, slots=True)
class Violation:
    """One label that its scheme would write otherwise; ``previous`` is None at a sentence start."""

    token: int
    sentence: int
    label: str
    previous: str | None
    expected: str
    reason: str

    def __str__(self) -> str:
        return f"token {self.token} (sentence {self.sentence}): {self.reason}"


def validate(column: Column, offsets: Ints, scheme: str) -> list[Violation]:
    """The labels that differ from what the scheme would write for the spans they mark.

    In iob1 and ioe1 every violation is a redundant mark, whose meaning is clear.

    >>> for violation in validate(Column.encode(["O", "I-PER"]), np.array([0, 2]), "iob2"):
    ...     print(violation)
    token 1 (sentence 0): I-PER opens a span after O; iob2 writes B-PER
    """
    table = TABLE[check_scheme(scheme)]
    return violations_of(column, offsets, table, *read(column, offsets, table))


def repair(column: Column, offsets: Ints, scheme: str) -> tuple[Column, list[Violation]]:
    """A valid column with the spans that the labels mark when read leniently, and what changed.

    >>> labels, changed = repair(Column.encode(["O", "I-PER"]), np.array([0, 2]), "iob2")
    >>> labels.tolist(), len(changed)
    (['O', 'B-PER'], 1)
    """
    table = TABLE[check_scheme(scheme)]
    marks, layout = read(column, offsets, table)
    violations = violations_of(column, offsets, table, marks, layout)
    return (write(layout, table) if violations else column), violations


def violations_of(
    column: Column, offsets: Ints, scheme: Scheme, marks: NDArray[np.int8], layout: Layout
) -> list[Violation]:
    """The violations of labels that have been read."""
    wanted = marks_of(layout, scheme)
    tokens = np.flatnonzero(marks != wanted)
    sentences = np.searchsorted(offsets, tokens, side="right") - 1
    violations = []
    for token, sentence in zip(tokens.tolist(), sentences.tolist(), strict=True):
        first, stop = offsets[sentence], offsets[sentence + 1]
        label = column.values[column.codes[token]]
        name = layout.names[layout.types[token]]
        previous = column.values[column.codes[token - 1]] if token > first else None
        following = column.values[column.codes[token + 1]] if token + 1 < stop else None
        expected = scheme.spell(int(wanted[token]), name)
        fault = describe_fault(int(marks[token]), int(wanted[token]), name, previous, following)
        reason = f"{label} {fault}; {scheme.name} writes {expected}"
        violations.append(Violation(token, sentence, label, previous, expected, reason))
    return violations


def describe_fault(
    mark: int, wanted: int, name: str, previous: str | None, following: str | None
) -> str:
    """The fault of a label whose mark is not the one wanted, in words."""
    if mark & ~wanted:  # only schemes that mark `only_if_needed` want less than was read
        return f"does not split two touching {name} spans"
    missing = wanted & ~mark
    if missing == OPENS | CLOSES:
        return "is a span of one token"
    if missing == OPENS:
        return "opens a span " + (f"after {previous}" if previous else "at the sentence start")
    return "closes a span " + (f"before {following}" if following else "at the sentence end")


def describe_first(violations: Sequence[Violation]) -> str:
    """The first violation, and how many more there are."""
    more = len(violations) - 1
    return f"{violations[0]}" + (f" (and {more:,} more)" if more else "")
