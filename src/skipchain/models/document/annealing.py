"""Choosing among candidates whose spans mind each other: by sampling, climbing, mean field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.errors import ParameterError
from skipchain.kernels import factors as kernel
from skipchain.kernels.random import seeded
from skipchain.models.document.candidate_graph import Interplay
from skipchain.parallel import Workers

RETYPED = 10  # sweeps after which spans with the same words may change their type together
SWEEPS = 100  # of climbing and of mean field, at most
DAMPING = 0.5
AT_REST = 1e-4  # the largest change of a probability in a sweep


@dataclass(frozen=True, slots=True)
class Annealing:
    """How states are sampled: ``samples`` sweeps over all stretches, from hot to cold.

    In sweep s probabilities are raised to the power 1/c_s. The ``cooling`` is ``linear``, from 1 to
    0, or the numbers c themselves, one a sweep. ``chains`` begin from the labelling that is best
    without factors, or with ``scattered`` from random ones; of all states the best is kept.

    >>> Annealing(samples=3).heats
    array([1. , 0.5, 0. ])
    >>> Annealing(samples=2, cooling=(1.0, -1.0))
    Traceback (most recent call last):
    ...
    skipchain.errors.ParameterError: cooling must be numbers of at least 0, got -1.0
    """

    samples: int = 200
    cooling: str | tuple[float, ...] = "linear"
    chains: int = 1
    seed: int = 0
    scattered: bool = False

    def __post_init__(self) -> None:
        for name, least in (("samples", 1), ("chains", 1), ("seed", 0)):
            value: Any = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise ParameterError(
                    f"{name} must be a whole number of at least {least}, got {value!r}"
                )
        if isinstance(self.cooling, str):
            if self.cooling != "linear":
                raise ParameterError(
                    f"cooling is 'linear' or one number a sweep, got {self.cooling!r}"
                )
            return
        if len(self.cooling) != self.samples:
            raise ParameterError(
                f"cooling has {len(self.cooling)} numbers for {self.samples} samples"
            )
        wrong = [own for own in self.cooling if not (np.isfinite(own) and own >= 0.0)]
        if wrong:
            raise ParameterError(f"cooling must be numbers of at least 0, got {wrong[0]}")

    @property
    def heats(self) -> Floats:
        """c of each sweep. [samples]"""
        if isinstance(self.cooling, str):
            return np.linspace(1.0, 0.0, self.samples)
        return np.array(self.cooling, np.float64)


def anneal(interplay: Interplay, how: Annealing, workers: Workers) -> Ints:
    """The best choice that sampling meets, or that can be reached from it by climbing. [V]

    What mean field comes to is a candidate, too: it weighs all spans of a name at once.
    """
    best = climb(interplay, workers, interplay.tops(mean_field(interplay, workers)))
    tops = np.array(interplay.document_scores(best))
    for number in range(how.chains):
        found = climb(interplay, workers, cooled(interplay, how, workers, number))
        scores = np.array(interplay.document_scores(found))
        for document in np.flatnonzero(scores > tops).tolist():
            own = interplay.groups[document]
            best[own] = found[own]
        tops = np.maximum(tops, scores)
    return best


def cooled(interplay: Interplay, how: Annealing, workers: Workers, number: int = 0) -> Ints:
    """The best choice that one chain of samples meets, and nothing else. [V]"""
    picks = _first(interplay, how, number)
    found = picks.copy()
    field = interplay.field(np.zeros(len(interplay.lists.local)))
    parts = (interplay.lists, interplay.links, interplay.weights, interplay.pairs, field)
    states = seeded(how.seed, number, len(interplay.groups))
    heats = how.heats

    def run(document: int) -> None:
        own, slots = interplay.groups[document], interplay.shared[document]
        kernel.tally(*parts, own, picks)
        kernel.sample(
            *parts,
            interplay.users,
            slots,
            RETYPED,
            own,
            picks,
            heats,
            states[document : document + 1],
            np.zeros(0, np.int64),
            found,
        )

    workers.map(run, range(len(interplay.groups)))
    return found


def sampled(interplay: Interplay, how: Annealing, burn_in: int, workers: Workers) -> Floats:
    """How often each candidate is met when the heat stays 1. [Q]

    Stretches that mind nothing outside of them have their exact probabilities.
    """
    chances = np.exp(interplay.alone)
    visits = np.zeros(len(chances), np.int64)
    heats = np.ones(how.samples)
    for number in range(how.chains):
        _visit(interplay, how, workers, number, np.ones(burn_in), heats, visits)
    live = interplay.live[interplay.candidates.stretches]
    chances[live] = visits[live] / (how.samples * how.chains)
    return chances


def _visit(
    interplay: Interplay,
    how: Annealing,
    workers: Workers,
    number: int,
    before: Floats,
    heats: Floats,
    visits: Ints,
) -> None:
    """Count the states that one chain meets, after those ``before``."""
    picks = _first(interplay, how, number)
    best = picks.copy()
    field = interplay.field(np.zeros(len(interplay.lists.local)))
    parts = (interplay.lists, interplay.links, interplay.weights, interplay.pairs, field)
    states = seeded(how.seed, number, len(interplay.groups))

    def run(document: int) -> None:
        own, state = interplay.groups[document], states[document : document + 1]
        together = (interplay.users, interplay.shared[document], 0)
        kernel.tally(*parts, own, picks)
        nothing = np.zeros(0, np.int64)
        kernel.sample(*parts, *together, own, picks, before, state, nothing, best)
        kernel.sample(*parts, *together, own, picks, heats, state, visits, best)

    workers.map(run, range(len(interplay.groups)))


def climb(interplay: Interplay, workers: Workers, picks: Ints | None = None) -> Ints:
    """From a choice (None: the best without factors) to better ones, stretch by stretch. [V]"""
    chosen = interplay.tops(interplay.alone)
    if picks is not None:
        chosen = np.where(interplay.live, picks, chosen)
    field = interplay.field(interplay.chosen(chosen))

    def run(document: int) -> None:
        kernel.climb(
            interplay.lists,
            interplay.links,
            interplay.weights,
            interplay.pairs,
            field,
            interplay.users,
            interplay.shared[document],
            interplay.groups[document],
            chosen,
            SWEEPS,
        )

    workers.map(run, range(len(interplay.groups)))
    return chosen


def mean_field(interplay: Interplay, workers: Workers) -> Floats:
    """The probabilities of candidates if stretches were independent, as well as that goes. [Q]"""
    chances = np.exp(interplay.alone)
    field = interplay.field(chances)

    def run(own: Ints) -> None:
        kernel.settle(
            interplay.lists,
            interplay.links,
            interplay.weights,
            interplay.pairs,
            field,
            own,
            chances,
            DAMPING,
            AT_REST,
            SWEEPS,
        )

    workers.map(run, interplay.groups)
    return chances


def _first(interplay: Interplay, how: Annealing, chain: int) -> Ints:
    """Where a chain begins. [V]"""
    if not how.scattered:
        return interplay.tops(interplay.alone)
    random = np.random.default_rng((how.seed, chain))
    first = interplay.lists.first
    return random.integers(first[:-1], first[1:])
