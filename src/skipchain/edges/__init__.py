"""Which labels depend on which: rules that link tokens, and the directed graphs they give."""

from skipchain.edges.dag import Dag
from skipchain.edges.ordering import Ordering, parse_orderings
from skipchain.edges.relations import EdgeSet, RuleEdges
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import (
    Alone,
    FunctionRule,
    Links,
    Previous,
    Rule,
    SameView,
    Siblings,
    same_word,
)

__all__ = [
    "Alone",
    "Dag",
    "EdgeSet",
    "FunctionRule",
    "Links",
    "Ordering",
    "Previous",
    "Rule",
    "RuleEdges",
    "SameView",
    "Siblings",
    "parse_orderings",
    "parse_rules",
    "same_word",
]
