"""The command line as a user meets it: answers on stdout, one clear line for each mistake."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from skipchain import read
from skipchain.datasets.harbour import harbour

TEMPLATES = "word[-1..1]\nshortshape\nsuffix(3)\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Train and test files, and a model, made once by the command line itself."""
    here = tmp_path_factory.mktemp("cli")
    train, test = harbour().split(0.75)
    train.write(here / "train.conll")
    test.write(here / "test.conll")
    (here / "templates.txt").write_text(TEMPLATES)
    command = [
        sys.executable, "-m", "skipchain", "train", "train.conll", "--dev", "test.conll",
        "--features", "templates.txt", "-o", "model.skip",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    (here / "train.log").write_text(done.stderr)
    return here


def assert_one_line(answer, *wanted):
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("skipchain: ")
    for text in wanted:
        assert text in err


# train -------------------------------------------------------------------------------------------


def test_training_tells_size_progress_and_result(folder):
    log = (folder / "train.log").read_text()
    assert "36 documents" in log
    assert "scheme iob2" in log
    assert "MB of memory" in log
    assert "epoch 1 of " in log
    assert re.search(r"trained: \d+ epochs, loss ", log)
    assert "wrote model.skip" in log
    assert "dev " in log


def test_train_answers_in_json(run, folder, tmp_path):
    code, out, err = run(
        "train", folder / "train.conll", "-o", tmp_path / "m.skip", "--features", "word",
        "--set", "max_iterations=5", "--json", "--quiet",
    )  # fmt: skip
    answer = json.loads(out)
    assert code == 0
    assert err == ""
    assert answer["iterations"] == 5
    assert answer["weights"] > 0


def test_train_takes_several_files_patterns_and_a_warm_start(run, folder, tmp_path):
    (tmp_path / "patterns").write_text("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n")
    code, _, err = run(
        "train", folder / "train.conll", folder / "test.conll", "-o", tmp_path / "m.skip",
        "--features", tmp_path / "patterns", "--start", folder / "model.skip",
        "--solver", "lbfgs:l1=0.1,max_iterations=10",
    )  # fmt: skip
    assert code == 0, err
    assert "trained: 10 iterations, loss " in err
    code, out, _ = run("inspect", tmp_path / "m.skip", "--json")
    assert json.loads(out)["templates"] == "word\nword[-1] & word"


def test_train_by_newton(run, folder, tmp_path):
    train, out = folder / "train.conll", tmp_path / "m.skip"
    newton = ("--solver", "newton", "--features", "shape", "--set", "min_count=2", "-q")
    code, _, err = run("train", train, "-o", out, "--model", "memm", *newton)
    assert code == 0, err
    code, found, _ = run("inspect", out, "--json")
    assert json.loads(found)["training"]["stopped"] == "the gradient vanished"
    assert_one_line(run("train", train, "-o", tmp_path / "n.skip", *newton), "use 'lbfgs' for CRF")


@pytest.mark.parametrize("solver", ["cg", "gd:max_iterations=50", "gis:tolerance=1e-3"])
def test_train_by_other_solvers(run, folder, tmp_path, solver):
    train, out = folder / "train.conll", tmp_path / "m.skip"
    given = (
        "--model",
        "memm:l2=0",
        "--features",
        "shape",
        "--solver",
        solver,
        "--dev",
        train,
        "-q",
    )
    code, _, err = run("train", train, "-o", out, *given)
    assert code == 0, err
    code, found, _ = run("inspect", out, "--json")
    assert json.loads(found)["training"]["iterations"] > 1
    told = run("train", train, "-o", tmp_path / "n.skip", "--solver", "gis", "-q")
    assert_one_line(told, "solver='gis' is for MaxEnt and MEMM; use 'lbfgs' for CRF")


def test_train_counts_an_hmm(run, folder, tmp_path):
    train = folder / "train.conll"
    code, _, err = run(
        "train", train, "-o", tmp_path / "m.skip", "--model", "hmm:smoothing=0.5",
        "--dev", folder / "test.conll",
    )  # fmt: skip
    assert code == 0, err
    assert "counted" in err
    code, out, _ = run("inspect", tmp_path / "m.skip", "--json")
    assert (json.loads(out)["kind"], json.loads(out)["templates"]) == ("hmm", "word")
    many = ("--model", "hmm", "--features", "ner", "-q")
    assert_one_line(run("train", train, "-o", tmp_path / "n.skip", *many), "one template")
    features = ("--set", "emissions=features")
    assert run("train", train, "-o", tmp_path / "n.skip", *many, *features)[0] == 0


def test_train_names_mistakes(run, folder, tmp_path):
    train = folder / "train.conll"
    out = tmp_path / "m.skip"
    assert_one_line(run("train", tmp_path / "no.conll", "-o", out), "no.conll", "no such file")
    assert_one_line(run("train", train, "-o", out, "--model", "svm"), "'svm'", "crf")
    assert_one_line(run("train", train, "-o", out, "--set", "patience=3", "-q"), "needs dev")
    assert_one_line(run("train", train, "-o", out, "--l2", "-1", "-q"), "l2")
    assert_one_line(run("train", train, "-o", out, "--learn-as", "xyz", "-q"), "xyz", "iob2")
    assert_one_line(run("train", train, "-o", out, "--scheme", "xyz"), "xyz", "iob2")
    assert_one_line(run("train", train, "-o", out, "--features", "lemma", "-q"), "lemma", "word")
    assert_one_line(run("train", train, "-o", out, "--features", "word[", "-q"), "word[", "ner")
    assert_one_line(run("train", train, "-o", out, "--columns", "word"), "columns")
    assert_one_line(run("train", train, "-o", tmp_path / "no" / "m.skip"), "no folder")
    assert_one_line(run("train", train, "-o", folder / "model.skip"), "exists", "--overwrite")
    (tmp_path / "plain.txt").write_text("Ada slept.")
    assert_one_line(run("train", tmp_path / "plain.txt", "-o", out, "-q"), "no labels", "--columns")
    assert not out.exists()


def test_train_goes_on_without_a_tolerance_and_refuses_bad_targets_at_once(run, folder, tmp_path):
    train = folder / "train.conll"
    code, _, err = run(
        "train", train, "-o", tmp_path / "m.skip", "--features", "word",
        "--solver", "lbfgs:tolerance=0,max_iterations=40",
    )  # fmt: skip
    assert code == 0, err
    assert_one_line(run("train", train, "-o", tmp_path / "m.skip.gz"), "not packed")
    assert_one_line(run("train", train, "-o", "-"), "needs a name")
    assert_one_line(
        run("train", train, "-o", tmp_path / "n.skip", "--features", "no.txt", "-q"), "no.txt"
    )


def test_usage_errors_leave_with_2(run):
    code, _, err = run("train")
    assert code == 2
    assert "Missing argument" in err


# tag ---------------------------------------------------------------------------------------------


def test_tag_from_a_file_from_stdin_and_from_text(run, folder):
    code, from_file, _ = run("tag", folder / "model.skip", folder / "test.conll")
    assert code == 0
    _, from_stdin, _ = run("tag", folder / "model.skip", stdin=(folder / "test.conll").read_text())
    assert from_stdin == from_file
    _, out, _ = run("tag", folder / "model.skip", "--text", "Mayor Aske met Tomas Brandt.")
    assert "Tomas B-PER\nBrandt I-PER\n. O\n" in out
    for text in ("Tomas Brandt slept.", "Tomas Brandt slept.\n"):
        _, out, _ = run("tag", folder / "model.skip", "--text", text, "--format", "inline")
        assert out == "<PER>Tomas Brandt</PER> slept.\n"


def test_decoders_are_chosen_at_tag_time(run, folder):
    model, test = folder / "model.skip", folder / "test.conll"
    _, viterbi, _ = run("tag", model, test)
    found = {}
    for width in (1, 100):
        code, found[width], err = run("tag", model, test, "--decoder", "beam", "--beam", width)
        assert code == 0, err
    assert found[100] == viterbi
    assert run("tag", model, test, "--decoder", "greedy")[1] == found[1] != viterbi
    assert run("tag", model, test, "--decoder", "beam")[0] == 0
    _, narrow, _ = run("eval", model, test, "--decoder", "beam", "--beam", 1, "--json")
    _, whole, _ = run("eval", model, test, "--json")
    assert json.loads(narrow)["token_accuracy"] != json.loads(whole)["token_accuracy"]


def test_every_output_format_can_be_read_back(run, folder, tmp_path):
    labels = None
    for name in ("out.conll", "out.jsonl", "out.sgml", "out.conll.gz"):
        code, _, err = run(
            "tag", folder / "model.skip", folder / "test.conll", "-o", tmp_path / name
        )
        assert code == 0, err
        corpus = read(tmp_path / name)
        spans = [(a, b, kind) for a, b, kind in corpus.spans()]
        assert corpus.n_tokens == 2033 or name == "out.sgml"
        if name != "out.sgml":
            labels = labels or spans
            assert spans == labels
    code, _, err = run(
        "tag",
        folder / "model.skip",
        folder / "test.conll",
        "--format",
        "brat",
        "-o",
        tmp_path / "b",
    )
    assert code == 0, err
    assert len(read(tmp_path / "b", "brat").spans()) == len(labels)


def test_the_ending_decides_whatever_its_spelling(run, folder, tmp_path):
    model, test = folder / "model.skip", folder / "test.conll"
    for name in ("a.html", "a.htm", "a.HTM"):
        assert run("tag", model, test, "-o", tmp_path / name)[0] == 0
        assert (tmp_path / name).read_text() == (tmp_path / "a.html").read_text()
    for name, start in (("a.ndjson", '{"tokens"'), ("a.sgm", "<"), ("a.iob2", "-DOCSTART-")):
        assert run("tag", model, test, "-o", tmp_path / name)[0] == 0
        assert start in (tmp_path / name).read_text()[:400]
    for name in ("a.xyz", "a", "a.txt"):
        assert_one_line(run("tag", model, test, "-o", tmp_path / name), "in which format?", "--to")
        assert run("tag", model, test, "-o", tmp_path / name, "--to", "conll")[0] == 0


def test_html_shows_spans_with_their_confidence(run, folder):
    _, out, _ = run(
        "tag", folder / "model.skip", "--text", "Tomas Brandt slept.", "--format", "html"
    )
    assert "<mark" in out
    assert "confidence" in out


def test_marginals_and_nbest_in_columns_and_json(run, folder):
    text = "Tomas Brandt slept. Ostley won."
    _, out, _ = run("tag", folder / "model.skip", "--text", text, "--marginals", "--nbest", 3)
    lines = out.splitlines()
    assert lines[0].startswith("# probabilities of labellings: 0.")
    word, label, probability, second, third = lines[1].split()
    assert (word, label) == ("Tomas", "B-PER")
    assert 0 < float(probability) <= 1
    assert second
    assert third
    _, out, _ = run(
        "tag",
        folder / "model.skip",
        "--text",
        text,
        "--marginals",
        "--nbest",
        3,
        "--format",
        "jsonl",
    )
    first = json.loads(out.splitlines()[0])
    assert first["tokens"] == ["Tomas", "Brandt", "slept", "."]
    assert sum(first["marginals"][0].values()) == pytest.approx(1.0, abs=1e-4)
    assert first["nbest"][0]["labels"] == first["labels"]
    assert first["spans"][0]["label"] == "PER"
    assert 0 < first["spans"][0]["confidence"] <= 1
    assert first["starts"] == [0, 6, 13, 18]


def test_forced_labels_are_kept(run, folder):
    given = "Tomas B-LOC\nBrandt _\nslept O\n"
    code, out, err = run("tag", folder / "model.skip", "--force", "--from", "conll", stdin=given)
    assert code == 0, err
    assert out.splitlines()[0] == "Tomas B-LOC"
    assert_one_line(
        run("tag", folder / "model.skip", "--force", "-q", "--from", "conll", stdin="a X\nb O\n"),
        "'X'",
    )
    assert_one_line(
        run("tag", folder / "model.skip", "--force", "-q", "--from=conll", stdin="a O\nb I-LOC\n"),
        "'I-LOC' given for token 1 contradict",
    )  # fmt: skip
    assert_one_line(run("tag", folder / "model.skip", "--force", "--text", "Ada"), "labels")


def test_tag_names_mistakes(run, folder, tmp_path):
    model, test = folder / "model.skip", folder / "test.conll"
    assert_one_line(run("tag", tmp_path / "no.skip", test), "no.skip", "no such file")
    assert_one_line(run("tag", test, test), "not a skipchain model")
    assert_one_line(run("tag", model, test, "--format", "pdf"), "'pdf'", "conll")
    assert_one_line(run("tag", model, test, "--nbest", "-1"), "--nbest")
    assert_one_line(run("tag", model, test, "--nbest", 2, "--format", "html"), "--nbest", "jsonl")
    assert_one_line(run("tag", model, test, "--decoder", "magic"), "'magic'", "viterbi", "beam")
    assert_one_line(run("tag", model, test, "--decoder", "beam", "--beam", 0), "at least 1", "0")
    assert_one_line(run("tag", model, test, "--beam", 5), "--decoder beam", "viterbi")
    assert_one_line(run("eval", model, test, "--beam", 5), "--decoder beam", "viterbi")
    assert_one_line(run("tag", model, test, "-o", test), "exists", "--overwrite")
    assert_one_line(run("tag", model, "--from", "conll", stdin=""), "empty")
    assert_one_line(run("tag", model, "--from", "text", stdin=b"caf\xe9"), "UTF-8", "0xe9")
    assert_one_line(run("tag", model, "--from", "text", stdin="a\0b"), "NUL")
    assert_one_line(run("tag", model, "--from", "conll", stdin="a b\nc\n"), "stdin:2", "1 column")
    assert_one_line(run("tag", model, test, "--threads", 0), "threads")
    assert_one_line(run("tag", model, test, "--text", "Ada"), "not both")
    assert_one_line(run("tag", model, test, "--marginals", "--format", "inline"), "--marginals")
    assert_one_line(
        run("tag", model, test, "--format", "brat", "--quiet"), "two files", "name a folder"
    )


# eval, inspect, convert, data, demo --------------------------------------------------------------


def test_eval_of_a_model_has_the_promised_form(run, folder):
    code, out, _ = run("eval", folder / "model.skip", folder / "test.conll", "--json")
    answer = json.loads(out)
    assert code == 0
    assert set(answer) == {
        "measure", "precision", "recall", "f1", "token_accuracy", "sequence_accuracy",
        "consistency", "by_type", "tokens", "seconds", "mean_sequence_accuracy",
        "label_accuracy", "partial",
    }  # fmt: skip
    assert set(answer["partial"]) == {"strict", "exact", "partial", "type"}
    assert answer["partial"]["strict"]["f1"] == answer["f1"]
    assert answer["label_accuracy"]["O"] <= 100
    assert set(answer["by_type"]) == {"LOC", "MISC", "ORG", "PER"}
    assert answer["tokens"] == 2033
    assert 50 < answer["f1"] < 100


def test_eval_of_predictions_equals_eval_of_the_model(run, folder, tmp_path):
    run("tag", folder / "model.skip", folder / "test.conll", "-o", tmp_path / "p.conll")
    _, by_file, _ = run("eval", folder / "test.conll", tmp_path / "p.conll", "--json")
    _, by_model, _ = run("eval", folder / "model.skip", folder / "test.conll", "--json")
    a, b = json.loads(by_file), json.loads(by_model)
    a.pop("seconds"), b.pop("seconds")
    assert a == b


def test_eval_prints_a_table_with_intervals_and_confusion(run, folder):
    code, out, _ = run(
        "eval", folder / "model.skip", folder / "test.conll", "--intervals", "--confusion"
    )
    assert code == 0
    for text in ("precision", "PER", "token accuracy", "consistency", "B-PER", "95"):
        assert text in out


GOLD_AND_FOUND = ("Ada B-PER\nLee I-PER\nsaw O\nRome B-LOC\n", "Ada B-PER\nLee O\nsaw O\nRome O\n")


@pytest.fixture
def two_files(tmp_path):
    paths = tmp_path / "gold.conll", tmp_path / "found.conll"
    for path, text in zip(paths, GOLD_AND_FOUND, strict=True):
        path.write_text(text)
    return paths


def test_eval_lists_mistakes(run, two_files, tmp_path):
    code, out, _ = run("eval", *two_files, "--errors")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["0", "PER", "Ada", "Lee", "PER", "Ada", "[Ada", "Lee]", "saw", "Rome"] in lines
    assert ["0", "LOC", "Rome", "–", "Ada", "Lee", "saw", "[Rome]"] in lines
    answer = json.loads(run("eval", *two_files, "--errors", "--json")[1])
    assert answer["error_counts"]["boundary"] == answer["error_counts"]["missed"] == 1
    assert [own["kind"] for own in answer["errors"]] == ["boundary", "missed"]
    assert answer["errors"][1]["gold"]["text"] == "Rome"
    assert answer["mean_sequence_accuracy"] == 50.0
    for name, start in (("m.html", "<!DOCTYPE"), ("m.jsonl", '{"kind"'), ("m.txt", "2 mistakes")):
        code, out, _ = run("eval", *two_files, "--errors", "-o", tmp_path / name)
        assert code == 0
        assert "boundary" not in out
        assert (tmp_path / name).read_text().startswith(start)
    assert_one_line(run("eval", *two_files, "--errors", "-o", tmp_path / "m.txt"), "--overwrite")
    assert_one_line(run("eval", *two_files, "--errors", "-o", tmp_path / "m.conll"), ".html")
    assert_one_line(run("eval", *two_files, "-o", tmp_path / "n.txt"), "--errors")
    assert_one_line(run("eval", *two_files, "--limit", 3), "--errors")


def test_eval_says_how_many_mistakes_are_not_shown(run, tmp_path):
    gold, found = tmp_path / "gold.conll", tmp_path / "found.conll"
    gold.write_text("Ada B-PER\n\n" * 12)
    found.write_text("Ada O\n\n" * 12)
    assert "… and 2 more; --limit 0 lists all" in run("eval", gold, found, "--errors")[1]
    assert "… and 9 more" in run("eval", gold, found, "--errors", "--limit", 3)[1]
    assert "more" not in run("eval", gold, found, "--errors", "--limit", 0)[1]
    listed = json.loads(run("eval", gold, found, "--errors", "--json", "--limit", 3)[1])
    assert (len(listed["errors"]), listed["error_counts"]["missed"]) == (3, 12)
    assert len(json.loads(run("eval", gold, found, "--errors", "--json")[1])["errors"]) == 12


def test_eval_shows_labels_and_partial_credit(run, two_files):
    _, out, _ = run("eval", *two_files, "--labels", "--partial")
    lines = [line.split() for line in out.splitlines()]
    assert ["B-LOC", "75.00", "0.00", "0.00", "0.00", "1", "0", "0"] in lines
    assert ["partial", "50.00", "25.00", "33.33", "0", "0", "1", "1", "0"] in lines


def test_eval_names_mistakes(run, folder, tmp_path):
    (tmp_path / "short.conll").write_text("Ada B-PER\n")
    assert_one_line(run("eval", folder / "test.conll", tmp_path / "short.conll", "-q"), "sentence")
    (tmp_path / "plain.txt").write_text("Ada slept.")
    assert_one_line(run("eval", folder / "model.skip", tmp_path / "plain.txt"), "no labels")
    gold = folder / "test.conll"
    assert_one_line(run("eval", gold, gold, "--decoder", "greedy"), "--decoder", "test.conll")
    assert_one_line(run("eval", gold, gold, "--decoder", "beam", "--beam", 2), "--decoder")


@pytest.mark.parametrize("command", ["tag", "eval"])
def test_a_bad_decoder_is_refused_before_anything_is_read(run, folder, command):
    model = folder / "model.skip"
    assert_one_line(
        run(command, model, "no.conll", "--decoder", "magic"), "'magic'", "viterbi", "greedy"
    )
    assert_one_line(run(command, model, "no.conll", "--decoder", "beam", "--beam", 0), "at least 1")


def test_inspect_shows_features_and_transitions(run, folder):
    code, out, _ = run("inspect", folder / "model.skip", "--top", 3, "--label", "B-PER")
    assert code == 0
    for text in ("Features of B-PER", "Transitions", "<start>", "Templates", "shortshape"):
        assert text in out
    _, out, _ = run("inspect", folder / "model.skip", "--json", "--top", 2)
    answer = json.loads(out)
    assert len(answer["labels"]["O"]["features"]) == 2
    assert answer["size"]["features"] > 0
    assert_one_line(run("inspect", folder / "model.skip", "--label", "X"), "'X'", "B-PER")


def test_inspect_cuts_transitions_that_are_too_wide(run, folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = run("inspect", folder / "model.skip", "--top", 1)
    table = out[out.index("Transitions") :].splitlines()[1:]
    assert max(map(len, table)) <= 60
    assert "…" not in "".join(table)
    assert len([line for line in table if line.startswith("<end>")]) > 1


def test_convert_between_formats_and_schemes(run, folder, tmp_path):
    code, _, err = run(
        "convert", folder / "test.conll", tmp_path / "t.jsonl", "--to-scheme", "bioes"
    )
    assert code == 0, err
    corpus = read(tmp_path / "t.jsonl")
    assert corpus.scheme == "bioes"
    assert corpus.spans() == read(folder / "test.conll").spans()
    code, out, _ = run("convert", folder / "test.conll", "-", "--to", "conll", "-q")
    assert out == (folder / "test.conll").read_text()


def test_convert_repairs_only_when_told_and_says_what(run, tmp_path):
    (tmp_path / "bad.conll").write_text("Ada I-PER\nslept O\nBo B-PER\n")
    how = ("--scheme", "iob2", "--to-scheme", "bioes")
    assert_one_line(
        run("convert", tmp_path / "bad.conll", tmp_path / "o.conll", "-q", *how), "I-PER"
    )
    code, _, err = run("convert", tmp_path / "bad.conll", tmp_path / "o.conll", "--repair", *how)
    assert code == 0, err
    assert ": 1 label breaks iob2 and is repaired (3 tokens): line 1 'I-PER' is now 'B-PER'" in err
    assert read(tmp_path / "o.conll").labels.tolist() == ["S-PER", "O", "S-PER"]
    (tmp_path / "pos.conll").write_text("Ada NN\nslept VB\n")
    assert_one_line(
        run("convert", tmp_path / "pos.conll", tmp_path / "p.conll", "--to-scheme", "io", "-q"),
        "scheme",
    )


def test_warnings_are_one_line(run, tmp_path):
    (tmp_path / "x.txt").write_text("Ada slept.")
    (tmp_path / "x.ann").write_text("T1\tPER 0 3\tAda\nR1\tsees Arg1:T1 Arg2:T1\n")
    code, out, err = run("convert", tmp_path / "x.ann", "-", "--to", "conll", "-q")
    assert code == 0
    assert "Ada B-PER\n" in out
    assert err.startswith("skipchain: warning: ")
    assert err.count("\n") == 1


def test_data_lists_what_is_there(run, monkeypatch, tmp_path):
    monkeypatch.setenv("SKIPCHAIN_DATA", str(tmp_path))
    code, out, _ = run("data", "conll2003", "--json")
    assert code == 0
    assert [entry["state"] for entry in json.loads(out)] == ["missing"] * 3
    (tmp_path / "wikigold").mkdir()
    (tmp_path / "wikigold" / "wikigold.conll.txt.gz").write_bytes(b"\x1f\x8bnonsense")
    code, out, _ = run("data", "wikigold")
    assert code == 1
    assert "unreadable" in out
    assert_one_line(run("data", "nothing"), "'nothing'", "conll2003")
    monkeypatch.setenv("SKIPCHAIN_DATA", str(tmp_path / "no"))
    assert_one_line(run("data"), "not a folder")


@pytest.mark.data("conll2003", "conll2000", "wikigold", "wnut17", "ud-ewt")
def test_the_data_sets_hold_what_is_expected(run):
    code, out, _ = run("data", "conll2003", "conll2000", "wikigold", "wnut17", "ud-ewt", "--json")
    assert code == 0, out
    assert {entry["state"] for entry in json.loads(out)} == {"ok"}


def test_demo_writes_a_model_and_a_page(run, tmp_path):
    code, out, _ = run("demo", "-o", tmp_path / "demo")
    assert code == 0
    for text in ("Train", "Score", "Try next", "PER"):
        assert text in out
    assert (tmp_path / "demo" / "harbour.skip").is_file()
    assert "</html>" in (tmp_path / "demo" / "harbour.html").read_text()


def test_quiet_tables_say_nothing(run, tmp_path):
    line = ("reproduce", "labelbias", "--quick", "-o", tmp_path, "--overwrite")
    code, _, err = run(*line, "-q")
    assert (code, err) == (0, "")
    assert (tmp_path / "labelbias.md").is_file()


def test_demo_replaces_its_own_files_only(run, tmp_path):
    (tmp_path / "harbour.html").write_text("remember the milk")
    code, out, err = run("demo", "-o", tmp_path)
    assert (code, out) == (2, "")
    assert "harbour.html exists already, and this command has not written it" in err
    assert os.listdir(tmp_path) == ["harbour.html"]
    assert run("demo", "-o", tmp_path, "--overwrite")[0] == 0
    assert run("demo", "-o", tmp_path)[0] == 0


@pytest.mark.parametrize("name", ["comparison.json", "comparison.md", "comparison-results.png"])
def test_compare_replaces_its_own_files_only(run, tmp_path, name):
    (tmp_path / name).write_text("remember the milk")
    code, out, err = run("compare", "no.conll", "--test", "no.conll", "-o", tmp_path)
    assert (code, out) == (2, "")
    assert f"{name} exists already, and this command has not written it" in err
    _, _, err = run("compare", "no.conll", "--test", "no.conll", "-o", tmp_path, "--overwrite")
    assert "no such file" in err


def test_a_comparison_goes_on_in_its_folder(run, tmp_path):
    train, test = harbour().split(0.75)
    train.write(tmp_path / "train.conll")
    test.write(tmp_path / "test.conll")
    line = ("compare", tmp_path / "train.conll", "--test", tmp_path / "test.conll",
            "--models", "hmm", "--features", "word", "-o", tmp_path / "out")  # fmt: skip
    for _ in range(2):
        code, _, err = run(*line)
        assert code == 0, err
    assert "done before" in err


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("tag MODEL DATA --to conll -o - >&-", "cannot write stdout: it is closed"),
        ("tag MODEL DATA --to conll -o - <&- >&-", "cannot write stdout: it is closed"),
        ("convert DATA - --to jsonl -q >&-", "cannot write stdout: it is closed"),
        ("tag MODEL - <&-", "stdin: it is closed"),
        ("train - --from conll -q -o new.skip <&-", "stdin: it is closed"),
        ("convert - new.jsonl --from conll <&-", "stdin: it is closed"),
    ],
)
def test_a_closed_stream_is_one_line(folder, tmp_path, line, told):
    data = tmp_path / "a.conll"
    harbour()[:3].write(data)
    line = line.replace("MODEL", str(folder / "model.skip")).replace("DATA", str(data))
    command = f"{sys.executable} -m skipchain {line}"
    done = subprocess.run(
        command, shell=True, check=False, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 2, done.stderr
    *_, last = done.stderr.splitlines()
    assert told in last
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == ["a.conll"]


@pytest.mark.skipif(os.name != "posix", reason="needs a shell of POSIX")
def test_a_report_on_a_closed_stdout_is_lost_in_silence(folder):
    command = f"{sys.executable} -m skipchain inspect {folder / 'model.skip'} >&-"
    done = subprocess.run(command, shell=True, check=False, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_and_help(run):
    from skipchain import __version__

    assert run("--version")[1].startswith(f"skipchain {__version__}\n")
    code, out, _ = run("train", "--help")
    assert code == 0
    assert "--features" in out


# The process -------------------------------------------------------------------------------------


def test_a_closed_pipe_is_no_error(folder):
    done = subprocess.run(
        f"{sys.executable} -m skipchain tag model.skip train.conll | head -1",
        shell=True, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.stdout.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_line(folder):
    done = subprocess.run(
        f"{sys.executable} -m skipchain tag model.skip train.conll > /dev/full",
        shell=True, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_training_saves_what_was_learnt(folder, tmp_path):
    """A display that is interrupted at the third line, as by Ctrl-C in a terminal."""
    code = f"""
import os, signal, sys
from skipchain import cli
from skipchain.cli.progress import TrainingDisplay
step = TrainingDisplay.step
def interrupted(self, seen, dev):
    step(self, seen, dev)
    if seen.iteration == 3:
        os.kill(os.getpid(), signal.SIGINT)
TrainingDisplay.step = interrupted
sys.argv = ["skipchain", "train", {str(folder / "train.conll")!r}, "--features", "word",
            "-o", {str(tmp_path / "m.skip")!r}]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "interrupted" in done.stderr
    assert (tmp_path / "m.skip").is_file()


UD = "".join(
    f"1\t{a}\t_\tDET\tDT\t_\t0\t_\t_\t_\n2\t{b}\t_\tNOUN\t{tag}\t_\t0\t_\t_\t_\n\n"
    for a, b, tag in (("the", "dog", "NN"), ("a", "cat", "NN"), ("the", "cats", "NNS")) * 3
)


def test_parts_of_speech_with_a_dictionary(run, tmp_path):
    (tmp_path / "train.conllu").write_text(UD)
    train = ("train", tmp_path / "train.conllu", "--features", "pos", "--model", "crf:order=2")
    code, _, err = run(*train, "--set", "dictionary=2", "-o", tmp_path / "u.skip")
    assert code == 0, err
    code, out, err = run("eval", tmp_path / "u.skip", tmp_path / "train.conllu", "--json")
    assert code == 0, err
    assert json.loads(out)["token_accuracy"] == 100
    code, _, err = run(*train, "--label", "xpos", "-o", tmp_path / "x.skip", "--quiet")
    assert code == 0, err
    code, out, _ = run("tag", tmp_path / "x.skip", "--text", "the cats")
    assert [line.split()[1] for line in out.splitlines() if line] == ["DT", "NNS"]
    test = ("--test", tmp_path / "train.conllu", "--models", "hmm", "--features", "pos", "--json")
    for label, measured in (("upos", 2), ("xpos", 3)):
        code, out, err = run("compare", tmp_path / "train.conllu", *test, "--label", label)
        assert code == 0, err
        (found,) = json.loads(out)["results"]
        assert found["parameters"] == found["features"] * measured + measured**2 + 2 * measured
    assert_one_line(
        run(*train, "--set", "dictionary=0", "-o", tmp_path / "y.skip", "-q"), "dictionary"
    )
    assert_one_line(run(*train, "--label", "pos", "-o", tmp_path / "y.skip", "-q"), "xpos")


def test_a_long_history_is_searched_with_a_beam_unless_told(run, tmp_path):
    data, model = tmp_path / "train.conllu", tmp_path / "m.skip"
    # 17 labels have more than 4,096 runs of three
    others = "".join(f"1\tw{k}\t_\tP{k}\tP\t_\t0\t_\t_\t_\n\n" for k in range(15)) * 3
    data.write_text(UD + others)
    settings = ("--model", "memm:order=3", "--features", "pos", "--quiet")
    assert run("train", data, *settings, "-o", model)[0] == 0
    code, out, err = run("tag", model, "--text", "the cats")
    assert code == 0, err
    assert [line.split()[1] for line in out.splitlines() if line] == ["DET", "NOUN"]
    code, out, err = run("eval", model, data, "--json")
    assert code == 0, err
    assert json.loads(out)["token_accuracy"] == 100
    assert_one_line(run("tag", model, "--text", "a", "--decoder", "viterbi"), "beam, greedy")
    assert_one_line(run("tag", model, "--text", "a", "--marginals"), "no viterbi, marginals")


# stdout ------------------------------------------------------------------------------------------


def run_in_subprocess(*arguments, stdout=subprocess.PIPE, **variables):
    """Run a command line in a process of its own, with other variables around it."""
    return subprocess.run(
        [sys.executable, "-m", "skipchain", *map(str, arguments)],
        stdout=stdout, stderr=subprocess.PIPE, check=False, env={**os.environ, **variables},
    )  # fmt: skip


def test_an_encoding_without_arrows_is_no_mistake(folder):
    model = folder / "model.skip"
    why = ("explain", model, "--text", "Zoë slept .", "--token", 0)
    shown = run_in_subprocess(*why, PYTHONIOENCODING="ascii")
    assert shown.returncode == 0, shown.stderr
    assert rb"Zo\xeb" in shown.stdout
    assert rb"\u2192" in shown.stdout
    answer = run_in_subprocess(*why, "--json", PYTHONIOENCODING="ascii")
    assert json.loads(answer.stdout)["word"] == "Zoë"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_stdout_is_one_line(folder, unbuffered):
    for command in (("inspect", folder / "model.skip"), ("reproduce", "--json"), ("--help",)):
        with open("/dev/full", "w") as full:
            done = run_in_subprocess(*command, stdout=full, PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == 2
        assert done.stderr == b"skipchain: cannot write stdout: No space left on device\n"
