"""The model of times: where it must agree with plain arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.scaling import (
    LOCAL,
    NETWORK,
    Constants,
    break_even,
    exchange_seconds,
    gather_seconds,
    lbfgs_seconds,
    sgd_seconds,
    simulate,
    tag_seconds,
)

OWN = Constants(
    tag=1e-6, encode=2e-6, evaluate=4e-7, step=1e-6, vector=1e-8, add=1e-9, copy=1e-9, call=1e-3,
    index=100.0, text=10.0, weights=10.0, growth=0.7, spread=0.1, evaluations=1.0, iterations=100,
)  # fmt: skip
CERTAIN = replace(NETWORK, failures=0.0)


def test_one_process_exchanges_nothing():
    assert exchange_seconds(10**6, 0, OWN, NETWORK) == 0.0
    assert lbfgs_seconds(10**6, 0, 10**6, OWN, NETWORK) == pytest.approx(0.4 + 0.01)
    assert sgd_seconds(10**6, 0, 10**6, OWN, NETWORK) == pytest.approx(1.0)


def test_two_workers_on_one_machine():
    """The vector is put once and got twice, and two gradients come back and are added."""
    weights, tokens = 10**6, 10**6
    sent, gathered = 8 * weights * 1e-9, 2 * (8 * weights * 1e-9 + weights * 1e-9)
    assert exchange_seconds(weights, 2, OWN, LOCAL) == pytest.approx(1e-3 + sent + gathered)
    expected = 0.2 + 1e-3 + sent + gathered + 0.01
    assert lbfgs_seconds(tokens, 2, weights, OWN, LOCAL) == pytest.approx(expected)


def test_the_sum_goes_by_eights():
    one = gather_seconds(10**6, 1, OWN, LOCAL)
    for workers, levels in (
        (8, 8),
        (9, 8 + 2),
        (64, 8 + 8),
        (65, 8 + 8 + 2),
        (1000, 8 + 8 + 8 + 2),
    ):
        assert gather_seconds(10**6, workers, OWN, LOCAL) == pytest.approx(levels * one)


@pytest.mark.parametrize("cost", [lbfgs_seconds, sgd_seconds])
def test_two_machines_pay_from_the_break_even_on(cost):
    border = break_even(10**6, OWN, NETWORK, cost)
    assert 1 < border < 1e12
    for share, faster in ((0.99, False), (1.01, True)):
        one, two = (cost(border * share, workers, 10**6, OWN, NETWORK) for workers in (0, 2))
        assert (two < one) == faster
    assert break_even(10**8, OWN, NETWORK, cost) > border


def test_without_chance_a_simulation_is_the_sum_of_its_rounds():
    even = replace(OWN, spread=0.0)
    found = simulate(10**9, 100, 50, even.evaluate, 0.5, even, CERTAIN)
    assert found.seconds == pytest.approx(50 * (4e-7 * 10**7 + 0.5), rel=1e-4)
    assert (found.lost, found.exchange) == (0, 25.0)


def test_chance_costs_time():
    even = simulate(10**9, 1000, 50, OWN.evaluate, 0.5, replace(OWN, spread=0.0), CERTAIN)
    uneven = simulate(10**9, 1000, 50, OWN.evaluate, 0.5, OWN, CERTAIN)
    assert uneven.waiting > 0.2 * uneven.compute  # the slowest of a thousand
    often = replace(NETWORK, failures=1e-3)
    failing = simulate(10**9, 1000, 50, OWN.evaluate, 0.5, OWN, often)
    assert failing.lost > 0
    assert even.seconds < uneven.seconds < failing.seconds
    assert failing == simulate(10**9, 1000, 50, OWN.evaluate, 0.5, OWN, often)


def test_tagging_is_bound_by_processors_or_by_disks():
    assert tag_seconds(10**9, 10, OWN, NETWORK) == pytest.approx(100.0)
    slow = replace(NETWORK, disk=1e6)
    assert tag_seconds(10**9, 10, OWN, slow) == pytest.approx(2 * 10 * 10**9 / 1e7)


def test_weights_grow_to_what_fits():
    assert OWN.weights_of(10**4, 1e9) == pytest.approx(10 * 10**2.8)
    assert OWN.weights_of(10**12, 1e8) == 1e8
