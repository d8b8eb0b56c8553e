"""Edge templates: features of edges with the child's label, both labels, or their types."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from skipchain import CRF, Corpus, MoPMEMM, SkipChainCRF, load, save
from skipchain.edges import parse_orderings
from skipchain.errors import ParameterError, TemplateError
from skipchain.features.templates import Templates
from skipchain.models.graph.explain import explain_parents
from skipchain.models.graph.mixture_likelihood import (
    CONDITIONAL,
    MARGINAL,
    MIXTURE,
    MixtureLikelihood,
)
from skipchain.models.graph.pairs import LabelPairs
from skipchain.parallel import Workers

WORDS = [
    ["Ms", "Lee", "spoke"], ["Lee", "slept"], ["at", "Lee", "Road"], ["Grace", "met", "Ms", "Lee"],
    ["at", "York"], ["York", "slept"], ["Ms", "York", "met", "Grace"],
]  # fmt: skip
LABELS = [
    ["O", "B-PER", "O"], ["B-PER", "O"], ["O", "B-LOC", "I-LOC"], ["B-PER", "O", "O", "B-PER"],
    ["O", "B-LOC"], ["B-LOC", "O"], ["O", "I-PER", "O", "B-PER"],
]  # fmt: skip
TRAIN = Corpus.of(WORDS, LABELS, documents=[4, 3], scheme="none")
TEST = Corpus.of([["Ms", "Lee", "slept"], ["at", "Lee"], ["Ms", "Lee"]], documents=[3])

BASE = "word\nword[-1]\n"
TEXTS = {
    "plain": BASE,
    "child": BASE + "edge: word[-1]\nedge: same(word[-1])",
    "labels": BASE + "edge: label & *\nedge: label & same(word[-1])",
    "types": BASE + "edge: word\nedge: type & word[-1]\nedge: type & same(word[1])",
    "chain": BASE + "label[-1] & word",
    "both": BASE + "label[-1] & word\nedge: label & word",
}
LOSSES = [MARGINAL, MIXTURE, CONDITIONAL]


def fitted(text, **settings):
    how = {"solver": "lbfgs", "l2": 0.1, "encoding": None, "orderings": "forward", **settings}
    return MoPMEMM(text, edges="previous, same_word(recent=2)", **how).fit(TRAIN)


def objective(model, given, workers, loss, orderings="forward", **settings):
    data = model.dataset(given)
    labels = np.array([model.labels.index(label) for label in given.labels.tolist()], np.int32)
    dags = data.dags(parse_orderings(orderings))
    how = {"loss": loss, "label_pairs": model.label_pairs, **settings}
    return MixtureLikelihood(data, labels, len(model.labels), dags, workers, **how)


# What they mean ----------------------------------------------------------------------------------


def lookup(model, edge_type):
    """Weights by name: of features with one label, and of features with two, as plain dicts."""
    own = model.edge_models[edge_type]
    names = model.features.names()
    single, paired = {}, {}
    for table, features, row in (
        (single, own.edge_features, own.weights.state),
        (paired, own.pair_features, own.weights.edges),
    ):
        if features is None:
            continue
        ends = [("child", k) for k in features.child] + [("parent", k) for k in features.parent]
        for number, (end, k) in enumerate(ends):
            table[end, names[k]] = row[number]
        for number, atom in enumerate(features.same):
            table["both", f"same({atom})"] = row[len(ends) + number]
    return single, paired


def word_at(words, place, offset):
    sentence, k = place
    inside = 0 <= k + offset < len(words[sentence])
    return words[sentence][k + offset] if inside else None


def conditional(model, words, child, parent):
    """p(child's label | parent's) of one edge, from words and names of features alone. [L, L]"""
    single, paired = lookup(model, "same_word")
    present = set()
    for end, place in (("child", child), ("parent", parent)):
        present.add((end, f"word={word_at(words, place, 0)}"))
        present.add((end, f"word[-1]={word_at(words, place, -1) or '<s>'}"))
    for offset in (-1, 1):
        ends = {word_at(words, child, offset), word_at(words, parent, offset)}
        if len(ends) == 1 and None not in ends:
            present.add(("both", f"same(word[{offset}])"))
    logits = model.edge_models["same_word"].weights.transitions.copy()
    for name in present:
        logits += single.get(name, 0.0)
        if name in paired:
            logits += paired[name][model.label_pairs.classes]
    table = np.exp(logits)
    return table / table.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["plain", "child", "labels", "types"])
def test_marginals_are_those_of_a_plain_second_version(name):
    model = fitted(TEXTS[name]).model_
    words = [sentence.words for sentence in TEST]
    chain = fitted(BASE).model_  # trained apart, it is the same chain
    with Workers(1) as workers:
        found = model.marginals(model.scores(TEST, workers), workers)
        alone = replace(chain, rules=chain.rules[:1], edge_models=only_chain(chain))
        scores = alone.edge_scores(alone.dataset(TEST), workers)
        rows, table = scores.rows("previous", workers), scores.tables[0]
    places = [(s, k) for s, sentence in enumerate(words) for k in range(len(sentence))]
    wanted = np.zeros_like(found)
    for t, (s, k) in enumerate(places):
        if k == 0:
            parts = [np.exp(rows[t]) / np.exp(rows[t]).sum()]
        else:
            pairs = np.exp(rows[t] + table)
            parts = [wanted[t - 1] @ (pairs / pairs.sum(axis=1, keepdims=True))]
        word = words[s][k]
        earlier = [u for u in range(t) if word == word_at(words, places[u], 0) and word.istitle()]
        for u in earlier[-2:]:
            parts.append(wanted[u] @ conditional(model, words, (s, k), places[u]))
        wanted[t] = np.mean(parts, axis=0)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def only_chain(model):
    return {"previous": model.edge_models["previous"]}


def test_all_features_of_both_ends_are_there_by_default():
    plain, written = fitted(BASE), fitted(BASE + "edge: *")
    for found, wanted in zip(
        written.predict_marginals(TEST), plain.predict_marginals(TEST), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_types_share_weights_whatever_the_prefixes():
    labels = ("B-PER", "I-PER", "B-LOC", "O")
    pairs = LabelPairs.of(labels, "type")
    assert pairs.classes[0, 1] == pairs.classes[1, 0] == pairs.classes[0, 0]
    assert len(set(pairs.classes[[0, 0, 2, 0, 3], [1, 2, 0, 3, 3]].tolist())) == 5
    rng = np.random.default_rng(0)
    scores, residuals = rng.normal(size=(5, pairs.size)), rng.normal(size=(5, 4, 4))
    expanded, reduced = np.empty((5, 4, 4)), np.empty((5, pairs.size))
    pairs.expand(scores, np.ones((4, 4)), expanded)
    pairs.reduce(residuals, reduced)
    np.testing.assert_allclose(expanded, scores[:, pairs.classes] + 1.0)
    assert ((expanded - 1.0) * residuals).sum() == pytest.approx((scores * reduced).sum())
    assert LabelPairs.of(labels, "label").size == 16
    assert (
        LabelPairs.of(("B-PER", "O", "B-LOC", "I-PER"), "type").size == 9
    )  # the last is no new type
    assert LabelPairs.of(("O", "B-O", "I-O"), "type").classes.tolist() == [
        [0, 1, 1], [2, 3, 3], [2, 3, 3],
    ]  # fmt: skip


# Losses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_gradients(name, loss):
    model = fitted(TEXTS[name], orderings="forward, backward").model_
    rng = np.random.default_rng(3)
    with Workers(1) as workers:
        own = objective(
            model, TRAIN, workers, loss, "forward, backward", l2=0.3, shares=[0.5, 0.75]
        )
        vector = rng.normal(size=own.size)
        _, gradient = own(vector)
        for place in rng.choice(own.size, 50, replace=False).tolist():
            step = np.zeros(own.size)
            step[place] = 1e-5
            slope = (own(vector + step)[0] - own(vector - step)[0]) / 2e-5
            assert gradient[place] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_training_apart_ends_where_the_sum_of_all_edges_is_smallest(name):
    estimator = fitted(TEXTS[name], tolerance=1e-12, pairs="all")
    with Workers(1) as workers:
        own = objective(estimator.model_, TRAIN, workers, CONDITIONAL, l2=0.1, observed=False)
        loss, gradient = own(own.pack(estimator.model_.edge_weights))
        assert np.abs(gradient).max() < 1e-3
        assert loss == pytest.approx(estimator.result_.loss, rel=1e-6)


@pytest.mark.parametrize("name", ["labels", "types", "both"])
def test_joint_training_lowers_its_loss(name):
    apart = fitted(TEXTS[name], tolerance=1e-12).model_
    joint = fitted(TEXTS[name], tolerance=1e-12, objective=MARGINAL)
    with Workers(1) as workers:
        own = objective(apart, TRAIN, workers, MARGINAL, l2=0.1)
        before, after = (own(own.pack(model.edge_weights))[0] for model in (apart, joint.model_))
    assert after < before - 0.01
    assert after == pytest.approx(joint.result_.loss, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_threads_change_no_bits(loss):
    many = Corpus.of(WORDS * 300, LABELS * 300, documents=[4, 3] * 300, scheme="none")
    model = fitted(TEXTS["both"], max_iterations=2).model_
    found = []
    for threads in (1, 2):
        with Workers(threads) as workers:
            own = objective(model, many, workers, loss, "forward, backward", l2=0.1)
            vector = np.random.default_rng(0).normal(size=own.size)
            value, gradient = own(vector)
            found.append((value, gradient.tobytes()))
            np.testing.assert_array_equal(own.pack(own.weights(vector)), vector)
    assert found[0] == found[1]


# Promises ----------------------------------------------------------------------------------------


def test_a_name_keeps_its_type_where_its_prefix_differs():
    """Tied by type, a person stays a person inside another name: any encoding can copy a type."""
    words = [["Ms", "Lee", "won"], ["Jo", "Lee", "Ash", "won"], ["in", "Bonn"], ["Old", "Bonn"]]
    labels = [
        ["O", "B-PER", "O"], ["B-PER", "I-PER", "I-PER", "O"], ["O", "B-LOC"], ["B-LOC", "I-LOC"],
    ]  # fmt: skip
    train = Corpus.of(words * 6, labels * 6, documents=[2] * 12, scheme="none")
    tied = MoPMEMM(
        "shape[-1]\nshape\nedge: shape\nedge: type & shape[-1]",
        solver="lbfgs", l2=0.05, encoding=None, orderings="forward",
    ).fit(train)  # fmt: skip
    weights = tied.model_.edge_models["same_word"].weights.edges
    pairs, labels = tied.model_.label_pairs, tied.model_.labels
    own = pairs.classes[labels.index("B-PER"), labels.index("I-PER")]
    other = pairs.classes[labels.index("B-PER"), labels.index("B-LOC")]
    assert own == pairs.classes[labels.index("I-PER"), labels.index("B-PER")] != other
    assert weights[:, own].max() > weights[:, other].max()


@pytest.mark.parametrize("mixing", ["uniform", "learned"])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_models_are_saved_and_loaded(name, mixing, tmp_path):
    estimator = fitted(TEXTS[name], mixing=mixing, folds=2, orderings="forward, backward")
    save(estimator, tmp_path / "m.skip")
    again = load(tmp_path / "m.skip").model
    with Workers(1) as workers:
        found, wanted = (
            model.marginals(model.scores(TEST, workers), workers)
            for model in (again, estimator.model_)
        )
    np.testing.assert_allclose(found, wanted, atol=1e-15)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_explained_shares_sum_to_the_probabilities(name):
    model = fitted(TEXTS[name]).model_
    with Workers(1) as workers:
        marginals = model.marginals(model.scores(TEST, workers), workers)
    pair = ("B-PER", "B-LOC")
    for token in range(TEST.n_tokens):
        found = explain_parents(model, TEST, token, labels=pair)
        sums = np.sum([parent.shares for parent in found.parents], axis=0)
        own = marginals[token, [model.labels.index(label) for label in pair]]
        np.testing.assert_allclose(sums, own, atol=1e-12)


def test_an_explanation_names_the_features_of_both_labels():
    found = explain_parents(fitted(TEXTS["labels"]).model_, TEST, 4, labels=("B-PER", "B-LOC"))
    assert "B-PER → · & word=Lee" in str(found)


class Sizes:
    """A display of training that keeps what it is told of each stage."""

    def __init__(self):
        self.by_stage = {}

    def begin(self, problem):
        self.by_stage[problem.stage] = problem

    def step(self, step, dev): ...

    def end(self, result): ...


@pytest.mark.parametrize("name", ["labels", "types", "both"])
def test_a_summary_has_the_features_of_both_labels(name):
    model, sizes = fitted(TEXTS[name]).model_, Sizes()
    for edge_type, own in model.summarise(top=2)["kinds"].items():
        table = model.edge_models[edge_type].weights.edges
        assert own["pair_features"] == len(table)
        if edge_type == "previous" and name != "both":
            assert own["pairs"] == []
            continue
        strongest = own["pairs"][0]
        assert abs(strongest["weight"]) == np.abs(table).max()
        row, column = np.argwhere(table == strongest["weight"])[0].tolist()
        if edge_type == "previous":
            names, kinds = model.features.names(transition=True), [*model.labels, "<start>"]
            places = [(before, after) for before in kinds for after in model.labels]
            end = "child"
        else:
            pairs = model.edge_models[edge_type].pair_features
            names, kinds = pairs.names(model.features.names()), list(model.labels)
            if name == "types":
                kinds = list(dict.fromkeys(label.split("-")[-1] for label in kinds))
            places = [(before, after) for before in kinds for after in kinds]
            end = pairs.ends[row]
        assert strongest["name"] == names[row]
        assert (strongest["previous"], strongest["label"]) == places[column]
        assert strongest["end"] == end
    how = {"solver": "lbfgs", "encoding": None, "orderings": "forward"}
    MoPMEMM(TEXTS[name], edges="previous, same_word", **how).fit(TRAIN, progress=sizes)
    size = sizes.by_stage["edges of type same_word"]
    assert size.features >= model.edge_models["same_word"].pair_features.n_features
    assert size.active > 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word\nedge: shape", "tokens have no feature 'shape'; add 'shape' as a line"),
        ("word\nedge: label & word\nedge: type & word", "labels in some lines and with types"),
        ("word\nedge: same(ngrams)", "not one string"),
        ("word\nedge: same(word & shape)", "compares one view of one token"),
        ("word\nedge: label[-1] & word", "wanted features after 'edge:'"),
        ("word\nedge:", "wanted features after 'edge:'"),
        ("word\nedge: label", "stands before them, once: write 'edge: label & *'"),
        ("word\nedge: word & label", "stands before them, once: write 'edge: label & word'"),
        ("word\nedge: label & label", "stands before them, once: write 'edge: label & *'"),
        ("word\nedge: type", "write 'edge: type & *', or if it is a column add 'type' as a line"),
        ("word\nedge: word & type", "write 'edge: type & word', or if it is a column add"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(TemplateError, match=re.escape(message)):
        Templates.parse(text)


@pytest.mark.parametrize("model", [CRF, SkipChainCRF])
def test_models_without_such_edges_refuse_them(model):
    with pytest.raises(ParameterError, match="use MoPMEMM"):
        model(BASE + "edge: label & word").fit(TRAIN)


@pytest.mark.parametrize("edges", ["same_word", "alone", "alone, same_word", "previous, alone"])
@pytest.mark.parametrize("loss", LOSSES)
def test_features_with_the_label_before_need_chains(edges, loss):
    """They were learnt by tokens that look at no other label, and then left out in tagging."""
    with pytest.raises(ParameterError, match="only the edges 'previous' give, got edges"):
        MoPMEMM(TEXTS["chain"], edges=edges, encoding=None, objective=loss).fit(TRAIN)
    MoPMEMM(BASE, edges=edges, encoding=None, objective=loss, max_iterations=2).fit(TRAIN)


def test_lines_that_are_all_left_out_are_not_taken_for_none():
    """Without any line, edges have all features of both ends: more than what was left out."""
    with pytest.raises(TemplateError, match="every line of edge features reads a column"):
        fitted(BASE + "edge: same(chunk?)")
    model = fitted(BASE + "edge: word\nedge: same(chunk?)").model_
    assert model.features.templates.text.endswith("edge: word")


@pytest.mark.parametrize("edges", ["previous", "alone", "previous, alone"])
def test_chains_have_no_features_of_edges(edges):
    with pytest.raises(ParameterError, match=f"the edges '{edges}' are nothing else"):
        MoPMEMM(BASE + "edge: label & word", edges=edges, encoding=None).fit(TRAIN)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("edge: *#x", "edge: *"),
        ("edge: *\t# x", "edge: *"),
        ("edge:label&word#x", "edge: label & word"),
        ("edge: same(word[-1])#)", "edge: same(word[-1])"),
        ('edge: match("a #b") # c', 'edge: match("a #b")'),
        ('edge: same(match("\\"#"))', 'edge: same(match("\\"#"))'),
    ],
)
def test_comments_end_lines_as_in_other_templates(line, wanted):
    (found,) = Templates.parse(f'word\nmatch("a #b")\n{line}').edge_templates
    assert str(found) == wanted


def test_a_column_that_is_missing_is_named_with_the_line_that_reads_it():
    with pytest.raises(TemplateError, match=r"'edge: label & same\(chunk\)' reads column 'chunk'"):
        fitted(BASE + "edge: label & same(chunk)")
    chunked = TRAIN.with_column("chunk", TRAIN.words)
    model = MoPMEMM(BASE + "edge: same(chunk)", edges="same_word", encoding=None).fit(chunked)
    with pytest.raises(TemplateError, match=r"column 'chunk' \('edge: same\(chunk\)'\)"):
        model.predict(TEST)


def test_text_is_read_again_as_it_was_written():
    for text in TEXTS.values():
        templates = Templates.parse(text)
        assert Templates.parse(templates.text) == templates
