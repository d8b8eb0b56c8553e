"""Scores that are looked up, against those of the sparse index; plain kernels and compiled ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipchain.corpus import Corpus
from skipchain.features.templates import Templates
from skipchain.features.vocabulary import Vocabulary
from skipchain.kernels.kernel import interpreted
from skipchain.lookup import scorer as lookup_scorer
from skipchain.lookup.scorer import LookupScorer, can_look_up
from skipchain.parallel import Workers

LINES = [
    "word", "word[-2]", "word[2]", "lower[-1..1]", "shape[-1]", "suffix(2)", "prefix(lower, 1)[1]",
    "ngrams", "ngrams(2, 3)", "ngrams(lower)[-1]", "items(pos)", "items(pos)[1]",
    "word[-1] & word", "suffix(2) & shape[1] & pos[-1]", "prefix(3)[2] & lower",
    "items(pos) & shape", "items(pos)[-1] & items(pos) & lower[1]",
    "bag(lower, -3..-1)", "bag(lower, 1..4)", "bag(word, -1..1)", "bag(prefix(2), -2..0)",
    "find(\"[a-z]+\")", "match(\"^[A-Z]\")[1]", "find(\"[a-z]+\") & word[1]",
]  # fmt: skip
LONG = "supercalifragilistic" * 5
WORDS = ["a", "A", "aa", "Bo", "bo", "x-1", "1996", "ß", "日本", "𝄞𝄞", "Berlin", "berlins", LONG]
SENTENCES = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(["N", "V", "N V", ""])), max_size=9),
    min_size=1,
    max_size=6,
)
TEMPLATES = st.lists(st.sampled_from(LINES), min_size=1, max_size=7, unique=True)


def corpus_of(sentences):
    return Corpus.of(
        [[word for word, _ in own] for own in sentences],
        pos=[[tag for _, tag in own] for own in sentences],
    )


def plain_sums(vocabulary, corpus, state):
    """The sums of weights by the sparse index, and how many features were unknown."""
    rows = vocabulary.encode(corpus)
    index = rows.expanded()
    owner = np.repeat(np.arange(corpus.n_tokens), np.diff(index.indptr))
    sums = np.zeros((corpus.n_tokens, state.shape[1]))
    np.add.at(sums, owner, state[index.indices])
    return sums, rows.unknown


def fitted(sentences, lines, seed=0, labels=3):
    vocabulary, _ = Vocabulary.fit(corpus_of(sentences), Templates.parse("\n".join(lines)))
    state = np.random.default_rng(seed).normal(size=(vocabulary.n_features, labels))
    return vocabulary, state


@given(SENTENCES.filter(any), TEMPLATES, SENTENCES.filter(any), st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_sums_are_those_of_the_sparse_index(train, lines, test, labels):
    vocabulary, state = fitted(train, lines, labels=labels)
    corpus = corpus_of(test)
    wanted, unknown = plain_sums(vocabulary, corpus, state)
    with Workers(1) as workers:
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
            scorer = LookupScorer(vocabulary, state, dtype)
            for _ in range(2):  # the second time all values are known
                sums, missed = scorer.score(corpus, workers)
                np.testing.assert_allclose(sums, wanted, rtol=tolerance, atol=10 * tolerance)
                assert missed == unknown


@given(SENTENCES.filter(any), TEMPLATES, SENTENCES.filter(any))
@settings(max_examples=25, deadline=None)
def test_plain_kernels_give_the_same_sums(train, lines, test):
    vocabulary, state = fitted(train, lines)
    with Workers(1) as workers, interpreted():
        sums, missed = LookupScorer(vocabulary, state).score(corpus_of(test), workers)
    wanted, unknown = plain_sums(vocabulary, corpus_of(test), state)
    np.testing.assert_allclose(sums, wanted, atol=1e-12)
    assert missed == unknown


def many_sentences(count, seed=0):
    rng = np.random.default_rng(seed)
    words = [*WORDS, *(f"w{k}" for k in range(500))]
    return [
        [(words[k], "N") for k in rng.integers(0, len(words), rng.integers(0, 12))]
        for _ in range(count)
    ]


def test_parts_and_blocks_do_not_change_sums(monkeypatch):
    """Chains are scored some at a time: the same sums wherever they are cut."""
    vocabulary, state = fitted(many_sentences(300), LINES)
    corpus = corpus_of(many_sentences(4000, seed=1))
    wanted, unknown = plain_sums(vocabulary, corpus, state)
    monkeypatch.setattr(lookup_scorer, "PART_TOKENS", 1000)
    with Workers(2) as workers:
        sums, missed = LookupScorer(vocabulary, state).score(corpus, workers)
    np.testing.assert_allclose(sums, wanted, atol=1e-11)
    assert missed == unknown


def test_a_table_that_is_full_is_begun_anew(monkeypatch):
    vocabulary, state = fitted(many_sentences(50), LINES)
    monkeypatch.setattr(lookup_scorer, "TABLE_BYTES", 10_000)
    scorer = LookupScorer(vocabulary, state)
    with Workers(1) as workers:
        for seed in range(5):
            corpus = corpus_of(many_sentences(60, seed))
            sums, _ = scorer.score(corpus, workers)
            np.testing.assert_allclose(sums, plain_sums(vocabulary, corpus, state)[0], atol=1e-11)
    assert scorer._table.nbytes < 5 * 200_000


def test_of_a_table_that_is_full_the_first_half_is_kept(monkeypatch):
    vocabulary, state = fitted(many_sentences(50), LINES)
    scorer = LookupScorer(vocabulary, state)
    sentences = [
        [(f"{word}{number % 70}", tag) for word, tag in own]
        for number, own in enumerate(many_sentences(900))
    ]
    parts = [corpus_of(sentences[k : k + 9]) for k in range(0, 900, 9)] * 2
    with Workers(1) as workers:
        scorer.score(parts[0], workers)
        first = scorer._table
        monkeypatch.setattr(lookup_scorer, "TABLE_BYTES", 6 * first.nbytes)
        known = dict(first._known[0])
        tables = {id(first): first}
        for part in parts:
            sums, unknown = scorer.score(part, workers)
            wanted = plain_sums(vocabulary, part, state)
            np.testing.assert_allclose(sums, wanted[0], atol=1e-11)
            assert unknown == wanted[1]
            tables[id(scorer._table)] = scorer._table
    assert len(tables) > 3
    assert all(known.items() <= table._known[0].items() for table in tables.values())
    assert max(table.nbytes for table in tables.values()) < 8 * first.nbytes


def test_slices_of_a_text_have_the_values_of_their_strings():
    vocabulary, state = fitted(many_sentences(50), ["word", "pos[-1] & word", "ngrams"])
    corpus = corpus_of(many_sentences(400, seed=3))
    lines = [f"{w} {p}" for w, p in zip(corpus.words, corpus.column("pos"), strict=True)]
    data = "\n".join(lines).encode()
    text = np.frombuffer(data, np.uint8)
    begins = np.cumsum([0, *(len(line.encode()) + 1 for line in lines[:-1])])
    gaps = begins + [len(word.encode()) for word in corpus.words]
    stops = begins + [len(line.encode()) for line in lines]
    starts = np.array([begins, gaps + 1], np.int32)
    ends = np.array([gaps, stops], np.int32)

    def sums_of(scorer):
        values, table = scorer.number_slices(text, starts, ends)
        node = np.empty((corpus.n_tokens, scorer.width))
        scorer.score_values(values, corpus.sentences, table, node)
        return node[:, : state.shape[1]]

    scorer = LookupScorer(vocabulary, state)
    assert scorer.columns == ("word", "pos")
    wanted, _ = plain_sums(vocabulary, corpus, state)
    with ThreadPoolExecutor(8) as pool:  # which meet all strings at the same time
        for found in pool.map(lambda _: sums_of(scorer), range(16)):
            np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize(
    "line",
    ["label[-1] & word", "bag(lower, -40..-1)", "bag(lower, 1..2) & word", "ngrams(2, 2) & word"],
)
def test_what_cannot_be_looked_up_is_left_to_the_sparse_index(line):
    vocabulary, _ = fitted(many_sentences(20), ["word", line])
    assert not can_look_up(vocabulary)
