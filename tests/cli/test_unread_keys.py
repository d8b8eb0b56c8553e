"""JSON lines with keys that are not read: what a user is told."""

from __future__ import annotations

import pytest

from skipchain import read
from skipchain.errors import SkipchainWarning

SPANS = 'spans are wanted as "spans": [[start, end, "TYPE"], ...]'
STRINGS = 'wanted are strings, "labels": ["B-PER", ...]'


CASES = {
    '{"text": "Ada slept.", "marks": [[0, 3, "PER"]]}': ("marks", SPANS),
    '{"text": "Ada slept.", "label": [["PER", 0, 3]]}': ("label", SPANS),
    '{"tokens": ["Ada", "slept"], "ner_tags": [1, 0]}': ("ner_tags", STRINGS),
    '{"tokens": ["Ada", "slept"], "spans": [[0, 1, "PER"]]}': ("spans", '"labels": ["B-PER", ...]'),
}
"""Lines, with the key that is not read and what is wanted."""


@pytest.mark.parametrize("line", CASES)
@pytest.mark.parametrize("command", ["convert a.jsonl b.conll", "tag a.jsonl"])
def test_what_may_be_meant_for_labels_is_told(run, tmp_path, monkeypatch, line, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(line + "\n")
    code, _, err = run(*command.split())
    key, wanted = CASES[line]
    assert code == 0
    assert f'a.jsonl: there are no labels, and "{key}" is not read; ' in err
    assert wanted in err


@pytest.mark.parametrize("line", CASES)
@pytest.mark.parametrize("command", ["train a.jsonl -o m.skip", "eval a.jsonl"])
def test_where_labels_are_needed_it_is_an_error(run, tmp_path, monkeypatch, line, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text(line + "\n")
    code, out, err = run(*command.split())
    key, wanted = CASES[line]
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f'"{key}" is not read; ' in err
    assert wanted in err
    assert not (tmp_path / "m.skip").exists()


USUAL = {
    '{"text": "Ada slept.", "label": [[0, 3, "PER"]]}\n{"text": "Well.", "label": []}': "label",
    '{"text": "Ada slept.", "entities": [{"start": 0, "end": 3, "label": "PER"}]}': "entities",
    '{"text": "Ada slept.", "labels": [[0, 3, "PER"]]}': "labels",
    '{"id": "0", "tokens": ["Ada", "slept", "."], "ner_tags": ["B-PER", "O", "O"]}': "ner_tags",
    '{"tokens": ["Ada", "slept"], "tags": ["NNP", "VBD"], "ner": ["B-PER", "O"]}': "ner",
}


@pytest.mark.parametrize("lines", USUAL)
def test_exports_of_other_tools_are_read_and_told(run, tmp_path, lines):
    file = tmp_path / "a.jsonl"
    file.write_text(lines + "\n")
    code, out, err = run("convert", file, "-")
    assert code == 0
    assert "Ada B-PER" in out.replace("NNP ", "")
    wanted = "labels" if "tokens" in lines else "spans"
    assert f'a.jsonl: "{USUAL[lines]}" is read as "{wanted}"' in err
    assert run("train", file, "-o", tmp_path / "m.skip", "--set", "epochs=1", "-q")[0] == 0


def test_what_an_annotator_has_rejected_is_left_out(run, tmp_path):
    file = tmp_path / "a.jsonl"
    line = (
        '{"text": "%s slept.", "spans": [{"start": 0, "end": 3, "label": "PER"}], "answer": "%s"}'
    )
    answers = {"Ada": "accept", "Bob": "reject", "Cyr": "ignore", "Dan": "accept"}
    file.write_text("\n".join(line % pair for pair in answers.items()))
    code, out, err = run("convert", file, "-")
    assert code == 0
    assert [name for name in answers if name in out] == ["Ada", "Dan"]
    assert '2 lines with "answer": "reject" or "ignore" left out' in err
    file.write_text(line % ("Ada", "reject"))
    code, _, err = run("convert", file, "-")
    assert (code, "every line has been rejected" in err) == (2, True)


def test_other_keys_are_named_once(run, tmp_path):
    file = tmp_path / "a.jsonl"
    record = '{"text": "Ada slept.", "spans": [[0, 3, "PER"]], "id": %d, "meta": {"by": "Bo"}}\n'
    file.write_text("".join(record % number for number in range(3)))
    with pytest.warns(SkipchainWarning, match='a.jsonl: "id", "meta" are not read$') as told:
        assert read(file).labelled
    assert len(told) == 1
    code, _, _ = run("train", file, "-o", tmp_path / "m.skip", "--set", "epochs=1")
    assert code == 0
    keys = ", ".join(f'"k{number}": 1' for number in range(9))
    file.write_text('{"tokens": ["Ada"], "labels": ["O"], ' + keys + "}\n")
    with pytest.warns(SkipchainWarning, match='"k4" and 4 more are not read'):
        read(file)


def test_what_tag_writes_is_read_without_a_word(run, tmp_path, recwarn):
    (tmp_path / "a.txt").write_text("Ada slept. Bo ran to Oslo.")
    file = tmp_path / "a.jsonl"
    code, _, err = run("tag", tmp_path / "a.txt", "-o", file, "--marginals")
    assert code == 0, err
    assert read(file).labelled
    assert not recwarn
