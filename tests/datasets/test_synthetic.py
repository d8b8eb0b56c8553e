"""The generators of invented problems, against what is said of them."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from skipchain.datasets.synthetic import draw_machine, long_memory, melodies, toy1, toy2, toy3
from skipchain.datasets.synthetic.blocks import (
    LEAVING,
    LONG_BLOCKS,
    MACHINE,
    SHORT_BLOCKS,
    STOP,
    STOPPING,
    TO_THE_END,
)
from skipchain.datasets.synthetic.long_memory import long_memory_labels
from skipchain.datasets.synthetic.memory import memory_labels


def joined(labels):
    return ["".join(own) for own in labels]


@pytest.mark.parametrize("draw", [toy1, toy2, toy3, long_memory, melodies])
def test_the_same_seed_gives_the_same_problem_and_another_another(draw):
    one, same, other = draw(3), draw(3), draw(4)
    assert one.train_y == same.train_y
    assert one.test_y == same.test_y
    for a, b in zip(one.train_x, same.train_x, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.train_y != other.train_y
    assert one.train_y != one.test_y[: len(one.train_y)]


@pytest.mark.parametrize("draw", [toy1, toy2, toy3, long_memory, melodies])
def test_every_token_has_an_input_and_a_label(draw):
    problem = draw(0)
    for inputs, labels in ((problem.train_x, problem.train_y), (problem.test_x, problem.test_y)):
        assert [len(own) for own in inputs] == [len(own) for own in labels]
    wider = problem.with_bias()
    assert wider.test_x[0].shape[1] == problem.test_x[0].shape[1] + 1
    assert (wider.test_x[0][:, -1] == 1).all()


def test_toy1_has_runs_of_q_and_two_structures():
    problem = toy1(0)
    sequences = joined(problem.train_y + problem.test_y)
    assert {len(own) for own in sequences} == {50}
    for own in sequences:
        assert re.fullmatch("(Q+(ABCD|BCE))*(Q+(A|AB|ABC|B|BC)?)?", own)


def test_toy1_has_as_many_structures_as_published():
    # 128 D and 145 E among 5,000 labels
    counts = [Counter("".join(joined(toy1(seed).train_y))) for seed in range(10)]
    structures = [own["D"] + own["E"] for own in counts]
    assert 253 < np.mean(structures) < 283  # the standard deviation is 11
    assert 0.4 < sum(own["D"] for own in counts) / sum(structures) < 0.6


def test_toy1_shares_the_fifth_input_between_d_and_e():
    problem = toy1(0)
    found = {
        (int(row.argmax()), label)
        for inputs, labels in zip(problem.train_x, problem.train_y, strict=True)
        for row, label in zip(inputs, labels, strict=True)
    }
    assert found == {(0, "A"), (1, "B"), (2, "C"), (3, "Q"), (4, "D"), (4, "E")}


@pytest.mark.parametrize("machine", [MACHINE, *map(draw_machine, range(20))])
def test_toy2_steps_are_probabilities(machine):
    assert machine.steps.keys() == MACHINE.steps.keys()
    for state, choices in machine.steps.items():
        assert sum(choices.values()) == pytest.approx(1.0), state
        assert min(choices.values()) >= 0.0
        assert all(choice == STOP or choice in machine.steps for choice in choices)


@pytest.mark.parametrize("seed", range(200, 240))
def test_a_drawn_machine_is_within_its_ranges(seed):
    steps = draw_machine(seed).steps
    for filler in ("o1", "o2", "o3"):
        leaving = 1.0 - steps[filler][filler]
        assert LEAVING[0] <= leaving <= LEAVING[1]
        assert TO_THE_END[0] <= steps[filler]["o4"] / leaving <= TO_THE_END[1]
    assert steps["o1"]["o4"] == 0.0
    assert STOPPING[0] <= steps["o4"][STOP] <= STOPPING[1]
    assert {state: steps[state] for state in LONG_BLOCKS} == LONG_BLOCKS
    visited = []
    for state in steps["s3"]:  # each begins a short block
        block = [state]
        while (after := next(iter(steps[block[-1]]))) != "o3":
            assert steps[block[-1]] == {after: 1.0}
            block.append(after)
        assert 2 <= len(block) <= 4
        visited += block
    assert sorted(visited) == sorted(SHORT_BLOCKS)  # each once


def test_machines_are_drawn_by_seed():
    assert draw_machine(5).steps == draw_machine(5).steps
    choices = [tuple(draw_machine(seed).steps["s2"].values()) for seed in range(20)]
    assert len(set(choices)) == 20
    assert len({tuple(draw_machine(seed).steps["s3"]) for seed in range(20)}) > 10
    # the whole range is drawn from
    left = [1.0 - draw_machine(seed).steps["o1"]["o1"] for seed in range(200)]
    assert min(left) < 0.03
    assert max(left) > 0.19
    problem, other = (toy2(0, train=5, test=0, machine=draw_machine(k)) for k in (1, 2))
    assert problem.train_y != other.train_y


def test_toy2_has_whole_blocks_between_fillers():
    problem = toy2(1)
    sequences = joined(problem.train_y + problem.test_y)
    for own in sequences:
        assert re.fullmatch("(O+(A{6}|B{6}|AB[AB]|BAB?))*O+", own)
    lengths = [len(own) for own in sequences]
    assert 26 < np.mean(lengths) < 33  # Poisson(30), some stopped before, some extended
    blocks = Counter(block for own in sequences for block in re.findall("[AB]+", own))
    long = (blocks["A" * 6] + blocks["B" * 6]) / blocks.total()
    assert 0.57 < long < 0.63


def test_toy2_inputs_are_clear_at_the_edges_and_mixed_inside():
    problem = toy2(2)
    edge, other, inside = [], [], []
    for inputs, labels in zip(problem.test_x, joined(problem.test_y), strict=True):
        for block in re.finditer("A{6}|B{6}", labels):
            rows = inputs[block.start() : block.end()]
            (edge if block.group()[0] == "A" else other).append(rows[[0, 5]])
            inside.append(rows[1:5])
    a, b, mixed = (np.concatenate(rows).mean(axis=0) for rows in (edge, other, inside))
    assert set(np.unique(problem.test_x[0])) == {0.0, 1.0}
    assert np.abs(a - b).mean() > 0.05
    # a, b and c in equal parts: 3 · mixed − a − b is a probability for each place, too
    rest = 3 * mixed - a - b
    assert rest.min() > -0.1
    assert rest.max() < 1.1


def test_toy3_has_the_shares_of_inputs_published():
    problem = toy3(0)
    shares = np.concatenate(problem.train_x + problem.test_x).mean(axis=0)
    np.testing.assert_allclose(shares, [0.25, 0.25, 0.40, 0.10], atol=0.02)
    assert {len(own) for own in problem.train_y} == {50}
    for inputs, labels in zip(problem.train_x, problem.train_y, strict=True):
        assert memory_labels(["ABRI"[k] for k in inputs.argmax(axis=1)]) == labels


def test_toy3_can_be_shorter():
    assert toy3(0, train=3, test=2, length=20).test_x[1].shape == (20, 4)


def test_recall_stores_a_label_and_keeps_it():
    assert "".join(long_memory_labels("1SR0")) == "1000"  # nothing stands five places before
    assert "".join(long_memory_labels("10110SRRRRRRRRSR")) == "1011011111111111"
    problem = long_memory(0)
    inputs = np.concatenate(problem.train_x).argmax(axis=1)
    labels = np.concatenate(problem.train_y)
    assert (labels[inputs == 0] == "0").all()
    assert (labels[inputs == 1] == "1").all()
    np.testing.assert_allclose(np.bincount(inputs) / len(inputs), [0.3, 0.3, 0.1, 0.3], atol=0.02)


def test_melodies_have_lines_that_run_one_way():
    problem = melodies(0, train=200, test=0)
    starts = Counter()
    for inputs, labels in zip(problem.train_x, joined(problem.train_y), strict=True):
        shown = "".join("ABCo?"[k] for k in inputs.argmax(axis=1))
        assert all(a in (b, "?") for a, b in zip(shown, labels, strict=True))
        lines = [labels[k : k + 17] for k in range(0, 51, 17)]
        for k, line in enumerate(lines):
            assert re.fullmatch("((ABC|BCA|CAB)o){4}o|((ACB|BAC|CBA)o){4}o", line)
            bars = shown[17 * k : 17 * k + 16]
            assert len(re.findall(r"[ABC]\?\?o", bars)) == 2
            assert len(re.findall("[ABC]{3}o", bars)) == 2
            starts["up" if line[:3] in ("ABC", "BCA", "CAB") else "down", line[0]] += 1
    assert min(starts.values()) > 70  # of 100 each
    assert len(starts) == 6
