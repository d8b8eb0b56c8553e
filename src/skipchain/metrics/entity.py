"""Scores of spans: a span is correct if start, stop and type all are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Ints
from skipchain.corpus.schemes.spans import Spans
from skipchain.metrics.score import Score, rounded


@dataclass(frozen=True, slots=True)
class EntityScores:
    """The score of each type, in alphabetical order, and their averages.

    ``micro`` pools the counts of all types; the macro figures are means over the types that occur
    in the gold or the predicted spans.
    """

    by_type: Mapping[str, Score]

    @property
    def micro(self) -> Score:
        """The score over all spans."""
        counts = [(score.gold, score.predicted, score.correct) for score in self.by_type.values()]
        return Score(*map(sum, zip(*counts, strict=True))) if counts else Score(0, 0, 0)

    @property
    def macro_precision(self) -> float:
        """The mean precision of the types, in percent."""
        return mean([score.precision for score in self.by_type.values()])

    @property
    def macro_recall(self) -> float:
        """The mean recall of the types, in percent."""
        return mean([score.recall for score in self.by_type.values()])

    @property
    def macro_f1(self) -> float:
        """The mean F1 of the types, in percent."""
        return mean([score.f1 for score in self.by_type.values()])

    def as_dict(self) -> dict[str, object]:
        """The micro score and counts, ``macro_f1`` and ``by_type``."""
        return {
            **self.micro.as_dict(),
            "macro_f1": rounded(self.macro_f1),
            "by_type": {name: score.as_dict() for name, score in self.by_type.items()},
        }


def entity_scores(gold: Spans, predicted: Spans) -> EntityScores:
    """Precision, recall and F1 of predicted spans; a span that occurs twice counts once.

    >>> scores = entity_scores(Spans.of([(0, 2, "PER"), (3, 4, "LOC")]), Spans.of([(0, 2, "PER")]))
    >>> scores.micro.precision, scores.micro.recall, scores.macro_f1
    (100.0, 50.0, 50.0)
    >>> scores.by_type["LOC"]
    Score(gold=1, predicted=0, correct=0)
    """
    names = tuple(sorted({*gold.names, *predicted.names}))
    if not names:
        return EntityScores({})
    true, positive = (np.unique(keys) for keys in span_keys(names, gold, predicted))
    groups = (true, positive, np.intersect1d(true, positive, assume_unique=True))
    counts = [np.bincount(keys % len(names), minlength=len(names)) for keys in groups]
    table = np.array(counts, np.int64).T.tolist()  # [types, 3]
    scores = {name: Score(*row) for name, row in zip(names, table, strict=True)}
    return EntityScores({name: s for name, s in scores.items() if s.gold or s.predicted})


def span_keys(names: tuple[str, ...], *groups: Spans) -> list[Ints]:
    """One integer per span, equal for equal spans; modulo the number of names it is the type."""
    width = max((int(spans.stops.max()) for spans in groups if len(spans)), default=0) + 1
    number = {name: code for code, name in enumerate(names)}
    keys = []
    for spans in groups:
        renumber = np.array([number[name] for name in spans.names], np.int64)
        kinds = renumber[spans.types] if len(spans) else np.zeros(0, np.int64)
        keys.append((spans.starts * width + spans.stops) * len(names) + kinds)
    return keys


def mean(values: list[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0
