"""A dataset: encoded features, labels as numbers, and where chains begin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Bools, Ints, Labels
from skipchain.features.label_history import PreviousOccurrences
from skipchain.features.matrix import FeatureMatrix
from skipchain.parallel import blocks


@dataclass(frozen=True, slots=True)
class Dataset:
    """N tokens in C chains, as integers.

    ``labels`` is None where the tokens are only to be tagged. Where some are not known, ``allowed``
    tells which labels each token may have, and ``labels`` is −1 there. ``candidates`` are the
    labels that a token can have at all, where a tag dictionary says so: the model is a distribution
    over these. ``previous_occurrences`` are the tokens of a document whose labels later ones depend
    on.
    """

    rows: FeatureMatrix
    offsets: Ints  # [C + 1]
    labels: Labels | None = None  # [N]
    allowed: Bools | None = None  # [N, L]
    candidates: Bools | None = None  # [N, L]
    previous_occurrences: PreviousOccurrences | None = None

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return int(self.offsets[-1])

    def blocks(self) -> list[tuple[int, int]]:
        """Runs of whole chains, for threads to work on."""
        return blocks(self.offsets)

    def reversed(self) -> Dataset:
        """Every chain from its last token to its first, and the last chain first."""
        back = np.arange(self.n_tokens)[::-1]
        offsets = np.ascontiguousarray((self.n_tokens - self.offsets)[::-1])
        return Dataset(
            self.rows.take(back),
            offsets,
            None if self.labels is None else self.labels[back],
            None if self.allowed is None else self.allowed[back],
            None if self.candidates is None else self.candidates[back],
        )
