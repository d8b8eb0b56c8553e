"""Labels that are spelt as no scheme has them: what they can only mean."""

from __future__ import annotations

import re

from skipchain.corpus.column import Column
from skipchain.corpus.schemes.labels import PREFIXES, split

OUTSIDE_SPELLINGS = ("o", "0")
UNDERSCORED = re.compile(r"(?P<prefix>[BIESLU])_(?P<name>\S+)")
LOWER = re.compile(r"(?P<prefix>[bieslu])[-_](?P<name>\S+)")
SUFFIXED = re.compile(r"(?P<name>[^\s-]{2,})[-_](?P<prefix>[BIESLU])")
PREFIXED = re.compile(r"([BIESLU])([-_])(.+)", re.IGNORECASE | re.DOTALL)


def readable_labels(labels: Column) -> tuple[Column, tuple[str, ...]]:
    """The labels as ``O`` or ``PREFIX-TYPE``, and those that can be read in no way, which become O.

    ``o`` and ``0`` are ``O``; ``b-PER`` and ``B_PER`` are ``B-PER``; ``PER`` is ``I-PER`` where
    other labels have that type.

    >>> written = Column.encode(["O", "B-PER", "b-PER", "PER", "0", "B-"])
    >>> labels, unreadable = readable_labels(written)
    >>> labels.tolist(), unreadable
    (['O', 'B-PER', 'B-PER', 'I-PER', 'O', 'O'], ('B-',))
    """
    present = [labels.values[code] for code in labels.used().tolist()]
    types = {split(label)[1] for label in present} - {""}
    values = [meaning(label, types) for label in labels.values]
    used = set(present)
    pairs = zip(labels.values, values, strict=True)
    unreadable = tuple(label for label, value in pairs if value is None and label in used)
    return labels.renamed(["O" if value is None else value for value in values]), unreadable


def in_our_spelling(labels: Column) -> Column | None:
    """Labels that are all spelt in another way, as ``B-TYPE``; None where they are not.

    Other ways are ``B_PER``, ``b-per`` and ``PER-B``, each beside ``O``, ``o`` or ``0``.

    >>> in_our_spelling(Column.encode(["B_PER", "I_PER", "O"])).tolist()
    ['B-PER', 'I-PER', 'O']
    >>> in_our_spelling(Column.encode(["B-PER", "I_PER", "O"])) is None
    True
    """
    values = [labels.values[code] for code in labels.used().tolist()]
    named = [value for value in values if value not in ("O", *OUTSIDE_SPELLINGS)]
    if len(named) == len(values) or not named:
        return None
    for pattern in (UNDERSCORED, LOWER, SUFFIXED):
        found = {value: pattern.fullmatch(value) for value in named}
        if not all(found.values()) or not any(m["prefix"] in "BIbi" for m in found.values() if m):
            continue
        ours = {value: f"{m['prefix'].upper()}-{m['name']}" for value, m in found.items() if m}
        return labels.renamed([ours.get(value, "O") for value in labels.values])
    return None


def meaning(label: str, types: set[str]) -> str | None:
    """The label as ``O`` or ``PREFIX-TYPE``; None where it says nothing."""
    if label == "O" or label in OUTSIDE_SPELLINGS:
        return "O"
    if split(label)[0]:
        return label
    if label in types:
        return f"I-{label}"
    if found := PREFIXED.fullmatch(label):
        prefix, sign, name = found[1].upper(), found[2], found[3]
        if prefix in PREFIXES and (sign == "-" or name in types):
            return f"{prefix}-{name}"
    return None
