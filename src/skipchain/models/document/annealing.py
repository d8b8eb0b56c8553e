"""Assignments of candidates in a candidate graph: by annealing, ICM and mean field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints
from skipchain.checks import check_choice, check_integer
from skipchain.errors import ParameterError
from skipchain.kernels import factors as kernel
from skipchain.kernels.random import seeded
from skipchain.models.document.candidate_graph import CandidateGraph
from skipchain.parallel import Workers

RETYPE_INTERVAL = 10  # sweeps after which spans with the same words may change their type together
MAX_SWEEPS = 100  # of ICM and of mean field, at most
DAMPING = 0.5
MAX_SAMPLES, MAX_CHAINS, MAX_SAMPLES_OF_CHAINS = 10_000, 1_000, 20_000
SEGMENT, TOKEN = MOVES = "segment", "token"
MEAN_FIELD_TOLERANCE = 1e-4  # the largest change of a probability in a sweep


@dataclass(frozen=True, slots=True)
class Annealing:
    """How labels are sampled: ``samples`` sweeps over a document, from hot to cold.

    In a sweep at temperature T probabilities are raised to the power 1/T. The ``schedule`` of
    temperatures is ``linear``, from 1 to 0, or one number a sweep. ``chains`` begin from the
    labelling that is best without factors, or with ``random_start`` from random ones; of all
    labellings the best is kept. ``moves`` says what is drawn anew at a time, given all else: a
    whole uncertain ``segment``, among its candidates, or a single ``token``. With ``alike`` every
    document of a corpus is drawn with the random numbers of the first.

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
    moves: str = SEGMENT
    alike: bool = False

    def __post_init__(self) -> None:
        check_integer("samples", self.samples, most=MAX_SAMPLES)
        check_integer("chains", self.chains, most=MAX_CHAINS)
        check_integer("seed", self.seed, least=0)
        check_choice("moves", self.moves, MOVES)
        if self.samples * self.chains > MAX_SAMPLES_OF_CHAINS:
            raise ParameterError(
                f"{self.samples} samples of {self.chains} chains are too many; wanted at most "
                f"{MAX_SAMPLES_OF_CHAINS:,} together"
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
        wrong = [number for number in self.schedule if not 0.0 <= number < np.inf]
        if wrong:
            raise ParameterError(f"schedule must be numbers of at least 0, got {wrong[0]}")

    @property
    def temperatures(self) -> Floats:
        """The temperature of each sweep. [samples]"""
        if isinstance(self.schedule, str):
            return np.linspace(1.0, 0.0, self.samples)
        return np.array(self.schedule, np.float64)

    def states(self, chain: int, documents: int) -> NDArray[np.uint64]:
        """Where the random numbers of each document begin, in one of the chains. [documents]"""
        if self.alike:
            return np.repeat(seeded(self.seed, chain, 1), documents)
        states: NDArray[np.uint64] = seeded(self.seed, chain, documents)
        return states


def anneal(graph: CandidateGraph, annealing: Annealing, workers: Workers) -> Ints:
    """The best assignment that sampling meets, or that ICM reaches from there. [V]

    ICM starts from the mean field, too: that weighs all spans of a name at once.
    """
    if not graph.document_segments:
        return graph.argmax(graph.isolated_log_probs)
    best = icm(graph, workers, graph.argmax(mean_field(graph, workers)))
    best_scores = np.array(graph.document_scores(best))
    for number in range(annealing.chains):
        assignment = icm(graph, workers, anneal_chain(graph, annealing, workers, number))
        scores = np.array(graph.document_scores(assignment))
        for document in np.flatnonzero(scores > best_scores).tolist():
            segments = graph.document_segments[document]
            best[segments] = assignment[segments]
        best_scores = np.maximum(best_scores, scores)
    return best


def anneal_chain(
    graph: CandidateGraph, annealing: Annealing, workers: Workers, number: int = 0
) -> Ints:
    """The best assignment that one chain of samples meets, without ICM. [V]"""
    sweeps = [(annealing.temperatures, np.zeros(0, np.int64))]
    return _sample(graph, annealing, workers, number, RETYPE_INTERVAL, sweeps)


def sample_probabilities(
    graph: CandidateGraph, annealing: Annealing, burn_in: int, workers: Workers
) -> Floats:
    """How often each candidate is met at the temperature 1. [Q]

    Segments that do not interact with others have their exact probabilities.
    """
    probabilities = np.exp(graph.isolated_log_probs)
    if not graph.document_segments:
        return probabilities
    visits = np.zeros(len(probabilities), np.int64)
    sweeps = [(np.ones(burn_in), visits[:0]), (np.ones(annealing.samples), visits)]
    for number in range(annealing.chains):
        _sample(graph, annealing, workers, number, 0, sweeps)
    live = graph.interacting[graph.candidates.segment_ids]
    probabilities[live] = visits[live] / (annealing.samples * annealing.chains)
    return probabilities


def _sample(
    graph: CandidateGraph,
    annealing: Annealing,
    workers: Workers,
    number: int,
    every: int,
    sweeps: Sequence[tuple[Floats, Ints]],
) -> Ints:
    """One chain of samples: the best assignment met. [V]

    ``sweeps`` are temperatures, and the visits [Q] that count the assignments met (or [0]). After
    each of ``every`` sweeps (0: never) spans with the same words may change their type together.
    """
    assignment = _initial_assignment(graph, annealing, number)
    best = assignment.copy()
    parts = graph.kernel_arguments(np.zeros(len(graph.arrays.unary)))
    states = annealing.states(number, len(graph.document_segments))

    def run(document: int) -> None:
        segments, state = graph.document_segments[document], states[document : document + 1]
        together = (graph.string_variables, graph.shared_strings[document], every)
        kernel.add_and_score(*parts, segments, assignment)
        for temperatures, visits in sweeps:
            kernel.sample(
                *parts, *together, segments, assignment, temperatures, state, visits, best
            )

    workers.map(run, range(len(graph.document_segments)))
    return best


def icm(graph: CandidateGraph, workers: Workers, assignment: Ints | None = None) -> Ints:
    """Iterated conditional modes from an assignment, by default the best without factors. [V]"""
    chosen = graph.argmax(graph.isolated_log_probs)
    if assignment is not None:
        chosen = np.where(graph.interacting, assignment, chosen)
    parts = graph.kernel_arguments(graph.one_hot(chosen))

    def run(document: int) -> None:
        together = (graph.string_variables, graph.shared_strings[document])
        kernel.icm(*parts, *together, graph.document_segments[document], chosen, MAX_SWEEPS)

    workers.map(run, range(len(graph.document_segments)))
    return chosen


def mean_field(graph: CandidateGraph, workers: Workers) -> Floats:
    """The probabilities of candidates in the mean-field approximation. [Q]"""
    probabilities = np.exp(graph.isolated_log_probs)
    parts = graph.kernel_arguments(probabilities)
    settings = (DAMPING, MEAN_FIELD_TOLERANCE, MAX_SWEEPS)

    def run(segments: Ints) -> None:
        kernel.mean_field(*parts, segments, probabilities, *settings)

    workers.map(run, graph.document_segments)
    return probabilities


def _initial_assignment(graph: CandidateGraph, annealing: Annealing, chain: int) -> Ints:
    """Where a chain begins. [V]"""
    if not annealing.random_start:
        return graph.argmax(graph.isolated_log_probs)
    random = np.random.default_rng((annealing.seed, chain))
    first = graph.arrays.first
    return random.integers(first[:-1], first[1:])
