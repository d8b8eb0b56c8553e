"""What the document of a token says of it."""

from __future__ import annotations

import pytest

from skipchain import Corpus
from skipchain.annotators.casing import TokenCasing
from skipchain.annotators.document import COLUMN_NAMES, DocumentContext
from skipchain.annotators.truecase import Truecase
from skipchain.errors import ParameterError
from skipchain.io.text import parse_texts
from skipchain.parallel import Workers

STORY = [
    ["SOCCER", "-", "LEE", "WINS", "CUP", "."],
    ["OSLO", "1996-08-22"],
    ["The", "coach", "Ann", "Lee", "of", "United", "Oslo", "Club", "won", "the", "cup", "."],
    ["Then", "Lee", "thanked", "UOC", "and", "left", "."],
    ["Bergen", "3", "2", "1"],
]
OTHER = [["Lee", "slept", "."]]


@pytest.fixture(scope="module")
def corpus():
    return Corpus.of(STORY + OTHER, documents=[len(STORY), len(OTHER)])


@pytest.fixture(scope="module")
def found(corpus):
    columns = DocumentContext(truecase=Truecase.of({"wins": 5, "then": 4})).columns(
        corpus, Workers(1)
    )
    return {name: column.tolist() for name, column in columns.items()}


def at(corpus, word, number=0):
    return [k for k, own in enumerate(corpus.words.tolist()) if own == word][number]


def test_zones_and_topics(corpus, found):
    zones = [found["zone"][k] for k in corpus.sentences[:-1].tolist()]
    assert zones == [
        "head-capitals", "date-capitals-few-digits", "top-text", "top-text",
        "body-row-few-digits", "head-text-few",
    ]  # fmt: skip
    assert found["topic"][0] == "SOCCER"
    assert found["topic"][at(corpus, "coach")] == "SOCCER"
    assert found["topic"][-1] == "<none>"


def test_rows_have_patterns(corpus, found):
    assert found["pattern"][at(corpus, "3")] == "Xx_d_d_d@1"
    assert found["pattern"][at(corpus, "coach")] == ""


def test_headlines_are_written_as_the_document_writes_them(found):
    assert found["truecase"][:6] == ["Soccer", "-", "Lee", "wins", "cup", "."]


def test_runs_of_capitals(corpus, found):
    assert found["run"][at(corpus, "United")] == "3-1"
    assert found["run"][at(corpus, "Club")] == "3-3"
    assert found["run"][at(corpus, "coach")] == ""


def test_occurrences_in_the_document(corpus, found):
    second = found["occurrence"][at(corpus, "Lee", 1)].split()
    assert {"last_of_run", "capital_2", "times_3"} <= set(second)
    assert "initials" in found["occurrence"][at(corpus, "UOC")].split()
    assert found["occurrence"][at(corpus, "Lee", 2)].split() == ["times_1"]  # another document


def test_longer_runs_and_contexts(corpus, found):
    headline = at(corpus, "LEE")
    assert found["longer"][headline] == "before=ann"
    last = at(corpus, "Lee", 1)
    assert set(found["context"][last].split()) == {
        "before=ann", "behind=of", "before_run=coach", "behind_run=of",
    }  # fmt: skip
    assert found["context"][-3] == ""


def test_contexts_reach_as_far_as_the_window():
    words = [["then", "Lee", "won"], ["so"] * 30, ["and", "Lee", "slept"]]
    corpus = Corpus.of(words)
    near, far = (
        DocumentContext(window=w).columns(corpus, Workers(1))["context"].tolist()[1]
        for w in (5, None)
    )
    assert (near, far) == ("", "before=and behind=slept before_run=and behind_run=slept")


def test_words_with_spaces_are_one_value():
    corpus = Corpus.of([["10 000", "Lee", "won"], ["x", "Lee", "slept"]])
    cell = DocumentContext().columns(corpus, Workers(1))["context"].tolist()[4]
    assert cell.split() == ["before=10_000", "behind=won", "before_run=10_000", "behind_run=won"]


def test_contexts_by_clusters(corpus):
    with_clusters = corpus.with_column("brown", corpus.words)
    found = DocumentContext().columns(with_clusters, Workers(1))["context_clusters"].tolist()
    assert "behind=of" in found[at(corpus, "Lee", 1)].split()


def test_it_comes_back_from_its_arrays(corpus):
    source, columns = DocumentContext(window=None, most=3).fit(corpus)
    again = DocumentContext.from_config(source.config(), source.arrays())
    assert again.columns(corpus, Workers(1)) == columns
    assert tuple(columns) == COLUMN_NAMES
    arrays = source.arrays()
    arrays["forms.starts"], arrays["forms.lengths"] = (
        arrays[name][:-1] for name in ("forms.starts", "forms.lengths")
    )
    with pytest.raises(ValueError, match="forms"):
        DocumentContext.from_config(source.config(), arrays)


def test_odd_corpora_and_settings():
    for words in ([], [[]], [[], ["A"], []], [["-"], ["--"]]):
        found = DocumentContext().columns(Corpus.of(words), Workers(1))
        assert {len(column) for column in found.values()} == {sum(map(len, words))}
    with pytest.raises(ParameterError, match="window must be"):
        DocumentContext(window=0)
    with pytest.raises(ParameterError, match="most must be"):
        DocumentContext(most=None)


def test_a_text_is_written_the_same_whatever_stands_beside_it():
    texts = ["We saw the fair at Fair. Fair it was.", "We saw Fair at the fair. Fair it was."]
    together = Truecase.of({}).column(TokenCasing(parse_texts(texts))).tolist()
    alone = [Truecase.of({}).column(TokenCasing(parse_texts([text]))).tolist() for text in texts]
    assert together == alone[0] + alone[1]
    assert (alone[0][7], alone[1][7]) == ("fair", "Fair")  # each as often as the other
