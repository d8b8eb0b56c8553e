"""The skip-chain CRF: against enumeration, against the CRF, and against differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from skipchain import CRF, Corpus, MaxEnt, SkipChainCRF, Tagger, load, save
from skipchain.chains.dataset import Dataset
from skipchain.chains.likelihood import ConditionalLikelihood
from skipchain.chains.scorer import LinearScorer
from skipchain.edges import EdgeSet, parse_rules
from skipchain.errors import ModelFileError, ParameterError, SkipchainError, SkipchainWarning
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.learn.step import INTERRUPTED
from skipchain.models.graph.belief import PairwiseGraph, PropagationSettings, propagate
from skipchain.models.graph.dataset import GraphDataset
from skipchain.models.graph.edge_features import EdgeFeatures
from skipchain.models.graph.pairwise import UndirectedGraph
from skipchain.models.graph.pairwise_likelihood import PairwiseLikelihood
from skipchain.parallel import Workers

LABELS = 3
EXACTLY = PropagationSettings(tolerance=1e-13, max_sweeps=500)


def random_corpus(rng, documents=3, sentences=3):
    words = [
        rng.choice(list("ABcd"), size).tolist()
        for size in rng.integers(0, 5, documents * sentences)
    ]
    return Corpus.of(words, documents=[sentences] * documents)


def linked_of(corpus, edges, agreement=True):
    """The rows of a corpus with word features, and of each kind of edge along its pairs."""
    _, rows = Vocabulary.fit(corpus, Templates.parse("word\nword[-1]"))
    relations = EdgeSet.of(corpus, parse_rules(edges))
    ends = {}
    for relation in relations.by_rule:
        kind, own = relation.rule.edge_types[0], None
        if not relation.rule.is_chain:
            own = EdgeFeatures.fit(rows, *relation.endpoints(first_is_parent=True))
            if not agreement:
                own = own.keep(np.zeros(own.n_features, np.bool_))
        ends[kind] = own
    return GraphDataset.of(rows, relations, ends)


def plain_score(linked, weights, labels):
    """The score of one labelling, by the formula."""
    corpus, total = linked.edge_set.corpus, 0.0
    for kind, own in weights.items():
        relation, _ = linked.edges_of_type(kind)
        flat = linked.edges[kind].expanded()
        rows = [flat.indices[a:b] for a, b in itertools.pairwise(flat.indptr)]
        if relation.rule.is_chain:
            total += sum(own.state[row, labels[t]].sum() for t, row in enumerate(rows))
        if relation.rule.has_boundaries:
            for a, b in itertools.pairwise(corpus.sentences.tolist()):
                if b > a:
                    total += own.start[labels[a]] + own.end[labels[b - 1]]
        for e, (u, v) in enumerate(relation.pairs.tolist()):
            total += own.transitions[labels[u], labels[v]]
            if not relation.rule.is_chain and labels[u] == labels[v]:
                total += own.state[rows[e], labels[u]].sum()
    return total


def plain_loss(linked, weights, labels):
    size = len(labels)
    scores = [
        plain_score(linked, weights, path) for path in itertools.product(range(LABELS), repeat=size)
    ]
    return float(np.logaddexp.reduce(scores)) - plain_score(linked, weights, labels)


def differences(function, vector, step=1e-5):
    found = np.empty_like(vector)
    for k in range(len(vector)):
        point = vector.copy()
        point[k] += step
        high = function(point)
        point[k] -= 2 * step
        found[k] = (high - function(point)) / (2 * step)
    return found


def objective_of(linked, rng, workers, **settings):
    labels = rng.integers(0, LABELS, linked.tokens.tokens.n_rows).astype(np.int32)
    own = {"propagation": EXACTLY, **settings}
    return labels, PairwiseLikelihood(linked, labels, LABELS, workers, **own)


# The loss ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("agreement", [False, True])
@pytest.mark.parametrize("observed", [False, True])
def test_trees_against_enumeration(agreement, observed):
    """Words and links that make no loop: chains A b, c D joined by A–D, and a page apart."""
    rng = np.random.default_rng(3)
    corpus = Corpus.of([["A", "b"], ["c", "A"], ["d"]], documents=[3], links=[(3, 4)])
    linked = linked_of(corpus, "previous, same_word, links", agreement)
    with Workers(1) as workers:
        labels, objective = objective_of(linked, rng, workers, observed=observed, l2=0.3)
        vector = rng.normal(size=objective.size)
        plain = plain_loss(linked, objective.unpack(vector), labels) + 0.3 * vector @ vector
        loss, gradient = objective(vector)
        assert loss == pytest.approx(plain, rel=1e-10)
        assert objective.unconverged == 0
        found = differences(lambda point: objective(point)[0], vector)
    np.testing.assert_allclose(gradient, found, atol=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_with_loops(seed):
    """Bethe's log Z has the beliefs as its gradient where messages are at rest."""
    rng = np.random.default_rng(seed)
    linked = linked_of(random_corpus(rng), "previous, same(word)")
    with Workers(1) as workers:
        _, objective = objective_of(linked, rng, workers, l2=0.1)
        vector = rng.normal(size=objective.size) * 0.5
        _, gradient = objective(vector)
        assert objective.unconverged == 0
        found = differences(lambda point: objective(point)[0], vector)
    np.testing.assert_allclose(gradient, found, atol=1e-6)


