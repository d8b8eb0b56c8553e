"""Knowledge about whole documents, as factors beside a chain model."""

from __future__ import annotations

from skipchain.models.document.factors.agreement import KEY_FUNCTIONS, Agreement
from skipchain.models.document.factors.base import FactorEdges, PairPotential, SpanFactor
from skipchain.models.document.factors.consistency import Consistency
from skipchain.models.document.factors.counts import PairCounts, count_pairs
from skipchain.models.document.factors.forbidden import Forbidden
from skipchain.models.document.factors.last_word import LastWord
from skipchain.models.document.factors.mentions import MentionStrings
from skipchain.models.document.factors.python import PythonFactor
from skipchain.models.document.factors.text import parse_factors

__all__ = [
    "KEY_FUNCTIONS",
    "Agreement",
    "Consistency",
    "FactorEdges",
    "Forbidden",
    "LastWord",
    "MentionStrings",
    "PairCounts",
    "PairPotential",
    "PythonFactor",
    "SpanFactor",
    "count_pairs",
    "parse_factors",
]
