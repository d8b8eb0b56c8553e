"""What label features cost: contrastive divergence and Gibbs sampling, beside plain NumPy."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.setting import in_turn, seconds
from skipchain import RBMCRF
from skipchain.chains.dataset import Dataset
from skipchain.chains.table_scorer import TableScorer
from skipchain.datasets.synthetic import toy2
from skipchain.features.direct import NumberedFeatures
from skipchain.kernels.random import seeded
from skipchain.models.latent.scorer import StateWeights
from skipchain.models.rbm import gibbs
from skipchain.models.rbm.contrastive import ContrastiveBatch
from skipchain.models.rbm.expert_gradient import ExpertBatch
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.units import LabelFilters, parse_unit_groups
from skipchain.parallel import Workers

GROUPS = "9:0..1; 3:0..7"  # RBM(2) of toy problem 2
STEPS = 3
SAMPLING = GibbsSettings(burn_in=10, samples=20)
STATES = 4
PUBLISHED = 2.0e4  # seconds that 1000 iterations took in the thesis, in MATLAB


def measure(report, setting):
    problem = toy2(0)
    work = Work(problem.test_x, problem.test_y)
    compare_with_numpy(report, setting, work)
    compare_threads(report, setting, work)
    other = Work(problem.test_x, problem.test_y, states=(STATES,))
    compare_experts(report, setting, work, other)

    def train():
        return RBMCRF(groups=GROUPS, epochs=1000, steps="1, 500:3", encoding=None).fit(
            problem.train_x, problem.train_y
        )

    report.faster(
        "RBM(2) of toy 2, 1000 iterations, beside MATLAB (s)", seconds(train, 3), PUBLISHED, 1000
    )  # fmt: skip


def compare_with_numpy(report, setting, work):
    """The same steps by compiled loops and by arrays of all replicas at once, one thread each."""
    plain = Plain(work.node, work.offsets, work.features)
    rng = np.random.default_rng(0)
    with Workers(1) as workers:
        ours, theirs = in_turn(
            (
                partial(work.contrastive_divergence, workers),
                partial(plain.contrastive_divergence, work.labels, STEPS, rng),
            ),
            setting.repeat,
        )
        scale = 1e9 / (work.features.n_units * len(work.node))
        report.faster(
            "CD-3, ns a unit, position and step, beside NumPy", scale * ours / STEPS,
            scale * theirs / STEPS, 3.0,
        )  # fmt: skip
        ours, theirs = in_turn(
            (partial(work.marginals, workers), partial(plain.marginals, SAMPLING, rng)),
            setting.repeat,
        )
    steps = len(SAMPLING.inverse_temperatures)
    report.faster(
        "Gibbs sampling, ns a unit, position and step, beside NumPy", scale * ours / steps,
        scale * theirs / steps, 3.0,
    )  # fmt: skip


def compare_threads(report, setting, work):
    """How much faster two threads are than one."""
    with Workers(1) as one, Workers(2) as two:
        for name, run in (
            ("CD-3", work.contrastive_divergence),
            ("Gibbs sampling", work.marginals),
        ):
            alone, both = in_turn((partial(run, one), partial(run, two)), setting.repeat)
            report.faster(f"{name} by 2 threads, beside 1 (s)", both, alone, 1.6)


def compare_experts(report, setting, work, other):
    """What hidden states beside the label features add."""
    with Workers(1) as workers:
        base, own = in_turn(
            (
                partial(work.contrastive_divergence, workers),
                partial(other.contrastive_divergence, workers),
            ),
            setting.repeat,
        )
    report.within(f"CD-3 with an expert of {STATES} states, beside none (s)", own, base, 4.0)


class Work:
    """Sequences with scores, label features and hidden states at random, ready to be sampled."""

    def __init__(self, inputs, labels, groups=GROUPS, states=()):
        rng = np.random.default_rng(0)
        names = sorted({label for own in labels for label in own})
        _, rows, self.offsets = NumberedFeatures.fit(inputs, 1)
        self.labels = np.array([names.index(one) for own in labels for one in own], np.int32)
        self.node = rng.normal(size=(len(self.labels), len(names)))
        blank = LabelFilters.zeros(parse_unit_groups(groups), len(names), 0)
        self.features = blank.with_weights(rng.normal(size=blank.size) * blank.learnable)
        empty = [StateWeights.zeros(rows.n_features, count, len(names)) for count in states]
        self.experts = [own.from_vector(rng.normal(0.0, 0.1, own.size)) for own in empty]
        seen = Dataset(rows, self.offsets)
        self.batch = ContrastiveBatch(
            TableScorer(rows), self.node, self.offsets, self.labels, False,
            [ExpertBatch(seen, count, len(names), local=False) for count in states],
        )  # fmt: skip
        self.random = seeded(0, 1, len(self.offsets) - 1)

    def contrastive_divergence(self, workers):
        """The gradient of `STEPS` of contrastive divergence."""
        nothing = np.zeros((0, self.node.shape[1]))
        return self.batch.contrastive_divergence(
            nothing, self.features, STEPS, self.random, self.labels.copy(), workers, self.experts
        )[1].vector

    def marginals(self, workers):
        """The marginals by `SAMPLING`, without hidden states."""
        nothing = self.features.inputs
        return gibbs.marginals(self.node, nothing, self.offsets, self.features, SAMPLING, workers)


class Plain:
    """Label features by arrays over all replicas of all sequences: how one would write them.

    Sequences stand one after the other, with so many empty rows between them that no window sees
    two of them.
    """

    def __init__(self, node, offsets, features):
        self.groups = [
            (np.array(group.offsets) - min(group.offsets), features.table(k)[:, :-1])
            for k, group in enumerate(features.groups)
        ]
        self.biases = np.split(features.bias, features.layout.units[1:-1])
        gap = max(group.width for group in features.groups)
        chains = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        self.where = np.arange(len(node)) + gap * (chains + 1)
        self.node = node
        self.rows = len(node) + gap * len(offsets)
        taken = np.zeros(self.rows)
        taken[self.where] = 1.0
        self.seen = [
            np.convolve(taken, np.bincount(places)[::-1], "valid") > 0.5
            for places, _ in self.groups
        ]

    def contrastive_divergence(self, labels, steps, rng):
        """The statistics of labels minus those after some steps, as one vector."""
        reached = labels
        for _ in range(steps):
            chance = self._chances(reached, rng)
            reached = self._drawn(chance, rng)
        return self.statistics(labels) - self.statistics(reached)

    def marginals(self, sampling, rng):
        """p(y | h) averaged over steps."""
        labels, found = self.node.argmax(axis=1), np.zeros_like(self.node)
        for step in range(len(sampling.inverse_temperatures)):
            chance = self._chances(labels, rng)
            labels = self._drawn(chance, rng)
            if step >= sampling.burn_in:
                found += chance / sampling.samples
        return found

    def statistics(self, labels):
        """The sums of p(h = 1 | y) over what each unit looks at, laid out as in `LabelFilters`."""
        hot = self._one_hot(labels)
        weights, biases = [], []
        for (places, table), on in zip(self.groups, self._on(hot), strict=True):
            own = np.zeros((len(places), table.shape[1] + 1, table.shape[2]))
            for k, place in enumerate(places):
                own[k, :-1] = hot[place : place + len(on)].T @ on
            weights.append(own.ravel())
            biases.append(on.sum(axis=0))
        return np.concatenate([*weights, *biases])

    def _one_hot(self, labels):
        hot = np.zeros((self.rows, self.node.shape[1]))
        hot[self.where, labels] = 1.0
        return hot

    def _on(self, hot):
        """p(h = 1 | y) of all replicas, zero where they look at nothing; an array a group."""
        for (places, table), bias, seen in zip(self.groups, self.biases, self.seen, strict=True):
            active = np.tile(bias, (len(seen), 1))
            for place, own in zip(places, table, strict=True):
                active += hot[place : place + len(seen)] @ own
            yield seen[:, None] / (1.0 + np.exp(-active))

    def _chances(self, labels, rng):
        """Units are drawn given labels; returned is p(y | h). [N, L]"""
        scores = np.zeros((self.rows, self.node.shape[1]))
        for (places, table), on in zip(self.groups, self._on(self._one_hot(labels)), strict=True):
            drawn = (rng.random(on.shape) < on).astype(np.float64)
            for place, own in zip(places, table, strict=True):
                scores[place : place + len(on)] += drawn @ own.T
        scores = self.node + scores[self.where]
        chance = np.exp(scores - scores.max(axis=1, keepdims=True))
        return chance / chance.sum(axis=1, keepdims=True)

    def _drawn(self, chance, rng):
        below = rng.random((len(chance), 1)) >= chance.cumsum(axis=1)[:, :-1]
        return below.sum(axis=1)
