"""Inference over chains of order 2 and more, block by block, with threads.

Order 2 has recursions of its own; what depends on longer runs of labels, or on features of them,
goes by way of `skipchain.chains.order_n`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains.potentials import Potentials, require_paths
from skipchain.chains.scores import ChainScores, NBestPaths
from skipchain.chains.span_events import SpanEvents
from skipchain.kernels import chain2 as kernel
from skipchain.parallel import Workers, blocks

BLOCK_TOKENS = 1024  # each token has tables of label pairs
Sums = Callable[[Potentials, Potentials, Floats | None], Floats]
Paths = Callable[[Potentials, Potentials, int], tuple[Labels, Floats]]


def viterbi(scores: ChainScores, workers: Workers) -> Labels:
    """The jointly best labels. [N]"""
    ranked = _best(scores, 1, workers, probabilities=False)
    parts = [best.paths[0] for best in ranked]
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds; a width of 1 is the greedy search. [N]"""
    path = np.zeros(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        p, raw = scores.potentials(block), scores.raw(block)
        best = np.empty(len(p.offsets) - 1)
        arguments = scores.order2_arguments(p, raw)
        kernel.beam(*arguments, p.offsets, scores.local, width, path[p.tokens], best)
        require_paths(best, p)

    workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return path


def marginals(scores: ChainScores, workers: Workers) -> Floats:
    """The probability of each label at each token. [N, L]"""
    out = np.empty((scores.data.n_tokens, scores.weights.n_labels))
    sums, _ = _recursions(scores)

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        require_paths(sums(p, scores.raw(block), out[p.tokens]), p)

    workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return out


def nbest(scores: ChainScores, k: int, workers: Workers) -> list[NBestPaths]:
    """The k best label sequences of every chain; fewer where there are fewer."""
    return _best(scores, k, workers, probabilities=True)


def event_probabilities(scores: ChainScores, windows: SpanEvents, workers: Workers) -> Floats:
    """The probability that the labels of each window lie in its sets. [K]

    The sum over all paths through the sets, as a share of the sum over all paths.
    """
    out = np.empty(len(windows.starts))
    sums, _ = _recursions(scores)

    def run(block: tuple[int, int]) -> None:
        first, last = scores.data.offsets[[block[0], block[1]]]
        which, inside = windows.starting_in(first, last)
        if len(which) == 0:
            return
        p, raw = scores.potentials(block), scores.raw(block)
        whole = sums(p, raw, None)
        for w, start, stop, row in zip(
            which, inside.starts, inside.stops, inside.rows, strict=True
        ):
            c = int(np.searchsorted(p.offsets, start, side="right")) - 1
            a, b = int(p.offsets[c]), int(p.offsets[c + 1])
            chain = p.part(a, b)
            node = chain.node.copy()
            node[start - a : stop - a][~inside.allowed[row : row + stop - start]] = -np.inf
            clamped = sums(replace(chain, node=node), raw.part(a, b), None)[0]
            out[w] = min(1.0, np.exp(clamped - whole[c]))

    workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return out


def _recursions(scores: ChainScores) -> tuple[Sums, Paths]:
    """How chains are summed over, and how their best paths are found."""
    if not scores.by_contexts:
        return partial(log_partition, scores), partial(best_paths, scores)
    from skipchain.chains.order_n import ContextPotentials

    contexts, local = ContextPotentials.of(scores), scores.local
    return (
        lambda p, raw, node: contexts.log_partition(p, raw, local, node),
        lambda p, raw, k: contexts.best_paths(p, raw, local, k),
    )


def log_partition(
    scores: ChainScores, p: Potentials, raw: Potentials, node: Floats | None = None
) -> Floats:
    """log Z of every chain [C]; ``node`` [N, L] takes the marginals of labels."""
    states = p.node.shape[1]
    marginals = np.empty_like(p.node) if node is None else node
    pairs, triples = np.zeros((1, states, states)), np.zeros((0, states, states))
    log_z = np.empty(len(p.offsets) - 1)
    arguments = scores.order2_arguments(p, raw)
    kernel.forward_backward(*arguments, p.offsets, scores.local, marginals, pairs, triples, log_z)
    return log_z


def best_paths(
    scores: ChainScores, p: Potentials, raw: Potentials, k: int
) -> tuple[Labels, Floats]:
    """The k best paths of *one* chain, and their scores, −∞ for ranks that do not exist."""
    paths, values = np.zeros((k, len(p.node)), np.int32), np.empty(k)
    kernel.nbest(*scores.order2_arguments(p, raw), scores.local, k, paths, values)
    return paths, values


def _best(
    scores: ChainScores, k: int, workers: Workers, *, probabilities: bool
) -> list[NBestPaths]:
    sums, best = _recursions(scores)

    def run(block: tuple[int, int]) -> list[NBestPaths]:
        p, raw = scores.potentials(block), scores.raw(block)
        log_z = np.zeros(len(p.offsets) - 1)
        if probabilities:
            log_z = sums(p, raw, None)
            require_paths(log_z, p)
        ranked = []
        top = np.zeros(len(log_z))
        for c, (a, b) in enumerate(pairwise(p.offsets.tolist())):
            if a == b:
                ranked.append(NBestPaths(np.empty((1, 0), np.int32), np.ones(1)))
                continue
            paths, values = best(p.part(a, b), raw.part(a, b), k)
            top[c] = values[0]
            real = values > -np.inf
            shares = np.zeros(int(real.sum()))
            if probabilities:
                shares = np.exp(np.minimum(values[real] - log_z[c], 0.0))
            ranked.append(NBestPaths(paths[real], shares))
        require_paths(top, p)
        return ranked

    parts = workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return [ranked for part in parts for ranked in part]