def test_pairs_by_themselves_against_enumeration():
    rng = np.random.default_rng(1)
    linked = linked_of(random_corpus(rng), "same(word)")
    apart = GraphDataset(linked.tokens, linked.edge_set, {"same(word)": linked.edges["same(word)"]})
    with Workers(1) as workers:
        given = rng.normal(size=(linked.tokens.tokens.n_rows, LABELS))
        labels, objective = objective_of(apart, rng, workers, piecewise=given, observed=False)
        vector = rng.normal(size=objective.size)
        weights = objective.unpack(vector)["same(word)"]
        flat, plain = linked.edges["same(word)"].expanded(), 0.0
        pairs = linked.edge_set.by_rule[0].pairs.tolist()
        assert len(pairs) > 5
        for e, (u, v) in enumerate(pairs):
            row = flat.indices[flat.indptr[e] : flat.indptr[e + 1]]
            table = weights.transitions + np.diag(weights.state[row].sum(axis=0))
            table = table + given[u][:, None] + given[v]
            plain += np.logaddexp.reduce(table.ravel()) - table[labels[u], labels[v]]
        loss, gradient = objective(vector)
        assert loss == pytest.approx(plain, rel=1e-10)
        found = differences(lambda point: objective(point)[0], vector)
    np.testing.assert_allclose(gradient, found, atol=1e-7)


def test_chains_alone_are_a_crf():
    rng = np.random.default_rng(0)
    linked = linked_of(random_corpus(rng), "previous")
    with Workers(1) as workers:
        labels, objective = objective_of(linked, rng, workers, l2=0.2)
        data = Dataset(linked.tokens, linked.offsets, labels)
        scorer = LinearScorer(data, LABELS, observed=True, boundaries=True, workers=workers)
        crf = ConditionalLikelihood(data, scorer, workers, l2=0.2)
        vector = rng.normal(size=objective.size)
        loss, gradient = objective(vector)
        known, known_gradient = crf(vector)
    assert loss == pytest.approx(known, rel=1e-10)
    np.testing.assert_allclose(gradient, known_gradient, atol=1e-8)


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    linked = linked_of(random_corpus(rng, documents=2000, sentences=4), "previous, same(word)")
    found = []
    for threads in (1, 3):
        with Workers(threads) as workers:
            _, objective = objective_of(
                linked,
                np.random.default_rng(0),
                workers,
                propagation=PropagationSettings(max_sweeps=3),
            )
            vector = np.random.default_rng(1).normal(size=objective.size)
            found.append((*objective(vector), objective.curvature()))
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)


