"""Labels that break their scheme, and labels without prefixes, as a user meets them."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from skipchain import load, read
from skipchain.datasets.harbour import harbour
from skipchain.errors import BrokenSchemeReadError

QUICK = ("--features", "word", "--set", "epochs=2")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A large file of names with one odd label, and a small one with many."""
    here = tmp_path_factory.mktemp("my names")
    train, test = harbour().split(0.75)
    train.write(here / "train.conll")
    test.write(here / "test.conll")
    lines = (here / "train.conll").read_text().split("\n")
    odd = next(k for k, line in enumerate(lines) if line.endswith(" B-PER"))
    lines[odd] = lines[odd].replace(" B-PER", " I-PER")
    (here / "one odd.conll").write_text("\n".join(lines))
    text = (here / "train.conll").read_text()
    (here / "many odd.conll").write_text(text.replace(" B-PER", " I-PER"))
    return here


@pytest.fixture
def addresses(tmp_path):
    """Addresses whose labels have no prefixes."""
    streets = ["Main Street", "Long Lane", "High Street", "North End Road"]
    cities = ["Ostley", "Port Merrow", "Sand Bay"]
    lines = []
    for number in range(40):
        street, city = streets[number % 4].split(), cities[number % 3].split()
        lines += [f"{number} number", *(f"{w} street" for w in street)]
        lines += [*(f"{w} city" for w in city), ""]
    (tmp_path / "addresses.txt").write_text("\n".join(lines))
    return tmp_path


def test_one_odd_label_does_not_turn_off_learning_of_spans(run, names, tmp_path):
    code, _, err = run("train", names / "one odd.conll", "-o", tmp_path / "m.skip", *QUICK)
    assert code == 0
    told = re.search(r"one odd.conll: 1 label breaks iob2 and is repaired \(([\d,]+) tokens\)", err)
    assert told
    assert re.search(r"line \d+ 'I-PER' is now 'B-PER'; --no-repair", err)
    model = load(tmp_path / "m.skip").model
    assert (model.scheme, model.encoding) == ("iob2", "bioes")


def test_many_odd_labels_name_a_command_that_works_when_pasted(run, names, tmp_path, monkeypatch):
    monkeypatch.chdir(names)
    code, out, err = run("train", "many odd.conll", "-o", tmp_path / "m.skip", *QUICK)
    assert (code, out) == (2, "")
    assert re.search(r"many odd.conll:\d+: \d+ of [\d,]+ labels break iob2: token \d+ ", err)
    command = shlex.split(err[err.rindex("skipchain convert") :])
    assert command[1:] == ["convert", "many odd.conll", "many odd.repaired.conll", "--repair"]
    assert run(*command[1:])[0] == 0
    assert read("many odd.repaired.conll") == read("many odd.conll", repair=True)
    assert run("train", "many odd.repaired.conll", "-o", tmp_path / "m.skip", *QUICK)[0] == 0
    assert run("train", "many odd.conll", "--repair", "-o", tmp_path / "n.skip", *QUICK)[0] == 0


