"""What models say of tokens that they have not learnt from, and what a template would add to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skipchain.arrays import Floats, Ints, Labels, offsets_of
from skipchain.kernels.gains import cross_gain

LEAST = 5e-3  # probabilities below do not count; a token that has no other is certain
FLOOR = 1e-4  # of the gold label, which may be new to a model
TOLERANCE = 0.1
LARGEST_POWER, HALVINGS = 8.0, 20
NO_SHIFTS = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Posteriors:
    """The probabilities of labels at uncertain tokens, by models that have not seen them.

    Token ``tokens[t]`` has ``probabilities[indptr[t] : indptr[t + 1]]`` of the labels
    ``labels[…]``; entry ``gold[t]`` is that of its gold label, and ``folds[t]`` the part of the
    data that its model was not shown.

    >>> marginals = np.array([[0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])
    >>> held = Posteriors.of(marginals, np.array([0, 1, 1]), np.array([0, 1, 1]))
    >>> held.tokens, round(held.log_likelihood, 3)
    (array([0, 1]), -0.916)
    """

    tokens: Ints  # [U]
    indptr: Ints  # [U + 1]
    labels: Labels  # [K]
    probabilities: Floats  # [K]
    gold: Ints  # [U]
    folds: Labels  # [U]
    n_folds: int
    n_labels: int

    @classmethod
    def of(cls, marginals: Floats, gold: Ints, folds: Ints) -> Posteriors:
        """From marginals [N, L], gold labels [N] and folds [N]."""
        rows = np.arange(len(gold))
        held = marginals.copy()
        held[rows, gold] = np.maximum(held[rows, gold], FLOOR)
        kept = held >= LEAST
        kept[rows, gold] = True
        tokens = np.flatnonzero(kept.sum(axis=1) > 1)
        held, kept, gold = held[tokens], kept[tokens], gold[tokens]
        owners, labels = np.nonzero(kept)
        found = held[owners, labels]
        found = found / np.bincount(owners, found, minlength=len(tokens))[owners]
        return cls(
            tokens,
            offsets_of(kept.sum(axis=1)),
            labels.astype(np.int32),
            found,
            np.flatnonzero(labels == gold[owners]),
            folds[tokens].astype(np.int32),
            int(folds.max(initial=0)) + 1,
            marginals.shape[1],
        )

    @property
    def log_likelihood(self) -> float:
        """Σ log p(gold label) over the tokens."""
        return float(np.log(self.probabilities[self.gold]).sum())

    def calibrated(self) -> Posteriors:
        """The probabilities raised to the one power that makes the gold labels most likely.

        Models that have learnt from few data are too sure of themselves. Any template that splits
        tokens into a few large groups could mend that, and would seem to bring much.

        >>> sure = np.repeat([[0.99, 0.01]], 4, axis=0)
        >>> held = Posteriors.of(sure, np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))
        >>> held.calibrated().probabilities[:2].round(3)
        array([0.75, 0.25])
        """
        logs, sizes = np.log(self.probabilities), np.diff(self.indptr)

        def powered(power: float) -> Floats:
            found = np.exp(power * logs)
            sums: Floats = np.repeat(np.add.reduceat(found, self.indptr[:-1]), sizes)
            return found / sums

        def slope(power: float) -> float:
            return float(logs[self.gold].sum() - powered(power) @ logs)

        if not len(logs):
            return self
        low, high = 0.0, 1.0
        while slope(high) > 0.0 and high < LARGEST_POWER:
            low, high = high, 2.0 * high
        for _ in range(HALVINGS):  # the likelihood is concave in the power
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
        return replace(self, probabilities=powered(0.5 * (low + high)))

    def gain(self, numbers: Labels, size: int, l2: float) -> float:
        """What a template adds to the log-likelihood, by weights learnt in the other folds.

        ``numbers`` [N] are the features that tokens have of it, of ``size``; −1 stands for none.
        """
        return self._cross_gain(numbers, size, l2, NO_SHIFTS)

    def with_template(self, numbers: Labels, size: int, l2: float) -> Posteriors:
        """The probabilities as the template changes them."""
        shifts = np.zeros(len(self.labels))
        self._cross_gain(numbers, size, l2, shifts)
        found = self.probabilities * np.exp(shifts)
        sums = np.add.reduceat(found, self.indptr[:-1]) if len(found) else found
        return replace(self, probabilities=found / np.repeat(sums, np.diff(self.indptr)))

    def _cross_gain(self, numbers: Labels, size: int, l2: float, shifts: Floats) -> float:
        index = self.indptr, self.labels, self.probabilities, self.gold
        own = numbers[self.tokens]
        return float(
            cross_gain(
                own, size, self.folds, self.n_folds, index, self.n_labels, l2, TOLERANCE, shifts
            )
        )
