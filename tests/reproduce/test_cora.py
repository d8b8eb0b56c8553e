"""References to papers: how they are read, their features, and the tables about them."""

from __future__ import annotations

import numpy as np
import pytest

from skipchain import CRF, Corpus
from skipchain.datasets.readers.fields import parse_fields, read_fields
from skipchain.datasets.registry import data_set
from skipchain.errors import CorpusError, ReadError
from skipchain.report.pictures import png
from skipchain.reproduce import Run, reproduce
from skipchain.reproduce.labelling import SystemResults, score_labels
from skipchain.reproduce.stewart import cora, references
from skipchain.reproduce.stewart.cora import CHOSEN, OURS, conclusion, describe_gain
from skipchain.reproduce.stewart.cora_confusions import confusion_rows, matrices, measured, picture
from skipchain.reproduce.stewart.cora_limits import count_errors, interval, resampled
from skipchain.reproduce.stewart.cora_published import (
    CONFUSION_TABLES,
    FIELDS,
    FIGURES,
    PENG_MCCALLUM,
    SECONDS,
    confusion,
)
from skipchain.reproduce.stewart.cora_systems import SYSTEMS, RememberedCRF
from skipchain.reproduce.stewart.cora_units import UnitChoice, UnitStudy

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


@pytest.mark.data("cora-refs")
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
    corpus = Corpus.of(
        [["(1990).", "Learning,", "Oct."]], [["date", "title", "date"]], scheme="none"
    )
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


@pytest.mark.data("gazetteers")
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


def scored(*systems: tuple[str, str]) -> SystemResults:
    """Results of systems that label the letters of a text, of which the gold labels are ABAB."""
    results = SystemResults()
    for name, labels in systems:
        results.add(name, score_labels([["A", "B"], ["A", "B"]], [labels[:2], labels[2:]]))
    return results


def test_the_conclusion_tells_of_hidden_units_where_there_are_some():
    bases = {"CRF": None, OURS: None, "RBM-CRF(1)": "CRF", CHOSEN: "CRF"}
    without = conclusion(scored((OURS, "ABAB")), bases, "")
    assert without.startswith("With our features a CRF has average F1 / token accuracy")
    results = scored((OURS, "ABAB"), ("CRF", "AAAB"), ("RBM-CRF(1)", "AAAB"))
    gains = conclusion(results, bases, "")
    assert gains.startswith(
        "Average F1 / instance accuracy gained by hidden units: RBM-CRF(1) +0.0 / +0.0 on CRF. With"
    )
    for labels, verdict in (("ABAB", "holds"), ("AAAB", "does not hold")):
        results = scored((OURS, "ABAB"), ("CRF", "AAAB"), (CHOSEN, labels))
        assert f"{CHOSEN} (γ = 1): +0.7 / +1 on the CRF {verdict}. With our" in conclusion(
            results, bases, "γ = 1"
        )


def test_gains_are_counted_split_by_split():
    results = scored(("CRF", "AAAB"), ("CRF", "AAAA"), ("RBM", "ABAB"), ("RBM", "AAAA"))
    assert describe_gain(results, "RBM", "CRF", "instance accuracy") == (
        "+25.0 on CRF, ahead on 1 of 2 splits"
    )
    one = scored(("CRF", "AAAB"), ("RBM", "ABAB"))
    assert describe_gain(one, "RBM", "CRF", "instance accuracy") == "+50.0 on CRF"


def test_a_crf_is_learnt_once_from_the_same_references(monkeypatch):
    corpus = Corpus.of(
        [["Lee", "Trees"], ["Ray", "Birds"]], [["author", "title"]] * 2, scheme="none"
    )
    learnt = []
    fit = CRF.fit
    monkeypatch.setattr(CRF, "fit", lambda *a, **k: learnt.append(a) or fit(*a, **k))
    crf = RememberedCRF("word", encoding=None, solver="lbfgs", max_iterations=3)
    crf.models = {}
    first, again = crf.replaced().fit(corpus), crf.replaced().fit(corpus)
    assert (len(learnt), first.model_ is again.model_) == (1, True)
    crf.replaced().fit(corpus[:1])
    crf.replaced(l2=5.0).fit(corpus)
    assert len(learnt) == 3
    crf.models = None
    assert crf.replaced().fit(corpus).model_ is not first.model_
    assert len(learnt) == 4