# Places to rest ----------------------------------------------------------------------------------


def ring(states=3, size=6, coupling=4.0):
    """Nodes that all pull each other into one state: there is a place to rest for each state."""
    ends = list(itertools.combinations(range(size), 2))
    node = np.zeros((size, states))
    node[0, 0], node[1:, 1] = 3.0, 0.7
    return PairwiseGraph.of([0, size], ends), node, np.eye(states)[None] * coupling


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_of_two_places_to_rest_the_better_counts(scale):
    """From equal messages the first node's state spreads, though the others' would do better."""
    graph, node, tables = ring()
    node, tables = node * scale, tables * scale
    with Workers(1) as workers:
        plain = propagate(graph, node, tables, None, workers)
        for start, better in ((1, True), (0, False), (2, False)):
            found = propagate(graph, node, tables, None, workers, start=np.full(6, start, np.int32))
            assert (found.log_z[0] > plain.log_z[0] + 0.1) == better
            assert found.node.argmax(axis=1).tolist() == [int(better)] * 6
            np.testing.assert_allclose(found.node.sum(axis=1), 1.0)
            np.testing.assert_allclose(found.pairs.sum(), graph.n_edges)
            if not better:
                np.testing.assert_array_equal(found.node, plain.node)
                np.testing.assert_array_equal(found.sweeps, plain.sweeps)


def test_a_bad_place_to_rest_is_no_good_fit():
    """As in the ring; the labels known are those of the better place."""
    corpus = Corpus.of([["p", "Z"], *[["q", "Z"]] * 5], documents=[6])
    linked = linked_of(corpus, "alone, same(word, recent=6)", agreement=False)
    names = Vocabulary.fit(corpus, Templates.parse("word\nword[-1]"))[0].names()
    labels = np.tile([2, 1], 6).astype(np.int32)
    with Workers(1) as workers:
        objective = PairwiseLikelihood(linked, labels, LABELS, workers, observed=False)
        weights = objective.weights(np.zeros(objective.size))
        alone = weights["alone"].state
        alone[names.index("word[-1]=p"), 0], alone[names.index("word[-1]=q"), 1] = 3.0, 0.7
        weights["same(word)"].transitions[:] = np.eye(LABELS) * 4.0
        loss, _ = objective(objective.pack(weights))
    assert 0.0 < loss < 50.0


# The estimator -----------------------------------------------------------------------------------

WORDS = [["Ms", "Lee", "spoke", "."], ["Lee", "slept"], ["In", "York", "it", "rained", "."]]
LABELLED = [["O", "B-PER", "O", "O"], ["B-PER", "O"], ["O", "B-LOC", "O", "O", "O"]]


def labelled(times=6):
    return Corpus.of(WORDS * times, LABELLED * times, scheme="iob2", documents=[3] * times)


def ambiguous():
    """Names known by their first mention only: by Ms or by In; the second has no context."""
    rng = np.random.default_rng(0)
    words, labels = [], []
    for number in range(60):
        name = f"Name{number}"
        person = rng.random() < 0.5
        words += [["Ms" if person else "In", name, "slept"], ["Then", name, "slept"]]
        labels += [["O", "PER" if person else "LOC", "O"]] * 2
    return Corpus.of(words, labels, documents=[2] * 60, scheme="none")


@pytest.mark.parametrize("objective", ["piecewise", "joint"])
def test_labels_reach_across_sentences(objective):
    train, test = ambiguous()[:80], ambiguous()[80:]
    settings = {"features": "word[-1]\nprefix(4)", "encoding": None, "solver": "lbfgs"}
    chain = CRF(**settings).fit(train)
    skips = SkipChainCRF(**settings, objective=objective).fit(train)
    assert chain.score(test) < 0.95
    assert skips.score(test) == 1.0
    assert skips.model_.summary["unsettled"] == 0
    table = skips.model_.edge_models["same_word"].weights.transitions
    person, place = (skips.classes_.index(name) for name in ("PER", "LOC"))
    assert min(table[person, person], table[place, place]) > table[person, place]


