"""Several files as one corpus: columns and schemes in which they differ."""

from __future__ import annotations

import pytest

from skipchain import load

WORDS = "Ada B-PER\nLee I-PER\nran O\n\nOslo B-LOC\nis O\n\n"
TAGGED = "Ada NNP B-PER\nLee NNP I-PER\nran VBD O\n\nOslo NNP B-LOC\nis VBZ O\n\n"
IOB1 = "Ada I-PER\nBo B-PER\nran O\n\nOslo I-LOC\nCity I-LOC\nis O\n\n"
QUICK = ("--features", "word", "--set", "epochs=1", "-o", "m.skip", "--overwrite")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {"words": WORDS, "tagged": TAGGED, "iob1": IOB1}.items():
        (tmp_path / f"{name}.conll").write_text(text * 9)
    (tmp_path / "tagged.csv").write_text("word,pos,label\nAda,NNP,B-PER\nran,VBD,O\n")
    (tmp_path / "plain.txt").write_text("Ada ran.")
    return tmp_path


@pytest.mark.parametrize("order", [("words.conll", "tagged.csv"), ("tagged.csv", "words.conll")])
def test_columns_that_not_all_have_are_left_out(run, here, order):
    code, _, err = run("train", *order, *QUICK)
    assert code == 0, err
    assert "tagged.csv: left out, as not all files have it: pos\n" in err
    assert "tagging will need words alone" in err
    assert run("tag", "m.skip", "plain.txt")[0] == 0
    code, _, err = run("train", *order, *QUICK, "--quiet")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("order", "told", "scheme"),
    [
        (("words.conll", "iob1.conll"), "iob1.conll: the labels are converted from iob1 to iob2",
         "iob2"),
        (("iob1.conll", "words.conll"), "words.conll: the labels are converted from iob2 to iob1",
         "iob1"),
    ],
)  # fmt: skip
def test_each_file_is_converted_from_its_own_scheme(run, here, order, told, scheme):
    code, _, err = run("train", *order, *QUICK)
    assert code == 0, err
    assert told in err
    assert load("m.skip").model.scheme == scheme
