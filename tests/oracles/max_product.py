"""The best labelling of a pairwise graph, written out plainly: slow, and obviously right.

A graph is node scores [N, S], ends [E, 2], and a table of scores [E, S, S] for each edge.
"""

from __future__ import annotations

import itertools

import numpy as np


def score(node, ends, tables, labels):
    """What a labelling scores, node by node and edge by edge."""
    total = sum(node[n, label] for n, label in enumerate(labels))
    for table, (u, v) in zip(tables, ends, strict=True):
        total += table[labels[u], labels[v]]
    return float(total)


def best_labelling(node, ends, tables):
    """The first of the best labellings in alphabetical order, and its score."""
    every = itertools.product(range(node.shape[1]), repeat=len(node))
    return max(((score(node, ends, tables, labels), labels) for labels in every), key=_score)


def _score(pair):
    return pair[0]


def max_marginals(node, ends, tables, rounds=300):
    """What messages of maxima, all sent at once, say of each label: the best has 0. [N, S]"""
    arcs = [(e, k) for e in range(len(ends)) for k in range(2)]  # from end k of edge e
    messages = dict.fromkeys(arcs, np.zeros(node.shape[1]))

    def total(n, but=None):
        out = node[n]
        for e, k in arcs:
            if ends[e][1 - k] == n and (e, k) != but:
                out = out + messages[e, k]
        return out

    for _ in range(rounds):
        new = {}
        for e, k in arcs:
            table = tables[e] if k == 0 else tables[e].T
            new[e, k] = (total(ends[e][k], but=(e, 1 - k))[:, None] + table).max(axis=0)
            new[e, k] = new[e, k] - new[e, k].max()
        messages = new
    found = np.array([total(n) for n in range(len(node))])
    return found - found.max(axis=1, keepdims=True)
