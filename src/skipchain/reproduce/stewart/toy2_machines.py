"""Toy problem 2 with state machines drawn at random: how often the published order of models holds.

The machine of the thesis is lost, and ours was chosen so that simple models do about as well as
published. What is found with it may be the choice. Here the machine is drawn (`draw_machine`), and
everything else is as in the thesis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import lt

import numpy as np

from skipchain.datasets.synthetic import draw_machine, toy2
from skipchain.datasets.synthetic.blocks import LEAVING
from skipchain.reproduce.labelling import AVERAGE_ACCURACY, INSTANCE_ACCURACY, SystemResults
from skipchain.reproduce.run import Run
from skipchain.reproduce.stewart.toys import (
    MARGINALS,
    ToySystem,
    ToyTrainer,
    decoded,
    published_rows,
    undecoded,
)
from skipchain.reproduce.table import Row

SEEDS = tuple(range(200, 210))
PUBLISHED = published_rows("6.8")
MAIN = ("LR", "MEMM", "CRF", "RBM(2)")  # the order that the thesis expects (section 6.2)
METRICS = (INSTANCE_ACCURACY, AVERAGE_ACCURACY)
TITLE = "machines drawn"


@dataclass(frozen=True, slots=True)
class DrawnMachines:
    """The rows of all machines, and what they say."""

    seeds: tuple[int, ...]
    rows: list[Row]
    verdict: str

    @property
    def note(self) -> str:
        """How the machines were drawn, and how to read the rows."""
        return (
            f"{TITLE}: {len(self.seeds)} data sets (seeds {self.seeds[0]} to {self.seeds[-1]}), "
            "each of a state machine of its own that was drawn at random and not chosen: which "
            "block comes, what the short blocks are, and how often filler is left "
            f"({LEAVING[0]:g} to {LEAVING[1]:g}). All else is as in the thesis, inputs in the same "
            "ranges. A row A < B counts the machines on which B does better than A, in the "
            "published order of accuracies; ties count against it."
        )


def measure(
    name: str, systems: Mapping[str, ToySystem], run: Run, train: int, test: int
) -> DrawnMachines:
    """Train the systems on the data of each machine, and count in how many an order holds."""
    seeds = SEEDS[:2] if run.quick else SEEDS
    trainer, results = ToyTrainer(f"{name}, {TITLE}", systems, run), SystemResults()
    trainer.plan(len(seeds))
    for seed in seeds:
        problem = toy2(seed, train=train, test=test, machine=draw_machine(seed))
        trainer.train(seed, problem.with_bias(), results)

    def spread(system: str, metric: str) -> str:
        return f"standard deviation {np.std(results.values(system, metric)):.1f}"

    figures = {metric: PUBLISHED[metric] for metric in METRICS}
    orders = order_rows(name, results)
    verdict = f"On machines drawn at random {orders[0].system} holds in {orders[0].verdict}."
    return DrawnMachines(seeds, results.rows(name, TITLE, figures, spread) + orders, verdict)


def order_rows(table: str, results: SystemResults) -> list[Row]:
    """In how many data sets each order of systems holds; the first is that of `MAIN`."""
    rows = []
    for metric in METRICS:
        values = {system: results.values(system, metric) for system in results.by_system}
        rows += [_order_row(table, order, metric, values) for order in _orders(metric)]
    return rows


def count_rising(order: Sequence[str], values: Mapping[str, Sequence[float]]) -> int:
    """The number of data sets on which the figures of the systems rise strictly in this order.

    >>> count_rising(["LR", "CRF"], {"LR": [20.0, 30.0, 40.0], "CRF": [25.0, 30.0, 50.0]})
    2
    """
    return sum(
        all(map(lt, own, own[1:])) for own in zip(*(values[name] for name in order), strict=True)
    )


def _orders(metric: str) -> list[tuple[str, ...]]:
    """The main part of the published order, all of it by either decoder, and (once) each pair."""
    figures = PUBLISHED[metric]
    viterbi = tuple(sorted(figures, key=lambda name: figures[name]))
    marginals = tuple(
        decoded(trained, MARGINALS) if (trained := undecoded(name)) != name else name
        for name in viterbi
    )
    wholes = (viterbi, marginals)
    pairs = dict.fromkeys(pair for whole in wholes for pair in combinations(whole, 2))
    return [MAIN, *wholes, *(pairs if metric == INSTANCE_ACCURACY else ())]


def _order_row(
    table: str, order: tuple[str, ...], metric: str, values: Mapping[str, Sequence[float]]
) -> Row:
    """In how many machines an order holds; of a pair also the mean difference."""
    count, of = count_rising(order, values), len(values[order[0]])
    verdict = f"{count} of {of}"
    if len(order) == 2:
        verdict += f", {np.mean(values[order[1]]) - np.mean(values[order[0]]):+.1f} on average"
    return Row(
        table, " < ".join(order), f"{TITLE}, order by {metric}", None, count, verdict=verdict
    )
