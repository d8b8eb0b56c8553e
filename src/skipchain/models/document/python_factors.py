"""Sampling beside factors of a user's own: in Python, stretch by stretch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints
from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.kernels import factors as kernel
from skipchain.models.document.annealing import Annealing
from skipchain.models.document.candidate_graph import Interplay
from skipchain.models.document.factors.python import OwnFactor, tell, worth


def anneal_own(
    interplay: Interplay,
    corpus: Corpus,
    labels: Sequence[str],
    factors: Sequence[OwnFactor],
    how: Annealing,
) -> Ints:
    """The best choice that sampling meets, other factors counted as well. [V]

    ``labels`` are the names of the model's labels. Documents are taken one by one.
    """
    picks = interplay.tops(interplay.alone)
    field = interplay.field(interplay.chosen(picks))
    codes = interplay.candidates.labelled(picks)
    bounds = corpus.sentences[corpus.documents].tolist()
    for document, (first, last) in enumerate(pairwise(bounds)):
        stretches = np.arange(*np.searchsorted(interplay.documents, (document, document + 1)))
        if len(stretches):
            words = corpus.words[first:last].tolist()
            state = _Document(interplay, first, words, labels, codes[first:last].copy(), factors)
            random = np.random.default_rng((how.seed, document))
            state.anneal(stretches, picks, field, how.heats, random)
    return picks


class _Document:
    """One document with its labels, and the factors that are told of them."""

    def __init__(
        self,
        interplay: Interplay,
        first: int,
        words: list[str],
        labels: Sequence[str],
        codes: NDArray[np.int32],
        factors: Sequence[OwnFactor],
    ) -> None:
        self._interplay = interplay
        self._first = first
        self._words = words
        self._labels = labels
        self._codes = codes
        self._factors = factors
        for factor in factors:
            try:
                factor.begin(words, [labels[code] for code in codes.tolist()])
            except Exception as error:
                raise SkipchainError(
                    f"the factor {type(factor).__name__} could not begin a document of "
                    f"{len(words)} tokens: {type(error).__name__}: {error}"
                ) from error

    def anneal(
        self,
        stretches: Ints,
        picks: Ints,
        field: Floats,
        heats: Floats,
        random: np.random.Generator,
    ) -> None:
        """Sweep over the stretches, and leave the best state met in ``picks``."""
        best, top, total = picks[stretches].copy(), 0.0, 0.0
        for heat in heats.tolist():
            for v in stretches.tolist():
                total += self._draw(v, picks, field, heat, random)
            if total > top + kernel.SMALLEST_GAIN:
                best, top = picks[stretches].copy(), total
        picks[stretches] = best

    def _draw(
        self, v: int, picks: Ints, field: Floats, heat: float, random: np.random.Generator
    ) -> float:
        """Draw one stretch anew; what the labelling has gained."""
        play = self._interplay
        lists, links, weights = play.lists, play.links, play.weights
        kernel.put(lists, links, weights, field, picks[v], -1.0)
        numbers = np.arange(lists.first[v], lists.first[v + 1])
        values = np.array([kernel.score(lists, play.pairs, field, q) for q in numbers])
        values += [self._change(int(q), v) for q in numbers]
        peak = values - values.max()
        odds = np.exp(peak / heat) if heat > 0.0 else (peak == 0.0).astype(np.float64)
        pick = int(random.choice(numbers, p=odds / odds.sum()))
        gain = float(values[pick - numbers[0]] - values[picks[v] - numbers[0]])
        self._set(pick, v)
        picks[v] = pick
        kernel.put(lists, links, weights, field, pick, 1.0)
        return gain

    def _change(self, number: int, v: int) -> float:
        """What the factors say to a candidate, compared with the labels as they are."""
        changed = self._changes(number, v)
        if not changed:
            return 0.0
        before = [(token, int(self._codes[token])) for token, _ in changed]
        gain = 0.0
        for token, code in changed:
            now = self._labels[self._codes[token]]
            for factor in self._factors:
                gain += worth(factor, self._words, token, self._labels[code])
                gain -= worth(factor, self._words, token, now)
            self._tell(token, code)
        for token, code in before:
            self._tell(token, code)
        return gain

    def _set(self, number: int, v: int) -> None:
        for token, code in self._changes(number, v):
            self._tell(token, code)

    def _changes(self, number: int, v: int) -> list[tuple[int, int]]:
        """The tokens of the document that a candidate labels otherwise, and how."""
        candidates = self._interplay.candidates
        start = int(candidates.starts[v]) - self._first
        size = int(candidates.stops[v] - candidates.starts[v])
        place = int(candidates.places[number])
        own = candidates.labels[place : place + size]
        other = np.flatnonzero(own != self._codes[start : start + size])
        return [(start + int(k), int(own[k])) for k in other]

    def _tell(self, token: int, code: int) -> None:
        self._codes[token] = code
        for factor in self._factors:
            tell(factor, self._words, token, self._labels[code])