def test_the_pasted_command_reads_the_file_as_it_was_read(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "1 caf\xe9 O x\n2 Ada I-PER x\n3 Bo B-PER x\n"
    (tmp_path / "names of guests").write_bytes(text.encode("latin-1"))
    how = ("--columns", "_,word,label,_", "--charset", "latin-1", "--from", "conll")
    _, _, err = run("train", "names of guests", "-o", "m.skip", "--scheme", "iob2", *how)
    command = shlex.split(err[err.rindex("skipchain convert") :])
    code, _, err = run(*command[1:])
    assert code == 0, err
    assert read("names of guests.repaired.conll").labels.tolist() == ["O", "B-PER", "B-PER"]


def test_every_command_that_reads_labels_can_repair_them(run, names, tmp_path, monkeypatch):
    monkeypatch.chdir(names)
    bad, model = "many odd.conll", tmp_path / "m.skip"
    assert run("train", "train.conll", "-o", model, *QUICK)[0] == 0
    commands = [
        ("train", bad, "-o", tmp_path / "n.skip", "--overwrite", *QUICK),
        ("train", "train.conll", "--dev", bad, "-o", tmp_path / "n.skip", "--overwrite", *QUICK),
        ("eval", model, bad),
        ("convert", bad, tmp_path / "n.conll", "--overwrite"),
        ("compare", bad, "--test", bad, "--models", "hmm", "--features", "word"),
        ("induce", bad, "--from", "word", "-o", tmp_path / "t", "--overwrite", "--rounds", "1",
         "--model", "maxent:epochs=1", "-q"),
        ("states", bad, "--states", "1", "--folds", "2", "--features", "word", "-q",
         "--set", "iterations=1"),
    ]  # fmt: skip
    for command in commands[:5]:
        code, _, err = run(*command)
        assert code == 2, command
        assert "--repair" in err
        code, _, err = run(*command, "--repair")
        assert code == 0, (command, err)
    for name in ("induce", "states", "tag", "explain"):
        assert "--repair" in run(name, "--help")[1]
    # what labels are is not asked where none are needed
    for command in (
        ("tag", model, bad, "-o", tmp_path / "o.jsonl"),
        ("tag", model, bad, "-o", tmp_path / "o.conll"),
        ("explain", model, "--file", bad, "--token", "0"),
    ):
        code, _, err = run(*command)
        assert code == 0
        assert "repair" not in err


def test_no_repair_leaves_labels_as_they_are(run, names, tmp_path):
    target = tmp_path / "same.conll"
    assert run("convert", names / "many odd.conll", target, "--no-repair")[0] == 0
    assert target.read_text() == (names / "many odd.conll").read_text()
    corpus = read(names / "many odd.conll", repair=False)
    assert corpus.scheme == "iob2"
    assert len(corpus.spans()) == len(read(names / "train.conll").spans())
    told = ("train", names / "many odd.conll", "--no-repair", "-o", tmp_path / "m.skip", *QUICK)
    code, _, err = run(*told)
    assert code == 2
    assert "repair them when reading (--repair, repair=True), or learn them as they are" in err
    command = re.search(r"(--learn-as none .*)[)]$", err)[1].split()
    assert run(*told, *command)[0] == 0


def test_python_repairs_too(names):
    with pytest.warns(UserWarning, match="1 label breaks iob2 and is repaired"):
        corpus = read(names / "one odd.conll")
    assert corpus == read(names / "train.conll")
    with pytest.raises(BrokenSchemeReadError, match="repair=True"):
        read(names / "many odd.conll")
    with pytest.warns(UserWarning, match="labels break iob2 and are repaired"):
        corpus = read(names / "many odd.conll", repair=True)
    assert corpus == read(names / "train.conll")


def test_predictions_are_compared_as_they_are(run, names):
    told = ("eval", names / "train.conll", names / "many odd.conll", "--json")
    code, out, _ = run(*told)
    answer = json.loads(out)
    assert code == 0
    assert answer["f1"] == 100.0
    assert answer["token_accuracy"] < 100.0
    assert json.loads(run(*told, "--strict")[1])["f1"] < 100.0
    assert json.loads(run(*told, "--strict", "--repair")[1])["f1"] == 100.0


def test_streets_and_cities_without_prefixes_are_spans(run, addresses):
    file, model = addresses / "addresses.txt", addresses / "m.skip"
    code, _, err = run("train", file, "--dev", file, "-o", model, "--set", "epochs=5")
    assert code == 0, err
    assert "scheme bare (no label has a prefix, and each comes once in a sentence" in err
    code, out, _ = run("eval", model, file, "--json")
    assert json.loads(out)["f1"] > 90
    found = load(model).tag("12 North End Road Port Merrow")
    assert [(entity.text, entity.label) for entity in found.entities] == [
        ("12", "number"), ("North End Road", "street"), ("Port Merrow", "city")
    ]  # fmt: skip
    assert found.labels == ("number", "street", "street", "street", "city", "city")
    code, _, _ = run("convert", file, addresses / "a.conll", "--to-scheme", "bioes")
    assert code == 0
    assert read(addresses / "a.conll").spans() == read(file).spans()
    code, _, _ = run("convert", addresses / "a.conll", addresses / "b.conll", "--to-scheme", "bare")
    assert read(addresses / "b.conll").labels == read(file).labels


def test_labels_without_prefixes_can_be_plain_when_that_is_said(run, addresses):
    file, model = addresses / "addresses.txt", addresses / "m.skip"
    how = ("--scheme", "none", "--features", "word", "--set", "epochs=2")
    assert run("train", file, "-o", model, *how)[0] == 0
    assert load(model).model.encoding is None
    assert run("eval", model, file)[0] == 0  # the file is taken as the model learnt its labels
    assert read(file, scheme="none").scheme is None


def test_odd_labels_in_a_small_file_are_mended(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "Ada B-PER\nLee I-PER\nran O\n\nBo b-PER\nsaw X\nOslo B-LOC\n\n"
    (tmp_path / "odd.conll").write_text(text)
    code, out, err = run("convert", "odd.conll", "-", "--to", "conll")
    assert (code, out) == (2, "")
    assert "odd.conll:6: label 'X' does not belong to iob2, and says nothing" in err
    command = shlex.split(err[err.rindex("skipchain convert") :])
    code, _, err = run(*command[1:])
    assert code == 0
    assert "line 5 'b-PER' is now 'B-PER'; line 6 'X' is now 'O'" in err
    assert read("odd.repaired.conll").labels.tolist() == (
        ["B-PER", "I-PER", "O", "B-PER", "O", "B-LOC"]
    )
    assert run("convert", "odd.conll", "a.conll", "--no-repair")[0] == 0
    assert (tmp_path / "a.conll").read_text() == text


@pytest.fixture
def near(tmp_path, monkeypatch):
    """A large file in which one label has another case than all others, or letters swapped."""
    monkeypatch.chdir(tmp_path)

    def write(odd, times):
        text = "Ada B-PER\nLee I-PER\n" + "ran O\n" * 30 + "\n"
        path = tmp_path / "near.conll"
        path.write_text(text * times + f"Ada {odd}\nLee I-PER\n\n")
        return path

    return write


def test_a_type_in_another_case_is_repaired_with_its_name_whole(run, near):
    near("B-Per", 40)
    code, _, err = run("convert", "near.conll", "a.conll")
    assert code == 0
    assert "1 label breaks iob2 and is repaired" in err
    assert "'B-Per' is now 'B-PER'; --no-repair" in err
    assert read("a.conll").spans().tolist()[-1] == (1280, 1282, "PER")
    assert run("convert", "near.conll", "b.conll", "--no-repair")[0] == 0
    assert "B-Per" in (near("B-Per", 40).parent / "b.conll").read_text()


def test_a_type_in_another_case_is_repaired_in_a_small_file(run, near):
    near("B-Per", 12)
    code, _, _ = run("convert", "near.conll", "a.conll", "--repair")
    assert (code, read("a.conll").spans().tolist()[-1]) == (0, (384, 386, "PER"))


def test_letters_that_have_changed_places_are_told(run, near):
    file = near("B-PRE", 40)
    file.write_text(file.read_text().replace("B-PRE\nLee I-PER", "B-PRE\nLee I-PRE"))
    code, _, err = run("convert", "near.conll", "a.conll")
    assert code == 0
    told = r"near.conll: line \d+: the type 'PRE' is rare and much like 'PER' [(]2 and 80 labels[)]"
    assert re.search(told, err)
