"""The words around persons, learned from raw text that is labelled by what is known of names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from skipchain.nametagger.candidates import Span
from skipchain.resources.ngrams.pattern import END, START

DIGITS = re.compile(r"\d+")
SMOOTHING_COUNT = 3.0  # occurrences that are added to every context
MIN_PAIR_COUNT = 3  # occurrences that a context of two words needs
PAIRS = ("l2 ", "r2 ")  # how the names of contexts of two words begin


@dataclass(frozen=True, slots=True)
class Contexts:
    """The log odds of a person by the words around a candidate, and by its length.

    >>> contexts = Contexts.fit([(["Mr.", "Lee", "said"], (1, 2), 1.0)] * 9
    ...                         + [(["in", "Oslo", "."], (1, 2), 0.0)] * 9)
    >>> contexts.score(["Mr.", "Aske", "said"], (1, 2)) > 1
    True
    >>> contexts.score(["in", "Bergen"], (1, 2)) < 0
    True
    """

    odds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def fit(cls, cases: Iterable[tuple[Sequence[str], Span, float]]) -> Contexts:
        """Learn from sentences, a candidate in each, and the probability that it is a person."""
        counts: dict[str, list[float]] = {}
        person = total = 0.0
        for words, span, share in cases:
            person, total = person + share, total + 1.0
            for level in context_features(words, span):
                for name in level:
                    pair = counts.setdefault(name, [0.0, 0.0])
                    pair[0] += share
                    pair[1] += 1.0
        if not 0.0 < person < total:
            return cls()
        prior = person / total
        base = math.log(prior / (1.0 - prior))
        odds = {}
        for name, (yes, count) in counts.items():
            if count >= MIN_PAIR_COUNT or not name.startswith(PAIRS):
                person = yes + SMOOTHING_COUNT * prior
                odds[name] = math.log(person / (count + SMOOTHING_COUNT - person)) - base
        return cls(odds)

    def score(self, words: Sequence[str], span: Span) -> float:
        """The log odds of the place, against those of any place."""
        return sum(
            next((self.odds[name] for name in level if name in self.odds), 0.0)
            for level in context_features(words, span)
        )


def context_features(words: Sequence[str], span: Span) -> tuple[tuple[str, ...], ...]:
    """Names of what stands before, what stands behind, and the length: the most telling first."""
    start, stop = span
    before = (START, START, *words[max(start - 2, 0) : start])[-2:]
    behind = (*words[stop : stop + 2], END, END)[:2]
    a, b, c, d = map(normalized_word, (*before, *behind))
    return (f"l2 {a} {b}", f"l {b}"), (f"r2 {c} {d}", f"r {c}"), (f"n {stop - start}",)


def normalized_word(word: str) -> str:
    """The word in lower case with runs of digits as one 0."""
    return DIGITS.sub("0", word.lower())
