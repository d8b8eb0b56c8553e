"""Counts of n-grams on disk, and patterns that query them.

What is learned from the counts (gazetteers, gender) belongs to `skipchain.resources.gazetteer` and
`skipchain.nametagger`.
"""

from __future__ import annotations

from skipchain.resources.ngrams.pattern import Pattern
from skipchain.resources.ngrams.store import Filler, NgramStore

__all__ = ["Filler", "NgramStore", "Pattern"]
