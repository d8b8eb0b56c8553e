"""Hidden states beside label features: against enumeration, and what the product can do."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone

from skipchain import CRF, HRF, IOHMM, RBMCRF, Corpus, load, save
from skipchain.chains.dataset import Dataset
from skipchain.chains.sums import TableScorer
from skipchain.datasets.synthetic import long_memory, toy3
from skipchain.errors import FeatureError, ModelFileError, ParameterError, SkipchainError
from skipchain.features.direct import NumberedFeatures
from skipchain.kernels import experts, rbm
from skipchain.kernels.experts import add_state_statistics
from skipchain.kernels.random import seeded
from skipchain.modelfile import load_model
from skipchain.models.latent.inference import StateScores
from skipchain.models.latent.likelihood import StateLikelihood
from skipchain.models.latent.scorer import StateScorer, StateWeights
from skipchain.models.rbm import gibbs
from skipchain.models.rbm.contrastive import ContrastiveBatch
from skipchain.models.rbm.expert_gradient import ExpertBatch
from skipchain.models.rbm.expert_tables import expert_tables
from skipchain.models.rbm.gibbs import GibbsSettings
from skipchain.models.rbm.groups import parse_unit_groups
from skipchain.models.rbm.units import LabelFilters
from skipchain.parallel import Workers

# An oracle by enumeration ------------------------------------------------------------------------

FEATURES = 2


def log_normal(scores):
    return scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)


class Oracle:
    """A tiny product written out: all labellings, all paths of states, all settings of the units.

    There is one group, whose windows are cut at the ends of the sequence.
    """

    def __init__(self, *, length, labels, states, groups="1:0..1", local=False, scale=1.0, seed=0):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=(length, FEATURES))
        self.node = rng.normal(size=(length, labels))
        self.groups, self.states, self.local = parse_unit_groups(groups), states, local
        blank = LabelFilters.zeros(self.groups, labels, 0)
        self.units = blank.with_weights(rng.normal(size=blank.size) * blank.learnable)
        self.weights = []
        for count in states:
            own = StateWeights.zeros(FEATURES, count, labels)
            self.weights.append(own.from_vector(scale * rng.normal(size=own.size)))
        self.paths = list(product(range(labels), repeat=length))
        self.own = [self.parts(weights) for weights in self.weights]

    def parts(self, weights):
        """Scores of transitions [T, S + 1, S] and emissions [T, S, L] of one expert."""
        seen = np.hstack([self.x, np.ones((len(self.x), 1))])
        moves = np.einsum("tf,fij->tij", seen, weights.transitions)
        emits = np.einsum("tf,fsl->tsl", seen, weights.emissions)
        return (log_normal(moves), log_normal(emits)) if self.local else (moves, emits)

    def hidden(self, e):
        return list(product(range(self.states[e]), repeat=len(self.x)))

    def joint(self, e, path, hidden, parts=None):
        """The score of labels and states of one expert together."""
        moves, emits = self.own[e] if parts is None else parts
        before = [self.states[e], *hidden[:-1]]
        return sum(moves[t, before[t], s] + emits[t, s, path[t]] for t, s in enumerate(hidden))

    def expert(self, e, path, weights=None):
        """The score of labels by one expert, its states summed out."""
        parts = None if weights is None else self.parts(weights)
        return np.logaddexp.reduce(
            [self.joint(e, path, hidden, parts) for hidden in self.hidden(e)]
        )

    def replicas(self):
        """The activation of each unit at each place, as a function of the labels."""
        for number, group in enumerate(self.groups):
            table = self.units.table(number)
            first = sum(own.units for own in self.groups[:number])
            for place in range(-len(self.x), 2 * len(self.x)):
                seen = [
                    (k, place + offset)
                    for k, offset in enumerate(group.offsets)
                    if 0 <= place + offset < len(self.x)
                ]
                if seen:
                    for n in range(group.units):
                        yield self.units.bias[first + n], [(t, table[k, :-1, n]) for k, t in seen]

    def activations(self, path):
        return np.array(
            [bias + sum(own[path[t]] for t, own in seen) for bias, seen in self.replicas()]
        )

    def log_scores(self, weights=None):
        """Of all labellings, units and states summed out; ``weights`` replace those of experts."""
        weights = [None] * len(self.states) if weights is None else weights
        return np.array(
            [
                sum(self.node[t, label] for t, label in enumerate(path))
                + np.logaddexp(0.0, self.activations(path)).sum()
                + sum(self.expert(e, path, own) for e, own in enumerate(weights))
                for path in self.paths
            ]
        )

    def probabilities(self):
        scores = self.log_scores()
        return np.exp(scores - np.logaddexp.reduce(scores))

    def one_hot(self):
        return np.eye(self.node.shape[1])[np.array(self.paths)]

    def marginals(self):
        return np.einsum("p,ptj->tj", self.probabilities(), self.one_hot())

    def step(self, turn):
        """One step of sampling, from each labelling to each other.

        Units and the states of other experts are drawn given the labels; then the states of the
        expert whose turn it is and the labels together.
        """
        replicas = list(self.replicas())
        others = [e for e in range(len(self.states)) if e != turn]
        last = np.array([self.expert(turn, path) for path in self.paths])
        found = np.zeros((len(self.paths),) * 2)
        for row, path in enumerate(self.paths):
            on = 1 / (1 + np.exp(-self.activations(path)))
            for units in product((0, 1), repeat=len(on)):
                chance = np.prod(np.where(units, on, 1 - on))
                node = self.node.copy()
                for unit, (_, seen) in zip(units, replicas, strict=True):
                    for t, own in seen:
                        node[t] += unit * own
                for hidden in product(*(self.hidden(e) for e in others)):
                    drawn = chance
                    said = node.copy()
                    for e, states in zip(others, hidden, strict=True):
                        drawn *= np.exp(self.joint(e, path, states) - self.expert(e, path))
                        for t, s in enumerate(states):
                            said[t] += self.own[e][1][t, s]
                    scores = last + [
                        sum(said[t, label] for t, label in enumerate(own)) for own in self.paths
                    ]
                    found[row] += drawn * np.exp(scores - np.logaddexp.reduce(scores))
        return found

    def statistics(self, e, path):
        """p(states | labels): two in a row [T, S + 1, S], with their label [T, S, L]."""
        moves, emits = (np.zeros_like(own) for own in self.own[e])
        total = self.expert(e, path)
        for hidden in self.hidden(e):
            chance = np.exp(self.joint(e, path, hidden) - total)
            for t, s in enumerate(hidden):
                moves[t, hidden[t - 1] if t else self.states[e], s] += chance
                emits[t, s, path[t]] += chance
        return moves, emits

    # as the package has it

    def data(self, count=1):
        """The sequence many times, as an expert sees it."""
        _, rows, offsets = NumberedFeatures.fit([self.x], 1)
        every = np.tile(np.arange(len(self.x)), count)
        return Dataset(rows.take(every), np.arange(count + 1) * offsets[1])

    def scores(self, count, workers):
        return [
            StateScores.of(self.data(count), own, workers, local=self.local) for own in self.weights
        ]

    def nothing(self, count=1):
        """The inputs of units: none."""
        return self.units.inputs, np.tile(self.node, (count, 1))

    def exact_gradient(self, gold):
        """The gradient of log p(gold) in the weights of the experts, by differences."""
        found = []
        for e, own in enumerate(self.weights):
            for k in range(own.size):
                change = np.zeros(own.size)
                change[k] = 1e-5
                ends = []
                for sign in (1, -1):
                    moved = [None] * len(self.weights)
                    moved[e] = own.from_vector(own.vector + sign * change)
                    scores = self.log_scores(moved)
                    ends.append(scores[gold] - np.logaddexp.reduce(scores))
                found.append((ends[0] - ends[1]) / 2e-5)
        return np.array(found)


CASES = [
    {"length": 3, "labels": 2, "states": (2,)},
    {"length": 2, "labels": 3, "states": (3,), "local": True},
    {"length": 2, "labels": 2, "states": (2, 3)},
    {"length": 3, "labels": 2, "states": (1,), "groups": "1:0"},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_oracle_leaves_its_distribution_as_it_is(case):
    oracle = Oracle(**case)
    wanted = oracle.probabilities()
    for turn in range(len(oracle.states)):
        np.testing.assert_allclose(wanted @ oracle.step(turn), wanted, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 2000.0])  # the second vanishes, and is done by logarithms
@pytest.mark.parametrize("case", CASES, ids=str)
def test_states_given_labels(case, scale):
    oracle = Oracle(**case, scale=scale)
    with Workers(1) as workers:
        potentials = [own.potentials((0, 2)) for own in oracle.scores(2, workers)]
    tables = expert_tables(potentials)
    length, labels = oracle.node.shape
    for path in oracle.paths:
        moved, emitted = np.zeros_like(tables.exp_transitions), np.zeros_like(tables.exp_emissions)
        tiled = np.tile(np.array(path, np.int32), 3)
        # the second chain of a block that stands behind another chain
        add_state_statistics(
            tables, tiled, 2 * length, length, length, labels, -2.0, moved, emitted
        )
        for e, count in enumerate(oracle.states):
            first, second = oracle.statistics(e, path)
            for found, start, wanted in (
                (moved, tables.transition_starts[e], first),
                (emitted, tables.emission_starts[e], second),
            ):
                own = found[start : start + 2 * wanted.size].reshape(2, *wanted.shape)
                assert not own[0].any()
                np.testing.assert_allclose(own[1], -2.0 * wanted, atol=1e-9)
            assert moved.size == sum(2 * length * n * (n + 1) for n in oracle.states)
            assert count == tables.sizes[e]


def chain(oracle):
    """The tables of the first expert for one sequence, as kernels have them."""
    with Workers(1) as workers:
        tables = expert_tables([own.potentials((0, 1)) for own in oracle.scores(1, workers)])
    return experts._chain(tables, 0, 0, *oracle.node.shape)


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_logarithms_say_the_same(case, summed):
    oracle = Oracle(**case)
    own, size = chain(oracle), oracle.states[0]
    labels = np.array(oracle.paths[1], np.int32)
    fast, slow = np.empty((2, len(labels), size))
    if summed:
        experts._summed_evidence(own.exp_emissions, oracle.node, fast)
        experts._log_summed_evidence(own.emissions, oracle.node, slow)
    else:
        experts._label_evidence(own.exp_emissions, labels, 0, fast)
        experts._label_evidence(own.emissions, labels, 0, slow)
    assert experts._filter(own.exp_transitions, fast)
    experts._log_filter(own.transitions, slow)
    np.testing.assert_allclose(np.exp(log_normal(slow)), fast)
    one, two = np.empty((2, size))
    for t in range(1, len(labels)):
        for j in range(size):
            experts._previous_state_probs(own, fast, False, t, j, one)
            experts._previous_state_probs(own, slow, True, t, j, two)
            np.testing.assert_allclose(one, two)


def test_sums_that_vanish_are_noticed():
    own = chain(Oracle(**CASES[0], scale=2000.0))
    alpha = np.empty((3, 2))
    experts._label_evidence(own.exp_emissions, np.zeros(3, np.int32), 0, alpha)
    assert not experts._filter(own.exp_transitions, alpha)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_contrastive_statistics_are_right_on_average(case, steps):
    oracle, count = Oracle(**case), 10_000
    gold = 3
    arrived = np.eye(len(oracle.paths))[gold]
    for step in range(steps):
        arrived = arrived @ oracle.step(step % len(oracle.states))
    labels = np.tile(np.array(oracle.paths[gold], np.int32), count)
    inputs, node = oracle.nothing(count)
    with Workers(1) as workers:
        scores = oracle.scores(count, workers)
        tables = expert_tables([own.potentials((0, count)) for own in scores])
    units, current = oracle.units, labels.copy()
    moved, emitted = np.zeros_like(tables.exp_transitions), np.zeros_like(tables.exp_emissions)
    residuals = np.empty_like(node)
    rbm.contrastive_divergence(
        node, inputs, scores[0].offsets, (0, count), units.layout, units.tables, tables, labels,
        steps, seeded(0, 1, count), current, *2 * [units.upper_units(len(node))],
        np.zeros_like(units.label_to_unit),
        np.zeros_like(units.bias),
        residuals, np.zeros((0, units.n_units)), moved, emitted,
    )  # fmt: skip
    known = [[oracle.statistics(e, path) for path in oracle.paths] for e in range(len(scores))]
    for e, own in enumerate(known):
        for k, (found, start) in enumerate(
            ((moved, tables.transition_starts[e]), (emitted, tables.emission_starts[e]))
        ):
            exact = own[gold][k] - sum(
                chance * each[k] for chance, each in zip(arrived, own, strict=True)
            )
            means = found[start : start + count * exact.size].reshape(count, *exact.shape)
            np.testing.assert_allclose(means.mean(axis=0), exact, atol=0.02)
    reached = np.einsum("p,ptj->tj", arrived, oracle.one_hot())
    wanted = oracle.one_hot()[gold] - reached
    shaped = residuals.reshape(count, *oracle.node.shape)
    np.testing.assert_allclose(shaped.mean(axis=0), wanted, atol=0.02)
    drawn = np.eye(oracle.node.shape[1])[current.reshape(count, -1)].mean(axis=0)
    np.testing.assert_allclose(drawn, reached, atol=0.02)


@pytest.mark.parametrize("annealed", [False, True])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sampled_marginals_are_right_on_average(case, annealed):
    oracle, count = Oracle(**case), 2_000
    inputs, node = oracle.nothing(count)
    heats = GibbsSettings(burn_in=10, samples=40, annealed=annealed).inverse_temperatures
    found, current = np.empty_like(node), np.zeros(len(node), np.int32)
    with Workers(1) as workers:
        scores = oracle.scores(count, workers)
        tables = expert_tables([own.potentials((0, count)) for own in scores])
    rbm.sample(
        node, inputs, scores[0].offsets, (0, count), oracle.units.layout, oracle.units.tables,
        tables, heats, 40, seeded(1, 0, count), current,
        oracle.units.upper_units(len(node)), found,
    )  # fmt: skip
    means = found.reshape(count, *oracle.node.shape).mean(axis=0)
    np.testing.assert_allclose(means, oracle.marginals(), atol=0.01)


def test_scores_that_vanish_are_sampled_by_logarithms():
    oracle = Oracle(length=3, labels=2, states=(2,), groups="", scale=2000.0)
    inputs, node = oracle.nothing()
    with Workers(1) as workers:
        scores = oracle.scores(1, workers)
        found = gibbs.marginals(
            node, inputs, scores[0].offsets, oracle.units, GibbsSettings(5, 50), workers, scores
        )
    np.testing.assert_allclose(found, oracle.marginals(), atol=1e-6)


def gradient(oracle, gold, steps, count):
    """What contrastive divergence takes for the gradient in the experts' weights."""
    inputs, node = oracle.nothing(count)
    data = oracle.data(count)
    labels = np.tile(np.array(oracle.paths[gold], np.int32), count)
    beside = [ExpertBatch(data, n, oracle.node.shape[1], local=oracle.local) for n in oracle.states]
    batch = ContrastiveBatch(TableScorer(data.rows), node, data.offsets, labels, False, beside)
    with Workers(2) as workers:
        _, found = batch.contrastive_divergence(
            np.zeros((0, oracle.node.shape[1])), oracle.units, steps, seeded(0, 1, count),
            labels.copy(), workers, oracle.weights,
        )  # fmt: skip
    assert len(inputs) == 0
    return found.vector[oracle.units.size :]


