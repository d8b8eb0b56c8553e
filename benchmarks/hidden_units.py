"""The cost of hidden units: contrastive divergence and Gibbs sampling, against plain NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.setting import in_turn, seconds
from skipchain import RBMCRF
from skipchain.chains.dataset import Dataset
from skipchain.chains.sums import TableScorer
from skipchain.datasets.synthetic import toy2
from skipchain.features.direct import NumberedFeatures
from skipchain.kernels.random import seeded
from skipchain.models.latent.scorer import StateWeights
from skipchain.models.rbm import gibbs
from skipchain.models.rbm.contrastive import ContrastiveBatch
from skipchain.models.rbm.expert_gradient import ExpertBatch
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.groups import parse_unit_groups
from skipchain.models.rbm.units import LabelFilters
from skipchain.parallel import Workers

GROUPS = "9:0..1; 3:0..7"  # RBM(2) of toy problem 2
STEPS = 3
SAMPLING = GibbsSettings(burn_in=10, samples=20)
STATES = 4
PUBLISHED = 2.0e4  # seconds that 1000 iterations took in the thesis, in MATLAB


def measure(report, setting):
    problem = toy2(0)
    task = SamplingTask(problem.test_x, problem.test_y)
    compare_with_numpy(report, setting, task)
    compare_threads(report, setting, task)
    with_states = SamplingTask(problem.test_x, problem.test_y, states=(STATES,))
    compare_experts(report, setting, task, with_states)

    def train():
        return RBMCRF(groups=GROUPS, epochs=1000, steps="1, 500:3", encoding=None).fit(
            problem.train_x, problem.train_y
        )

    report.faster(
        "RBM(2) of toy 2, 1000 iterations, against MATLAB (s)", seconds(train, 3), PUBLISHED, 1000
    )  # fmt: skip


def compare_with_numpy(report, setting, task):
    """The same steps by compiled loops and by arrays of all replicas at once, one thread each."""
    plain = NumpyUnits(task.node, task.offsets, task.filters)
    rng = np.random.default_rng(0)
    with Workers(1) as workers:
        ours, theirs = in_turn(
            (
                partial(task.contrastive_divergence, workers),
                partial(plain.contrastive_divergence, task.labels, STEPS, rng),
            ),
            setting.repeat,
        )
        scale = 1e9 / (task.filters.n_units * len(task.node))
        report.faster(
            "CD-3, ns a hidden unit, position and step, against NumPy", scale * ours / STEPS,
            scale * theirs / STEPS, 3.0,
        )  # fmt: skip
        ours, theirs = in_turn(
            (partial(task.marginals, workers), partial(plain.marginals, SAMPLING, rng)),
            setting.repeat,
        )
    steps = len(SAMPLING.inverse_temperatures)
    report.faster(
        "Gibbs sampling, ns a hidden unit, position and step, against NumPy", scale * ours / steps,
        scale * theirs / steps, 3.0,
    )  # fmt: skip


def compare_threads(report, setting, task):
    """How much faster two threads are than one."""
    with Workers(1) as one, Workers(2) as two:
        for name, run in (
            ("CD-3", task.contrastive_divergence),
            ("Gibbs sampling", task.marginals),
        ):
            alone, both = in_turn((partial(run, one), partial(run, two)), setting.repeat)
            report.faster(f"{name} by 2 threads, against 1 (s)", both, alone, 1.6)


def compare_experts(report, setting, task, with_states):
    """The additional cost of hidden states."""
    with Workers(1) as workers:
        passes = [partial(each.contrastive_divergence, workers) for each in (task, with_states)]
        without, spent = in_turn(passes, setting.repeat)
    report.within(f"CD-3 with an expert of {STATES} states, against none (s)", spent, without, 4.0)


class SamplingTask:
    """Sequences with random scores, hidden units and hidden states, ready to be sampled."""

    def __init__(self, inputs, labels, groups=GROUPS, states=()):
        rng = np.random.default_rng(0)
        names = sorted({label for sequence in labels for label in sequence})
        _, rows, self.offsets = NumberedFeatures.fit(inputs, 1)
        codes = [names.index(label) for sequence in labels for label in sequence]
        self.labels = np.array(codes, np.int32)
        self.node = rng.normal(size=(len(self.labels), len(names)))
        blank = LabelFilters.zeros(parse_unit_groups(groups), len(names), 0)
        self.filters = blank.with_weights(rng.normal(size=blank.size) * blank.learnable)
        zeros = [StateWeights.zeros(rows.n_features, count, len(names)) for count in states]
        self.experts = [expert.from_vector(rng.normal(0.0, 0.1, expert.size)) for expert in zeros]
        data = Dataset(rows, self.offsets)
        self.batch = ContrastiveBatch(
            TableScorer(rows), self.node, self.offsets, self.labels, False,
            [ExpertBatch(data, count, len(names), local=False) for count in states],
        )  # fmt: skip
        self.random = seeded(0, 1, len(self.offsets) - 1)

    def contrastive_divergence(self, workers):
        """The gradient of `STEPS` of contrastive divergence."""
        no_weights = np.zeros((0, self.node.shape[1]))
        return self.batch.contrastive_divergence(
            no_weights, self.filters, STEPS, self.random, self.labels.copy(), workers, self.experts
        )[1].vector

    def marginals(self, workers):
        """The marginals by `SAMPLING`, without hidden states."""
        inputs, filters = self.filters.inputs, self.filters
        return gibbs.marginals(self.node, inputs, self.offsets, filters, SAMPLING, workers)


class NumpyUnits:
    """Hidden units by arrays over all replicas of all sequences, as one would write them in NumPy.

    Sequences lie one after the other, with so many empty rows between them that no window covers
    two of them.
    """

    def __init__(self, node, offsets, filters):
        self.groups = [
            (np.array(group.offsets) - min(group.offsets), filters.table(k)[:, :-1])
            for k, group in enumerate(filters.groups)
        ]
        self.biases = np.split(filters.bias, filters.layout.units[1:-1])
        gap = max(group.width for group in filters.groups)
        chains = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        self.where = np.arange(len(node)) + gap * (chains + 1)
        self.node = node
        self.rows = len(node) + gap * len(offsets)
        occupied = np.zeros(self.rows)
        occupied[self.where] = 1.0
        self.connected = [
            np.convolve(occupied, np.bincount(places)[::-1], "valid") > 0.5
            for places, _ in self.groups
        ]

    def contrastive_divergence(self, labels, steps, rng):
        """The statistics of labels minus those after some steps, as one vector."""
        sampled = labels
        for _ in range(steps):
            sampled = self._sample(self._probabilities(sampled, rng), rng)
        return self.statistics(labels) - self.statistics(sampled)

    def marginals(self, sampling, rng):
        """p(y | h) averaged over steps."""
        labels, marginals = self.node.argmax(axis=1), np.zeros_like(self.node)
        for step in range(len(sampling.inverse_temperatures)):
            p = self._probabilities(labels, rng)
            labels = self._sample(p, rng)
            if step >= sampling.burn_in:
                marginals += p / sampling.samples
        return marginals

    def statistics(self, labels):
        """The sums of p(h = 1 | y) for each weight of a unit, laid out as in `LabelFilters`."""
        hot = self._one_hot(labels)
        weights, biases = [], []
        for (places, table), on in zip(self.groups, self._on(hot), strict=True):
            sums = np.zeros((len(places), table.shape[1] + 1, table.shape[2]))
            for k, place in enumerate(places):
                sums[k, :-1] = hot[place : place + len(on)].T @ on
            weights.append(sums.ravel())
            biases.append(on.sum(axis=0))
        return np.concatenate([*weights, *biases])

    def _one_hot(self, labels):
        hot = np.zeros((self.rows, self.node.shape[1]))
        hot[self.where, labels] = 1.0
        return hot

    def _on(self, hot):
        """p(h = 1 | y) of all replicas, zero where they have no labels; an array a group."""
        parts = zip(self.groups, self.biases, self.connected, strict=True)
        for (places, table), bias, connected in parts:
            active = np.tile(bias, (len(connected), 1))
            for place, weights in zip(places, table, strict=True):
                active += hot[place : place + len(connected)] @ weights
            yield connected[:, None] / (1.0 + np.exp(-active))

    def _probabilities(self, labels, rng):
        """p(y | h) for units that are sampled given labels. [N, L]"""
        scores = np.zeros((self.rows, self.node.shape[1]))
        for (places, table), on in zip(self.groups, self._on(self._one_hot(labels)), strict=True):
            units = (rng.random(on.shape) < on).astype(np.float64)
            for place, weights in zip(places, table, strict=True):
                scores[place : place + len(on)] += units @ weights.T
        scores = self.node + scores[self.where]
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def _sample(self, p, rng):
        below = rng.random((len(p), 1)) >= p.cumsum(axis=1)[:, :-1]
        return below.sum(axis=1)
