"""Metrics against seqeval, brute force and known answers."""

import io
import itertools
import json
import subprocess
import sys
import warnings
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from seqeval.metrics import accuracy_score, classification_report
from seqeval.scheme import IOB2, IOBES, IOE2

from skipchain import metrics
from skipchain.corpus import Column, Corpus, schemes
from skipchain.corpus.schemes import Spans
from skipchain.errors import CorpusError
from skipchain.metrics import bootstrap
from skipchain.metrics.consistency import ConsistencyScore
from skipchain.metrics.score import Score

KEYS = {
    "measure",
    "precision",
    "recall",
    "f1",
    "token_accuracy",
    "sequence_accuracy",
    "consistency",
    "by_type",
    "tokens",
    "mean_sequence_accuracy",
    "label_accuracy",
    "partial",
}
PREFIXES = {"iob2": "IB", "ioe2": "IE", "bioes": "IBES"}
SEQEVAL = {"iob2": IOB2, "ioe2": IOE2, "bioes": IOBES}


def labels_of(scheme):
    return ["O"] + [f"{prefix}-{name}" for prefix in PREFIXES[scheme] for name in ("X", "Y")]


@st.composite
def two_labellings(draw, scheme):
    """Two corpora with the same words and any labels of the scheme."""
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    label = st.sampled_from(labels_of(scheme))
    words = [[f"w{k}" for k in range(length)] for length in lengths]
    pair = [[[draw(label) for _ in sentence] for sentence in words] for _ in range(2)]
    return [Corpus.of(words, labels, scheme=scheme) for labels in pair]


def sentences_of(corpus):
    return [sentence.labels for sentence in corpus]


span_lists = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 3), st.sampled_from("ABC")), max_size=8
).map(lambda rows: Spans.of({(start, start + size, name) for start, size, name in rows}))


# Spans --------------------------------------------------------------------------------------------


def test_score_divides_by_zero_to_zero():
    assert Score(0, 0, 0).as_dict() == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "gold": 0,
        "predicted": 0,
        "correct": 0,
    }


def test_entity_scores_by_hand():
    gold = Spans.of([(0, 2, "PER"), (3, 4, "LOC"), (5, 6, "LOC"), (7, 9, "ORG")])
    found = Spans.of([(0, 2, "PER"), (3, 4, "ORG"), (5, 6, "LOC"), (7, 8, "ORG"), (9, 10, "MISC")])
    scores = metrics.entity_scores(gold, found)
    assert scores.micro == Score(4, 5, 2)
    assert scores.by_type == {
        "LOC": Score(2, 1, 1),
        "MISC": Score(0, 1, 0),
        "ORG": Score(1, 2, 0),
        "PER": Score(1, 1, 1),
    }
    assert list(scores.by_type) == ["LOC", "MISC", "ORG", "PER"]
    assert scores.macro_precision == pytest.approx(100 * 2 / 4)
    assert scores.macro_recall == pytest.approx(100 * 1.5 / 4)
    assert scores.macro_f1 == pytest.approx(100 * (2 / 3 + 1) / 4)
    listed = scores.as_dict()
    assert listed["f1"] == 44.4444
    assert listed["macro_f1"] == 41.6667
    assert listed["by_type"]["LOC"]["precision"] == 100.0


@given(span_lists, span_lists)
def test_entity_scores_are_set_operations(gold, found):
    scores = metrics.entity_scores(gold, found)
    a, b = set(gold.tolist()), set(found.tolist())
    assert scores.micro == Score(len(a), len(b), len(a & b))
    counts = [Counter(name for _, _, name in spans) for spans in (a, b, a & b)]
    assert scores.by_type == {
        name: Score(*(count[name] for count in counts)) for name in sorted({*counts[0], *counts[1]})
    }


def test_a_span_given_twice_counts_once():
    twice = Spans.of([(0, 1, "A"), (0, 1, "A")])
    assert metrics.entity_scores(twice, Spans.of([(0, 1, "A")])).micro == Score(1, 1, 1)
    assert metrics.span_counts(twice, twice, np.array([0, 1])).tolist() == [[1, 1, 1]]