@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_many_steps_lead_to_the_gradient_of_the_likelihood(case):
    oracle = Oracle(**case)
    np.testing.assert_allclose(gradient(oracle, 1, 40, 6_000), oracle.exact_gradient(1), atol=0.05)


@pytest.mark.parametrize("local", [False, True])
def test_without_groups_one_step_is_enough(local):
    # states and labels are drawn together, so that the first step forgets the data
    oracle = Oracle(length=3, labels=3, states=(2,), groups="", local=local)
    oracle.node[:] = 0.0
    found = gradient(oracle, 5, 1, 20_000)
    np.testing.assert_allclose(found, oracle.exact_gradient(5), atol=0.03)
    data = replace(oracle.data(), labels=np.array(oracle.paths[5], np.int32))
    with Workers(1) as workers:
        scorer = StateScorer(data.rows, 2, 3, bias=True)
        likelihood = StateLikelihood(data, scorer, workers, local=local)
        np.testing.assert_allclose(-likelihood(oracle.weights[0].vector)[1], found, atol=0.03)


# The estimator -----------------------------------------------------------------------------------

PROBLEM = long_memory(0, train=60, test=40)
QUICK = {"encoding": None, "threads": 1}
STATES = {"states": 2, "restarts": 2, "em": 10, "max_iterations": 100, **QUICK}
LEARN = {
    "groups": "4:-5,0|x", "observation": "none", "rate": 0.05, "decay": 0.001, "epochs": 150,
    **QUICK,
}  # fmt: skip
BRIEF = {**LEARN, "epochs": 2, "burn_in": 5, "samples": 10}


