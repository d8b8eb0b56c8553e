"""Inference where labels depend on those given earlier in the document: search, with threads."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Labels
from skipchain.chains.potentials import require_paths
from skipchain.chains.scores import ChainScores
from skipchain.kernels import label_history as kernel
from skipchain.parallel import Workers, blocks


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds; a width of 1 is the greedy search. [N]

    Documents are gone through from their first sentence to the last, several at a time.
    """
    history, earlier = scores.label_history, scores.data.previous_occurrences
    assert history is not None
    assert earlier is not None
    path = np.zeros(scores.data.n_tokens, np.int32)
    chains = earlier.documents

    def run(block: tuple[int, int]) -> None:
        raw = scores.raw((int(chains[block[0]]), int(chains[block[1]])))
        p = scores.with_constraints(raw)
        previous = earlier.previous[p.tokens]
        table = (np.where(previous < 0, -1, previous - p.first), history.decay, history.weights)
        best = np.empty(len(p.offsets) - 1)
        arguments = scores.order2_arguments(p, raw)
        kernel.beam(*arguments, *table, p.offsets, width, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, blocks(scores.offsets[chains]))
    return path