def test_no_spans_at_all():
    scores = metrics.entity_scores(Spans.of([]), Spans.of([]))
    assert scores.by_type == {}
    assert scores.micro.f1 == scores.macro_f1 == 0.0


@pytest.mark.parametrize("strict", [False, True])
@given(data=st.data(), scheme=st.sampled_from(list(SEQEVAL)))
def test_evaluation_is_seqeval(strict, scheme, data):
    gold, found = data.draw(two_labellings(scheme))
    ours = metrics.evaluate(gold, found, strict=strict)
    options = {"mode": "strict", "scheme": SEQEVAL[scheme]} if strict else {}
    if not ours.by_type:  # seqeval cannot report on nothing
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = classification_report(
            sentences_of(gold), sentences_of(found), output_dict=True, zero_division=0, **options
        )
    assert ours.micro.precision == pytest.approx(100 * theirs["micro avg"]["precision"])
    assert ours.micro.recall == pytest.approx(100 * theirs["micro avg"]["recall"])
    assert ours.f1 == pytest.approx(100 * theirs["micro avg"]["f1-score"])
    assert ours.macro_f1 == pytest.approx(100 * theirs["macro avg"]["f1-score"])
    for name, score in ours.by_type.items():
        assert score.f1 == pytest.approx(100 * theirs[name]["f1-score"])
        assert score.gold == theirs[name]["support"]
    expected = 100 * accuracy_score(sentences_of(gold), sentences_of(found))
    assert ours.tokens.accuracy == pytest.approx(expected)


# Tokens -------------------------------------------------------------------------------------------


def test_token_scores_by_hand():
    gold = Column.encode(["D", "N", "V", "N", "N"])
    found = Column.encode(["X", "D", "N", "N", "N", "N"])[1:]
    scores = metrics.token_scores(gold, found, np.array([0, 0, 2, 4, 4, 5]))
    assert scores.labels == ("D", "N", "V")
    assert scores.confusion.tolist() == [[1, 0, 0], [0, 3, 0], [0, 1, 0]]
    assert scores.by_label == {"D": Score(1, 1, 1), "N": Score(3, 4, 3), "V": Score(1, 0, 0)}
    assert (scores.tokens, scores.correct, scores.accuracy) == (5, 4, 80.0)
    assert (scores.sequences, scores.correct_sequences) == (3, 2)
    assert scores.sequence_accuracy == pytest.approx(200 / 3)
    assert scores.mean_sequence_accuracy == pytest.approx((100 + 50 + 100) / 3)
    assert scores.label_accuracy == {"D": 100.0, "N": 80.0, "V": 80.0}


def test_token_scores_of_nothing():
    scores = metrics.token_scores(Column.encode([]), Column.encode([]), np.array([0]))
    assert scores.accuracy == scores.sequence_accuracy == scores.mean_sequence_accuracy == 0.0
    assert scores.label_accuracy == {}
    assert scores.confusion.shape == (0, 0)


def test_token_scores_need_equal_lengths():
    with pytest.raises(CorpusError, match="2 gold labels, but 1 predicted"):
        metrics.token_scores(Column.encode(["A", "A"]), Column.encode(["A"]), np.array([0, 2]))


@given(st.lists(st.lists(st.tuples(*[st.sampled_from("ABC")] * 2), max_size=5), max_size=5))
def test_token_scores_are_counts(sentences):
    pairs = [pair for sentence in sentences for pair in sentence]
    gold, found = (Column.encode([pair[k] for pair in pairs]) for k in range(2))
    offsets = np.cumsum([0, *map(len, sentences)])
    scores = metrics.token_scores(gold, found, offsets)
    counts = Counter(pairs)
    for (i, a), (j, b) in itertools.product(enumerate(scores.labels), repeat=2):
        assert scores.confusion[i, j] == counts[a, b]
    filled = [sentence for sentence in sentences if sentence]
    assert scores.sequences == len(filled)
    assert scores.correct_sequences == sum(all(a == b for a, b in s) for s in filled)
    shares = [sum(a == b for a, b in s) / len(s) for s in filled]
    assert scores.mean_sequence_accuracy == pytest.approx(100 * sum(shares) / max(len(shares), 1))
    for label, accuracy in scores.label_accuracy.items():
        yes_or_no = [(a == label) == (b == label) for a, b in pairs]
        assert accuracy == pytest.approx(100 * sum(yes_or_no) / len(pairs))