@pytest.fixture(scope="module")
def hrf():
    return HRF(**STATES).fit(PROBLEM.train_x, PROBLEM.train_y)


@pytest.fixture(scope="module")
def fitted(hrf):
    return RBMCRF(**LEARN, experts=[hrf]).fit(PROBLEM.train_x, PROBLEM.train_y)


def whole(model, problem=PROBLEM):
    found = zip(model.predict(problem.test_x), problem.test_y, strict=True)
    return float(np.mean([a == b for a, b in found]))


@pytest.mark.slow
def test_the_product_does_what_neither_part_can(hrf):
    # one start in three gets stuck: with three and their training data to choose by, between 70 and
    # 80 % of the sequences are right whatever the seed; the others have 15 % at most
    settings = {**LEARN, "epochs": 300, "restarts": 3}
    product = RBMCRF(**settings, experts=[hrf]).fit(PROBLEM.train_x, PROBLEM.train_y)
    settings = {**LEARN, "observation": "lr", "groups": "4:-1..0|x; 4:-5,0|x"}
    alone = RBMCRF(**settings).fit(PROBLEM.train_x, PROBLEM.train_y)
    # through marginals alone, states learn nothing of what label features know
    settings = {**LEARN, "observation": hrf}
    beside = RBMCRF(**settings).fit(PROBLEM.train_x, PROBLEM.train_y)
    assert whole(product) > 0.5
    assert max(whole(hrf), whole(alone), whole(beside)) < 0.35


