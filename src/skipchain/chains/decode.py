"""Inference over all chains of a dataset, block by block, with threads."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains.potentials import require_paths
from skipchain.chains.scores import MAX_CONTEXTS, ChainScores, NBestPaths, is_exact
from skipchain.checks import check_integer
from skipchain.errors import SkipchainError
from skipchain.kernels import chain
from skipchain.parallel import Workers, blocks

if TYPE_CHECKING:
    from skipchain.chains.span_events import SpanEvents

MAX_WIDTH = 1_000_000  # of a beam
SUM_TOLERANCE = 1e-9  # of marginals; larger than what rounding does to scores of any use
PAIR_NUMBERS = 1 << 20  # numbers in the pair marginals of one block


def viterbi(scores: ChainScores, workers: Workers) -> Labels:
    """The jointly best labels. [N]"""
    order2 = _exact_higher_order(scores)
    if order2 is not None:
        path: Labels = order2.viterbi(scores, workers)
        return path
    path = np.zeros(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        best = np.empty(len(p.offsets) - 1)
        chain.viterbi(p.node, p.edge, p.offsets, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, scores.data.blocks())
    return path


def greedy(scores: ChainScores, workers: Workers) -> Labels:
    """From left to right the best label given those before. [N]"""
    higher = _higher_order(scores)
    if higher is not None:
        path: Labels = higher.beam(scores, 1, workers)
        return path
    from skipchain.kernels import search

    path = np.zeros(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        # what a local model normalises by is the same for all labels that are compared
        p = scores.with_constraints(scores.raw(block))
        best = np.empty(len(p.offsets) - 1)
        search.greedy(p.node, p.edge, p.offsets, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, scores.data.blocks())
    return path


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds. [N]

    Prefixes are compared by their scores, those of a local model by their probabilities; of those
    that end in the same label only the best is kept, so that a beam as wide as there are labels
    finds what `viterbi` finds.
    """
    check_width(width)
    higher = _higher_order(scores)
    if higher is not None:
        path: Labels = higher.beam(scores, width, workers)
        return path
    from skipchain.kernels import search

    path = np.zeros(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        raw = scores.raw(block)
        norms = raw.normalisers() if scores.local else raw.node[:0]
        p = scores.with_constraints(raw)
        best = np.empty(len(p.offsets) - 1)
        search.beam(p.node, p.edge, norms, p.offsets, width, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, scores.data.blocks())
    return path


def check_width(width: int) -> None:
    """Refuse a beam that holds nothing, or more than memory can."""
    check_integer("the width of a beam", width, most=MAX_WIDTH)


def marginals(scores: ChainScores, workers: Workers) -> Floats:
    """The probability of each label at each token. [N, L]"""
    order2 = _exact_higher_order(scores)
    if order2 is not None:
        return renormalised(order2.marginals(scores, workers))
    out = np.empty((scores.data.n_tokens, scores.weights.n_labels))

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        log_z = np.empty(len(p.offsets) - 1)
        none = np.empty((0, out.shape[1], out.shape[1]))
        chain.forward_backward(p.node, p.edge, p.offsets, out[p.tokens], none, log_z)
        require_paths(log_z, p)

    workers.map(run, scores.data.blocks())
    return renormalised(out)


def renormalised(marginals: Floats) -> Floats:
    """Marginals whose rows add up to 1, where scores were too large for their fractions to count.

    >>> renormalised(np.array([[0.25, 0.75], [1.5, 0.5]])).tolist()
    [[0.25, 0.75], [0.75, 0.25]]
    """
    sums = marginals.sum(axis=1)
    off = np.abs(sums - 1.0) > SUM_TOLERANCE
    if off.any():
        marginals[off] /= sums[off, None]
    return marginals


def posterior(scores: ChainScores, workers: Workers) -> Labels:
    """The label with the largest marginal at each token, ties to the lower. [N]"""
    best: Labels = marginals(scores, workers).argmax(axis=1).astype(np.int32)
    return best


def nbest(scores: ChainScores, k: int, workers: Workers) -> list[NBestPaths]:
    """The k best label sequences of every chain; fewer where there are fewer."""
    order2 = _exact_higher_order(scores)
    if k < 1:
        raise SkipchainError(f"n-best needs at least 1 sequence, got {k}")
    if order2 is not None:
        ranked: list[NBestPaths] = order2.nbest(scores, k, workers)
        return ranked
    from skipchain.kernels.paths import nbest as best_paths

    def run(block: tuple[int, int]) -> list[NBestPaths]:
        p = scores.potentials(block)
        log_z = np.empty(len(p.offsets) - 1)
        none = np.empty((0, p.node.shape[1], p.node.shape[1]))
        chain.forward_backward(p.node, p.edge, p.offsets, np.empty_like(p.node), none, log_z)
        require_paths(log_z, p)
        ranked = []
        for c, (first, last) in enumerate(pairwise(p.offsets.tolist())):
            paths = np.zeros((k, last - first), np.int32)
            values = np.zeros(k)
            if first == last:
                ranked.append(NBestPaths(paths[:1], np.ones(1)))
                continue
            best_paths(p.node[first:last], p.tables(first, last), k, paths, values)
            real = values > -np.inf
            ranked.append(NBestPaths(paths[real], np.exp(np.minimum(values[real] - log_z[c], 0.0))))
        return ranked

    return [ranked for part in workers.map(run, scores.data.blocks()) for ranked in part]


def event_probabilities(scores: ChainScores, windows: SpanEvents, workers: Workers) -> Floats:
    """The probability that the labels of each window lie in its sets. [K]"""
    order2 = _exact_higher_order(scores)
    if order2 is not None:
        out: Floats = order2.event_probabilities(scores, windows, workers)
        return out
    from skipchain.kernels.paths import set_probability

    out = np.empty(len(windows.starts))
    states = scores.weights.n_labels

    def run(block: tuple[int, int]) -> None:
        first, last = scores.data.offsets[[block[0], block[1]]]
        which, inside = windows.starting_in(first, last)
        if len(which) == 0:
            return
        p = scores.potentials(block)
        node = np.empty_like(p.node)
        pairs = np.zeros((len(p.node), states, states))
        log_z = np.empty(len(p.offsets) - 1)
        chain.forward_backward(p.node, p.edge, p.offsets, node, pairs, log_z)
        probability = np.empty(len(which))
        set_probability(
            node, pairs, inside.starts, inside.stops, inside.allowed, inside.rows, probability
        )
        out[which] = probability

    # small blocks: each token has a table of label pairs
    workers.map(run, blocks(scores.data.offsets, max(1, PAIR_NUMBERS // states**2)))
    return out


def _higher_order(scores: ChainScores) -> ModuleType | None:
    """The module that searches chains of a higher order than 1, or with a history; else None.

    Each is imported when it is needed: most models have order 1.
    """
    if scores.label_history is not None:
        from skipchain.chains import history_search

        return history_search
    if scores.by_contexts:
        from skipchain.chains import order_n

        return order_n
    if scores.weights.order == 2:
        from skipchain.chains import order2

        return order2
    return None


def _exact_higher_order(scores: ChainScores) -> ModuleType | None:
    """The module of order 2 and more; None for order 1. What can only be searched is refused."""
    if scores.label_history is not None:
        raise SkipchainError(
            "labels that depend on earlier ones of the document (history) are found from left to "
            "right (beam, greedy), and not all labellings can be gone through: the model has no "
            "viterbi, marginals, confidences or n-best lists; without history it has them"
        )
    n_labels, order = scores.weights.n_labels, scores.order
    if not is_exact(n_labels, order):
        raise SkipchainError(
            f"a model of order {order} with {n_labels} labels is searched from left to right "
            f"(beam, greedy): it would have to go through {n_labels**order:,} runs of labels, and "
            f"{MAX_CONTEXTS:,} are allowed; it has no viterbi, marginals, confidences or n-best "
            "lists, which lower orders have"
        )
    if order == 1:
        return None
    from skipchain.chains import order2

    return order2
