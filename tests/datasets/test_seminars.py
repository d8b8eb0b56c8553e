"""Seminar announcements: the reader, folds of messages, times of day, scores by tokens."""

from __future__ import annotations

import io
import os
import re
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipchain import CRF, Corpus
from skipchain.corpus import Column
from skipchain.corpus.folds import document_folds
from skipchain.corpus.schemes import convert
from skipchain.datasets.readers.archive import read_texts
from skipchain.datasets.readers.seminars import FIELDS, IGNORED, parse_seminars, read_seminars
from skipchain.datasets.registry import data_set
from skipchain.errors import CorpusError, ParameterError, ReadError, SchemeError
from skipchain.metrics import type_scores
from skipchain.models.document.factors.times import time_key
from skipchain.reproduce import Run
from skipchain.reproduce.finkel import nonlocal_seminars

needs_data = pytest.mark.skipif(
    "SKIPCHAIN_DATA" not in os.environ, reason="SKIPCHAIN_DATA does not name the data sets"
)

MESSAGE = """\
<0.1.2@andrew.cmu.edu>
Who:      <speaker>Dr. Ada Lee</speaker>
          Dept. of History
Time:     <stime>3:30</stime>-<etime>5pm</etime>

\t<paragraph><sentence>Meet <speaker>Lee</speaker>'s group at <stime>3:30 p.m</stime>. in \
<location>Wean
Hall 4A</location></sentence>.</paragraph>
"""


def spans(corpus):
    """The fields as their words."""
    words = corpus.words.tolist()
    return [(kind, words[a:b]) for a, b, kind in corpus.spans()]


@pytest.fixture(scope="module")
def seminars():
    return data_set("cmu-seminars").read("all")


def archive(path, files):
    with tarfile.open(path, "w:gz") as out:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            out.addfile(entry, io.BytesIO(text.encode()))
    return path


# The reader --------------------------------------------------------------------------------------


def test_fields_of_a_message():
    corpus = parse_seminars({"x/7.txt": MESSAGE})
    assert corpus.names == ("7",)
    assert corpus.scheme == "iob2"
    assert spans(corpus) == [
        ("speaker", ["Dr.", "Ada", "Lee"]),
        ("stime", ["3:30"]),
        ("etime", ["5", "pm"]),
        ("speaker", ["Lee"]),
        ("stime", ["3:30", "p.m"]),
        ("location", ["Wean", "Hall", "4A"]),
    ]
    text = corpus.texts[0]
    assert "<0.1.2@andrew.cmu.edu>" in text
    assert not re.search("paragraph|sentence|speaker", text)
    pieces = [text[a:b] for a, b in zip(corpus.starts, corpus.ends, strict=True)]
    assert pieces == corpus.words.tolist()
    assert [sentence.words[0] for sentence in corpus] == ["<", "Meet"]  # a blank line between


def test_columns_say_where_a_token_stands():
    corpus = parse_seminars({"a.txt": MESSAGE})
    rows = zip(*(corpus.column(name) for name in ("word", "place", "rest", "length", "indent",
                                                  "gap", "heading")), strict=True)  # fmt: skip
    found = {word: rest for word, *rest in rows}
    assert found["Ada"] == ["3", "1", "5", "0", "none", "who"]
    assert found["History"] == ["2", "0", "3", "2", "none", "who"]  # the line goes on
    assert found["pm"] == ["5", "0", "6", "0", "below", "time"]
    assert found["Meet"] == ["0", "6", "10", "2", "above", "-"]
    assert found["4A"] == ["1", "1", "3", "0", "below", "-"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12:00pm-1:00pm", ["12:00", "pm", "-", "1:00", "pm"]),
        ("4-5:30 P.M.", ["4", "-", "5:30", "P.M", "."]),
        ("Seminar/Ada Lee/Wed", ["Seminar", "/", "Ada", "Lee", "/", "Wed"]),
        ("Moon--Breed Hall", ["Moon", "--", "Breed", "Hall"]),
        ("3:30pm -5:00pm", ["3:30", "pm", "-", "5:00", "pm"]),
        ("11am", ["11", "am"]),
        ("5pmx amp", ["5pmx", "amp"]),
        ("Marc Irwin, Ph.D., of", ["Marc", "Irwin", ",", "Ph.D.", ",", "of"]),
    ],
)
def test_tokens(text, words):
    assert parse_seminars({"a.txt": text}).words.tolist() == words