def test_without_groups_the_expert_is_itself(hrf):
    settings = {**LEARN, "groups": (), "epochs": 1, "rate": 0.0, "samples": 2000}
    for own in (hrf, IOHMM(**STATES).fit(PROBLEM.train_x, PROBLEM.train_y)):
        model = RBMCRF(**settings, experts=own).fit(PROBLEM.train_x[:2], PROBLEM.train_y[:2])
        for a, b in zip(
            model.predict_marginals(PROBLEM.test_x[:5]),
            own.predict_marginals(PROBLEM.test_x[:5]),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, atol=0.06)


def test_an_unfitted_expert_is_fitted_first(hrf):
    settings = BRIEF
    given = HRF(**STATES)
    one = RBMCRF(**settings, experts=[given]).fit(PROBLEM.train_x, PROBLEM.train_y)
    assert not hasattr(given, "model_")  # it was a copy
    two = RBMCRF(**settings, experts=[hrf.model_]).fit(PROBLEM.train_x, PROBLEM.train_y)
    np.testing.assert_array_equal(one.result_.vector, two.result_.vector)
    assert (two.model_.experts[0].weights.vector != hrf.model_.weights.vector).any()
    assert clone(one).get_params()["experts"][0].states == 2


def test_experts_by_their_names():
    model = RBMCRF(**BRIEF, experts="hrf:2; iohmm:3").for_warmup()
    model.fit(PROBLEM.train_x[:10], PROBLEM.train_y[:10])
    assert [(own.kind, own.n_states) for own in model.model_.experts] == [("hrf", 2), ("iohmm", 3)]
    assert model.model_.summary["settings"]["experts"] == "hrf:2; iohmm:3"
    # neither what lies outside windows is learnt, nor weights that go with every token
    assert model.model_.summary["parameters"] == len(model.result_.vector) - 8 - 10 - 18