# Consistency --------------------------------------------------------------------------------------


def test_consistency_by_hand():
    corpus = Corpus.of(
        [["New", "York", "beat", "York"], ["York", "new", "york", "New", "York"], ["York", "York"]],
        documents=[2, 1],
    )
    spans = Spans.of(
        [
            (0, 2, "ORG"),  # New York, twice, two types: inconsistent
            (3, 4, "LOC"),  # York, twice in the first document, one type
            (4, 5, "LOC"),
            (5, 6, "LOC"),  # not capitalised: no name
            (6, 7, "ORG"),
            (7, 9, "LOC"),
            (9, 10, "ORG"),  # York in the second document is another group: inconsistent
            (10, 11, "PER"),
        ]
    )
    found = metrics.label_consistency(corpus, spans)
    assert found == ConsistencyScore(groups=3, inconsistent=2)
    assert found.percent == pytest.approx(100 / 3)


def test_one_stray_type_among_many_is_seen():
    corpus = Corpus.of([["Lee"] * 5])
    for stray in range(5):
        spans = [(k, k + 1, "LOC" if k == stray else "PER") for k in range(5)]
        assert metrics.label_consistency(corpus, Spans.of(spans)) == ConsistencyScore(1, 1)


def test_consistency_without_groups_is_none():
    corpus = Corpus.of([["Lee", "met", "lee", "lee"]])
    for spans in ([], [(0, 1, "A")], [(2, 3, "A"), (3, 4, "B")]):
        assert metrics.label_consistency(corpus, Spans.of(spans)) == ConsistencyScore(0, 0)
    assert ConsistencyScore(0, 0).percent is None


@given(st.data())
def test_consistency_is_its_definition(data):
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    word = st.sampled_from(["A", "B", "a"])
    sentences = [data.draw(st.lists(word, max_size=6)) for _ in range(sum(sizes))]
    corpus = Corpus.of(sentences, documents=sizes)
    words = corpus.words.tolist()
    spans = []
    for first, stop in itertools.pairwise(corpus.sentences.tolist()):
        at = first
        while at < stop:
            size = data.draw(st.integers(1, min(4, stop - at)))
            spans.append((at, at + size, data.draw(st.sampled_from("XY"))))
            at += size
    documents = corpus.sentences[corpus.documents].tolist()
    groups = defaultdict(list)
    for start, stop, name in spans:
        if words[start][0].isupper():
            document = sum(start >= offset for offset in documents)
            groups[document, tuple(words[start:stop])].append(name)
    recurring = [names for names in groups.values() if len(names) > 1]
    found = metrics.label_consistency(corpus, Spans.of(spans))
    assert found.groups == len(recurring)
    assert found.inconsistent == sum(len(set(names)) > 1 for names in recurring)


# Resampling ---------------------------------------------------------------------------------------

COUNTS = np.array([[4, 4, 4], [5, 3, 2], [2, 4, 1], [5, 3, 2]])


def exact_f1(rows):
    gold, found, correct = np.sum(rows, axis=0)
    return 200 * correct / (gold + found)


def test_resamples_have_the_exact_distribution():
    every = [exact_f1(COUNTS[list(draw)]) for draw in itertools.product(range(4), repeat=4)]
    drawn = np.concatenate(
        [bootstrap.f1(sums) for sums in bootstrap.bootstrap_samples(COUNTS, 40_000, 1)]
    )
    levels = np.linspace(0.05, 0.95, 7)
    inside = [(drawn <= value + 1e-9).mean() for value in np.quantile(every, levels)]
    exact = [(np.array(every) <= value + 1e-9).mean() for value in np.quantile(every, levels)]
    assert inside == pytest.approx(exact, abs=0.02)


