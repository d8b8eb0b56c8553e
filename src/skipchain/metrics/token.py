"""Scores of labels, token by token and sentence by sentence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Ints, offsets_of
from skipchain.corpus.column import Column
from skipchain.corpus.schemes import UNKNOWN
from skipchain.corpus.schemes.labels import parse
from skipchain.errors import CorpusError
from skipchain.metrics.entity import EntityScores
from skipchain.metrics.score import Score, percent


@dataclass(frozen=True, slots=True, eq=False)
class TokenScores:
    """The confusion matrix of labels, and the scores that follow from it.

    ``confusion`` is ``int64 [L, L]``, rows gold and columns predicted, in the order of ``labels``,
    which is alphabetical; ``sequences`` counts the sentences that have tokens, and
    ``correct_sequences`` those of them with no wrong label. ``mean_sequence_accuracy`` is the mean
    over these sentences of the share of tokens with the right label, in percent (Stewart, eq.
    2.29, averaged), so that short sentences count as much as long ones.
    """

    labels: tuple[str, ...]
    confusion: Ints  # [L, L]
    sequences: int
    correct_sequences: int
    mean_sequence_accuracy: float

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right label, in percent."""
        return percent(self.correct, self.tokens)

    @property
    def correct(self) -> int:
        """The number of tokens with the right label."""
        return int(np.trace(self.confusion))

    @property
    def sequence_accuracy(self) -> float:
        """The share of sentences with no wrong label, in percent."""
        return percent(self.correct_sequences, self.sequences)

    @property
    def by_label(self) -> dict[str, Score]:
        """The score of each label; its support is the count of gold tokens."""
        gold = self.confusion.sum(axis=1).tolist()
        predicted = self.confusion.sum(axis=0).tolist()
        correct = np.diagonal(self.confusion).tolist()
        rows = zip(self.labels, gold, predicted, correct, strict=True)
        return {label: Score(g, p, c) for label, g, p, c in rows}

    @property
    def label_accuracy(self) -> dict[str, float]:
        """How often the yes or no to each label is right, in percent of all tokens.

        True positives and true negatives over all tokens (Stewart, eq. 2.25); where a label is
        rare, nearly all tokens are true negatives, and the figure is high for any model.
        """
        total = self.tokens
        return {
            label: percent(total - score.gold - score.predicted + 2 * score.correct, total)
            for label, score in self.by_label.items()
        }


def token_scores(gold: Column, predicted: Column, offsets: Ints) -> TokenScores:
    """Compare labels one by one; ``offsets int64 [M + 1]`` are the sentences.

    >>> gold = Column.encode(["D", "N", "V", "N"])
    >>> scores = token_scores(gold, Column.encode(["D", "N", "N", "N"]), np.array([0, 2, 4]))
    >>> scores.accuracy, scores.sequence_accuracy, scores.labels
    (75.0, 50.0, ('D', 'N', 'V'))
    >>> scores.mean_sequence_accuracy, scores.label_accuracy
    (75.0, {'D': 100.0, 'N': 75.0, 'V': 75.0})
    >>> scores.confusion
    array([[1, 0, 0],
           [0, 2, 0],
           [0, 1, 0]])
    """
    if len(gold) != len(predicted):
        fault = f"there are {len(gold)} gold labels, but {len(predicted)} predicted ones"
        raise CorpusError(f"{fault}; compare labels of the same tokens")
    used = {column.values[code] for column in (gold, predicted) for code in column.used()}
    labels = tuple(sorted(used))
    size = len(labels)
    rows, columns = renumbered(gold, labels), renumbered(predicted, labels)
    confusion = np.bincount(rows * size + columns, minlength=size * size).reshape(size, size)
    lengths = np.diff(offsets)  # [M]
    right = np.diff(offsets_of(rows == columns)[offsets])  # [M]
    right, lengths = right[lengths > 0], lengths[lengths > 0]
    whole, mean = int((right == lengths).sum()), 100.0 * float((right / lengths).sum())
    return TokenScores(
        labels, confusion.astype(np.int64), len(lengths), whole, mean / max(len(lengths), 1)
    )


def type_scores(gold: Column, predicted: Column) -> EntityScores:
    """Scores of span types by tokens: of which type is the span that a token stands in, if any.

    Where spans begin and end does not matter, so the labels may be of any two schemes.

    >>> gold = Column.encode(["B-PER", "I-PER", "O", "B-LOC"])
    >>> scores = type_scores(gold, Column.encode(["I-PER", "O", "O", "I-LOC"]))
    >>> scores.by_type["PER"], scores.macro_f1
    (Score(gold=2, predicted=1, correct=1), 83.33333333333334)
    """
    scores = token_scores(span_types(gold), span_types(predicted), np.array([0, len(gold)]))
    return EntityScores({name: s for name, s in scores.by_label.items() if name != OUTSIDE})


OUTSIDE = ""  # no type has this name


def span_types(labels: Column) -> Column:
    """The type of the span that each token stands in; outside of spans it is empty."""
    _, kinds, names = parse(labels.values, None)
    return Column(labels.codes, tuple(names[kind] if kind >= 0 else OUTSIDE for kind in kinds))


def renumbered(column: Column, values: tuple[str, ...]) -> Ints:
    """The column's codes ``int64 [N]`` into other values; -1 for a string that is not there."""
    number = {value: code for code, value in enumerate(values)}
    renumber = np.array([number.get(value, -1) for value in column.values], np.int64)
    return renumber[column.codes]


def require_known(labels: Column, whose: str) -> None:
    """Refuse labels of which some are not known: a score would take them for mistakes.

    >>> require_known(Column.encode(["O", "B-PER"]), "gold")
    """
    if UNKNOWN not in labels.values:
        return
    tokens = np.flatnonzero(labels.codes == labels.values.index(UNKNOWN))
    if len(tokens):
        raise CorpusError(
            f"token {tokens[0]} has no {whose} label (it is {UNKNOWN!r}, not known), and a score "
            "needs one for every token; label it, or leave its sentence out"
        )