def test_experts_beside_a_logistic_regression_or_a_model(hrf):
    crf = CRF(solver="lbfgs", **QUICK).fit(PROBLEM.train_x, PROBLEM.train_y)
    for observation in ("lr", crf):
        settings = {**BRIEF, "observation": observation}
        model = RBMCRF(**settings, experts=hrf).fit(PROBLEM.train_x, PROBLEM.train_y)
        # two epochs give 0.77 to 0.87, the more frequent label alone 0.57
        assert model.score(PROBLEM.test_x, PROBLEM.test_y) > 0.68


def test_the_same_seed_gives_the_same_whatever_the_threads(hrf):
    def run(**more):
        settings = {**BRIEF, "batch": 25, "restarts": 2, **more}
        return RBMCRF(**settings, experts=[hrf]).fit(PROBLEM.train_x, PROBLEM.train_y)

    one, two, other = run(), run(threads=2), run(seed=1)
    np.testing.assert_array_equal(one.result_.vector, two.result_.vector)
    assert (one.result_.vector != other.result_.vector).any()
    for a, b in zip(
        one.predict_marginals(PROBLEM.test_x), two.predict_marginals(PROBLEM.test_x), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_weights_of_every_token_are_learnt_where_there_are_any(hrf):
    biased = HRF(**STATES, bias=True).fit(PROBLEM.train_x, PROBLEM.train_y)
    for own, learnt in ((hrf, False), (biased, True)):
        model = RBMCRF(**BRIEF, experts=[own])
        weights = model.fit(PROBLEM.train_x, PROBLEM.train_y).model_.experts[0].weights
        assert weights.emissions[-1].any() == weights.transitions[-1].any() == learnt


def test_an_expert_reads_templates_of_its_own():
    words = [["a", "b", "c"], ["b", "a"]] * 6
    labels = [["X" if word == "a" else "Y" for word in own] for own in words]
    corpus = Corpus.of(words, labels, scheme="none")
    expert = IOHMM("shape\nword", **{**STATES, "threads": None})
    model = RBMCRF("word", experts=[expert], groups="1:0..1", epochs=3, encoding=None)
    assert model.fit(corpus).predict(corpus) == labels
    assert "shape=x" in model.model_.experts[0].features.names()
    assert "shape=x" not in model.model_.features.names()


def test_forced_labels_are_kept():
    words = [["a", "b", "b", "b"]] * 8
    corpus = Corpus.of(words, [["X", "X", "X", "X"], ["Y", "Y", "Y", "Y"]] * 4, scheme="none")
    expert = HRF("word", **{**STATES, "threads": None})
    model = RBMCRF("word", experts=expert, groups="1:0..1", epochs=5, encoding=None).fit(corpus)
    for forced in "XY":
        with Workers(1) as workers:
            scores = model.model_.scores(corpus[:1], workers, [forced, None, None, None])
        assert scores.marginals[0, model.model_.labels.index(forced)] == pytest.approx(1.0)
        assert np.isfinite(scores.marginals).all()


# Files and summaries -----------------------------------------------------------------------------


def test_a_model_file_keeps_experts(fitted, tmp_path):
    save(fitted, tmp_path / "m.skip")
    again = load(tmp_path / "m.skip")
    np.testing.assert_array_equal(
        again.model.experts[0].weights.vector, fitted.model_.experts[0].weights.vector
    )
    assert again.label(PROBLEM.test_x) == fitted.predict(PROBLEM.test_x)
    assert again.model.n_nonzero == fitted.model_.n_nonzero


def test_damaged_experts_are_named(fitted, tmp_path):
    other = HRF(**STATES).fit(PROBLEM.train_x, [["X"] * len(own) for own in PROBLEM.train_y])
    crf = CRF(solver="lbfgs", **QUICK).fit(PROBLEM.train_x, PROBLEM.train_y)
    for number, own in enumerate((other, crf)):
        save(replace(fitted.model_, experts=(own.model_,)), tmp_path / f"{number}.skip")
        with pytest.raises(ModelFileError, match="expert 1 has no hidden states, or other labels"):
            load_model(tmp_path / f"{number}.skip")


def test_a_summary_tells_of_states_as_they_are_now(hrf, fitted):
    (found,) = fitted.model_.summarise()["experts"]
    assert len(found["states"]) == 2
    assert sum(own["share"] for own in found["states"]) == pytest.approx(100.0)
    (before,) = (hrf.model_.summarise(),)
    assert found["states"] != before["states"]
    tokens = sum(map(len, PROBLEM.train_y))
    assert np.sum(fitted.model_.experts[0].summary["emitted"]) == pytest.approx(tokens)


def test_a_trace_goes_through_states_too(fitted):
    labels, (own,) = fitted.model_.trace(PROBLEM.test_x[0])
    assert labels == fitted.predict(PROBLEM.test_x[:1])[0]
    assert own.shape == (100, 55, 4)


# Mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("hrf", "the expert 'hrf' cannot be read; write 'hrf:4'"),
        ("crf:3", "cannot be read"),
        ("hrf:0", "'hrf:0' needs at least one hidden state"),
        ([CRF()], r"models of hidden states \(HRF, IOHMM\), or text.*; got crf"),
        ([4], "got int"),
        (4, "experts are a list of models of hidden states, or text"),
        ([HRF(states=0)], "states must be a whole number of at least 1, got 0"),
    ],
)
def test_experts_that_cannot_be_are_named(given, told):
    with pytest.raises(ParameterError, match=told):
        RBMCRF(**LEARN, experts=given).fit(PROBLEM.train_x, PROBLEM.train_y)