def test_interval_is_the_quantile_of_plain_resampling():
    random = np.random.default_rng(3)
    counts = random.integers(1, 9, size=(30, 3))
    counts[:, 2] = counts[:, :2].min(axis=1) // 2
    plain = [exact_f1(counts[random.integers(30, size=30)]) for _ in range(4000)]
    low, high = metrics.f1_interval(counts, level=0.9, samples=4000)
    assert [low, high] == pytest.approx(np.quantile(plain, [0.05, 0.95]).tolist(), abs=0.5)
    assert low < exact_f1(counts) < high


def test_interval_is_seeded_and_independent_of_blocks(monkeypatch):
    whole = metrics.f1_interval(COUNTS, seed=5)
    assert whole == metrics.f1_interval(COUNTS, seed=5)
    assert any(whole != metrics.f1_interval(COUNTS, seed=seed, samples=50) for seed in range(3))
    monkeypatch.setattr(bootstrap, "BLOCK", 100)
    assert whole == metrics.f1_interval(COUNTS, seed=5)


def test_interval_of_one_unit_or_none():
    assert metrics.f1_interval(np.array([[2, 2, 1]])) == (50.0, 50.0)
    assert metrics.f1_interval(np.zeros((0, 3), np.int64)) == (0.0, 0.0)


def test_resampling_refuses_nonsense():
    with pytest.raises(CorpusError, match="level must lie between 0 and 1, got 95"):
        metrics.f1_interval(COUNTS, level=95)
    with pytest.raises(CorpusError, match="samples must be at least 1, got 0"):
        metrics.f1_interval(COUNTS, samples=0)
    none = Spans.of([])
    with pytest.raises(CorpusError, match=r"unknown method 't-test'.*randomisation and bootstrap"):
        metrics.paired_significance(none, none, none, np.array([0, 1]), method="t-test")


# Five units of three tokens; the predictions differ in most.
OFFSETS = np.arange(0, 18, 3)
GOLD = Spans.of([(k, k + 1, "A") for k in (0, 1, 3, 5, 6, 7, 9, 12, 14)])
FIRST = Spans.of([(k, k + 1, "A") for k in (0, 1, 3, 5, 6, 9, 10, 12)])
SECOND = Spans.of([(k, k + 1, "A") for k in (0, 2, 3, 4, 7, 8, 9, 13, 14)])


def paired_counts():
    return np.hstack([metrics.span_counts(GOLD, found, OFFSETS) for found in (FIRST, SECOND)])


def exact_difference(rows):
    return exact_f1(np.array(rows)[:, :3]) - exact_f1(np.array(rows)[:, 3:])


def test_randomisation_p_value_is_exact():
    counts = paired_counts()
    observed = exact_difference(counts)
    extreme = 0
    for coins in itertools.product([False, True], repeat=5):
        rows = [np.roll(row, 3) if swap else row for row, swap in zip(counts, coins, strict=True)]
        extreme += abs(exact_difference(rows)) >= abs(observed) - 1e-9
    found = metrics.paired_significance(GOLD, FIRST, SECOND, OFFSETS, samples=20_000)
    assert found.difference == pytest.approx(observed)
    assert found.p_value == pytest.approx(extreme / 2**5, abs=0.015)


def test_bootstrap_p_value_is_exact():
    counts = paired_counts()
    observed = exact_difference(counts)
    draws = [exact_difference(counts[list(draw)]) for draw in itertools.product(range(5), repeat=5)]
    extreme = np.mean(np.abs(np.array(draws) - observed) >= abs(observed) - 1e-9)
    found = metrics.paired_significance(
        GOLD, FIRST, SECOND, OFFSETS, method="bootstrap", samples=20_000
    )
    assert found.p_value == pytest.approx(extreme, abs=0.015)
    assert 0 < found.p_value < 1