def test_pairs_learn_what_the_chains_do_not_know():
    """Chains that are sure leave little to learn, however often the labels agree."""
    fitted = SkipChainCRF("word\nword[-1]", solver="lbfgs", l2=0.01).fit(labelled(40))
    table = fitted.model_.edge_models["same_word"].weights.transitions
    assert 0.0 < np.abs(table).max() < 2.0  # pairs that knew nothing of the chains would have 7


@pytest.mark.parametrize("objective", ["piecewise", "joint"])
def test_without_pairs_it_is_a_crf(objective):
    settings = {"features": "word\nword[-1]", "solver": "lbfgs", "tolerance": 1e-9}
    train = labelled()
    chain = CRF(**settings).fit(train)
    same = SkipChainCRF(**settings, edges="previous", objective=objective).fit(train)
    found, known = (np.concatenate(own.predict_marginals(train)) for own in (same, chain))
    np.testing.assert_allclose(found, known, atol=1e-8 if objective == "piecewise" else 1e-3)
    assert same.model_.summary["loss"] == pytest.approx(chain.model_.summary["loss"], rel=1e-6)


def test_without_chains_and_pairs_it_is_a_classifier():
    settings = {"features": "word", "solver": "lbfgs"}
    train = labelled()
    single = MaxEnt(**settings).fit(train)
    same = SkipChainCRF(**settings, edges="alone").fit(train)
    found, known = (np.concatenate(own.predict_marginals(train)) for own in (same, single))
    np.testing.assert_allclose(found, known, atol=1e-8)
    assert list(same.model_.edge_models) == ["alone"]


@pytest.mark.parametrize("direction", ["", "(incoming)", "(outgoing)"])
def test_pages_hear_from_those_they_are_linked_to(direction):
    """Pages without a word of their own have the label of what links to them."""
    words, labels, links = [], [], []
    for number in range(40):
        label = "ab"[number % 2]
        words += [[label], ["?"]]
        labels += [[label], [label.upper()]]
        links.append((2 * number, 2 * number + 1))
    pages = Corpus.of(words, labels, documents=[20] * 4, links=links, scheme="none")
    links_model = SkipChainCRF(
        "word", edges=f"links{direction}", encoding=None, objective="joint"
    ).fit(pages)
    assert list(links_model.model_.edge_models) == ["alone", "incoming"]
    assert links_model.predict(pages) == labels


def test_agreement_has_the_features_of_both_ends():
    train = labelled()
    found = SkipChainCRF("word\nword[-1]", objective="joint", agreement=True).fit(train)
    own = found.model_.edge_models["same_word"]
    names = found.model_.features.names()
    assert "word[-1]=Ms" in [names[k] for k in own.edge_features.parent]
    assert "word[-1]=<s>" in [names[k] for k in own.edge_features.child]
    assert found.predict(train) == LABELLED * 6


def test_what_does_not_come_to_rest_is_told(recwarn):
    train = ambiguous()
    words = [[*sentence.words, "Name", "x", "Name"] for sentence in train]
    labels = [[*sentence.labels, "O", "O", "O"] for sentence in train]
    loops = Corpus.of(words, labels, documents=[2] * 60, scheme="none")
    settings = {"features": "word[-1]\nprefix(4)", "encoding": None, "precision": 1e-12}
    hasty = SkipChainCRF(**settings, max_sweeps=1).fit(loops)
    assert hasty.model_.summary["unsettled"] > 0
    assert not recwarn.list
    with pytest.warns(SkipchainWarning, match=r"in \d+ of 60 documents, first in number \d+"):
        hasty.predict(loops)
    patient = SkipChainCRF(**settings).fit(loops)
    assert patient.model_.summary["unsettled"] == 0
    recwarn.clear()
    patient.predict(loops)
    assert not recwarn.list


