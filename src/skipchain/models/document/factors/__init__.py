"""Knowledge about whole documents, as factors beside a chain model."""

from __future__ import annotations

from skipchain.models.document.factors.agreement import KEYS, Agreement
from skipchain.models.document.factors.base import Relation, SpanFactor, Wiring
from skipchain.models.document.factors.consistency import Consistency
from skipchain.models.document.factors.counts import Counts, count_pairs
from skipchain.models.document.factors.forbidden import Forbidden
from skipchain.models.document.factors.last_word import LastWord
from skipchain.models.document.factors.mentions import Mentions
from skipchain.models.document.factors.python import OwnFactor
from skipchain.models.document.factors.text import parse_factors

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
