"""Lists of phrases: files, matching, and columns."""

from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipchain import Corpus
from skipchain.annotators import phrase_lists as lists
from skipchain.annotators.lexicon import CASES, Lexicon, match_key
from skipchain.annotators.phrase_lists import read_lexicon
from skipchain.errors import ParameterError, ReadError, SkipchainError
from skipchain.parallel import Workers


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv(lists.CACHE_VARIABLE, "")


def plain_matches(lexicon, phrases, sentences, case, longest):
    """All phrases in the plainest way: every stretch of every sentence against every phrase."""
    found, base = [], 0
    for words in sentences:
        i = 0
        while i < len(words):
            here = []
            for j in range(i + 1, len(words) + 1):
                own = tuple(match_key(word, case) for word in words[i:j])
                hits = []
                for number, entries in enumerate(phrases.values()):
                    forms = [
                        e.split()
                        for e in entries
                        if tuple(match_key(w, case) for w in e.split()) == own
                    ]
                    if forms:
                        hits.append((base + i, base + j, number, words[i:j] in forms))
                if hits:
                    here = hits if longest else here + hits
            found.extend(here)
            i = here[-1][1] - base if longest and here else i + 1
        base += len(words)
    return found


WORDS = st.sampled_from(["a", "A", "b", "B", "c", "é", "e", "a-b"])
PHRASES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), max_size=6)


@given(
    st.fixed_dictionaries({"one": PHRASES, "two": PHRASES}),
    st.lists(st.lists(WORDS, max_size=8), max_size=3),
    st.sampled_from(CASES),
    st.booleans(),
)
def test_matches_are_those_found_by_hand(phrases, sentences, case, longest):
    lexicon = Lexicon.of(phrases, case=case, matches="longest" if longest else "all")
    found = lexicon.find(Corpus.of(sentences))
    got = list(zip(*(part.tolist() for part in found), strict=True))
    assert got == plain_matches(lexicon, phrases, sentences, case, longest)


def test_cells_say_list_place_and_form():
    lexicon = Lexicon.of({"place": ["New York City", "york"]})
    corpus = Corpus.of([["New", "York", "City"], ["NEW", "YORK", "CITY"], ["New"]])
    assert lexicon.columns(corpus, Workers(1))["lexicon"].tolist() == [
        "B-place", "I-place S-place~", "E-place", "B-place~", "I-place~ S-place~", "E-place~", "",
    ]  # fmt: skip


def test_empty_lexicons_and_corpora_are_no_trouble():
    nothing = Lexicon.of({})
    assert nothing.columns(Corpus.of([["a"]]), Workers(1))["lexicon"].tolist() == [""]
    assert len(Lexicon.of({"a": ["b"]}).columns(Corpus.of([]), Workers(1))["lexicon"]) == 0
    assert len(lists.tokenized_lexicon({})) == len(lists.tokenized_lexicon({"a": []})) == 0
    blank = lists.tokenized_lexicon({"a": ["Oslo", " "], "b": [""], "c": ["Rome"]})
    found = blank.columns(Corpus.of([["Oslo", "Rome"]]), Workers(1))["lexicon"]
    assert found.tolist() == ["S-a", "S-c"]


def test_the_column_and_the_longest_phrase():
    lexicon = Lexicon.of({"a": ["New York", "York"]}, column="town", matches="longest")
    found = lexicon.columns(Corpus.of([["New", "York"]]), Workers(1))
    assert found["town"].tolist() == ["B-a", "E-a"]


def test_a_lexicon_comes_back_from_its_arrays():
    lexicon = Lexicon.of({"place": ["New York"], "name": ["Ada", "New"]}, case="light")
    again = Lexicon.from_config(lexicon.config(), lexicon.arrays())
    corpus = Corpus.of([["New", "York", "ada"]])
    assert again.columns(corpus, Workers(1)) == lexicon.columns(corpus, Workers(1))
    for name in ("root", "token", "first", "lists"):
        arrays = lexicon.arrays()
        arrays[name] = arrays[name] + np.int32(1_000)
        with pytest.raises(ValueError, match=name):
            Lexicon.from_config(lexicon.config(), arrays)


