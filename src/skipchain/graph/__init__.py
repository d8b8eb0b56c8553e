"""Which labels depend on which: rules that link tokens, and the directed graphs they give."""

from skipchain.graph.dag import Dag
from skipchain.graph.ordering import Ordering, parse_orderings
from skipchain.graph.relations import Relation, Relations
from skipchain.graph.rules import (
    Alone,
    Links,
    Own,
    Previous,
    Rule,
    Same,
    Siblings,
    same_word,
)
from skipchain.graph.ruletext import parse_rules

__all__ = [
    "Alone",
    "Dag",
    "Links",
    "Ordering",
    "Own",
    "Previous",
    "Relation",
    "Relations",
    "Rule",
    "Same",
    "Siblings",
    "parse_orderings",
    "parse_rules",
    "same_word",
]
