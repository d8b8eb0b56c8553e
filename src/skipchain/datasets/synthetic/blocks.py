"""Toy problem 2: blocks of labels that are ambiguous inside and clear at their edges."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np

from skipchain.arrays import Floats
from skipchain.datasets.synthetic.machine import StateMachine
from skipchain.datasets.synthetic.problem import Problem

WIDTH = 80
MEAN_LENGTH = 30
STOP = "s4"

LONG_BLOCKS = {
    **{f"{letter}{k}": {f"{letter}{k + 1}": 1.0} for letter in "ab" for k in range(1, 6)},
    **{f"{letter}6": {"o2": 1.0} for letter in "ab"},
}
SILENT = frozenset({"s2", "s3"})
# The published picture of the machine is lost to the text. This one has the states that the text
# names, and was chosen so that simple models do about as well as was published: from filler (o)
# to a long block of six a's or b's, or to a short one that mixes both. `draw_machine` gives others,
# which were not chosen.
MACHINE = StateMachine(
    {
        "o1": {"o1": 0.93, "s2": 0.07},
        "s2": {"a1": 0.3, "b1": 0.3, "s3": 0.4},
        **LONG_BLOCKS,
        "s3": {"a7": 0.8, "b10": 0.2},
        "a7": {"b8": 1.0},
        "b8": {"b9": 0.8125, "a8": 0.1875},
        "b9": {"o3": 1.0},
        "a8": {"o3": 1.0},
        "b10": {"a9": 1.0},
        "a9": {"b7": 0.5, "o3": 0.5},
        "b7": {"o3": 1.0},
        "o2": {"o2": 0.93, "s2": 0.06, "o4": 0.01},
        "o3": {"o3": 0.93, "s2": 0.06, "o4": 0.01},
        "o4": {"o4": 0.5, STOP: 0.5},
    },
    SILENT,
)
# What a machine is drawn from. The states of short blocks are those that the text names.
SHORT_BLOCKS = ("a7", "a8", "a9", "b7", "b8", "b9", "b10")
SHORT_LENGTHS = ((3, 4), (4, 3), (2, 2, 3), (2, 3, 2), (3, 2, 2))
LEAVING = (0.02, 0.2)  # the probability of leaving filler
TO_THE_END = (0.0, 0.3)  # the part of it that goes to the last filler, where no block follows
STOPPING = (0.1, 0.9)
CLEAR = {
    "a": frozenset({"a1", "a6", "a7", "a8", "a9"}),
    "b": frozenset({"b1", "b6", "b7", "b9", "b10"}),
    "o": frozenset({"o1", "o2", "o3", "o4"}),
}
COMPONENTS = "abco"  # of the mixture that inputs are drawn from


def toy2(
    seed: int, *, train: int = 100, test: int = 1000, machine: StateMachine = MACHINE
) -> Problem:
    """Sequences of about 30 labels A, B and O; inputs of 80 zeros and ones.

    Each component (a, b, c, o) has a probability of a one for each of the 80 places, drawn from
    Beta(s, t), with s from 1 … 10 and t from 1 … 100. The states at the edges of blocks draw their
    input from the component of their label; those inside from a mixture of a, b and c, with equal
    weights.

    A sequence's length is drawn from Poisson(30). It ends sooner where the machine stops, and later
    where a block would be cut: then it goes on to the O behind it. The thesis shows its ``machine``
    in a picture that we do not have: ours was chosen so that simple models do about as well as
    published, and `draw_machine` draws others.

    >>> problem = toy2(0)
    >>> len(problem.train_x), len(problem.test_x), problem.train_x[0].shape
    (100, 1000, (26, 80))
    >>> "".join(problem.train_y[0])
    'OBBBBBBOOOOOABAOOOOOOOOOOO'
    """
    rng = np.random.default_rng(seed)
    ones = rng.beta(rng.integers(1, 11, (4, WIDTH)), rng.integers(1, 101, (4, WIDTH)))  # [4, 80]
    inputs, labels = [], []
    for _ in range(train + test):
        states = _states(machine, rng)
        chance = np.array([_mixing(state) for state in states]) @ ones  # [T, 80]
        inputs.append((rng.random(chance.shape) < chance).astype(np.float64))
        labels.append([state[0].upper() for state in states])
    return Problem.of(inputs, labels, train)


def draw_machine(seed: int) -> StateMachine:
    """A machine for toy problem 2 whose steps are drawn at random, and its short blocks as well.

    The states are those that the thesis names, with two long blocks of six a's and of six b's. The
    states of short blocks are dealt at random to two or three blocks of two to four. Which block
    comes is drawn uniformly from all distributions; filler is left with a probability of
    0.02 … 0.2, and up to 0.3 of that goes to the last filler, which stops with one of 0.1 … 0.9.

    >>> machine = draw_machine(0)
    >>> {state: round(chance, 2) for state, chance in machine.steps["s2"].items()}
    {'a1': 0.11, 'b1': 0.39, 's3': 0.51}
    >>> "".join(toy2(0, train=1, test=0, machine=machine).train_y[0])
    'OBABOOOOOOOABOOOOOOOOOOOOABO'
    """
    rng = np.random.default_rng([seed, 2])  # apart from the draws of `toy2`

    def branches(*states: str) -> dict[str, float]:
        return dict(zip(states, rng.dirichlet(np.ones(len(states))).tolist(), strict=True))

    def filler(state: str) -> dict[str, float]:
        leaving = rng.uniform(*LEAVING)
        ending = 0.0 if state == "o1" else leaving * rng.uniform(*TO_THE_END)
        return {state: 1.0 - leaving, "s2": leaving - ending, "o4": ending}

    lengths = SHORT_LENGTHS[rng.integers(len(SHORT_LENGTHS))]
    states = iter(rng.permutation(SHORT_BLOCKS).tolist())
    short = [list(islice(states, length)) for length in lengths]
    steps = {
        **LONG_BLOCKS,
        **{state: {after: 1.0} for block in short for state, after in pairwise([*block, "o3"])},
        **{state: filler(state) for state in ("o1", "o2", "o3")},
        "s2": branches("a1", "b1", "s3"),
        "s3": branches(*(block[0] for block in short)),
    }
    stopping = rng.uniform(*STOPPING)
    return StateMachine({**steps, "o4": {"o4": 1.0 - stopping, STOP: stopping}}, SILENT)


def _states(machine: StateMachine, rng: np.random.Generator) -> list[str]:
    length = max(1, int(rng.poisson(MEAN_LENGTH)))
    states = ["o1"]
    while True:
        state = machine.next(states[-1], rng)
        if state == STOP or (len(states) >= length and states[-1] in CLEAR["o"]):
            return states
        states.append(state)


def _mixing(state: str) -> Floats:
    """The weight of each component in a state's input. [4]"""
    for component, states in CLEAR.items():
        if state in states:
            return np.array([component == other for other in COMPONENTS], np.float64)
    return np.array([1.0, 1.0, 1.0, 0.0]) / 3.0
