"""The pairs that rules find in one corpus, and the directed graphs they become."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Ints, Labels
from skipchain.corpus import Corpus
from skipchain.edges.dag import Dag
from skipchain.edges.ordering import Ordering
from skipchain.edges.rules import Alone, Rule
from skipchain.errors import SkipchainError


@dataclass(frozen=True, slots=True)
class RuleEdges:
    """One rule, the pairs [K, 2] it found, and where those of each document begin."""

    rule: Rule
    pairs: Ints  # [K, 2], sorted by document
    offsets: Ints  # [D + 1]

    def endpoints(self, *, first_is_parent: bool) -> tuple[Ints, Ints]:
        """Children and parents of the pairs: the second token is the child, or the first."""
        child, parent = (1, 0) if first_is_parent else (0, 1)
        return self.pairs[:, child], self.pairs[:, parent]


@dataclass(frozen=True, slots=True)
class EdgeSet:
    """Everything that links the tokens of one corpus.

    Edge type 2r is that of edges of rule r whose parent is the first token of the pair, 2r + 1 that
    of edges whose parent is the second.

    >>> from skipchain.edges import parse_rules
    >>> corpus = Corpus.of([["Ada", "met", "Bo"], ["Bo", "slept"]])
    >>> edge_set = EdgeSet.of(corpus, parse_rules("previous, same_word"))
    >>> edge_set.edge_types
    ('previous', 'next', 'same_word', 'same_word later')
    >>> dag = edge_set.dag(Ordering("forward"))
    >>> [dag.of(k) for k in (2, 3)]
    [[(1, 'previous')], [(-1, 'previous'), (2, 'same_word')]]
    """

    corpus: Corpus
    by_rule: tuple[RuleEdges, ...]

    @classmethod
    def of(cls, corpus: Corpus, rules: Sequence[Rule]) -> EdgeSet:
        """Apply the rules. Where none of them begins chains, a token may stand alone."""
        if not any(rule.is_chain for rule in rules):
            rules = (*rules, Alone(always=False))
        return cls(corpus, tuple(_rule_edges(rule, corpus) for rule in rules))

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The names of the edge types, by number."""
        return tuple(name for relation in self.by_rule for name in relation.rule.edge_types)

    @property
    def documents(self) -> Ints:
        """Where documents begin, in tokens. [D + 1]"""
        return self.corpus.sentences[self.corpus.documents]

    def dag(self, ordering: Ordering, known: Collection[str] | None = None) -> Dag:
        """The graph in which parents are visited before their children.

        Edges of types that are not ``known`` are left out.
        """
        order = ordering.token_order(self.corpus)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        parts: list[tuple[Ints, Ints, Labels, Ints]] = []

        def add(child: Ints, parent: Ints, edge_type: int, row: Ints) -> None:
            if known is None or self.edge_types[edge_type] in known:
                parts.append((child, parent, np.full(len(child), edge_type, np.int32), row))

        for number, relation in enumerate(self.by_rule):
            rule, pairs = relation.rule, relation.pairs
            forward = rank[pairs[:, 0]] < rank[pairs[:, 1]]
            for against, chosen in ((0, forward), (1, ~forward)):
                if not rule.allowed_directions[against]:
                    continue
                child, parent = (
                    end[chosen] for end in relation.endpoints(first_is_parent=not against)
                )
                # what a chain says of a token depends on that token alone
                row = child if rule.is_chain else np.flatnonzero(chosen)
                add(child, parent, 2 * number + against, row)
            if rule.is_chain:
                heads = self._heads(rule, ordering, [part[0] for part in parts])
                against = ordering.backward and rule.edge_types[0] != rule.edge_types[1]
                add(heads, np.full(len(heads), -1), 2 * number + against, heads)
        children, parents, type_ids, rows = map(np.concatenate, zip(*parts, strict=True))
        return Dag.from_edges(order, children, parents, type_ids, rows, self.edge_types)

    def _heads(self, rule: Rule, ordering: Ordering, children: Sequence[Ints]) -> Ints:
        """The tokens that begin a chain of the rule."""
        if isinstance(rule, Alone):
            free = np.ones(self.corpus.n_tokens, np.bool_)
            if not rule.always and children:
                free[np.concatenate(children)] = False
            return np.flatnonzero(free)
        filled = np.diff(self.corpus.sentences) > 0
        if ordering.backward:
            return self.corpus.sentences[1:][filled] - 1
        return self.corpus.sentences[:-1][filled]


def _rule_edges(rule: Rule, corpus: Corpus) -> RuleEdges:
    pairs = rule.pairs(corpus)
    wrong = ((pairs < 0) | (pairs >= corpus.n_tokens)).any(axis=1)
    if wrong.any():
        u, v = pairs[wrong.argmax()].tolist()
        raise SkipchainError(
            f"edge rule {rule}: the pair ({u}, {v}) names a token that is not there; the corpus "
            f"has tokens 0 … {corpus.n_tokens - 1}"
        )
    document = corpus.document_of(pairs)
    for wrong, what in (
        (pairs[:, 0] == pairs[:, 1], "links a token to itself"),
        (document[:, 0] != document[:, 1], "lies in two documents; edges stay within one"),
    ):
        if wrong.any():
            u, v = pairs[wrong.argmax()].tolist()
            raise SkipchainError(f"edge rule {rule}: the pair ({u}, {v}) {what}")
    order = np.argsort(document[:, 1], kind="stable")
    offsets = np.searchsorted(document[order, 1], np.arange(corpus.n_documents + 1))
    return RuleEdges(rule, pairs[order], offsets.astype(np.int64))
