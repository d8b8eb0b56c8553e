"""Types that are renamed or left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skipchain import Corpus
from skipchain.corpus import LabelMap
from skipchain.corpus.label_map import label_types, types_in
from skipchain.corpus.schemes import SCHEMES, encode
from skipchain.datasets.harbour import harbour
from skipchain.errors import ParameterError

WORDS = [["Ada", "Lee", "Bo", "in", "Rome", "today"]]


def corpus(labels, scheme):
    return Corpus.of(WORDS, [labels.split()], scheme=scheme)


def test_types_are_renamed_at_once_so_that_two_can_change_places():
    names = LabelMap({"PER": "LOC", "LOC": "PER"})
    given = corpus("B-PER I-PER B-PER O B-LOC O", "iob2")
    assert names.apply(given) == corpus("B-LOC I-LOC B-LOC O B-PER O", "iob2")
    assert names.changes(given) == {"PER": ("LOC", 2), "LOC": ("PER", 1)}


def test_only_is_about_the_new_names():
    given = corpus("B-PERSON I-PERSON O O B-CITY B-TIME", "iob2")
    names = LabelMap.parse("PERSON=PER, TIME=O", "PER")
    assert names.apply(given) == corpus("B-PER I-PER O O O O", "iob2")
    assert names.changes(given) == {"PERSON": ("PER", 1), "TIME": ("O", 1), "CITY": ("O", 1)}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_stay_as_they_are_in_every_scheme(scheme):
    data = harbour()
    labels = encode(data.spans(), data.sentences, scheme, lossy=True)
    given = data.with_labels(labels, scheme)
    names = LabelMap({"PER": "NAME", "LOC": "NAME"}, only=["NAME"])
    wanted = [(a, b, "NAME") for a, b, name in given.spans() if name in ("PER", "LOC")]
    assert names.apply(given).spans().tolist() == wanted


@pytest.mark.parametrize("scheme", ["io", "bare", "iob1"])
def test_spans_of_what_becomes_one_type_are_not_merged(scheme):
    given = corpus("A A B O O O" if scheme == "bare" else "I-A I-A I-B O O O", scheme)
    mapped = LabelMap({"A": "C", "B": "C"}).apply(given)
    assert mapped.spans().tolist() == [(0, 2, "C"), (2, 3, "C")]
    assert mapped.scheme == ("iob1" if scheme == "iob1" else "iob2")


def test_labels_that_break_their_scheme_stay_as_they_are():
    given = corpus("I-A I-A O O I-B O", "iob2")
    mapped = LabelMap({"A": "C"}).apply(given)
    assert mapped.labels.tolist() == ["I-C", "I-C", "O", "O", "I-B", "O"]


def test_labels_that_are_not_known_stay_so():
    given = corpus("I-A _ I-A I-B O _", "io")
    assert types_in(given) == ("A", "B")
    mapped = LabelMap({"A": "B"}).apply(given)
    assert mapped.labels.tolist() == ["B-B", "_", "B-B", "B-B", "O", "_"]
    assert mapped.scheme == "iob2"


def test_labels_without_spans_are_renamed_as_they_are():
    given = corpus("NNP NNP NN IN NNP NN", None)
    names = LabelMap({"NNP": "NN"})
    assert names.apply(given).labels.tolist() == ["NN", "NN", "NN", "IN", "NN", "NN"]
    assert names.changes(given) == {"NNP": ("NN", 3)}
    assert label_types(given.labels.values, None) == ("IN", "NN", "NNP")
    with pytest.raises(ParameterError, match="--only is for types of spans"):
        LabelMap(only=["NN"]).apply(given)


def test_nothing_changes_without_a_map():
    given = corpus("B-PER I-PER O O B-LOC O", "iob2")
    assert not LabelMap()
    assert LabelMap().apply(given) is given
    plain = given.without_labels()
    assert LabelMap({"PER": "O"}).apply(plain) is plain
    assert LabelMap({"PER": "O"}).apply(replace(given, scheme=None)).scheme is None


@pytest.mark.parametrize(
    ("names", "only", "told"),
    [
        ("PER", None, "--map takes a list of old and new names, such as MISC=O,PERSON=PER"),
        ("PER=,LOC=O", None, "got 'PER=,LOC=O'"),
        ("", None, "--map takes"),
        ("A=B,A=C", None, "--map gives A two names, B and C"),
        ("A=_", None, "_ is a label that is not known"),
        (None, "", "--only takes a list of types, such as PER,LOC, got ''"),
        (None, "PER,O", "--only takes a list of types"),
    ],
)
def test_what_says_no_map_is_refused(names, only, told):
    with pytest.raises(ParameterError, match=told):
        LabelMap.parse(names, only)


def test_types_that_occur_nowhere_are_refused():
    types = {"a.conll": ["person", "place"], "the model": ["PER", "LOC"]}
    LabelMap.parse("person=PER", "PER,LOC").check(types)
    with pytest.raises(ParameterError) as error:
        LabelMap.parse("persn=PER").check(types)
    assert str(error.value) == (
        "there is no type 'persn' to map; a.conll has person, place; the model has LOC, PER"
    )
    with pytest.raises(
        ParameterError, match=r"'ORG' for --only to keep; a.conll has person, place"
    ):
        LabelMap(only=["ORG"]).check(types)
    with pytest.raises(ParameterError, match="--map makes of them LOC, PER, place"):
        LabelMap({"person": "PER"}, ["person"]).check(types)
