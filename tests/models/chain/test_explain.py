"""An explanation adds up: to the log odds of two labels, and to nothing else."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

from skipchain import CRF, MEMM, Corpus, MaxEnt, Perceptron, SkipchainError, Tagger, cli, load, save
from skipchain.chains.dataset import Dataset
from skipchain.chains.decode import marginals
from skipchain.chains.scorer import Weights
from skipchain.features.templates import Templates
from skipchain.models.base.inputs import encode, fit_features
from skipchain.models.chain.explain import _contributions, explain
from skipchain.models.chain.model import ChainModel
from skipchain.parallel import Workers

TEMPLATES = "word[-1..1]\nsuffix(2)\nlabel[-1] & shortshape"


def corpus():
    words = [
        ["we", "met", "at", "Grace", "Road"],
        ["Grace", "met", "us"],
        ["Grace", "Kelly", "slept", "at", "home"],
        ["Road"],
    ]
    labels = [
        ["O", "O", "O", "LOC", "LOC"],
        ["PER", "O", "O"],
        ["PER", "PER", "O", "O", "O"],
        ["LOC"],
    ]
    return Corpus.of(words * 4, labels * 4, scheme="none")


ESTIMATORS = {
    "crf": lambda: CRF(TEMPLATES, solver="lbfgs"),
    "crf, dependent": lambda: CRF("word\nshortshape", solver="lbfgs", dependent=True),
    "memm": lambda: MEMM(TEMPLATES, solver="lbfgs"),
    "memm, dependent": lambda: MEMM("word\nshortshape", solver="lbfgs", dependent=True),
    "maxent": lambda: MaxEnt("word[-1..1]", solver="lbfgs"),
}


@pytest.fixture(scope="module", params=ESTIMATORS)
def model(request):
    return ESTIMATORS[request.param]().fit(corpus()).model_


def log_odds(model, sentence, at, pair):
    """By inference with the labels around given; before it only, where the model is local."""
    with Workers(1) as workers:
        path = model.label(sentence, workers)[0]
        forced = [None if k == at or (model.local and k > at) else y for k, y in enumerate(path)]
        found = marginals(model.scores(sentence, workers, forced), workers)[at]
    first, second = (model.labels.index(label) for label in pair)
    return np.log(found[first]) - np.log(found[second])


def test_totals_differ_by_the_log_odds(model):
    given = corpus()
    for chain in range(4):
        sentence = given[chain : chain + 1]
        for at in range(sentence.n_tokens):
            for pair in (("PER", "LOC"), ("LOC", "O")):
                found = explain(model, sentence, at, labels=pair)
                wanted = log_odds(model, sentence, at, pair)
                first, second = found.totals
                assert first - second == pytest.approx(wanted, abs=1e-8)
                sizes = [abs(part.difference) for part in found.contributions]
                assert sizes == sorted(sizes, reverse=True)
                assert all(any(part.scores) for part in found.contributions)


def test_the_example_of_the_slides():
    """What speaks for a place in "at Grace Road" is seen by name."""
    found = explain(ESTIMATORS["crf"]().fit(corpus()).model_, corpus()[:1], "Grace")
    assert (found.token, found.word, found.predicted) == (3, "Grace", "LOC")
    assert (found.previous, found.following) == ("O", "LOC")
    assert found.labels[0] == "LOC"
    assert found.probabilities[0] > 0.5 > found.probabilities[1]
    names = {part.name: part for part in found.contributions}
    assert names["word[-1]=at"].difference > 0
    assert names["O → ·"].kind == "labels"
    assert "O → · & label[-1] & shortshape=Xx" in names
    assert not found.local


def test_tokens_count_through_the_whole_input(model):
    whole = explain(model, corpus()[:3], 8)
    alone = explain(model, corpus()[2:3], 0)
    assert whole.word == alone.word == "Grace"
    assert whole.contributions == alone.contributions
    assert (whole.token, alone.token) == (8, 0)


def test_features_given_directly_with_values():
    X = [[{"a": 2.0}, {"b": 1.0, "a": 0.5}], [{"b": 1.0}, {"a": 1.0}]]
    y = [["p", "q"], ["q", "p"]]
    model = CRF(solver="lbfgs").fit(X, y).model_
    found = explain(model, X, 1)
    assert found.word is None
    assert any(part.name == "a × 0.5" for part in found.contributions)
    first, second = found.totals
    assert first - second == pytest.approx(log_odds(model, X[:1], 1, found.labels))
    with pytest.raises(SkipchainError, match="have no words"):
        explain(model, X, "a")


def path_score(weights, rows, path):
    """The score of one labelling, term by term."""
    size = weights.n_labels
    flat = rows.expanded()
    pairs = weights.edges.reshape(-1, size + 1, size)
    total = weights.start[path[0]] + weights.end[path[-1]]
    for t, label in enumerate(path):
        total += weights.state[flat.indices[flat.indptr[t] : flat.indptr[t + 1]], label].sum()
        before = path[t - 1] if t else size
        active = rows.edges.indices[rows.edges.indptr[t] : rows.edges.indptr[t + 1]]
        total += pairs[active, before, label].sum()
        if t:
            total += weights.transitions[before, label]
            earlier = path[t - 2] if t > 1 else size
            if weights.order == 2:
                total += weights.triples[earlier, before, label]
    return total


@pytest.mark.parametrize("order", [1, 2])
def test_contributions_are_all_that_a_label_changes(order):
    given = corpus()[:1]

    features, rows, _ = fit_features(given, Templates.parse(TEMPLATES), 1)
    random = np.random.default_rng(order)
    blank = Weights.zeros(features.n_features, features.n_edge_features, 3, order)
    weights = Weights(*(random.normal(size=part.shape) for part in blank.tables))
    model = ChainModel("crf", ("LOC", "O", "PER"), features, weights)
    data = Dataset(*encode(features, given))
    path = [1, 2, 0, 0, 1]
    for at in range(5):
        parts = list(_contributions(model, data, at, path, (0, 2)))
        found = sum(part.difference for part in parts)
        first, second = (
            path_score(weights, rows, [*path[:at], k, *path[at + 1 :]]) for k in (0, 2)
        )
        assert found == pytest.approx(first - second)


def test_labels_that_the_scheme_forbids_are_named():
    labels = [["B-PER", "I-PER", "O"]] * 5
    given = Corpus.of([["Ada", "Lee", "slept"]] * 5, labels, scheme="iob2")
    model = CRF("word", encoding=None, solver="lbfgs").fit(given).model_
    assert explain(model, given[:1], 0, labels=["B-PER", "I-PER"]).forbidden == ("I-PER",)
    # B-PER before I-PER needs no O between them, but O before I-PER is out
    assert explain(model, given[:1], 0, labels=["B-PER", "O"]).forbidden == ("O",)
    assert explain(model, given[:1], 2, labels=["B-PER", "O"]).forbidden == ()


@pytest.mark.parametrize(
    ("token", "labels", "message"),
    [
        (5, None, "no token 5; there are 5, counted from 0"),
        (-1, None, "no token -1"),
        ("Kelly", None, "no token 'Kelly'; there are 0:we 1:met"),
        (0, ["PER", "ORG"], "no label 'ORG'; it has LOC, O, PER"),
        (0, ["PER"], "two different labels"),
        (0, ["PER", "PER"], "two different labels"),
    ],
)
def test_mistakes_are_named(token, labels, message):
    model = ESTIMATORS["crf"]().fit(corpus()).model_
    with pytest.raises(SkipchainError, match=message):
        explain(model, corpus()[:1], token, labels=labels)


def test_more_mistakes():
    model = ESTIMATORS["crf"]().fit(corpus()).model_
    with pytest.raises(SkipchainError, match=r"occurs 3 times, as tokens 3, 5, 8"):
        explain(model, corpus()[:3], "Grace")
    with pytest.raises(SkipchainError, match="the input has none"):
        explain(model, Corpus.of([]), 0)
    single = CRF("word", solver="lbfgs").fit(Corpus.of([["a"]], [["x"]], scheme="none")).model_
    with pytest.raises(SkipchainError, match="only the label 'x'"):
        explain(single, Corpus.of([["a"]]), 0)


def test_a_tagger_explains_text():
    found = Tagger(ESTIMATORS["memm"]().fit(corpus()).model_).explain("We met. Grace slept.", 3)
    assert found.word == "Grace"
    assert found.local
    answer = json.loads(json.dumps(found.as_dict()))
    assert answer["difference"] == pytest.approx(
        sum(part["difference"] for part in answer["contributions"])
    )


# The command line ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("explain") / "m.skip"
    save(ESTIMATORS["crf"]().fit(corpus()), found)
    return found


@pytest.fixture
def run(monkeypatch, capfd):
    def call(*arguments, stdin=None):
        monkeypatch.setattr(sys, "argv", ["skipchain", "explain", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    return call


def test_the_command_shows_a_table(run, path):
    code, out, err = run(path, "--text", "we met at Grace Road", "--token", "Grace", "--top", 3)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "token 3, Grace: LOC, between O and LOC"
    assert lines[1].split()[0] == "LOC"
    assert len([line for line in lines if "more" in line]) == 1
    assert any(line.startswith("total") for line in lines)
    assert "log odds of the two labels given the labels around" in lines[-1]


def test_a_perceptron_has_scores_and_no_odds(run, tmp_path):
    save(Perceptron(TEMPLATES).fit(corpus()), tmp_path / "p.skip")
    _, out, _ = run(tmp_path / "p.skip", "--text", "we met at Grace Road", "--token", "Grace")
    assert "no probabilities" in out.splitlines()[-1]
    assert "odds" not in out
    assert not any(line.startswith("probability") for line in out.splitlines())


def test_the_command_answers_in_json(run, path):
    command = (path, "--text", "we met at Grace Road", "--token", 3, "--json")
    _, out, _ = run(*command, "--labels", "PER,LOC", "--top", 2)
    answer = json.loads(out)
    assert answer["labels"] == ["PER", "LOC"]
    assert answer["difference"] < 0
    assert len(answer["contributions"]) == 2
    found = load(path).explain("we met at Grace Road", 3, labels=["PER", "LOC"])
    assert answer["totals"] == pytest.approx(found.totals)


def test_the_command_reads_files(run, path, tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("we\nmet\n\nGrace\nmet\n1984\n")
    code, out, _ = run(path, "--file", file, "--sentence", 1, "--token", 0, "--columns", "word")
    assert code == 0
    assert "token 2 (token 0 of sentence 1), Grace: " in out
    arguments = ("--file", "-", "--from", "conll", "--columns", "word", "--token", "=1984")
    found = run(path, *arguments, stdin=file.read_text())[1]
    assert "token 4 (token 2 of sentence 1), 1984" in found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--text", "a b", "--token", 7), "no token 7; there are 2"),
        (("--text", "a b", "--token", "c"), "no token 'c'; there are 0:a 1:b"),
        (("--text", "a b", "--token", 0, "--labels", "PER,X"), "no label 'X'; it has LOC, O, PER"),
        (("--text", " ", "--token", 0), "--text is empty"),
        (("--token", 0), "give --text or --file"),
        (("--text", "a b", "--token", 0, "--sentence", 1), "no sentence 1; there are 1"),
    ],
)
def test_a_mistake_is_one_line(run, path, arguments, message):
    code, out, err = run(path, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err
