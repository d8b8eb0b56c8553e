"""Rare types that are written much like a frequent one: most likely they are that one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.corpus.column import Column
from skipchain.corpus.schemes.labels import split

TIMES = 20  # as often as the rare type, at least, comes the frequent one


@dataclass(frozen=True, slots=True)
class NearType:
    """A rare type, the frequent one that it is like, how many tokens have each, and the first."""

    rare: str
    frequent: str
    counts: tuple[int, int]
    token: int

    @property
    def by_case(self) -> bool:
        """Whether they differ in nothing but upper and lower case."""
        return self.rare.casefold() == self.frequent.casefold()


def near_types(labels: Column) -> list[NearType]:
    """Rare types that differ from a frequent one in case, or by two letters that change places.

    >>> found = near_types(Column.encode(["B-PER"] * 40 + ["B-Per", "B-PRE", "B-LOC"]))
    >>> [(near.rare, near.frequent, near.by_case) for near in found]
    [('PRE', 'PER', False), ('Per', 'PER', True)]
    """
    counts: dict[str, int] = {}
    codes = np.bincount(labels.codes, minlength=len(labels.values)).tolist()
    for label, count in zip(labels.values, codes, strict=True):
        name = split(label)[1]
        if name and count:
            counts[name] = counts.get(name, 0) + count
    found = []
    for rare in sorted(counts):
        like = [name for name in counts if counts[name] >= TIMES * counts[rare]]
        for name in sorted(like, key=counts.__getitem__, reverse=True):
            if rare.casefold() == name.casefold() or _transposed(rare, name):
                own = [split(label)[1] == rare for label in labels.values]
                token = int(np.array(own, bool)[labels.codes].argmax())
                found.append(NearType(rare, name, (counts[rare], counts[name]), token))
                break
    return found


def _transposed(one: str, other: str) -> bool:
    """Whether two neighbouring letters have changed places."""
    if len(one) != len(other) or one == other:
        return False
    k = next(k for k in range(len(one)) if one[k] != other[k])
    return one[k : k + 2] == other[k : k + 2][::-1] and one[k + 2 :] == other[k + 2 :]
