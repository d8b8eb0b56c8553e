"""Columns of labels that are not those of a model: words with parts of speech, CoNLL-U."""

from __future__ import annotations

import random

import pytest

import skipchain
from skipchain import CRF, Corpus
from skipchain.errors import SkipchainWarning
from skipchain.tagger import Tagger

ROWS = [("The", "DET", "_"), ("Ada", "PROPN", "Case=Nom"), ("ran", "VERB", "Tense=Past"),
        ("well", "ADV", "_"), (".", "PUNCT", "_")]  # fmt: skip


def conllu(number=40):
    lines = []
    for _ in range(number):
        words = random.Random(len(lines)).choices(ROWS, k=5)
        lines += [
            f"{k}\t{word}\t_\t{pos}\t_\t{feats}\t_\t_\t_\t_"
            for k, (word, pos, feats) in enumerate(words, 1)
        ]
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    (folder / "ud.conllu").write_text(conllu())
    (folder / "pos.conll").write_text("Ada PROPN\nran VERB\n. PUNCT\n\n" * 9)
    (folder / "more.conll").write_text("Ada x PROPN\nran y VERB\n. z PUNCT\n\n" * 9)
    (folder / "names.conll").write_text("Ada PROPN B-PER\nran VERB O\n. PUNCT O\n\n" * 9)
    names = Corpus.of([["Ada", "ran", "."]] * 9, [["B-PER", "O", "O"]] * 9)
    CRF("word", epochs=3).fit(names).save(folder / "names.skip")
    pos = skipchain.read(folder / "pos.conll")
    CRF("word", epochs=9).fit(pos).save(folder / "pos.skip")
    feats = skipchain.read(folder / "ud.conllu", label="feats")
    CRF("word", epochs=9).fit(feats).save(folder / "feats.skip")
    return folder


@pytest.mark.parametrize("how", [(), ("--marginals",)])
def test_parts_of_speech_stay_where_names_are_tagged(here, run, how):
    code, out, err = run("tag", here / "names.skip", here / "pos.conll", *how)
    assert code == 0
    assert out.startswith("Ada PROPN B-PER")
    assert "the column of 'PROPN', 'VERB', 'PUNCT' … has no labels of the model's" in err
    assert "columns word, pos; no labels" in err
    _, again, _ = run("tag", here / "names.skip", "-", *how, stdin=(here / "pos.conll").read_text())
    assert again == out


def test_a_column_between_is_called_by_its_place(here, run):
    _, out, err = run("tag", here / "names.skip", here / "more.conll", "-q")
    assert (out.splitlines()[0], err) == ("Ada x PROPN B-PER", "")


@pytest.mark.parametrize("how", [(), ("--to", "tsv")])
def test_a_column_that_stays_keeps_its_name(here, run, tmp_path, how):
    file = tmp_path / "a.tsv"
    file.write_text("nr\ttoken\tfield\n1\tAda\tstreet\n2\tran\tcity\n")
    code, out, err = run("tag", here / "names.skip", file, *how)
    assert code == 0, err
    assert out.splitlines()[:2] == ["nr\ttoken\tfield\tlabel", "1\tAda\tstreet\tB-PER"]


def test_labels_that_only_fill_the_place_are_replaced(here, run, tmp_path):
    file = tmp_path / "a.conll"
    file.write_text("Ada X\nran X\n")
    assert run("tag", here / "names.skip", file)[1] == "Ada B-PER\nran O\n\n"


def test_labels_are_shown_by_their_type(here, run):
    for name in ("PER", "S-PER"):
        code, out, _ = run("inspect", here / "names.skip", "--label", name)
        assert code == 0
        assert "Features of S-PER" in out
    code, _, err = run("inspect", here / "names.skip", "--label", "LOC")
    assert (code, "the model has no label 'LOC'; it has" in err) == (2, True)


def test_a_number_that_is_no_place_is_a_word(here, run):
    given = ("explain", here / "names.skip", "--text", "Ada ran 12 .", "--token")
    assert run(*given, "12")[1] == run(*given, "=12")[1]
    assert "token 1, ran" in run(*given, "1")[1]
    code, _, err = run(*given, "17")
    assert (code, "there is no token 17" in err) == (2, True)


def test_labels_of_names_are_replaced_as_ever(here, run):
    _, out, err = run("tag", here / "names.skip", here / "names.conll")
    assert out.startswith("Ada PROPN B-PER\nran VERB O")
    assert "labels are replaced" in err
    _, out, err = run("tag", here / "pos.skip", here / "pos.conll")
    assert out.startswith("Ada PROPN\nran VERB")


def test_files_in_blocks_keep_the_column_too(here, tmp_path):
    text = (here / "pos.conll").read_text()
    large = tmp_path / "large.conll"
    large.write_text(text * 9000)
    assert large.stat().st_size > 1 << 20
    with pytest.warns(SkipchainWarning, match="it stays, as 'pos'"):
        skipchain.load(here / "names.skip").tag_file(large, tmp_path / "out.conll")
    first = next(skipchain.scan(tmp_path / "out.conll"))
    assert list(first.columns) == ["word", "pos", "label"]
    assert first.labels.tolist()[:2] == ["B-PER", "O"]


def test_upos_stays_where_names_are_tagged(here, run):
    code, out, _ = run("tag", here / "names.skip", here / "ud.conllu", "--to", "conllu")
    assert code == 0
    cells = [line.split("\t") for line in out.splitlines() if line]
    assert {row[3] for row in cells} == {"DET", "PROPN", "VERB", "ADV", "PUNCT"}
    assert {row[9] for row in cells if row[1] == "Ada"} >= {"B-PER"}


@pytest.mark.parametrize("how", [(), ("--marginals",)])
def test_features_go_into_their_column(here, run, how):
    code, out, _ = run("tag", here / "feats.skip", here / "ud.conllu", *how)
    assert code == 0
    assert {line.split()[3] for line in out.splitlines() if line} >= {"DET", "VERB"}
    assert {line.split()[5] for line in out.splitlines() if line} == {
        "O", "Case=Nom", "Tense=Past",
    }  # fmt: skip


def test_words_without_features_are_learnt_as_such(here):
    tagger = skipchain.load(here / "feats.skip")
    assert tagger.model.labels == ("Case=Nom", "O", "Tense=Past")
    assert isinstance(tagger, Tagger)


def test_gold_labels_of_another_kind_are_an_error(here, run):
    code, _, err = run("eval", here / "names.skip", here / "pos.conll", "-q")
    assert code == 2
    assert "pos.conll has labels of single tokens (PROPN, VERB, PUNCT), and the model has" in err
    assert "there is nothing to compare" in err
    assert err.count("\n") == 1


def test_gold_labels_in_another_column_are_named(here, run):
    code, _, err = run("eval", here / "pos.skip", here / "names.conll")
    assert code == 2
    assert "those of the column pos fit: --columns word,label,_" in err
    code, out, _ = run("eval", here / "pos.skip", here / "names.conll", "--columns", "word,label,_")
    assert (code, "100.00" in out) == (0, True)
    code, _, err = run("eval", here / "feats.skip", here / "ud.conllu")
    assert code == 2
    assert "those of the column feats fit: --label feats" in err
    code, out, _ = run("eval", here / "feats.skip", here / "ud.conllu", "--label", "feats")
    assert (code, "100.00" in out) == (0, True)
