"""The factor of the end: whether a chain stops after its last labels, or goes on."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.features.label_trigrams import labels_before

LARGEST_ODDS = 40.0  # without a penalty what never stops has no finite log odds
HALVINGS = 80


def fit_stop(labels: Labels, offsets: Ints, n_labels: int, order: int, l2: float) -> Floats:
    """The log odds of stopping after each label [L], or for order 2 and more after two [L + 1, L].

    The first index L is the place before the chain. The odds s of a cell in which n_1 chains stop
    and n_0 go on minimise −n_1 log σ(s) − n_0 log σ(−s) + l2 · s²; one that training has not shown
    has the odds 1.

    >>> labels, offsets = np.array([0, 0, 1, 0, 1, 1], np.int32), np.array([0, 3, 6])
    >>> odds = fit_stop(labels, offsets, 2, 1, 0.0)  # a label 1 stops two times in three
    >>> np.round(1.0 / (1.0 + np.exp(-odds)), 3).tolist()
    [0.0, 0.667]
    """
    last = np.zeros(len(labels), np.bool_)
    last[offsets[1:][np.diff(offsets) > 0] - 1] = True
    cells, shape = labels.astype(np.int64), [n_labels]
    if order > 1:
        cells = labels_before(labels, offsets, 1, n_labels) * n_labels + labels
        shape = [n_labels + 1, n_labels]
    size = int(np.prod(shape))
    stops = np.bincount(cells[last], minlength=size)
    seen = np.bincount(cells, minlength=size)
    low, high = np.full(size, -LARGEST_ODDS), np.full(size, LARGEST_ODDS)
    for _ in range(HALVINGS):  # the slope grows with s
        middle = (low + high) / 2
        slope = seen / (1.0 + np.exp(-middle)) - stops + 2.0 * l2 * middle
        low, high = np.where(slope < 0.0, middle, low), np.where(slope < 0.0, high, middle)
    return np.where(seen > 0, (low + high) / 2, 0.0).reshape(shape)
