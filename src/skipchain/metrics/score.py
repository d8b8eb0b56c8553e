"""Precision, recall and F1 from three counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of gold, predicted and correct things, and what follows from them, in percent.

    >>> score = Score(gold=4, predicted=5, correct=3)
    >>> score.precision, score.recall, round(score.f1, 2)
    (60.0, 75.0, 66.67)
    """

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """The share of the predicted that is correct."""
        return percent(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """The share of the gold that was found."""
        return percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return percent(2 * self.correct, self.gold + self.predicted)

    def as_dict(self) -> dict[str, float | int]:
        """Scores in percent with at most four decimals, and counts."""
        return {
            "precision": rounded(self.precision),
            "recall": rounded(self.recall),
            "f1": rounded(self.f1),
            "gold": self.gold,
            "predicted": self.predicted,
            "correct": self.correct,
        }


def percent(part: float, whole: float) -> float:
    """A part of a whole in percent; 0 of 0 is 0."""
    return 100.0 * part / whole if whole else 0.0


def rounded(value: float) -> float:
    """At most four decimals, as in every file we write."""
    return round(float(value), 4)
