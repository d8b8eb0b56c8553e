"""Inference over chains of order 3 and more: search, block by block, with threads."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Labels
from skipchain.chains.potentials import require_paths
from skipchain.chains.scores import ChainScores
from skipchain.kernels import label_ngrams as kernel
from skipchain.parallel import Workers


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds; a width of 1 is the greedy search. [N]"""
    ngrams = scores.label_ngrams
    assert ngrams is not None
    path = np.zeros(scores.data.n_tokens, np.int32)
    width = min(width, scores.weights.n_labels**ngrams.order)
    table = (ngrams.ngrams, ngrams.weights, ngrams.order)

    def run(block: tuple[int, int]) -> None:
        p, raw = scores.potentials(block), scores.raw(block)
        best = np.empty(len(p.offsets) - 1)
        arguments = scores.order2_arguments(p, raw)
        kernel.beam(*arguments, *table, p.offsets, width, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, scores.data.blocks())
    return path
