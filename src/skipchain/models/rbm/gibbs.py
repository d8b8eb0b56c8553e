"""Marginals of labels under hidden units, by Gibbs sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skipchain.arrays import Floats, Ints, Labels
from skipchain.kernels import rbm
from skipchain.kernels.random import seeded
from skipchain.models.latent.inference import StateScores
from skipchain.models.latent.inference import marginals as state_marginals
from skipchain.models.rbm.expert_tables import expert_tables
from skipchain.models.rbm.units import LabelFilters
from skipchain.parallel import Workers, blocks

BLOCK_TOKENS = 1024  # of sampling, where a token takes many steps
INITIAL_INVERSE_TEMPERATURE = 0.1  # where annealing begins: scores are multiplied by this


MAX_STEPS = 10_000  # of burn-in, and of those that count
MAX_TOKEN_WORK = 20_000_000  # steps, units, offsets and labels multiplied: a token's cost


@dataclass(frozen=True, slots=True)
class GibbsSettings:
    """How labels are sampled: ``samples`` steps that count, after ``burn_in`` that do not.

    If ``annealed``, the inverse temperature, by which scores are multiplied, rises to one during
    burn-in.

    >>> GibbsSettings(burn_in=3, samples=2, annealed=True).inverse_temperatures
    array([0.1 , 0.55, 1.  , 1.  , 1.  ])
    """

    burn_in: int = 50
    samples: int = 100
    annealed: bool = False
    seed: int = 0

    @property
    def inverse_temperatures(self) -> Floats:
        """The inverse temperature of each step: what scores are multiplied by."""
        first = INITIAL_INVERSE_TEMPERATURE if self.annealed else 1.0
        return np.concatenate([np.linspace(first, 1.0, self.burn_in), np.ones(self.samples)])


def marginals(
    node: Floats,
    inputs: Floats,
    offsets: Ints,
    features: LabelFilters,
    sampling: GibbsSettings,
    workers: Workers,
    experts: Sequence[StateScores] = (),
) -> Floats:
    """The probability of each label at each token, averaged over samples. [N, L]

    node [N, L] are the scores of labels by themselves, inputs [N, Q] or [0, Q] those that the
    input gives the units; ``experts`` are models of hidden states that the labels come from, too.
    Every chain draws the same random numbers, so that it gets the same labels whatever stands
    beside it. Without groups and experts this is exact.
    """
    out = np.empty_like(node)
    upper = features.upper_units(len(node))
    current = initial_labels(node, experts, workers)
    chains = len(offsets) - 1
    states = np.repeat(seeded(sampling.seed, 0, 1), chains)
    units, betas = (features.layout, features.tables), sampling.inverse_temperatures

    def run(block: tuple[int, int]) -> None:
        packed = expert_tables([expert.potentials(block) for expert in experts])
        steps = (betas, sampling.samples, states)
        rbm.sample(node, inputs, offsets, block, *units, packed, *steps, current, upper, out)

    workers.map(run, blocks(offsets, BLOCK_TOKENS))
    return out


def initial_labels(node: Floats, experts: Sequence[StateScores], workers: Workers) -> Labels:
    """The labels to begin with: the best of each token by its scores and by each expert. [N]"""
    scores = node
    for expert in experts:
        probabilities = state_marginals(expert, workers)
        scores = scores + np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    best: Labels = scores.argmax(axis=1).astype(np.int32)
    return best


def trace(
    node: Floats,
    inputs: Floats,
    features: LabelFilters,
    sampling: GibbsSettings,
    experts: Sequence[StateScores] = (),
) -> list[Floats]:
    """p(h = 1 | y) of the hidden units along one sequence, in each step that counts.

    One array [samples, R, n] a group, R its replicas; NaN for a replica that looks at no label.
    Where there is a second level, that is given its units, too, and of these which are on.
    """
    length, size = node.shape
    offsets = np.array([0, length], np.int64)
    layout, tables = features.layout, features.tables
    current, scratch = initial_labels(node, experts, Workers(1)), np.empty_like(node)
    upper = features.upper_units(length)
    data = (node, inputs, offsets, (0, 1), layout, tables)
    packed = expert_tables([expert.potentials((0, 1)) for expert in experts])
    states = seeded(sampling.seed, 0, 1)
    counts = np.maximum(length - layout.replica_margin - layout.replica_start, 0).tolist()
    traces = [
        np.empty((sampling.samples, count, group.units))
        for count, group in zip(counts, features.groups, strict=True)
    ]
    for step, beta in enumerate(sampling.inverse_temperatures):
        rbm.sample(*data, packed, np.array([beta]), 1, states, current, upper, scratch)
        if step < sampling.burn_in:
            continue
        for number, (out, group) in enumerate(zip(traces, features.groups, strict=True)):
            own = out[step - sampling.burn_in]
            if group.below is None:
                rbm.unit_probabilities(current, inputs, layout, tables, size, number, upper, own)
            else:
                first = layout.upper_columns[number]
                own[:] = upper[:, first : first + group.units]
    return traces