def test_a_model_file_keeps_how_messages_are_sent(tmp_path):
    fitted = SkipChainCRF("word", damping=0.25, precision=1e-5, max_sweeps=7).fit(labelled())
    save(fitted, tmp_path / "m.skip")
    model = load(tmp_path / "m.skip").model
    assert model.propagation == fitted.model_.propagation == PropagationSettings(0.25, 1e-5, 7)


def test_a_file_of_an_unknown_kind_is_refused(tmp_path):
    from dataclasses import replace

    model = replace(SkipChainCRF("word").fit(labelled()).model_, kind="crf")
    save(model, tmp_path / "m.skip")
    with pytest.raises(ModelFileError, match="no model of linked labels 'crf'"):
        load(tmp_path / "m.skip")


def test_held_out_data_are_watched_in_joint_training():
    train = labelled()
    found = SkipChainCRF("word", objective="joint", patience=2).fit(train, dev=train)
    assert found.model_.summary["dev"] == 100.0
    assert found.result_.reason == "stopped early"


class Interrupting:
    """A display that interrupts in the first step of a part."""

    def __init__(self, part):
        self.stage = part
        self.parts = []

    def begin(self, problem):
        self.parts.append(problem.stage)

    def step(self, step, dev):
        if self.parts[-1] == self.stage:
            raise KeyboardInterrupt

    def end(self, minimum):
        pass


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("edges of type previous", ["previous"]),
        ("edges of type same_word", ["previous", "same_word"]),
        ("all edges together", ["previous", "same_word"]),
    ],
)
def test_an_interrupt_keeps_what_has_been_learnt(part, kinds):
    display = Interrupting(part)
    found = SkipChainCRF("word", objective="joint").fit(labelled(), progress=display)
    assert display.parts[-1] == part
    assert found.result_.reason == INTERRUPTED
    assert list(found.model_.edge_models) == kinds
    assert len(found.predict(labelled())) == 18


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"damping": 1.0}, "damping must be a number of at least 0 and below 1"),
        ({"precision": 0.0}, "precision must be above 0"),
        ({"max_sweeps": 0}, "max_sweeps must be a whole number"),
        ({"objective": "marginal"}, "objective must be one of piecewise, joint"),
        ({"edges": "previous, alone"}, "the edges previous and alone both say"),
        ({"patience": 3}, "patience is for training all edge types together"),
        ({"solver": "newton"}, "'newton' is for MaxEnt and MEMM"),
    ],
)
def test_parameters_that_make_no_sense(settings, told):
    train = labelled()
    with pytest.raises(ParameterError, match=told):
        SkipChainCRF("word", **settings).fit(train, dev=train)


def test_labels_that_depend_on_each_other_have_no_parents():
    tagger = Tagger(SkipChainCRF("word").fit(labelled()).model_)
    with pytest.raises(SkipchainError, match="depend on each other both ways"):
        tagger.explain(labelled(1), 1)


# The best labelling ------------------------------------------------------------------------------


def lone_pairs():
    """Documents in which no word comes twice but one name, in two sentences: trees."""
    words = [["Ms", "Lee", "of", "York"], ["Lee", "slept"], ["Rome", "it"]]
    labels = [["O", "B-PER", "O", "B-LOC"], ["B-PER", "O"], ["B-LOC", "O"]]
    other = [["In", "Lee", "rain"], ["Rome", "Lee"]]
    other_labels = [["O", "B-LOC", "O"], ["B-LOC", "B-LOC"]]
    return Corpus.of(
        [*words, *other] * 5, [*labels, *other_labels] * 5, scheme="iob2", documents=[3, 2] * 5
    )


