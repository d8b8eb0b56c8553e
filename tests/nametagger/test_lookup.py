"""Names by looking them up."""

from __future__ import annotations

import pytest

from skipchain import Corpus
from skipchain.annotators.lexicon import Lexicon
from skipchain.errors import CorpusError
from skipchain.nametagger.lookup import DictionaryTagger

LISTS = {"first": ["Ada", "Bo", "Cy"], "port": ["Ostley", "Port Ann"], "word": ["Then"]}
WORDS = [
    ["Ada", "Lee", "left", "Ostley", "."],
    ["Then", "Bo", "Ness", "slept", "in", "Port", "Ann", "."],
    ["Then", "the", "Ostley", "Herald", "wrote", "of", "Cy", "Vane"],
]
LABELS = [
    ["B-PER", "I-PER", "O", "B-LOC", "O"],
    ["O", "B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"],
    ["O", "O", "B-ORG", "I-ORG", "O", "O", "B-PER", "I-PER"],
]


@pytest.fixture(scope="module")
def lookup():
    return DictionaryTagger.fit(Corpus.of(WORDS, LABELS, scheme="iob2"), Lexicon.of(LISTS))


def found(lookup, *words):
    return lookup.spans(Corpus.of([list(words)])).tolist()


def test_lists_stand_for_what_most_of_their_phrases_are(lookup):
    assert {name: kind for name, (kind, _) in lookup.types.items()} == {
        "first": "PER", "port": "LOC", "word": "O",
    }  # fmt: skip


def test_the_longest_phrase_counts_and_training_names_are_known(lookup):
    assert found(lookup, "the", "Ostley", "Herald", "at", "Ostley") == [
        (1, 3, "ORG"),
        (4, 5, "LOC"),
    ]
    assert found(lookup, "to", "PORT", "ANN") == [(1, 3, "LOC")]
    assert found(lookup, "in", "ostley") == []


def test_persons_take_unknown_words_behind_them(lookup):
    assert lookup.extended == {"PER"}
    assert found(lookup, "saw", "Ada", "Quill", "in", "Ostley") == [(1, 3, "PER"), (4, 5, "LOC")]


def test_names_of_one_type_side_by_side_are_one(lookup):
    assert found(lookup, "saw", "Bo", "Ada") == [(1, 3, "PER")]


def test_labels_come_in_the_scheme_of_the_corpus(lookup):
    corpus = Corpus.of(WORDS, LABELS, scheme="iob2")
    assert lookup.label(corpus).labels.tolist() == corpus.labels.tolist()
    assert lookup.label(corpus.without_labels()).scheme == "iob2"


def test_labels_must_mark_spans():
    with pytest.raises(CorpusError, match="mark none"):
        DictionaryTagger.fit(Corpus.of([["a"]], [["N"]], scheme="none"), Lexicon.of({}))
