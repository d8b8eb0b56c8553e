"""``skipchain train --auto``: settings tried on dev, or on folds, within a budget of time."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from skipchain import load, read
from skipchain.cli.searching import command
from skipchain.datasets.harbour import harbour
from skipchain.selection import search
from skipchain.selection.steps import SearchStep

STEPS = [SearchStep({"solver": "lbfgs"}), SearchStep({"model": "crf:order=2"})]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training and development data of the harbour."""
    here = tmp_path_factory.mktemp("auto")
    train, dev = harbour().split(0.75)
    train.write(here / "train.conll")
    dev.write(here / "dev.conll")
    return here / "train.conll", here / "dev.conll"


@pytest.fixture
def few_steps(monkeypatch):
    """Two quick steps instead of those that suit the data."""
    monkeypatch.setattr(search, "steps_for", lambda traits: STEPS)


def test_the_best_of_what_was_tried_on_dev_is_written(run, files, few_steps, tmp_path):
    train, dev = files
    model = tmp_path / "m.skip"
    code, out, err = run(
        "train", train, "--dev", dev, "--auto", "--budget", "5m", "-o", model, "--features", "word"
    )
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert "trying settings for at most 5 min 0 s, the default first" in lines
    head = next(k for k, line in enumerate(lines) if line.split()[:2] == ["score", "change"])
    rows = lines[head + 1 : head + 4]
    assert rows[0].split()[-1] == "default"
    scores = [float(row.split()[0]) for row in rows]
    assert any(line.startswith("kept ") and f"{max(scores):.2f}" in line for line in lines)
    assert f"dev F1 {max(scores):.2f}" in lines[-1]
    assert load(model).predict(read(dev)).corpus.labelled


def test_the_command_that_is_named_gives_the_same_model(run, tmp_path):
    pattern, model, again = (tmp_path / name for name in ("p.conll", "m.skip", "again.skip"))
    sentence = "".join(f"x {label}\n" for label in "AABBAABB")  # two labels back decide
    pattern.write_text(f"{sentence}\n" * 30)
    how = ("--features", "word", "--scheme", "none", "--budget=5m", "--auto", "--overwrite")
    _, out, err = run("train", "--json", pattern, "--dev", pattern, "-o", model, *how)
    found = json.loads(out)["auto"]
    assert found["kept"] == "--model crf:order=2"
    told = next(line for line in err.splitlines() if line.startswith("the same without the search"))
    words = shlex.split(told.partition(": skipchain ")[2])
    words[words.index(str(model))] = str(again)
    assert run(*words)[0] == 0
    assert again.read_bytes() == model.read_bytes()


def test_json_has_the_table(run, files, few_steps, tmp_path):
    model = tmp_path / "m.skip"
    train, dev = files
    code, out, err = run(
        "train", train, "--dev", dev, "--auto", "-o", model, "--features", "word", "--json", "-q"
    )
    answer = json.loads(out)
    found = answer["auto"]
    assert (code, err) == (0, "")
    assert found["measure"] == "f1"
    assert found["budget"] == 300
    assert [row["options"] for row in found["tried"]][:2] == ["", "--solver lbfgs"]
    assert answer["dev"] == max(row["score"] for row in found["tried"])
    assert answer["dev"] >= found["tried"][0]["score"]


def test_without_dev_folds_decide(run, files, few_steps, tmp_path):
    model = tmp_path / "m.skip"
    _, out, err = run("train", files[0], "--auto", "-o", model, "--features", "word", "--json")
    assert json.loads(out)["auto"]["folds"] == 3
    assert " on 3 folds " in err
    assert model.exists()


def test_names_in_documents_are_tried_with_what_documents_say(run, files, tmp_path):
    train, dev = files
    how = ("--auto", "--budget", "1s", "--json", "-q", "--threads", "1")
    code, out, _ = run("train", train, "--dev", dev, *how, "-o", tmp_path / "m.skip")
    tried = [row["options"] for row in json.loads(out)["auto"]["tried"]]
    assert code == 0
    assert tried[0] == ""
    assert all("--recipe ner-knowledge" in row or "--consistency" in row for row in tried[1:3])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--budget", "5m"), "give --auto, too"),
        (("--auto", "--budget", "soon"), "30s, 5m or 1h, got 'soon'"),
        (("--auto", "--start", "m.skip"), "--start belongs to one of them"),
    ],
)
def test_options_that_make_no_sense_are_refused(run, files, tmp_path, options, told):
    model = tmp_path / "m.skip"
    code, _, err = run("train", files[0], *options, "-o", model)
    assert code == 2
    assert told in err
    assert not model.exists()


def test_ctrl_c_keeps_the_best_so_far(files, tmp_path, interruptible):
    train, dev = files
    model = tmp_path / "m.skip"
    child = subprocess.Popen(
        [
            sys.executable, "-m", "skipchain", "train", train, "--dev", dev, "--auto", "--budget",
            "1m", "--threads", "1", "-o", model,
        ],
        stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    told = []
    for line in child.stderr:
        told.append(line)
        if line.rstrip().endswith("  default"):
            time.sleep(0.2)
            child.send_signal(signal.SIGINT)
            break
    told += child.stderr.readlines()
    assert child.wait() == 0, told
    assert any(line.startswith("kept ") and "interrupted" in line for line in told), told
    assert model.exists()


def test_who_trains_with_defaults_on_names_in_documents_is_told_what_may_help(run, files, tmp_path):
    how = ("-o", tmp_path / "m.skip", "--overwrite", "--epochs", "1")
    told = "names recur in these documents: --consistency or"
    assert told in run("train", files[0], *how)[2]
    assert told not in run("train", files[0], *how, "--quiet")[2]
    assert told not in run("train", files[0], *how, "--features", "word")[2]


def test_the_named_command_is_without_the_search():
    words = ["train", "my file", "--budget=1h", "--auto", "-o", "m"]
    assert command(words, "--l2 1") == "skipchain train 'my file' -o m --l2 1"
    assert command(["train", "a", "--auto"], "") == "skipchain train a"
