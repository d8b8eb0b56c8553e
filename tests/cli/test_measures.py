"""Scores are called what they are, and nothing is made up where there is nothing to count."""

from __future__ import annotations

import json

import pytest

from skipchain import CRF, Corpus, Perceptron, save
from skipchain.metrics import evaluate

WORDS = [["Ada", "met", "Lee"], ["Bo", "left", "."]] * 6
LABELS = [["B-PER", "O", "B-PER"], ["B-PER", "O", "O"]] * 6
TAGS = [["NNP", "VBD", "NNP"], ["NNP", "VBD", "."]] * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("measures")
    spans = Corpus.of(WORDS, LABELS)
    spans.write(here / "spans.conll")
    Corpus.of(WORDS, TAGS).write(here / "tags.conll")
    save(CRF("word", epochs=3).fit(spans), here / "crf.skip")
    save(Perceptron("word").fit(spans), here / "perceptron.skip")
    return here


def test_the_accuracy_of_tags_is_not_called_f1(run, folder):
    file = folder / "tags.conll"
    answer = json.loads(run("eval", file, file, "--json")[1])
    assert answer["measure"] == "accuracy"
    assert (answer["f1"], answer["precision"], answer["recall"]) == (None, None, None)
    assert answer["token_accuracy"] == 100.0
    out = run("eval", file, file)[1]
    assert not [line for line in out.splitlines() if line.startswith("all ")]
    assert "token accuracy     100.00" in out
    file = folder / "spans.conll"
    answer = json.loads(run("eval", file, file, "--json")[1])
    assert (answer["measure"], answer["f1"]) == ("f1", 100.0)


def test_training_says_what_the_score_on_dev_is(run, folder, tmp_path):
    for name, measure, shown in (("spans", "f1", "dev F1"), ("tags", "accuracy", "dev accuracy")):
        file = folder / f"{name}.conll"
        how = ("train", file, "--dev", file, "--epochs", "1", "-o", tmp_path / "m.skip")
        out = run(*how, "--overwrite", "--json", "-q")[1]
        assert json.loads(out)["measure"] == measure
        assert shown in run(*how, "--overwrite")[2]


def test_there_is_no_consistency_where_no_name_recurs(run, folder):
    alone = Corpus.of([["Ada", "left"]], [["B-PER", "O"]])
    assert evaluate(alone, alone).as_dict()["consistency"] is None
    assert "consistency                (no name recurs in a document)" in str(
        evaluate(alone, alone)
    )
    file = folder / "spans.conll"
    assert json.loads(run("eval", file, file, "--json")[1])["consistency"] == 100.0


def test_a_label_is_shown_with_all_its_transitions(run, folder):
    out = run("inspect", folder / "crf.skip", "--label", "S-PER")[1]
    table = out[out.index("Transitions") :].splitlines()
    assert [line.split()[0] for line in table[2:6]] == ["<start>", "O", "S-PER", "<end>"]
    assert table[-2].split() == ["O", "S-PER"]
    assert table[-1].split()[0] == "S-PER"


def test_a_perceptron_says_what_its_probabilities_are(run, folder):
    how = ("tag", folder / "perceptron.skip", "--text", "Ada left", "--marginals")
    code, out, err = run(*how)
    assert code == 0
    assert out.startswith("Ada B-PER ")
    assert "its scores, normalised: good for ranking" in err
    assert run(*how, "--quiet")[2] == ""
    assert run("tag", folder / "crf.skip", "--text", "Ada left", "--marginals")[2] == ""
