"""The RBM-CRF on the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from skipchain import Corpus
from skipchain.cli.app import app

WORDS = [["Ada", "Lee", "went", "to", "York"], ["Bo", "slept"], ["In", "York"]] * 6
LABELS = [["B-PER", "I-PER", "O", "O", "B-LOC"], ["B-PER", "O"], ["O", "B-LOC"]] * 6


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "train.conll"
    Corpus.of(WORDS, LABELS, scheme="iob2").write(path, "conll")
    return path


def train(data, name, *options):
    model = data.parent / name
    found = run("train", data, "-o", model, "--features", data.parent / "features", *options, "-q")
    return model, found


@pytest.fixture(autouse=True)
def features(tmp_path):
    (tmp_path / "features").write_text("word\nshape\n")


def rbm(data, *options, name="m.skip"):
    return train(data, name, "--model", "rbm-crf:groups=2:0..1", "--epochs", 5, *options)


def test_train_tag_and_inspect(data, tmp_path):
    model, found = rbm(
        data, "--set", "steps=1, 2:2", "--set", "restarts=2", "--set", "borders=marked"
    )
    assert found.exit_code == 0, found.output
    told = json.loads(run("inspect", model, "--json").stdout)
    assert told["kind"] == "rbm-crf"
    assert told["groups"][0]["group"] == "2:0..1"
    shown = run("inspect", model, "--top", 2, "--label", "O").stdout
    assert "Hidden unit 2 of 2:0..1" in shown
    assert "<outside>" in shown
    assert run("tag", model, data).exit_code == 0


def test_label_features_beside_a_model_file_or_a_kind_of_model(data):
    crf, _ = train(data, "crf.skip", "--model", "crf")
    for observation in (crf, "memm"):
        name = f"{observation}".rpartition("/")[2] + ".rbm.skip"
        own = ("--set", f"observation={observation}", "--set", "gamma=0.5", "--set", "folds=2")
        model, found = rbm(data, *own, name=name)
        assert found.exit_code == 0, found.output
        assert "to the power of 0.5" in run("inspect", model).stdout


def test_a_model_file_can_be_compared_with(data):
    crf, _ = train(data, "crf.skip", "--epochs", 1)
    spec = f"rbm-crf:observation={crf},groups=1:0..1,epochs=1"
    found = run("compare", data, "--test", data, "--features", data.parent / "features",
                "--models", spec, "--json", "-q")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["results"][0]["model"] == spec


def test_experts_by_name_and_in_a_file(data):
    hrf, _ = train(data, "hrf.skip", "--model", "hrf:states=2,restarts=1,em=2")
    model, found = rbm(data, "--set", f"experts={hrf}; iohmm:1", "--set", "observation=none")
    assert found.exit_code == 0, found.output
    told = json.loads(run("inspect", model, "--json").stdout)
    assert [(own["kind"], len(own["states"])) for own in told["experts"]] == [
        ("hrf", 2),
        ("iohmm", 1),
    ]
    shown = run("inspect", model).stdout
    assert "Expert 1: hrf" in shown
    assert "State 2: " in shown
    assert run("tag", model, data).exit_code == 0
    for experts, said in (("hrf:0", "at least one hidden state"), (model, "got rbm-crf")):
        _, found = rbm(data, "--set", f"experts={experts}", name="other.skip")
        assert said in str(found.exception)


def test_plots(data, tmp_path):
    pytest.importorskip("matplotlib")
    model, _ = rbm(data)
    found = run("inspect", model, "--plot", tmp_path)
    assert found.exit_code == 0, found.output
    assert (tmp_path / "m-group-1.png").read_bytes().startswith(b"\x89PNG")
    other, _ = train(data, "crf.skip", "--model", "crf")
    found = run("inspect", other, "--plot", tmp_path)
    assert "--plot draws hidden units, and a crf has none" in str(found.exception)


def test_an_explanation_is_refused(data):
    model, _ = rbm(data)
    found = run("explain", model, "--text", "Ada slept", "--token", "Ada")
    assert "the model (rbm-crf) have no explanation by feature" in str(found.exception)
