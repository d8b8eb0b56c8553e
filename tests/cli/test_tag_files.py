"""Several files tagged at once, each into a folder under its own name."""

from __future__ import annotations

import json
import os

import pytest

from skipchain import read


@pytest.fixture
def letters(tmp_path, monkeypatch):
    """Files as people have them, in the folder that one is in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Angela Merkel met Ada in Oslo.\n")
    (tmp_path / "b.txt").write_text("Bo saw Berlin.\n")
    (tmp_path / "c.iob").write_text("Berlin O\nslept O\n")
    (tmp_path / "d.jsonl").write_text('{"tokens": ["Ada", "left", "Oslo"]}\n')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("Ada.\n")
    return tmp_path


def test_each_file_goes_into_the_folder_under_its_own_name(run, letters):
    code, out, err = run("tag", "a.txt", "b.txt", "c.iob", "d.jsonl", "-o", "tagged")
    assert (code, out) == (0, "")
    assert err.splitlines()[-1] == "4 files written to tagged"
    assert sorted(os.listdir("tagged")) == ["a.conll", "b.conll", "c.iob", "d.jsonl"]
    assert read("tagged/a.conll").words.tolist()[:2] == ["Angela", "Merkel"]
    assert read("tagged/c.iob").labels.tolist() == ["B-LOC", "O"]
    assert len(json.loads((letters / "tagged/d.jsonl").read_text())["labels"]) == 3


def test_a_format_that_is_asked_for_is_that_of_all_files(run, letters):
    assert run("tag", "a.txt", "c.iob", "-o", "pages", "--to", "html")[0] == 0
    assert sorted(os.listdir("pages")) == ["a.html", "c.html"]
    assert run("tag", "a.txt", "b.txt", "-o", "brat", "--to", "brat")[0] == 0
    assert sorted(os.listdir("brat")) == ["a", "b"]
    assert (letters / "brat/a/1.ann").exists()
    assert run("tag", "a.txt", "b.txt", "-o", "o", "--to", "opennlp")[0] == 0
    assert sorted(os.listdir("o")) == ["a.opennlp", "b.opennlp"]


def test_one_file_goes_into_a_folder_that_is_there_or_called_so(run, letters):
    assert run("tag", "a.txt", "-o", "other")[0] == 0
    assert (letters / "other" / "a.conll").exists()
    assert run("tag", "a.txt", "-o", "new/")[0] == 0
    assert os.listdir("new") == ["a.conll"]


def test_a_model_may_stand_before_the_files(run, letters):
    from skipchain import load

    load().save("names.skip")
    assert run("tag", "names.skip", "a.txt", "b.txt", "-o", "tagged")[0] == 0
    assert sorted(os.listdir("tagged")) == ["a.conll", "b.conll"]


def test_what_is_there_is_kept_unless_it_is_to_be_overwritten(run, letters):
    (letters / "tagged").mkdir()
    (letters / "tagged" / "b.conll").write_text("mine")
    code, _, err = run("tag", "a.txt", "b.txt", "-o", "tagged")
    assert code == 2
    assert "tagged/b.conll exists already; use --overwrite" in err
    assert os.listdir("tagged") == ["b.conll"]
    assert run("tag", "a.txt", "b.txt", "-o", "tagged", "--overwrite")[0] == 0
    assert "Berlin B-LOC" in (letters / "tagged" / "b.conll").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("a.txt", "other/a.txt", "-o", "new"), "a.txt and other/a.txt would both become new/a.co"),
        (("a.txt", "a.txt", "-o", "new"), "a.txt and a.txt would both become new/a.conll"),
        (("c.iob", "d.jsonl", "-o", ".", "--overwrite"), "c.iob, which is a file to read; name an"),
        (("a.txt", "b.txt"), "a.txt: not a skipchain model; several files to tag need a folder"),
        (("a.txt", "b.txt", "c.iob"), "3 files are not written to stdout; give a folder"),
        (("a.txt", "b.txt", "c.iob", "-o", "b.txt"), "b.txt is no folder, and 3 files need one"),
        (("a.txt", "-", "c.iob", "-o", "new"), "stdin has no name, so it cannot be one of several"),
        (("nothing", "a.txt", "-o", "new"), "nothing: there is no such file, neither a model nor"),
        (("a.txt", "b.txt", "-o", "new", "--to", "html", "--nbest", "2"), "--nbest can be written"),
        (("a.txt", "c.iob", "-o", "new", "--to", "pdf"), "cannot write 'pdf'; the formats are"),
    ],
)
def test_nothing_is_written_where_files_cannot_go(run, letters, arguments, told):
    before = {own: own.read_bytes() for own in letters.rglob("*") if own.is_file()}
    code, out, err = run("tag", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert {own: own.read_bytes() for own in letters.rglob("*") if own.is_file()} == before
    assert not (letters / "new").exists()


def test_a_file_that_cannot_be_read_does_not_keep_the_others_from_being_tagged(run, letters):
    (letters / "bad.jsonl").write_text("{")
    code, _, err = run("tag", "a.txt", "bad.jsonl", "nothing.txt", "c.iob", "-o", "tagged")
    assert code == 2
    assert "skipchain: bad.jsonl:1: " in err
    assert "skipchain: nothing.txt: there is no such file\n" in err
    assert err.endswith("skipchain: 2 files of 4 not tagged; the others are in tagged\n")
    assert sorted(os.listdir("tagged")) == ["a.conll", "c.iob"]
    assert run("tag", "bad.jsonl", "nothing", "bad.jsonl", "-o", "none")[0] == 2


def test_labels_of_each_file_may_be_kept(run, letters):
    (letters / "e.conll").write_text("Ada B-LOC\nslept _\n")
    assert run("tag", "e.conll", "-o", "forced/", "--force")[0] == 0
    assert read("forced/e.conll").labels.tolist() == ["B-LOC", "O"]
