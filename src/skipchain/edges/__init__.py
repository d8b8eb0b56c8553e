"""Which labels depend on which: rules that link tokens, and the directed graphs they give."""

from skipchain.edges.dag import Dag
from skipchain.edges.ordering import Ordering, parse_orderings
from skipchain.edges.relations import Relation, Relations
from skipchain.edges.rule_text import parse_rules
from skipchain.edges.rules import Alone, Links, Own, Previous, Rule, Same, Siblings, same_word

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
