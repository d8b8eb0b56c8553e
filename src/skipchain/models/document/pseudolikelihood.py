"""The pseudo-likelihood of gold candidates, as a function of what pairs of spans add."""

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
    """Candidates of documents that their model has not seen, and the gold ones (−1: none). [V]"""

    candidate_graph: CandidateGraph
    gold: Ints


class PseudoLikelihood:
    """−Σ_v log p(gold candidate of v | what is expected of the others) + l2 · Σ (w − w₀)².

    A candidate scores s · (its own log-probability) + Σ w over the pairs of its spans with those of
    other segments, as often as these are expected by their model. The vector holds s, then the
    entries w of all tables that may be learnt; those of pairs without order are tied. w₀ are the
    entries that the pair potentials have: little data move them little.
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
        for potential, numbers in zip(first.pair_potentials, self.parameter_ids, strict=True):
            self._initial[numbers] = potential.table
        self._initial = self._initial[:-1]  # what is not learnt is the last
        self._expected = []
        for graph in (instance.candidate_graph for instance in instances):
            probabilities = np.exp(graph.isolated_log_probs)
            self._expected.append((probabilities, graph.expected_counts(probabilities)))

    @property
    def start(self) -> Floats:
        """The vector of the model's own probabilities and the tables that there are."""
        return np.append(1.0, self._initial)

    def tables(self, vector: Floats) -> list[Floats]:
        """The tables of all pair potentials, where candidates score their own log-probability."""
        entries = np.append(vector[1:] / vector[0], 0.0)
        return [entries[numbers] for numbers in self.parameter_ids]

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Loss and gradient."""
        entries = np.append(vector[1:], 0.0)
        tables = [entries[numbers] for numbers in self.parameter_ids]
        weights = directed_tables(tables, self._directions, len(tables[0]))
        results = self._workers.map(
            lambda number: self._instance_loss(number, vector[0], weights),
            range(len(self._instances)),
        )
        gradient = np.zeros(self.size + 2)
        for _, slope, table_gradients in results:
            gradient[0] += slope
            for part, (number, flipped) in zip(table_gradients, self._directions, strict=True):
                numbers = self.parameter_ids[number].T if flipped else self.parameter_ids[number]
                np.add.at(gradient, numbers + 1, part)
        gradient = gradient[:-1]  # what is not learnt is the last
        away = vector[1:] - self._initial
        gradient[1:] += 2.0 * self._l2 * away
        loss = sum(result[0] for result in results)
        return loss + self._l2 * float(away @ away), gradient

    def _instance_loss(
        self, number: int, scale: float, weights: Floats
    ) -> tuple[float, float, Floats]:
        instance = self._instances[number]
        probabilities, expected = self._expected[number]
        gradient, slope = np.zeros_like(weights), np.zeros(1)
        graph, counts = instance.candidate_graph, expected.copy()
        known = (counts, probabilities, instance.gold)
        loss: float = pseudo_likelihood(
            graph.arrays, graph.edges, weights, scale, *known, gradient, slope
        )
        return loss, float(slope[0]), gradient


def _parameter_ids(graph: CandidateGraph) -> tuple[list[Ints], int]:
    """For each pair potential the numbers of its entries among all learnt ones, and how many.

    Entries that are not learnt have the number after the last.
    """
    tables, size = [], 0
    for potential in graph.pair_potentials:
        symmetric = potential.rows is potential.columns
        learnable = np.triu(potential.learnable) if symmetric else potential.learnable
        numbers = np.full(potential.table.shape, -1)
        numbers[learnable] = size + np.arange(int(learnable.sum()))
        tables.append(np.maximum(numbers, numbers.T) if symmetric else numbers)
        size += int(learnable.sum())
    return [np.where(numbers < 0, size, numbers) for numbers in tables], size
