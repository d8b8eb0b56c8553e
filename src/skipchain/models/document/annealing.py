"""Choosing among candidates whose spans mind each other: by sampling, climbing, mean field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.errors import ParameterError
from skipchain.kernels import factors as kernel
from skipchain.kernels.random import seeded
from skipchain.models.document.candidate_graph import CandidateGraph
from skipchain.parallel import Workers

RETYPE_INTERVAL = 10  # sweeps after which spans with the same words may change their type together
MAX_SWEEPS = 100  # of climbing and of mean field, at most
DAMPING = 0.5
MEAN_FIELD_TOLERANCE = 1e-4  # the largest change of a probability in a sweep


@dataclass(frozen=True, slots=True)
class Annealing:
    """How states are sampled: ``samples`` sweeps over all stretches, from hot to cold.

    In sweep s probabilities are raised to the power 1/c_s. The ``schedule`` is ``linear``, from 1
    to 0, or the numbers c themselves, one a sweep. ``chains`` begin from the labelling that is best
    without factors, or with ``random_start`` from random ones; of all states the best is kept.

    >>> Annealing(samples=3).temperatures
    array([1. , 0.5, 0. ])
    >>> Annealing(samples=2, schedule=(1.0, -1.0))
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: schedule must be numbers of at least 0, got -1.0
    """

    samples: int = 200
    schedule: str | tuple[float, ...] = "linear"
    chains: int = 1
    seed: int = 0
    random_start: bool = False

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("chains", 1), ("seed", 0)):
            value: Any = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ParameterError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        if isinstance(self.schedule, str):
            if self.schedule != "linear":
                raise ParameterError(
                    f"schedule is 'linear' or one number a sweep, got {self.schedule!r}"
                )
            return
        if len(self.schedule) != self.samples:
            raise ParameterError(
                f"schedule has {len(self.schedule)} numbers for {self.samples} samples"
            )
        wrong = [own for own in self.schedule if not (np.isfinite(own) and own >= 0.0)]
        if wrong:
            raise ParameterError(f"schedule must be numbers of at least 0, got {wrong[0]}")

    @property
    def temperatures(self) -> Floats:
        """c of each sweep. [samples]"""
        if isinstance(self.schedule, str):
            return np.linspace(1.0, 0.0, self.samples)
        return np.array(self.schedule, np.float64)


def anneal(graph: CandidateGraph, annealing: Annealing, workers: Workers) -> Ints:
    """The best choice that sampling meets, or that can be reached from it by climbing. [V]

    What mean field comes to is a candidate, too: it weighs all spans of a name at once.
    """
    best = icm(graph, workers, graph.argmax(mean_field(graph, workers)))
    tops = np.array(graph.document_scores(best))
    for number in range(annealing.chains):
        found = icm(graph, workers, anneal_chain(graph, annealing, workers, number))
        scores = np.array(graph.document_scores(found))
        for document in np.flatnonzero(scores > tops).tolist():
            own = graph.document_segments[document]
            best[own] = found[own]
        tops = np.maximum(tops, scores)
    return best


def anneal_chain(
    graph: CandidateGraph, annealing: Annealing, workers: Workers, number: int = 0
) -> Ints:
    """The best choice that one chain of samples meets, and nothing else. [V]"""
    assignment = _initial_assignment(graph, annealing, number)
    found = assignment.copy()
    field = graph.field(np.zeros(len(graph.arrays.unary)))
    parts = (graph.arrays, graph.edges, graph.weights, graph.internal_scores, field)
    states = seeded(annealing.seed, number, len(graph.document_segments))
    temperatures = annealing.temperatures

    def run(document: int) -> None:
        own, string_ids = graph.document_segments[document], graph.shared_strings[document]
        kernel.add_and_score(*parts, own, assignment)
        kernel.sample(
            *parts,
            graph.string_variables,
            string_ids,
            RETYPE_INTERVAL,
            own,
            assignment,
            temperatures,
            states[document : document + 1],
            np.zeros(0, np.int64),
            found,
        )

    workers.map(run, range(len(graph.document_segments)))
    return found


def sample_probabilities(
    graph: CandidateGraph, annealing: Annealing, burn_in: int, workers: Workers
) -> Floats:
    """How often each candidate is met when the heat stays 1. [Q]

    Stretches that mind nothing outside of them have their exact probabilities.
    """
    probabilities = np.exp(graph.isolated_log_probs)
    visits = np.zeros(len(probabilities), np.int64)
    temperatures = np.ones(annealing.samples)
    for number in range(annealing.chains):
        _count_visits(graph, annealing, workers, number, np.ones(burn_in), temperatures, visits)
    live = graph.interacting[graph.candidates.segment_ids]
    probabilities[live] = visits[live] / (annealing.samples * annealing.chains)
    return probabilities


def _count_visits(
    graph: CandidateGraph,
    annealing: Annealing,
    workers: Workers,
    number: int,
    before: Floats,
    temperatures: Floats,
    visits: Ints,
) -> None:
    """Count the states that one chain meets, after those ``before``."""
    assignment = _initial_assignment(graph, annealing, number)
    best = assignment.copy()
    field = graph.field(np.zeros(len(graph.arrays.unary)))
    parts = (graph.arrays, graph.edges, graph.weights, graph.internal_scores, field)
    states = seeded(annealing.seed, number, len(graph.document_segments))

    def run(document: int) -> None:
        own, state = graph.document_segments[document], states[document : document + 1]
        together = (graph.string_variables, graph.shared_strings[document], 0)
        kernel.add_and_score(*parts, own, assignment)
        nothing = np.zeros(0, np.int64)
        kernel.sample(*parts, *together, own, assignment, before, state, nothing, best)
        kernel.sample(*parts, *together, own, assignment, temperatures, state, visits, best)

    workers.map(run, range(len(graph.document_segments)))


def icm(graph: CandidateGraph, workers: Workers, assignment: Ints | None = None) -> Ints:
    """From a choice (None: the best without factors) to better ones, stretch by stretch. [V]"""
    chosen = graph.argmax(graph.isolated_log_probs)
    if assignment is not None:
        chosen = np.where(graph.interacting, assignment, chosen)
    field = graph.field(graph.one_hot(chosen))

    def run(document: int) -> None:
        kernel.icm(
            graph.arrays,
            graph.edges,
            graph.weights,
            graph.internal_scores,
            field,
            graph.string_variables,
            graph.shared_strings[document],
            graph.document_segments[document],
            chosen,
            MAX_SWEEPS,
        )

    workers.map(run, range(len(graph.document_segments)))
    return chosen


def mean_field(graph: CandidateGraph, workers: Workers) -> Floats:
    """The probabilities of candidates if stretches were independent, as well as that goes. [Q]"""
    probabilities = np.exp(graph.isolated_log_probs)
    field = graph.field(probabilities)

    def run(own: Ints) -> None:
        kernel.mean_field(
            graph.arrays,
            graph.edges,
            graph.weights,
            graph.internal_scores,
            field,
            own,
            probabilities,
            DAMPING,
            MEAN_FIELD_TOLERANCE,
            MAX_SWEEPS,
        )

    workers.map(run, graph.document_segments)
    return probabilities


def _initial_assignment(graph: CandidateGraph, annealing: Annealing, chain: int) -> Ints:
    """Where a chain begins. [V]"""
    if not annealing.random_start:
        return graph.argmax(graph.isolated_log_probs)
    random = np.random.default_rng((annealing.seed, chain))
    first = graph.arrays.first
    return random.integers(first[:-1], first[1:])
