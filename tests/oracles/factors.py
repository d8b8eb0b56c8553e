"""Factors across documents, written out plainly: slow, and obviously right.

The score of a labelling is that of the chain, summed up label by label, and what factors say of
its spans, by looking at all pairs of them. Everything else follows by going through all labellings.
"""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cached_property

import numpy as np

from skipchain.models.document.factors import (
    KEY_FUNCTIONS,
    Agreement,
    Consistency,
    Forbidden,
    LastWord,
)
from skipchain.models.document.factors.base import FORBIDDEN_PENALTY


def spans_of(labels, encoding):
    """(start, stop, type) of the spans of one sentence whose labels follow the encoding."""
    found = []
    start, before = None, "O"
    for t, label in enumerate([*labels, "O"]):
        prefix, kind = label[:1], label[2:]
        goes_on = start is not None and prefix in "IE" and kind == before[2:]
        if encoding == "bioes" and before[:1] in "ES":
            goes_on = False
        if start is not None and not goes_on:
            found.append((start, t, before[2:]))
            start = None
        if label != "O" and start is None:
            start = t
        before = label
    return found


class Plain:
    """A scored corpus with factors; ``labels`` are the names of the scores' labels.

    ``limits`` are the labellings of the whole corpus that come into question, where not all do:
    how often words could be a span is counted among them.
    """

    def __init__(self, corpus, scores, labels, encoding, factors, limits=None):
        self.corpus, self.scores, self.labels = corpus, scores, labels
        self.encoding, self.factors, self.limits = encoding, factors, limits
        self.words = corpus.words.tolist()
        self.raw = scores.raw((0, len(corpus)))
        self.with_constraints = scores.with_constraints(self.raw)

    # Scores ------------------------------------------------------------------------------------

    def joint(self, codes):
        """The log-probability of a labelling of the whole corpus, up to a constant."""
        return self.chain(codes) + self.candidate_graph(codes)

    def chain(self, codes):
        """What the chain model gives all sentences together."""
        pairs = itertools.pairwise(self.corpus.sentences.tolist())
        return sum(self.sentence(a, codes[a:b]) for a, b in pairs)

    def sentence(self, first, codes):
        """What the chain model gives a sentence that begins at token ``first``."""
        total = 0.0
        for t, code in enumerate(codes):
            total += self._row(self.with_constraints, first + t, codes[:t])[code]
            if self.scores.local:
                total -= np.logaddexp.reduce(self._row(self.raw, first + t, codes[:t]))
        return total

    def _row(self, potentials, token, before):
        """The scores of all labels of a token after the labels ``before`` it."""
        row = potentials.node[token].copy()
        if len(before):
            edge = potentials.edge[token if len(potentials.edge) > 1 else 0]
            row += edge[before[-1]]
            if self.scores.weights.order == 2:
                outermost = before[-2] if len(before) > 1 else len(self.labels)
                row += self.scores.weights.triples[outermost, before[-1]]
        return row

    def candidate_graph(self, codes):
        """What the factors add to a labelling of the whole corpus."""
        total = 0.0
        types = [self.labels[code][2:] for code in codes]
        for first, last in self._bounds():
            spans = [own for own in self.spans(codes) if first <= own[0] < last]
            for factor in self.factors:
                for one, other in itertools.combinations(spans, 2):
                    total += self._pair(factor, one, other)
                if isinstance(factor, LastWord):
                    total -= factor.penalty * sum(
                        self.words[stop - 1] == self.words[token] and types[token] != kind
                        for _, stop, kind in spans if kind == factor.type
                        for token in range(first, last)
                    )  # fmt: skip
        return total

    def spans(self, codes):
        """The spans of a labelling: start, stop, type."""
        pairs = itertools.pairwise(self.corpus.sentences.tolist())
        return [span for a, b in pairs for span in self._inside(a, codes[a:b])]

    def _inside(self, first, codes):
        """The spans of a sentence that begins at token ``first``."""
        names = [self.labels[code] for code in codes]
        return [
            (first + start, first + stop, kind)
            for start, stop, kind in spans_of(names, self.encoding)
        ]

    def _pair(self, factor, one, other):
        """What a factor makes of two spans of a document."""
        strings = [tuple(self.words[start:stop]) for start, stop, _ in (one, other)]
        kinds = [one[2], other[2]]
        if hasattr(factor, "plain"):  # a factor of a test's own
            return factor.plain(*kinds)
        if isinstance(factor, Forbidden):
            wrong = strings[0] == strings[1] and set(kinds) == {factor.one, factor.other}
            return -FORBIDDEN_PENALTY if wrong else 0.0
        if isinstance(factor, Agreement):
            key = KEY_FUNCTIONS[factor.key] if isinstance(factor.key, str) else factor.key
            keys = [key(" ".join(string)) for string in strings]
            wrong = kinds == [factor.type] * 2 and None not in keys and keys[0] != keys[1]
            times = sum(map(len, strings)) / 2 if factor.by == "words" else 1
            return -factor.penalty * times if wrong else 0.0
        if isinstance(factor, Consistency) and set(kinds) <= set(factor.types):
            return self._consistent(factor, one, other, strings, kinds)
        return 0.0

    def _consistent(self, factor, one, other, strings, kinds):
        a, b = (factor.types.index(kind) for kind in kinds)
        places = [self.places[self._where(own)] for own in (one, other)]
        sizes = [len(string) for string in strings]
        if strings[0] == strings[1]:
            weight = factor.same[a, b] / (max(places[0] - 1, 1) if factor.shared else 1)
        elif stands_in(strings[1], strings[0]) or stands_in(strings[0], strings[1]):
            if sizes[0] < sizes[1]:
                a, b = b, a
            weight = factor.inside[a, b] / (np.sqrt(places[0] * places[1]) if factor.shared else 1)
        else:
            return 0.0
        return factor.strength * weight * (min(sizes) if factor.by_length else 1)

    def _bounds(self):
        return list(itertools.pairwise(self.corpus.sentences[self.corpus.documents].tolist()))

    def _where(self, span):
        """The document of a span and its words."""
        document = int(self.corpus.document_of(np.array([span[0]]))[0])
        return document, tuple(self.words[span[0] : span[1]])

    @cached_property
    def places(self):
        """At how many places words could be a span, by document and words."""
        if self.limits is not None:
            spans = {span[:2] for codes in self.limits for span in self.spans(codes)}
        else:
            firsts = self.corpus.sentences[:-1].tolist()
            spans = {
                span[:2]
                for first, every in zip(firsts, self.sentences, strict=True)
                for codes in every
                for span in self._inside(first, codes)
            }
        return Counter(map(self._where, spans))

    # All labellings ----------------------------------------------------------------------------

    @cached_property
    def sentences(self):
        """All labellings of each sentence that are possible."""
        found = []
        for a, b in itertools.pairwise(self.corpus.sentences.tolist()):
            every = itertools.product(range(len(self.labels)), repeat=b - a)
            found.append([codes for codes in every if self.sentence(a, codes) > -np.inf])
        return found

    @cached_property
    def table(self):
        """All labellings of the corpus with their probabilities. {codes: probability}"""
        every = [
            tuple(itertools.chain.from_iterable(row))
            for row in itertools.product(*self.sentences)
        ]  # fmt: skip
        scores = np.array([self.joint(codes) for codes in every])
        odds = np.exp(scores - np.logaddexp.reduce(scores))
        return dict(zip(every, odds.tolist(), strict=True))

    def marginals(self):
        """The probability of each label at each token. [N, L]"""
        return marginals(self.table, len(self.words), len(self.labels))

    # Sampling ----------------------------------------------------------------------------------

    def gibbs(self, sweeps, seed):
        """How often labels are met when one token after another is drawn given all others. [N, L]

        It begins outside of spans.
        """
        rng = np.random.default_rng(seed)
        state = [self.labels.index("O")] * len(self.words)
        met = Counter()
        for _ in range(sweeps):
            for token in range(len(state)):
                tries = [
                    (*state[:token], code, *state[token + 1 :]) for code in range(len(self.labels))
                ]
                odds = np.array([self.table.get(codes, 0.0) for codes in tries])
                pick = np.searchsorted(np.cumsum(odds), rng.random() * odds.sum(), side="right")
                state = list(tries[pick])
            met[tuple(state)] += 1
        shares = {codes: count / sweeps for codes, count in met.items()}
        return marginals(shares, len(self.words), len(self.labels))


def stands_in(part, string):
    """Whether words stand next to each other in more words."""
    size = len(part)
    return size < len(string) and any(
        string[k : k + size] == part for k in range(len(string) - size + 1)
    )


def marginals(table, tokens, labels):
    """The probability of each label at each token, from that of labellings. [N, L]"""
    found = np.zeros((tokens, labels))
    for codes, chance in table.items():
        found[np.arange(tokens), list(codes)] += chance
    return found
