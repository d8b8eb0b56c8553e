"""Which conjunctions are proposed, and how templates are written."""

from __future__ import annotations

import pytest

from skipchain import Corpus, Templates
from skipchain.features.reader import ViewReader
from skipchain.induction.conjunctions import AtomReader, as_text, conjunctions, in_reading_order

CORPUS = Corpus.of(
    [["The", "cat", "sat"], ["A", "dog", "Sat"]], pos=[["D", "N", "V"], ["D", "N", "V"]]
)


def proposed(text, longest=3, corpus=CORPUS):
    templates = Templates.parse(text)
    atoms = AtomReader(ViewReader(corpus, {}), templates.templates)
    return [str(own) for own in conjunctions(templates.templates, atoms, longest)]


def test_every_pair_of_atoms_once():
    assert proposed("word\nword[1]\npos[-1]") == [
        "word & word[1]", "pos[-1] & word", "pos[-1] & word[1]"
    ]  # fmt: skip


def test_a_conjunction_grows_up_to_a_length():
    text = "word\nword[1]\nword[2]\nword & word[1]"
    assert "word & word[1] & word[2]" in proposed(text)
    assert "word & word[1] & word[2]" not in proposed(text, longest=2)


def test_what_follows_from_the_other_view_is_not_proposed():
    assert proposed("word\nlower\nshape") == ["lower & shape"]
    assert "word & lower[1]" in proposed("word\nlower[1]")


def test_what_is_there_in_another_order_is_not_proposed():
    assert proposed("word\npos[1]\npos[1] & word") == []


@pytest.mark.parametrize("other", ["ngrams", "bag(word, 1..2)", "label[-1] & pos", "words(word)"])
def test_only_views_of_one_string_are_joined(other):
    found = proposed(f"word\n{other}")
    assert all("ngrams" not in own and "bag" not in own and "words" not in own for own in found)
    assert all("label" not in own for own in found)


def test_rare_features_have_no_number():
    atoms = AtomReader(ViewReader(CORPUS, {}), Templates.parse("pos\nword").templates)
    pos, word = Templates.parse("pos\nword").templates
    assert atoms.numbers(pos, 2)[0].tolist() == [0, 1, 2, 0, 1, 2]
    numbers, size = atoms.numbers(word, 2)
    assert (set(numbers.tolist()), size) == ({-1}, 0)


@pytest.mark.parametrize("name", ["ner", "chunk", "pos", "seminars-lines"])
def test_text_reads_back_as_the_same_templates(name):
    templates = in_reading_order(Templates.of(name).templates)
    assert Templates.parse(as_text(templates)).templates == templates


def test_windows_end_where_the_view_changes():
    own = Templates.parse("word[-1]\nword\npos\npos[2]\nbag(word, 1..2)\nlabel[-1] & word[3]")
    assert as_text(own.templates).split("\n") == [
        "word[-1..0]", "pos", "pos[2]", "bag(word, 1..2)", "label[-1] & word[3]"
    ]  # fmt: skip