@pytest.mark.parametrize("edges", ["previous, same_word", "same_word"])
@pytest.mark.parametrize("constraints", ["decoding", "none"])
def test_viterbi_finds_the_best_labelling_of_trees(edges, constraints):
    corpus = lone_pairs()
    settings = {"features": "word\nword[-1]", "encoding": "iob2", "constraints": constraints}
    model = SkipChainCRF(edges=edges, **settings).fit(corpus).model_
    rng = np.random.default_rng(4)
    for own in model.edge_models.values():  # weights for which forbidden labels are tempting
        own.weights.transitions[:] = rng.normal(0, 2, own.weights.transitions.shape)
        own.weights.state[:] = rng.normal(0, 1, own.weights.state.shape)
    few = corpus.take_documents(np.arange(2)).without_labels()
    with Workers(1) as workers:
        scores = model.scores(few, workers)
        found = model.decode(scores, workers, "viterbi").codes
    data, rules = scores.dataset, model.constraints

    def allowed(labels):
        return rules is None or all(
            rules.start[labels[a]] and rules.end[labels[b - 1]]
            and all(rules.pairs[pair] for pair in itertools.pairwise(labels[a:b]))
            for a, b in itertools.pairwise(few.sentences.tolist())
        )  # fmt: skip

    assert (rules is None) == (constraints == "none")
    first = few.sentences[few.documents[1]]
    best = -np.inf
    for document in (slice(0, first), slice(first, None)):  # the other one stays as found
        labels = found.tolist()
        size = len(labels[document])
        for tried in itertools.product(range(len(model.labels)), repeat=size):
            labels[document] = tried
            if allowed(labels):
                best = max(best, plain_score(data, model.edge_weights, labels))
    assert allowed(found.tolist())
    assert plain_score(data, model.edge_weights, found.tolist()) == pytest.approx(best)


def test_viterbi_without_pairs_is_that_of_a_crf():
    settings = {"features": "word\nshape", "l2": 0.1, "solver": "lbfgs"}
    chains = CRF(**settings, encoding="bioes").fit(labelled())
    linked = SkipChainCRF(**settings, edges="previous").fit(labelled())
    assert linked.predict(labelled(), decoder="viterbi") == chains.predict(labelled())


def test_viterbi_hears_from_other_sentences():
    train, test = ambiguous()[:80], ambiguous()[80:]
    settings = {"features": "word[-1]\nprefix(4)", "encoding": None, "solver": "lbfgs"}
    fitted = SkipChainCRF(**settings).fit(train)
    assert fitted.predict(test, decoder="viterbi") == [sentence.labels for sentence in test]
    assert fitted.decoders == fitted.model_.decoders == ("legal", "posterior", "viterbi")


def test_viterbi_sends_no_messages_of_sums(monkeypatch):
    fitted = SkipChainCRF("word[-1]\nprefix(4)", encoding=None).fit(ambiguous())
    found = fitted.predict(ambiguous(), decoder="viterbi")
    monkeypatch.setattr(UndirectedGraph, "propagate", lambda *_, **__: pytest.fail("sums sent"))
    assert fitted.predict(ambiguous(), decoder="viterbi") == found
    with pytest.raises(pytest.fail.Exception, match="sums sent"):
        fitted.predict(ambiguous())


def test_maxima_that_do_not_come_to_rest_are_told():
    loops = Corpus.of(
        [["Name", "x", "Name", "Name"]] * 4, [["A", "B", "A", "B"]] * 4, scheme="none"
    )
    settings = {"features": "word", "encoding": None, "solver": "lbfgs", "precision": 1e-12}
    model = SkipChainCRF(**settings, max_sweeps=1).fit(loops).model_
    with Workers(1) as workers:
        scores = model.score_dataset(model.dataset(loops), workers)
        with pytest.warns(SkipchainWarning, match="did not come to rest"):
            model.decode(scores, workers, "viterbi")