def test_settings_are_checked():
    with pytest.raises(ParameterError, match="case must be one of exact, folded, light"):
        Lexicon.of({}, case="upper")
    with pytest.raises(ParameterError, match="cannot be called"):
        Lexicon.of({"two words": []})
    with pytest.raises(ParameterError, match="place: expected a list of phrases, got 'Oslo'"):
        Lexicon.of({"place": "Oslo"})


# Files -------------------------------------------------------------------------------------------


def test_files_are_lists_and_classes_too(tmp_path):
    (tmp_path / "countries.lst").write_text("Fiji.\nNew Zealand\n", encoding="utf-8")
    with gzip.open(tmp_path / "more.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("city\tSt. Louis\nfirst name\tAda\n")
    with lzma.open(tmp_path / "teams.txt.xz", "wt", encoding="utf-8") as file:
        file.write("Real Madrid\r\n")
    lexicon = read_lexicon(tmp_path)
    assert lexicon.names == ("countries", "city", "first_name", "teams")
    corpus = Corpus.of([["Ada", "left", "St.", "Louis", "for", "Fiji", "."]])
    assert lexicon.columns(corpus, Workers(1))["lexicon"].tolist() == [
        "S-first_name", "", "B-city", "E-city", "", "S-countries", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("Oslo\n\nBergen\n", 2, "the line is empty"),
        ("Oslo\n" + "x" * 2000 + "\n", 2, "2,000 characters"),
        ("city\tOslo\nBergen\n", 2, "no class"),
        ("city\tOslo\ncity\t \n", 2, "the line is empty"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, line, what):
    path = tmp_path / "bad.lst"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReadError, match=what) as error:
        read_lexicon(path)
    assert f"bad.lst:{line}:" in str(error.value)


def test_empty_files_and_folders_are_refused(tmp_path):
    (tmp_path / "empty.lst").write_text("")
    with pytest.raises(ReadError, match="is empty"):
        read_lexicon(tmp_path / "empty.lst")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReadError, match="no list of phrases"):
        read_lexicon(tmp_path / "folder")
    with pytest.raises(ReadError, match="no such file"):
        read_lexicon(tmp_path / "missing.lst")


def test_what_cannot_be_kept_is_read_all_the_same(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise SkipchainError("cannot write")

    monkeypatch.setenv(lists.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(lists, "atomic_write", refuse)
    (tmp_path / "cities.lst").write_text("Oslo\n", encoding="utf-8")
    assert len(read_lexicon(tmp_path / "cities.lst")) == 1
    monkeypatch.delenv(lists.CACHE_VARIABLE)
    monkeypatch.setattr(lists.Path, "home", homeless)
    assert len(read_lexicon(tmp_path / "cities.lst")) == 1


def homeless():
    raise RuntimeError("no home")


def test_what_was_read_once_is_kept_ready(tmp_path, monkeypatch):
    monkeypatch.setenv(lists.CACHE_VARIABLE, str(tmp_path / "cache"))
    path = tmp_path / "cities.lst"
    path.write_text("Oslo\n", encoding="utf-8")
    read_lexicon(path)
    (ready,) = (tmp_path / "cache").iterdir()
    monkeypatch.setattr(lists, "_add_phrases", None)  # it is not read again
    assert read_lexicon(path, column="town").provides == ("town",)
    monkeypatch.undo()
    monkeypatch.setenv(lists.CACHE_VARIABLE, str(tmp_path / "cache"))
    ready.write_bytes(b"damaged")
    corpus = Corpus.of([["Oslo"]])
    assert read_lexicon(path).columns(corpus, Workers(1))["lexicon"].tolist() == ["S-cities"]
    path.write_text("Bergen\n", encoding="utf-8")  # another content is another lexicon
    assert read_lexicon(path).columns(corpus, Workers(1))["lexicon"].tolist() == [""]
