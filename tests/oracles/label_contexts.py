"""Chains of any order, written out: every labelling of a chain, scored label by label.

The score of label j at position t, after the labels ``before`` it, is looked up feature by feature
and n-gram by n-gram; nothing is shared between labellings, and no table of contexts is built.
"""

from __future__ import annotations

import itertools

import numpy as np

from skipchain.features.label_ngrams import SHORTEST


class Enumeration:
    """All labellings of one chain of scored chains, and their log probabilities or scores."""

    def __init__(self, scores, c):
        block = (0, len(scores.data.offsets) - 1)
        self.scores = scores
        self.raw = scores.raw(block)
        self.first, self.last = (int(x) for x in self.raw.offsets[c : c + 2])
        self.n_labels = scores.weights.n_labels
        self.paths = list(itertools.product(range(self.n_labels), repeat=self.last - self.first))
        self.totals = np.array([self.total(path) for path in self.paths])
        self.log_z = np.logaddexp.reduce(self.totals)

    @property
    def probabilities(self):
        return np.exp(self.totals - self.log_z)

    @property
    def marginals(self):
        found = np.zeros((self.last - self.first, self.n_labels))
        for path, chance in zip(self.paths, self.probabilities, strict=True):
            found[np.arange(len(path)), list(path)] += chance
        return found

    def total(self, path):
        return sum(self.step(t, path[:t], path[t]) for t in range(len(path)))

    def step(self, t, before, label):
        """The score of a label after those before it, or its log probability in a local model."""
        row = self.row(t, before)
        score = row[label] - (np.logaddexp.reduce(row) if self.scores.local else 0.0)
        here = self.first + t
        allowed, rules, stop = self.scores.allowed, self.scores.constraints, self.scores.stop
        if allowed is not None and not allowed[here, label]:
            return -np.inf
        if rules is not None:
            legal = rules.pairs[before[-1], label] if before else rules.start[label]
            if not legal or (here + 1 == self.last and not rules.end[label]):
                return -np.inf
        if stop is not None:
            odds = stop[label] if stop.ndim == 1 else stop[before[-1] if before else -1, label]
            p = 1.0 / (1.0 + np.exp(-odds))
            score += np.log(p if here + 1 == self.last else 1.0 - p)
        return score

    def row(self, t, before):
        """The scores of all labels after those before, by every weight that has a part in them."""
        scores, here, size = self.scores, self.first + t, self.n_labels
        row = self.raw.node[here].copy()
        padded = [size, size, *before]
        second, previous = padded[-2], padded[-1]
        if before:
            row += self.raw.edge[here if len(self.raw.edge) > 1 else 0, previous]
            if scores.weights.order == 2:
                row += scores.weights.triples[second, previous]
        ngrams, trigrams = scores.label_ngrams, scores.label_trigrams
        if ngrams is not None:
            told = [size, *before]  # the place before the chain is one label
            for n in range(SHORTEST, min(ngrams.order, len(told)) + 1):
                code = 0
                for label in told[-n:]:
                    code = code * (size + 2) + label + 1
                for k in np.flatnonzero(ngrams.ngrams == code):
                    row += ngrams.weights[k]
        if trigrams is not None:
            index = scores.data.rows.trigrams
            for entry in range(index.indptr[here], index.indptr[here + 1]):
                value = index.values[entry] if len(index.values) else 1.0
                for k, (feature, h, i) in enumerate(trigrams.rows.tolist()):
                    if feature == index.indices[entry] and h == second and i in (-1, previous):
                        row += value * trigrams.weights[k]
        return row
