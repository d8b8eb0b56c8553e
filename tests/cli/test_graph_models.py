"""Linked labels on the command line: training in parts, warnings, explanations, all outputs."""

from __future__ import annotations

import json
import re
import sys

import pytest

from skipchain import cli, read
from skipchain.cli.progress import TrainingDisplay
from skipchain.datasets.harbour import harbour
from skipchain.learn.step import OptimisationResult, Step
from skipchain.models.base.progress import TrainingSize


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("linked")
    train, test = harbour().split(0.75)
    train.write(here / "train.conll")
    test.write(here / "test.conll")
    (here / "templates.txt").write_text("word[-1..1]\nshortshape\nsuffix(3)\n")
    with (here / "cut.jsonl").open("w") as file:
        for number, sentence in enumerate(test):
            record = {"tokens": sentence.words, "labels": sentence.labels, "document": number}
            file.write(json.dumps(record) + "\n")
    text = (here / "train.conll").read_text()
    (here / "endless.conll").write_text(re.sub(r"-DOCSTART-.*\n\n", "", text))
    return here


@pytest.fixture
def run(monkeypatch, capfd, folder):
    """Run a command line in this process: exit code, stdout, stderr."""

    def call(*arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "argv", ["skipchain", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        return left.value.code or 0, out, err

    return call


@pytest.fixture
def model(run, folder):
    """A model, made once."""
    if not (folder / "m.skip").exists():
        code, _, err = run(
            "train", "train.conll", "--model", "mop-memm", "--features", "templates.txt",
            "--set", "edges=previous, same_word(recent=2)", "--set", "orderings=forward, backward",
            "--solver", "lbfgs:max_iterations=25", "-o", "m.skip",
        )  # fmt: skip
        assert code == 0
        (folder / "train.log").write_text(err)
    return "m.skip"


def test_each_part_of_the_training_is_told(model, folder):
    log = (folder / "train.log").read_text()
    told = re.findall(r"^(training|trained) edges of type ([\w ]+):", log, re.MULTILINE)
    kinds = ["previous", "next", "same_word", "same_word later"]
    assert told == [(verb, kind) for kind in kinds for verb in ("training", "trained")]
    assert log.count("trained: loss ") == 1
    assert "wrote m.skip" in log
    assert "warning" not in log


def test_training_together_is_told(run):
    code, out, err = run(
        "train", "train.conll", "--model", "mop-memm", "--features", "templates.txt", "--dev",
        "test.conll", "--set", "objective=marginal", "--set", "orderings=forward",
        "--set", "max_iterations=3",
        "-o", "joint.skip", "--json",
    )  # fmt: skip
    assert code == 0
    assert "training all edges together: " in err
    assert "trained all edges together: 3 iterations" in err
    assert "trained: " not in err
    assert json.loads(out)["iterations"] == 3
    assert json.loads(out)["dev"] > 0


def test_a_display_begins_each_part_afresh(capfd):
    problem = TrainingSize(1, 1, 1, 1, 1, 1, 1, stage="edges of type previous")
    vector = harbour().sentences[:1].astype(float)
    with TrainingDisplay(1e-4, 10) as shown:
        shown.begin(problem)
        shown.step(Step(1, vector, 5.0, 0.1, planned=2), None)
        shown.end(OptimisationResult(vector, 4.0, 2, 2, "2 epochs"))
        shown.begin(problem)
        shown.step(Step(1, vector, 5.0, 0.1, 1.0, 0.5), None)
        shown.end(OptimisationResult(vector, 3.0, 7, 7, "interrupted"))
        shown.end(OptimisationResult(vector, 7.0, 9, 9, "interrupted"))
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("trained")]
    assert lines == [
        "trained edges of type previous: 2 epochs, loss 4.0",
        "trained edges of type previous: 7 iterations (interrupted), loss 3.0",
        "trained: loss 7.0 in all",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("--set", "edges=sideways"), "there is no edge rule 'sideways'"),
        (("--set", "edges=links"), "the corpus has none"),
        (("--set", "orderings=sideways"), "there is no ordering 'sideways'"),
        (("--set", "order=2"), "mop-memm has no setting 'order'; did you mean orderings?"),
        (("--set", "objective=joint"), "objective must be one of"),
        (("--set", "mixing=guessed"), "mixing must be one of"),
    ],
)
def test_a_mistake_is_one_line(run, settings, message):
    code, _, err = run(
        "train", "train.conll", "--model", "mop-memm", "-o", "no.skip", "-q", *settings
    )
    assert code == 2
    assert err.count("\n") == 1
    assert message in err


