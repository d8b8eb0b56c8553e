"""One label: ``O``, or a prefix, a hyphen and a type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus.schemes.scheme import OUTSIDE, TABLE
from skipchain.errors import SchemeError

# Every prefix of every scheme; L and U are other spellings of E and S.
PREFIXES: dict[str, int] = {**TABLE["bioes"].prefixes, **TABLE["bilou"].prefixes}
UNKNOWN = "_"  # the label of a token whose label is not known


def types(labels: Sequence[str]) -> tuple[str, ...]:
    """The span types that labels of any scheme name, sorted.

    >>> types(["O", "B-PER", "I-PER", "S-LOC"])
    ('LOC', 'PER')
    """
    return tuple(sorted(parse(labels, PREFIXES, "any scheme")[2]))


def labels_in_scheme(labels: Sequence[str], scheme: str) -> tuple[str, ...]:
    """All labels that a scheme has for what some labels of any scheme name.

    >>> labels_in_scheme(["O", "B-PER", "I-PER"], "bioes")
    ('O', 'I-PER', 'B-PER', 'E-PER', 'S-PER')
    """
    outside = ("O",) if "O" in labels else ()
    letters = TABLE[scheme].prefixes
    return (*outside, *(f"{letter}-{kind}" for kind in types(labels) for letter in letters))


def parse(
    labels: Sequence[str], prefixes: Mapping[str, int], scheme: str
) -> tuple[NDArray[np.int8], NDArray[np.int32], tuple[str, ...]]:
    """Each label's mark ``int8 [L]`` and type ``int32 [L]``, and the names of the types.

    >>> marks, kinds, names = parse(["O", "I-PER", "B-PER"], {"I": 0, "B": 1}, "iob2")
    >>> marks.tolist(), kinds.tolist(), names
    ([-1, 0, 1], [-1, 0, 0], ('PER',))
    """
    marks = np.full(len(labels), OUTSIDE, np.int8)
    kinds = np.full(len(labels), OUTSIDE, np.int32)
    numbers: dict[str, int] = {}
    for row, label in enumerate(labels):
        if label == "O":
            continue
        prefix, name = split(label)
        if prefix not in prefixes:
            wanted = ", ".join(f"{letter}-TYPE" for letter in prefixes)
            fault = f"label {label!r} does not belong to {scheme}: wanted O or {wanted}"
            advice = "is the scheme right, and is this the column of labels?"
            raise SchemeError(f"{fault}; {advice}")
        marks[row] = prefixes[prefix]
        kinds[row] = numbers.setdefault(name, len(numbers))
    return marks, kinds, tuple(numbers)


def split(label: str) -> tuple[str, str]:
    """The prefix and the type; two empty strings where the label has no such form.

    >>> split("B-time-of-day"), split("NN"), split("B-")
    (('B', 'time-of-day'), ('', ''), ('', ''))
    """
    prefix, _, name = label.partition("-")
    return (prefix, name) if prefix in PREFIXES and name else ("", "")
