"""Inference over chains of order 2, block by block, with threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from skipchain.arrays import Floats, Labels
from skipchain.chains.potentials import Potentials, require_paths
from skipchain.chains.scores import ChainScores, NBestPaths
from skipchain.chains.span_events import SpanEvents
from skipchain.kernels import chain2 as kernel
from skipchain.parallel import Workers, blocks

BLOCK_TOKENS = 1024  # each token has tables of label pairs


def viterbi(scores: ChainScores, workers: Workers) -> Labels:
    """The jointly best labels. [N]"""
    ranked = _best(scores, 1, workers, probabilities=False)
    parts = [best.paths[0] for best in ranked]
    return np.concatenate(parts) if parts else np.zeros(0, np.int32)


def beam(scores: ChainScores, width: int, workers: Workers) -> Labels:
    """The best labels that a beam of a width finds; a width of 1 is the greedy search. [N]"""
    path = np.empty(scores.data.n_tokens, np.int32)

    def run(block: tuple[int, int]) -> None:
        p, raw = scores.potentials(block), scores.raw(block)
        best = np.empty(len(p.offsets) - 1)
        kernel.beam(
            p.node,
            p.edge,
            raw.node,
            raw.edge,
            scores.weights.triples,
            p.offsets,
            scores.local,
            width,
            path[p.tokens],
            best,
        )
        require_paths(best, p)

    workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return path


def marginals(scores: ChainScores, workers: Workers) -> Floats:
    """The probability of each label at each token. [N, L]"""
    out = np.empty((scores.data.n_tokens, scores.weights.n_labels))

    def run(block: tuple[int, int]) -> None:
        p = scores.potentials(block)
        require_paths(_sums(scores, p, scores.raw(block), out[p.tokens]), p)

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

    def run(block: tuple[int, int]) -> None:
        first, last = scores.data.offsets[[block[0], block[1]]]
        own = np.flatnonzero((windows.starts >= first) & (windows.starts < last))
        if len(own) == 0:
            return
        p, opened = scores.potentials(block), scores.raw(block)
        whole = _sums(scores, p, opened, np.empty_like(p.node))
        for w in own.tolist():
            start, stop = int(windows.starts[w] - first), int(windows.stops[w] - first)
            c = int(np.searchsorted(p.offsets, start, side="right")) - 1
            a, b = int(p.offsets[c]), int(p.offsets[c + 1])
            node = p.node[a:b].copy()
            sets = windows.allowed[windows.rows[w] : windows.rows[w] + stop - start]
            node[start - a : stop - a][~sets] = -np.inf
            chain = Potentials(node, p.tables(a, b), np.array([0, b - a]))
            free = Potentials(opened.node[a:b], opened.tables(a, b), chain.offsets)
            inside = _sums(scores, chain, free, np.empty_like(node))[0]
            out[w] = min(1.0, np.exp(inside - whole[c]))

    workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return out


def _sums(scores: ChainScores, p: Potentials, opened: Potentials, node: Floats) -> Floats:
    """Write node marginals; return log Z of every chain."""
    states = p.node.shape[1]
    log_z = np.empty(len(p.offsets) - 1)
    kernel.forward_backward(
        p.node,
        p.edge,
        opened.node,
        opened.edge,
        scores.weights.triples,
        p.offsets,
        scores.local,
        node,
        np.zeros((1, states, states)),
        np.zeros((0, states, states)),
        log_z,
    )
    return log_z


def _best(
    scores: ChainScores, k: int, workers: Workers, *, probabilities: bool
) -> list[NBestPaths]:
    def run(block: tuple[int, int]) -> list[NBestPaths]:
        p, opened = scores.potentials(block), scores.raw(block)
        log_z = np.zeros(len(p.offsets) - 1)
        if probabilities:
            log_z = _sums(scores, p, opened, np.empty_like(p.node))
            require_paths(log_z, p)
        ranked = []
        tops = np.zeros(len(log_z))
        for c, (a, b) in enumerate(pairwise(p.offsets.tolist())):
            paths = np.empty((k, b - a), np.int32)
            values = np.zeros(k)
            if a == b:
                ranked.append(NBestPaths(paths[:1], np.ones(1)))
                continue
            kernel.nbest(
                p.node[a:b],
                p.tables(a, b),
                opened.node[a:b],
                opened.tables(a, b),
                scores.weights.triples,
                scores.local,
                k,
                paths,
                values,
            )
            tops[c] = values[0]
            real = values > -np.inf
            sure = np.zeros(int(real.sum()))
            if probabilities:
                sure = np.exp(np.minimum(values[real] - log_z[c], 0.0))
            ranked.append(NBestPaths(paths[real], sure))
        require_paths(tops, p)
        return ranked

    found = workers.map(run, blocks(scores.data.offsets, BLOCK_TOKENS))
    return [ranked for part in found for ranked in part]