@pytest.mark.parametrize("method", ["randomisation", "bootstrap"])
def test_significance_has_two_sides_and_seeds(method):
    def significance(first, second, **options):
        return metrics.paired_significance(
            GOLD, first, second, OFFSETS, method=method, samples=500, **options
        )

    there, back = significance(FIRST, SECOND), significance(SECOND, FIRST)
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_value == pytest.approx(back.p_value, abs=0.08)
    assert significance(FIRST, SECOND, seed=4) == significance(FIRST, SECOND, seed=4)
    same = significance(FIRST, FIRST)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    assert significance(GOLD, Spans.of([])).p_value > 0


@given(span_lists, span_lists)
def test_span_counts_add_up(gold, found):
    offsets = np.array([0, 4, 4, 9, 15])
    counts = metrics.span_counts(gold, found, offsets)
    assert counts.shape == (4, 3)
    assert Score(*counts.sum(axis=0).tolist()) == metrics.entity_scores(gold, found).micro
    assert counts[1].tolist() == [0, 0, 0]
    assert counts[0, 0] == (gold.starts < 4).sum()


# Evaluation ---------------------------------------------------------------------------------------

WORDS = [["Ada", "Lee", "met", "Bo"], ["Bo", "left"], ["Rome"]]
LABELS = [["B-PER", "I-PER", "O", "B-PER"], ["B-PER", "O"], ["B-LOC"]]


def corpus_of(labels, scheme="iob2", words=WORDS, **options):
    return Corpus.of(words, labels, scheme=scheme or "none", **options)


