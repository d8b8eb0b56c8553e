"""Hidden units of a second level: sampling and statistics against enumeration, text and files."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from skipchain import RBMCRF
from skipchain.datasets.synthetic import melodies
from skipchain.errors import ModelFileError, ParameterError
from skipchain.kernels import rbm
from skipchain.kernels.random import seeded
from skipchain.modelfile import rbm as modelfile
from skipchain.models.rbm.expert_tables import expert_tables
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.groups import parse_unit_groups
from skipchain.models.rbm.plots import trace_picture, weight_pictures
from skipchain.models.rbm.units import LabelFilters
from skipchain.report.pictures import png
from tests.modelfile.round_trip import round_trip

LENGTH, LABELS = 3, 2


class LevelOracle:
    """A tiny model written out: every labelling with all units of both levels."""

    def __init__(self, text, borders="partial", seed=0, features=None, node=None):
        rng = np.random.default_rng(seed)
        if features is None:
            blank = LabelFilters.blank(parse_unit_groups(text), "AB", 0, borders)
            drawn = rng.normal(0, 1.0, blank.size) * blank.learnable
            features = blank.with_weights(blank.vector + drawn)
        self.features = features
        self.node = rng.normal(0, 1, (LENGTH, LABELS)) if node is None else node
        self.paths = np.array(list(product(range(LABELS), repeat=LENGTH)))
        self.lower, self.upper = self.units_of_levels()
        self.lower_states = np.array(list(product((0, 1), repeat=len(self.lower))))
        self.upper_states = np.array(list(product((0, 1), repeat=len(self.upper))))
        # log p̃ of every labelling, every state of the first and of the second level
        self.labels_and_lower = np.array(
            [[self.lower_score(path, h) for h in self.lower_states] for path in self.paths]
        )
        self.lower_and_upper = np.array(
            [[self.upper_score(h, top) for top in self.upper_states] for h in self.lower_states]
        )
        scores = self.labels_and_lower[:, :, None] + self.lower_and_upper[None]
        self.log_z = np.logaddexp.reduce(scores, axis=None)
        self.joint = np.exp(scores - self.log_z)  # [Y, h, H']
        upper = self.joint.sum(axis=0)
        self.upper_given_lower = upper / upper.sum(axis=1, keepdims=True)  # [h, H']

    def units_of_levels(self):
        """(group, place, unit) of all units of the first level, and of all of the second."""
        lower, upper = [], []
        for number, group in enumerate(self.features.groups):
            for unit in range(group.units):
                if group.below is not None:
                    upper += [(number, place, unit) for place in range(LENGTH)]
                    continue
                for place in range(-9, 9):
                    seen = [0 <= place + offset < LENGTH for offset in group.offsets]
                    if any(seen) and (all(seen) or self.features.borders != "inside"):
                        lower.append((number, place, unit))
        return lower, upper

    def lower_score(self, path, h):
        found = sum(self.node[t, label] for t, label in enumerate(path))
        for on, (number, place, unit) in zip(h, self.lower, strict=True):
            found += on * self.features.bias[self.features.units_of(number)][unit]
            for k, offset in enumerate(self.features.groups[number].offsets):
                t = place + offset
                label = path[t] if 0 <= t < LENGTH else LABELS
                found += on * self.features.table(number)[k, label, unit]
        return found

    def upper_score(self, h, top):
        found = 0.0
        for on, (number, place, unit) in zip(top, self.upper, strict=True):
            group = self.features.groups[number]
            found += on * self.features.bias[self.features.units_of(number)][unit]
            for below, (other, at, low) in zip(h, self.lower, strict=True):
                if other == group.below - 1 and at - place in group.offsets:
                    k = group.offsets.index(at - place)
                    found += on * below * self.features.table(number)[k, low, unit]
        return found

    def marginals(self):
        return np.einsum("p,ptj->tj", self.joint.sum(axis=(1, 2)), np.eye(LABELS)[self.paths])

    def statistics(self, given):
        """The mean of what a gradient counts, over a joint distribution. [P]"""
        eps, vector = 1e-5, self.features.vector
        found = np.zeros(len(vector))
        for k in np.flatnonzero(self.features.used):
            change = np.zeros(len(vector))
            change[k] = eps
            ends = [
                LevelOracle("", features=self.features.with_weights(vector + c), node=self.node)
                for c in (change, -change)
            ]
            slopes = [
                own.labels_and_lower[:, :, None] + own.lower_and_upper[None] for own in ends
            ]  # scores are linear in weights
            found[k] = (given * (slopes[0] - slopes[1])).sum() / (2 * eps)
        return found

    def with_lower(self, both):
        """A distribution of labels and second level [Y, H'], with the first level given them."""
        given = self.joint / self.joint.sum(axis=1, keepdims=True)
        return both[:, None] * given

    def step(self, both, *, clamped=False):
        """The distribution of labels and second level [Y, H'] after a step of sampling."""
        joint = self.with_lower(both)
        if clamped:
            return joint.sum(axis=2) @ self.upper_given_lower
        label_given_lower = self.joint.sum(axis=2)
        label_given_lower = label_given_lower / label_given_lower.sum(axis=0)  # [Y, h]
        return label_given_lower @ (joint.sum(axis=(0, 2))[:, None] * self.upper_given_lower)

    def contrast(self, gold, steps):
        """What contrastive divergence says on average, from labels and a second level all off."""
        data = np.zeros((len(self.paths), len(self.upper_states)))
        data[gold, 0] = 1.0
        sampled = data
        for _ in range(steps):
            data, sampled = self.step(data, clamped=True), self.step(sampled)
        ends = self.with_lower(data).sum(axis=2) - self.with_lower(sampled).sum(axis=2)
        return self.statistics(ends[:, :, None] * self.upper_given_lower)


CASES = [
    {"text": "1:0..1; 1:0,1|units[1]"},
    {"text": "1:0..1; 1:-1,1|units[1]", "borders": "inside"},
    {"text": "1:0..1; 1:0|units[1]", "borders": "marked"},
    {"text": "1:0|units[2]; 1:0..1; 1:0"},
    {"text": "1:0; 1:-1..0|units[1]; 1:1|units[1]"},
    {"text": "fixed:A@0=2,B@1=-1.5,bias=-1; 1:0,1|units[1]"},
    {"text": "2:0; 1:0,1|units[1]"},
]


@pytest.fixture(scope="module", params=CASES, ids=str)
def oracle(request):
    return LevelOracle(**request.param)


def kernel_arguments(oracle, count):
    features = oracle.features
    node = np.tile(oracle.node, (count, 1))
    return node, features.inputs, np.arange(count + 1) * LENGTH, (0, count), features


def test_sampled_marginals_are_right_on_average(oracle):
    count = 2_000
    node, inputs, offsets, chains, features = kernel_arguments(oracle, count)
    heats = GibbsSettings(burn_in=20, samples=40).inverse_temperatures
    found, current = np.empty_like(node), np.zeros(len(node), np.int32)
    rbm.sample(
        node, inputs, offsets, chains, features.layout, features.tables, expert_tables([]), heats,
        40, seeded(1, 0, count), current, features.upper_units(len(node)), found,
    )  # fmt: skip
    means = found.reshape(count, LENGTH, LABELS).mean(axis=0)
    np.testing.assert_allclose(means, oracle.marginals(), atol=0.01)


@pytest.mark.parametrize("steps", [1, 3])
def test_contrastive_statistics_are_right_on_average(oracle, steps):
    count, gold = 20_000, 3
    node, inputs, offsets, chains, features = kernel_arguments(oracle, count)
    labels = np.tile(oracle.paths[gold].astype(np.int32), count)
    weights, biases = np.zeros_like(features.label_to_unit), np.zeros_like(features.bias)
    rbm.contrastive_divergence(
        node, inputs, offsets, chains, features.layout, features.tables, expert_tables([]), labels,
        steps, seeded(0, 1, count), labels.copy(), features.upper_units(len(node)),
        features.upper_units(len(node)), weights, biases, np.empty_like(node), inputs,
        np.zeros(0), np.zeros(0),
    )  # fmt: skip
    found = np.concatenate([weights, biases]) * features.used / count
    np.testing.assert_allclose(found, oracle.contrast(gold, steps), atol=0.03)


def test_many_steps_approach_the_exact_gradient(oracle):
    # the slope of log p(labels): that of log Z(labels) − log Z
    gold, eps = 5, 1e-5
    found = oracle.contrast(gold, 200)
    for k in np.flatnonzero(oracle.features.used):
        change = np.zeros(len(found))
        change[k] = eps
        ends = [
            LevelOracle(
                "", features=oracle.features.with_weights(oracle.features.vector + sign * change),
                node=oracle.node,
            )
            for sign in (1, -1)
        ]  # fmt: skip
        logs = [np.log(own.joint[gold].sum()) for own in ends]
        assert found[k] == pytest.approx((logs[0] - logs[1]) / (2 * eps), abs=1e-4)


# The estimator -----------------------------------------------------------------------------------

PROBLEM = melodies(100, train=20, test=5)
KNOWN = "fixed:A@0=4,B@1=4,C@2=4,bias=-10"
QUICK = {"encoding": None, "samples": 20, "burn_in": 10, "threads": 1, "epochs": 3}


def fit(groups, **own):
    return RBMCRF(groups=groups, **{**QUICK, **own}).fit(PROBLEM.train_x, PROBLEM.train_y)


@pytest.mark.parametrize(
    "own", [{}, {"persistent": True}, {"batch": 7}, {"experts": "iohmm:2"}], ids=str
)
def test_the_same_seed_gives_the_same_whatever_the_threads(own):
    groups = "2:0..2; 2:0,4|units[1]"
    one, two = fit(groups, **own), fit(groups, threads=2, **own)
    np.testing.assert_array_equal(one.result_.vector, two.result_.vector)
    assert one.predict(PROBLEM.test_x) == two.predict(PROBLEM.test_x)


def test_weights_that_are_given_stay_and_those_above_are_learnt():
    model = fit(f"{KNOWN}; 2:0,4|units[1]", decay=0.1, spread=0.0).model_
    wanted = LabelFilters.blank(parse_unit_groups(KNOWN), model.labels, 5)
    np.testing.assert_array_equal(model.units.table(0), wanted.table(0))
    assert model.units.bias[0] == -10
    assert model.units.table(1).all()


def test_a_second_level_without_weights_changes_nothing():
    rng = np.random.default_rng(0)
    one = LabelFilters.blank(parse_unit_groups("1:0..1"), "AB", 0)
    one = one.with_weights(rng.normal(size=one.size) * one.learnable)
    two = LabelFilters.blank(parse_unit_groups("1:0..1; 1:0,1|units[1]"), "AB", 0)
    two.table(0)[:], two.bias[:1] = one.table(0), one.bias
    lone, with_upper = (
        LevelOracle("", features=own, node=np.zeros((LENGTH, LABELS))) for own in (one, two)
    )
    np.testing.assert_allclose(lone.marginals(), with_upper.marginals())


def test_groups_that_a_file_cannot_have_are_named(tmp_path, monkeypatch):
    model = fit("2:0..2; 2:0,4|units[1]").model_
    first, second = model.units.groups
    with pytest.raises(ParameterError, match="but there are 2 groups"):
        LabelFilters.zeros((first, replace(second, below=3)), 4, 0)
    written = modelfile.format_unit_groups
    monkeypatch.setattr(
        modelfile, "format_unit_groups", lambda groups: written(groups).replace("[1]", "[3]")
    )
    with pytest.raises(ModelFileError, match="but there are 2 groups"):
        round_trip(model, tmp_path / "m.skip")


def test_a_summary_and_pictures_show_both_levels():
    pytest.importorskip("matplotlib")
    model = fit("2:0..2; 1:0,4|units[1]").model_
    first, second = model.summarise()["groups"]
    assert (first["looks_at"], second["looks_at"]) == ("labels", "units of group 1")
    weights = second["units"][0]["weights"]
    assert weights["unit 2"]["4"] == model.units.table(1)[1, 1, 0]
    assert list(weights) == ["unit 1", "unit 2"]
    labels, traces = model.trace(PROBLEM.test_x[0])
    assert traces[1].shape == (20, len(labels), 1)
    assert set(np.unique(traces[1])) <= {0.0, 1.0}
    for own in (*weight_pictures(model), trace_picture(model, PROBLEM.test_x[0])):
        assert png(own).startswith(b"\x89PNG")
