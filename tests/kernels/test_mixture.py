"""Mixtures of parents against enumeration of all labellings, and gradients against differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from skipchain.edges import Dag
from skipchain.kernels import mixture


def random_graph(rng, nodes=5, labels=3, edge_types=2, scale=1.0):
    """A graph with up to three parents a node, some from nowhere, and random scores."""
    parents, names = [], []
    for k in range(nodes):
        own = sorted(rng.choice(k, min(k, int(rng.integers(0, 4))), replace=False).tolist())
        if not own or rng.random() < 0.3:
            own.append(-1)
        parents.append(own)
        names.append([f"k{rng.integers(edge_types)}" for _ in own])
    dag = Dag.of_parents(parents, names, [f"k{m}" for m in range(edge_types)])
    alphas = rng.random(dag.n_edges) + 0.1
    alphas /= np.bincount(dag.children, alphas)[dag.children]
    counts = np.bincount(dag.edge_types, minlength=edge_types)
    bases = -np.append(0, np.cumsum(counts))[:-1]
    scores = rng.normal(size=(dag.n_edges, labels)) * scale
    tables = rng.normal(size=(edge_types, labels, labels)) * scale
    return dag, alphas, bases.astype(np.int64), scores, tables


def conditional(scores, table, before):
    logits = scores + (0.0 if before is None else table[before])
    odds = np.exp(logits - logits.max())
    return odds / odds.sum()


def by_enumeration(dag, alphas, bases, scores, tables):
    """Marginals from the joint probabilities of all labellings."""
    nodes, labels = dag.n_nodes, scores.shape[1]
    found = np.zeros((nodes, labels))
    for path in itertools.product(range(labels), repeat=nodes):
        joint = 1.0
        for k in range(nodes):
            own = 0.0
            for e in range(dag.indptr[k], dag.indptr[k + 1]):
                m, j = dag.edge_types[e], dag.parents[e]
                row = conditional(
                    scores[dag.rows[e] - bases[m]], tables[m], None if j < 0 else path[j]
                )
                own += alphas[e] * row[path[k]]
            joint *= own
        for k in range(nodes):
            found[k, path[k]] += joint
    return found


def run(dag, alphas, bases, scores, tables, labels=None):
    """Marginals and, with labels, loss and gradients in scores, tables and mixing weights."""
    edges = mixture.MixtureEdges(
        dag.order, dag.indptr, dag.parents, dag.edge_types, dag.rows, alphas
    )
    both = mixture.pair_tables(tables)
    block = mixture.block_scores((0, dag.n_nodes), bases, scores, both)
    marginals = np.empty((dag.n_nodes, scores.shape[1]))
    mixture.sweep(block, edges, marginals)
    if labels is None:
        return marginals
    residuals, pairs = np.zeros_like(scores), np.zeros_like(tables)
    mixing = np.zeros(dag.n_edges)
    scratch = np.empty_like(marginals)
    loss = mixture.adjoint_sweep(
        block, edges, marginals, labels, 1.0, scratch, residuals, pairs, mixing
    )
    return loss, residuals, pairs, mixing


def clamped(dag, alphas, bases, scores, tables, labels, mixed):
    edges = mixture.MixtureEdges(
        dag.order, dag.indptr, dag.parents, dag.edge_types, dag.rows, alphas
    )
    block = mixture.block_scores((0, dag.n_nodes), bases, scores, mixture.pair_tables(tables))
    residuals, pairs = np.zeros_like(scores), np.zeros_like(tables)
    loss = mixture.clamped_likelihood(block, edges, labels, mixed, 1.0, residuals, pairs)
    return loss, residuals, pairs


def differences(function, array, step=1e-5):
    found = np.empty_like(array)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + step
        high = function()
        array[place] = kept - step
        found[place] = (high - function()) / (2 * step)
        array[place] = kept
    return found


@pytest.mark.parametrize("seed", range(6))
def test_marginals_are_those_of_the_joint(seed):
    graph = random_graph(np.random.default_rng(seed))
    assert np.allclose(run(*graph), by_enumeration(*graph), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_disagree_by_hundreds(seed):
    """Z comes to nothing in linear space; log space takes over."""
    dag, alphas, bases, scores, tables = random_graph(np.random.default_rng(seed))
    graph = dag, alphas, bases, scores * 900, tables * 900
    found = run(*graph)
    assert np.isfinite(found).all()
    assert np.allclose(found, by_enumeration(*graph), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_of_marginal_likelihood(seed):
    rng = np.random.default_rng(seed)
    dag, alphas, bases, scores, tables = random_graph(rng)
    labels = rng.integers(-1, 3, dag.n_nodes).astype(np.int32)

    def loss():
        return run(dag, alphas, bases, scores, tables, labels)[0]

    value, residuals, pairs, mixing = run(dag, alphas, bases, scores, tables, labels)
    known = np.flatnonzero(labels >= 0)
    marginals = by_enumeration(dag, alphas, bases, scores, tables)
    assert value == pytest.approx(-np.log(marginals[known, labels[known]]).sum())
    assert np.allclose(residuals, differences(loss, scores), atol=1e-7)
    assert np.allclose(pairs, differences(loss, tables), atol=1e-7)
    assert np.allclose(mixing, differences(loss, alphas), atol=1e-7)


@pytest.mark.parametrize("mixed", [False, True])
def test_gradient_of_clamped_likelihood(mixed):
    rng = np.random.default_rng(7)
    dag, alphas, bases, scores, tables = random_graph(rng, nodes=7)
    labels = rng.integers(0, 3, dag.n_nodes).astype(np.int32)

    def loss():
        return clamped(dag, alphas, bases, scores, tables, labels, mixed)[0]

    value, residuals, pairs = clamped(dag, alphas, bases, scores, tables, labels, mixed)
    plain = 0.0
    for k in range(dag.n_nodes):
        own = []
        for e in range(dag.indptr[k], dag.indptr[k + 1]):
            m, j = dag.edge_types[e], dag.parents[e]
            row = conditional(
                scores[dag.rows[e] - bases[m]], tables[m], None if j < 0 else labels[j]
            )
            own.append((alphas[e], row[labels[k]]))
        if mixed:
            plain -= np.log(sum(a * p for a, p in own))
        else:
            plain -= sum(np.log(p) for _, p in own)
    assert value == pytest.approx(plain)
    assert np.allclose(residuals, differences(loss, scores), atol=1e-7)
    assert np.allclose(pairs, differences(loss, tables), atol=1e-7)