def test_edges_are_no_setting_of_a_chain(run):
    _, _, err = run("train", "train.conll", "--model", "crf:edges=previous", "-o", "no.skip")
    assert "crf has no setting 'edges'" in err


# Documents ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("tag", "m.skip", "cut.jsonl", "-o", "out.conll", "--overwrite"), "is one sentence"),
        (("eval", "m.skip", "cut.jsonl"), "is one sentence"),
        (("eval", "m.skip", "endless.conll"), "document 0 has 5,928 tokens"),
    ],
)
def test_sentences_fed_one_by_one_are_warned_of(run, model, command, told):
    code, _, err = run(*command)
    assert code == 0
    how, line = err.splitlines()
    assert how.startswith(f"{command[2]}: ")
    assert line.startswith("skipchain: warning: ")
    assert told in line
    assert "-DOCSTART- lines (CoNLL), or document ids (JSON lines)" in line


def test_training_on_sentences_is_warned_of_unless_quiet(run):
    command = (
        "train", "cut.jsonl", "--model", "mop-memm", "--features", "templates.txt",
        "--solver", "lbfgs:max_iterations=1", "-o", "cut.skip", "--overwrite",
    )  # fmt: skip
    assert "skipchain: warning: every document is one sentence" in run(*command)[2]
    assert run(*command, "-q")[2] == ""


# Looking inside ----------------------------------------------------------------------------------


def test_explain_shows_parents_and_their_features(run, model):
    code, out, err = run("explain", model, "--file", "test.conll", "--sentence", 2, "--token",
                         "Anselm", "--top", 3)  # fmt: skip
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("token 34 (token 0 of sentence 2), Anselm: ")
    assert lines[1].split()[:5] == ["from", "edge", "its", "label", "weight"]
    assert any(re.match(r"21 Anselm +same_word +\S+ 0\.\d+ +0\.250", line) for line in lines)
    assert sum(line.startswith("What ") for line in lines) == 3
    assert any("(parent)" in line for line in lines)
    assert "sum to the probabilities" in out


def test_explain_answers_in_json(run, model):
    _, out, _ = run("explain", model, "--file", "test.conll", "--token", 34, "--top", 2, "--json")
    answer = json.loads(out)
    assert answer["word"] == "Anselm"
    for place in (0, 1):
        shares = sum(parent["shares"][place] for parent in answer["parents"])
        assert shares == pytest.approx(answer["probabilities"][place], abs=1e-12)
    assert all(len(parent["contributions"]) <= 2 for parent in answer["parents"])
    code, _, err = run("explain", model, "--file", "test.conll", "--sentence", 2, "--token", "Bo")
    assert code == 2
    assert "no token 'Bo'; there are 0:Anselm" in err


def test_inspect_shows_rules_and_kinds(run, model):
    code, out, _ = run("inspect", model, "--label", "S-PER", "--label", "O", "--top", 2)
    assert code == 0
    assert re.search(r"^same_word\(.*recent=2.*\)  \d+ pairs in training$", out, re.MULTILINE)
    assert "orderings: forward, backward" in out
    for kind in ("previous", "next", "same_word", "same_word later"):
        assert f"Edges of type {kind}: " in out
        assert f"{kind}: features of S-PER" in out
    answer = json.loads(run("inspect", model, "--label", "O", "--json")[1])
    assert set(answer["kinds"]["same_word"]["labels"]) == {"O"}


def test_inspect_of_many_orderings_and_a_gate(run):
    run("train", "train.conll", "--model", "mop-memm", "--features", "templates.txt", "--set",
        "mixing=learned", "--set", "folds=2", "--set", "orderings=random(7)", "--solver",
        "lbfgs:max_iterations=1", "-o", "gate.skip", "--overwrite", "-q")  # fmt: skip
    out = run("inspect", "gate.skip", "--label", "O", "--top", 1)[1]
    assert "random 4 and 2 more" in out
    assert "gate, by which its parents count: kind " in out


def test_inspect_shows_features_of_label_pairs(run, folder):
    (folder / "pairs.txt").write_text("word\nlabel[-1] & word\nedge: label & word\n")
    run("train", "train.conll", "--model", "mop-memm:orderings=forward", "--features", "pairs.txt",
        "--solver", "lbfgs", "-o", "pairs.skip", "--overwrite", "-q")  # fmt: skip
    out = run("inspect", "pairs.skip", "--label", "O", "--top", 2)[1]
    assert re.search(r"Edges of type same_word: 0 features, \d+ with two labels", out)
    assert "same_word: features of O" not in out
    for kind in ("previous", "same_word"):
        assert re.search(rf"^{kind}: features of label pairs\n.* → .*word=", out, re.MULTILINE)


