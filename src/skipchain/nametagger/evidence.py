"""Whether a string is a person, by several tables of gender and animacy together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skipchain.errors import ParameterError
from skipchain.nametagger.candidates import INITIAL
from skipchain.nametagger.confidence import check_measure
from skipchain.nametagger.gender import GENDERS, PropertyCounts
from skipchain.nametagger.wordlists import PARTICLES

PERSONS = (0, 1)  # masculine and feminine among the genders; animate is the first of the animacies
MATCHINGS = ("full", "composite", "relaxed", "partial")


@dataclass(frozen=True)
class Evidence:
    """Scores of strings by ``sources``; above 0 means a person.

    For each source, the commonest gender and the commonest animacy of a string speak for a person
    (masculine, feminine, animate) or against one. How loud is the confidence ``measure`` m,
    squashed to $m / (1 + m)$; the score of the string is the sum.

    A candidate of several words has the score of the whole string (``full`` matching), else the
    lowest of its words' if all are known (``composite``), else the second highest (``relaxed``).
    ``partial`` takes the mean of those words that are known, even if it is one.

    >>> known = PropertyCounts("ours", {"ayub": (87, 0, 0, 0, 0, 0), "masih": (117, 0, 0, 0, 0, 0)},
    ...                        folded=True)
    >>> Evidence((known,), matching="full").match(["Ayub", "Masih"])
    >>> round(Evidence((known,), matching="composite").match(["Ayub", "Masih"]), 3)
    0.989
    """

    sources: tuple[PropertyCounts, ...]
    measure: str = "margin"
    matching: str = "partial"
    _scores: dict[str, float | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_measure(self.measure)
        if self.matching not in MATCHINGS:
            raise ParameterError(f"no matching {self.matching!r}; there are {', '.join(MATCHINGS)}")

    def score(self, phrase: str) -> float | None:
        """The score of a string by all sources together; None where none knows it."""
        if phrase not in self._scores:
            self._scores[phrase] = self._sum(phrase)
        return self._scores[phrase]

    def _sum(self, phrase: str) -> float | None:
        measure = check_measure(self.measure)
        votes = []
        for source in self.sources:
            counts = source.of(phrase)
            if counts is None:
                continue
            for group in (counts[: len(GENDERS)], counts[len(GENDERS) :]):
                if any(group):
                    best = group.index(max(group))
                    person = best in PERSONS if len(group) == len(GENDERS) else best == 0
                    confidence = measure(group)
                    votes.append(confidence / (1.0 + confidence) * (1 if person else -1))
        return sum(votes) if votes else None

    def match(self, words: Sequence[str]) -> float | None:
        """The score of a candidate of these words; None where too little is known."""
        whole = self.score(" ".join(words))
        if whole is not None or self.matching == "full" or len(words) == 1:
            return whole
        names = [word for word in words if word not in PARTICLES and not INITIAL.fullmatch(word)]
        known = sorted(score for word in names if (score := self.score(word)) is not None)
        if self.matching == "partial":
            return sum(known) / len(known) if known else None
        if known and len(known) == len(names):
            return known[0]
        if len(known) > 1 and self.matching == "relaxed":
            return known[-2]
        return None
