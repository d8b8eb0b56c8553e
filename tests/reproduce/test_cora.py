"""References to papers: how they are read, their features, and the tables about them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from skipchain import CRF, Corpus
from skipchain.datasets.readers.fields import parse_fields, read_fields
from skipchain.datasets.registry import data_set
from skipchain.errors import CorpusError, ReadError
from skipchain.report.pictures import png
from skipchain.reproduce import Run, reproduce
from skipchain.reproduce.labelling import SystemResults, score_labels
from skipchain.reproduce.stewart import references
from skipchain.reproduce.stewart.cora_confusions import confusion_rows, matrices, measured, picture
from skipchain.reproduce.stewart.cora_published import (
    CONFUSION_TABLES,
    FIELDS,
    FIGURES,
    PENG_MCCALLUM,
    SECONDS,
    confusion,
)

needs_data = pytest.mark.skipif(
    "SKIPCHAIN_DATA" not in os.environ, reason="SKIPCHAIN_DATA does not name the data sets"
)
TEXT = """
<author> A. Lee. </author> <title> On &lt;trees&gt;. </title> <pages> 27-47 </pages>.

[3] <author> B. Ray </author> and others <date>(1990)</date>, 2nd <note> To appear </note>
"""


# Reading ---------------------------------------------------------------------------------------


def test_records_are_lines_and_tokens_stand_between_blanks(tmp_path):
    path = tmp_path / "references.txt"
    path.write_text(TEXT, encoding="utf-8")
    corpus = read_fields(path)
    assert (len(corpus), corpus.n_documents, corpus.scheme) == (2, 2, None)
    assert [sentence.words for sentence in corpus] == [
        ["A.", "Lee.", "On", "<trees>.", "27-47", "."],
        ["[3]", "B.", "Ray", "and", "others", "(1990),", "2nd", "To", "appear"],
    ]
    assert [sentence.labels for sentence in corpus] == [
        ["author"] * 2 + ["title"] * 2 + ["pages"] * 2,
        ["author"] * 5 + ["date"] * 2 + ["note"] * 2,
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<title> A tree", "f.txt:2: <title> is never closed"),
        ("<title> A tree </date>", "f.txt:2: </date> closes what was not opened; <title> is open"),
        ("A tree </title>", "f.txt:2: </title> closes what was not opened; nothing is open"),
        ("<title> A <date> 1990 </date> </title>", "f.txt:2: <date> inside <title>; spans cannot"),
        ("<title> A tree </title> <note> </note>", "f.txt:2: the note 9:10 is empty"),
        ("A tree. 1990.", "f.txt:2: 'A tree. 1990.' has no field; each stands in tags"),
    ],
)
def test_what_is_wrong_with_a_record_is_said(line, message):
    with pytest.raises(ReadError) as caught:
        parse_fields(f"<title> Good </title>\n{line}\n", "f.txt")
    assert str(caught.value).startswith(message)


def test_a_file_without_records_is_refused():
    with pytest.raises(ReadError, match=r"f\.txt: the file is empty"):
        parse_fields("\n \n", "f.txt")


@needs_data
def test_cora_holds_what_its_readme_says():
    data = data_set("cora-refs")
    corpus = data.read("all")
    assert data.files["all"].differences(corpus) == []
    assert set(corpus.labels.tolist()) == set(FIELDS.values())
    runs = sum(
        1
        for sentence in corpus
        for k, label in enumerate(sentence.labels)
        if k == 0 or sentence.labels[k - 1] != label
    )
    assert runs == 2778  # no two neighbouring segments have one field
    assert sum(sentence.words[-1] == "." for sentence in corpus) == 5
    assert len({tuple(sentence.words) for sentence in corpus}) == 499


# Features --------------------------------------------------------------------------------------


def test_the_set_looks_past_trailing_punctuation():
    corpus = Corpus.of([["(1990).", "Learning,", "Oct."]], [["date", "title", "date"]])
    crf = CRF("reference", encoding=None, solver="lbfgs", max_iterations=2, pairs="all")
    names = crf.fit(corpus).model_.features.names()
    assert 'match("")=yes' in names
    assert 'stem(lower(trim(",.:;")))=learn' in names
    assert 'stem(lower(trim(",.:;")))[1]=learn' in names
    assert any("(1[89]|20)" in name and name.endswith("=yes") for name in names)
    assert any("jan(uary)?" in name and name.endswith("[1]=yes") for name in names)


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("(Eds.),", ["editor"]), ("Springer-Verlag,", ["publisher"]), ("Univ.", ["institution"]),
        ("Ph.D.", ["report"]), ("Trans.", ["journal"]), ("[Proc.", ["conference"]),
        ("21st", ["ordinal"]), ("pp.", ["page"]), ("Sept.", ["month"]), ("tree", []),
    ],
)  # fmt: skip
def test_kinds_of_words(word, kinds):
    assert references.kind(word) == kinds


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("1990.", ["year", "large"]), ("(1991a).", ["year in parentheses"]),
        ("12:3-9", ["volume:page"]), ("62--68,", ["range"]), ("IV.", ["roman", "state"]),
        ("CAIP-TR-125,", ["code"]),
        ("D.W.,", ["initial"]), ("O'Neil,", ["surname"]), ("http://a.b/~c", ["address"]),
        ("'91,", ["'91"]), ("[24],", ["in brackets"]), ("(3)", ["in parentheses"]), ("of", []),
    ],
)  # fmt: skip
def test_kinds_of_numbers(word, kinds):
    assert references.number(word) == kinds


@needs_data
def test_lists_come_from_the_data():
    views = references.views()
    assert views["name"]("Mary,") == views["place"]("(Chicago") == "yes"
    assert views["name"]("semantics") is None


def test_a_missing_list_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SKIPCHAIN_DATA", str(tmp_path))
    with pytest.raises(CorpusError, match=r"no list nltk-names/male\.txt in .*view 'name' needs"):
        references.views()


# The tables ------------------------------------------------------------------------------------


def test_the_published_tables_agree_with_each_other():
    for system in CONFUSION_TABLES:
        table = confusion(system)
        correct = table.diagonal()
        f1 = 200.0 * correct / (table.sum(axis=0) + table.sum(axis=1))
        published = [FIGURES[name][system] for name in FIELDS.values()]
        np.testing.assert_allclose(f1, published, atol=0.006)
        np.testing.assert_allclose(f1.mean(), FIGURES["average F1"][system], atol=0.006)
        accuracy = 100.0 * correct.sum() / table.sum()
        np.testing.assert_allclose(accuracy, FIGURES["token accuracy"][system], atol=0.006)
        assert table.sum() == confusion("LR").sum()
    assert set(PENG_MCCALLUM) == set(FIGURES)
    assert all(set(figures) == set(SECONDS) for figures in FIGURES.values())


def test_confusions_are_compared_with_the_published_ones():
    results = SystemResults()
    gold = [["editor"] * 4, ["title"] * 2]
    for taken in (1, 3):
        predicted = [["author"] * taken + ["editor"] * (4 - taken), ["title"] * 2]
        results.add("LR", score_labels(gold, predicted))
    rows = confusion_rows("cora", results)
    assert [row.metric for row in rows] == [
        "A.3: booktitle taken for title",
        "A.3: title taken for booktitle",
        "A.3: editor taken for author",
    ]
    assert rows[2].published == pytest.approx(100 * 61 / 126)
    assert (rows[2].measured, rows[2].low, rows[2].high) == (50.0, 25.0, 75.0)
    assert (rows[0].measured, rows[0].low) == (0.0, 0.0)  # the splits have no such field
    names = list(FIELDS)
    assert measured(results, "LR")[0][names.index("ed"), names.index("au")] == 1
    (section,) = matrices(results)
    assert section.startswith("Table A.3, LR")
    assert "| **ed** |  |  | 2 / 0 | 2 / 0 | 6 / 0 | 48 / 50 |" in section
    assert png(picture(results)).startswith(b"\x89PNG")


@needs_data
def test_a_quick_run_has_the_order_of_the_models():
    said = []
    table = reproduce("cora", Run(quick=True, threads=2, say=said.append))
    f1 = {row.system: row.measured for row in table.rows if row.metric == "A.2: average F1"}
    assert list(f1) == ["LR", "ICRF", "RBM-LR(1)", "CRF, our features"]
    assert f1["LR"] + 4.0 < f1["ICRF"] < f1["CRF, our features"]
    assert f1["LR"] < f1["RBM-LR(1)"]
    times = [row for row in table.rows if row.metric == "6.15: seconds to train"]
    assert [row.published for row in times] == [8.4e4, 4.0e4, 1.8e4, None]
    assert "cora: split 0, ICRF" in said
    assert "Table A.3, LR" in table.markdown()
    assert len({picture.name for picture in table.pictures}) == len(table.pictures)
    assert png(table.pictures[0]).startswith(b"\x89PNG")
