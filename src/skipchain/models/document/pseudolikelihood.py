"""How probable the right candidates are, as a function of what pairs of spans add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints
from skipchain.kernels.factors import pseudo_likelihood
from skipchain.models.document.candidate_graph import CandidateGraph, directed_tables
from skipchain.parallel import Workers


@dataclass(frozen=True, slots=True)
class TrainingInstance:
    """Candidates of documents that their model has not seen, and the right ones (−1: none). [V]"""

    candidate_graph: CandidateGraph
    gold: Ints


class PseudoLikelihood:
    """−Σ_v log p(right candidate of v | what is expected of the others) + l2 · Σ (w − w₀)².

    A candidate scores s · (its own log-probability) + Σ w over the pairs of its spans with those
    of other stretches, as often as these are expected by their model. The vector holds s, then the
    entries w of all tables that may be learnt; those of pairs without order are tied. w₀ are the
    entries that the relations have, from which little data lead little away.
    """

    def __init__(
        self, instances: Sequence[TrainingInstance], workers: Workers, *, l2: float
    ) -> None:
        self._instances = instances
        self._workers = workers
        self._l2 = l2
        first = instances[0].candidate_graph
        self._directions = first.directions
        self.parameter_ids, self.size = _parameter_ids(first)
        self._initial = np.zeros(self.size + 1)
        for relation, numbers in zip(first.pair_potentials, self.parameter_ids, strict=True):
            self._initial[numbers] = relation.table
        self._initial = self._initial[:-1]  # what is not learnt is the last
        self._expected = [
            (
                np.exp(own.candidate_graph.isolated_log_probs),
                own.candidate_graph.expected_counts(np.exp(own.candidate_graph.isolated_log_probs)),
            )
            for own in instances
        ]

    @property
    def start(self) -> Floats:
        """The model's own probabilities, and the tables that there are."""
        return np.append(1.0, self._initial)

    def tables(self, vector: Floats) -> list[Floats]:
        """The tables of all relations, for candidates that score their own log-probability."""
        own = np.append(vector[1:] / vector[0], 0.0)
        return [own[numbers] for numbers in self.parameter_ids]

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        own = np.append(vector[1:], 0.0)
        weights = directed_tables(
            [own[numbers] for numbers in self.parameter_ids],
            self._directions,
            len(self.parameter_ids[0]),
        )
        found = self._workers.map(
            lambda number: self._instance_loss(number, vector[0], weights),
            range(len(self._instances)),
        )
        gradient = np.zeros(self.size + 2)
        for _, slope, table in found:
            gradient[0] += slope
            for own_table, (number, turned) in zip(table, self._directions, strict=True):
                numbers = self.parameter_ids[number].T if turned else self.parameter_ids[number]
                np.add.at(gradient, numbers + 1, own_table)
        gradient = gradient[:-1]  # what is not learnt is the last
        away = vector[1:] - self._initial
        gradient[1:] += 2.0 * self._l2 * away
        loss = sum(part[0] for part in found)
        return loss + self._l2 * float(away @ away), gradient

    def _instance_loss(
        self, number: int, scale: float, weights: Floats
    ) -> tuple[float, float, Floats]:
        instance = self._instances[number]
        probabilities, expected = self._expected[number]
        gradient, slope = np.zeros_like(weights), np.zeros(1)
        loss: float = pseudo_likelihood(
            instance.candidate_graph.arrays,
            instance.candidate_graph.edges,
            weights,
            scale,
            expected.copy(),
            probabilities,
            instance.gold,
            gradient,
            slope,
        )
        return loss, float(slope[0]), gradient


def _parameter_ids(graph: CandidateGraph) -> tuple[list[Ints], int]:
    """For each relation the numbers of its entries among all that are learnt, and how many.

    Entries that are not learnt have the number after the last.
    """
    found, size = [], 0
    for relation in graph.pair_potentials:
        numbers = np.full(relation.table.shape, -1)
        free = relation.learnable
        if relation.rows is relation.columns:
            free = np.triu(free)
        numbers[free] = size + np.arange(int(free.sum()))
        if relation.rows is relation.columns:
            numbers = np.maximum(numbers, numbers.T)
        size += int(free.sum())
        found.append(numbers)
    return [np.where(own < 0, size, own) for own in found], size
