"""Gibbs sampling of one label at a time: the plain way, to compare with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skipchain.arrays import Labels
from skipchain.chains.scores import ChainScores
from skipchain.errors import SkipchainError
from skipchain.kernels import token_gibbs as kernel
from skipchain.kernels.random import seeded
from skipchain.models.document.annealing import Annealing
from skipchain.parallel import Workers


def anneal_tokens(scores: ChainScores, annealing: Annealing, workers: Workers) -> Labels:
    """The labels in which annealing ends, from random ones, label by label. [N]

    It mixes slowly: two labels that are only good together are never changed together. For the same
    reason nothing is forbidden: a label that its neighbours rule out could never be left.
    """
    longer = scores.label_ngrams is not None or scores.label_history is not None
    if scores.weights.order != 1 or longer:
        raise SkipchainError("labels are sampled one at a time in chains of order 1 only")
    scores = replace(scores, constraints=None)
    data = scores.data
    labels = np.random.default_rng(annealing.seed).integers(
        scores.weights.n_labels, size=data.n_tokens, dtype=np.int32
    )
    states = seeded(annealing.seed, 0, len(data.offsets) - 1)
    temperatures = annealing.temperatures

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        kernel.gibbs_sweeps(
            p.node, p.edge, p.offsets, temperatures, states[slice(*block)], labels[p.tokens]
        )

    workers.map(run, data.blocks())
    return labels
