"""One label: ``O``, or a prefix, a hyphen and a type."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from skipchain.corpus.column import frozen
from skipchain.corpus.schemes.scheme import OUTSIDE, TABLE, Scheme
from skipchain.errors import SchemeError

# Every prefix of every scheme; L and U are other spellings of E and S.
PREFIXES: dict[str, int] = {**TABLE["bioes"].prefixes, **TABLE["bilou"].prefixes}
UNKNOWN = "_"  # the label of a token whose label is not known
KEPT = 256  # lists of labels whose parts are remembered


def types(labels: Sequence[str], scheme: str | None = None) -> tuple[str, ...]:
    """The span types that labels name, sorted; without a scheme labels need prefixes.

    >>> types(["O", "B-PER", "I-PER", "S-LOC"]), types(["street", "city"], "bare")
    (('LOC', 'PER'), ('city', 'street'))
    """
    return tuple(sorted(parse(labels, None if scheme is None else TABLE[scheme])[2]))


def labels_in_scheme(labels: Sequence[str], source: str | None, scheme: str) -> tuple[str, ...]:
    """All labels that a scheme has for what some labels of another one name.

    >>> labels_in_scheme(["O", "B-PER", "I-PER"], "iob2", "bioes")
    ('O', 'I-PER', 'B-PER', 'E-PER', 'S-PER')
    """
    outside = ("O",) if "O" in labels else ()
    table, kinds = TABLE[scheme], types(labels, source)
    marks = (0,) if table.bare else table.prefixes.values()
    return (*outside, *(table.spell(mark, kind) for kind in kinds for mark in marks))


def parse(
    labels: Sequence[str], scheme: Scheme | None
) -> tuple[NDArray[np.int8], NDArray[np.int32], tuple[str, ...]]:
    """Each label's mark ``int8 [L]`` and type ``int32 [L]``, and the names of the types.

    Without a scheme every known prefix is read.

    >>> marks, kinds, names = parse(["O", "I-PER", "B-PER"], TABLE["iob2"])
    >>> marks.tolist(), kinds.tolist(), names
    ([-1, 0, 1], [-1, 0, 0], ('PER',))
    """
    return _parse(tuple(labels), scheme)


@lru_cache(KEPT)
def _parse(
    labels: tuple[str, ...], scheme: Scheme | None
) -> tuple[NDArray[np.int8], NDArray[np.int32], tuple[str, ...]]:
    """What `parse` gives; text after text has the same labels."""
    prefixes = PREFIXES if scheme is None else scheme.prefixes
    bare = scheme is not None and scheme.bare
    marks = np.full(len(labels), OUTSIDE, np.int8)
    kinds = np.full(len(labels), OUTSIDE, np.int32)
    numbers: dict[str, int] = {}
    for row, label in enumerate(labels):
        if label == "O":
            continue
        prefix, name = ("", label) if bare else split(label)
        if prefix not in prefixes and not (bare and name not in ("", UNKNOWN)):
            shown = "any scheme" if scheme is None else scheme.name
            wanted = ", ".join(f"{p}-TYPE" for p in PREFIXES) if scheme is None else scheme.forms
            fault = f"label {label!r} does not belong to {shown}: wanted O or {wanted}"
            advice = "is the scheme right, and is this the column of labels?"
            if scheme is not None and not any(split(other)[0] for other in labels):
                advice = "no label has a prefix: where runs of one are spans, say --scheme bare"
            raise SchemeError(f"{fault}; {advice}", label)
        marks[row] = 0 if bare else prefixes[prefix]
        kinds[row] = numbers.setdefault(name, len(numbers))
    return frozen(marks), frozen(kinds), tuple(numbers)


def belongs(label: str, scheme: Scheme) -> bool:
    """Whether a label has the form of those of a scheme.

    >>> [belongs(label, TABLE["iob2"]) for label in ("O", "B-PER", "S-PER", "NN")]
    [True, True, False, False]
    """
    return label == "O" or scheme.bare or split(label)[0] in scheme.prefixes


def split(label: str) -> tuple[str, str]:
    """The prefix and the type; two empty strings where the label has no such form.

    >>> split("B-time-of-day"), split("NN"), split("B-")
    (('B', 'time-of-day'), ('', ''), ('', ''))
    """
    prefix, _, name = label.partition("-")
    return (prefix, name) if prefix in PREFIXES and name else ("", "")