def test_cross_fitted_systems_have_the_settings_of_their_base():
    made = SYSTEMS["RBM-CRF(2), cross-fitted"].make({}, {}, Run(threads=1), models := {})
    assert made.observation.models is models
    assert made.observation.dependent
    assert (made.gamma, made.groups) == (1.0, "10:0..4; 10:0..9; 10:0..19")
    assert not hasattr(made.observation, "model_")


def test_an_interval_is_that_of_drawn_references():
    gold = [["A", "B"]] * 100
    labels = [["A", "B"]] * 50 + [["A", "A"]] * 50
    (figures,) = resampled(gold, [labels], size=150, draws=4000)
    low, high = interval(figures["instance accuracy"])
    assert figures["instance accuracy"].mean() == pytest.approx(50.0, abs=0.5)
    half = 196.0 * np.sqrt(0.25 / 150)  # a binomial share, in percent
    assert (low, high) == pytest.approx((50.0 - half, 50.0 + half), abs=1.0)
    whole = score_labels(gold, labels).figures["average F1"]
    assert figures["average F1"].mean() == pytest.approx(whole, abs=0.5)
    assert count_errors(gold, labels) == {
        "a field taken for another": 0, "fields merged": 50, "a field split": 0, "a boundary": 0,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.data("cora-refs", "gazetteers")
def test_hidden_units_are_chosen_on_references_held_out():
    said = []
    table = reproduce("cora-units", Run(quick=True, threads=2, say=said.append))
    f1 = {r.system: r.measured for r in table.rows if r.metric == "held out: average F1"}
    whole = {r.system: r.measured for r in table.rows if r.metric == "held out: instance accuracy"}
    assert list(f1)[:2] == ["CRF, Viterbi", "CRF, marginals"]
    tried = [name for name in f1 if "γ" in name]
    assert len(tried) == 9  # the eighth is that of the thesis
    best = max(tried, key=lambda name: f1[name] + whole[name])
    assert table.verdict == f"Chosen: {best}."
    limits = {(r.system, r.metric): r.measured for r in table.rows}
    assert limits["CRF", "training, token accuracy"] > limits["CRF", "held out, token accuracy"]
    for row in table.rows:
        if row.low is not None:
            assert row.low < row.measured < row.high


@pytest.mark.slow
@pytest.mark.data("cora-refs", "gazetteers")
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
    assert "measured is of one split." in table.notes[0]
    assert table.verdict.startswith(
        "Average F1 / instance accuracy gained by hidden units: RBM-LR(1) +"
    )
    assert "Table A.3, LR" in table.markdown()
    assert len({picture.name for picture in table.pictures}) == len(table.pictures)
    assert png(table.pictures[0]).startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.data("cora-refs", "gazetteers")
def test_what_is_chosen_on_the_first_split_is_used_on_all(monkeypatch):
    chosen = UnitChoice("CRF", True, 0.8, 0.1, "5:0..1", 3)
    seen = []
    monkeypatch.setattr(UnitStudy, "choose", lambda study: seen.append(study) or chosen)
    monkeypatch.setattr(cora, "SHARE", 0.1)
    monkeypatch.setattr(cora, "SEEDS", (0, 1))
    names = ("CRF", "RBM-CRF(1), cross-fitted", OURS)
    monkeypatch.setattr(cora, "SYSTEMS", {name: SYSTEMS[name] for name in names})
    table = reproduce("cora", Run(threads=2))
    (study,) = seen
    training = data_set("cora-refs").read("all").split(0.1, seed=0)[0]
    assert sorted(study.gold) == sorted(sentence.labels for sentence in training)
    f1 = {row.system: row for row in table.rows if row.metric == "A.2: average F1"}
    assert list(f1) == [*names, CHOSEN]
    assert f1[CHOSEN].verdict.endswith("of 2 splits")
    assert f"{CHOSEN} ({chosen}): +0.7 / +1 on the CRF " in table.verdict
    assert "mean over 2 splits" in table.notes[0]
