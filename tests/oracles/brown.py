"""Brown clustering by the book: the mutual information of every possible merge, each time."""

from __future__ import annotations

from itertools import combinations

import numpy as np

TIE = 1e-9


def mutual_information(table, left, right, total):
    """Σ p(a, b) log(p(a, b) / (p(a) p(b))) of a table of counts, with the margins given."""
    a, b = np.nonzero(table)
    n = table[a, b]
    return float((n / total * np.log(n * total / (left[a] * right[b]))).sum())


class Plain:
    """Clusters in slots, as sets of words; everything else is counted afresh when it is needed."""

    def __init__(self, table, left, right, total, limit):
        self.table, self.left, self.right, self.total = table, left, right, total
        self.slots = {}
        for word in range(len(table)):
            free = min(set(range(limit + 1)) - set(self.slots))
            self.slots[free] = [word]
            if len(self.slots) > limit:
                self.merge(*self.best())

    def merged(self, groups):
        """Counts and margins of groups of words."""
        sums = np.zeros((len(groups), len(self.table)))
        for k, words in enumerate(groups):
            sums[k, words] = 1
        return sums @ self.table @ sums.T, sums @ self.left, sums @ self.right

    def mutual_information(self):
        return mutual_information(*self.merged(list(self.slots.values())), self.total)

    def best(self):
        """The pair of slots whose merge leaves the most information."""
        left = {}
        for a, b in combinations(sorted(self.slots), 2):
            others = [words for s, words in self.slots.items() if s not in (a, b)]
            groups = [*others, self.slots[a] + self.slots[b]]
            left[a, b] = mutual_information(*self.merged(groups), self.total)
        return next(pair for pair, value in left.items() if value >= max(left.values()) - TIE)

    def merge(self, a, b):
        weight = [sum(self.left[w] + self.right[w] for w in self.slots[s]) for s in (a, b)]
        keep, gone = (b, a) if weight[1] > weight[0] else (a, b)
        self.slots[keep] = self.slots[keep] + self.slots.pop(gone)
        return keep, gone

    def merge_all(self):
        merges = []
        while len(self.slots) > 1:
            merges.append(self.merge(*self.best()))
        return merges


def exchange(member, table):
    """One round, each time with the information of all clusterings that a word's move gives."""
    member, total = member.copy(), table.sum()

    def value(own):
        sums = np.eye(own.max() + 1)[own].T
        cells = sums @ table @ sums.T
        return mutual_information(cells, cells.sum(axis=1), cells.sum(axis=0), total)

    for word in range(len(table)):
        home = member[word]
        if (member == home).sum() == 1:
            continue
        found = []
        for cluster in range(member.max() + 1):
            member[word] = cluster
            found.append(value(member))
        best = int(np.argmax(found))
        member[word] = home if found[best] <= found[home] + TIE else best
    return member