def test_tokens_do_not_depend_on_the_fields():
    plain = re.sub("</?[a-z]+>", "", MESSAGE)
    tagged, bare = (parse_seminars({"a.txt": text}) for text in (MESSAGE, plain))
    assert tagged.without_labels() == bare.without_labels()
    # a field that lacks the last letter of a word has all of it
    corpus = parse_seminars({"a.txt": "by Mel <speaker>Siege</speaker>l at <stime>5 p</stime>.m."})
    assert spans(corpus) == [("speaker", ["Siegel"]), ("stime", ["5", "p.m"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nby <speaker>Ada\n\nLee", r"m\(a\.txt\):2: <speaker> is never closed"),
        ("a\nb</stime>", r"m\(a\.txt\):2: </stime> closes what was not opened; nothing is open"),
        ("<stime>3 <etime>4</etime>", r"m\(a\.txt\):1: <etime> inside <stime>"),
        ("<stime>3</etime>", r"</etime> closes what was not opened; <stime> is open"),
        ("x <stime> </stime>", r"m\(a\.txt\): the stime 2:3 is empty"),
        (" \n", r"m\(a\.txt\): the file is empty"),
        ("<stime>5</stime><etime>x</etime>", "the stime '5' and the etime 'x' share a token"),
        (
            "<speaker>Ada\n\nLee</speaker>",
            r"the speaker 'Ada\\n\\nLee' goes on behind a blank line",
        ),
    ],
)
def test_bad_messages_are_refused(text, message):
    with pytest.raises(ReadError, match=message):
        parse_seminars({"a.txt": text}, "m")


def test_an_archive_is_read_in_order(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {"s/2.txt": "two", "s/1.txt": "one", "s/no.md": "x"})
    corpus = read_seminars(path)
    assert corpus.names == ("1", "2")
    assert corpus.words.tolist() == ["one", "two"]
    with pytest.raises(ReadError, match=r"holds no \.txt"):
        read_seminars(archive(tmp_path / "b.tar.gz", {"a.md": "x"}))


@needs_data
def test_fields_begin_and_end_where_tokens_do(seminars):
    known, corpus = data_set("cmu-seminars"), seminars
    assert known.files["all"].differences(corpus) == []
    counts = dict.fromkeys(FIELDS, 0)
    for _, _, kind in corpus.spans():
        counts[kind] += 1
    assert counts == {"speaker": 756, "location": 642, "stime": 982, "etime": 431}
    path = f"{os.environ['SKIPCHAIN_DATA']}/{known.files['all'].path}"
    ignored = re.compile(f"</?({'|'.join(IGNORED)})>")
    tagged = [
        match[2].strip()
        for text in read_texts(path).values()
        for match in re.finditer(rf"<({'|'.join(FIELDS)})>(.*?)</\1>", ignored.sub("", text), re.S)
    ]
    document = corpus.document_of(corpus.spans().starts)
    read = [
        corpus.texts[own][corpus.starts[a] : corpus.ends[b - 1]]
        for own, (a, b, _) in zip(document, corpus.spans(), strict=True)
    ]
    wider = [(a, b) for a, b in zip(tagged, read, strict=True) if a != b]
    assert wider == [
        ("Mel Siege", "Mel Siegel"),
        ("Dr. Kishan Bahet", "Dr. Kishan Baheti"),
        ('Dr. William "Red" L. Whittake', 'Dr. William "Red" L. Whittaker'),
        ("5:00 p", "5:00 p.m"),
    ]


def test_the_feature_sets_go_with_the_columns():
    corpus = parse_seminars({f"{k}.txt": MESSAGE for k in range(3)})
    for features in ("seminars", "seminars-lines"):
        crf = CRF(features, solver="lbfgs", l2=0.01).fit(corpus)
        assert [label for own in crf.predict(corpus) for label in own] == corpus.labels.tolist()
    assert "heading=who" in crf.model_.features.names()


# Folds -------------------------------------------------------------------------------------------


def test_folds_are_even_seeded_and_keep_copies_together():
    corpus = Corpus.of([[str(k % 20)] for k in range(21)], documents=[1] * 21)
    folds = document_folds(corpus, 5, seed=3)
    assert folds[0] == folds[20]
    assert sorted(np.bincount(folds[:20], minlength=5)) >= [3, 4, 4, 4, 4]
    assert (folds == document_folds(corpus, 5, seed=3)).all()
    assert any((folds != document_folds(corpus, 5, seed=k)).any() for k in (4, 5))


def test_folds_that_cannot_be():
    corpus = Corpus.of([["a"], ["a"], ["b"]], documents=[1, 1, 1])
    for number in (1, 4):
        with pytest.raises(ParameterError, match=f"{number} folds of 3 documents"):
            document_folds(corpus, number)
    with pytest.raises(ParameterError, match="only 2 of the 3 documents differ"):
        document_folds(corpus, 3)


@needs_data
def test_the_message_that_is_there_twice(seminars):
    for seed in range(3):
        folds = document_folds(seminars, 5, seed=seed)
        assert folds[seminars.names.index("000")] == folds[seminars.names.index("025")]
        assert np.bincount(folds).min() >= 96


# Times -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "texts"),
    [
        ("3:30", ["3:30 p.m.", "3:30 p.m .", "3:30 PM", "15:30", "3.30pm", "3:30", "03:30", "1530",
                  "3 : 30", "330 PM", "at 3:30"]),
        ("4:00", ["4", "4pm", "4 p.m", "16:00", "4:00 - 5:30"]),
        ("12:00", ["noon", "Noon", "12 noon", "12:00 PM", "midnight", "0:00", "24:00"]),
        (None, ["", "today", "13:75", "25", "afternoon", "3.5", "12345", "6:305"]),
    ],
)  # fmt: skip
def test_times_that_agree(key, texts):
    assert {text: time_key(text) for text in texts} == dict.fromkeys(texts, key)


