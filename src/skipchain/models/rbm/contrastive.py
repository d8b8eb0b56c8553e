"""Contrastive divergence: gold labels against what sampling makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skipchain.arrays import Floats, Ints, Labels
from skipchain.chains.sums import TableScorer
from skipchain.kernels import rbm
from skipchain.models.latent.scorer import StateWeights
from skipchain.models.rbm.expert_gradient import ExpertBatch, ExpertStatistics
from skipchain.models.rbm.expert_tables import expert_tables, split_tables
from skipchain.models.rbm.gibbs import BLOCK_TOKENS
from skipchain.models.rbm.units import LabelFilters, UpperUnits
from skipchain.parallel import Workers, blocks


@dataclass(frozen=True)
class ContrastiveBatch:
    """Sequences whose gradient is taken together.

    ``fixed`` [N, L] are scores of labels that are not learnt. Where ``has_input_weights``, those
    that a table [F, L] of weights of the input gives are added. ``experts`` have hidden states that
    emit labels. ``features`` are the rows of all features that those of the scorer stand for; None
    means that it has them all.
    """

    scorer: TableScorer
    fixed: Floats
    offsets: Ints
    labels: Labels
    has_input_weights: bool
    experts: Sequence[ExpertBatch] = ()
    features: Ints | None = None

    def node(self, table: Floats, workers: Workers) -> Floats:
        """The scores of labels by themselves. [N, L]"""
        if not self.has_input_weights:
            return self.fixed
        return self.fixed + self.scorer.scores(table, workers)

    def inputs(self, features: LabelFilters, workers: Workers) -> Floats:
        """The scores that the input gives the hidden units. [N, Q] or [0, Q]"""
        if not len(features.inputs):
            return features.inputs
        return self.scorer.scores(features.inputs, workers)

    def contrastive_divergence(
        self,
        table: Floats,
        features: LabelFilters,
        steps: int,
        states: NDArray[np.uint64],
        current: Labels,
        workers: Workers,
        experts: Sequence[StateWeights] = (),
        upper: tuple[UpperUnits, UpperUnits] | None = None,
    ) -> tuple[float, ContrastiveGradient]:
        """The loss of one reconstruction, and the gradient.

        ``states`` [C] are random numbers of the sequences, ``current`` [N] the labels that sampling
        begins from, which it changes. ``upper`` are the units of the second level beside the
        data's labels and beside those that are sampled, which it changes, too; without them, they
        begin as off.
        """
        if upper is None:
            upper = features.upper_units(len(current)), features.upper_units(len(current))
        node, inputs = self.node(table, workers), self.inputs(features, workers)
        layout, tables = features.layout, features.tables
        residuals = np.empty_like(node)
        hidden = np.zeros_like(inputs)
        scores = [
            batch.scores(weights, workers)
            for batch, weights in zip(self.experts, experts, strict=True)
        ]
        statistics = [ExpertStatistics.empty_like(state_scores) for state_scores in scores]

        def run(block: tuple[int, int]) -> tuple[float, Floats, Floats]:
            weights, bias = np.zeros_like(tables.label_to_unit), np.zeros_like(tables.bias)
            potentials = [state_scores.potentials(block) for state_scores in scores]
            packed = expert_tables(potentials)
            moved, emitted = np.zeros_like(packed.transitions), np.zeros_like(packed.emissions)
            lost = rbm.contrastive_divergence(
                node, inputs, self.offsets, block, layout, tables, packed, self.labels,
                steps, states, current, *upper, weights, bias, residuals, hidden, moved, emitted
            )  # fmt: skip
            pairs = split_tables(
                moved, packed.transition_starts, [p.transitions for p in potentials]
            )
            joint = split_tables(emitted, packed.emission_starts, [p.emissions for p in potentials])
            for expert, p, *parts in zip(statistics, potentials, pairs, joint, strict=True):
                expert.write_block(p, *parts)
            return lost, weights, bias

        losses, weights, biases = zip(
            *workers.map(run, blocks(self.offsets, BLOCK_TOKENS)), strict=True
        )
        return float(sum(losses)), ContrastiveGradient(
            self.scorer.gradient(residuals, workers) if self.has_input_weights else table,
            np.concatenate([np.sum(weights, axis=0), np.sum(biases, axis=0)]),
            self.scorer.gradient(hidden, workers) if len(inputs) else hidden,
            [
                batch.gradient(contrast, workers)
                for batch, contrast in zip(self.experts, statistics, strict=True)
            ],
            len(self.offsets) - 1,
        )


@dataclass(frozen=True, slots=True)
class ContrastiveGradient:
    """A gradient, summed over sequences: the direction of ascent.

    It is to be divided by the number of sequences, ``count``, and not by that of positions:
    averaged over these, too, nothing is learnt.
    """

    table: Floats  # [F or 0, L]
    units: Floats  # of weights and biases
    inputs: Floats  # [F or 0, Q]
    experts: list[StateWeights]
    count: int

    @property
    def vector(self) -> Floats:
        """All of it as one vector, averaged over sequences."""
        experts = [weights.vector for weights in self.experts]
        parts = [self.table.ravel(), self.units, self.inputs.ravel(), *experts]
        return np.concatenate(parts) / self.count
