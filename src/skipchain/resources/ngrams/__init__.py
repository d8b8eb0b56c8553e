"""Counts of n-grams: stores of them, patterns over them."""

from __future__ import annotations

from skipchain.resources.ngrams.pattern import Pattern
from skipchain.resources.ngrams.store import Filler, NgramStore

__all__ = ["Filler", "NgramStore", "Pattern"]