def test_an_expert_over_other_labels_is_refused(hrf):
    strange = [["X"] * len(own) for own in PROBLEM.train_y]
    other = HRF(**STATES).fit(PROBLEM.train_x, strange)
    with pytest.raises(SkipchainError, match=r"\(hrf\) does not know the label '0'; it has X"):
        RBMCRF(**LEARN, experts=[other]).fit(PROBLEM.train_x, PROBLEM.train_y)
    told = "the expert hrf has the labels X, and the hrf beside it 0, 1: train both on the same"
    with pytest.raises(SkipchainError, match=told):
        RBMCRF(**LEARN, experts=[hrf, other]).fit(PROBLEM.train_x, PROBLEM.train_y)


def test_an_expert_over_other_features_is_refused(hrf):
    narrow = toy3(0, train=5, test=1).train_x
    with pytest.raises(FeatureError, match="columns"):
        RBMCRF(**LEARN, experts=[hrf]).fit(
            [np.hstack([own, own]) for own in narrow], [["0"] * len(own) for own in narrow]
        )
    with pytest.raises(FeatureError, match="has no templates to read words or a corpus"):
        RBMCRF(experts=[hrf], groups="1:0").fit(Corpus.of([["a"]], [["0"]], scheme="none"))
    other = IOHMM("word", **{**STATES, "threads": None})
    other.fit(Corpus.of([["a", "b"]] * 3, [["X", "Y"]] * 3, scheme="none"))
    with pytest.raises(SkipchainError, match="the expert iohmm knows no feature of the data"):
        RBMCRF("word", experts=[other], groups="1:0", encoding=None).fit(
            Corpus.of([["c"]] * 3, [["X"]] * 3, scheme="none")
        )


def test_divergence_is_named_with_the_rate_to_try(hrf):
    settings = {**LEARN, "groups": (), "rate": 200.0}
    with pytest.raises(SkipchainError, match=r"diverged in epoch \d+.*rate=200; try rate=2e\+01$"):
        RBMCRF(**settings, experts=[hrf]).fit(PROBLEM.train_x, PROBLEM.train_y)


def test_nothing_to_see_is_refused():
    with pytest.raises(ParameterError, match=r"or experts, such as 'hrf:4'"):
        RBMCRF(observation="none").fit(PROBLEM.train_x, PROBLEM.train_y)
