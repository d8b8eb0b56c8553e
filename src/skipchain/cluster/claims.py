"""Which features all workers together have: each range of hashes is counted by one of them.

A worker claims its features, range by range, at the owner of each range. The owner adds up the
counts, numbers what occurs often enough, and answers each worker. No worker sees all features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Ints
from skipchain.cluster.hashing import Hashes, range_of

DROPPED = -1


@dataclass(frozen=True)
class Claims:
    """Features of one worker: hashes [K], the template of each [K], and how often they occur [K].

    >>> claims = Claims(np.array([7, 1 << 63], np.uint64), np.array([0, 1]), np.array([2, 1]))
    >>> [part.hashes.tolist() for part, _ in claims.by_range(2)]
    [[7], [9223372036854775808]]
    """

    hashes: Hashes
    templates: NDArray[np.integer]
    counts: Ints

    def by_range(self, ranges: int) -> list[tuple[Claims, Ints]]:
        """The claims in each range of hashes, and their places here."""
        owners = range_of(self.hashes, ranges)
        order = np.argsort(owners, kind="stable")
        cuts = np.searchsorted(owners[order], np.arange(1, ranges))
        return [(self.take(places), places) for places in np.split(order, cuts)]

    def take(self, places: Ints) -> Claims:
        """Some of the claims."""
        return Claims(self.hashes[places], self.templates[places], self.counts[places])


@dataclass(frozen=True)
class Settled:
    """The features of one range that are kept, numbered by template and falling count."""

    per_template: Ints  # [T]
    answers: tuple[Answer, ...]
    """To each worker."""

    @classmethod
    def of(cls, claims: Sequence[Claims], templates: int, min_count: int) -> Settled:
        """What is settled for the claims of all workers to one range."""
        hashes, first, places = np.unique(
            np.concatenate([own.hashes for own in claims]), return_index=True, return_inverse=True
        )
        counts = np.zeros(len(hashes), np.int64)
        np.add.at(counts, places, np.concatenate([own.counts for own in claims]))
        of_template = np.concatenate([own.templates for own in claims])[first].astype(np.int64)
        kept = np.flatnonzero(counts >= min_count)
        order = kept[np.lexsort((hashes[kept], -counts[kept], of_template[kept]))]
        numbers = np.full(len(hashes), DROPPED, np.int64)
        numbers[order] = np.arange(len(order))
        # the first worker that has a feature will name it
        names = np.zeros(len(places), np.bool_)
        names[first] = True
        ends = np.cumsum([len(own.hashes) for own in claims])[:-1]
        answers = [
            Answer(numbers[own], first_here)
            for own, first_here in zip(np.split(places, ends), np.split(names, ends), strict=True)
        ]
        return cls(np.bincount(of_template[kept], minlength=templates), tuple(answers))


@dataclass(frozen=True)
class Answer:
    """The number of each claimed feature in its range (−1: not kept), and whether to name it."""

    numbers: Ints  # [K]
    names: NDArray[np.bool_]  # [K]


@dataclass(frozen=True)
class Numbering:
    """How numbers in ranges become numbers of all features, template by template.

    ``per_template`` [R, T] says how many features of each template each range has, ``families``
    [T] to which family a template belongs: each family is numbered from 0 on.

    >>> numbering = Numbering(np.array([[2, 1], [1, 1]]), np.array([0, 0]))
    >>> numbering.shifts.tolist()
    [[0, 1], [2, 3]]
    """

    per_template: Ints
    families: Ints

    @property
    def first(self) -> Ints:
        """The number of the first feature of each template and range. [R, T]"""
        ranges, templates = self.per_template.shape
        found = np.zeros((ranges, templates), np.int64)
        for family in np.unique(self.families):
            chosen = np.flatnonzero(self.families == family)
            sizes = self.per_template[:, chosen].T.ravel()
            found[:, chosen] = (np.cumsum(sizes) - sizes).reshape(len(chosen), ranges).T
        return found

    @property
    def shifts(self) -> Ints:
        """What to add to a number in a range, by template. [R, T]"""
        inside = np.cumsum(self.per_template, axis=1) - self.per_template
        return self.first - inside

    def size(self, family: int) -> int:
        """How many features a family has."""
        return int(self.per_template[:, self.families == family].sum())