# Outputs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["conll", "jsonl", "html", "inline", "brat"])
def test_every_format_is_written(run, model, folder, to):
    target = "brat" if to == "brat" else f"out.{to}"
    code, _, err = run(
        "tag", model, "test.conll", "--format", to, "-o", target, "--overwrite", "--quiet"
    )
    assert (code, err) == (0, "")
    assert (folder / target).exists()


def test_marginals_of_labels_are_added(run, model):
    out = run("tag", model, "test.conll", "--marginals")[1]
    assert re.search(r"^Helena \S+ 0\.\d{4}$", out, re.MULTILINE)
    first = json.loads(
        run("tag", model, "test.conll", "--marginals", "--format", "jsonl")[1].splitlines()[1]
    )
    assert sum(first["marginals"][0].values()) == pytest.approx(1.0, abs=1e-4)
    assert all("confidence" not in span for span in first["spans"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--nbest", 2), "no n-best sequences: only chains have"),
        (("--force",), "cannot keep labels that are given"),
        (("--marginals", "--format", "html"), "single labels are, not whole spans"),
        (("--decoder", "viterbi"), "no decoder 'viterbi'; it has legal, posterior"),
        (("--decoder", "beam", "--beam", 3), "no decoder 'beam'"),
    ],
)
def test_what_is_not_there_is_one_line(run, model, asked, message):
    code, out, err = run("tag", model, "test.conll", *asked, "--quiet")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_decoders_of_linked_labels(run, model):
    legal, plain = (
        run("tag", model, "test.conll", *how)[1] for how in (("--decoder", "legal"), ())
    )
    assert legal == plain != ""
    assert run("eval", model, "test.conll", "--decoder", "posterior")[0] == 0


def test_the_best_labelling_of_linked_labels(run):
    code, _, _ = run(
        "train", "train.conll", "--model", "skip-chain-crf", "--features", "templates.txt",
        "--epochs", 3, "-o", "skips.skip",
    )  # fmt: skip
    assert code == 0
    code, out, err = run("tag", "skips.skip", "test.conll", "--decoder", "viterbi")
    assert code == 0
    assert "doubtful" not in err  # all messages converge
    assert len(out.splitlines()) > 100
    assert run("eval", "skips.skip", "test.conll", "--decoder", "viterbi")[0] == 0


def test_links_are_kept(run, folder):
    records = [
        {"tokens": ["Ada", "Lee"], "labels": ["A", "B"], "links": [[0, 2]], "document": "x"},
        {"tokens": ["Bo", "Cy"], "labels": ["B", "A"], "links": [[2, 1], [3, 1]], "document": "x"},
        {"tokens": ["Di", "Ed"], "labels": ["A", "A"], "links": [[1, 0]], "document": "y"},
    ]
    (folder / "links.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    code, _, err = run("train", "links.jsonl", "--model", "mop-memm", "--features", "templates.txt",
                       "--set", "edges=links", "-o", "links.skip", "--overwrite", "-q")  # fmt: skip
    assert (code, err) == (0, "")
    out = run("tag", "links.skip", "links.jsonl", "--format", "jsonl")[1]
    found = [json.loads(line) for line in out.splitlines()]
    assert [own["links"] for own in found] == [own["links"] for own in records]
    assert [own["document"] for own in found] == ["x", "x", "y"]
    (folder / "again.jsonl").write_text(out)
    given, again = read(folder / "links.jsonl"), read(folder / "again.jsonl")
    assert again.links.tolist() == given.links.tolist()


# Comparing ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_entries_with_edges(run):
    spec = "mop-memm:edges=previous+same_word(recent=2,lower=true),orderings=forward,epochs=1"
    code, out, err = run(
        "compare", "train.conll", "--test", "test.conll", "--features", "templates.txt",
        "--models", f"memm:epochs=1,{spec}", "--decoders", "legal,posterior", "--json",
    )  # fmt: skip
    assert code == 0
    answer = json.loads(out)
    first, second = answer["results"]
    assert [first["model"], second["model"]] == ["memm:epochs=1", spec]
    assert [own["decoder"] for own in second["decoders"]] == ["legal", "posterior"]
    assert "warning" not in err


@pytest.mark.slow
def test_comparisons_warn_in_one_line_unless_quiet(run):
    command = (
        "compare", "cut.jsonl", "--test", "cut.jsonl", "--features", "templates.txt", "--models",
        "mop-memm:epochs=1",
    )  # fmt: skip
    told = [line for line in run(*command)[2].splitlines() if "one sentence" in line]
    assert len(set(told)) == 1
    assert told[0].startswith("skipchain: warning: every document is one sentence")
    assert run(*command, "-q")[2] == ""
