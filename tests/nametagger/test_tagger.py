"""Persons without labelled data: properties, confidence, candidates, decisions."""

from __future__ import annotations

import math

import pytest

from skipchain.corpus import Corpus
from skipchain.datasets.readers.ieer import parse_ieer, read_ieer
from skipchain.errors import ParameterError, ReadError
from skipchain.nametagger import confidence
from skipchain.nametagger.candidates import is_name_part, name_candidates, nominal_candidates
from skipchain.nametagger.contexts import Contexts, context_features
from skipchain.nametagger.evidence import MATCHINGS, Evidence
from skipchain.nametagger.gender import (
    PATTERNS,
    PROPERTIES,
    PropertyCounts,
    count_properties,
    extend_pattern,
    read_gender_counts,
    read_phrases,
)
from skipchain.nametagger.tagger import NameTagger, find_names
from skipchain.resources.ngrams import NgramStore
from skipchain.resources.ngrams.pattern import PatternError

pytest.importorskip("duckdb")


def known(name="ours", folded=False, **rows):
    table = {key.replace("_", " "): tuple(own) + (0,) * (6 - len(own)) for key, own in rows.items()}
    return PropertyCounts(name, table, folded)


# Properties ------------------------------------------------------------------------------------

SENTENCES = {
    "conjunction-possessive": ("John/NNP and/CC his/PRP$ dog/NN", "John", "masculine"),
    "nominative-predicate": ("she/PRP is/VBZ a/DT writer/NN ./.", "writer", "feminine"),
    "verb-nominative": ("Ada/NNP thought/VBD she/PRP slept/VBD", "Ada", "feminine"),
    "verb-possessive": ("Haifa/NNP lost/VBD its/PRP$ port/NN", "Haifa", "neutral"),
    "verb-reflexive": ("rebels/NNS armed/VBD themselves/PRP", "rebels", "plural"),
    "relative-pronoun": ("the/DT prophet/NN ,/, who/WP slept/VBD", "prophet", "animate"),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    pairs = [[own.rsplit("/", 1) for own in text.split()] for text, _, _ in SENTENCES.values()]
    pairs.append([["John", "NNP"], ["Joseph", "NNP"], ["bought", "VBD"], ["his", "PRP$"]])
    pairs.append([["in", "IN"], ["town", "NN"], ["where", "WRB"], ["old", "JJ"]])
    pairs.append([["the", "DT"], ["town", "NN"], ["where", "WRB"]])
    text = Corpus.of(
        [[word for word, _ in own] for own in pairs], pos=[[tag for _, tag in own] for own in pairs]
    )
    return NgramStore.count([text], tmp_path_factory.mktemp("properties") / "store")


def test_every_pattern_finds_its_example(store):
    assert set(SENTENCES) == set(PATTERNS)
    for counts, (_, target, kind) in zip(count_properties(store), SENTENCES.values(), strict=True):
        row = counts.of(target)
        assert row is not None, counts.name
        assert row[PROPERTIES.index(kind)] == 1
        assert sum(row) == 1


def test_names_of_several_words_and_what_stands_before(store):
    possessive = count_properties(store, ["verb-possessive"])[0]
    assert possessive.of("John Joseph") == (1, 0, 0, 0, 0, 0)
    assert possessive.of("Joseph") == (1, 0, 0, 0, 0, 0)
    relative = count_properties(store, ["relative-pronoun"])[0]
    assert relative.of("town") == (0, 0, 0, 0, 0, 1)  # not the one behind a preposition
    with pytest.raises(ParameterError, match="no pattern 'x'; there are conj"):
        count_properties(store, ["x"])
    assert extend_pattern("a *<NN*> b", 1) == "a *<NN*> b"


@pytest.mark.parametrize("left", ["JJ", "NN", "VB", "CC", "IN", "NN JJ VB CC IN PRP DT"])
def test_a_text_without_some_part_of_speech_gives_what_there_is(tmp_path, left):
    """No adjective, noun or verb in the text: what needs one finds nothing; it is no error."""
    pairs = [[own.rsplit("/", 1) for own in text.split()] for text, _, _ in SENTENCES.values()]
    gone = tuple(left.split())
    kept = [[pair for pair in own if not pair[1].startswith(gone)] for own in pairs]
    kept = [own for own in kept if own]
    text = Corpus.of(
        [[word for word, _ in own] for own in kept], pos=[[tag for _, tag in own] for own in kept]
    )
    store = NgramStore.count([text], tmp_path / "store")
    counts = {own.name: own for own in count_properties(store)}
    assert set(counts) == set(PATTERNS)
    if left == "JJ":  # there is none in the sentences: all is found as before
        assert counts["relative-pronoun"].of("prophet") == (0, 0, 0, 0, 1, 0)
        assert counts["conjunction-possessive"].of("John") == (1, 0, 0, 0, 0, 0)
    if len(gone) > 1:
        assert all(len(own) == 0 for own in counts.values())
        assert Evidence(tuple(counts.values())).score("John") is None
    with pytest.raises(PatternError, match="there is no class <XYZ>"):
        store.query("<XYZ> his")


def test_a_store_without_parts_of_speech_is_still_refused(tmp_path):
    store = NgramStore.count([Corpus.of([["John", "and", "his", "dog"]])], tmp_path / "store")
    with pytest.raises(PatternError, match="asks for parts of speech"):
        count_properties(store)


def test_counts_are_summed():
    both = PropertyCounts.sum("both", [known(Ada=(1,)), known(Ada=(0, 2), Bo=(3,))])
    assert both.of("Ada") == (1, 2, 0, 0, 0, 0)
    assert (both.of("ada"), len(both)) == (None, 2)
    with pytest.raises(ParameterError, match="lower case"):
        PropertyCounts.sum("both", [known(Ada=(1,)), known(folded=True, bo=(1,))])


def test_files_of_counts_and_lists(tmp_path):
    path = tmp_path / "gender.txt"
    path.write_text("aaron\t4 3 2 1\n\nada\t1 2 3\n")
    with pytest.raises(ReadError, match=r"gender\.txt:3: expected a word, a tab and four counts"):
        read_gender_counts(path)
    names = tmp_path / "names.txt"
    names.write_text("# a remark\nAaron\tMALE\nNew York\nAaron\n")
    lists = read_phrases([(names, "masculine"), (names, "animate")], "names", weight=5)
    assert lists.of("AARON") == (5, 0, 0, 0, 5, 0)
    assert lists.of("new york") == (5, 0, 0, 0, 5, 0)
    assert len(lists) == 2
    with pytest.raises(ParameterError, match="no property 'male'"):
        read_phrases([(names, "male")], "names")


# Confidence ------------------------------------------------------------------------------------


def test_the_three_confidences():
    haifa = (21, 19, 92, 15)
    assert confidence.percentage(haifa) == 92 / 147
    assert confidence.margin(haifa) == 71 / 21
    assert confidence.margin_frequency(haifa) == pytest.approx(92 / 21 * math.log(92), rel=1e-12)
    assert [own((0, 0)) for own in confidence.MEASURES.values()] == [0, 0, 0]
    with pytest.raises(ParameterError, match="no confidence 'x'"):
        Evidence((), measure="x")


def test_sources_speak_for_and_against():
    evidence = Evidence((known(Lee=(9, 0, 3)), known("b", Lee=(0, 0, 0, 0, 0, 7))))
    assert evidence.score("Lee") == pytest.approx(2 / 3 - 7 / 8, rel=1e-12)
    assert evidence.score("Bo") is None
    assert evidence.score("Lee") == evidence.score("Lee")


def test_ways_of_matching():
    source = known(
        John_Joseph=(32,),
        Ayub=(87,),
        Masih=(117,),
        Mahmoud=(159, 13),
        Salim=(188, 13),
        Oslo=(0, 0, 9),
    )
    found = {
        way: [
            Evidence((source,), matching=way).match(name.split()) is not None
            for name in ("John Joseph", "Ayub Masih", "Mahmoud Salim Qawasmi", "Ayub Nobody")
        ]
        for way in MATCHINGS
    }
    assert found == {
        "full": [True, False, False, False],
        "composite": [True, True, False, False],
        "relaxed": [True, True, True, False],
        "partial": [True, True, True, True],
    }
    lowest = Evidence((source,), matching="composite").match(["Ayub", "Oslo"])
    assert lowest is not None
    assert lowest < 0
    with pytest.raises(ParameterError, match="no matching 'x'"):
        Evidence((), matching="x")


# Candidates ------------------------------------------------------------------------------------


def names_in(text, *ordinary):
    words = text.split()
    found = name_candidates(words, lambda word, alone: word in ordinary)
    return [" ".join(words[a:b]) for a, b in found]


def test_candidates_of_names():
    assert names_in("On Monday Mr. Ada van der Lee met Bo .") == ["Ada van der Lee", "Bo"]
    assert names_in("The German Iraqis of U.N. and J. P. Morgan") == ["U.N.", "J. P. Morgan"]
    assert names_in("SOCCER - JAPAN WIN AGAIN .") == []
    assert names_in("Earlier Ada slept", "Earlier") == ["Ada"]
    assert names_in("Abdul al-Kabariti slept in 1999") == ["Abdul al-Kabariti"]
    assert names_in("One Two Three Four Five Six") == []  # longer than a name
    assert not is_name_part("1999")
    assert not is_name_part("May")
    assert not is_name_part("mid-April")
    assert not is_name_part("élan")
    assert is_name_part("Élan")


def test_candidates_of_nouns():
    words = ["the", "young", "writer", "of", "3", "books"]
    found = [" ".join(words[a:b]) for a, b in nominal_candidates(words)]
    assert found == ["young", "young writer", "writer", "books"]
    tagger = NameTagger(Evidence((known(writer=(144, 27), young_writer=(3,), books=(0, 0, 4)),)))
    assert tagger.nominals(words) == [(1, 3)]


# Decisions -------------------------------------------------------------------------------------


def persons(tagger, *sentences):
    corpus = Corpus.of([own.split() for own in sentences])
    words = corpus.words.tolist()
    return [" ".join(words[a:b]) for a, b in tagger.spans(corpus)]


SURE = Evidence((known(Ada=(0, 9), Oslo=(0, 0, 9)),))


def test_a_document_agrees_with_itself():
    text = ("ADA LEE WINS IN OSLO", "Ada Lee won .", "In Oslo , Lee and K. Lee met Mr. Brandt .",
            "Brandt slept .")  # fmt: skip
    assert persons(NameTagger(SURE), *text) == [
        "ADA LEE", "Ada Lee", "Lee", "K. Lee", "Brandt", "Brandt"
    ]  # fmt: skip
    assert persons(NameTagger(SURE, document=False), *text) == ["Ada Lee"]


def test_common_words_begin_sentences_not_names():
    tagger = NameTagger(Evidence((known(Bill=(9,), Lee=(9,)),)), common=frozenset({"bill"}))
    assert persons(tagger, "Bill them all .", "Bill Lee came .", "They met Bill .") == [
        "Bill Lee", "Bill"
    ]  # fmt: skip


def test_contexts_tell_of_unknown_names():
    raw = Corpus.of(
        [f"Mr. {name} said so".split() for name in ("Ada", "Ada", "Ada")]
        + [f"he lives in {name} now".split() for name in ("Oslo", "Oslo", "Oslo")]
    )
    tagger = NameTagger(SURE, weight=1.0).bootstrapped([raw], rounds=2)
    assert tagger.contexts is not None
    assert persons(tagger, "Sir Brandt said so .", "he lives in Bergen now .") == ["Brandt"]
    assert context_features(["a", "B"], (1, 2))[0] == ("l2 <s> a", "l a")
    assert Contexts.fit([]).odds == {}


def test_the_threshold_is_chosen_on_labels():
    corpus = Corpus.of(
        [["Ada", "met", "Oslo"]], [["B-PER", "O", "O"]], scheme="iob2"
    )  # fmt: skip
    low = NameTagger(SURE, threshold=-5.0)
    assert persons(low, "Ada met Oslo") == ["Ada", "Oslo"]
    tuned = low.tuned(corpus, (-5.0, 0.0, 5.0), (0.5, 1.0))
    assert (tuned.threshold, tuned.weight) == (0.0, 0.5)
    labelled = tuned.predict(corpus.without_labels())
    assert labelled.labels.tolist() == ["B-PER", "O", "O"]


def test_every_weight_is_tried_with_every_threshold():
    corpus = Corpus.of([["Ada", "met"]], [["B-PER", "O"]], scheme="iob2")
    tagger = NameTagger(Evidence(()), contexts=Contexts({"n 1": 1.0}))
    tuned = tagger.tuned(corpus, iter((1.5,)), iter((1.0, 2.0)))
    assert tuned.weight == 2.0


def test_names_within_words():
    assert find_names(["A", "B"], {("B", "C"), ("B",)}, 0) == [(1, 2)]


# IE-ER -----------------------------------------------------------------------------------------


def test_news_of_ieer(tmp_path):
    text = (
        "<DOC>\n<DOCNO> A </DOCNO>\n<HEADLINE>\nNews\n</HEADLINE>\n<TEXT>\n"
        '<b_enamex type="ORGANIZATION">AT&AMP;T of <b_enamex type="LOCATION" status="opt">Oslo'
        '<e_enamex><e_enamex> hired <b_enamex type="PERSON">Ada Lee<e_enamex>.\n</TEXT>\n</DOC>'
    )
    corpus = parse_ieer(text)
    words = corpus.words.tolist()
    spans = [(" ".join(words[a:b]), kind) for a, b, kind in corpus.spans().tolist()]
    assert spans == [("AT&T of Oslo", "ORGANIZATION"), ("Ada Lee", "PERSON")]
    with pytest.raises(ReadError, match="no <DOC>"):
        parse_ieer("nothing")
    with pytest.raises(ReadError, match=r"x:3: <e_enamex> closes what was not opened"):
        parse_ieer("\n\n<DOC><TEXT>a<e_enamex></TEXT></DOC>", "x")
    with pytest.raises(ReadError, match=r"holds no \.gz file"):
        read_ieer(tmp_path)


@pytest.mark.slow
@pytest.mark.data("conll2003", "ieer", "gmb", "ud-ewt", "gazetteers", "gender-animacy")
def test_the_table_in_its_quick_setting():
    from skipchain.reproduce import Run, reproduce

    said = []
    table = reproduce("name-tagger", Run(quick=True, threads=2, say=said.append))
    f1 = {row.system: row for row in table.rows if row.metric == "F1 testa"}
    assert f1["no labelled data"].measured > f1["no labelled data, no lists"].measured
    assert f1["no labelled data"].measured > f1["CRF, labelled data"].measured - 8
    assert f1["conjunction-possessive"].published == 66.67
    assert any("counting" in own for own in said)
