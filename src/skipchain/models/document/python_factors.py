"""Annealing with factors written in Python by the user, segment by segment."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.corpus import Corpus
from skipchain.errors import SkipchainError
from skipchain.kernels import factors as kernel
from skipchain.models.document.annealing import Annealing
from skipchain.models.document.candidate_graph import CandidateGraph
from skipchain.models.document.factors.python import PythonFactor, checked_score, checked_update


def anneal_with_python_factors(
    graph: CandidateGraph,
    corpus: Corpus,
    labels: Sequence[str],
    factors: Sequence[PythonFactor],
    annealing: Annealing,
) -> Ints:
    """The best assignment that sampling meets, other factors counted as well. [V]

    ``labels`` are the names of the model's labels. Documents are taken one by one.
    """
    assignment = graph.argmax(graph.isolated_log_probs)
    field = graph.field(graph.one_hot(assignment))
    codes = graph.candidates.assemble_labels(assignment)
    bounds = corpus.sentences[corpus.documents].tolist()
    for document, (first, last) in enumerate(pairwise(bounds)):
        segments = np.arange(*np.searchsorted(graph.documents, (document, document + 1)))
        if len(segments):
            words = corpus.words[first:last].tolist()
            state = _DocumentState(graph, first, words, labels, codes[first:last].copy(), factors)
            random = np.random.default_rng((annealing.seed, document))
            state.anneal(segments, assignment, field, annealing.temperatures, random)
    return assignment


class _DocumentState:
    """One document with its labels, and the factors that follow them."""

    def __init__(
        self,
        graph: CandidateGraph,
        first: int,
        words: list[str],
        labels: Sequence[str],
        codes: Labels,
        factors: Sequence[PythonFactor],
    ) -> None:
        self._graph = graph
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
        segments: Ints,
        assignment: Ints,
        field: Floats,
        temperatures: Floats,
        random: np.random.Generator,
    ) -> None:
        """Sweep over the segments, and leave the best assignment met in ``assignment``."""
        best, top, total = assignment[segments].copy(), 0.0, 0.0
        for temperature in temperatures.tolist():
            for v in segments.tolist():
                total += self._resample(v, assignment, field, temperature, random)
            if total > top + kernel.MIN_GAIN:
                best, top = assignment[segments].copy(), total
        assignment[segments] = best

    def _resample(
        self,
        v: int,
        assignment: Ints,
        field: Floats,
        temperature: float,
        random: np.random.Generator,
    ) -> float:
        """Draw one segment anew; what the labelling has gained."""
        graph = self._graph
        arrays, edges, weights = graph.arrays, graph.edges, graph.weights
        kernel.add_candidate(arrays, edges, weights, field, assignment[v], -1.0)
        numbers = np.arange(arrays.first[v], arrays.first[v + 1])
        values = np.array([kernel.score(arrays, graph.internal_scores, field, q) for q in numbers])
        values += [self._score_change(int(q), v) for q in numbers]
        peak = values - values.max()
        odds = np.exp(peak / temperature) if temperature > 0.0 else (peak == 0.0).astype(np.float64)
        choice = int(random.choice(numbers, p=odds / odds.sum()))
        gain = float(values[choice - numbers[0]] - values[assignment[v] - numbers[0]])
        self._apply(choice, v)
        assignment[v] = choice
        kernel.add_candidate(arrays, edges, weights, field, choice, 1.0)
        return gain

    def _score_change(self, number: int, v: int) -> float:
        """What a candidate adds to the factors' scores, compared with the labels as they are."""
        changed = self._changed_labels(number, v)
        if not changed:
            return 0.0
        before = [(token, int(self._codes[token])) for token, _ in changed]
        gain = 0.0
        for token, code in changed:
            now = self._labels[self._codes[token]]
            for factor in self._factors:
                gain += checked_score(factor, self._words, token, self._labels[code])
                gain -= checked_score(factor, self._words, token, now)
            self._set_label(token, code)
        for token, code in before:
            self._set_label(token, code)
        return gain

    def _apply(self, number: int, v: int) -> None:
        for token, code in self._changed_labels(number, v):
            self._set_label(token, code)

    def _changed_labels(self, number: int, v: int) -> list[tuple[int, int]]:
        """The tokens of the document that a candidate labels otherwise, and how."""
        candidates = self._graph.candidates
        start = int(candidates.starts[v]) - self._first
        size = int(candidates.stops[v] - candidates.starts[v])
        place = int(candidates.label_starts[number])
        labels = candidates.labels[place : place + size]
        other = np.flatnonzero(labels != self._codes[start : start + size])
        return [(start + int(k), int(labels[k])) for k in other]

    def _set_label(self, token: int, code: int) -> None:
        self._codes[token] = code
        for factor in self._factors:
            checked_update(factor, self._words, token, self._labels[code])
