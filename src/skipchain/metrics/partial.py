"""Scores with partial credit: spans that overlap a gold span, though ends or type are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.corpus.schemes.layout import check_spans
from skipchain.corpus.schemes.spans import Spans
from skipchain.metrics.score import percent, rounded

WAYS = ("strict", "exact", "partial", "type")
"""What is right: ends and type; ends; ends, or half of it where spans overlap; the type."""
PARTIAL_CREDIT = 0.5  # for a span whose ends are wrong, where ends alone count

Pair = tuple[int, int]
"""The numbers of a gold and of a predicted span that are compared."""


@dataclass(frozen=True, slots=True)
class PartialScore:
    """How gold and predicted spans were paired, and what follows from it, in percent.

    A pair is ``correct``, ``partial`` or ``incorrect``; a gold span without a partner is ``missed``
    and a predicted one ``spurious``. A partial pair counts half, as in the MUC evaluations.

    >>> score = PartialScore(correct=2, partial=1, missed=1, spurious=2)
    >>> score.possible, score.actual, score.precision, score.recall
    (4, 5, 50.0, 62.5)
    """

    correct: int = 0
    incorrect: int = 0
    partial: int = 0
    missed: int = 0
    spurious: int = 0

    @property
    def possible(self) -> int:
        """The number of gold spans."""
        return self.correct + self.incorrect + self.partial + self.missed

    @property
    def actual(self) -> int:
        """The number of predicted spans."""
        return self.correct + self.incorrect + self.partial + self.spurious

    @property
    def precision(self) -> float:
        """The credit as a share of the predicted spans."""
        return percent(self._credit, self.actual)

    @property
    def recall(self) -> float:
        """The credit as a share of the gold spans."""
        return percent(self._credit, self.possible)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return percent(2 * self._credit, self.possible + self.actual)

    @property
    def _credit(self) -> float:
        return self.correct + PARTIAL_CREDIT * self.partial

    def __add__(self, other: PartialScore) -> PartialScore:
        return PartialScore(
            self.correct + other.correct,
            self.incorrect + other.incorrect,
            self.partial + other.partial,
            self.missed + other.missed,
            self.spurious + other.spurious,
        )

    def as_dict(self) -> dict[str, float | int]:
        """Scores in percent with at most four decimals, and counts."""
        return {
            "precision": rounded(self.precision),
            "recall": rounded(self.recall),
            "f1": rounded(self.f1),
            "correct": self.correct,
            "incorrect": self.incorrect,
            "partial": self.partial,
            "missed": self.missed,
            "spurious": self.spurious,
        }


@dataclass(frozen=True, slots=True)
class FourWays:
    """The scores of the same spans by the four ways to count of SemEval-2013, task 9.1.

    >>> gold, predicted = Spans.of([(0, 2, "PER")]), Spans.of([(0, 1, "PER")])
    >>> ways = partial_scores(gold, predicted).overall
    >>> [score.f1 for score in (ways.strict, ways.exact, ways.partial, ways.type, ways.muc)]
    [0.0, 0.0, 50.0, 100.0, 50.0]
    """

    strict: PartialScore
    exact: PartialScore
    partial: PartialScore
    type: PartialScore

    @property
    def muc(self) -> PartialScore:
        """What the MUC evaluations counted: the type of each span, and besides its text.

        Both are right or wrong on their own, and the counts of both are pooled.
        """
        return self.type + self.exact

    def items(self) -> Iterator[tuple[str, PartialScore]]:
        """The names of the ways with their scores, in the order of `WAYS`."""
        return ((way, getattr(self, way)) for way in WAYS)


@dataclass(frozen=True, slots=True)
class PartialScores:
    """The scores with partial credit of all spans, and of the spans of each type alone.

    ``by_type`` compares the gold spans of a type with the predicted ones of that type, so that a
    span of another type is no partner: its counts do not add up to ``overall``.
    """

    overall: FourWays
    by_type: Mapping[str, FourWays]

    def as_dict(self) -> dict[str, Any]:
        """For each way its scores and counts, and these ``by_type``."""
        return {
            way: {
                **score.as_dict(),
                "by_type": {
                    name: getattr(ways, way).as_dict() for name, ways in self.by_type.items()
                },
            }
            for way, score in self.overall.items()
        }


def partial_scores(gold: Spans, predicted: Spans) -> PartialScores:
    """Compare spans by the four ways to count of SemEval-2013; spans must not overlap on one side.

    Each predicted span, from left to right, has at most one gold span as its partner: the one with
    the same ends; else the first that it overlaps and that has no partner yet. Where types count,
    one of the same type goes first, of several the one with the nearest ends. These are the rules
    of nervaluate.

    >>> gold = Spans.of([(0, 2, "PER"), (3, 4, "LOC")])
    >>> scores = partial_scores(gold, Spans.of([(0, 1, "PER"), (3, 4, "ORG")]))
    >>> scores.overall.partial
    PartialScore(correct=1, incorrect=0, partial=1, missed=0, spurious=0)
    >>> scores.by_type["LOC"].type
    PartialScore(correct=0, incorrect=0, partial=0, missed=1, spurious=0)
    """
    end = max((int(spans.stops[-1]) for spans in (gold, predicted) if len(spans)), default=0)
    for spans in (gold, predicted):
        check_spans(spans, np.array([0, end]))
    names = sorted({spans.names[k] for spans in (gold, predicted) for k in np.unique(spans.types)})
    return PartialScores(
        four_ways(gold, predicted),
        {name: four_ways(of_type(gold, name), of_type(predicted, name)) for name in names},
    )


def four_ways(gold: Spans, predicted: Spans) -> FourWays:
    """The scores of spans that do not overlap on one side, all types together."""
    exact, others = pair_spans(gold, predicted, by_type=False)
    same, different = split_by_type(gold, predicted, exact)
    _, overlapping = pair_spans(gold, predicted, by_type=True)
    typed, untyped = split_by_type(gold, predicted, overlapping)
    sizes, found, wrong = (len(gold), len(predicted)), len(exact), len(others)
    return FourWays(
        strict=paired_score(sizes, correct=len(same), incorrect=len(different) + wrong),
        exact=paired_score(sizes, correct=found, incorrect=wrong),
        partial=paired_score(sizes, correct=found, partial=wrong),
        type=paired_score(
            sizes, correct=len(same) + len(typed), incorrect=len(different) + len(untyped)
        ),
    )


def paired_score(
    sizes: tuple[int, int], *, correct: int, incorrect: int = 0, partial: int = 0
) -> PartialScore:
    """The score of pairs; ``sizes`` are the numbers of gold and predicted spans."""
    pairs = correct + incorrect + partial
    return PartialScore(correct, incorrect, partial, sizes[0] - pairs, sizes[1] - pairs)


def pair_spans(gold: Spans, predicted: Spans, *, by_type: bool) -> tuple[list[Pair], list[Pair]]:
    """The pairs of spans with the same ends, and the pairs of others that overlap, from the left.

    With ``by_type``, a gold span of the same type is preferred to others that a span overlaps.
    Spans of one side do not overlap each other, so a span with a partner of the same ends
    overlaps no other, and only what is left is gone through one by one.
    """
    width = max((int(spans.stops[-1]) for spans in (gold, predicted) if len(spans)), default=0) + 1
    true, own_keys = (spans.starts * width + spans.stops for spans in (gold, predicted))
    _, first, second = np.intersect1d(true, own_keys, assume_unique=True, return_indices=True)
    exact = list(zip(first.tolist(), second.tolist(), strict=True))
    rest = np.setdiff1d(np.arange(len(predicted)), second, assume_unique=True)
    begins = np.searchsorted(gold.stops, predicted.starts[rest], side="right").tolist()
    ends = np.searchsorted(gold.starts, predicted.stops[rest], side="left").tolist()
    taken: set[int] = set()
    pairs = []
    for own, begin, end in zip(rest.tolist(), begins, ends, strict=True):
        free = [k for k in range(begin, end) if k not in taken]
        if not free:
            continue
        partner = free[0]
        if by_type:
            name = predicted.names[predicted.types[own]]
            alike = (k for k in free if gold.names[gold.types[k]] == name)
            partner = min(alike, key=lambda k: ends_apart(gold, k, predicted, own), default=partner)
        taken.add(partner)
        pairs.append((partner, own))
    return exact, pairs


def ends_apart(gold: Spans, k: int, predicted: Spans, own: int) -> int:
    """How far the two ends of a span are from those of another, in tokens."""
    starts, stops = gold.starts[k] - predicted.starts[own], gold.stops[k] - predicted.stops[own]
    return int(abs(starts) + abs(stops))


def split_by_type(
    gold: Spans, predicted: Spans, pairs: list[Pair]
) -> tuple[list[Pair], list[Pair]]:
    """The pairs whose spans have the same type, and the others."""
    same: list[Pair] = []
    different: list[Pair] = []
    for pair in pairs:
        k, own = pair
        alike = gold.names[gold.types[k]] == predicted.names[predicted.types[own]]
        (same if alike else different).append(pair)
    return same, different


def of_type(spans: Spans, name: str) -> Spans:
    """The spans of one type."""
    number = spans.names.index(name) if name in spans.names else -1
    chosen = spans.types == number
    return Spans(spans.starts[chosen], spans.stops[chosen], spans.types[chosen], spans.names)
