"""``skipchain induce`` from labelled file to template file, and on to ``train``."""

from __future__ import annotations

import json

import pytest

LINES = {(a, b): f"{a}\t{b}\t{'SAME' if a == b else 'OTHER'}" for a in "xy" for b in "xy"}


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "pairs.conll"
    rows = [LINES[pair] for pair in sorted(LINES) * 15]
    file.write_text("\n\n".join("\n".join(rows[k : k + 3]) for k in range(0, len(rows), 3)) + "\n")
    return str(file)


ATOMS = "word\nother"
HOW = ("--scheme", "none", "--columns", "word,other,label", "--threads", "1")
MODEL = ("--model", "maxent:solver=lbfgs", "--rounds", "1", "--shrinkage", "1")


@pytest.fixture
def induced(run, data, tmp_path):
    output = tmp_path / "templates.txt"
    given = ("induce", data, "--from", ATOMS, "-o", str(output), *HOW, *MODEL)
    return run(*given, "--no-prune"), output


def test_what_is_written_trains_a_model(run, data, induced, tmp_path):
    (code, _, err), output = induced
    assert code == 0, err
    assert "  + word & other  (gain" in err
    assert "wrote" in err.splitlines()[-1]
    text = output.read_text()
    assert text.startswith("# Induced by skipchain")
    assert text.endswith("word\nother\n\nword & other\n")
    model = str(tmp_path / "m.skip")
    assert run("train", data, "--features", str(output), "-o", model, *HOW, "--epochs", "8")[0] == 0
    code, out, _ = run("eval", model, data, "--columns", "word,other,label", "--json")
    assert code == 0
    assert json.loads(out)["token_accuracy"] == 100.0


def test_the_answer_as_json(run, data, tmp_path):
    output = str(tmp_path / "t.txt")
    given = ("--from", ATOMS, "-o", output, *HOW, *MODEL, "--dev", data, "--quiet", "--json")
    code, out, err = run("induce", data, *given)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["held_out"] == "dev"
    assert answer["rounds"][1]["candidates"][0]["template"] == "word & other"
    assert answer["output"] == output


def test_templates_may_go_to_stdout(run, data):
    code, out, _ = run("induce", data, "--from", ATOMS, "-o", "-", *HOW, *MODEL, "-q")
    assert code == 0
    assert "word & other\n" in out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--from", "missing.txt"), "there is no template file missing.txt"),
        (("--from", "word &"), "wanted"),
        (("--from", "word", "--model", "hmm"), "CRF or MaxEnt, got HMM"),
        (("--from", "word", "--model", "crf:nothing=1"), "has no setting 'nothing'"),
        (("--from", "word", "--dev", "missing.conll"), "missing.conll"),
        (("--from", "word", "--folds", "100000"), "there are 20; give fewer"),
    ],
)
def test_mistakes_are_one_line(run, data, tmp_path, more, said):
    output = tmp_path / "t.txt"
    code, _, err = run("induce", data, "-o", str(output), "--columns", "word,other,label", *more)
    assert code == 2
    assert said in err.splitlines()[-1]
    assert not output.exists()


def test_a_file_that_exists_is_kept(run, data, induced):
    (_, _, _), output = induced
    before = output.read_text()
    code, _, err = run("induce", data, "--from", ATOMS, "-o", str(output), *HOW, *MODEL)
    assert (code, output.read_text()) == (2, before)
    assert "--overwrite" in err


def test_json_and_templates_cannot_share_stdout(run, data):
    code, _, err = run("induce", data, "--from", ATOMS, "-o", "-", "--json", *HOW)
    assert code == 2
    assert "give -o a file" in err
