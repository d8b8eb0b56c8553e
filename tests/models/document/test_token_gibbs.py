"""Sampling of single labels: against forward-backward, enumeration and the plain sampler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skipchain.chains import decode as chains
from skipchain.models.document.annealing import Annealing
from skipchain.models.document.token_gibbs import (
    TokenGraph,
    anneal_token_chain,
    anneal_tokens,
    sample_token_probabilities,
)
from skipchain.parallel import Workers
from tests.models.document.test_factors import FACTORS, LABELS, MODELS, Problem


def token_graph(problem, sure=None, *, constrained=False, **how):
    """All tokens in doubt, by default of a chain that forbids nothing."""
    scores = problem.scores if constrained else free(problem)
    best = chains.viterbi(scores, problem.workers)
    none = np.zeros(len(best), bool) if sure is None else sure
    return TokenGraph.of(
        problem.corpus, scores, best, none, problem.label_types, problem.factors, **how
    )


def free(problem):
    return replace(problem.scores, constraints=None)


def plain(problem):
    """The definition, of a chain that forbids nothing."""
    problem.scores = free(problem)
    return problem.plain()


@pytest.fixture
def deterred(monkeypatch):
    """Random weights like what a scheme forbids, and at a higher price more samples count."""
    monkeypatch.setattr("skipchain.models.document.token_gibbs.DETERRENT", 2.0)


def law(problem, constrained):
    """The definition, of a chain with the constraints of its scheme or without."""
    return problem.plain() if constrained else plain(problem)


@pytest.mark.usefixtures("deterred")
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize(("encoding", "order", "local"), MODELS)
def test_without_factors_samples_are_those_of_the_chain(encoding, order, local, constrained):
    problem = Problem(3, encoding, order, local, "none", documents=((4, 1, 3), (2,)), spread=0.7)
    graph = token_graph(problem, constrained=constrained, all_interacting=True)
    labels, spans = sample_token_probabilities(
        graph, Annealing(10_000, chains=2, seed=1), 200, problem.workers
    )
    scores = problem.scores if constrained else free(problem)
    wanted = chains.marginals(scores, problem.workers)
    np.testing.assert_allclose(labels.sum(axis=1), 1.0)
    np.testing.assert_allclose(labels, wanted, atol=0.025)
    assert not len(spans)


@pytest.mark.usefixtures("deterred")
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("factors", [name for name in FACTORS if name not in ("none", "forbidden")])
def test_with_factors_samples_are_as_frequent_as_labellings_are_probable(
    encoding, factors, constrained
):
    problem = Problem(9, encoding, factors=factors, spread=0.7)
    wanted = law(problem, constrained)
    graph = token_graph(problem, constrained=constrained, all_interacting=True)
    labels, spans = sample_token_probabilities(
        graph, Annealing(10_000, chains=2, seed=4), 200, problem.workers
    )
    np.testing.assert_allclose(labels, wanted.marginals(), atol=0.03)
    types, met = problem.label_types.types, {}
    for codes, chance in wanted.table.items():
        for span in wanted.spans(codes):
            met[span] = met.get(span, 0.0) + chance
    for (start, stop, name), chance in met.items():
        number = graph.spans.base[start] + (stop - start - 1) * len(types) + types.index(name)
        assert spans[number] == pytest.approx(chance, abs=0.03)
    assert spans.sum() == pytest.approx(sum(met.values()), abs=0.1)


@pytest.mark.usefixtures("deterred")
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize(("encoding", "order", "local"), MODELS)
def test_with_factors_beside_any_chain(encoding, order, local, constrained):
    problem = Problem(12, encoding, order, local, "all", documents=((3, 2),), spread=0.7)
    problem.factors = problem.factors[:3]  # without what is forbidden, which mixes slowly
    wanted = law(problem, constrained).marginals()
    graph = token_graph(problem, constrained=constrained)
    labels, _ = sample_token_probabilities(
        graph, Annealing(10_000, chains=2, seed=2), 200, problem.workers
    )
    np.testing.assert_allclose(labels[graph.tokens], wanted[graph.tokens], atol=0.035)
    alone = np.setdiff1d(np.arange(len(wanted)), graph.tokens)
    scores = problem.scores if constrained else free(problem)
    exact = chains.marginals(scores, problem.workers)
    np.testing.assert_allclose(wanted[alone], exact[alone], atol=1e-9)


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("order", [1, 2])
def test_the_scores_that_are_kept_are_those_of_the_definition(factors, encoding, order):
    """The best labelling scores what is told, compared with the first one."""
    for seed in range(3):
        problem = Problem(seed, encoding, order, factors=factors, documents=((3, 2), (2, 3)))
        graph = token_graph(problem, all_interacting=True)
        scored = plain(problem)
        start = scored.joint(graph.best)
        _, best, scores = anneal_token_chain(graph, Annealing(30, seed=seed), problem.workers)
        assert scores.sum() == pytest.approx(scored.joint(best) - start, abs=1e-7)


@pytest.mark.parametrize("encoding", LABELS)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [1, 2])
def test_annealing_finds_the_best_labelling(encoding, seed, order):
    problem = Problem(seed, encoding, order, factors="all", documents=((3, 2), (1,)), spread=0.7)
    problem.factors = problem.factors[:3]
    graph = token_graph(problem, all_interacting=True)
    scored = plain(problem)
    best = max(scored.table, key=scored.table.get)
    for scattered in (False, True):
        how = Annealing(200, chains=5, seed=seed, random_start=scattered)
        found = anneal_tokens(graph, how, problem.workers)
        assert scored.joint(found) >= scored.joint(best) - 1e-9


@pytest.mark.parametrize("encoding", ["iob2", "bioes"])
@pytest.mark.parametrize("seed", range(5))
def test_only_labellings_that_the_scheme_allows_are_kept(encoding, seed):
    problem = Problem(seed, encoding, factors="consistency", documents=((3, 3), (2,)))
    graph = token_graph(problem, constrained=True)
    for scattered in (False, True):
        how = Annealing(50, chains=2, seed=seed, random_start=scattered)
        found = anneal_tokens(graph, how, problem.workers)
        assert problem.plain().joint(found) > -np.inf  # what is forbidden has no probability
        if not scattered:
            assert problem.plain().joint(found) >= problem.plain().joint(problem.best) - 1e-9


def test_a_start_at_random_that_meets_nothing_allowed_keeps_the_labels_of_the_chain():
    problem = Problem(0, "bioes", factors="consistency", documents=((3, 3),))
    graph = token_graph(problem, constrained=True)
    none = graph.allowed._replace(pairs=np.zeros_like(graph.allowed.pairs))
    graph = replace(graph, allowed=none)
    how = Annealing(3, random_start=True)
    _, _, scores = anneal_token_chain(graph, how, problem.workers)
    assert scores.tolist() == [-np.inf]
    np.testing.assert_array_equal(anneal_tokens(graph, how, problem.workers), graph.best)


def test_documents_that_never_meet_anything_allowed_have_no_probabilities():
    problem = Problem(0, "bioes", factors="consistency", documents=((3, 3),))
    graph = token_graph(problem, constrained=True)
    none = graph.allowed._replace(pairs=np.zeros_like(graph.allowed.pairs))
    graph = replace(graph, allowed=none)
    labels, spans = sample_token_probabilities(graph, Annealing(20), 5, problem.workers)
    assert not labels.any()
    assert not spans.any()


@pytest.mark.parametrize("factors", ["consistency", "by words", "last word", "all"])
@pytest.mark.parametrize("seed", range(4))
def test_labels_that_are_certain_stay_and_count(factors, seed):
    problem = Problem(seed, factors=factors, documents=((3, 2), (3,)))
    sure = np.random.default_rng(seed).random(len(problem.best)) < 0.4
    graph = token_graph(problem, sure)
    scored = plain(problem)
    start = scored.joint(graph.best)
    for number in range(3):
        labels, best, scores = anneal_token_chain(
            graph, Annealing(20, seed=seed), problem.workers, number
        )
        kept = np.setdiff1d(np.arange(len(labels)), graph.tokens)
        np.testing.assert_array_equal(labels[kept], graph.best[kept])
        np.testing.assert_array_equal(labels[sure], graph.best[sure])
        if "consistency" not in factors and factors != "all":
            # places are counted among the spans that are possible, not among all
            assert scores.sum() == pytest.approx(scored.joint(best) - start, abs=1e-7)


def test_what_no_factor_minds_is_not_drawn():
    problem = Problem(11, factors="none")
    assert not len(token_graph(problem).tokens)
    assert len(token_graph(problem, all_interacting=True).tokens) == len(problem.best)
    problem = Problem(11, factors="words", documents=((1,), (1,)))
    assert not len(token_graph(problem).tokens)  # a word alone in its document


def test_spans_that_are_too_long_are_left_to_the_chain(monkeypatch):
    monkeypatch.setattr("skipchain.models.document.token_gibbs.LONGEST_SPAN", 1)
    problem = Problem(4, "io", factors="words", documents=((3, 3),))
    graph = token_graph(problem)
    assert graph.spans.longest.max() == 1
    labels, _ = sample_token_probabilities(graph, Annealing(50), 5, problem.workers)
    np.testing.assert_allclose(labels[graph.tokens].sum(axis=1), 1.0)


def test_seeds_decide_and_threads_do_not():
    problem = Problem(2, factors="all", documents=((3, 2), (3,), (2, 2), (4,)))
    graph = token_graph(problem)
    with Workers(2) as two:
        for seed in (0, 1):
            how = Annealing(20, seed=seed)
            one = sample_token_probabilities(graph, how, 5, problem.workers)
            other = sample_token_probabilities(graph, how, 5, two)
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(
                anneal_tokens(graph, how, problem.workers), anneal_tokens(graph, how, two)
            )
        assert not np.array_equal(
            one[0], sample_token_probabilities(graph, Annealing(20, seed=7), 5, two)[0]
        )
