"""Inference over all chains of a dataset, block by block, with threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains import history_search, order2, order_n
from skipchain.chains.order_n import require_exact
from skipchain.chains.potentials import require_paths
from skipchain.chains.scores import ChainScores, NBestPaths
from skipchain.chains.span_events import SpanEvents
from skipchain.checks import check_integer
from skipchain.errors import SkipchainError
from skipchain.kernels import chain, search
from skipchain.kernels.paths import nbest as best_paths
from skipchain.kernels.paths import set_probability
from skipchain.parallel import Workers, blocks

PAIR_NUMBERS = 1 << 20  # numbers in the pair marginals of one block


def viterbi(scores: ChainScores, workers: Workers) -> Labels:
    """The jointly best labels. [N]"""
    require_exact(scores)
    if scores.weights.order == 2:
        return order2.viterbi(scores, workers)
    path = np.empty(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        best = np.empty(len(p.offsets) - 1)
        chain.viterbi(p.node, p.edge, p.offsets, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, scores.data.blocks())
    return path


def greedy(scores: ChainScores, workers: Workers) -> Labels:
    """From left to right the best label given those before. [N]"""
    if scores.label_history is not None:
        return history_search.beam(scores, 1, workers)
    if scores.label_ngrams is not None:
        return order_n.beam(scores, 1, workers)
    if scores.weights.order == 2:
        return order2.beam(scores, 1, workers)
    path = np.empty(scores.data.n_tokens, np.int32)

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
    if scores.label_history is not None:
        return history_search.beam(scores, width, workers)
    if scores.label_ngrams is not None:
        return order_n.beam(scores, width, workers)
    if scores.weights.order == 2:
        return order2.beam(scores, width, workers)
    path = np.empty(scores.data.n_tokens, np.int32)

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
    """Refuse a beam that holds nothing."""
    check_integer("the width of a beam", width)


def marginals(scores: ChainScores, workers: Workers) -> Floats:
    """The probability of each label at each token. [N, L]"""
    require_exact(scores)
    if scores.weights.order == 2:
        return order2.marginals(scores, workers)
    out = np.empty((scores.data.n_tokens, scores.weights.n_labels))

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        log_z = np.empty(len(p.offsets) - 1)
        none = np.empty((0, out.shape[1], out.shape[1]))
        chain.forward_backward(p.node, p.edge, p.offsets, out[p.tokens], none, log_z)
        require_paths(log_z, p)

    workers.map(run, scores.data.blocks())
    return out


def posterior(scores: ChainScores, workers: Workers) -> Labels:
    """The label with the largest marginal at each token, ties to the lower. [N]"""
    best: Labels = marginals(scores, workers).argmax(axis=1).astype(np.int32)
    return best


def nbest(scores: ChainScores, k: int, workers: Workers) -> list[NBestPaths]:
    """The k best label sequences of every chain; fewer where there are fewer."""
    require_exact(scores)
    if k < 1:
        raise SkipchainError(f"n-best needs at least 1 sequence, got {k}")
    if scores.weights.order == 2:
        return order2.nbest(scores, k, workers)

    def run(block: tuple[int, int]) -> list[NBestPaths]:
        p = scores.potentials(block)
        log_z = np.empty(len(p.offsets) - 1)
        none = np.empty((0, p.node.shape[1], p.node.shape[1]))
        chain.forward_backward(p.node, p.edge, p.offsets, np.empty_like(p.node), none, log_z)
        require_paths(log_z, p)
        ranked = []
        for c, (first, last) in enumerate(pairwise(p.offsets.tolist())):
            paths = np.empty((k, last - first), np.int32)
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
    require_exact(scores)
    if scores.weights.order == 2:
        return order2.event_probabilities(scores, windows, workers)
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
