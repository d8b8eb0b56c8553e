"""Scores with partial credit against nervaluate and a plain version."""

import itertools
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nervaluate import Evaluator

from skipchain import metrics
from skipchain.corpus import Corpus
from skipchain.corpus.schemes import Spans, encode
from skipchain.errors import SchemeError
from skipchain.metrics.partial import WAYS, PartialScore
from tests.oracles import partial_credit
from tests.oracles.partial_credit import COUNTS, plain_counts

TYPES = ("X", "Y", "Z-z")
PEER = {"strict": "strict", "exact": "exact", "partial": "partial", "type": "ent_type"}


@st.composite
def span_lists(draw, lengths, types=TYPES, longest=5):
    """Spans that do not overlap, in sentences of these lengths."""
    spans, at = [], 0
    for length in lengths:
        stop = at + length
        while at < stop:
            size = draw(st.integers(1, min(longest, stop - at)))
            if draw(st.booleans()):
                spans.append((at, at + size, draw(st.sampled_from(types))))
            at += size
    return spans


@st.composite
def two_labellings(draw):
    """Two corpora of the same words with well-formed iob2 labels, no sentence of them empty."""
    lengths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    words = [[f"w{k}" for k in range(length)] for length in lengths]
    corpus = Corpus.of(words)
    pair = [Spans.of(draw(span_lists(lengths))) for _ in range(2)]
    return [corpus.with_labels(encode(s, corpus.sentences, "iob2"), "iob2") for s in pair]


def sentences_of(corpus):
    return [list(sentence.labels) for sentence in corpus]


def agree(ours, theirs):
    assert {name: getattr(ours, name) for name in COUNTS} == {
        name: getattr(theirs, name) for name in COUNTS
    }
    assert (ours.possible, ours.actual) == (theirs.possible, theirs.actual)
    rates = [ours.precision, ours.recall, ours.f1]
    assert rates == pytest.approx([100 * theirs.precision, 100 * theirs.recall, 100 * theirs.f1])


@given(two_labellings())
def test_partial_scores_are_those_of_nervaluate(pair):
    ours = metrics.evaluate(*pair).partial
    theirs = Evaluator(*map(sentences_of, pair), tags=list(TYPES), loader="list").evaluate()
    assert set(ours.by_type) == set(theirs["entities"])
    for way, name in PEER.items():
        agree(getattr(ours.overall, way), theirs["overall"][name])
        for kind, ways in ours.by_type.items():
            agree(getattr(ways, way), theirs["entities"][kind][name])


def test_the_peer_is_a_version_that_gives_half_credit():
    # Before 1.2.1 the half credit was lost where there was more than one document.
    assert tuple(map(int, version("nervaluate").split(".")[:3])) >= (1, 2, 1)


def test_an_overlap_of_less_than_a_hundredth_counts_with_us():
    # nervaluate asks for one percent of the gold span by default; SemEval for any overlap.
    gold, own = [(0, 150, "X")], [(149, 151, "X")]
    assert metrics.partial_scores(Spans.of(gold), Spans.of(own)).overall.partial.partial == 1
    entities = [[[{"start": a, "end": b - 1, "label": c} for a, b, c in spans]]
                for spans in (gold, own)]  # fmt: skip
    theirs = Evaluator(*entities, tags=["X"], loader="dict").evaluate()["overall"]["partial"]
    assert (theirs.partial, theirs.missed, theirs.spurious) == (0, 1, 1)


@given(st.data())
def test_partial_scores_are_their_definition(data):
    lengths = data.draw(st.lists(st.integers(1, 15), max_size=3))
    gold, own = (data.draw(span_lists(lengths)) for _ in range(2))
    scores = metrics.partial_scores(Spans.of(gold), Spans.of(own))
    for way in WAYS:
        found = getattr(scores.overall, way)
        assert {name: getattr(found, name) for name in COUNTS} == plain_counts(gold, own, way)
        for kind, ways in scores.by_type.items():
            sides = ([span for span in spans if span[2] == kind] for spans in (gold, own))
            expected = plain_counts(*sides, way)
            found = getattr(ways, way)
            assert {name: getattr(found, name) for name in COUNTS} == expected
    assert list(scores.by_type) == sorted({kind for _, _, kind in [*gold, *own]})
    assert (
        scores.overall.strict.correct
        == metrics.entity_scores(Spans.of(gold), Spans.of(own)).micro.correct
    )


def test_the_ways_by_hand():
    gold = [(0, 2, "X"), (3, 4, "Y"), (5, 8, "X"), (9, 10, "Y")]
    own = [(0, 2, "X"), (3, 4, "X"), (5, 7, "X"), (7, 9, "Y"), (11, 12, "X")]
    ways = metrics.partial_scores(Spans.of(gold), Spans.of(own)).overall
    assert ways.strict == PartialScore(correct=1, incorrect=2, missed=1, spurious=2)
    assert ways.exact == PartialScore(correct=2, incorrect=1, missed=1, spurious=2)
    assert ways.partial == PartialScore(correct=2, partial=1, missed=1, spurious=2)
    assert ways.type == PartialScore(correct=2, incorrect=1, missed=1, spurious=2)
    assert (ways.partial.precision, ways.partial.recall) == (50.0, 62.5)
    assert ways.muc == PartialScore(correct=4, incorrect=2, missed=2, spurious=4)
    assert [way for way, _ in ways.items()] == list(WAYS) == list(partial_credit.WAYS)


def test_the_partner_of_the_same_type_is_the_nearest():
    gold = Spans.of([(0, 1, "X"), (1, 6, "X"), (6, 7, "Y")])
    ways = metrics.partial_scores(gold, Spans.of([(0, 5, "X"), (5, 7, "X")])).overall
    assert ways.type == PartialScore(correct=1, incorrect=1, missed=1)
    assert ways.strict == PartialScore(incorrect=2, missed=1)


def test_nothing_on_either_side():
    none, one = Spans.of([]), Spans.of([(0, 1, "X")])
    assert metrics.partial_scores(none, none).by_type == {}
    for gold, own, way in itertools.product((none, one), (none, one), WAYS):
        score = getattr(metrics.partial_scores(gold, own).overall, way)
        assert score.f1 == (100.0 if len(gold) and len(own) else 0.0)


def test_overlapping_spans_of_one_side_are_refused():
    with pytest.raises(SchemeError, match="overlaps span 0"):
        metrics.partial_scores(Spans.of([(0, 3, "X"), (2, 4, "X")]), Spans.of([(0, 1, "X")]))


def test_scores_as_json_can_hold_them():
    gold = Spans.of([(0, 2, "X"), (3, 4, "Y")])
    listed = metrics.partial_scores(gold, Spans.of([(0, 1, "X")])).as_dict()
    assert list(listed) == list(WAYS)
    assert listed["partial"] == {
        "precision": 50.0, "recall": 25.0, "f1": 33.3333,
        "correct": 0, "incorrect": 0, "partial": 1, "missed": 1, "spurious": 0,
        "by_type": {
            "X": PartialScore(partial=1).as_dict(), "Y": PartialScore(missed=1).as_dict()
        },
    }  # fmt: skip
