"""Numbers of 64 bits for features, the same on every machine, whatever numbers they have there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skipchain.features.reader import RESERVED
from skipchain.features.strings import StringTable
from skipchain.features.template import Template, View

Hashes = NDArray[np.uint64]

PRIME = np.uint64(0x100000001B3)
BASIS = np.uint64(0xCBF29CE484222325)
STEP = np.uint64(0x9E3779B97F4A7C15)


def feature_hashes(
    templates: Sequence[Template],
    views: Mapping[View, StringTable],
    rows: Sequence[NDArray[np.int32]],
) -> list[Hashes]:
    """The hash of each feature of each template: of its strings, and of which template it is."""
    of_views = {view: string_hashes(strings) for view, strings in views.items()}
    found = []
    for k, (template, own) in enumerate(zip(templates, rows, strict=True)):
        hashes = np.full(len(own), _mix(STEP * np.array([k + 1], np.uint64))[0])
        for column, atom in zip(own.T, template.atoms, strict=True):
            hashes = _mix(hashes * PRIME ^ of_views[atom.view][column])
        found.append(hashes)
    return found


def string_hashes(strings: StringTable) -> Hashes:
    """The hashes of the places outside a sentence and of each string. [2 + K]"""
    starts, lengths, points = strings.starts, strings.lengths, strings.points
    hashes = np.full(len(strings), BASIS)
    left = np.arange(len(strings))
    for place in range(int(lengths.max(initial=0))):
        left = left[lengths[left] > place]
        hashes[left] = (hashes[left] ^ points[starts[left] + place].astype(np.uint64)) * PRIME
    outside = np.arange(1, RESERVED + 1, dtype=np.uint64)
    return np.concatenate([_mix(outside), _mix(hashes ^ (lengths.astype(np.uint64) * STEP))])


def range_of(hashes: Hashes, ranges: int) -> NDArray[np.int64]:
    """Which of so many equal ranges each hash lies in."""
    return ((hashes >> np.uint64(32)) * np.uint64(ranges) >> np.uint64(32)).astype(np.int64)


def _mix(hashes: Hashes) -> Hashes:
    """Every bit depends on all (the last steps of SplitMix64, Steele et al. 2014)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))
