"""Toy problem 2 with ten times the training data: Tables 6.9 and 6.10.

The thesis trains on 1,000 sequences and tests on "a new set of 1000 sequences", on which every
model breaks down. On sequences whose inputs come from the distributions of the training data, none
does. If these distributions are drawn anew as well, inputs have other meanings than in training,
and every model does, even more so than published; so this is probably what happened. (Drawing the
inputs' probabilities anew from the same Beta distributions is not enough.)
"""

from __future__ import annotations

from functools import partial

from skipchain import IOHMM, RBMCRF
from skipchain.datasets.synthetic import toy2
from skipchain.reproduce.labelling import INSTANCE_ACCURACY, SystemResults, score_labels
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart.toy2_states import FEW_STEPS, settings
from skipchain.reproduce.stewart.toys import OBSERVED, ToySystem, ToyTrainer, published_rows
from skipchain.reproduce.table import Row, judge

STATES, SIGMA = 8, 2.0
DRAWS = 5  # distributions of inputs drawn anew for each data set
TRAINING, TEST = published_rows("6.9"), published_rows("6.10")
NEAR = 10.0  # points of instance accuracy within which test data are as published
NOTE = (
    "6.9 and 6.10: 1,000 training sequences, one start; IOHMM: a prior of width "
    f"{SIGMA:g}, {FEW_STEPS} steps; RBM(2): 200 epochs. 6.10 is measured twice, for each of the "
    "first two data sets: on new sequences from the same distributions of inputs, and on "
    f"sequences from {DRAWS} others, drawn anew."
)


def measure(name: str, groups: str, run: Run, seeds: tuple[int, ...]) -> list[Row]:
    """The rows of both tables, the second one for the same and for new distributions of inputs."""
    size, epochs = (50, 20) if run.quick else (1000, 200)
    systems = {
        "LR": OBSERVED["LR"],
        "CRF": OBSERVED["CRF"],
        "IOHMM": ToySystem.of_states(
            IOHMM, {**settings(SIGMA, run, 1, FEW_STEPS), "states": STATES}
        ),
        "RBM(2)": ToySystem(RBMCRF, {"groups": groups, "epochs": epochs, "steps": 1}),
    }
    trainer = ToyTrainer(name, systems, run)
    training, same, new = SystemResults(), SystemResults(), SystemResults()
    trainer.plan(len(seeds))
    for seed in seeds:
        problem = toy2(seed, train=size, test=size).with_bias()
        fitted = trainer.train(seed, problem, same, training)
        for system, estimator in fitted.items():
            for other_seed in range(1000 * seed, 1000 * seed + DRAWS):  # no other data set has them
                other = toy2(other_seed, train=0, test=size // DRAWS).with_bias()
                for row, labels in systems[system].label(system, estimator, other.test_x).items():
                    seconds = same.by_system[row][-1].seconds / DRAWS
                    new.add(row, score_labels(other.test_y, labels, seconds))
    rows = training.rows(name, "6.9", TRAINING)
    rows += same.rows(name, "6.10, inputs as before", TEST, partial(_verdict, same))
    return rows + new.rows(name, "6.10, inputs drawn anew", TEST, partial(_verdict, new))


def _verdict(results: SystemResults, system: str, metric: str) -> str:
    """Whether a model breaks down as published."""
    if metric != INSTANCE_ACCURACY or system not in TEST[metric]:
        return ""
    near = results.mean(system, metric) <= TEST[metric][system] + NEAR
    return judge(near, "breaks down" if near else "no break-down")
