"""Mistakes by kind against a plain version, and how they are shown."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipchain import metrics
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import Spans, encode
from skipchain.errors import CorpusError
from skipchain.metrics.mistakes import MISTAKE_KINDS, Mistake
from tests.metrics.test_partial import span_lists
from tests.oracles.partial_credit import plain_mistakes


def in_text(corpus, mistake):
    """The kind and both spans in tokens of the corpus."""
    first = int(corpus.sentences[mistake.sentence])
    spans = (mistake.gold, mistake.predicted)
    return (mistake.kind, *(s and (s[0] + first, s[1] + first, s[2]) for s in spans))


@given(st.data())
def test_mistakes_are_their_definition(data):
    lengths = data.draw(st.lists(st.integers(0, 12), max_size=4))
    corpus = Corpus.of([[f"w{k}" for k in range(length)] for length in lengths])
    pair = [data.draw(span_lists(lengths)) for _ in range(2)]
    gold, found = (
        corpus.with_labels(encode(Spans.of(spans), corpus.sentences, "iob2"), "iob2")
        for spans in pair
    )
    mistakes = metrics.find_mistakes(gold, found)
    assert Counter(in_text(corpus, own) for own in mistakes) == Counter(plain_mistakes(*pair))
    counts = metrics.count_mistakes(mistakes)
    assert list(counts) == list(MISTAKE_KINDS)
    ways = metrics.evaluate(gold, found).partial.overall
    assert ways.type.correct == ways.strict.correct + counts["boundary"]
    assert ways.type.incorrect == counts["type"] + counts["both"]
    assert (ways.type.missed, ways.type.spurious) == (counts["missed"], counts["spurious"])
    assert [own.kind for own in mistakes] == [k for k, n in counts.items() for _ in range(n)]


def test_the_commonest_types_come_first():
    words = [["a"], ["b"], ["c"]]
    gold = Corpus.of(words, [["B-X"], ["B-Y"], ["B-Y"]], scheme="iob2")
    found = Corpus.of(words, [["B-Z"], ["B-Z"], ["B-Z"]], scheme="iob2")
    order = [(own.types, own.sentence) for own in metrics.find_mistakes(gold, found)]
    assert order == [(("Y", "Z"), 1), (("Y", "Z"), 2), (("X", "Z"), 0)]


def test_labels_without_a_scheme_are_wrong_by_token():
    words = [["a", "b"], ["c"]]
    gold, found = (
        Corpus.of(words, labels, scheme="none")
        for labels in ([["N", "V"], ["N"]], [["N", "N"], ["X"]])
    )
    mistakes = metrics.find_mistakes(gold, found)
    assert {(own.kind, own.sentence, own.start, own.types) for own in mistakes} == {
        ("type", 0, 1, ("V", "N")),
        ("type", 1, 0, ("N", "X")),
    }


def test_strict_reading_and_wrong_corpora():
    gold = Corpus.of([["a", "b"]], [["B-X", "I-X"]], scheme="iob2")
    found = Corpus.of([["a", "b"]], [["I-X", "I-X"]], scheme="iob2")
    assert metrics.find_mistakes(gold, found) == ()
    assert [own.kind for own in metrics.find_mistakes(gold, found, strict=True)] == ["missed"]
    with pytest.raises(CorpusError, match="no labels"):
        metrics.find_mistakes(gold, Corpus.of([["a", "b"]]))


LONG = tuple(f"w{k}" for k in range(12))
MISTAKE = Mistake("boundary", 1204, LONG, (5, 7, "PER"), (6, 8, "PER"))
SHARP = Mistake("type", 3, ("<b>", "\x1b[31m", "."), (0, 1, "<i>"), (0, 1, "ORG"))


def test_text_is_aligned_shortened_and_safe():
    text = metrics.mistakes_text([MISTAKE, SHARP])
    assert "1,204  PER w5 w6  PER w6 w7  … w1 w2 w3 w4 [w5 w6 w7] w8 w9 w10 w11" in text
    assert "\x1b" not in text
    assert "\\x1b[31m" in text
    long = Mistake("missed", 0, LONG * 3, (0, 36, "X"), None)
    assert "X w0 w1 w2 w3 w4  … " in metrics.mistakes_text([long])
    assert metrics.mistakes_text([]).startswith("0 mistakes")
    assert "… and 1 more, elsewhere" in metrics.mistakes_text(
        [MISTAKE, MISTAKE], limit=1, advice=", elsewhere"
    )


def test_page_shows_both_sides_and_escapes_words():
    page = metrics.mistakes_page([MISTAKE, SHARP, SHARP], limit=1)
    assert "w5 w6<small>PER</small></mark> w7" in page
    assert "w5 <mark" in page
    assert "<b>" not in page.replace("<b>gold</b>", "").replace("<b>found</b>", "")
    assert "&lt;i&gt;" in page
    assert "… and 1 more" in page
    assert 'id="missed"' not in page
