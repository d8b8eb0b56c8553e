"""Knowledge about whole documents, as factors beside a chain model."""

from __future__ import annotations

from skipchain.factors.agreement import KEYS, Agreement
from skipchain.factors.consistency import Consistency
from skipchain.factors.counts import Counts, count_pairs
from skipchain.factors.forbidden import Forbidden
from skipchain.factors.lastword import LastWord
from skipchain.factors.mentions import Mentions
from skipchain.factors.own import OwnFactor
from skipchain.factors.text import parse_factors
from skipchain.factors.wiring import Relation, SpanFactor, Wiring

__all__ = [
    "KEYS",
    "Agreement",
    "Consistency",
    "Counts",
    "Forbidden",
    "LastWord",
    "Mentions",
    "OwnFactor",
    "Relation",
    "SpanFactor",
    "Wiring",
    "count_pairs",
    "parse_factors",
]