def test_evaluation_by_hand():
    found = corpus_of([["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "O"], ["O"]])
    result = metrics.evaluate(corpus_of(LABELS), found)
    listed = result.as_dict()
    assert listed == {
        "measure": "f1",
        "precision": 66.6667,
        "recall": 50.0,
        "f1": 57.1429,
        "token_accuracy": 71.4286,
        "sequence_accuracy": 33.3333,
        "consistency": 0.0,
        "by_type": {"LOC": Score(1, 1, 0).as_dict(), "PER": Score(3, 2, 2).as_dict()},
        "tokens": 7,
        "mean_sequence_accuracy": 50.0,
        "label_accuracy": {"B-LOC": 71.4286, "B-PER": 85.7143, "I-PER": 100.0, "O": 85.7143},
        "partial": result.partial.as_dict(),
    }
    assert set(listed) == KEYS
    assert json.loads(json.dumps(listed)) == listed


def test_further_keys_only_where_asked_for():
    gold = corpus_of(LABELS, documents=[1, 1, 1])
    listed = metrics.evaluate(gold, gold, intervals=True).as_dict(macro=True)
    assert set(listed) == KEYS | {"macro_f1", "interval"}
    assert listed["macro_f1"] == 100.0
    assert listed["interval"] == [100.0, 100.0]


@pytest.mark.parametrize("scheme", schemes.SCHEMES)
def test_identical_predictions_are_perfect(scheme):
    column = schemes.convert(*_column(LABELS), "iob2", scheme)
    gold = corpus_of(LABELS).with_labels(column, scheme)
    listed = metrics.evaluate(gold, gold, strict=True).as_dict()
    for key in ("precision", "recall", "f1", "token_accuracy", "sequence_accuracy", "consistency"):
        assert listed[key] == 100.0


def _column(labels):
    corpus = corpus_of(labels)
    return corpus.labels, corpus.sentences


@given(data=st.data(), target=st.sampled_from(["iob1", "ioe2", "bioes", "bilou"]))
def test_schemes_may_differ(data, target):
    gold, found = data.draw(two_labellings("iob2"))
    repaired = [
        c.with_labels(schemes.repair(c.labels, c.sentences, "iob2")[0], "iob2")
        for c in (gold, found)
    ]
    other = found.with_labels(
        schemes.convert(repaired[1].labels, found.sentences, "iob2", target), target
    )
    assert metrics.evaluate(gold, other).as_dict() == metrics.evaluate(*repaired).as_dict()


def test_touching_predictions_against_io_gold():
    words = [["Ada", "Bo"]]
    gold = corpus_of([["I-PER", "I-PER"]], "io", words)
    found = corpus_of([["B-PER", "B-PER"]], "iob2", words)
    result = metrics.evaluate(gold, found)
    assert result.tokens.accuracy == 100.0
    assert result.micro == Score(1, 2, 0)


def test_strict_evaluation_drops_malformed_spans():
    gold = corpus_of(LABELS)
    found = corpus_of([["I-PER", "I-PER", "O", "B-PER"], ["B-PER", "O"], ["I-LOC"]])
    assert metrics.evaluate(gold, found).micro == Score(4, 4, 4)
    assert metrics.evaluate(gold, found, strict=True).micro == Score(4, 2, 2)


def test_labels_without_scheme():
    gold = corpus_of([["N", "N", "V", "N"], ["N", "V"], ["N"]], None, documents=[1, 2])
    found = corpus_of([["N", "N", "V", "N"], ["V", "V"], ["N"]], None, documents=[1, 2])
    result = metrics.evaluate(gold, found, intervals=True)
    assert result.entities is None
    listed = result.as_dict(macro=True)
    assert set(listed) == KEYS | {"macro_f1", "interval"}
    assert listed["measure"] == "accuracy"
    assert listed["f1"] is listed["precision"] is listed["recall"] is None
    assert listed["token_accuracy"] == pytest.approx(100 * 6 / 7, abs=1e-4)
    assert listed["by_type"]["V"] == Score(2, 3, 2).as_dict()
    assert listed["consistency"] is None
    assert listed["partial"] is None
    assert listed["macro_f1"] == pytest.approx(100 * (8 / 9 + 4 / 5) / 2, abs=1e-4)
    # Two documents, 4 of 4 and 2 of 3 right: the bounds are one of them drawn twice.
    assert listed["interval"] == [66.6667, 100.0]


def test_intervals_resample_documents_or_else_sentences():
    found = [["B-PER", "I-PER", "O", "B-PER"], ["O", "O"], ["B-LOC"]]
    alone = metrics.evaluate(corpus_of(LABELS), corpus_of(found), intervals=True)
    assert alone.interval[0] == 0.0  # the second sentence, thrice
    gold, other = (corpus_of(labels, documents=[2, 1]) for labels in (LABELS, found))
    assert metrics.evaluate(gold, other, intervals=True).interval == pytest.approx((80.0, 100.0))
    assert metrics.evaluate(gold, other).interval is None


def test_the_seed_decides_the_interval():
    labels = [["B-X"] * (1 + k % 5) + ["O"] * (k % 3) for k in range(40)]
    guesses = [
        ["B-X" if (k + i) % 4 else "O" for i in range(len(row))] for k, row in enumerate(labels)
    ]
    words = [["w"] * len(row) for row in labels]
    gold, found = (corpus_of(rows, words=words) for rows in (labels, guesses))
    intervals = [
        metrics.evaluate(gold, found, intervals=True, seed=seed).interval for seed in (1, 1, 2)
    ]
    assert intervals[0] == intervals[1] != intervals[2]


def test_documents_of_the_gold_corpus_count_for_consistency():
    gold = corpus_of(LABELS, documents=[1, 2])
    found = corpus_of([LABELS[0], ["B-LOC", "O"], LABELS[2]])
    assert metrics.evaluate(gold, found).consistency == ConsistencyScore(0, 0)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (Corpus.of(WORDS), "the predicted corpus has no labels"),
        (
            corpus_of(LABELS[:2], words=WORDS[:2]),
            "gold corpus has 3 sentences, the predicted one 2",
        ),
        (
            corpus_of([LABELS[0], ["O"], ["O", "O"]], words=[WORDS[0], ["Bo"], ["left", "Rome"]]),
            "sentence 1 has 2 words in the gold corpus, but 1 in the predicted",
        ),
        (
            corpus_of(LABELS, words=[WORDS[0], ["Bo", "stayed"], ["Rom"]]),
            "sentence 1, word 1 is 'left' in the gold corpus, but 'stayed' in the predicted",
        ),
        (corpus_of(LABELS, None), "gold labels are in scheme iob2, the predicted in None"),
    ],
)
def test_corpora_that_cannot_be_compared(found, message):
    with pytest.raises(CorpusError, match=message):
        metrics.evaluate(corpus_of(LABELS), found)


def test_gold_needs_labels_too():
    with pytest.raises(CorpusError, match="the gold corpus has no labels"):
        metrics.evaluate(Corpus.of(WORDS), corpus_of(LABELS))


def test_empty_corpus():
    empty = Corpus.of([], [], scheme="iob2")
    listed = metrics.evaluate(empty, empty, intervals=True).as_dict()
    assert (listed["f1"], listed["tokens"], listed["by_type"]) == (0.0, 0, {})
    assert listed["consistency"] is None


# Reports ------------------------------------------------------------------------------------------


def printed(renderable):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(renderable)
    return console.export_text()


def test_report_shows_every_figure():
    found = corpus_of([["B-PER", "I-PER", "O", "B-PER"], ["B-LOC", "O"], ["O"]])
    result = metrics.evaluate(corpus_of(LABELS), found, intervals=True)
    for text in (str(result), printed(metrics.render(result))):
        lines = [line.split() for line in text.splitlines()]
        assert ["type", "precision", "recall", "F1", "gold", "found", "correct"] in lines
        assert ["PER", "100.00", "66.67", "80.00", "3", "2", "2"] in lines
        assert ["all", "66.67", "50.00", "57.14", "4", "3", "2"] in lines
        assert "token accuracy      71.43  (5 of 7)" in text
        assert "sequence accuracy   33.33  (1 of 3)" in text
        assert "consistency          0.00  (0 of 1 recurring names keep one type)" in text
        assert "F1, 95 % interval" in text


def test_report_without_scheme():
    gold = corpus_of([["N", "N", "V", "[b]"], ["N", "V"], ["N"]], None)
    text = str(metrics.evaluate(gold, gold))
    assert text.startswith("label")
    assert "consistency" not in text
    assert "[b]" in printed(metrics.render(metrics.evaluate(gold, gold)))


def test_what_is_not_known_has_no_score():
    gold = Corpus.of([["a", "b"]], [["B-X", "_"]], scheme="iob2")
    full = Corpus.of([["a", "b"]], [["B-X", "O"]], scheme="iob2")
    with pytest.raises(CorpusError, match="token 1 has no gold label"):
        metrics.evaluate(gold, full)
    with pytest.raises(CorpusError, match="token 1 has no predicted label"):
        metrics.evaluate(full, gold)
    plain = Corpus.of([["a", "b"]], [["_", "N"]], scheme="none")
    with pytest.raises(CorpusError, match="token 0 has no gold label"):
        metrics.significance(plain, plain, plain)
    assert metrics.evaluate(gold[:0], gold[:0]).tokens.tokens == 0


def test_confusion_table():
    gold = Column.encode(["A", "A", "B", "C", "D"])
    scores = metrics.token_scores(gold, Column.encode(["A", "C", "B", "C", "D"]), np.array([0, 5]))
    lines = [line.split() for line in printed(metrics.confusion_table(scores)).splitlines()]
    assert lines[0] == ["gold", "\\", "found", "A", "B", "C", "D"]
    assert lines[1] == ["A", "1", "·", "1", "·"]
    assert lines[3] == ["C", "·", "·", "1", "·"]
    few = printed(metrics.confusion_table(scores, limit=2))
    assert few.splitlines()[0].split()[3:] == ["A", "C"]
    assert "2 more not shown" in few
    cut = printed(metrics.confusion_table(scores, width=18)).splitlines()
    assert [line.split()[3:] for line in cut if line.startswith("gold")] == [["A", "B"], ["C", "D"]]


def test_importing_stays_cheap():
    heavy = "numba scipy sklearn rich pandas"
    code = (
        f"import sys, skipchain.metrics; print(*[m for m in '{heavy}'.split() if m in sys.modules])"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == ""
