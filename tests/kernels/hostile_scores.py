"""``python -m tests.kernels.hostile_scores``: searches and samplers on scores that are none.

Run with ``NUMBA_BOUNDSCHECK=1``, a kernel that leaves its arrays raises an IndexError.
"""

from __future__ import annotations

import numpy as np

from skipchain.kernels import (
    chain,
    chain2,
    chain_n,
    label_history,
    label_ngrams,
    latent,
    paths,
    search,
    token_gibbs,
)
from skipchain.kernels.experts import draw
from skipchain.kernels.factors import StringEdges
from skipchain.kernels.random import seeded
from skipchain.kernels.unit_draws import draw_unit

HOSTILE = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e15, -1e15, 5e-324])
OFFSETS = np.array([0, 4, 5, 5, 11])
SIZE = int(OFFSETS[-1])


def spoiled(rng, shape, share):
    """Random numbers, a share of them hostile."""
    numbers = rng.normal(0, 2, shape)
    at = rng.random(shape) < share
    numbers[at] = rng.choice(HOSTILE, int(at.sum()))
    return numbers


def attack(seed, states, varying, share):
    """All decoders on one set of potentials."""
    rng = np.random.default_rng(seed)
    node, open_node = spoiled(rng, (SIZE, states), share), spoiled(rng, (SIZE, states), share)
    tables = (SIZE if varying else 1, states, states)
    edge, open_edge = spoiled(rng, tables, share), spoiled(rng, tables, share)
    second = spoiled(rng, (states + 1, states, states), share)
    norms = spoiled(rng, (SIZE, states), share)
    width, k = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    free = (node, edge, open_node, open_edge, second)
    scores = np.empty(len(OFFSETS) - 1)

    def checked(path):
        assert ((path >= 0) & (path < states)).all(), path

    def run(kernel, *arguments):
        path = np.zeros(SIZE, np.int32)
        kernel(*arguments, path, scores)
        checked(path)

    run(chain.viterbi, node, edge, OFFSETS)
    run(search.greedy, node, edge, OFFSETS)
    run(search.beam, node, edge, norms, OFFSETS, width)
    run(search.beam, node, edge, norms[:0], OFFSETS, width)
    for local in (False, True):
        run(chain2.beam, *free, OFFSETS, local, width)
    previous = np.array([t - 1 - int(rng.integers(0, t)) if t else -1 for t in range(SIZE)])
    decay, table = np.exp(-np.arange(50.0)), spoiled(rng, (states, states), share)
    for pairs in (second, second[:0]):
        searched = (node, edge, open_node, open_edge, pairs, previous, decay, table, OFFSETS, width)
        run(label_history.beam, *searched)
    order = 4
    contexts = np.unique(rng.integers(0, (states + 2) ** order, 20))
    weights = spoiled(rng, (len(contexts), states), share)
    rows = 6
    trigrams = label_ngrams.TrigramIndex(
        np.arange(SIZE + 1), np.zeros(SIZE, np.int32), np.zeros(0), np.array([0, rows]),
        rng.integers(0, states + 1, rows), rng.integers(-1, states + 1, rows),
        spoiled(rng, (rows, states), share)
    )  # fmt: skip
    for local in (False, True):
        searched = (contexts, weights, order, trigrams, OFFSETS, local, width)
        run(label_ngrams.beam, *free, *searched)
    emissions = spoiled(rng, (SIZE, 2, states), share)
    rules = rng.random((states, states)) < 0.8, rng.random(states) < 0.8, rng.random(states) < 0.8
    run(latent.best_paths, spoiled(rng, (SIZE, 3, 2), share), emissions, *rules, OFFSETS)

    ranked, values = np.zeros((k, 4), np.int32), np.zeros(k)
    within = edge[:4] if varying else edge
    paths.nbest(node[:4], within, k, ranked, values)
    checked(ranked)
    for local in (False, True):
        chain2.nbest(
            node[:4], within, open_node[:4], open_edge[:4], second, local, k, ranked, values
        )
        checked(ranked)
    size = sum(states**n for n in range(4))
    table = spoiled(rng, (size, states), share)
    with np.errstate(over="ignore"):
        contexts = (table, np.exp(table), 3, trigrams)
    for local in (False, True):
        chain_n.nbest(
            node[:4], within, open_node[:4], open_edge[:4], *contexts, local, k, ranked, values
        )
        checked(ranked)
        wanted = np.zeros((1, states, states)), np.zeros_like(table), np.zeros((rows, states))
        chain_n.forward_backward(
            *free[:4], *contexts, OFFSETS, local, np.empty_like(node), *wanted, scores
        )
    none = np.empty((0, states, states))
    chain.forward_backward(node.copy(), edge, OFFSETS, np.empty_like(node), none, scores)
    labels = rng.integers(0, states, SIZE).astype(np.int32)
    generators = seeded(seed, 0, len(OFFSETS) - 1)
    norms = np.empty((SIZE, states + 1, states))
    token_gibbs.triple_norms(open_node, open_edge, second, OFFSETS, norms)
    for pairs, sums in ((second[:0], norms[:0]), (second, norms[:0]), (second, norms)):
        sample_tokens(
            token_gibbs.DocumentChain(0, node, edge, pairs, sums), rng, labels, generators
        )
        checked(labels)
    for number in (*HOSTILE, 39.99, 40.0, -40.0, -40.01):
        draw_unit(number, generators, 0)
        assert 0 <= draw(np.full(3, number), generators, 0) < 3


def sample_tokens(chain, rng, labels, generators):
    """Labels of two types, whose spans of one and two words interact by hostile weights."""
    states = chain.node.shape[1]
    sizes = np.diff(OFFSETS)
    heads, tails = np.repeat(OFFSETS[:-1], sizes), np.repeat(OFFSETS[1:], sizes)
    longest = np.minimum(tails - np.arange(SIZE), 2)
    base = np.concatenate([[0], np.cumsum(2 * longest)])
    joins = rng.random((states, states)) < 0.5
    types = rng.integers(-1, 2, states)
    joins &= (types[:, None] == types) & (types >= 0)
    numbers = np.arange(base[-1] + 1)
    strings = rng.integers(0, 3, base[-1])
    spans = token_gibbs.TokenSpans(
        heads, tails, joins, types, base[:-1], longest, numbers, strings,
        np.arange(SIZE + 1), rng.integers(0, 3, SIZE), rng.integers(0, 2, SIZE), 4,
    )  # fmt: skip
    neighbours, scales = rng.integers(0, 3, 3), spoiled(rng, 3, 0.1)
    edges = StringEdges(np.arange(4), neighbours, np.zeros(3, np.int64), scales)
    weights, field = spoiled(rng, (1, 3, 3), 0.1), np.zeros((3, 3))
    allowed = rng.random((states, states)) < 0.5, rng.random(states) < 0.5, rng.random(states) < 0.5
    token_gibbs.sample_tokens(
        chain, spans, edges, weights, field, token_gibbs.AllowedLabels(*allowed), np.arange(SIZE),
        labels, np.array([np.inf, 1.0, 0.0, 1e-300]), generators[:1], labels.copy(), -np.inf,
        np.zeros((SIZE, states), np.int64), np.zeros(base[-1], np.int64),
    )  # fmt: skip


def main():
    """A few hundred sets of potentials."""
    for seed in range(200):
        attack(seed, 1 + seed % 4, seed % 2 == 0, (0.02, 0.1, 0.5, 1.0)[seed // 4 % 4])
    print("200 attacks")


if __name__ == "__main__":
    main()
