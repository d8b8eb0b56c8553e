"""Inference over chains of order 3 and more: search, block by block, with threads."""

from __future__ import annotations

import numpy as np

from skipchain.arrays import Labels
from skipchain.chains.potentials import require_paths
from skipchain.chains.scores import ChainScores
from skipchain.errors import SkipchainError
from skipchain.kernels import label_ngrams as kernel
from skipchain.parallel import Workers


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds; a width of 1 is the greedy search. [N]"""
    ngrams = scores.label_ngrams
    assert ngrams is not None
    path = np.empty(scores.data.n_tokens, np.int32)
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


def require_exact(scores: ChainScores) -> None:
    """Refuse what asks for all labellings at once."""
    if scores.label_history is not None:
        raise SkipchainError(
            "labels that depend on earlier ones of the document (history) are found from left to "
            "right (beam, greedy), and not all labellings can be gone through: the model has no "
            "viterbi, marginals, confidences or n-best lists; without history it has them"
        )
    if scores.label_ngrams is not None:
        raise SkipchainError(
            f"a model of order {scores.label_ngrams.order} is searched from left to right (beam, "
            "greedy) and cannot go through all labellings: it has no viterbi, marginals, "
            "confidences or n-best lists; orders 1 and 2 have them"
        )