@given(st.integers(0, 23), st.integers(0, 59))
def test_every_time_of_day_has_the_key_of_its_place_on_the_dial(hour, minute):
    twelve = f"{hour % 12 or 12}:{minute:02}"
    half = "am" if hour < 12 else "pm"
    for text in (f"{hour}:{minute:02}", f"{hour:02}{minute:02}", f"{twelve} {half}"):
        assert time_key(text) == twelve


@needs_data
def test_times_of_one_message_agree(seminars):
    words, found = seminars.words.tolist(), seminars.spans()
    keys = {}
    for own, (a, b, kind) in zip(seminars.document_of(found.starts), found, strict=True):
        if kind in ("stime", "etime"):
            keys.setdefault((kind, own), []).append(time_key(" ".join(words[a:b])))
    assert not any(None in own for own in keys.values())
    several = [own for own in keys.values() if len(own) > 1]
    assert sum(len(set(own)) == 1 for own in several) / len(several) > 0.97


# Scores of fields by tokens ----------------------------------------------------------------------


def test_type_scores_by_hand():
    gold = Column.encode(["B-a", "I-a", "O", "B-b", "B-b", "O"])
    found = Column.encode(["O", "B-a", "B-a", "B-b", "I-a", "O"])
    scores = type_scores(gold, found)
    assert {name: (own.gold, own.predicted, own.correct) for name, own in scores.by_type.items()} \
        == {"a": (2, 3, 1), "b": (2, 1, 1)}  # fmt: skip
    assert scores.macro_f1 == pytest.approx((2 * 1 / 5 + 2 * 1 / 3) / 2 * 100)
    assert type_scores(Column.encode(["O"]), Column.encode(["O"])).macro_f1 == 0.0


@given(st.lists(st.sampled_from(["O", "B-a", "B-b"]), min_size=1, max_size=9))
def test_type_scores_do_not_depend_on_the_scheme(labels):
    gold, offsets = Column.encode(labels), np.array([0, len(labels)])
    found = Column.encode(labels[::-1])
    told = type_scores(gold, found)
    other = type_scores(gold, convert(found, offsets, "iob2", "bioes"))
    assert told == other


def test_labels_that_have_no_types_are_refused():
    with pytest.raises(SchemeError, match="'NN' does not belong to any scheme"):
        type_scores(Column.encode(["NN"]), Column.encode(["O"]))
    with pytest.raises(CorpusError, match="1 gold labels, but 2 predicted"):
        type_scores(Column.encode(["O"]), Column.encode(["O", "O"]))


# The table ---------------------------------------------------------------------------------------


@needs_data
def test_the_table_has_every_system_and_field(monkeypatch, seminars):
    few = seminars.take_documents(np.arange(0, 485, 24))
    monkeypatch.setattr(nonlocal_seminars, "messages", lambda run: few)
    monkeypatch.setattr(nonlocal_seminars, "FOLDS", 2)
    monkeypatch.setattr(nonlocal_seminars, "FEW_EPOCHS", 3)
    monkeypatch.setattr(nonlocal_seminars, "SWEEPS", 5)
    said = []
    table = nonlocal_seminars.measure(Run(quick=True, threads=1, say=said.append))
    rows = {(row.system, row.metric): row for row in table.rows}
    for system in (nonlocal_seminars.LOCAL, nonlocal_seminars.PAPER, nonlocal_seminars.PLAIN):
        fields = [rows[system, metric] for metric in nonlocal_seminars.METRICS]
        assert all(row.low <= row.measured <= row.high for row in fields)
        mean = np.mean([row.measured for row in fields[:-1]])
        assert fields[-1].measured == pytest.approx(mean)
        assert fields[0].measured > 30.0
    assert rows[nonlocal_seminars.LOCAL, nonlocal_seminars.ALL].published == 91.85
    assert "nonlocal-seminars: seminars-lines, fold 2 of 2" in said
